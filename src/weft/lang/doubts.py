"""What is legal in the user's own code and hardly meant so: warnings about what operators are given."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op, Value
from weft.diagnostics import LEFT, RIGHT, Diagnostic, Label, a_, caller_location, frame_location, is_internal
from weft.lang.elaboration import current

if TYPE_CHECKING:
    from weft.diagnostics import Location
    from weft.dtype import DType

_OPERATORS = frozenset({__name__, "weft.lang.number", "weft.lang.operators", "weft.diagnostics.unfit"})
_METHODS = frozenset(
    {"Builtins.compared", "Builtins.py_int", "Conversions.cast", "note_countdown", "range_of"}
)
"""What stands between an operator that a function writes and its doubt."""

_ROUNDED = frozenset({"math.floor", "math.trunc", "math.ceil"})
_HELD = 24
"""So many bits of an integer a Float32 holds."""


def written(by_library: bool = False) -> Location | None:
    """The operation that the function under elaboration itself writes; None where weft or a helper does.

    ``by_library``: or has plain Python of the library's do.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and (
        frame.f_globals.get("__name__") in _OPERATORS
        or frame.f_code.co_qualname in _METHODS
        or (by_library and is_internal(frame.f_code.co_filename))
    ):
        frame = frame.f_back
    if frame is None or is_internal(frame.f_code.co_filename):
        return None
    return frame_location(frame) if _is_under_elaboration(frame) else None


def _is_under_elaboration(frame: FrameType) -> bool:
    """Whether it is of the function at hand: what Python such a function calls has no builder."""
    b, outer = current(), frame.f_back
    if any(value is b for value in frame.f_locals.values()):
        return True
    while outer is not None and is_internal(outer.f_code.co_filename):
        outer = outer.f_back
    return outer is not None and frame.f_code in outer.f_code.co_consts and _is_under_elaboration(outer)


def doubt(
    code: str,
    message: str,
    hints: Iterable[str],
    notes: Iterable[str] = (),
    *,
    typed: bool = False,
    by_library: bool = False,
) -> None:
    """Warn of the operation at hand.

    ``typed``: not in code for several types, where it may be right for others.
    """
    place = written(by_library)
    if place is None or (typed and current().elaborator.is_for_several_types()):
        return
    from weft.diagnostics.wrote import resolved

    diagnostic = Diagnostic(code, message, notes=tuple(notes), hints=tuple(hints))
    current().elaborator.doubt(resolved(diagnostic, place))


COPIES_AWAITED = "copies_awaited"
"""Noted as a use of kernels that wait for copies which go on beside them."""


def note_copy(value: Value) -> None:
    """Have a kernel warned that begins a copy and waits for none (``compiler/lint/copies.py``)."""
    if (place := caller_location()) is not None:
        hint = "wait before the barrier behind which it is read: async_copy_wait_all()"
        message = "nothing waits for this copy, so what it brings may not be there when it is read"
        found = Diagnostic("unawaited-copy", message, (Label(place),), hints=(hint,))
        current().elaborator.doubt(found, value)


def doubt_place(place: object, extent: int) -> None:
    """Warn of a tile's place that is so many times another number: elements were counted, not tiles."""
    value = getattr(place, "value", None)
    made = value.owner if isinstance(value, Value) else None
    if extent == 1 or not isinstance(made, Op) or made.name != "arith.muli":
        return
    for factor in (part.owner for part in made.operands):
        if (
            isinstance(factor, Op)
            and factor.name == "arith.constant"
            and factor.number_attr("value") == extent
        ):
            message = f"this place is a multiple of {extent}, but tiles of {extent} are counted: 0, 1, 2 ..."
            notes = [f"tile n begins at element {extent} * n"]
            doubt("tile-place", message, [f"leave out the factor {extent}"], notes, by_library=True)
            return


def doubt_comparison(op: str, dtype: DType, left: object, right: object) -> None:
    """Warn of a comparison with a constant that has only one outcome."""
    if left != left or right != right:
        always = "True" if op == "ne" else "False"
        shown = LEFT if left != left else RIGHT
        other = RIGHT if left != left else LEFT
        doubt(
            "constant-comparison",
            f"this is always {always}: nothing is equal to nan, or less or greater, nan itself included",
            [f"write weft.math.isnan({other}) to find nan"],
            [f"{shown} is nan"],
        )
    elif right == 0 and op in ("ge", "lt") and dtype.is_integer and not dtype.is_signed:
        from weft.lang.number import type_name

        doubt(
            "constant-comparison",
            f"this is always {op == 'ge'}: {a_(type_name(dtype))} is never negative",
            ["count down by a signed number, Int(...) say, or leave the test out"],
            ["below 0 an unsigned number wraps around to the greatest"],
            typed=True,
        )


def doubt_widening(value: Value) -> None:
    """Note that a float of the user's became a Float64 by what it met; a warning it is if that is no wish."""
    place = caller_location()
    if place is not None:
        current().elaborator.doubt(Diagnostic("float-widening", "", (Label(place),)), value)


def doubt_operand(op: str, dtype: DType, right: int) -> None:
    """Warn of a shift that leaves nothing of the number, and of what Python raises an error for."""
    if op in ("//", "%") and right == 0:
        message = f"an integer {op} 0 is 0 here, where Python raises a ZeroDivisionError"
        doubt("zero-divisor", message, ["test the divisor before, or divide by another number"], typed=True)
    elif op in ("<<", ">>") and right < 0:
        message = f"shifted by {right}, of which Python makes a ValueError, a number is 0, or -1"
        other = ">>" if op == "<<" else "<<"
        doubt("shift-width", message, [f"shift the other way: {LEFT} {other} {-right}"], typed=True)
    elif op in ("<<", ">>") and right >= dtype.bits:
        _doubt_shift(op, dtype, right)


def doubt_division(dtype: DType, result: Value, divisor: Value) -> None:
    """Note a division by a number of run time that is slow: a warning it is if an index is made of it."""
    if not dtype.is_signed and dtype.bits <= 32:
        return
    known = divisor.owner
    if isinstance(known, Op) and known.name == "arith.constant":
        return
    place = written()
    if place is not None:
        current().elaborator.doubt(Diagnostic("index-division", "", (Label(place),)), result)


def _doubt_shift(op: str, dtype: DType, count: int) -> None:
    from weft.lang.number import type_name

    name = type_name(dtype)
    left = "0" if op == "<<" or not dtype.is_signed else "0, or -1 of a negative number"
    wide = "Int" if dtype.is_signed else "UInt64"
    hints = (
        [f"widen it before: {wide}({LEFT}) {op} {RIGHT}"]
        if op == "<<" and dtype.bits < 64
        else ["shift by fewer"]
    )
    message = f"{a_(name)} has {dtype.bits} bits: shifted by {count} it is {left}"
    doubt("shift-width", message, hints, typed=True)


def doubt_quotient(value: Value) -> None:
    """Warn of a float that becomes an integer, if it is the quotient of two integers, rounded."""
    quotient, rounding = value.owner, ""
    while isinstance(quotient, Op) and quotient.name in _ROUNDED:
        rounding = rounding or quotient.name
        quotient = quotient.operands[0].owner
    if not isinstance(quotient, Op) or quotient.name != "arith.divf" or quotient.result.type.bits > 32:
        return
    left, right = (part.owner for part in quotient.operands)
    if not _is_long(left) or not (_is_long(right) or _is_whole(right)):
        return
    written = "ceildiv(a, b) of weft.math" if rounding == "math.ceil" else "a // b"
    doubt(
        "float-quotient",
        f"this is the quotient of two integers by way of {quotient.result.type.mlir.replace('f', 'Float')}",
        [f"write {written}, of the integers themselves"],
        ["integers above 2**24 are rounded there, and what comes out may be off"],
    )


def _is_long(made: object) -> bool:
    """Whether a float was an integer that Float32 may not hold."""
    return (
        isinstance(made, Op)
        and made.name in ("arith.sitofp", "arith.uitofp")
        and made.operands[0].type.scalar.bits > _HELD
    )


def _is_whole(made: object) -> bool:
    return (
        isinstance(made, Op)
        and made.name == "arith.constant"
        and float(made.number_attr("value")).is_integer()
    )
