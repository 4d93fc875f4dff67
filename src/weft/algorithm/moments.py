"""Means and squared deviations of some numbers, and those of two together.

Chan, Golub and LeVeque ("Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979):
so numbers far from 0 lose no digits, as they do by ``E(x * x) - E(x) ** 2``.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from weft import math
from weft.lang import struct

T = TypeVar("T")


@struct
class Moments(Generic[T]):
    """How many numbers there are, their mean, and the sum of squares of what they deviate from it."""

    count: T
    mean: T
    squares: T


def join(a: Any, b: Any) -> Any:
    """Of the numbers of both."""
    count = a.count + b.count
    apart, part = b.mean - a.mean, b.count / math.max(count, type(count)(1))
    squares = a.squares + b.squares + apart * apart * a.count * part
    return Moments(count, a.mean + apart * part, squares)
