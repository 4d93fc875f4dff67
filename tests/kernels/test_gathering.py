"""weft.kernels.take, embedding, put and their kin along an axis against NumPy's indices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import DeviceError, Float64, Int, LaunchError, struct
from weft.gpu.host import DeviceContext
from weft.kernels import argsort, embedding, grouped_matmul, put, put_along_axis, take, take_along_axis
from weft.kernels.operands import Operands


@struct
class Pair:
    a: Float64
    b: Int


@settings(max_examples=7)
@given(x=arrays(types="Bfd", most=20), shape=st.lists(st.integers(0, 6), max_size=2), data=st.data())
def test_take_from_any_axis(device: DeviceContext, x: Array, shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([None, *range(x.ndim)]))
    n = x.size if axis is None else x.shape[axis]
    if n:
        places = np.random.default_rng(len(shape)).integers(-n, n, shape, np.int32)
        result = take(placed(device, x), placed(device, np.asarray(places)), axis)
        np.testing.assert_array_equal(found(result), np.take(x, places, axis))


def test_rows_of_a_table(device: DeviceContext) -> None:
    table = np.random.default_rng(1).normal(size=(50, 24)).astype(np.float32)
    numbers = np.random.default_rng(2).integers(0, 50, (3, 7))
    out = placed(device, np.zeros((3, 7, 24), np.float32)[..., ::-1][..., ::-1])
    assert embedding(placed(device, numbers), placed(device, table), out=out) is out
    np.testing.assert_array_equal(found(out), table[numbers])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("add", [False, True])
def test_put_where_several_elements_meet(device: DeviceContext, axis: int, add: bool) -> None:
    generator = np.random.default_rng(axis)
    x = generator.normal(size=(4, 5, 6)).astype(np.float32)
    n = x.shape[axis]
    places = generator.integers(-n, n, 40)
    values = generator.normal(size=[40 if k == axis else x.shape[k] for k in range(3)]).astype(np.float32)
    at: Any = (*[slice(None)] * axis, places)
    right = x.astype(np.float64)
    if add:
        np.add.at(right, at, values)
    else:
        right[at] = values
    for array in (x, x.transpose(2, 0, 1).copy().transpose(1, 2, 0)):
        results = set[bytes]()
        for deterministic in (True, True, not add):
            tensor = placed(device, array)
            arguments = tensor, placed(device, places), placed(device, values), axis
            assert put(*arguments, add=add, deterministic=deterministic) is tensor
            np.testing.assert_allclose(found(tensor), right, rtol=1e-5, atol=1e-5)
            results |= {found(tensor).tobytes()} if deterministic else set()
        assert len(results) == 1


def test_integers_and_short_floats_are_added(device: DeviceContext) -> None:
    places = np.zeros(2000, np.int32)
    for name, each in (("int32", 3), ("float16", 0.1)):
        tensor = placed(device, np.zeros(3, name))
        put(tensor, placed(device, places), placed(device, np.full(2000, each, name)), add=True)
        total = np.full(2000, each, name).astype(np.float64).sum()
        np.testing.assert_allclose(found(tensor), [total, 0, 0], rtol=1e-3)


def rows_of_places(x: Array, axis: int, one: int, count: int) -> Array:
    """Places along an axis, with one element along the axis number ``one`` if that is another."""
    shape = list(x.shape)
    shape[axis] = count
    if one != axis:
        shape[one] = 1
    n = x.shape[axis]
    return np.random.default_rng(count).integers(-n, n, shape)


@settings(max_examples=12)
@given(
    x=arrays(types="Bfdh?", most=9), axis=st.integers(-1, 2), one=st.integers(0, 5), count=st.integers(0, 9)
)
def test_places_along_an_axis(device: DeviceContext, x: Array, axis: int, one: int, count: int) -> None:
    axis = -1 if axis < 0 else axis % x.ndim
    if not x.shape[axis]:
        return
    places = rows_of_places(x, axis % x.ndim, one % x.ndim if one < 3 else axis % x.ndim, count)
    right = np.take_along_axis(x, places, axis)
    out = placed(device, np.zeros_like(right)[..., ::-1].T.copy().T)
    result = take_along_axis(placed(device, x), placed(device, places), axis, out=out)
    assert result is out
    np.testing.assert_array_equal(found(result), right)
    values = np.random.default_rng(1).integers(0, 2, right.shape).astype(x.dtype)
    for some in (values, values[:1]):
        expected = x.copy(order="K")
        np.put_along_axis(expected, places, some, axis)
        tensor = placed(device, x)
        assert put_along_axis(tensor, placed(device, places), placed(device, some), axis) is tensor
        np.testing.assert_array_equal(found(tensor), expected)


def test_places_of_all_elements_and_of_a_sort(device: DeviceContext) -> None:
    x = np.random.default_rng(3).normal(size=(60, 70)).astype(np.float32)
    for axis in (0, 1):
        order = argsort(placed(device, x), axis)
        np.testing.assert_array_equal(
            found(take_along_axis(placed(device, x), order, axis)), np.sort(x, axis)
        )
    places, four = np.array([0, -1, 75, 4199]), np.arange(4, dtype=np.float32)
    turned = placed(device, x.T)
    np.testing.assert_array_equal(
        found(take_along_axis(turned, placed(device, places), None)), x.T.flat[places]
    )
    put_along_axis(turned, placed(device, places), placed(device, four), None)
    right = x.T.copy()
    np.put_along_axis(right, places, four, None)
    np.testing.assert_array_equal(found(turned), right)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_cpu_goes_by_rows_as_by_elements(
    monkeypatch: pytest.MonkeyPatch, axis: int, one_by_one: bool
) -> None:
    generator = np.random.default_rng(axis)
    x = generator.integers(0, 99, (6, 7, 8)).astype(np.float32).transpose(1, 2, 0)
    shape = [*x.shape]
    shape[axis] = 20  # so that places are met more than once
    places = generator.integers(-x.shape[axis], x.shape[axis], shape)
    values = generator.integers(0, 99, shape).astype(np.float32)
    monkeypatch.setattr("weft.calls.planned.plans_by_key", {})
    if not one_by_one:  # by atomics and in the order of memory, as a GPU does it
        monkeypatch.setattr("weft.kernels.gathering._in_order", Mock(return_value=False))
        monkeypatch.setattr("weft.kernels.along_axis.COLUMN", 0)
    np.testing.assert_array_equal(take_along_axis(x, places, axis), np.take_along_axis(x, places, axis))
    last, total = x.copy(), x.copy()
    for k in range(20):  # NumPy does not say which of several stays
        np.put_along_axis(last, places.take([k], axis), values.take([k], axis), axis)
    grid: list[Any] = [*np.indices(shape)]
    grid[axis] = places
    np.add.at(total, tuple(grid), values)
    np.testing.assert_array_equal(put_along_axis(x.copy(), places, values, axis), last)
    np.testing.assert_array_equal(put_along_axis(x.copy(), places, values, axis, add=True), total)
    with pytest.raises(DeviceError, match="an index is outside of the axis"):
        put_along_axis(x.copy(), places + 99, values, axis)
    some = generator.integers(-x.shape[axis], x.shape[axis], 20)
    last, total = (np.moveaxis(x.copy(), axis, 0) for _ in range(2))
    for place, value in zip(some, np.moveaxis(values, axis, 0), strict=True):
        last[place] = value
        total[place] += value
    for add, right in ((False, last), (True, total)):
        made = put(x.copy(), some, values, axis, add=add)
        np.testing.assert_array_equal(np.moveaxis(made, axis, 0), right)
    with pytest.raises(DeviceError, match="an index is outside of the axis"):
        put(x.copy(), some + 99, values, axis)


@pytest.mark.parametrize("axis", [0, 1])
def test_elements_are_added_along_an_axis(device: DeviceContext, axis: int) -> None:
    generator = np.random.default_rng(axis)
    x = generator.normal(size=(5, 6)).astype(np.float32)
    places = generator.integers(-x.shape[axis], x.shape[axis], (5, 90) if axis else (90, 6))
    values = generator.normal(size=places.shape).astype(np.float32)
    right, (rows, columns) = x.astype(np.float64), np.indices(places.shape)
    at: Any = (rows, places) if axis else (places, columns)
    np.add.at(right, at, values)
    results = set[bytes]()
    for deterministic in (True, True, False):
        tensor = placed(device, x)
        given = placed(device, places), placed(device, values)
        put_along_axis(tensor, *given, axis, add=True, deterministic=deterministic)
        np.testing.assert_allclose(found(tensor), right, rtol=1e-5, atol=1e-5)
        results |= {found(tensor).tobytes()} if deterministic else set()
    assert len(results) == 1


def test_shapes_that_do_not_fit_along_an_axis_are_refused() -> None:
    x, i = np.zeros((3, 4), np.float32), np.zeros((2, 4), int)
    with pytest.raises(LaunchError, match="x is of shape \\(3, 4\\), and indices ask for \\(2, 4\\)"):
        take_along_axis(x, i)
    with pytest.raises(LaunchError, match="indices is of shape \\(2, 4\\), and x's is \\(12,\\)"):
        take_along_axis(x, i, None)
    with pytest.raises(LaunchError, match="values is of shape \\(2, 3\\), and indices ask for \\(2, 4\\)"):
        put_along_axis(x, i, x[:2, :3].copy(), 0)
    with pytest.raises(LaunchError, match="x is of shape \\(0, 4\\): there is nothing to take"):
        take_along_axis(x[:0], i, 0)
    for wrong in (3, -4):
        with pytest.raises(DeviceError, match="an index is outside of the axis"):
            take_along_axis(x, i + wrong, 0)
        with pytest.raises(DeviceError, match="an index is outside of the axis"):
            put_along_axis(x, i + wrong, x[:2] + 1, 0)


def test_what_does_not_fit_is_refused() -> None:
    x, i = np.zeros((3, 4), np.float32), np.array([0, 1])
    with pytest.raises(LaunchError, match="indices is of Float32, which is no integer"):
        take(x, x)
    with pytest.raises(LaunchError, match="values is of shape \\(3, 4\\), and that of x with a place"):
        put(x, i, np.ones((3, 4), np.float32))
    for call in (lambda: put(x, i, np.ones((2, 4))), lambda: put_along_axis(x, i[None], np.ones((1, 2)), 1)):
        with pytest.raises(LaunchError, match=r"values is of Float64, and x is of Float32(.|\n)*to Float32"):
            call()
    with pytest.raises(DeviceError, match="an index is outside of the axis"):
        take(x, np.array([3]), 0)


SWAPPED: dict[str, Callable[[Any, Any], Any]] = {
    "take(x, indices)": lambda x, i: take(i, x, 0),
    "embedding(indices, weight)": lambda x, i: embedding(x, i),
    "take_along_axis(x, indices)": lambda x, i: take_along_axis(i, x, 0),
    "put(x, indices, values)": lambda x, i: put(x, x[:2], i),
    "put_along_axis(x, indices, values)": lambda x, i: put_along_axis(i, x, x, 0),
    "grouped_matmul(a, b, ends)": lambda x, i: grouped_matmul(i, x[None], x),
}


@pytest.mark.parametrize("right", SWAPPED)
def test_swapped_arguments_are_told_of(right: str) -> None:
    x, i = np.zeros((3, 4), np.float32), np.array([0, 1])
    name, code = ("ends" if "ends" in right else "indices"), re.escape(right)
    told = f"{name} is of Float32, which is no integer, and (a|x|weight|values) of Int\n"
    help = f"if the two are swapped, write {code}; else convert {name} to Int64"
    with pytest.raises(LaunchError, match=f"{told}(.|\n)*{help}"):
        SWAPPED[right](x, i)


def test_elements_that_only_numpy_knows_are_put(device: DeviceContext) -> None:
    for x in (np.zeros(5, np.complex64), np.zeros(5, [("a", "i4"), ("b", "f4")])):
        values, right = np.zeros(3, x.dtype), x.copy()
        values.view(np.int32)[:] = np.arange(1, 7)
        right[[4, 0, 2]] = values
        put(x, np.array([4, 0, 2]), values)
        np.testing.assert_array_equal(x, right)
    for wide, add, words in (
        ("f8, f8, f8", False, "of 24 bytes, which it does not move"),
        (np.complex64, True, "is no number"),
    ):
        with pytest.raises(LaunchError, match=words):
            put(np.zeros(5, wide), np.array([1]), np.ones(1, wide), add=add)


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_of_16_bytes_are_put(
    monkeypatch: pytest.MonkeyPatch, axis: int, deterministic: bool
) -> None:
    generator = np.random.default_rng(axis)
    for loops in (True, False):  # and the way of GPUs
        monkeypatch.setattr(Operands, "threads_are_loops", property(lambda _, loops=loops: loops))
        monkeypatch.setattr("weft.calls.planned.plans_by_key", {})
        wide = generator.integers(-9, 9, (6, 20, 8)) + 1j
        for x in (wide, wide[::2, :, 1::2], wide.transpose(2, 0, 1), wide[:, ::-1]):
            shape = (*x.shape[:axis], 3, *x.shape[axis + 1 :])
            values = np.asfortranarray(generator.integers(-9, 9, shape) + 2j)
            places, right = generator.permutation(x.shape[axis])[:3] - x.shape[axis], x.copy()
            np.moveaxis(right, axis, 0)[places] = np.moveaxis(values, axis, 0)
            assert put(x, places, values, axis, deterministic=deterministic) is x
            np.testing.assert_array_equal(x, right)
            rows = np.argsort(generator.random(x.shape), axis)[tuple(map(slice, shape))]
            np.put_along_axis(right, rows, values, axis)
            put_along_axis(x, rows, values, axis, deterministic=deterministic)
            np.testing.assert_array_equal(x, right)
            put_along_axis(x, rows[0, 0], values[0, 0], None, deterministic=deterministic)
            right.flat[rows[0, 0]] = values[0, 0]
            np.testing.assert_array_equal(x, right)


def test_structs_of_16_bytes_are_put(device: DeviceContext) -> None:
    buffer, values = (device.enqueue_create_buffer(Pair, n) for n in (5, 2))
    for memory, first in ((buffer, 0), (values, 10)):
        with memory.map_to_host() as host:
            for i in range(len(memory)):
                host[i] = Pair(Float64(first + i), Int(first - i))
    assert put(buffer, placed(device, np.array([1, -1])), values) is buffer
    with buffer.map_to_host() as host:
        assert [(float(pair["a"]), int(pair["b"])) for pair in host.numpy()] == [
            *((0, 0), (10, 10), (2, -2), (3, -3), (11, 9))
        ]


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("inner", [1, 2, 4, 12, 15, 16, 48, 64])
def test_take_of_few_neighbours(device: DeviceContext, kind: Any, inner: int) -> None:
    x = (np.arange(5 * inner) % 120 + 1).astype(kind).reshape(5, inner)
    places = np.random.default_rng(inner).integers(-5, 5, 300)
    taken = take(placed(device, x), placed(device, places), 0)
    np.testing.assert_array_equal(found(taken), x[places])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_of_16_bytes_are_taken(axis: int) -> None:
    generator = np.random.default_rng(axis)
    wide = generator.integers(-9, 9, (6, 20, 8)) + 1j
    for x in (wide, wide[::2, :, 1::2], wide.transpose(2, 0, 1), np.broadcast_to(wide[0], (3, 20, 8))):
        places = generator.integers(-x.shape[axis], x.shape[axis], (2, 3))
        np.testing.assert_array_equal(take(x, places, axis), np.take(x, places, axis))
        rows = generator.integers(0, x.shape[axis], x.shape)
        np.testing.assert_array_equal(take_along_axis(x, rows, axis), np.take_along_axis(x, rows, axis))
        np.testing.assert_array_equal(take(x, places), np.take(x, places))


@pytest.mark.parametrize("at", [0, 17, 39])
@pytest.mark.parametrize("wrong", [5, -6])
def test_one_index_among_many_is_outside(device: DeviceContext, at: int, wrong: int) -> None:
    """Of which a CPU looks at several together."""
    x, places = np.arange(5.0), np.arange(40) % 10 - 5
    for call, theirs in ((take, np.take), (take_along_axis, np.take_along_axis)):
        right = call(placed(device, x), placed(device, places), 0)
        np.testing.assert_array_equal(found(right), theirs(x, places, 0))
        outside = places.copy()
        outside[at] = wrong
        if device.api == "cpu":  # which goes on after it
            with pytest.raises(DeviceError, match="an index is outside of the axis"):
                call(x, outside, 0)


@pytest.mark.parametrize("columns", [3, 200])
def test_great_unsigned_indices_are_outside(columns: int) -> None:
    """None of them counts from the end, as in Python; NumPy takes the greatest for -1."""
    x = np.arange(4 * columns, dtype=np.float32).reshape(4, columns)
    last, each = np.array([2**64 - 1], np.uint64), np.full((1, columns), 2**64 - 1, np.uint64)
    with pytest.raises(IndexError):
        x.tolist()[last[0]]
    calls: list[Any] = [
        lambda: take(x, last, 0),
        lambda: take(x, last, 1),
        lambda: embedding(last, x),
        lambda: take_along_axis(x, each, 0),
        lambda: take_along_axis(x, each.repeat(4, 0), 1),
        lambda: put_along_axis(x.copy(), each, x[:1], 0),
        lambda: put_along_axis(x.copy(), each, x[:1], 0, add=True),
        lambda: put(x.copy(), last, x[:1], 0),
        lambda: put(x.copy(), last, x[:1], 0, add=True),
        lambda: put(x.copy(), last, x[:1], 0, add=True, deterministic=False),
    ]
    for call in calls:
        with pytest.raises(DeviceError, match="an index is outside of the axis"):
            call()
    there = np.array([3, 0], np.uint64)
    np.testing.assert_array_equal(take(x, there, 0), x[there])
    np.testing.assert_array_equal(take(x, np.array([-1], np.int8), 0), x[[-1]])
