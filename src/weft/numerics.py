"""The limits of the number types, as Mojo's ``utils.numerics`` names them.

Each takes a type, its ``DType`` or NumPy's, and gives a constant of it. In a kernel, ``max_finite(type(x))``
is one of what ``x`` is: of a ``SIMD``, in all lanes.

Example:
    >>> from weft import Float32, Int8
    >>> from weft.numerics import epsilon, max_finite, min_finite
    >>> max_finite(Float32), min_finite(Int8)
    (Float32(3.4028235e+38), Int8(-128))
    >>> epsilon(Float32)
    Float32(1.1920929e-07)
"""

from __future__ import annotations

import math
from typing import Any

from weft.abi.formats import limits, wrap
from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import DType
from weft.lang.generic import K, type_meant

__all__ = ["epsilon", "inf", "max_finite", "max_or_inf", "min_finite", "min_or_neg_inf", "nan"]


def _format(name: str, kind: Any, *, float_only: bool = False) -> DType:
    meant = type_meant(kind)  # also of NumPy's types
    found = getattr(meant, "dtype", None) if isinstance(meant, type) else None
    what = "a type of floats" if float_only else "a type of numbers"
    if not isinstance(found, DType) or not (found.is_float or (found.is_number and not float_only)):
        shown = kind.__name__ if isinstance(kind, type) else repr(kind) if found else f"the value {kind!r}"
        refuse("argument-type", f"{name} takes {what}, not {shown}", hint=f"write {name}(Float32)")
    return found


def _number(kind: Any, value: float) -> Any:
    """A constant of a type of numbers, or of the one that a DType is of."""
    return type_meant(kind)(value)


def _has_infinity(d: DType) -> bool:
    return d.is_float and math.isinf(wrap(d, math.inf))


def max_finite(kind: type[K] | DType) -> K:
    """The greatest finite number of a type.

    Raises:
        CompileError: it is no type of numbers.
    """
    return _number(kind, limits(_format("max_finite", kind))[1])


def min_finite(kind: type[K] | DType) -> K:
    """The least finite number of a type; of floats, the negative of the greatest.

    Raises:
        CompileError: it is no type of numbers.
    """
    return _number(kind, limits(_format("min_finite", kind))[0])


def max_or_inf(kind: type[K] | DType) -> K:
    """The greatest number of a type, infinity if it has one: where a search for the least begins.

    Raises:
        CompileError: it is no type of numbers.
    """
    d = _format("max_or_inf", kind)
    return _number(kind, math.inf if _has_infinity(d) else limits(d)[1])


def min_or_neg_inf(kind: type[K] | DType) -> K:
    """The least number of a type, minus infinity if it has one: where a search for the greatest begins.

    Raises:
        CompileError: it is no type of numbers.
    """
    d = _format("min_or_neg_inf", kind)
    return _number(kind, -math.inf if _has_infinity(d) else limits(d)[0])


def inf(kind: type[K] | DType) -> K:
    """Infinity of a type of floats.

    Raises:
        CompileError: it is no type of floats, or has no infinity.
    """
    if not _has_infinity(_format("inf", kind, float_only=True)):
        shown = kind.__name__ if isinstance(kind, type) else f"DType.{kind}"
        refuse("argument-type", f"{shown} has no infinity", hint=f"write max_finite({shown})")
    return _number(kind, math.inf)


def nan(kind: type[K] | DType) -> K:
    """What is not a number, of a type of floats.

    Raises:
        CompileError: it is no type of floats.
    """
    _format("nan", kind, float_only=True)
    return _number(kind, math.nan)


def epsilon(kind: type[K] | DType) -> K:
    """The distance from 1 to the next greater number of a type of floats, as NumPy's ``finfo.eps``.

    Raises:
        CompileError: it is no type of floats.
    """
    return _number(kind, 2.0 / _format("epsilon", kind, float_only=True).greatest)


present(globals())
