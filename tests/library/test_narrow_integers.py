"""Signs, extremes and powers of integers at their ends, where assemblers are tempted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft.dtype import as_dtype
from weft.gpu import global_idx
from weft.lang.decorators import kernel
from weft.lang.number import number_class
from weft.layout import LayoutTensor
from weft.math import ceildiv

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]


def ends(dtype: str) -> Any:
    element: Any = number_class(as_dtype(dtype))

    def compared(x: Any, y: Any, out: Any) -> None:
        i = global_idx.x
        a, b = x[i], y[i]
        negative, size, least, most = -a, abs(a), min(a, b), max(a, b)
        found = element(0)
        if negative < b:
            found += 1
        if size < b:
            found += 2
        if size > b:
            found += 4
        if least == b:
            found += 8
        if most == b:
            found += 16
        if max(a, 0) == 0:
            found += 32
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = found, negative, size, least, most
        power = max(b, 0) & 7
        out[i, 5] = a**power

    tensor = LayoutTensor[element]
    compared.__annotations__ = {"x": tensor, "y": tensor, "out": tensor}
    return kernel(compared)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_ends_of_integers(launch: Launch, ptx: Ptx, dtype: str) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, -7, -1, 0, 1, 2, 5, 7, info.max - 1, info.max]).astype(dtype)
    a, b = (v.ravel().copy() for v in np.meshgrid(values, values))
    zero = np.zeros_like(a)
    with np.errstate(over="ignore"):
        negative, size = -a, np.abs(a)
        bits = [negative < b, size < b, size > b, np.minimum(a, b) == b, np.maximum(a, b) == b, a <= 0]
        power = np.ones_like(a)
        for n in range(7):
            power = np.where((np.maximum(b, zero) & 7) > n, power * a, power)
    flags = sum(bit.astype(dtype) << n for n, bit in enumerate(bits))
    expected = np.stack([flags, negative, size, np.minimum(a, b), np.maximum(a, b), power], axis=1)
    kern = ends(dtype)
    found = launch(kern, a, b, np.zeros((a.size, 6), dtype), grid_dim=1, block_dim=a.size)[2]
    assert found.tolist() == expected.astype(dtype).tolist()
    code = ptx(kern, a, b, np.zeros((a.size, 6), dtype))
    assert not any(f"{op}.{kind}16" in code for op in ("neg", "abs", "min", "max") for kind in "su")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_quotients_rounded_up_at_the_ends(launch: Launch, dtype: str) -> None:
    element, info = number_class(as_dtype(dtype)), np.iinfo(dtype)
    edges = {info.min, info.min + 1, info.min // 2, -3, -1, 0, 1, 2, 7, info.max - 1, info.max}
    values = [n for n in edges if info.min <= n <= info.max]
    pairs = [(a, b) for a in values for b in values]

    def rounded_up(x: Any, y: Any, out: Any) -> None:
        out[global_idx.x] = ceildiv(x[global_idx.x], y[global_idx.x])

    tensor = LayoutTensor[element]
    rounded_up.__annotations__ = {"x": tensor, "y": tensor, "out": tensor}
    a, b = np.array(pairs, dtype).T.copy()
    found = launch(kernel(rounded_up), a, b, np.zeros_like(a), grid_dim=1, block_dim=a.size)[2]
    wanted = [-(-a // b) if b else 0 for a, b in pairs]
    assert found.tolist() == [(n - info.min) % (info.max - info.min + 1) + info.min for n in wanted]
