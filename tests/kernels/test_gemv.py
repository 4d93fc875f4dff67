"""weft.kernels.gemv and its quantized relatives against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, found, placed
from weft import DeviceError, LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import gemv, gemv_int4, gemv_int8, matmul, pack_int4, unpack_int4
from weft.kernels.int4_digits import by_digits, shape_of, shared_bytes

CLOSE = {"e": 2e-3, "f": 3e-6, "d": 1e-14}


def check(result: Any, expected: Array, terms: Array, dtype: str) -> None:
    """The error is small beside what the sum of all terms' sizes lets expect."""
    got = found(result)
    assert (got.dtype, got.shape) == (np.dtype(dtype), expected.shape)
    np.testing.assert_array_less(np.abs(got - expected), CLOSE[dtype] * (1 + terms))


@settings(max_examples=12)
@given(
    m=st.integers(0, 70),
    n=st.sampled_from([0, 1, 3, 8, 24, 64, 100, 250, 3000]),
    dtype=st.sampled_from("efd"),
    order=st.sampled_from(["C", "F", "gaps"]),
)
def test_matrices_of_any_strides(device: DeviceContext, m: int, n: int, dtype: str, order: Any) -> None:
    generator = np.random.default_rng(m + n)
    a: Array = generator.normal(size=(m, n)).astype(dtype)
    x: Array = generator.normal(size=n).astype(dtype)
    laid = np.repeat(a, 2, 1)[:, ::2] if order == "gaps" else np.asarray(a, order=order)
    wide = a.astype(np.float64)
    check(gemv(placed(device, laid), placed(device, x)), wide @ x, abs(wide) @ abs(x), dtype)


@pytest.mark.parametrize("shape", [(1, 100_000), (2048, 512), (300, 2048), (8, 70_000), (20_000, 8)])
@pytest.mark.parametrize("turned", [False, True])
def test_sizes_of_several_blocks(device: DeviceContext, shape: tuple[int, int], turned: bool) -> None:
    made: Array = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    a: Array = made.T if turned else made
    x: Array = np.random.default_rng(2).normal(size=len(a[0])).astype(np.float32)
    wide = a.astype(np.float64)
    check(gemv(placed(device, a), placed(device, x)), wide @ x, abs(wide) @ abs(x), "f")


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(3, 40, 24), (2, 8, 50_000), (5, 1, 1)])
def test_batches(device: DeviceContext, shape: tuple[int, int, int], turned: bool) -> None:
    """Of matrices with a vector each, before or behind them, and with one that all share."""
    z, m, n = shape
    made: Array = np.random.default_rng(6).normal(size=shape).astype(np.float32)
    a: Array = np.swapaxes(np.swapaxes(made, 1, 2).copy(), 1, 2) if turned else made
    x: Array = np.random.default_rng(7).normal(size=(z, n, 1)).astype(np.float32)
    for vectors in (x, x[0]):
        wide, terms = a.astype(np.float64) @ vectors, abs(a.astype(np.float64)) @ abs(vectors)
        check(matmul(placed(device, a), placed(device, vectors)), wide, terms, "f")
    y: Array = np.random.default_rng(8).normal(size=(z, 1, m)).astype(np.float32)
    wide, terms = y @ a.astype(np.float64), abs(y) @ abs(a.astype(np.float64))
    check(matmul(placed(device, y), placed(device, a)), wide, terms, "f")


def test_numbers_that_are_none(device: DeviceContext) -> None:
    a = np.array([[1, np.inf, 2], [1, 2, 3], [np.nan, 0, 0]], np.float32)
    result = gemv(placed(device, a), placed(device, np.array([1, 0, 1], np.float32)))
    np.testing.assert_array_equal(found(result), [np.nan, 4, np.nan])
    columns = np.full((64, 7), 1, np.float32, order="F")
    columns[-1, -1] = np.inf  # the last column, behind which there is none to be read
    result = gemv(placed(device, columns), placed(device, np.ones(7, np.float32)))
    np.testing.assert_array_equal(found(result), [7] * 63 + [np.inf])


@pytest.mark.parametrize("dtype", ["e", "f"])
@pytest.mark.parametrize("shape", [(1, 2), (37, 128), (16, 640), (5, 96)])
@pytest.mark.parametrize("group", [0, 32])
@pytest.mark.parametrize("shifted", [False, True])
def test_four_bits(
    device: DeviceContext, shape: tuple[int, int], group: int, dtype: str, shifted: bool
) -> None:
    (m, n), generator = shape, np.random.default_rng(3)
    each = min(group or n, n)
    q, x = generator.integers(0, 16, shape, dtype=np.uint8), generator.normal(size=n).astype(dtype)
    scales = generator.random((m, n // each)).astype(dtype)
    zeros = generator.integers(0, 16, scales.shape, dtype=np.uint8)
    packed = pack_int4(placed(device, q))
    np.testing.assert_array_equal(found(packed), q[:, ::2] | q[:, 1::2] << 4)
    np.testing.assert_array_equal(found(unpack_int4(packed)), q)
    w = q.astype(np.float64) - (np.repeat(zeros, each, 1) if shifted else 8.0)
    w *= np.repeat(scales.astype(np.float64), each, 1)
    given_zeros = placed(device, zeros) if shifted else None
    result = gemv_int4(packed, placed(device, scales), placed(device, x), zeros=given_zeros)
    check(result, w @ x, abs(w) @ abs(x), dtype)


@pytest.mark.parametrize(("dtype", "group", "shifted"), [("f", 192, True), ("e", 256, False)])
def test_the_way_of_gpus_runs_on_a_cpu_too(
    device: DeviceContext, dtype: str, group: int, shifted: bool
) -> None:
    m, n, generator = 21, 2304, np.random.default_rng(5)
    q = generator.integers(0, 16, (m, n), dtype=np.uint8)
    scales = generator.random((m, n // group), np.float32)
    zeros = generator.integers(0, 16, scales.shape, dtype=np.uint8)
    w = q.astype(np.float64) - (np.repeat(zeros, group, 1) if shifted else 8.0)
    w *= np.repeat(scales.astype(np.float64), group, 1)
    packed, y = pack_int4(placed(device, q)), placed(device, np.zeros(m, np.float32))
    options: dict[str, Any] = {**shape_of(m, n, 1), "group": group, "shifted": shifted}
    options["shared_mem_bytes"] = shared_bytes(options["across"], options["down"])
    options["block_dim"] = 32 * options["across"] * options["down"]
    for special in (None, np.inf, np.nan, 1e-40):  # the last has no power of two in common with others
        x = (generator.normal(size=n) * np.exp(generator.normal(size=n))).astype(dtype)
        if special is not None:
            x[64:128], x[1000] = special if special < 1 else 0.5, special
        arrays = [placed(device, each) for each in (scales, zeros, x)]
        given = [each.storage for each in (packed, *arrays, y)]
        options["grid_dim"] = -(-m // options["each"])
        device.enqueue_function(by_digits, *given, m, n, **options)  # pyright: ignore[reportCallIssue]
        with np.errstate(invalid="ignore"):
            exact = w @ x
        if special in (None, 1e-40):
            check(y, exact, abs(w) @ abs(x), "f")
        else:
            np.testing.assert_array_equal(found(y), exact)  # no row is finite


@pytest.mark.parametrize("shape", [(1, 1), (33, 100), (8, 4096)])
def test_eight_bits(device: DeviceContext, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(4)
    w = generator.integers(-128, 128, shape, dtype=np.int8)
    scales, x = generator.random(shape[0], np.float32), generator.normal(size=shape[1]).astype(np.float32)
    wide = w * scales.astype(np.float64)[:, None]
    result = gemv_int8(placed(device, w), placed(device, scales), placed(device, x))
    check(result, wide @ x, abs(wide) @ abs(x), "f")


def test_what_is_refused() -> None:
    x, packed = np.ones(4, np.float32), np.zeros((2, 2), np.uint8)
    with pytest.raises(LaunchError, match=r"gemv: x is of shape \(4,\), and a has columns for \(3,\)"):
        gemv(np.ones((2, 3), np.float32), x)
    with pytest.raises(LaunchError, match="gemv: a is of 1 axes"):
        gemv(x, x)
    with pytest.raises(LaunchError, match=r"scales is of shape \(2, 3\)"):
        gemv_int4(packed, np.ones((2, 3), np.float32), x)
    with pytest.raises(LaunchError, match="q is of 3 columns"):
        pack_int4(np.zeros((2, 3), np.uint8))
    with pytest.raises(DeviceError, match="4 bits hold 0 to 15"):
        pack_int4(np.array([[3, 16]], np.uint8))
