"""weft.kernels.sort, argsort and sort_by_key against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import argsort, embedding, sort, sort_by_key, take, topk, transpose
from weft.kernels.operands import Operands


def places(x: Array, axis: int, descending: bool) -> Array:
    """Where elements come from, stable; nan is last."""
    nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(np.where(nan, x.size, -ranks), axis, kind="stable")


@settings(max_examples=12)
@given(x=arrays(types="fb"), axis=st.integers(0, 2), descending=st.booleans())
def test_any_axis_of_any_array(device: DeviceContext, x: Array, axis: int, descending: bool) -> None:
    axis %= x.ndim
    order = places(x, axis, descending)
    tensor = placed(device, x)
    np.testing.assert_array_equal(found(argsort(tensor, axis - x.ndim, descending=descending)), order)
    result = found(sort(tensor, axis, descending=descending))
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("dtype", ["uint32", "float64", "float16", "uint8"])
@pytest.mark.parametrize("n", [1, 1024, 8192, 100_001])
def test_rows_of_any_length(device: DeviceContext, n: int, dtype: str) -> None:
    words = np.random.default_rng(n).integers(0, 1 << 32, (2, n), dtype=np.uint32)
    x = ((words - 2.0**31) / 2**16).astype(dtype) if dtype[0] == "f" else words.astype(dtype)
    values = np.arange(2 * n, dtype=np.float64).reshape(2, n)
    keys, moved = sort_by_key(placed(device, x), placed(device, values))
    order = np.argsort(x, 1, kind="stable")
    np.testing.assert_array_equal(found(keys), np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(found(moved), np.take_along_axis(values, order, 1))


def test_the_tiles_of_a_gpu_run_on_a_cpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operands, "threads_are_loops", property(lambda _: False))
    x = np.random.default_rng(6).integers(-300, 300, 20_000, dtype=np.int16)
    np.testing.assert_array_equal(argsort(x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize(("dtype", "n"), [("float32", 37), ("int16", 3), ("int64", 21)])
def test_the_lanes_of_a_gpu_run_on_a_cpu_too(monkeypatch: pytest.MonkeyPatch, dtype: str, n: int) -> None:
    monkeypatch.setattr(Operands, "threads_are_loops", property(lambda _: False))
    x = np.random.default_rng(n).integers(-9, 9, (11, n)).astype(dtype)
    order = np.argsort(x, 1, kind="stable")
    values = np.arange(x.size, dtype=np.int16).reshape(x.shape)
    right = np.take_along_axis(x, order, 1)
    keys, moved = sort_by_key(x, values, out=(x, np.zeros_like(values)))
    assert keys is x
    np.testing.assert_array_equal(moved, order + n * np.arange(11)[:, None])
    np.testing.assert_array_equal(x, right)


def test_zeros_are_equal_and_keep_their_order(device: DeviceContext) -> None:
    x = np.array([0.0, -0.0, -1.0, -0.0, 0.0, np.nan, -np.inf, np.inf, -np.nan], np.float32)
    result = found(sort(placed(device, x)))
    np.testing.assert_array_equal(result, np.sort(x, kind="stable"))
    np.testing.assert_array_equal(np.signbit(result[2:6]), [False, True, True, False])


def test_the_result_may_be_the_array_itself_or_another(device: DeviceContext) -> None:
    x = np.random.default_rng(5).permutation(120).reshape(4, 30)
    for dtype in ("int64", "int8"):  # of eight passes, and of one
        tensor = placed(device, x.astype(dtype))
        out = placed(device, np.zeros((4, 60), dtype)[:, ::2])
        assert sort(tensor, 0, out=out) is out
        assert sort(tensor, out=tensor) is tensor
        np.testing.assert_array_equal(found(out), np.sort(x, 0))
        np.testing.assert_array_equal(found(tensor), np.sort(x, 1))


@pytest.mark.parametrize("dtype", "float16 float32 float64 int8 int32 int64 uint8 uint64 bool".split())
@pytest.mark.parametrize(
    "shape",
    [(1, 5), (15, 7), (16, 16), (33, 64), (100, 3), (40, 256), (40, 257), (33, 512), (17, 513), (17, 1)],
)
def test_rows_of_a_cpu_go_sixteen_at_a_time(shape: tuple[int, int], dtype: str) -> None:
    """To the bit: zeros of both signs and nan of any bits keep their order."""
    generator = np.random.default_rng(shape[1])
    x: Array = (generator.normal(size=shape) * 100).astype("int64").astype(dtype)
    special = x.copy()
    if x.dtype.kind == "f":
        for value, part in ((0.0, 0.2), (-0.0, 0.2), (np.nan, 0.1), (-np.nan, 0.1), (np.inf, 0.1)):
            special[generator.random(shape) < part * (generator.random((shape[0], 1)) < 0.5)] = value
    elif dtype != "bool":
        special[:, 0], special[:, -1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    for rows in (x, special):
        for descending in (False, True):
            right = np.take_along_axis(rows, places(rows, 1, descending), 1)
            own = rows.copy()
            assert sort(rows, descending=descending).tobytes() == right.tobytes()
            assert sort(own, descending=descending, out=own).tobytes() == right.tobytes()


@pytest.mark.parametrize("columns", [5, 60, 300])
def test_rows_in_place_are_each_a_thread_s_own(columns: int) -> None:
    x: Array = np.random.default_rng(columns).normal(size=(140, columns)).astype(np.float32)
    with DeviceContext(api="cpu", checked=True) as ctx:
        tensor = placed(ctx, x)
        sort(tensor, out=tensor)
        np.testing.assert_array_equal(found(tensor), np.sort(x))


@pytest.mark.parametrize("largest", [False, True])
def test_the_greatest_and_the_least(device: DeviceContext, largest: bool) -> None:
    x = np.random.default_rng(7).integers(0, 50, (30, 40)).astype(np.float32)
    x[3, 4] = np.nan
    for axis, k in ((1, 7), (0, 1), (1, 40), (0, 0)):
        values, where = topk(placed(device, x), k, axis, largest=largest)
        order = np.take(places(x, axis, largest), range(k), axis)
        np.testing.assert_array_equal(found(where), order)
        np.testing.assert_array_equal(found(values), np.take_along_axis(x, order, axis))
    with pytest.raises(LaunchError, match="topk: k is 31\\n"):
        topk(x, 31, 0)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16", "bool"])
def test_the_greatest_of_long_rows_are_selected(device: DeviceContext, dtype: str) -> None:
    """Of few values, so that many equal the last that stays, and of many."""
    rng = np.random.default_rng(9)
    few, many = rng.integers(0, 3, (2, 20_011)), rng.standard_normal((2, 20_011)) * 100
    for x, axis, k in ((few, 1, 2500), (many, 1, 1), (many.T, 0, 77), (few * 0, 1, 40)):
        x = x.astype(dtype)
        if dtype == "float32":
            x[0, :2], x[1, 1] = (np.nan, -0.0), np.inf
        for largest in (True, False):
            values, where = topk(placed(device, x), k, axis, largest=largest)
            order = np.take(places(x, axis, largest), range(k), axis)
            np.testing.assert_array_equal(found(where), order)
            np.testing.assert_array_equal(found(values), np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16", "bool"])
@pytest.mark.parametrize("k", [1, 5, 32])
def test_few_of_each_row_are_kept_in_order(device: DeviceContext, dtype: str, k: int) -> None:
    """Of rows that go up or down, of equals, of zeros of both signs, and into memory with gaps."""
    x = np.random.default_rng(k).integers(0, 40, (4, 64)).astype(dtype)
    x[1], x[2] = np.sort(x[1]), np.sort(x[2])[::-1]
    if dtype.startswith("float"):
        x[3, ::3], x[3, 1], x[3, 2::4] = -0.0, np.inf, np.nan
    for largest in (True, False):
        order = places(x, 1, largest)[:, :k]
        kept, where = np.zeros((4, 2 * k), dtype)[:, ::2], np.zeros((k, 4), np.int64).T
        out = placed(device, kept), placed(device, where)
        topk(placed(device, x), k, largest=largest, out=out)
        np.testing.assert_array_equal(found(out[1]), order)
        np.testing.assert_array_equal(found(out[0]), np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "int8"])
def test_what_may_stay_is_written_down_where_there_is_room(device: DeviceContext, dtype: str) -> None:
    """Of rows with long first digits: some warps have room for all that may stay, some for none of it."""
    rng = np.random.default_rng(10)
    n = (1 << 18) + 77
    many = rng.standard_normal(n) * 40
    for x, k in ((many, 1), (many, 3000), (np.sort(many), 900), (many * 0, 5), (many.round() // 40, 700)):
        x = np.stack([x, x[::-1]]).astype(dtype)
        for largest in (True, False):
            values, where = topk(placed(device, x), k, largest=largest)
            order = places(x, 1, largest)[:, :k]
            np.testing.assert_array_equal(found(where), order)
            np.testing.assert_array_equal(found(values), np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("kind", ["complex64", "complex128", [("a", "f4"), ("b", "f4")]], ids=str)
def test_what_is_no_number_is_refused(kind: Any) -> None:
    x, numbers = np.zeros((2, 3), kind), np.zeros((2, 3), np.float32)
    calls = [lambda: sort(x), lambda: argsort(x), lambda: topk(x, 1)]
    calls += [lambda: sort_by_key(x, numbers), lambda: sort(x, 0)]
    for call in calls:
        with pytest.raises(LaunchError, match="no number or bool"):
            call()


@pytest.mark.parametrize("kind", ["complex64", "complex128", [("a", "f4"), ("b", "f4")]], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_values_that_are_no_numbers_go_along(kind: Any, axis: int) -> None:
    generator = np.random.default_rng(axis)
    for shape in ((3, 500), (500, 3), (0, 4)):
        keys = generator.integers(0, 99, shape)
        bits = generator.integers(0, 99, (*shape, np.dtype(kind).itemsize // 4)).astype(np.float32)
        values = bits.view(kind)[..., 0]
        for moved in (values, np.asfortranarray(values), values[::-1]):
            out = np.zeros(shape, keys.dtype), np.zeros(shape, kind)[::-1]
            for made in (sort_by_key(keys, moved, axis), sort_by_key(keys, moved, axis, out=out)):
                np.testing.assert_array_equal(made[0], np.sort(keys, axis))
                order = np.argsort(keys, axis, kind="stable")
                np.testing.assert_array_equal(made[1], np.take_along_axis(moved, order, axis), strict=True)


def test_elements_of_other_sizes_are_refused_where_they_are_moved() -> None:
    x, rows = np.zeros((2, 3), "f8, f8, f8"), np.array([0])
    calls = [lambda: transpose(x), lambda: take(x, rows, 0), lambda: embedding(rows, x)]
    for call in (*calls, lambda: sort_by_key(np.zeros((2, 3)), x)):
        with pytest.raises(LaunchError, match="whose elements are of 24 bytes, which it does not move"):
            call()


def test_pairs_of_results_in_given_memory(device: DeviceContext) -> None:
    x = np.random.default_rng(5).integers(-50, 50, (3, 700)).astype(np.int32)
    for k in (3, 700):
        out = placed(device, np.zeros((3, k), np.int32)), placed(device, np.zeros((3, k), np.int64))
        for _ in range(2):  # the second time by a plan
            assert topk(placed(device, x), k, out=out) == out
        order = np.argsort(-x, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(found(out[1]), order)
        np.testing.assert_array_equal(found(out[0]), np.take_along_axis(x, order, 1))
    keys, moved = placed(device, x), placed(device, np.zeros((3, 700), np.float32))
    given = placed(device, x.astype(np.float32))
    assert sort_by_key(keys, given, out=(keys, moved)) == (keys, moved)
    np.testing.assert_array_equal(found(keys), np.sort(x))
    np.testing.assert_array_equal(found(moved), np.sort(x).astype(np.float32))


def test_pairs_that_do_not_fit() -> None:
    x = np.arange(12, dtype=np.int64).reshape(3, 4)
    memory = np.zeros((3, 4), np.int64)
    with pytest.raises(LaunchError, match="topk: out is an ndarray, and there are two results"):
        topk(x, 2, out=memory)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LaunchError, match=r"topk: out is of shape \(3, 4\), and the result's is \(3, 2\)"):
        topk(x, 2, out=(memory, memory))
    with pytest.raises(LaunchError, match="sort_by_key: out is memory that the other result has too"):
        sort_by_key(x, x, out=(memory, memory))
    with pytest.raises(LaunchError, match="sort_by_key: out is memory that values has too"):
        sort_by_key(x, memory, out=(x, memory))
