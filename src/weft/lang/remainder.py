"""The exact remainder of a division of floats, for targets whose own is an approximation; written in weft.

``x - trunc(x / y) * y`` is wrong as soon as the quotient has more digits than the format. Here the
quotient is taken in steps of 20 bits: each ``fma`` subtracts a multiple of ``y`` that leaves a
remainder the format holds, so nothing is ever rounded. One step does for quotients below 2**22
(Float32) and 2**51 (Float64), which is to say almost always.
"""

from __future__ import annotations

from typing import Any

from weft.dtype import DType
from weft.lang.arith import no_contraction
from weft.lang.decorators import func
from weft.lang.intrinsics import function
from weft.lang.number import Number

_INF = float("inf")


def remainder(x: Number, y: Number) -> Number:
    """``fmod(x, y)`` by lanes, of Float32 or Float64: exact, with the sign of ``x``; nan where undefined."""
    if x.lanes == 1:
        return _remainder(x, y)
    return type(x)(*[_remainder(x[n], y[n]) for n in range(x.lanes)])


@func
def _remainder(x: Any, y: Any) -> Any:
    single = x.dtype.bits == 32
    bits, significand, far = (DType.int32, 23, 2.0**100) if single else (DType.int64, 52, 2.0**1000)
    size, by = abs(x), abs(y)
    if not (by > 0.0 and size < _INF):
        return type(x)(float("nan"))
    left = size
    with no_contraction():
        while left >= by:
            base = by * far * far
            base = (left / (by * far) < _INF).select(by * far, base)
            base = (left / by < _INF).select(by, base)  # the nearest whose quotient is finite
            quotient = left / base
            # 2**k, with k the quotient's exponent less 20, from the bits of the quotient
            power = ((quotient.bitcast(bits) >> significand) - 20 << significand).bitcast(x.dtype)
            scale = (quotient < 2.0 ** (significand - 1)).select(1.0, power)
            count = function("math.trunc", quotient / scale)
            left = (-(count * scale)).fma(base, left)
            step = base * scale
            left = (left < 0.0).select(left + step, left)
            left = (left >= step).select(left - step, left)
    return function("math.copysign", left, x)
