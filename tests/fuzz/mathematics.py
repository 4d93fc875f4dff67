"""The model's ``weft.math``: what is exact of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.fuzz.kinds import BOOL, nearest
from tests.fuzz.lanes import Vector
from tests.fuzz.scalars import Number, as_kind, both

__all__ = ["MATH"]


def _float(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        if isinstance(x, Vector):
            return x.each(apply)
        found = f(x.value)
        return Number(BOOL, bool(found)) if found.dtype.kind == "b" else as_kind(float(found), x.kind)

    return apply


def _fma(x: Any, y: Any, z: Any) -> Any:
    if isinstance(x, Vector):
        return x.each(_fma, y, z)
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


MATH = SimpleNamespace(
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
