"""The type variables of the public signatures."""

from __future__ import annotations

from typing import TypeVar

from weft.lang import BFloat16, Float16, Float32, Float64
from weft.lang.number import Number

FloatT = TypeVar("FloatT", Float16, BFloat16, Float32, Float64, float)
"""A float of the language, a SIMD of them, or Python's."""
NumberT = TypeVar("NumberT", bound=Number)
"""A number of the language, or a SIMD of them."""
PlainT = TypeVar("PlainT", int, float)
"""A Python number."""
