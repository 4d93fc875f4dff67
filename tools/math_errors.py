"""Measures the largest errors of ``weft.math`` on this machine's CPU; prints the table of ``docs/math.md``.

    python tools/math_errors.py        # every 31st Float32, two million Float64: some minutes
    python tools/math_errors.py 1 sin  # every Float32, this function only

References: NumPy in Float64 for Float32; for Float64, NumPy in the x87's 64-bit mantissa (so it needs x86),
and mpmath where NumPy has no such function.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp

import weft.math as wm
from ulp import Array, errors, one32, one64, run, two32, two64

Wide = np.longdouble
CHUNK = 1 << 22


def rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def slowly(name: str) -> Callable[[Array], Array]:
    """A function of mpmath on arrays, for what NumPy lacks."""

    def value(x: float) -> Any:
        if not abs(x) < 1000:
            return Wide(getattr(math, name)(float(x)))
        with mp.workprec(120):
            exact = getattr(mp, name)(mp.mpf(float(x)))
            high = float(exact)
            return Wide(high) + Wide(float(exact - mp.mpf(high))) if high else Wide(high)

    return lambda x: np.array([value(v) for v in x], Wide)


def by_mpmath(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """A function of mpmath on arrays, with C's answers where it has none."""

    def value(x: float) -> Any:
        if not math.isfinite(x) or x == 0:
            return Wide(math.copysign(math.inf, x) if x == 0 else x)
        with mp.workprec(120):
            try:
                exact = function(mp.mpf(x))
                high = float(exact)
            except (ValueError, OverflowError):
                return Wide(math.inf)
            return (
                Wide(high) + Wide(float(exact - mp.mpf(high)))
                if high and abs(high) < math.inf
                else Wide(high)
            )

    return lambda x: np.array([value(float(v)) for v in x], Wide)


def plainly(name: str) -> Callable[[Array], Array]:
    return np.vectorize(getattr(math, name), [np.float64])


ONE: dict[str, Callable[[Array], Array] | None] = {
    "sqrt": np.sqrt,
    "rsqrt": rsqrt,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "degrees": np.degrees,
    "radians": np.radians,
    "erf": None,
    "erfc": None,
}
FACTORIALS: dict[str, Callable[[Any], Any]] = {"gamma": mp.gamma, "lgamma": mp.loggamma}
"""Measured of x > 0, in a hundredth of the arguments: below, lgamma has zeros that are no numbers."""
TWO: dict[str, Callable[[Array, Array], Array]] = {"atan2": np.arctan2, "hypot": np.hypot, "pow": np.power}


def worst(got: Array, exact: Array) -> float:
    """The largest error in ulp; infinite for a wrong infinity, nan or sign of zero."""
    return float(np.max(errors(got, exact)))


def patterns(step: int) -> Iterator[Array]:
    """Float32 numbers by their bits, a chunk at a time."""
    for start in range(0, 2**32, CHUNK * step):
        bits = np.arange(start, min(start + CHUNK * step, 2**32), step, dtype=np.uint64)
        yield bits.astype(np.uint32).view(np.float32)


def samples(count: int) -> Array:
    """Float64 numbers of all magnitudes, and more where the functions are busy."""
    rng = np.random.default_rng(1)
    k = count // 7
    return np.concatenate(
        [
            rng.integers(0, 2**64, k, dtype=np.uint64).view(np.float64),
            rng.standard_normal(k),
            rng.uniform(-1, 1, k),
            rng.uniform(-30, 30, k),
            rng.uniform(-750, 750, k),
            rng.choice([-1.0, 1.0], k) * np.exp2(rng.uniform(-40, 40, k)),
            1 + rng.uniform(-0.5, 0.5, k) * np.exp2(-rng.uniform(0, 52, k)),
        ]
    )


def pairs(kind: Any, count: int) -> tuple[Array, Array]:
    """Two arguments: of all magnitudes, and such that a power stays in range."""
    rng = np.random.default_rng(2)
    k = count // 4
    bits = rng.integers(0, 2**64, (4, k), dtype=np.uint64)
    wild = (
        (bits >> np.uint64(32)).astype(np.uint32).view(np.float32)
        if kind is np.float32
        else bits.view(np.float64)
    )
    top, digits = (150, 23) if kind is np.float32 else (1100, 52)
    near = 1 + rng.uniform(-1, 1, k) * np.exp2(-rng.uniform(0, digits, k))
    wide = np.abs(wild[2])
    x = [wild[0], near, wide, np.abs(wild[3])]
    y = [wild[1], *(rng.uniform(-top, top, k) / np.log2(v.astype(np.float64)) for v in (near, wide))]
    y.append(x[3] * np.exp2(rng.uniform(-30, 30, k)))
    return np.concatenate(x).astype(kind), np.concatenate(y).astype(kind)


def main(step: int, wanted: list[str]) -> None:
    """Prints one row for each function, or each of the wanted ones."""
    print("| function | Float32 | Float64 |\n|---|---|---|")
    for name, exact in ONE.items():
        if wanted and name not in wanted:
            continue
        f = getattr(wm, name)
        narrow, wide = (plainly(name), slowly(name)) if exact is None else (exact, exact)
        error32 = max(worst(run(one32, f, x), narrow(x.astype(np.float64))) for x in patterns(step))
        x = samples(2_000_000 if exact is not None else 200_000)
        error64 = worst(run(one64, f, x), wide(x.astype(Wide)))
        print(f"| `{name}` | {error32:.2f} | {error64:.2f} |", flush=True)
    for name, function in FACTORIALS.items():
        if wanted and name not in wanted:
            continue
        row = list[str]()
        narrow = np.concatenate([np.abs(x[np.isfinite(x)]) for x in patterns(step * 100)])
        for k, x in ((one32, narrow), (one64, np.abs(samples(200_000)))):
            x = x[(x < 171.6) & (x > 1e-300)] if name == "gamma" else x[x > 0]
            row.append(f"{worst(run(k, getattr(wm, name), x), by_mpmath(function)(x)):.2f}")
        print(f"| `{name}` | {' | '.join(row)} |", flush=True)
    for name, reference in TWO.items():
        if wanted and name not in wanted:
            continue
        row: list[str] = []
        for k, kind in ((two32, np.float32), (two64, np.float64)):
            x, y = pairs(kind, 4_000_000)
            got = run(k, getattr(wm, name), x, y)
            row.append(f"{worst(got, reference(x.astype(Wide), y.astype(Wide))):.2f}")
        print(f"| `{name}` | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 31, sys.argv[2:])
