"""Numbers whose type is not settled: of literals alone, or made of an integer and a float literal.

Such a number has a mark, ``weak``, and stands for code in an assumed type. What it meets is noted for the
mark; where that is another type, the pass is given up at its end, and the function elaborated again with it.
Of several types it is the one in which they meet, so nothing that it holds is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.diagnostics import VALUE, refuse
from weft.dtype import DType
from weft.lang.elaboration import current
from weft.lang.promote import promote

if TYPE_CHECKING:
    from weft.lang.number import Number


class Closed:
    """The mark of literals that a function returns, whose type is assumed for good."""

    __slots__ = ("function",)

    def __init__(self, function: str) -> None:
        self.function: str = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Closed) and other.function == self.function

    def __hash__(self) -> int:
        return hash(self.function)


class Open:
    """In place of a mark: literals are given to a function, which has a mark of its own for them."""


OPEN = Open()


def opened(x: Number) -> Number:
    """A parameter to which literals are given, in the type that it meets in this function."""
    b = current()
    if not b.entering:
        return type(x).of(x.value, Closed("it"))
    mark = b.new_mark()
    b.literals.append(mark)
    typed: Any = x.cast(b.met.get(mark, x.dtype))
    typed.weak = mark
    return typed


def assumed_type(*literals: bool | int | float) -> DType:
    """The type of one of several literals where nothing types it."""
    if any(isinstance(v, float) for v in literals):
        return DType.float32
    if all(isinstance(v, bool) for v in literals):
        return DType.bool
    return DType.uint64 if max(literals) >= 1 << 63 and min(literals) >= 0 else DType.int64


def floated(x: Number) -> tuple[DType, object]:
    """What an integer becomes that meets a float literal, and its mark: Float32, or Float64 if it meets that.

    If it was of literals itself, it may be shorter.
    """
    b = current()
    mark = b.new_mark()
    assumed = b.met.get(mark, DType.float32)
    if x.weak is None:
        b.met[mark] = assumed
    return assumed, mark


def note(mark: object, dtype: DType, have: DType) -> None:
    """What has the mark meets ``dtype``; this pass has it as ``have``."""
    b = current()
    if mark not in b.stored:
        was = b.met.get(mark)
        b.met[mark] = now = dtype if was is None else promote(was, dtype) or was
        b.learnt += now is not have


def settle(mark: object, dtype: DType, have: DType) -> None:
    """A value of a type is stored into a literal's variable: it is of that type, as any other variable."""
    b = current()
    was = b.stored.get(mark)
    b.stored[mark] = now = dtype if was is None else promote(was, dtype) or was
    b.learnt += now is not have


def meet(x: Number, dtype: DType) -> None:
    """``x`` meets ``dtype``, and becomes one where it is weak and the kind is its own.

    Raises:
        CompileError: it is a result, whose type was assumed, and that is too narrow.
    """
    other_kind = x.dtype.is_float != dtype.is_float or "bool" in (x.dtype.kind, dtype.kind)
    if x.weak is None or x.dtype is dtype or other_kind:
        return
    if not isinstance(x.weak, Closed):
        note(x.weak, dtype, x.dtype)
    elif promote(x.dtype, dtype) is not x.dtype:
        wide = "Float64" if dtype is DType.float64 else "Float32"
        refuse(
            "literal",
            f"nothing in {x.weak.function} types what it returns, so it is Float32, but meets {wide} here",
            hint=f"annotate it with `-> {wide}`",
            part=VALUE,
        )


def became(x: Number, dtype: DType) -> bool:
    """Whether all that this pass has learnt is that ``x``, and others so, are handed on as another type.

    Then it goes on with that. A pass that has learnt more would meet what is wrong, and make other marks.
    """
    b = current()
    if x.weak is None or b.met.get(x.weak) is not dtype or b.learnt > b.handed_on + 1:
        return False
    b.handed_on = b.learnt
    return True


def outgrow(mark: object, literal: int | float, have: DType) -> None:
    """What has the mark takes a literal: a float makes it a float, and what no Int holds, a UInt."""
    wider = isinstance(literal, float) if have.is_integer else False
    if wider or (have is DType.int64 and literal > have.greatest and mark not in current().met):
        note(mark, assumed_type(literal), have)


def _known(x: Number) -> DType | None:
    """What a weak number has met; one that no Int holds is a UInt."""
    fixed = isinstance(x.weak, Closed) or x.dtype is DType.uint64
    return x.dtype if fixed else current().met.get(x.weak)


def _type(x: Number) -> DType:
    """The type of a number as it is known by now."""
    return x.dtype if x.weak is None else _known(x) or x.dtype


def link(a: Number, c: Number) -> None:
    """Two weak numbers of one kind meet: what types one types the other."""
    for x, found in ((a, _known(c)), (c, _known(a))):
        if found is not None:
            meet(x, found)


def meeting(a: Number, c: Number) -> tuple[DType | None, object]:
    """The type in which two numbers meet, None where they do not, and its mark if it is not settled."""
    dtype = promote(a.dtype, c.dtype)
    if (a.weak is None and c.weak is None) or "bool" in (a.dtype.kind, c.dtype.kind):
        number = c if a.dtype.kind == "bool" else a
        return dtype, number.weak if number.dtype is dtype and number.weak is not None else None
    if a.dtype.is_float != c.dtype.is_float:
        number, integer = (a, c) if a.dtype.is_float else (c, a)
        if number.weak is None or integer.weak is not None or isinstance(number.weak, Closed):
            return dtype, number.weak
        found, mark = floated(integer)
        meet(number, found)
        note(mark, number.dtype, found)
        return promote(found, _type(number)), mark
    if a.weak is not None and c.weak is not None:
        link(a, c)
        closed = next((n.weak for n in (a, c) if isinstance(n.weak, Closed)), None)
        dtype = promote(_type(a), _type(c))
        return dtype, closed or (a if _type(a) is dtype else c).weak
    number, typed = (a, c) if a.weak is not None else (c, a)
    meet(number, typed.dtype)
    return promote(_type(number), typed.dtype), None
