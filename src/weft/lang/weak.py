"""Numbers whose type is not settled: literals in variables, and one of several literals.

Such a number has a mark, ``weak``, and stands for code in an assumed type. When it meets a type, the
elaborator notes the type for the mark, and where it is another than the assumed one, the function is
elaborated again with it. Types of one mark that differ meet in the widest, from which the value is then
converted: a float always, an integer where its ``literals`` are known and fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.compiler.ir.builder import current, maybe_current
from weft.diagnostics import CompileError
from weft.dtype import DType
from weft.lang.errors import STORED
from weft.lang.fold import exactly
from weft.lang.promote import fits, promote

if TYPE_CHECKING:
    from weft.lang.number import Number

__all__ = [
    "Literals",
    "assumed_type",
    "becomes",
    "follows",
    "grow",
    "is_open",
    "literals_of",
    "meet",
    "meeting",
    "of_operation",
]

Literals = tuple[Any, ...]
_MOST = 16
"""More literals that a value may be one of are not kept."""


def assumed_type(literals: Literals) -> DType:
    """The type of one of several literals where nothing else types it."""
    if any(isinstance(v, float) for v in literals):
        return DType.float32
    if all(isinstance(v, bool) for v in literals):
        return DType.bool
    return DType.uint64 if max(literals) >= 1 << 63 and min(literals) >= 0 else DType.int64


def is_open(x: Number) -> bool:
    """Whether the type of ``x`` is not settled."""
    return x.weak is not None and x.dtype.kind != "bool" and current().elaborator.open(x.weak)


def meet(x: Number, dtype: DType) -> None:
    """``x`` meets ``dtype``, and becomes one where it is open and the kind is its own."""
    if "bool" in (x.dtype.kind, dtype.kind):
        return
    if x.weak is not None and x.dtype.is_float == dtype.is_float:
        if x.dtype.is_float or x.dtype is not dtype:  # what an Int meets may still be narrowed by another
            current().elaborator.meet(x.weak, dtype, x.dtype)


def becomes(x: Number, cls: type[Number]) -> bool:
    """Whether ``x`` loses nothing that it has to keep as a narrower ``cls``.

    Raises:
        CompileError: it is one of some literals, and one of those does not fit.
    """
    if x.literals is not None:
        try:
            for literal in x.literals:
                fits(literal, cls)
        except CompileError as error:
            error.part = STORED  # the literal may stand elsewhere
            raise
        return True
    return x.dtype.is_float and cls.dtype.is_float and is_open(x)


def follows(x: Number, dtype: DType, mark: object) -> bool:
    """Whether the open ``x`` takes the type of the open ``mark``, and not the other way round."""
    met = current().elaborator.met
    if not met(x.weak):  # only a literal that Int does not hold is a UInt by itself
        return met(mark) or x.dtype is not DType.uint64
    return met(mark) and promote(x.dtype, dtype) is dtype


def grow(x: Number, literal: object) -> None:
    """``x`` meets a literal that no Int holds: it is a UInt then, if nothing types it."""
    if isinstance(literal, int) and literal >= 1 << 63 and is_open(x) and x.dtype is DType.int64:
        if not current().elaborator.met(x.weak):
            meet(x, DType.uint64)


def meeting(a: Number, c: Number) -> tuple[DType, object] | None:
    """The type in which two numbers meet, and its mark; None where promotion says it, as neither is open."""
    if a.dtype.is_float != c.dtype.is_float and a.weak is not None and c.weak is not None:
        number = a if a.dtype.is_float else c
        return number.dtype, number.weak
    if is_open(a) and is_open(c):
        if a.dtype is c.dtype:
            return a.dtype, a.weak
        first, last = (a, c) if follows(a, c.dtype, c.weak) else (c, a)
        meet(first, last.dtype)
        return promote(a.dtype, c.dtype) or last.dtype, last.weak
    if not is_open(a) and not is_open(c):
        both = a.weak is not None and c.weak is not None and a.dtype is c.dtype
        return (a.dtype, a.weak) if both else None
    number, typed = (a, c) if is_open(a) else (c, a)
    if number.dtype.is_float != typed.dtype.is_float:  # an integer types no float
        return (number.dtype, number.weak) if number.dtype.is_float else None
    meet(number, typed.dtype)
    known = number.dtype.is_float or number.literals is not None
    return (typed.dtype, None) if known and typed.dtype.kind != "bool" else None


def literals_of(*values: Any) -> Literals | None:
    """The literals that one of these values is, where that is known."""
    out: list[Any] = []
    for value in values:
        if isinstance(value, (bool, int, float)):
            out.append(value)
        elif value.literals is None:
            return None
        else:
            out.extend(value.literals)
    found = tuple({repr(v): v for v in out}.values())
    return found if len(found) <= _MOST else None


def of_operation(op: str, dtype: DType, a: Any, c: Any) -> Literals | None:
    """What ``a op c`` is one of, computed by Python, where that is known: so that it overflows in no type."""
    if not dtype.is_integer or maybe_current() is None:
        return None
    left, right = literals_of(a), literals_of(c)
    if left is None or right is None or len(left) * len(right) > _MOST:
        return None
    try:
        made = [exactly(op, dtype, x, y) for x in left for y in right]
    except (ArithmeticError, ValueError, TypeError):
        return None
    return literals_of(*made) if all(isinstance(v, int) for v in made) else None
