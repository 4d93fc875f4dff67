"""weft.algorithm along an axis against NumPy, on every device."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placed_arrays import found, placed
from weft import Float64, Int, Int64, LaunchError, Tensor, UInt8
from weft.algorithm import max, mean, min, product, reduce, scan, sort, sum, variance
from weft.algorithm.places import RunsOn
from weft.gpu.host import DeviceContext
from weft.layout import Layout

Array = npt.NDArray[Any]
SHAPES = [(7,), (3, 4), (1, 9000), (9000, 3), (2, 100, 3), (2, 3, 1, 5), (0, 3), (4, 33)]


@pytest.fixture(params=["as it is", "many"])
def ctx(device: DeviceContext, request: pytest.FixtureRequest) -> Iterator[DeviceContext]:
    """The device; and with a GPU's short stretches."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many":
            patch.setattr(RunsOn, "threads_are_loops", False)
        yield device


def last(a: Any, b: Any) -> Any:
    """What joins in order only: the last that is not 0."""
    return b if b != 0 else a


def running_results(row: list[Any], part: slice) -> list[Any]:
    return list(itertools.accumulate([5, *row], last))[part]


def along(function: Callable[[list[Any]], Any], x: Array, axis: int) -> Array:
    """Python's result of each row; where that is a list, it lies along the axis."""
    return np.apply_along_axis(lambda row: np.array(function(row.tolist()), x.dtype), axis, x)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=st.sampled_from(SHAPES), axis=st.integers(-1, 3), turned=st.booleans())
def test_rows_are_joined_in_order(
    ctx: DeviceContext, shape: tuple[int, ...], axis: int, turned: bool
) -> None:
    x: Array = np.random.default_rng(len(shape)).integers(-1, 2, shape).astype(np.int32)
    x, axis = (x.T if turned else x), axis % len(shape) - len(shape) * (axis < 0)
    if not x.size:
        return
    right = along(lambda row: functools.reduce(last, row), x, axis)
    np.testing.assert_array_equal(found(reduce(last, placed(ctx, x), axis=axis)), right)
    for exclusive, part in ((False, slice(1, None)), (True, slice(None, -1))):
        dst = placed(ctx, np.zeros(x.shape, np.int32))
        scan(last, placed(ctx, x), dst, 5, axis=axis, exclusive=exclusive)
        running = functools.partial(running_results, part=part)
        np.testing.assert_array_equal(found(dst), along(running, x, axis))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_as_numpy(device: DeviceContext, dtype: str) -> None:
    x: Array = (np.random.default_rng(1).integers(-9, 9, (4, 50, 3)) + 100).astype(dtype)
    wide = x.astype(np.float64)
    pairs: list[tuple[Any, Any]] = [
        (sum, np.sum),
        (max, np.max),
        (min, np.min),
        (mean, np.mean),
        (variance, np.var),
    ]
    for (ours, theirs), axis in itertools.product(pairs, (0, 1, -1)):
        named = {"ddof": 1} if ours is variance else {}
        right = theirs(wide, axis=axis, **named)
        np.testing.assert_allclose(found(ours(placed(device, x), axis=axis)), right, rtol=1e-5)
    np.testing.assert_allclose(variance(placed(device, x)), wide.var(ddof=1), rtol=1e-5)
    few = placed(device, (x[:, :5] - 100).astype(dtype))
    np.testing.assert_allclose(found(product(few, axis=1)), np.prod(wide[:, :5] - 100, axis=1), rtol=1e-6)


def test_variances_of_numbers_far_from_0(device: DeviceContext) -> None:
    x: Array = np.float64(1e9) + np.arange(100_000) % 3
    np.testing.assert_allclose(variance(placed(device, x), correction=0), (x - 1e9).var(), rtol=1e-7)


def test_results_are_as_the_memory_is(device: DeviceContext) -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert sum(x[::-1], axis=1).tolist() == [12.0, 3.0]  # of an array that is reversed
    tensor = Tensor.from_numpy(x, device)
    made = mean(tensor, axis=0)
    assert isinstance(made, Tensor)
    assert made.numpy().tolist() == [1.5, 2.5, 3.5]
    out = Tensor(np.float64, (3,), device)
    assert reduce(lambda a, b: a + b, tensor, axis=0, out=out) is None
    assert out.numpy().tolist() == [3.0, 5.0, 7.0]
    assert reduce(lambda a, b: a + b, np.zeros((2, 0)), Float64(7), axis=1).tolist() == [7.0, 7.0]
    assert reduce(lambda a, b: a + b, x.astype(np.int32), Int64(1), axis=0).dtype == np.int64


def test_a_capture_with_memory_that_is_given(device: DeviceContext) -> None:
    n = 50_003
    x: Array = np.random.default_rng(3).integers(-9, 9, n)
    src, dst, ordered = (device.enqueue_create_buffer(Int, n) for _ in range(3))
    total = device.enqueue_create_buffer(Int, 1)
    table, columns = src[:50_000].tensor(Layout.row_major(50, 1000)), ordered[:1000]
    few = device.enqueue_create_buffer(UInt8, n + 4096)
    many = device.enqueue_create_buffer(UInt8, 8 * n + 4096)

    def add(a: Any, b: Any) -> Any:
        return a + b

    def work() -> None:
        scan(add, src, dst, scratch=few)
        reduce(add, src, out=total, scratch=few)
        device.enqueue_copy(dst=ordered, src=src)
        sort(ordered, scratch=many)
        reduce(add, table, axis=0, out=columns, scratch=few)
        scan(add, table, table, axis=0, scratch=few)

    work()  # which compiles
    with device.capture() as graph:
        work()
    device.enqueue_copy(dst=src, src=x)
    graph.replay()
    device.synchronize()
    np.testing.assert_array_equal(found(dst.tensor(Layout.row_major(n))), x.cumsum())
    assert found(total.tensor(Layout.row_major(1)))[0] == x.sum()
    rows = x[:50_000].reshape(50, 1000)
    np.testing.assert_array_equal(found(table)[-1], rows.sum(0))
    after = found(ordered.tensor(Layout.row_major(n)))
    np.testing.assert_array_equal(after[:1000], rows.sum(0))
    np.testing.assert_array_equal(after[1000:], np.sort(x)[1000:])


def test_another_stream(device: DeviceContext) -> None:
    x: Array = np.random.default_rng(4).integers(-9, 9, 40_000)
    src, dst = (device.enqueue_create_buffer(Int, len(x)) for _ in range(2))
    device.enqueue_copy(dst=src, src=x)
    device.synchronize()
    with device.create_stream() as side:
        assert reduce(lambda a, b: a + b, src, stream=side) == x.sum()
        scan(lambda a, b: a + b, src, dst, stream=side)
        sort(src, stream=side)
        side.synchronize()
    np.testing.assert_array_equal(found(dst.tensor(Layout.row_major(len(x)))), x.cumsum())
    np.testing.assert_array_equal(found(src.tensor(Layout.row_major(len(x)))), np.sort(x))


def test_what_is_refused() -> None:
    x = np.zeros((2, 3), np.float32)
    other: Any = x
    big, buffer = np.zeros(20_000), DeviceContext(api="cpu").enqueue_create_buffer(UInt8, 256)
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: sum(x, axis=2), "axis is 2, and src has 2 axes"),
        (lambda: sum(x, axis=True), "axis is True"),
        (lambda: reduce(last, x[:, :0], axis=1), "no element along axis 1, and no init"),
        (lambda: reduce(last, x, axis=0, out=np.zeros(2, np.float32)), "out has 2 elements"),
        (lambda: scan(last, x, x.T, axis=0), "dst is of shape \\(3, 2\\), and src of \\(2, 3\\)"),
        (lambda: variance(x[:1], axis=0), "correction is 1, and there are 1 elements"),
        (lambda: mean(x[:0], axis=0), "mean has no element"),
        (lambda: sort(x[0], scratch=other), "scratch= takes a buffer of UInt8, not an ndarray of float32"),
        (lambda: sort(big, scratch=buffer), "scratch has 256 bytes, and 160256 are needed"),
    ]
    for call, message in refused:
        with pytest.raises(LaunchError, match=message):
            call()
