"""One TypeVar means one element type."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
import pytest

from weft import Float32, Float64, Floating, Int32, LaunchError, Pointer, WeftError, func, kernel
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor

T = TypeVar("T")
U = TypeVar("U", Float32, Float64)
Quoted = TypeVar("Quoted", "Float32", "Float64")
Bounded = TypeVar("Bounded", bound="Floating")


@kernel
def copied(x: Pointer[T], y: Pointer[T], z: LayoutTensor[T]) -> None:
    y[0] = x[0]
    z[0] = x[0]


@kernel
def constrained(x: Pointer[U]) -> None:
    x[0] = x[0] * 2


@func
def first(x: Pointer[T], y: Pointer[T]) -> Any:
    a: Any = x[0]
    return a + y[0]


def test_one_variable_is_one_type() -> None:
    ctx = DeviceContext(api="cpu")
    launch: Any = ctx.enqueue_function
    for kind in (np.float32, np.int32):
        x, y, z = np.ones(1, kind) * 7, np.zeros(1, kind), np.zeros(1, kind)
        launch(copied, x, y, z, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert (y[0], z[0], first(x, y)) == (7, 7, 14)
    a, c = np.ones(1, np.float32), np.ones(1, np.int32)
    for given, name in [((a, c, a), "y"), ((a, a, c), "z"), ((c, a, c), "y")]:
        with pytest.raises(
            LaunchError, match=rf"argument `{name}` of copied takes .*, not .*: `T` is .* by `x`"
        ):
            launch(copied, *given, grid_dim=1, block_dim=1)
    with pytest.raises(
        LaunchError,
        match=r"argument `y` of first takes Pointer\[Float32\], not Pointer\[Int32\]: `T` is Float32 by `x`",
    ):
        first(a, c)
    with pytest.raises(LaunchError, match="`U` of constrained is one of Float32, Float64, not Int32"):
        launch(constrained, c, grid_dim=1, block_dim=1)


@func
def more(x: Quoted) -> Quoted:
    return x + 1


@func
def less(x: Bounded) -> Bounded:
    return x - 1


def test_constraints_and_bounds_as_texts() -> None:
    assert issubclass(Float32, Floating)
    assert (more(Float32(1.5)), less(Float64(1.5))) == (2.5, 0.5)
    with pytest.raises(LaunchError, match="`Quoted` of more is one of Float32, Float64, not Int32"):
        more(Int32(1))
    with pytest.raises(LaunchError, match="`Bounded` of less is a Floating, not Int32"):
        less(Int32(1))  # pyright: ignore[reportArgumentType]


Written = TypeVar("Written", "Float32", "Float64")


@func
def twice_of_written(x: Written) -> Written:
    return x + x


def test_constraints_may_be_texts() -> None:
    assert (twice_of_written(Float64(2.5)), twice_of_written(Float32(3.0))) == (5.0, 6.0)
    with pytest.raises(WeftError, match="one of Float32, Float64, not Int32"):
        cast("Any", twice_of_written)(Int32(1))
