"""weft.kernels.scan, cumsum and cumprod against NumPy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import CompileError, Float32, Float64, LaunchError
from weft.algorithm.lookback import posts_of
from weft.gpu.host import DeviceContext
from weft.kernels import cumprod, cumsum, scan
from weft.kernels.operands import Operands
from weft.kernels.scan_tiles import HELPERS, SLOTS, scan_tiles


def before(inclusive: Array, axis: int, first: float) -> Array:
    """Exclusive results."""
    result = np.roll(inclusive, 1, axis)
    if result.size:
        result[(slice(None),) * axis + (0,)] = first
    return result


def add(a: Any, b: Any) -> Any:
    return a + b


@settings(max_examples=20)
@given(x=arrays(types="fbB", special=False), axis=st.integers(0, 2), exclusive=st.booleans())
def test_sums_along_any_axis_of_any_array(
    device: DeviceContext, x: Array, axis: int, exclusive: bool
) -> None:
    axis %= x.ndim
    x = (x % 4).round().astype(x.dtype) if x.dtype.kind == "f" else x  # whole numbers are added up exactly
    expected = np.cumsum(x, axis)
    result = found(cumsum(placed(device, x), axis - x.ndim * (axis % 2), exclusive=exclusive))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, before(expected, axis, 0) if exclusive else expected)


@pytest.mark.parametrize("n", [40, 9001])
def test_bools_are_counted(device: DeviceContext, n: int) -> None:
    x = np.random.default_rng(n).random((3, n)) < 0.9
    tensor = placed(device, x)
    for axis in (0, 1):
        for ours, theirs in ((cumsum, np.cumsum), (cumprod, np.cumprod)):
            expected: Any = theirs(x, axis)
            np.testing.assert_array_equal(found(ours(tensor, axis)), expected)
            assert found(ours(tensor, axis)).dtype == expected.dtype
        for word, ufunc in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
            expected = ufunc.accumulate(x, axis)
            result = found(scan(tensor, cast("Any", word), axis))
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == expected.dtype
    with pytest.raises(LaunchError, match="x is of Bool, which is no number"):
        scan(tensor, lambda a, b: a ^ b)


@pytest.mark.parametrize("n", [1, 65, 4097, 300_001])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_rows_of_any_length(device: DeviceContext, n: int, dtype: str) -> None:
    x = np.random.default_rng(n).integers(0, 5, (2, n)).astype(dtype)
    np.testing.assert_array_equal(found(cumsum(placed(device, x))), np.cumsum(x, 1))


def test_the_tiles_of_a_gpu_run_on_a_cpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operands, "threads_are_loops", property(lambda _: False))
    monkeypatch.setattr("weft.kernels.scans._THREADS", 64)
    x = np.random.default_rng(1).integers(-9, 9, (2, 70_000))  # 69 tiles of 1024 make three groups
    expected = np.cumsum(x, 1) + 7
    result = scan(x, "add", init=7, exclusive=True)
    np.testing.assert_array_equal(result, before(expected, 1, 7))


def test_a_start_that_does_not_fit() -> None:
    with pytest.raises(LaunchError, match="init takes 0 to 255, which UInt8 holds, not 300"):
        scan(np.zeros(3, np.uint8), "max", init=300)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_order_of_operands_is_kept(device: DeviceContext, axis: int) -> None:
    """Maps of bytes, x -> a * x + b, joined one after the other: this does not commute."""

    def then(a: Any, b: Any) -> Any:
        slope = (a >> 8) * (b >> 8) & 0xFF
        return slope << 8 | ((b >> 8) * (a & 0xFF) + b) & 0xFF

    x = np.random.default_rng(2).integers(0, 1 << 16, (5, 20_000) if axis else (9000, 5), dtype=np.uint32)
    expected = x.copy().swapaxes(0, axis)
    for i in range(1, len(expected)):
        expected[i] = then(expected[i - 1], expected[i])
    np.testing.assert_array_equal(found(scan(placed(device, x), then, axis)), expected.swapaxes(0, axis))


@pytest.mark.parametrize("word", ["min", "max"])
def test_nan_goes_on(device: DeviceContext, word: Any) -> None:
    x = np.random.default_rng(3).normal(size=(2, 9000)).astype(np.float32)
    x[1, 5000] = np.nan
    of: Any = np.minimum if word == "min" else np.maximum
    for function in (word, of):
        np.testing.assert_array_equal(found(scan(placed(device, x), function)), of.accumulate(x, 1))


def test_products_and_infinities(device: DeviceContext) -> None:
    x = np.array([[2, 0.5, np.inf, 1], [3, np.inf, 0, 2]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found(cumprod(placed(device, x))), np.cumprod(x, 1))


@pytest.mark.parametrize("shape", [(40,), (9001,), (5000, 3)])
def test_a_function_branches_and_captures(device: DeviceContext, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(5).integers(0, 9, shape).astype(np.float32)

    def capped(most: Float32) -> Any:
        def total(a: Any, b: Any) -> Any:
            total = a + b
            if total > most:
                total = most
            return total

        return total

    for most in (20, 70):
        result = found(scan(placed(device, x), capped(Float32(most)), 0))
        np.testing.assert_array_equal(result, np.minimum(np.cumsum(x, 0), most))
    both = found(scan(placed(device, x), lambda a, b: a if abs(a) > abs(b) else b, 0))
    np.testing.assert_array_equal(both, np.maximum.accumulate(x, 0))


def test_sums_of_floats_are_the_same_each_time(device: DeviceContext) -> None:
    x = np.random.default_rng(4).random(1_000_000, np.float32)
    tensor = placed(device, x)
    first = found(cumsum(tensor))
    np.testing.assert_allclose(first, np.cumsum(x.astype(np.float64)), rtol=1e-5)
    for _ in range(4):
        np.testing.assert_array_equal(found(cumsum(tensor)), first)


def test_short_floats_are_summed_up_as_float32(device: DeviceContext) -> None:
    x = np.ones(5000, np.float16)  # in steps of their own they would stop at 2048
    expected = np.arange(1, 5001).astype(np.float16)
    np.testing.assert_array_equal(found(cumsum(placed(device, x))), expected)


def test_the_result_may_be_the_array_itself_or_another(device: DeviceContext) -> None:
    x = np.arange(200, dtype=np.float64).reshape(2, 100)
    tensor, out = placed(device, x), placed(device, np.zeros((2, 200))[:, ::2])
    assert cumsum(tensor, 0, out=out) is out
    assert cumsum(tensor, 1, out=tensor) is tensor
    np.testing.assert_array_equal(found(out), np.cumsum(x, 0))
    np.testing.assert_array_equal(found(tensor), np.cumsum(x, 1))


@pytest.mark.parametrize("kind", "bBiI")
def test_words_are_those_of_numpy(device: DeviceContext, kind: str) -> None:
    x = np.full(300, 101, kind)
    for word, function in (("add", np.add), ("mul", np.multiply), ("min", np.minimum), ("max", np.maximum)):
        right, result = function.accumulate(x), found(scan(placed(device, x), cast("Any", word)))
        np.testing.assert_array_equal(result, right, strict=True)
        out, same = np.zeros(300, kind), np.zeros(300, kind)
        function.accumulate(x, out=same)
        np.testing.assert_array_equal(
            found(scan(placed(device, x), cast("Any", word), out=placed(device, out))), same
        )


def test_what_is_refused() -> None:
    x: Any = np.ones(3)
    needed = "tuple.Float32, Float32., where a Float32 is needed(.|\n)*return a Float32"
    with pytest.raises(CompileError, match=needed):
        scan(np.ones(3, np.float32), lambda a, b: (a, b))
    needed = "Float64, which is not a Float32 without losing something(.|\n)*as the elements are here"
    with pytest.raises(CompileError, match=needed):
        scan(np.ones(3, np.float32), lambda a, b: Float64(a) + b)
    with pytest.raises(LaunchError, match="scan: function is 'sum'"):
        scan(x, "sum")  # pyright: ignore[reportArgumentType]
    with pytest.raises(LaunchError, match="scan: function is `sin`, which does not take two numbers"):
        scan(x, cast("Any", np.sin))
    with pytest.raises(LaunchError, match="an exclusive scan begins with init"):
        scan(x, "add", exclusive=True)
    with pytest.raises(LaunchError, match="cumsum: out is of Float64"):
        cumsum(np.ones(3, np.int32), out=x)


@pytest.mark.parametrize(
    ("rows", "n", "threads", "grid"),
    [(1, 5000, 64, 3), (7, 3000, 32, 4), (20, 100, 32, 9), (1, 20_001, 32, 2)],
)
@pytest.mark.parametrize("exclusive", [False, True])
def test_the_way_of_gpus_runs_on_a_cpu_too(
    device: DeviceContext, rows: int, n: int, threads: int, grid: int, exclusive: bool
) -> None:
    x = np.random.default_rng(0).integers(0, 9, (rows, n)).astype(np.float32)
    lanes, vectors, init = 4, 2, 5 if exclusive else 0
    each = threads * lanes * vectors
    tiles = -(-n // each)
    scratch = np.zeros(1 + rows * posts_of(tiles), np.int64)
    source, target, posts = (placed(device, array) for array in (x, np.zeros_like(x), scratch))
    options: dict[str, Any] = {"kind": Float32, "exclusive": exclusive, "several": tiles > 1}
    options |= {"threads": threads, "lanes": lanes, "vectors": vectors, "resident": 1}
    options |= {"wide": (n % lanes == 0,) * 2, "shared_mem_bytes": SLOTS * each * 4}
    line, counts = ((n,), 1), (n, tiles, tiles * rows)
    ends = source.storage, *line, target.storage, *line, posts.storage
    arguments = add, *ends, *counts, (rows,), Float32(init) if exclusive else None
    block = threads + 32 * HELPERS
    device.enqueue_function(scan_tiles, *arguments, **options, grid_dim=grid, block_dim=block)
    sums = np.cumsum(x, 1)
    np.testing.assert_array_equal(found(target), sums - x + init if exclusive else sums)
