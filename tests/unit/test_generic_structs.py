"""Structs over types and sizes, against the same written by hand."""

from __future__ import annotations

import pickle
from typing import Any, Generic, Literal, TypeVar, assert_type

import numpy as np
import pytest

from weft import (
    SIMD,
    CompileError,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int32,
    LaunchError,
    Pointer,
    func,
    kernel,
    struct,
    unroll,
)
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

T = TypeVar("T", Float32, Float64, Int32, Int)
N = TypeVar("N", bound=int)


@struct
class Vec(Generic[T]):
    x: T
    y: T

    def dot(self, other: Vec[T]) -> T:
        return type(self.x)(0) + self.x * other.x + self.y * other.y

    def __add__(self, other: Vec[T]) -> Vec[T]:
        return Vec(self.x + other.x, self.y + other.y)

    @staticmethod
    def unit() -> Vec[T]:
        of: Any = T
        return Vec(of(1), of(0))


@struct
class Ring(Generic[T, N]):
    """``N`` numbers of ``T``."""

    items: SIMD[T, N]

    def size(self) -> Int:
        n: Any = N
        return n

    def total(self) -> T:
        total: Any = 0
        items: Any = self.items
        for i in unroll(range(self.size())):
            total += items[i]
        return total


@struct
class Pair(Generic[T, N]):
    first: Vec[T]
    ring: Ring[T, N]


@func
def longest(a: Vec[T], c: Vec[T]) -> Vec[T]:
    return a if a.dot(a) > c.dot(c) else c


@kernel
def folded(x: Pointer[Float64], pair: Pair[Float64, Literal[4]]):
    i = global_idx.x
    at = longest(Vec(x[i], Float64(2)), Vec[Float64].unit()) + pair.first
    x[i] = at.dot(pair.first) + pair.ring.total() * pair.ring.size()


def expected(x: Any, first: tuple[float, float], ring: list[float]) -> Any:
    out = x.copy()
    for i, v in enumerate(x):
        a, c = (v, 2.0), (1.0, 0.0)
        ax, ay = a if v * v + 4.0 > 1.0 else c
        ax, ay = ax + first[0], ay + first[1]
        out[i] = ax * first[0] + ay * first[1] + sum(ring) * len(ring)
    return out


def test_a_kernel_takes_a_generic_struct() -> None:
    ctx = DeviceContext(api="cpu")
    x = np.arange(8.0)
    made: Any = SIMD[Float64, 4]
    sized: Any = Pair[Float64, Literal[4]]
    pair = sized(
        Vec[Float64](Float64(0.5), Float64(3)), Ring[Float64, Literal[4]](made((1.0, 2.0, 3.0, 5.5)))
    )
    wanted = expected(x, (0.5, 3.0), [1.0, 2.0, 3.0, 5.5])
    ctx.enqueue_function(folded, x, pair, over=8)
    ctx.synchronize()
    np.testing.assert_array_equal(x, wanted)


def test_fields_say_the_type() -> None:
    of: Any = Vec
    assert type(of(1, 2)) is of[Int]
    assert type(of(1, 2.5)) is of[Float32]
    assert type(of(np.float64(1), np.float64(2))) is of[Float64]
    assert type(of(x=Float64(1.0), y=2)) is of[Float64]
    assert repr(of(Float64(1.0), 2)) == "Vec[Float64](x=Float64(1.0), y=Float64(2.0))"
    assert isinstance(of(1, 2), Vec)
    assert Vec[Int].unit() == of(1, 0)
    assert of(1, 0) == Vec(Int32(1), Int32(0))
    assert of(1, 0) != Vec(Int32(1), Int32(1))
    lanes: Any = SIMD[Float64, 4]
    sized: Any = Ring
    ring = sized(lanes(2.5))
    assert (ring.total(), ring.size(), type(ring)) == (10.0, 4, sized[Float64, 4])
    assert sized[Float64, 4] is sized[Float64, Literal[4]]
    assert_type(Vec(Float64(1), Float64(2)), Vec[Float64])
    assert_type(Vec(Float64(1), Float64(2)).dot(Vec[Float64].unit()), Float64)


def test_methods_compute_in_their_type() -> None:
    large = 2**24 + 1
    assert Vec(Float64(large), Float64(0)).dot(Vec[Float64].unit()) == large
    assert Vec(Int32(2**30), Int32(0)).dot(Vec(Int32(4), Int32(1))) == 0
    assert longest(Vec(Float64(3), Float64(0)), Vec(Float64(0), Float64(4))) == Vec(Float64(0), Float64(4))


@struct
class View(Generic[T]):
    data: Pointer[T]
    n: Int

    def total(self) -> T:
        total = type(self.data[0])(0)
        for i in range(self.n):
            total += self.data[i]
        return total


@kernel
def totals(view: View[T], out: Pointer[T]):
    out[0] = view.total()


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_memory_in_fields_says_the_type(dtype: Any) -> None:
    ctx = DeviceContext(api="cpu")
    x, out = np.arange(5).astype(dtype), np.zeros(1, dtype)
    buffer = ctx.enqueue_create_buffer(dtype, 5)
    ctx.enqueue_copy(buffer, x)
    made: Any = View
    for data in (x, buffer):
        out[:] = 0
        ctx.enqueue_function(totals, made(data, 5), out, over=1)
        ctx.synchronize()
        assert out[0] == 10


@kernel
def moved(points: Pointer[Vec[T]], by: Vec[T], tensor: LayoutTensor[Vec[T]]):
    i: Any = global_idx.x
    points[i] = points[i] + by
    tensor[i].x = points[i].y


def test_buffers_of_generic_structs() -> None:
    ctx = DeviceContext(api="cpu")
    of: Any = Vec[Float32]
    buffer = ctx.enqueue_create_buffer(of, 4)
    with buffer.map_to_host() as host:
        for i in range(4):
            host[i] = of(i, 10 * i)
    other = ctx.enqueue_create_buffer(of, 4)
    other.enqueue_fill(of(7, 8))
    ctx.enqueue_function(moved, buffer, of(1, 2), other.tensor(Layout.row_major(4)), over=4)
    with buffer.map_to_host() as host, other.map_to_host() as out:
        assert [tuple(v) for v in host.numpy()] == [(i + 1, 10 * i + 2) for i in range(4)]
        assert [tuple(v) for v in out.numpy()] == [(10 * i + 2, 8) for i in range(4)]
    unlike: Any = Vec[Float64]
    with pytest.raises(LaunchError, match=r"takes Vec\[Float32\], not Vec\[Float64\]: `T` is Float32 by"):
        ctx.enqueue_function(moved, buffer, unlike(1, 2), other.tensor(Layout.row_major(4)), over=4)


def test_structs_are_pickled() -> None:
    value = Vec(Float64(1.5), Float64(2))
    copy = pickle.loads(pickle.dumps(value))
    assert type(copy) is type(value)
    assert copy == value


def test_one_class_for_one_type() -> None:
    of: Any = Vec
    assert of[Float32] is of[Float32]
    assert of[Float32] is not of[Float64]
    with pytest.raises(LaunchError, match=r"`other` of dot takes a Vec\[Float32\], not a Vec\[Int\]"):
        of(Float32(1), Float32(2)).dot(of(1, 2))
    with pytest.raises(CompileError, match=r"Vec\[...\] takes 1 of types and sizes, but 2 are given"):
        of[Float32, 2]
    with pytest.raises(CompileError, match="`T` of Vec is one of Float32, Float64, Int32, Int, not str"):
        of[str]


@struct
class Recent(Generic[T, N]):
    """The last ``N`` numbers."""

    items: InlineArray[T, N]
    at: Int32

    def push(self, x: T) -> Recent[T, N]:
        items: Any = InlineArray[T, N](*self.items)
        items[self.at % items.__len__()] = x
        return Recent(items, self.at + 1)


@kernel
def _pushed(rings: Pointer[Recent[T, N]], x: Pointer[T]):
    i = global_idx.x
    rings[i] = rings[i].push(x[i])


@pytest.mark.parametrize("kind", [Float32, Int32])
def test_arrays_over_types_and_sizes(device: DeviceContext, kind: Any) -> None:
    ring: Any = Recent
    rings = device.enqueue_create_buffer(ring[kind, 3], 4)
    with rings.map_to_host() as host:
        host[:] = [((1, 2, 3), n) for n in range(4)]
    x = device.enqueue_create_buffer(kind, 4)
    x.enqueue_fill(9)
    device.enqueue_function(_pushed, rings, x, over=4)
    with rings.map_to_host() as host:
        assert host.numpy()["items"].tolist() == [[9, 2, 3], [1, 9, 3], [1, 2, 9], [9, 2, 3]]


@func
def _inner(a: InlineArray[T, N], c: InlineArray[T, N]) -> T:
    total: Any = a[0] * c[0]
    for x, y in zip(list(a)[1:], list(c)[1:], strict=True):
        total += x * y
    return total


def test_arrays_say_what_types_and_sizes_are() -> None:
    inner: Any = _inner
    one, two = InlineArray[Float32, 3](1, 2, 3), InlineArray[Float32, 3](4, 5, 6)
    assert inner(one, two) == 32.0
    assert inner[Int32, 2]([1, 2], [3, 4]) == 11
    with pytest.raises(
        LaunchError, match=r"takes InlineArray\[Float32, 3\], not InlineArray\[Float32, 2\]: `N` is 3"
    ):
        inner(one, InlineArray[Float32, 2](4, 5))


@kernel
def _first(vectors: Pointer[Vec[T]], x: Pointer[T]):
    vectors[0].x += x[0]


def test_records_are_structs_of_the_type_that_others_say() -> None:
    ctx = DeviceContext(api="cpu")
    records: Any = np.array([(1, 2)], [("x", "f4"), ("y", "f4")])
    rows: Any = np.ones((1, 2), np.float32)
    for memory in (records, rows):
        ctx.enqueue_function(_first, memory, np.full(1, 5, np.float32), over=1)
    ctx.synchronize()
    assert records.tolist() == [(6, 2)]
    assert rows.tolist() == [[6, 1]]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_memory_of_other_elements_is_refused_once_the_type_is_known(kind: Any) -> None:
    ctx = DeviceContext(api="cpu")
    with pytest.raises(LaunchError, match=r"takes a buffer or array of Vec\[Float32\], not a NumPy array of"):
        ctx.enqueue_function(_first, np.zeros(6, kind), np.full(1, 5, np.float32), over=1)
