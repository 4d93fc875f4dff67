"""Functions called from Python: what arguments become, what results become, what is refused."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from weft import CompileError, Comptime, Float32, Float64, Int, Int8, LaunchError, Pointer, UInt8, func
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@func
def same(x: Any) -> Any:
    return x


@func
def kind(x: Any) -> Any:
    return x.dtype.name


@func
def typed(a: Int8, x: Float32) -> Any:
    return a, x


@func
def total(values: Pointer[Float32], n: Int) -> Float32:
    acc = 0.0
    for i in range(n):
        acc += values[i]
        values[i] = 0.0
    return acc


@func
def address(values: Pointer[Float32]) -> Any:
    return values + 1


@func
def scaled(x: Any, *, by: Comptime[int]) -> Any:
    return x * by


@func
def mixed(a: Any, c: Any) -> Any:
    return a + c


@pytest.mark.parametrize("value", [0, -5, 2**63 - 1, True, False, 0.1, -0.0, float("inf"), (1, (2.5, True))])
def test_numbers_come_back_as_they_went(value: Any) -> None:
    assert repr(same(value)) == repr(value)


def test_arguments_say_what_they_are() -> None:
    given = [1, 1.0, True, np.float32(1), np.uint8(1), np.int16(1), np.bool_(True), UInt8(1), Float32(1)]
    kinds = ["int64", "float64", "bool", "float32", "uint8", "int16", "bool", "uint8", "float32"]
    assert [kind(v) for v in given] == kinds
    assert mixed(0.1, 0.2) == 0.1 + 0.2
    assert mixed(np.float32(0.1), Float32(0.2)) == float(np.float32(0.1) + np.float32(0.2))


def test_other_objects_are_known_at_compile_time() -> None:
    assert same("text") == "text"
    assert same(None) is None
    assert same(int) is int
    assert same([1, 2]) == [1, 2]


@func
def length(items: Any) -> Any:
    return Int(len(items))


def test_containers_that_change_between_calls() -> None:
    items = [1, 2]
    assert length(items) == 2
    items.append(3)
    assert length(items) == 3
    assert length([1, 2]) == 2
    nested = ([1], {"a": 1})
    assert length.bind(items=nested)() == 2


def test_annotated_parameters_convert() -> None:
    assert typed(-128, 1) == (-128, 1.0)
    assert anything(typed, x=0.1, a=np.int64(7)) == (7, float(np.float32(0.1)))
    assert typed(Int8(3), float("inf")) == (3, float("inf"))
    with pytest.raises(LaunchError, match=r"holds, or infinity, not 1e\+300"):
        typed(Int8(3), 1e300)
    assert (scaled(2.5, by=2), scaled.bind(by=3)(2)) == (5.0, 6)


def test_every_wrong_argument_is_named() -> None:
    with pytest.raises(LaunchError) as caught:
        anything(typed, "a", "b")
    assert [d.code for d in caught.value.diagnostics] == ["argument-type", "argument-type"]
    assert all(d.labels[0].location.file == __file__ for d in caught.value.diagnostics)
    for wrong in (
        lambda: typed(200, 1),
        lambda: typed(1.5, 1),  # pyright: ignore[reportArgumentType]
        lambda: typed(Int(1), 1),  # pyright: ignore[reportArgumentType]
        lambda: same(2**63),
    ):
        with pytest.raises(LaunchError, match="argument-type"):
            wrong()
    with pytest.raises(LaunchError, match="misses an argument"):
        anything(typed, 1)
    with pytest.raises(LaunchError, match="compile-time value for `by`"):
        anything(scaled, 1)
    with pytest.raises(LaunchError, match="no parameter `y`"):
        anything(typed, 1, y=2)
    with pytest.raises(CompileError, match="meets"):
        mixed(Int8(1), UInt8(1))


def anything(f: Any, *args: object, **named: object) -> Any:
    """A call that type checkers do not judge."""
    return f(*args, **named)


def test_buffers() -> None:
    ctx = DeviceContext(api="cpu")
    device = ctx.enqueue_create_buffer(Float32, 4)
    host = ctx.enqueue_create_host_buffer(Float32, 4)
    host[:] = [1.0, 2.0, 3.0, 4.0]
    ctx.enqueue_copy(dst=device, src=host)
    assert anything(total, device, 4) == 10.0
    assert anything(total, device, 4) == 0.0
    assert anything(total, host, 3) == 6.0
    assert list(host) == [0.0, 0.0, 0.0, 4.0]
    with pytest.raises(LaunchError, match="means nothing to Python"):
        anything(address, host)
    with pytest.raises(LaunchError, match="a buffer of Float32"):
        anything(total, ctx.enqueue_create_buffer(Float64, 4), 4)


@func
def sum_and_clear(t: LayoutTensor[Float64], n: Int) -> Any:
    total = 0.0
    for i in range(n):
        total += t[i, i]
        t[i, i] = 0.0
    return total


@func
def total_of(x: Pointer[Float32], n: Int) -> Any:
    total = Float32(0.0)
    for i in range(n):
        total += x[i]
    return total


def test_numpy_arrays() -> None:
    floats, square = np.arange(10, dtype=np.float32), np.arange(16.0).reshape(4, 4)
    assert total_of(floats, 10) == 45.0
    assert sum_and_clear(square.T[1:, 1:], 3) == 5.0 + 10.0 + 15.0
    assert np.diagonal(square).tolist() == [0.0] * 4
    floats.flags.writeable = False
    cases: list[tuple[Any, str]] = [
        (floats, "not a read-only NumPy array"),
        (square, r"wrong\.astype\(\"float32\"\)"),
        (floats[::2], "not contiguous"),
        ([1.0], r"np\.array\(wrong, np\.float32\)"),
    ]
    for wrong, message in cases:
        with pytest.raises(LaunchError, match=message):
            total_of(wrong, 1)


@func
def power(x: Float64, *, n: Comptime[int], negative: Comptime[bool] = False) -> Any:
    result = Float64(1.0)
    for _ in range(n):
        result *= x
    return -result if negative else result


def test_compile_time_values_are_of_their_type() -> None:
    three, true = cast("Any", np.int32(3)), cast("Any", np.bool_(True))
    assert power(2.0, n=3) == power(2.0, n=three) == 8.0
    assert power(2.0, n=3, negative=true) == -8.0
    cases: list[tuple[Any, str]] = [
        ("3", r"takes an int known at compile time, not a str"),
        (3.0, r"not the float 3\.0(.|\n)*pass int\(3\.0\), if that is what you mean"),
        (None, r"not None(.|\n)*pass an int known at compile time"),
        (np.float64(3), "an int known at compile time"),
    ]
    for wrong, message in cases:
        with pytest.raises(LaunchError, match=message):
            power(2.0, n=wrong)
