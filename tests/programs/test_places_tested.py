"""Branches and choices by where a thread is, of which a CPU does the rim and the rest apart; beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

Floats = npt.NDArray[np.float32]


@kernel
def heat(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int):
    """Neighbours, or the element itself at the rim."""
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        i = y * width + x
        here = a[i]
        up = a[i - width] if y > 0 else here
        down = a[i + width] if y < height - 1 else here
        left = a[i - 1] if 0 < x else a[i]
        right = a[i + 1] if x + 1 < width else a[i]
        out[i] = up * 3.0 + down * 5.0 - left * 7.0 + right * 11.0 + here


def of_heat(a: Floats, far: int) -> Floats:
    wide = np.pad(a, 1, mode="edge")
    up, down, left, right = wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]
    return up * 3 + down * 5 - left * 7 + right * 11 + a


@kernel
def by_index(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int):
    """Indices chosen, of which one column and one row are apart, whichever they are."""
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        i = y * width + x
        before = i if x == 0 else i - 1
        behind = i + 1 if x != width - 1 else i
        above = i if y == 0 else i - width
        other = above if far == x else before
        if y != far and x != far - 2:
            out[i] = a[before] + 2.0 * a[behind] + 4.0 * a[above] + 8.0 * a[other]
        else:
            out[i] = a[behind] - a[i]


def of_index(a: Floats, far: int) -> Floats:
    wide = np.pad(a, 1, mode="edge")
    before, behind, above = wide[1:-1, :-2], wide[1:-1, 2:], wide[:-2, 1:-1]
    y, x = np.indices(a.shape)
    other = np.where(x == far, above, before)
    return np.where((y != far) & (x != far - 2), before + 2 * behind + 4 * above + 8 * other, behind - a)


@kernel
def otherwise(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int):
    """Rims that are most of it, that are wide, or on the other side; joined and denied."""
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        i = y * width + x
        total = a[i]
        if x >= 9 or y < 2:
            total += a[y * width]
        if not (x < 3 or y <= 1) and x <= width - 12:
            total -= 2.0 * a[i - 3]
        elif x > width - far:
            total += 5.0 * a[i - x]
        if (x < far) == (y > 1):
            total *= a[width * height - 1 - i]
        if 15 > x and height - 2 > y and x % 3 == 0:
            total += a[i + width]
        out[i] = total


def of_others(a: Floats, far: int) -> Floats:
    height, width = a.shape
    y, x = np.indices(a.shape)
    first = np.broadcast_to(a[:, :1], a.shape)
    total = a + np.where((x >= 9) | (y < 2), first, 0)
    inner = ~((x < 3) | (y <= 1)) & (x <= width - 12)
    total -= np.where(inner, 2 * np.roll(a, 3, 1), 0)
    total += np.where(~inner & (x > width - far), 5 * first, 0)
    total *= np.where((x < far) == (y > 1), a[::-1, ::-1], 1)
    return total + np.where((x < 15) & (y < height - 2) & (x % 3 == 0), np.roll(a, -1, 0), 0)


PROGRAMS = [(heat, of_heat), (by_index, of_index), (otherwise, of_others)]


def check(
    ctx: DeviceContext,
    program: Any,
    expected: Callable[[Floats, int], Floats],
    shape: tuple[int, int],
    far: int,
) -> None:
    a = np.random.default_rng(far % 1000).integers(-9, 9, shape).astype(np.float32)
    out = np.zeros_like(a)
    grid = (-(-shape[1] // 32), -(-shape[0] // 4))
    ctx.enqueue_function(program, a, out, *shape, far, grid_dim=grid, block_dim=(32, 4))
    ctx.synchronize()
    np.testing.assert_array_equal(out, expected(a, far))


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 40), (9, 3), (5, 32), (6, 100), (8, 131)])
@pytest.mark.parametrize("far", [0, 2, 7, 60])
@pytest.mark.parametrize(("program", "expected"), PROGRAMS)
def test_beside_numpy(
    any_context: DeviceContext, program: Any, expected: Any, shape: tuple[int, int], far: int
) -> None:
    check(any_context, program, expected, shape, far)


@pytest.mark.parametrize("far", [-(2**63), -5, 2**62, 2**63 - 1])
def test_far_away(any_context: DeviceContext, far: int) -> None:
    check(any_context, by_index, of_index, (6, 70), far)


@pytest.mark.parametrize("program", [heat, by_index])
def test_nothing_is_asked_inside(program: Any) -> None:
    text = str(compile_info(program, target="x86-64-v3", emission_kind="llvm-opt"))
    body = text[: text.index("define dso_local")]
    assert "load <8 x float>" in body
    assert "masked" not in body
    assert "gather" not in body
