"""What lowering brings into modules, written in weft: conversions of 16-bit floats, of every number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float16, Float32, Float64, Int, Pointer, UInt16, UInt32, kernel
from weft.compiler.support import from_half, rounded, support, to_bfloat, to_half
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.targets import find_target


@kernel
def halves_of_doubles(x: Pointer[Float64], out: Pointer[UInt16], n: Int):
    out[global_idx.x] = to_half(x[global_idx.x]).bitcast(UInt16)


@kernel
def halves_of_floats(x: Pointer[Float32], out: Pointer[UInt16], n: Int):
    out[global_idx.x] = to_half(x[global_idx.x]).bitcast(UInt16)


@kernel
def bfloats_of_doubles(x: Pointer[Float64], out: Pointer[UInt16], n: Int):
    out[global_idx.x] = to_bfloat(x[global_idx.x]).bitcast(UInt16)


@kernel
def bfloats_of_floats(x: Pointer[Float32], out: Pointer[UInt16], n: Int):
    out[global_idx.x] = to_bfloat(x[global_idx.x]).bitcast(UInt16)


@kernel
def bfloats_by_lanes(x: Pointer[Float32], out: Pointer[UInt16], n: Int):
    out.store(4 * global_idx.x, rounded(x.load(4 * global_idx.x, width=4)).bitcast(UInt16))


@kernel
def floats_of_halves(x: Pointer[UInt16], out: Pointer[UInt32], n: Int):
    out[global_idx.x] = from_half(x[global_idx.x].bitcast(Float16)).bitcast(UInt32)


def run(made: Any, x: npt.NDArray[Any], out: npt.NDArray[Any], lanes: int = 1) -> npt.NDArray[Any]:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(made, x, out, len(x), grid_dim=len(x) // 64 // lanes, block_dim=64)
    ctx.synchronize()
    return out


def magnitudes(kind: str) -> npt.NDArray[np.float64]:
    """Every finite number of the format from 0 on, and where infinity would lie, by its bits."""
    infinity, digits, bias = (0x7C00, 10, 15) if kind == "half" else (0x7F80, 7, 127)
    bits = np.arange(infinity + 1)
    exponent, mantissa = bits >> digits, bits & ((1 << digits) - 1)
    normal = np.ldexp((mantissa + (1 << digits)).astype(np.float64), exponent - bias - digits)
    return np.where(exponent == 0, np.ldexp(mantissa.astype(np.float64), 1 - bias - digits), normal)


def near(kind: str, single: bool) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint16]]:
    """Each number, what lies halfway to the next, and the nearest to that on both sides; and their bits."""
    exact = magnitudes(kind)
    low, middle = exact[:-1], (exact[:-1] + exact[1:]) / 2
    as_type: Any = np.float32 if single else np.float64
    bits = np.arange(len(low))
    halfway: npt.NDArray[Any] = middle.astype(as_type)
    below, above = (np.nextafter(halfway, as_type(to)) for to in (0, np.inf))
    ends = np.array([np.inf, np.finfo(as_type).max], as_type)
    given: npt.NDArray[Any] = np.concatenate([low.astype(as_type), below, halfway, above, ends])
    expected = np.concatenate([bits, bits, bits + bits % 2, bits + 1, [len(low)] * 2])
    given = np.concatenate([given, -given])
    expected = np.concatenate([expected, expected | 0x8000]).astype(np.uint16)
    more = np.zeros(-len(given) % 256)
    return np.concatenate([given, more.astype(as_type)]), np.concatenate([expected, more.astype(np.uint16)])


@pytest.mark.parametrize(
    ("made", "kind", "single", "lanes"),
    [
        (halves_of_doubles, "half", False, 1),
        (halves_of_floats, "half", True, 1),
        (bfloats_of_doubles, "bfloat", False, 1),
        (bfloats_of_floats, "bfloat", True, 1),
        (bfloats_by_lanes, "bfloat", True, 4),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_rounding(made: Any, kind: str, single: bool, lanes: int) -> None:
    given, expected = near(kind, single)
    out = run(made, given, np.zeros(len(given), np.uint16), lanes)
    wrong = np.flatnonzero(out != expected)
    assert len(wrong) == 0, (given[wrong[:5]], out[wrong[:5]], expected[wrong[:5]])
    nans = np.array([np.nan, -np.nan] * 128, given.dtype)
    found = run(made, nans, np.zeros(256, np.uint16), lanes) & 0x7FFF
    assert (found > (0x7C00 if kind == "half" else 0x7F80)).all()


def test_halves_as_floats() -> None:
    bits = np.arange(1 << 16).astype(np.uint16)
    expected = bits.view(np.float16).astype(np.float32)
    out = run(floats_of_halves, bits, np.zeros(1 << 16, np.uint32)).view(np.float32)
    assert np.array_equal(out, expected, equal_nan=True)
    assert np.array_equal(np.signbit(out), np.signbit(expected))


def test_a_function_is_made_once_for_a_target() -> None:
    target = find_target("sm_90")
    assert support("weft.record.3", target) is support("weft.record.3", target)
    assert "addrspace(1)" in support("weft.record.3", target)["weft.record.3"]
