"""weft.algorithm.stencil against numpy.pad, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import found, placed
from weft import CompileError, Float64, Int, LaunchError
from weft.algorithm import stencil
from weft.gpu.host import DeviceContext

NUMPY: dict[str, dict[str, Any]] = {
    "constant": {"mode": "constant", "constant_values": 3},
    "nearest": {"mode": "edge"},
    "wrap": {"mode": "wrap"},
}


@settings(max_examples=12)
@given(
    shape=st.sampled_from([(1,), (40,), (3, 4), (1, 70), (33, 1), (2, 3, 4), (2, 3, 1, 5), (0, 3)]),
    dtype=st.sampled_from(["int32", "float32", "uint8"]),
    mode=st.sampled_from([*NUMPY]),
    turned=st.booleans(),
)
def test_neighbours_and_what_lies_beyond_the_edge(
    device: DeviceContext, shape: tuple[int, ...], dtype: str, mode: Any, turned: bool
) -> None:
    x = np.random.default_rng(len(shape)).integers(0, 30, shape).astype(dtype)
    x = x.T if turned else x
    here, before = (0,) * x.ndim, (-1,) + (0,) * (x.ndim - 1)
    behind = (*here[1:], 2)
    dst = placed(device, np.zeros_like(x))
    stencil(lambda a: 2 * a[here] + a[before] + 3 * a[behind], placed(device, x), dst, mode=mode, cval=3)
    if x.size:
        wide = np.pad(x, 2, **NUMPY[mode])
        parts = [
            wide[tuple([slice(2 + o, 2 + o + n) for o, n in zip(offsets, x.shape, strict=True)])]
            for offsets in (here, before, behind)
        ]
        np.testing.assert_array_equal(found(dst), 2 * parts[0] + parts[1] + 3 * parts[2])


def test_offsets_of_run_time_and_captured_numbers() -> None:
    x, sums, rate = np.arange(6.0), np.zeros(6), Float64(0.5)

    def around(a: Any) -> Any:
        total = Float64(0)
        for i in range(Int(-2), Int(3)):
            total += a[i]
        return rate * total

    stencil(around, x[::-1], sums)
    np.testing.assert_array_equal(sums, np.convolve(x[::-1], np.ones(5), "same") / 2)


def test_what_is_refused() -> None:
    x, other = np.zeros((3, 3), np.float32), np.zeros((3, 3), np.float32)
    whole = np.zeros((4, 3), np.float32)
    half: Any = Float64(0.5)
    mode: Any = "mirror"
    refused: list[tuple[Callable[[], None], str]] = [
        (lambda: stencil(lambda a: a[0], x, other), "takes an offset for each of 2 axes, not 1"),
        (lambda: stencil(lambda a: a[0, 0], x, x), "dst is the memory of src"),
        (lambda: stencil(lambda a: a[0, 0], whole[:3], whole[1:]), "dst is the memory of src"),
        (lambda: stencil(lambda a: a[0, 0], x, other[:2]), "dst is of Float32 and shape \\(2, 3\\)"),
        (lambda: stencil(lambda a: a[0, 0], x, other, mode=mode), "mode is 'mirror'"),
        (lambda: stencil(lambda a: half * a[0, 0], x, other), "the function's result is a Float64"),
        (lambda: stencil(lambda a: a, x, other), "the function's result is a Neighbors, where a Float32"),
    ]
    for call, message in refused:
        with pytest.raises((CompileError, LaunchError), match=message):
            call()
