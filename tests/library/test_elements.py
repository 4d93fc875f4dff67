"""Structs, arrays and vectors as elements of memory, against ctypes and NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    CompileError,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int8,
    Int16,
    Int32,
    LaunchError,
    Pointer,
    Tensor,
    UInt8,
    func,
    kernel,
    struct,
)
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, SoA, stack_allocation
from weft.sys import align_of, offset_of, size_of


@struct
class Tag:
    kind: Int8
    code: Int16


@struct
class Part:
    tag: Tag
    weights: InlineArray[Float32, 4]
    lanes: SIMD[Float32, 4]
    tags: InlineArray[Tag, 3]
    grid: InlineArray[InlineArray[Int32, 3], 2]
    used: Bool
    total: Float64

    def sum(self) -> Float32:
        found = Float32(0.0)
        for w in self.weights:
            found += w
        return found


class CTag(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int8), ("code", ctypes.c_int16)]


TAG = np.dtype([("kind", "i1"), ("code", "<i2")], align=True)
PART: Any = np.dtype(
    [
        ("tag", TAG),
        ("weights", "<f4", 4),
        ("lanes", "<f4", 4),
        ("tags", TAG, 3),
        ("grid", "<i4", (2, 3)),
        ("used", "?"),
        ("total", "<f8"),
    ],
    align=True,
)


def numpy_of(element: Any) -> np.dtype[Any]:
    return np.dtype(element)


def test_layout_is_that_of_c_and_numpy() -> None:
    """But for vectors, which are aligned to their size, as those of CUDA and of C's compilers."""
    assert numpy_of(Tag) == TAG
    made = numpy_of(Part)
    assert made.names == PART.names
    assert made.fields is not None
    assert [made.fields[n][1] for n in ("tag", "weights", "lanes", "tags")] == [0, 4, 32, 48]
    assert [made[n] for n in PART.names] == [PART[n] for n in PART.names]
    assert (made.itemsize, ctypes.sizeof(CTag)) == (96, TAG.itemsize)
    assert (size_of(Part), align_of(Part), offset_of(Part, "tags")) == (96, 16, 48)
    assert [size_of(each) for each in (Bool, Float32, Pointer[Part], Tag)] == [1, 4, 8, 4]
    with pytest.raises(CompileError, match="Part has no field `tage`"):
        offset_of(Part, "tage")


@kernel
def change(p: Pointer[Part], k: Int):
    i = global_idx.x
    p[i].tag.code += 1
    p[i].weights[k] = p[i].weights[k] * 2.0 + p[i].sum()
    p[i].tags[k % 3].code = p[i].tags[2].code + 5
    p[i].grid[1][k] += Int32(i)
    lane = Pointer(to=p[i].lanes[1])
    lane[0] -= 0.5
    p[i].used = not p[i].used
    p[i].total = p[i].total + p[i].weights[0]


@kernel
def rotate(p: Pointer[Part]):
    held = p[0]
    p[0] = p[1]
    p[1] = p[2]
    held.tag = Tag(Int8(7), held.tag.code)
    p[2] = held


def shown(array: Any) -> str:
    return repr(array.tolist())


def records() -> Any:
    random = np.random.default_rng(5)
    made = np.zeros(3, numpy_of(Part))
    made.view(np.uint8)[:] = 0
    for name in ("weights", "lanes", "total"):
        made[name] = random.integers(-50, 50, made[name].shape)
    made["grid"] = random.integers(-(2**31), 2**31, made["grid"].shape)
    made["tags"]["code"] = random.integers(-100, 100, (3, 3))
    made["tag"]["code"], made["used"] = [1, -2, 3], [True, False, True]
    return made


def changed(made: Any, k: int) -> Any:
    for i, record in enumerate(made):
        record["tag"]["code"] += 1
        record["weights"][k] = record["weights"][k] * np.float32(2) + record["weights"].sum()
        record["tags"]["code"][k % 3] = record["tags"]["code"][2] + 5
        record["grid"][1][k] += np.int32(i)
        record["lanes"][1] -= np.float32(0.5)
        record["used"] = not record["used"]
        record["total"] += record["weights"][0]
    return made


@pytest.mark.parametrize("k", [0, 2])
def test_fields_of_elements(device: DeviceContext, k: int) -> None:
    buffer = device.enqueue_create_buffer(Part, 3)
    with buffer.map_to_host() as host:
        host.numpy()[:] = records()
    device.enqueue_function(change, buffer, k, grid_dim=1, block_dim=3)
    expected = changed(records(), k)
    with buffer.map_to_host() as host:
        assert shown(host.numpy()) == shown(expected)
    device.enqueue_function(rotate, buffer, grid_dim=1, block_dim=1)
    expected = expected[[1, 2, 0]]
    expected[2]["tag"]["kind"] = 7
    with buffer.map_to_host() as host:
        assert shown(host.numpy()) == shown(expected)


@struct
class Pair:
    x: Float32
    n: Int32


@kernel
def one_field(p: Pointer[Pair]):
    p[global_idx.x].n += 1


def test_a_field_is_accessed_alone() -> None:
    """On a GPU as one load and one store of 32 bits; nothing of the neighbour is read or written."""
    text = str(compile_info(one_field, target="sm_90"))
    assert [text.count(word) for word in ("ld.global", "st.global")] == [1, 1]
    assert "ld.global.b32" in text or "ld.global.u32" in text


@kernel
def places(p: Pointer[Part], out: Pointer[Float32]):
    at = Pointer(to=p[1].weights[2])
    at[0] = 4.0
    at[1] = 8.0
    Pointer(to=out[1])[0] = Pointer(to=p[0].lanes)[0].reduce_add()
    Atomic.fetch_add(Pointer(to=p[0].grid[1][global_idx.x]), Int32(3))
    out[0] = Pointer(to=p[1])[0].weights[3]


def test_addresses_of_fields(device: DeviceContext) -> None:
    buffer, out = device.enqueue_create_buffer(Part, 3), device.enqueue_create_buffer(Float32, 2)
    before = records()
    with buffer.map_to_host() as host:
        host.numpy()[:] = before
    device.enqueue_function(places, buffer, out, grid_dim=1, block_dim=1)
    before["weights"][1][2:] = 4.0, 8.0
    before["grid"][0][1][0] += 3
    with buffer.map_to_host() as host:
        assert shown(host.numpy()) == shown(before)
    with out.map_to_host() as host:
        assert host.numpy().tolist() == [8.0, before["lanes"][0].sum()]


@kernel
def through_shared(t: LayoutTensor[Pair], out: Pointer[Pair]):
    held = stack_allocation(Pair, Layout.row_major(2, 4), address_space=AddressSpace.SHARED)
    mine = stack_allocation(Pair, 2)
    i, j = thread_idx.y, thread_idx.x
    mine[1] = t[i, j]
    mine[1].n += Int32(10 * i)
    held[i, j] = mine[1]
    barrier()
    held[i, j].x += 0.5
    barrier()
    out[4 * i + j] = held[1 - i, 3 - j]


def test_tensors_shared_and_local_arrays_of_structs(device: DeviceContext) -> None:
    buffer, out = device.enqueue_create_buffer(Pair, 8), device.enqueue_create_buffer(Pair, 8)
    with buffer.map_to_host() as host:
        host.numpy()["x"], host.numpy()["n"] = np.arange(8), -np.arange(8)
    tensor = buffer.tensor(Layout.row_major(2, 4))
    device.enqueue_function(through_shared, tensor, out, grid_dim=1, block_dim=(4, 2))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    n = -np.arange(8).reshape(2, 4) + [[0], [10]]
    with out.map_to_host() as host:
        found = host.numpy().reshape(2, 4)
        assert found["n"].tolist() == n[::-1, ::-1].tolist()  # each thread reads what another has written
        assert found["x"].tolist() == (x[::-1, ::-1] + 0.5).tolist()


@struct(pack=1)
class Packed:
    a: Int8
    b: Float64
    tag: Tag
    c: Int16


@struct(pack=2, align=16)
class Odd:
    a: Int8
    b: Float64


class CPacked(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_int8), ("b", ctypes.c_double), ("tag", CTag), ("c", ctypes.c_int16)]


@func
def halve(p: Pointer[Packed], i: Int) -> Float64:
    p[i].b /= 2.0
    p[i].c = p[i].tag.code
    return p[i].b


def test_packed_structs() -> None:
    packed = np.dtype([("a", "i1"), ("b", "<f8"), ("tag", TAG), ("c", "<i2")])
    assert (numpy_of(Packed), packed.itemsize) == (packed, ctypes.sizeof(CPacked))
    assert (numpy_of(Odd).fields or {})["b"][1] == 2
    assert numpy_of(Odd).itemsize == 16
    held = (CPacked * 2)(CPacked(1, 2.0, CTag(3, 4), 5), CPacked(6, 7.0, CTag(8, 9), 10))
    assert halve(held, 1) == 3.5
    assert (held[1].a, held[1].b, held[1].tag.code, held[1].c) == (6, 3.5, 9, 9)
    assert (held[0].b, held[0].c) == (2.0, 5)


@kernel
def address_in_packed(p: Pointer[Packed]):
    Pointer(to=p[0].b)[0] = 1.0


@kernel
def address_of_value(p: Pointer[Pair]):
    q = p[0]
    Pointer(to=q.x)[0] = 1.0


@kernel
def outside(p: Pointer[Part]):
    p[0].weights[4] = 1.0


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (address_in_packed, "lies at a multiple of 1 bytes, and a pointer to such at one of 8"),
        (address_of_value, "is a value, which has no address"),
        (outside, "index 4 is outside of this memory, which has 4 elements"),
    ],
)
def test_refusals(refused: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        compile_info(refused, target="sm_90")


@func
def evens(n: Int) -> Any:
    made = InlineArray[Int, 4](0, 2, 4, 6)
    filled = InlineArray[Int, 3](fill=n)
    return made[n], len(made), filled[2], made == InlineArray[Int, 4](0, 2, 4, 6), made == made


@func
def takes(xs: InlineArray[Float64, 3], n: Int) -> Float64:
    return xs[n] + xs[0]


def test_arrays_as_values() -> None:
    assert evens(3) == (6, 4, 3, True, True)
    given: list[Any] = [[1.0, 2.5, 3.0], np.array([1, 2.5, 3])]
    assert [takes(xs, 1) for xs in given] == [3.5, 3.5]
    assert InlineArray[Int, 2](1, 2) == InlineArray[Int, 2](1, 2)
    assert InlineArray[Int, 2](1, 2) != InlineArray[Int, 2](1, 3)
    assert repr(InlineArray[UInt8, 2](fill=1)) == "InlineArray[UInt8, 2](UInt8(1), UInt8(1))"


@kernel
def once(p: Pointer[Part], out: Pointer[Int32]):
    p[Atomic.fetch_add(out, Int32(1))].weights[Int(Atomic.fetch_add(out + 1, Int32(1)))] += 1.0


def test_what_names_a_place_is_evaluated_once(device: DeviceContext) -> None:
    buffer, out = device.enqueue_create_buffer(Part, 3), device.enqueue_create_buffer(Int32, 2)
    with buffer.map_to_host() as host:
        host.numpy().view(np.uint8)[:] = 0
    with out.map_to_host() as host:
        host[:] = [1, 2]
    device.enqueue_function(once, buffer, out, grid_dim=1, block_dim=1)
    with buffer.map_to_host() as host, out.map_to_host() as counts:
        assert host.numpy()["weights"].tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
        assert counts[:].tolist() == [2, 3]


@struct
class Vec2:
    x: Float32
    y: Float32


@struct
class Body:
    id: Int8
    position: Vec2
    counts: InlineArray[Int32, 3]


class CVec2(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float)]


class CBody(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int8), ("position", CVec2), ("counts", ctypes.c_int32 * 3)]


@kernel
def move(bodies: Pointer[Body], grid: LayoutTensor[Body], points: Pointer[Vec2], by: Float32):
    bodies[1].position.x += by
    grid[1, 2].counts[2] = grid[0, 0].counts[0] + 7
    points[1].y = bodies[0].position.x


def test_records_rows_bytes_and_ctypes_are_arguments() -> None:
    ctx = DeviceContext(api="cpu")
    records = np.zeros(3, numpy_of(Body))
    records["position"]["x"] = [4.0, 5.0, 6.0]
    grid = np.zeros((2, 5), numpy_of(Body))
    grid["counts"][0, 1] = 3
    rows = np.zeros((3, 2), np.float32)
    ctx.enqueue_function(move, records, grid[:, 1:], rows, 0.5, grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert records["position"]["x"].tolist() == [4.0, 5.5, 6.0]
    assert grid["counts"][1, 3].tolist() == [0, 0, 10]
    assert rows.tolist() == [[0, 0], [0, 4], [0, 0]]
    held, points = (CBody * 2)(), (CVec2 * 2)()
    ctx.enqueue_function(move, records.view(np.uint8), grid[:, 1:], points, 0.5, grid_dim=1, block_dim=1)
    ctx.enqueue_function(move, held, grid[:, 1:], rows, 2.0, grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert records["position"]["x"][1] == 6.0
    assert (points[1].y, held[1].position.x) == (4.0, 2.0)


def described(**changed: Any) -> Any:
    parts: dict[str, Any] = {"id": "i1", "position": [("x", "<f4"), ("y", "<f4")], "counts": ("<i4", 3)}
    return list({**parts, **changed}.items())


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (np.dtype(described()), "`position` lies at byte 1, in Body at 4.*align=True"),
        (
            np.dtype(described(counts="(4,)<i4"), align=True),
            "`counts` is 4 times int32, in Body 3 times int32",
        ),
        (
            np.dtype(described(position="<f8"), align=True),
            "`position` is float64, in Body a struct of 8 bytes",
        ),
        (np.dtype(described(counts="(3,)<f4"), align=True), "`counts` is 3 times float32"),
        (np.dtype(described(counts="(3,)>i4"), align=True), "`counts` is 3 times foreign 32"),
        (np.dtype(described(more="i1"), align=True), "it has a field `more`, unlike Body"),
        (np.dtype(described(position=[("x", "<f4"), ("z", "<f4")]), align=True), "no field `position.y`"),
    ],
)
def test_another_layout_is_refused(wrong: Any, text: str) -> None:
    ctx, array = DeviceContext(api="cpu"), np.zeros(3, wrong)
    grid, rows = np.zeros((2, 4), numpy_of(Body)), np.zeros((3, 2), np.float32)
    with pytest.raises(LaunchError, match=f"(?s){text}"):
        ctx.enqueue_function(move, array, grid, rows, 0.5, grid_dim=1, block_dim=1)
    with pytest.raises(LaunchError, match=f"(?s){text}"):
        ctx.enqueue_copy(dst=ctx.enqueue_create_buffer(Body, 3), src=array)


def test_copies_fills_and_tensors_of_structs(device: DeviceContext) -> None:
    records = np.zeros(6, numpy_of(Body))
    records["counts"] = np.arange(18).reshape(6, 3)
    buffer, other = device.enqueue_create_buffer(Body, 6), device.enqueue_create_buffer(Body, 6)
    device.enqueue_copy(dst=buffer, src=records)
    device.enqueue_copy(dst=other, src=buffer)
    back = np.zeros_like(records)
    device.enqueue_copy(dst=back, src=other)
    device.synchronize()
    assert shown(back) == shown(records)
    one = Body(Int8(3), Vec2(1.5, -2.0), InlineArray[Int32, 3](4, 5, 6))
    other.enqueue_fill(one)
    packed = device.enqueue_create_buffer(Packed, 3)
    packed.enqueue_fill((1, 2.0, (3, 4), 5))
    with other.map_to_host() as host, packed.map_to_host() as few:
        filled = np.full(6, np.array((3, (1.5, -2.0), (4, 5, 6)), numpy_of(Body)))
        assert shown(host.numpy()) == shown(filled)
        assert few.numpy().tolist() == [(1, 2.0, (3, 4), 5)] * 3
        host[1] = Body(Int8(9), Vec2(0.0, 0.0), InlineArray[Int32, 3](fill=1))
        host[2:4] = [one, (1, (2, 3), (4, 5, 6))]
        assert host.numpy()["id"].tolist() == [3, 9, 3, 1, 3, 3]
        assert "Body" in repr(other)
    tensor = Tensor(Body, (2, 3), device)
    device.enqueue_copy(dst=tensor.storage, src=records)
    assert shown(tensor.numpy()) == shown(records.reshape(2, 3))
    four: Any = SIMD[Float32, 4]
    vectors = Tensor(four, (2, 2), device)
    device.enqueue_copy(dst=vectors.storage, src=np.arange(16, dtype=np.float32).reshape(2, 2, 4))
    assert vectors.numpy()[1, 0].tolist() == [8, 9, 10, 11]
    with pytest.raises(LaunchError, match="nothing says which of the program's they are"):
        Tensor.from_numpy(records)
    with pytest.raises(LaunchError, match=r"src is a DeviceBuffer of 6 Body"):
        device.enqueue_copy(dst=device.enqueue_create_buffer(Vec2, 6), src=buffer)


@kernel
def apart(p: SoA[Body], q: Pointer[Body]):
    i = global_idx.x
    p[i].position.x += 0.5
    p[i].counts[1] = p[i].counts[0] + 1
    held = p[i]
    held.id = Int8(i)
    q[i] = held
    if i == 2:
        p[i] = q[i]
    if i == 0:
        Atomic.fetch_add(Pointer(to=p[i].counts[2]), Int32(100))


def test_structs_of_arrays(device: DeviceContext) -> None:
    records = np.zeros(3, numpy_of(Body))
    records["counts"], records["position"]["x"] = np.arange(9).reshape(3, 3), [1.0, 2.0, 3.0]
    bodies, out = SoA(device, Body, 3), device.enqueue_create_buffer(Body, 3)
    assert list(bodies.arrays) == ["id", "position.x", "position.y", "counts"]
    bodies.copy_from(records)
    bodies.field("position.y").enqueue_fill(9.0)
    device.enqueue_function(apart, bodies, out, grid_dim=1, block_dim=3)
    records["position"]["x"] += 0.5
    records["position"]["y"] = 9.0
    records["counts"][:, 1] = records["counts"][:, 0] + 1
    whole = records.copy()
    whole["id"] = np.arange(3)
    with out.map_to_host() as host:
        assert shown(host.numpy()) == shown(whole)
    records["id"][2] = 2
    records["counts"][0, 2] += 100
    assert shown(bodies.numpy()) == shown(records)


@struct
class Short:
    """What NumPy has no type for is its bits there, also several in a field."""

    one: BFloat16
    lanes: SIMD[BFloat16, 2]


@kernel
def doubled_lanes(p: SoA[Short]):
    p[global_idx.x].lanes += p[global_idx.x].one


def test_structs_of_arrays_of_bits(device: DeviceContext) -> None:
    records = np.zeros(2, numpy_of(Short))
    records["one"], records["lanes"] = 0x3F80, [[0x4000, 0x0000], [0x3F80, 0xBF80]]
    shorts = SoA(device, Short, 2)
    shorts.copy_from(records)
    device.enqueue_function(doubled_lanes, shorts, grid_dim=1, block_dim=2)
    assert shorts.numpy()["lanes"].tolist() == [[0x4040, 0x3F80], [0x4000, 0x0000]]


def test_a_struct_of_arrays_reads_neighbouring_memory() -> None:
    """Each field is loaded from an array of its own, by as many bytes as it has."""
    text = str(compile_info(apart, target="sm_90"))
    assert text.count(".param .u64 .ptr") == 5


def test_what_is_no_struct_of_arrays_is_refused() -> None:
    ctx = DeviceContext(api="cpu")
    out = ctx.enqueue_create_buffer(Body, 3)
    with pytest.raises(LaunchError, match=r"takes a SoA\[Body\], not a DeviceBuffer"):
        ctx.enqueue_function(apart, out, out, grid_dim=1, block_dim=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(CompileError, match="SoA takes a @struct, and float32 has no fields"):
        SoA(ctx, Float32, 3)
    with pytest.raises(CompileError, match="Body has no array for `position`"):
        SoA(ctx, Body, 3).field("position")
    with pytest.raises(CompileError, match="2 records for 3 elements"):
        SoA(ctx, Body, 3).copy_from(np.zeros(2, numpy_of(Body)))
