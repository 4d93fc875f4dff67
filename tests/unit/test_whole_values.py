"""Vectors, structs and tuples arrive in kernels and functions whole, and come back so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    CompileError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int16,
    LaunchError,
    Pointer,
    UInt8,
    UInt64,
    func,
    kernel,
    struct,
)
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

TYPES = [Bool, Int8, UInt8, Int16, Int, UInt64, Float16, BFloat16, Float32, Float64]


def simd(kind: Any, lanes: int) -> Any:
    """The class of values of some lanes, which type checkers take for the type of one."""
    made: Any = SIMD
    return made[kind, lanes]


def lanes_of(kind: Any, width: int) -> tuple[Any, ...]:
    """Different lanes, all of them exact in ``kind``."""
    if kind is Bool:
        return tuple([n % 3 == 1 for n in range(width)])
    sign = -1 if kind.dtype.is_signed or kind.dtype.is_float else 1
    return tuple([sign * n if n % 2 else n + 1 for n in range(width)])


def kernel_of(kind: Any, width: int) -> Any:
    def spread(before: Int8, v: Any, out: Any, after: Int16, tail: Pointer[Int]) -> None:
        i = global_idx.x
        if i < 1:
            for n in range(width):
                out[n] = v[n]
            tail[0] = Int(before) * 1000 + Int(after)

    spread.__annotations__ |= {"v": simd(kind, width), "out": Pointer[kind]}
    return kernel(spread)


def function_of(kind: Any, width: int) -> Any:
    def turned(v: Any) -> Any:
        return v.shuffle(*reversed(range(width))), v, v[width - 1]

    turned.__annotations__["v"] = simd(kind, width)
    return func(turned)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("width", [2, 8])
def test_a_vector_of_every_type(kind: Any, width: int) -> None:
    lanes, ctx = lanes_of(kind, width), DeviceContext(api="cpu")
    turned, back, last = function_of(kind, width)(lanes)
    assert (turned, back, last) == (lanes[::-1], lanes, lanes[-1])
    out, tail = ctx.enqueue_create_buffer(kind, width), np.zeros(1, np.int64)
    spread = kernel_of(kind, width)
    compile_info(spread, target="sm_90")
    ways: list[dict[str, Any]] = [{"grid_dim": 1, "block_dim": 2}, {"over": 3}]
    for way in ways:
        for value in [
            lanes,
            list(lanes),
            np.array(lanes),
            simd(kind, width)(lanes),
        ] * 2:  # natively at the end
            out.enqueue_fill(0)
            ctx.enqueue_function(spread, 7, value, out, -3, tail, **way)
            with out.map_to_host() as host:
                assert tuple(host) == lanes
            assert tail[0] == 6997
    for one in (lanes[1], kind(lanes[1]), simd(kind, width)(lanes[1])):
        ctx.enqueue_function(spread, 7, one, out, -3, tail, grid_dim=1, block_dim=1)
        with out.map_to_host() as host:
            assert tuple(host) == (lanes[1],) * width


@struct
class Inner:
    flag: Bool
    lanes: SIMD[BFloat16, 4]
    count: Int8


@struct
class Outer:
    value: Float64
    inner: Inner
    mask: SIMD[Bool, 2]
    half: Float16
    any_lanes: SIMD[Float32, ...]


@func
def made(x: Float64, lane: Int) -> Any:
    inner = Inner(x > 1.0, simd(BFloat16, 4)(1.5).insert(lane, 2.5), 3)
    mask = simd(Bool, 2)(False).insert(1, x > 2.0)
    return Outer(x, inner, mask, 0.5, simd(Float32, 4)(1.0).insert(lane, 7.0))


@func
def passed(a: Outer, b: Any) -> Any:
    return a, (b, (a.inner, a.inner.lanes)), a.any_lanes.reduce_add()


@kernel
def read(o: Outer, n: Int, out: Pointer[Float64]):
    if global_idx.x < n:
        out[0] = o.value
        out[1] = 1.0 if o.inner.flag else 0.0
        out[2] = Float64(o.inner.lanes[2])
        out[3] = Float64(o.inner.lanes[3])
        out[4] = Float64(Float32(o.inner.count))
        out[5] = 1.0 if o.mask[1] else 0.0
        out[6] = Float64(o.half)
        out[7] = Float64(o.any_lanes[2])


def test_structs_of_vectors_come_back_and_go_again() -> None:
    o: Any = made(2.5, 2)
    assert (o.value, o.inner.flag, o.inner.count, o.half) == (2.5, True, 3, 0.5)
    assert (o.inner.lanes.value, o.mask.value) == ((1.5, 1.5, 2.5, 1.5), (False, True))
    assert o.any_lanes.value == (1.0, 1.0, 7.0, 1.0)
    back, (inner, (also, lanes)), total = passed(o, o.inner)
    assert (back == o, inner == o.inner, also == o.inner, lanes) == (True, True, True, (1.5, 1.5, 2.5, 1.5))
    assert total == 10.0
    assert made(2.5, 1) != o
    ctx, out = DeviceContext(api="cpu"), np.zeros(8)
    ways: list[dict[str, Any]] = [{"grid_dim": 1, "block_dim": 2}, {"over": 3}]
    for way in ways:
        for _ in range(4):
            out[:] = 0.0
            ctx.enqueue_function(read, o, 1, out, **way)
            ctx.synchronize()
            assert out.tolist() == [2.5, 1.0, 2.5, 1.5, 3.0, 1.0, 0.5, 7.0]


def test_lanes_that_differ_on_the_host() -> None:
    v: Any = simd(Int8, 4)((1, 2, 100, -4))
    assert repr(v) == "SIMD[Int8, 4](1, 2, 100, -4)"
    assert ((v + v).value, (v * 2).value, (-v).value) == ((2, 4, -56, -8), (2, 4, -56, -8), (-1, -2, -100, 4))
    assert ((v > 1).value, v[2], v.cast(Float32).value) == (
        (False, True, True, False),
        100,
        (1.0, 2.0, 100.0, -4.0),
    )


CONSTANT: Any = simd(Float32, 4)((1.0, 2.0, 3.0, 4.0))
MASK: Any = simd(Bool, 4)((True, False, True, False))


@func
def with_constant(x: Float32) -> Any:
    return CONSTANT * x, MASK.select(CONSTANT, x), (-CONSTANT)[3], CONSTANT.reduce_add(), CONSTANT.cast(Int)


def test_a_constant_of_lanes_in_a_function() -> None:
    found = with_constant(2.0)
    assert found == ((2.0, 4.0, 6.0, 8.0), (1.0, 2.0, 3.0, 2.0), -4.0, 10.0, (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ((1.0, 2.0, 3.0), "not 3 lanes"),
        (simd(Float32, 2)(1.0), r"not SIMD\[Float32, 2\]"),
        ((1.0, 2.0, 3.0, "x"), r"takes SIMD\[Float32, 4\], not a str among its lanes"),
        (None, r"takes SIMD\[Float32, 4\], not None"),
        (Float64(1.0), r"not Float64\(1.0\)"),
    ],
)
def test_what_is_no_vector(value: Any, found: str) -> None:
    ctx, out = DeviceContext(api="cpu"), np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match=found):
        ctx.enqueue_function(kernel_of(Float32, 4), 1, value, out, 1, out, grid_dim=1, block_dim=1)


def test_more_parameters_than_a_gpu_takes() -> None:
    launch: Callable[..., Any] = compile_info
    with pytest.raises(CompileError, match=r"has 8224 bytes of parameters, and sm_90 takes 4096"):
        launch(kernel_of(Float64, 1024), target="sm_90")
