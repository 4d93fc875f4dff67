"""The model's ``weft.math``, what is exact of it, and ``weft.bit``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.fuzz.kinds import BOOL, KINDS, bits_of, nearest, of_bits
from tests.fuzz.lanes import lifted
from tests.fuzz.scalars import Number, as_kind, both

__all__ = ["BIT", "MATH"]


def _float(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        found = f(x.value)
        return Number(BOOL, bool(found)) if found.dtype.kind == "b" else as_kind(float(found), x.kind)

    return lifted(apply)


@lifted
def _fma(x: Any, y: Any, z: Any) -> Any:
    kind, (a, b, c) = x.kind, (x.value, as_kind(y, x.kind).value, as_kind(z, x.kind).value)
    if not kind.is_float:
        return x * y + z
    if not all(map(np.isfinite, (a, b, c))):
        product = float(a) * float(
            b
        )  # as 64 bits: no overflow from narrower, and of Float64 the sign is right
        if all(map(np.isfinite, (a, b))):
            product = 0.0
        return Number(kind, kind.number(product + float(c)))
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        negative = math.copysign(1, a) * math.copysign(1, b) < 0 and math.copysign(1, c) < 0
        zero = -0.0 if negative and (a == 0 or b == 0) else 0.0
        return Number(kind, kind.number(zero))
    return Number(kind, nearest(exact, kind))


def _copysign(x: Any, y: Any) -> Any:
    kind, a, c = both(x, y)
    return Number(kind, np.copysign(a, c))


def _exact(f: Callable[[float, float], float]) -> Callable[..., Any]:
    """A function of two floats whose result needs no rounding; Python raises where it is nan."""

    def apply(x: Any, y: Any) -> Any:
        kind, a, c = both(x, y)
        try:
            return Number(kind, kind.number(f(float(a), float(c))))
        except ValueError:
            return Number(kind, kind.number(math.nan))

    return lifted(apply)


def _frexp(x: Any) -> tuple[Number, Number]:
    part, power = math.frexp(float(x.value))
    return Number(x.kind, x.kind.number(part)), Number(KINDS["Int32"], power)


def _modf(x: Any) -> tuple[Number, ...]:
    return tuple(Number(x.kind, x.kind.number(part)) for part in math.modf(float(x.value)))


def _nextafter(x: Any, y: Any) -> Any:
    """The next of all numbers of the format, by their bits in order."""
    kind, a, c = x.kind, x.value, y.value
    if np.isnan(a) or np.isnan(c) or a == c:
        return Number(kind, c if a == c else kind.number(math.nan))
    if a == 0:
        return Number(kind, np.copysign(of_bits(kind, 1), c))
    return Number(kind, of_bits(kind, bits_of(kind, a) + (1 if (c > a) == (a > 0) else -1)))


def _extreme(least: bool) -> Callable[..., Any]:
    """The lesser or greater; not nan, and -0 is less than 0."""

    def two(x: Any, y: Any) -> Any:
        kind, a, c = both(x, y)
        if a != a or c != c:
            return Number(kind, c if a != a else a)
        if a == c:
            return Number(kind, a if bool(np.signbit(a)) == least else c)
        return Number(kind, min(a, c) if least else max(a, c))

    return lambda *given: functools.reduce(lifted(two), given)


_min, _max = _extreme(True), _extreme(False)


def _clamp(x: Any, low: Any, high: Any) -> Any:
    return _min(_max(x, low), high)


def _is_power(x: Any) -> Number:
    return Number(BOOL, int(x) > 0 and int(x).bit_count() == 1)


def _bits(f: Callable[[int, int, int, int], int]) -> Callable[..., Any]:
    """A function of how many bits there are, and these of one to three numbers; wrapped."""

    def apply(x: Any, *others: Any) -> Any:
        u, v, n = [int(n) % (1 << x.kind.bits) for n in (x, *others, 0, 0)][:3]
        return Number(x.kind, x.kind.wrap(f(x.kind.bits, u, v, n)))

    return lifted(apply)


def _whole(f: Callable[[int, int], int]) -> Callable[..., Any]:
    """A function of one or two integers as such; wrapped, and 0 where Python divides by 0."""

    def apply(x: Any, y: Any = 0) -> Any:
        try:
            found = f(int(x), int(y))
        except ZeroDivisionError:
            found = 0
        return Number(x.kind, x.kind.wrap(found))

    return lifted(apply)


def _bytes_picked(low: Any, high: Any, selector: Any) -> Any:
    found = (int(low) | int(high) << 32).to_bytes(8, "little")
    picked = bytes(found[int(selector) >> 4 * n & 7] for n in range(4))
    return Number(low.kind, int.from_bytes(picked, "little"))


def _up(bits: int, u: int, v: int, n: int) -> int:
    return (u << bits | v) << n % bits >> bits


def _down(bits: int, u: int, v: int, n: int) -> int:
    return (u << bits | v) >> n % bits


BIT = SimpleNamespace(
    pop_count=_bits(lambda bits, u, v, n: u.bit_count()),
    count_leading_zeros=_bits(lambda bits, u, v, n: bits - u.bit_length()),
    count_trailing_zeros=_bits(lambda bits, u, v, n: (u & -u).bit_length() - 1 if u else bits),
    byte_swap=_bits(lambda bits, u, v, n: int.from_bytes(u.to_bytes(bits // 8, "big"), "little")),
    bit_reverse=_bits(lambda bits, u, v, n: int(f"{u:0{bits}b}"[::-1], 2)),
    rotate_bits_left=_bits(lambda bits, u, v, n: _up(bits, u, u, v)),
    rotate_bits_right=_bits(lambda bits, u, v, n: _down(bits, u, u, v)),
    funnel_shift_left=_bits(_up),
    funnel_shift_right=_bits(_down),
    bit_width=_whole(lambda x, _: x.bit_length()),
    next_power_of_two=_whole(lambda x, _: 1 << max(0, x - 1).bit_length()),
    prev_power_of_two=_whole(lambda x, _: 1 << x.bit_length() - 1 if x > 0 else 0),
    is_power_of_two=_is_power,
    byte_permute=_bytes_picked,
)


def _near(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function as Float64 has it, rounded: near what it is."""

    def apply(x: Any, *others: Any) -> Any:
        return as_kind(
            float(f(np.float64(x.value), *(np.float64(as_kind(o, x.kind).value) for o in others))), x.kind
        )

    return lifted(apply)


def _exp10(x: Any) -> Any:
    return np.power(10.0, x)


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _sincos(x: Any) -> Any:
    return _near(np.sin)(x), _near(np.cos)(x)


_NAMES = "cbrt cos cosh exp exp2 expm1 log log1p log2 log10 sin sinh tan tanh degrees radians hypot".split()
_NEAR: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _NAMES},
    **{name: getattr(np, "arc" + name[1:]) for name in "acos acosh asin asinh atan atanh atan2".split()},
    "erf": math.erf,
    "erfc": math.erfc,
    "exp10": _exp10,
    "pow": np.float_power,  # np.power takes a root where the exponent is 0.5, of which -inf has none
    "rsqrt": _rsqrt,
}
MATH = SimpleNamespace(
    **{name: _near(f) for name, f in _NEAR.items()},
    sincos=_sincos,
    min=_min,
    max=_max,
    clamp=_clamp,
    fmod=_exact(math.fmod),
    remainder=_exact(math.remainder),
    nextafter=lifted(_nextafter),
    frexp=lifted(_frexp),
    modf=lifted(_modf),
    ceildiv=_whole(lambda a, c: -(-a // c)),
    align_up=_whole(lambda a, c: -(-a // c) * c),
    align_down=_whole(lambda a, c: a // c * c),
    gcd=_whole(math.gcd),
    sqrt=_float(np.sqrt),
    floor=_float(np.floor),
    ceil=_float(np.ceil),
    trunc=_float(np.trunc),
    round=_float(np.rint),
    isnan=_float(np.isnan),
    isinf=_float(np.isinf),
    isfinite=_float(np.isfinite),
    copysign=_copysign,
    fma=_fma,
    inf=math.inf,
    nan=math.nan,
)
