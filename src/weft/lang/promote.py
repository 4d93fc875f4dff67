"""Which number format two operands meet in, and which literals a format takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.abi.formats import limits, overflows, wrap
from weft.diagnostics import a_, in_digits, refuse
from weft.dtype import DType
from weft.lang.fold import compare

if TYPE_CHECKING:
    from weft.lang.number import Number

_FLOATS = {"float8_e4m3fn": -1, "float8_e5m2": -1, "float16": 0, "bfloat16": 0, "float32": 1, "float64": 2}


def promote(a: DType, c: DType) -> DType | None:
    """The format in which ``a`` and ``c`` meet, or None where a cast has to say.

    Bool meets anything. Of one kind, the wider. An unsigned integer meets a wider signed one. An
    integer meets a float in that float, as in JAX and PyTorch. Float16 with BFloat16, and signed
    with unsigned of the same or more bits, do not meet.
    """
    if a is c:
        return a
    if a.kind == "bool":
        return c
    if c.kind == "bool":
        return a
    if a.is_float != c.is_float:
        return a if a.is_float else c
    if a.is_float:
        ra, rc = _FLOATS[a.name], _FLOATS[c.name]
        return None if ra == rc else a if ra > rc else c
    if a.kind == c.kind:
        return a if a.bits > c.bits else c
    signed, unsigned = (a, c) if a.is_signed else (c, a)
    return signed if signed.bits > unsigned.bits else None


def fits(literal: bool | int | float, cls: type[Number]) -> None:
    """Refuse a literal that the class cannot hold."""
    d = cls.dtype
    if isinstance(literal, float) and not d.is_float:
        refuse(
            "literal",
            f"the float {literal!r} is not {a_(cls.__name__)}",
            hint=f"write {int(literal)}"
            if literal.is_integer()
            else f"write {cls.__name__}({literal!r}) to cut it to an integer, or compute in Float32",
            part=literal,
        )
    if d.is_integer and not isinstance(literal, bool):
        if not d.least <= literal <= d.greatest:
            shown = in_digits(literal)
            refuse(
                "literal",
                f"{shown} does not fit {cls.__name__}, which holds {d.least} to {d.greatest}",
                hint=f"use a wider type, or {cls.__name__}({shown}), which wraps around",
                part=literal,
            )
    if overflows(d, literal):
        message = f"{in_digits(literal)} is beyond {cls.__name__}, whose largest is {limits(d)[1]!r}"
        refuse("literal", message, hint="use a wider type, or math.inf", part=literal)
    if d.kind == "bool" and literal not in (0, 1):
        refuse("literal", f"{literal} is not a Bool", hint=f"write {bool(literal)}", part=literal)


def comparable(op: str, literal: int, cls: type[Number]) -> None:
    """Refuse to compare a number with a literal that its type does not hold: all compare alike."""
    d = cls.dtype
    if d.is_integer and not d.least <= literal <= d.greatest:
        shown, always = in_digits(literal), "always" if compare(op, d.least, literal) else "never"
        message = f"{shown} does not fit {cls.__name__}, which holds {d.least} to {d.greatest}"
        hint = f"leave the comparison out, which {always} holds, or compare a wider number"
        refuse("literal", message, hint=hint, part=literal)


def as_mask(x: object, dtype: DType) -> object:
    """An operand of a bitwise operator: a literal may use the unsigned range of a signed type."""
    if isinstance(x, int) and dtype.is_signed and x >> (dtype.bits - 1) == 1:
        return wrap(dtype, x)
    return x
