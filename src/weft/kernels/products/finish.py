"""What becomes of sums before they are written: factors and summands by place, and the caller's function."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft import Float32, Float64, Int
from weft.diagnostics import a_, refuse
from weft.lang.number import Number, number_class


class Ways(NamedTuple):
    """What becomes of sums, as kernels know it at compile time."""

    type: Any
    """The class of the results."""
    terms: tuple[str, ...] = ()
    """``*`` or ``+`` for each term."""
    scaled: bool = False
    """Whether the factor counts."""
    epilogue: bool = False
    places: int = 2
    """How many numbers the epilogue takes that say where an element lies, the last of matrix, row, column."""
    piece: int = 0
    """Columns that the hardware stores at once."""
    paired: bool = False
    """Whether a thread may store two neighbours at once."""


def unchanged(value: Any, z: Any, i: Any, j: Any) -> Any:
    """The epilogue of whoever gives none."""
    return value


def finished(values: Any, at: Any, extents: Any, ends: Any, *, ways: Any) -> Any:
    """Neighbours in a row of the result, as a vector.

    Args:
        values: their sums.
        at: batch, row and column of the first; those beyond the result are computed like its last.
        extents: its rows and columns.
        ends: a factor, the terms and the epilogue.
        ways: what of it there is.
    """
    alpha, terms, epilogue = ends
    if ways.terms or ways.scaled or ways.epilogue:
        z, row, col = at
        row = _least(row, extents[0] - 1)
        values = [
            _one(values[i], (z, row, _least(col + i, extents[1] - 1)), alpha, terms, epilogue, ways)
            for i in range(len(values))
        ]
    return number_class(values[0].dtype, len(values))(*values) if len(values) > 1 else values[0]


def _one(value: Any, at: Any, alpha: Any, terms: Any, epilogue: Any, ways: Any) -> Any:
    z, row, col = at
    wide = Float64 if ways.type.dtype.bits == 64 else Float32
    if value.dtype.is_integer and (ways.scaled or "*" in ways.terms):
        value = value.cast(wide)
    if ways.scaled:
        value = value * alpha.cast(value.dtype)
    for way, place in zip(ways.terms, terms, strict=True):
        term = place.start[z * place.steps[0] + row * place.steps[1] + col * place.step]
        if value.dtype.is_integer and ways.type.dtype.is_float:  # Float64 has all of both
            value = value.cast(wide if term.dtype.is_float else Float64)
        elif value.dtype.is_integer and value.dtype.bits < ways.type.dtype.bits:
            value = value.cast(ways.type)
        term = term.cast(value.dtype)
        value = value * term if way == "*" else value + term
    if ways.epilogue:
        given = epilogue(value, *(z, row, col)[3 - ways.places :])
        if not isinstance(given, (Number, bool, int, float)):
            message = f"the epilogue gives {a_(type(given).__name__)}, not a number"
            refuse("argument-type", message, hint="return one, of the element: lambda x: 2 * x")
        value = given if isinstance(given, Number) else type(value)(given)
    return value


def _least(x: Any, y: Any) -> Any:
    return Int((x < y).select(x, y))
