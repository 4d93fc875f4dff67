"""The gamma function and its logarithm. Float32 is computed in Float64, and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

from weft.dtype import DType
from weft.math.exponential import exp
from weft.math.logarithm import log, log1p
from weft.math.ops import Real, absolute, floor, like, polynomial
from weft.math.power import pow
from weft.math.trigonometric import cos, sin

_G = 6.024680040776729583740234375
_ABOVE = (
    23531376880.41076,
    42919803642.6491,
    35711959237.35567,
    17921034426.03721,
    6039542586.352028,
    1439720407.3117216,
    248874557.86205417,
    31426415.585400194,
    2876370.6289353725,
    186056.26539522348,
    8071.672002365816,
    210.82427775157936,
    2.5066282746310002,
)
_BELOW = (
    0.0,
    39916800.0,
    120543840.0,
    150917976.0,
    105258076.0,
    45995730.0,
    13339535.0,
    2637558.0,
    357423.0,
    32670.0,
    1925.0,
    66.0,
    1.0,
)
"""Lanczos' sum for this g, as a quotient of polynomials: the coefficients of Boost and CPython."""

_AT_TWO = (
    0.42278433509846713,
    0.3224670334241132,
    -0.0673523010531981,
    0.020580808427784546,
    -0.007385551028673986,
    0.0028905103307415234,
    -0.001192753911703261,
    0.0005096695247430425,
    -0.00022315475845357939,
    9.945751278180853e-05,
    -4.492623673813314e-05,
    2.050721277567069e-05,
    -9.439488275268397e-06,
    4.374866789907488e-06,
    -2.039215753801366e-06,
    9.55141213040742e-07,
    -4.492469198764566e-07,
    2.1207184805554665e-07,
    -1.0043224823968099e-07,
    4.7698101693639804e-08,
    -2.2711094608943164e-08,
    1.0838659214896955e-08,
    -5.183475041970047e-09,
    2.4836745438024785e-09,
    -1.1921401405860912e-09,
    5.731367241678862e-10,
    -2.7595228851242334e-10,
    1.330476437424449e-10,
)
"""lgamma(2 + z) / z: 1 - Euler's constant, then (-1)**k (zeta(k) - 1) / k."""
_STIRLING = (
    0.08333333333333333,
    -0.002777777777777778,
    0.0007936507936507937,
    -0.0005952380952380953,
    0.0008417508417508417,
    -0.0019175269175269176,
    0.00641025641025641,
    -0.029550653594771242,
    0.17964437236883057,
    -1.3924322169059011,
    13.402864044168393,
)
"""The series of Stirling's formula in 1 / x**2, times x."""
_FAR = 8.0
"""From it on, Stirling's formula is as exact as the format."""


def _in_double(function: Callable[[Real], Real]) -> Callable[[Real], Real]:
    def emit(x: Real) -> Real:
        return function(x.cast(DType.float64)).cast(x.dtype) if x.dtype.bits == 32 else function(x)

    return emit


def _sine_of_pi(a: Real) -> Real:
    """``sin(pi a)`` of ``a >= 0``."""
    y = a - floor(a * 0.5) * 2.0  # exact
    n = floor(y * 2.0 + 0.5)
    r = (y - n * 0.5) * math.pi
    even = (n == 0.0) | (n == 2.0) | (n == 4.0)
    found = even.select(sin(r), cos(r))
    return ((n == 2.0) | (n == 3.0)).select(-found, found)


def _lanczos(a: Real) -> Real:
    small = a < 5.0
    t = small.select(a, 1.0 / a)
    above, below = (small.select(polynomial(t, c), polynomial(t, c[::-1])) for c in (_ABOVE, _BELOW))
    return above / below


def _gamma(x: Real) -> Real:
    a = absolute(x)
    y = a + (_G - 0.5)
    lost = (a > _G - 0.5).select((y - a) - (_G - 0.5), (y - (_G - 0.5)) - a) * _G / y
    root = pow(y, a * 0.5 - 0.25)  # its square overflows late
    total = _lanczos(a)
    right = total / exp(y)
    right = (right + lost * right) * root * root
    left = -math.pi / _sine_of_pi(a) / a * exp(y) / total
    left = (left - lost * left) / root / root
    whole = floor(x) == x
    # x! is exact up to 18!, of which the formula knows all digits but the last
    right = (whole & (a < 16.0)).select(floor(right + 0.5), right)
    right = (a > 171.7).select(math.inf, right)
    odd = floor(a * 0.5) * 2.0 != floor(a)
    left = (a > 184.0).select(odd.select(like(x, 0.0), like(x, -0.0)), left)
    found = (x < 0.0).select(left, right)
    found = (a < 1e-20).select(1.0 / x, found)
    wrong = ((x < 0.0) & whole) | (x == -math.inf)
    return wrong.select(math.nan, (x == x).select(found, x))


def _lgamma_right(a: Real) -> Real:
    """Of ``a > 0``."""
    low = a < 1.5
    tiny = a < 0.5
    z = tiny.select(a, a - 1.0)  # below 1.5: lgamma(1 + z), and below 0.5 less log(a)
    factor = like(a, 1.0)
    near = a
    for _ in range(6):  # down to 1.5 ... 2.5
        down = near > 2.5
        near = down.select(near - 1.0, near)
        factor = down.select(factor * near, factor)
    z = low.select(z, near - 2.0)
    series = z * polynomial(z, _AT_TWO)
    middle = series + low.select(-log1p(z), log(factor))
    middle = tiny.select(middle - log(a), middle)
    inverse = 1.0 / a
    tail = inverse * polynomial(inverse * inverse, _STIRLING)
    far = (a - 0.5) * (log(a) - 1.0) + ((0.5 * math.log(2.0 * math.pi) - 0.5) + tail)
    return (a < _FAR).select(middle, far)


def _lgamma(x: Real) -> Real:
    a = absolute(x)
    right = _lgamma_right((a < 1e-300).select(1.0, a))
    left = math.log(math.pi) - log(absolute(_sine_of_pi(a)) * a) - right
    found = (x < 0.0).select(left, right)
    found = (a < 1e-20).select(-log(a), found)
    pole = ((x <= 0.0) & (floor(x) == x)) | (a == math.inf)
    return pole.select(math.inf, (x == x).select(found, x))


gamma, lgamma = _in_double(_gamma), _in_double(_lgamma)
