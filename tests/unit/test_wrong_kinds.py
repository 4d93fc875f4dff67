"""Public functions of the host, given arguments of another kind: told as weft tells, not from its inside."""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float32, InlineArray, Int, WeftError, kernel
from weft.complex import ComplexFloat32
from weft.diagnostics import is_internal

MODULES = """
weft weft.algorithm weft.atomic weft.bit weft.complex weft.gpu weft.gpu.block weft.gpu.warp weft.kernels
weft.layout weft.linalg weft.math weft.memory weft.random weft.tile
""".split()
GIVEN: list[tuple[Any, ...]] = [
    ("text",),
    (None,),
    (object(),),
    ([1, 2],),
    (3, 4),
    (np.zeros(3),),
    (2.5, "x"),
]
AS_PYTHON = {"ValueError", "OverflowError", "ZeroDivisionError", "RuntimeWarning"}
"""What functions of numbers raise outside of what they are defined for, as Python's and NumPy's do."""


def functions() -> Iterator[Any]:
    for name in MODULES:
        module = importlib.import_module(name)
        for own in module.__all__:
            found: Any = getattr(module, own)
            if inspect.isfunction(found) or getattr(found, "__module__", "").startswith("weft.linalg"):
                yield pytest.param(found, id=f"{name}.{own}")


def methods() -> Iterator[Any]:
    """Public methods of values, with what makes the value."""
    linalg, layout = importlib.import_module("weft.linalg"), importlib.import_module("weft.layout")
    made: list[Callable[[], Any]] = [
        lambda: Float32(1),
        lambda: Int(3),
        lambda: Float32.simd(1, 2, 3, 4),
        lambda: InlineArray[Int, 3](1, 2, 3),
        lambda: ComplexFloat32(1, 2),
        lambda: linalg.vec3(1, 2, 3),
        lambda: linalg.mat33.identity(),
        lambda: linalg.quat(0, 0, 0, 1),
        lambda: layout.Layout((2, 3)),
    ]
    for make in made:
        value = make()
        for name in dir(value):
            if (
                name[0] != "_"
                and callable(getattr(value, name))
                and not isinstance(getattr(value, name), type)
            ):
                yield pytest.param(make, name, id=f"{type(value).__name__}.{name}")


def no_error_from_within(call: Callable[..., object]) -> None:
    for given in GIVEN:
        try:
            call(*given)
        except WeftError:
            pass
        except Exception as error:
            end = traceback.extract_tb(error.__traceback__)[-1]
            if is_internal(end.filename) and type(error).__name__ not in AS_PYTHON:
                pytest.fail(f"{given}: {error!r} at {end.filename}:{end.lineno}")


@pytest.mark.parametrize("function", list(functions()))
def test_no_error_from_within(function: Callable[..., Any]) -> None:
    no_error_from_within(function)


@pytest.mark.parametrize(("make", "name"), list(methods()))
def test_no_error_from_within_methods(make: Callable[[], Any], name: str) -> None:
    no_error_from_within(lambda *given: getattr(make(), name)(*given))


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(WeftError) as found:
        call()
    return str(found.value)


def test_the_argument_and_what_is_taken() -> None:
    math, layout, linalg = [importlib.import_module(f"weft.{name}") for name in ("math", "layout", "linalg")]
    vec3, Layout = linalg.vec3, layout.Layout
    calls: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("`x` of sin takes a number, not 'x'", math.sin, ("x",)),
        ("`layout` of coalesce takes a Layout, not 3", layout.coalesce, (3,)),
        ("`layouts` of make_layout takes a Layout, not None", layout.make_layout, (Layout(2), None)),
        (
            "`layout` of print_layout takes a Layout or a ComposedLayout, not a list",
            layout.print_layout,
            ([1],),
        ),
        ("`m` of determinant takes a Matrix, not a vec3", linalg.determinant, (vec3(1, 2, 3),)),
        ("Vector needs its type of numbers", linalg.Vector, (1.0, 2.0)),
        ("Matrix needs its type of numbers", linalg.Matrix.identity, ()),
        ("Quaternion needs its type", linalg.Quaternion.from_axis_angle, (vec3(0, 0, 1), 0.5)),
        ("Matrix needs its type of numbers first", linalg.Matrix.__class_getitem__, (("x", 2, 2),)),
    ]
    for text, function, given in calls:
        assert text in refused(lambda function=function, given=given: function(*given))


def test_within_a_kernel() -> None:
    from weft.gpu.host import DeviceContext
    from weft.layout import coalesce

    @kernel
    def wrong(n: Float32):
        coalesce(n)  # pyright: ignore[reportArgumentType]

    said = refused(lambda: DeviceContext(api="cpu").compile_function(wrong))
    assert "`layout` of coalesce takes a Layout, not a Float32" in said
    assert "coalesce(n)" in said


def test_methods_within_a_kernel() -> None:
    from weft.gpu.host import DeviceContext

    def alone(a: Any) -> Any:
        return a

    largest: Any = max
    calls: list[tuple[str, Callable[[Any], object]]] = [
        ("`width` of slice takes an integer, not 'x'", lambda v: v.slice("x")),
        ("`by` of shift_left takes an integer, not None", lambda v: v.shift_left(None)),
        ("`combine` of reduce takes a function, not 1", lambda v: v.reduce(1)),
        (
            "`combine` of reduce takes a function of 2 arguments, not one of 1",
            lambda v: v.reduce(alone),
        ),
        ("v.cast(...) takes an element type, which 1 is not", lambda v: v.cast(1)),
        ("max takes numbers or a sequence of them", lambda v: largest()),
    ]
    for text, wrong in calls:

        @kernel
        def k(x: Float32, wrong: Comptime[Any]):
            wrong(Float32.simd(1, 2, 3, x))

        assert text in refused(lambda: DeviceContext(api="cpu").compile_function(k, wrong=wrong))  # noqa: B023


def test_errors_of_what_the_program_gives_stay_its_own() -> None:
    from weft.layout import Layout, coalesce

    class Mine(Exception):
        pass

    class Wrong:
        def __getattr__(self, name: str) -> object:
            raise Mine

    with pytest.raises(Mine):
        coalesce(Wrong())  # pyright: ignore[reportArgumentType]
    assert coalesce(Layout(2)) == Layout(2)
