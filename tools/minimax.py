"""Minimax polynomials with coefficients that a number format holds.

Every polynomial is the minimax one (Remez exchange, in mpmath) for the error that matters where it is used;
its coefficients are rounded to the target format from the lowest power on, and after each rounding the
remaining ones are fitted again, so that the rounded polynomial is nearly as good as the ideal one.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from typing import Any

mp: Any = importlib.import_module("mpmath").mp
mp.prec = 480

__all__ = ["Function", "minimax", "mp", "round_to"]

Function = Callable[[Any], Any]


def round_to(value: Any, bits: int) -> float:
    """The nearest number of the format, as a Python float."""
    return struct.unpack("f", struct.pack("f", float(value)))[0] if bits == 32 else float(value)


def gauss(rows: Any, right: Any) -> list[Any]:
    """Solves a small linear system by elimination with scaled rows."""
    n = rows.rows
    table = [[rows[i, j] for j in range(n)] + [right[i]] for i in range(n)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(table[i][k]))
        table[k], table[pivot] = table[pivot], table[k]
        for i in range(k + 1, n):
            factor = table[i][k] / table[k][k]
            table[i] = [a - factor * c for a, c in zip(table[i], table[k], strict=True)]
    found: list[Any] = [mp.zero] * n
    for k in reversed(range(n)):
        found[k] = (table[k][n] - mp.fsum(table[k][j] * found[j] for j in range(k + 1, n))) / table[k][k]
    return found


def solve(points: list[Any], goal: list[Any], weights: list[Any]) -> tuple[list[Any], Any]:
    """The coefficients whose weighted error alternates between +E and -E over the points, and E."""
    n = len(points)
    rows = mp.matrix(n, n)
    right: list[Any] = [mp.zero] * n
    for i in range(n):
        for j in range(n - 1):
            rows[i, j] = weights[i] * points[i] ** j
        rows[i, n - 1] = (-1) ** i
        right[i] = weights[i] * goal[i]
    found = gauss(rows, right)
    return [found[j] for j in range(n - 1)], found[n - 1]


def alternation(errors: list[Any], wanted: int) -> list[int]:
    """The places of ``wanted`` extrema of alternating sign, the largest ones."""
    best: list[int] = []
    for i, e in enumerate(errors):
        if best and (e > 0) == (errors[best[-1]] > 0):
            if abs(e) > abs(errors[best[-1]]):
                best[-1] = i
        else:
            best.append(i)
    while len(best) > wanted:  # signs must go on alternating: drop an end, or two neighbours
        sizes = [abs(errors[i]) for i in best]
        least = sizes.index(min(sizes))
        if least in (0, len(best) - 1) or len(best) - 2 < wanted:
            del best[0 if sizes[0] < sizes[-1] else -1]
        else:
            least -= sizes[least - 1] < sizes[least + 1]
            del best[least : least + 2]
    return best


def remez(grid: list[Any], goal: list[Any], weights: list[Any], terms: int) -> tuple[list[Any], Any]:
    """Minimax coefficients over the grid, and the largest weighted error."""
    n = terms + 1
    last = len(grid) - 1
    at = sorted({round(float(last * (1 - mp.cos(mp.pi * i / (n - 1))) / 2)) for i in range(n)})
    if len(at) < n:
        raise ValueError("grid too coarse")
    coefficients: list[Any] = []
    worst: Any = mp.inf
    for _ in range(30):
        coefficients, level = solve([grid[i] for i in at], [goal[i] for i in at], [weights[i] for i in at])
        errors = [
            w * (g - mp.polyval(coefficients[::-1], x)) for x, g, w in zip(grid, goal, weights, strict=True)
        ]
        worst = max(abs(e) for e in errors)
        if worst <= abs(level) * mp.mpf("1.02"):
            break
        found = alternation(errors, n)
        if len(found) < n:
            break
        at = found
    return coefficients, worst


def minimax(
    function: Function, weight: Function, low: Any, high: Any, terms: int, bits: int
) -> tuple[list[float], Any]:
    """The polynomial with the least ``|weight * (function - polynomial)|`` on ``[low, high]``.

    Gives its coefficients as Float32 or Float64 numbers, lowest power first, and that error.
    """
    count = 16 * (terms + 2)
    nudge = (high - low) / 10000  # zero itself has no weight
    grid = [
        low + nudge + (high - low - 2 * nudge) * (1 - mp.cos(mp.pi * i / count)) / 2 for i in range(count + 1)
    ]
    grid = [x if abs(x) > nudge else nudge for x in grid]
    weights = [abs(weight(x)) for x in grid]
    exact = [function(x) for x in grid]
    goal, local = list(exact), list(weights)
    rounded: list[float] = []
    for power in range(terms):  # round one, divide what is left by x, fit again
        coefficients, _ = remez(grid, goal, local, terms - power)
        rounded.append(round_to(coefficients[0], bits))
        goal = [(g - mp.mpf(rounded[-1])) / x for g, x in zip(goal, grid, strict=True)]
        local = [w * abs(x) for w, x in zip(local, grid, strict=True)]
    return rounded, max(abs(w * g) for w, g in zip(local, goal, strict=True))
