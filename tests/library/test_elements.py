"""Structs, arrays and vectors as elements of memory, against ctypes and NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    Bool,
    CompileError,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int8,
    Int16,
    Int32,
    Pointer,
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
from weft.memory import AddressSpace, stack_allocation


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
        # Each thread reads what another has written, before or after that adds 0.5 to it
        assert found["n"].tolist() == n[::-1, ::-1].tolist()
        assert np.all(np.isin(found["x"] - x[::-1, ::-1], [0.0, 0.5]))


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


@kernel
def element_of_value(p: Pointer[Part]):
    w = p[0].weights
    w[0] = 1.0


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (address_in_packed, "lies at a multiple of 1 bytes, and a pointer to such at one of 8"),
        (address_of_value, "is a value, which has no address"),
        (outside, "index 4 is outside of this memory, which has 4 elements"),
        (element_of_value, "an InlineArray is a value, whose elements do not change"),
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
