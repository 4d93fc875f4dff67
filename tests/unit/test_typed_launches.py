"""What launches take in place of what kernels name: pyright checks this file, and it runs."""

from __future__ import annotations

import array
import ctypes
from typing import TypeVar, assert_type

import numpy as np

from weft import Bool, Float32, Floating, Int, Integer, Number, Pointer, UInt8, func, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.math import exp
from weft.memory import SoA, stack_allocation

F = TypeVar("F", bound=Floating)
N = TypeVar("N", bound=Number)


@kernel
def scale(x: Pointer[Float32], n: Int, by: Float32, wanted: Bool, most: UInt8):
    i = global_idx.x
    if i < n and i < most and wanted:
        x[i] *= by


@kernel
def axpy(a: F, x: Pointer[F], y: Pointer[F]):
    i = global_idx.x
    y[i] = a * x[i] + y[i]


@func
def softplus(x: F) -> F:
    return assert_type(exp(x), F) * 0.5 + 1


@func
def larger(x: N, y: N) -> N:
    return x if x > y else y


@struct
class Body:
    mass: Float32
    count: Int


@struct
class Span:
    x: Pointer[Float32]
    count: Int


@kernel
def added(x: Pointer[Float32], t: LayoutTensor[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] += x[i] + t[i]


@kernel
def halved(span: Span, bodies: SoA[Body]):
    i = global_idx.x
    span.x[i] = bodies[i].mass / 2


def test_numbers_of_numpy() -> None:
    ctx = DeviceContext(api="cpu")
    x = np.arange(4, dtype=np.float32)
    ctx.enqueue_function(scale, x, np.int64(4), np.float32(2), np.bool_(True), np.uint8(9), over=4)
    ctx.synchronize()
    ctx.enqueue_function(scale, x, x.size, x.max(), x[1] > 0, np.int64(9), over=4)
    ctx.enqueue_function(scale, x, len(x), np.float64(0.5), True, 9, over=x.shape)
    ctx.synchronize()
    assert (x == np.arange(4) * 2 * 6 * 0.5).all()
    made = Body(np.float32(1.5), np.int32(3))
    assert (made.mass, made.count) == (1.5, 3)


def test_numbers_for_type_variables() -> None:
    ctx = DeviceContext(api="cpu")
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    ctx.enqueue_function(axpy, 0.5, x, y, over=4)
    ctx.enqueue_function(axpy, np.float32(2), x, y, over=4)
    ones = ctx.enqueue_create_buffer(Float32, 4)
    ones.enqueue_fill(1.0)
    ctx.enqueue_function(axpy, 1, ones, y, over=4)
    ctx.synchronize()
    assert (y == 4.5).all()
    assert larger(2, 3) == 3
    assert assert_type(larger(Float32(2), 3.0), Float32) == 3
    assert softplus(0.0) == 1.5


def test_memory_of_python() -> None:
    ctx, out = DeviceContext(api="cpu"), array.array("f", [0.0] * 4)
    x, shared = np.arange(4, dtype=np.float32), (ctypes.c_float * 4)(1, 2, 3, 4)
    ctx.enqueue_function(added, x, shared, out, over=4)
    ctx.enqueue_function(added, out, array.array("f", x.tolist()), shared, over=4)
    ctx.synchronize()
    assert out.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert list(shared) == [2.0, 6.0, 10.0, 14.0]
    ctx.enqueue_function(halved, Span(out, 4), {"mass": x, "count": np.zeros(4, np.int64)}, over=4)
    ctx.synchronize()
    assert out.tolist() == [0.0, 0.5, 1.0, 1.5]


def kind_of(x: Number) -> str:
    """Strict checking takes these, as no kind is the other's."""
    return "integer" if isinstance(x, Integer) else "float" if isinstance(x, Floating) else "other"


def is_single(x: object) -> bool:
    return isinstance(x, Float32)


@func
def cut(x: Float32 | Int) -> Int:
    if isinstance(x, Integer):
        return assert_type(x, Int)
    return Int(x)


@func
def doubled(x: Float32 | Int) -> Float32:
    return 2 * assert_type(x, Float32) if isinstance(x, Floating) else 0.0


@kernel
def shifted(a: F, x: Pointer[F]):
    one, sums = type(a)(1), stack_allocation(x.element_type, 1)
    sums[0] = assert_type(x.element_type(2), F) + one
    x[global_idx.x] += sums[0] + x.element_type.simd(1, 2, 3, 4).reduce_add()


def test_type_variables_as_values() -> None:
    ctx, x = DeviceContext(api="cpu"), np.ones(4)
    ctx.enqueue_function(shifted, 1.0, x, over=4)
    ctx.synchronize()
    assert x.tolist() == [1.0 + 2.0 + 1.0 + 10.0] * 4


def test_kinds_are_told_apart() -> None:
    assert (cut(3), cut(2.5), doubled(Float32(2.5)), doubled(3)) == (3, 2, 5.0, 0.0)
    assert [kind_of(x) for x in (Int(3), Float32(2), Bool(True))] == ["integer", "float", "other"]
    assert is_single(Float32(1))
    assert not is_single(1.0)
