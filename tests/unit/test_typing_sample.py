"""Programs as users write them have no type errors and readable types; pyright checks this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_type

import numpy as np
import pytest

from weft import (
    Bool,
    Comptime,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int32,
    Kernel,
    Pointer,
    UInt8,
    func,
    kernel,
    struct,
    unroll,
)
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.layout import LayoutTensor
from weft.math import clamp, exp
from weft.math import min as smaller
from weft.memory import SoA
from weft.runtime.buffers import DeviceBuffer


@struct
class Vec2:
    x: Float32
    y: Float32

    def dot(self, other: Vec2) -> Float32:
        return self.x * other.x + self.y * other.y

    def __add__(self, other: Vec2) -> Vec2:
        return Vec2(self.x + other.x, self.y + other.y)


@func
def relu(x: Float32) -> Float32:
    return x if x > 0.0 else Float32(0.0)


@func
def with_index(x: Float32) -> tuple[Float32, Int]:
    return x, global_idx.x


@struct
class Body:
    position: Vec2
    mass: Float32
    counts: InlineArray[Int32, 4]


@struct
class Bodies:
    first: Pointer[Body]
    masses: Pointer[Float32]


@kernel
def elements(p: Pointer[Body], q: SoA[Body], all_of: Bodies, out: Pointer[Float32]):
    i = global_idx.x
    assert_type(p[i], Body)
    assert_type(p[i].position.x, Float32)
    assert_type(p[i].position.dot(p[0].position), Float32)
    assert_type(q[i].position, Vec2)
    assert_type(all_of.first[i].mass, Float32)
    assert_type(Pointer(to=p[i].mass), Pointer[Float32])
    p[i].position.x += 1.0
    p[i].counts[2] = p[i].counts[i]
    p[i].counts[1] += 1
    q[i].mass = p[i].mass
    p[i] = q[i]
    out[0] = Pointer(to=p[i].mass)[0]


@kernel
def numbers(p: Pointer[Float32], q: Pointer[Float64], m: Pointer[Int32], out: Pointer[Float32], n: Int):
    i = assert_type(global_idx.x, Int)
    if i >= n:
        return
    assert_type(block_idx.x * block_dim.x + thread_idx.x, Int)
    assert_type(i < n, Bool)
    assert_type(i == n, Bool)
    assert_type(i != 3, Bool)
    assert_type(p[i], Float32)
    assert_type((p + 1)[0], Float32)
    assert_type(Float32(0.5) * p[i], Float32)
    assert_type(0.5 * p[i], Float32)
    assert_type(1 - p[i], Float32)
    assert_type(p[i] ** 2, Float32)
    assert_type(-p[i], Float32)
    assert_type(abs(p[i]), Float32)
    assert_type(i // 2 % 3, Int)
    assert_type(i & 1, Int)
    assert_type(i * p[i], Float32)
    assert_type(p[i] * i, Float32)
    assert_type(p[i] * q[i], Float64)
    assert_type(m[i] * p[i], Float32)
    assert_type(p[i].cast(Float64), Float64)
    assert_type((p[i] > 0.0).select(p[i], 0.0), Float32)
    assert_type(min(p[i], p[0]), Float32)
    assert_type(smaller(p[i], 1.0), Float32)
    assert_type(round(p[i]), Int)
    assert_type(exp(p[i]), Float32)
    p[i] += 1.0
    p[0] = 2
    out[i] = clamp(p[i], 0.0, 1.0)


@kernel
def loops(p: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    acc = 0.0
    for j in range(n):
        acc += p[j]
    for j in range(i, n, 2):
        acc = acc + j * p[j]
    for u in unroll(range(4)):
        acc += p[i + u]
    best = 0
    while best < n:
        if p[best] > 1.0 and not p[best] < 0.0:
            break
        best += 1
    if 0 <= i < n:
        out[i] = acc
    assert i >= 0, "indices count from 0"
    print("thread", i, f"{p[i]:.3f}")
    barrier()


@kernel
def calls(p: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    total = 0.0
    for j in range(n):
        total += p[j]
    out[i] = assert_type(relu(total), Float32)
    out[i] += relu(1.0)
    value, index = with_index(p[i])
    assert_type(value, Float32)
    assert_type(index, Int)
    out[index] = value


@kernel
def structs(p: Pointer[Float32], out: Pointer[Float32]):
    v, w = Vec2(1.0, 2), Vec2(Float32(0.5), p[0])
    v.x = 3.0
    v.y += p[1]
    assert_type(v.x, Float32)
    out[0] = assert_type(v + w, Vec2).dot(v)


@kernel
def lanes(p: Pointer[Float32], image: Pointer[UInt8]):
    v = assert_type(p.load(0, width=4), Float32)
    w = v * Float32.splat(4, 2.0)
    p[0] = assert_type(w.reduce_add(), Float32) + w[1]
    assert_type(image.bitcast(Float32)[0], Float32)


@kernel
def compile_time(image: Pointer[UInt8], out: Pointer[Float32], *, factor: Comptime[int] = 2):
    assert_type(factor, int)
    for n in range(factor):
        out[n] = Float32(image[n]) / (factor * factor)


@kernel
def tensors(t: LayoutTensor[Float32]):
    t[0, 1] += 1.0
    assert_type(t[0, 1] * 2, Float32)
    assert_type(t.load(0, 1), Float32)
    assert_type(t[0, :].load(1), Float32)
    t[1, 0] = relu(t[0, 1])


@func
def smallest(row: LayoutTensor[Float32]) -> Float32:
    best = row[0]
    for x in row:
        best = min(best, x)
    return best


@kernel
def rows(t: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row = t[1]
    for j in range(row.dim(0)):
        out[0][j] += row[j]
    for other in t:
        row.copy_from(other)
    t[2] = t[0]
    out[2, 0] = smallest(row) + smallest(t[2])


def launches(ctx: DeviceContext) -> None:
    """Launches, as a host writes them; only checked."""
    buffer = ctx.enqueue_create_buffer(Float32, 3)
    ctx.enqueue_function(loops, buffer, buffer, 3, grid_dim=1, block_dim=(8, 8))
    image = ctx.enqueue_create_buffer(UInt8, 3)
    ctx.enqueue_function(compile_time, image, buffer, grid_dim=1, block_dim=8, factor=2)
    ctx.enqueue_function(compile_time.bind(factor=3), image, buffer, over=(4, 8))


Kernels = list[tuple[Kernel[...], dict[str, object]]]
KERNELS: Kernels = [
    (numbers, {}),
    (loops, {}),
    (calls, {}),
    (structs, {}),
    (elements, {}),
    (lanes, {}),
    (compile_time, {"factor": 2}),
    (compile_time.bind(factor=4), {"factor": 4}),
]


@pytest.mark.parametrize(("made", "comptime"), KERNELS, ids=lambda v: getattr(v, "__name__", ""))
def test_it_compiles(made: Kernel[...], comptime: dict[str, object]) -> None:
    specs: dict[str, Spec] = {
        p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
        for p in parameters(made.definition)
    }
    text = elaborate_kernel(made, specs, "sm_90").emit("asm")
    assert isinstance(text, str)
    assert ".entry " in text


def test_on_the_host() -> None:
    v = Vec2(1.0, 2)
    assert repr(v) == "Vec2(x=Float32(1.0), y=Float32(2.0))"
    assert repr(round(Float32(2.5))) == "Int(2)"
    assert repr(round(Int32(7))) == "Int32(7)"


def test_memory_of_structs() -> None:
    ctx = DeviceContext(api="cpu")
    bodies = assert_type(ctx.enqueue_create_buffer(Body, 3), DeviceBuffer[Body])
    held = Bodies(bodies, ctx.enqueue_create_buffer(Float32, 3))
    assert isinstance(held, Bodies)
    assert assert_type(SoA(ctx, Body, 2), SoA[Body]).size == 2


def test_rows_are_parts() -> None:
    given = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    t, out = given.copy(), np.ones((3, 4), np.float32)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(rows, t, out, grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert (out[0] == given[1] + 1).all()
    assert (t[1] == given[2]).all()
    assert (t[2] == given[0]).all()
    assert out[2, 0] == given[2].min() + given[0].min()


def test_functions_are_values() -> None:
    taken: Callable[[Float32], Float32] = relu
    assert taken is relu


@func
def along(v: Vec2, step: Float32) -> Float32:
    return v.x * step


@func
def thirds(v: Vec2, n: Int) -> Float32:
    quotient, rest = assert_type(divmod(n, 3), tuple[Int, Int])
    return along(v, 0.5) * quotient + along(v, step=2) * rest


def test_literals_beside_structs() -> None:
    assert thirds(Vec2(2.0, 0.0), 7) == 2.0 * 0.5 * 2 + 2.0 * 2 * 1
