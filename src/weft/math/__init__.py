"""Mathematics for kernels, the same on every device.

Every function takes ``Float16``, ``BFloat16``, ``Float32`` and ``Float64``, one lane or a ``SIMD`` of
them, and then emits code; a Python number is computed at once, by Python. The transcendental functions
are written in weft, without any vendor's library, as straight-line code that vectorises; infinities,
nan, signed zeros and subnormal numbers are exact, and ``docs/math.md`` lists the largest errors measured.
Float16 and BFloat16 are computed in Float32 and rounded.

Example:
    >>> from weft import Float32, func
    >>> from weft.math import exp
    >>> @func
    ... def logistic(x: Float32) -> Float32:
    ...     return 1.0 / (1.0 + exp(-x))
"""

from __future__ import annotations

from weft.diagnostics.modules import present
from weft.math.basic import (
    abs,
    ceil,
    clamp,
    copysign,
    floor,
    fma,
    isclose,
    isfinite,
    isinf,
    isnan,
    max,
    min,
    round,
    rsqrt,
    sqrt,
    trunc,
)
from weft.math.counting import comb, factorial, isqrt, perm
from weft.math.integers import align_down, align_up, ceildiv, gcd, iota, lcm
from weft.math.parts import (
    degrees,
    fmod,
    frexp,
    ldexp,
    modf,
    nextafter,
    radians,
    remainder,
    ulp,
)
from weft.math.sequences import dist, fsum, prod
from weft.math.transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    exp2,
    exp10,
    expm1,
    gamma,
    hypot,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    pow,
    sin,
    sincos,
    sinh,
    tan,
    tanh,
)

__all__ = [
    "abs",
    "acos",
    "acosh",
    "align_down",
    "align_up",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "ceildiv",
    "clamp",
    "comb",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "dist",
    "e",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "factorial",
    "floor",
    "fma",
    "fmod",
    "frexp",
    "fsum",
    "gamma",
    "gcd",
    "hypot",
    "inf",
    "iota",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isqrt",
    "lcm",
    "ldexp",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "modf",
    "nan",
    "nextafter",
    "perm",
    "pi",
    "pow",
    "prod",
    "radians",
    "remainder",
    "round",
    "rsqrt",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tau",
    "trunc",
    "ulp",
]

pi: float = 3.141592653589793
"""The circumference of a circle over its diameter."""
tau: float = 6.283185307179586
"""The circumference of a circle over its radius."""
e: float = 2.718281828459045
"""The base of the natural logarithm."""
inf: float = float("inf")
"""Positive infinity."""
nan: float = float("nan")
"""Not a number."""

__weft_computes__ = True
"""Its functions do nothing else, so a call whose result nobody reads can be told of."""

present(globals())
