"""``range``, of which is noted where it counts an unsigned number down from one below another.

Where that is 0 the difference wraps around to the greatest number, which is never meant. What the function
compares with a constant is known when it is whole; then ``lint/countdowns.py`` tells what is left.
"""

from __future__ import annotations

import ast
from typing import Any

from weft.compiler.frontend.ranges import Range
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Value
from weft.diagnostics import Diagnostic
from weft.diagnostics.wrote import resolved, source_of
from weft.lang.doubts import written
from weft.lang.elaboration import current
from weft.lang.number import Number


def range_of(*args: Any) -> Range:
    """Python's ``range``, as a function of the language calls it."""
    made = Range(*args)
    start, downwards = made.start, isinstance(made.step, int) and made.step < 0
    if downwards and isinstance(start, Number) and start.dtype.kind == "uint":
        note_countdown(made, start)
    return made


def note_countdown(made: Range, start: Number) -> None:
    """Note a range that goes down from there, where that may have wrapped around."""
    taken = start.value.owner if isinstance(start.value, Value) else None
    if not isinstance(taken, Op) or taken.name != "arith.subi":
        return
    above, below = taken.operands
    count = integer(below)
    place = written() if count is not None and not _is_at_least(above, count) else None
    if place is None or count is None or current().elaborator.is_for_several_types():
        return
    source, most = source_of(place.file), f"2**{start.dtype.bits} - 1"
    call = None if source is None else source.at(place)
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(first, ast.BinOp) and isinstance(first.op, ast.Sub):
        name = ast.unparse(first.left)
        message = f"where `{name}` is {'0' if count == 1 else f'below {count}'}, this counts down from "
        message += most if count == 1 else f"near {most}"
        hint = f"Int({name}) - {count}"
    else:
        message, hint = f"this may count down from {most}", "Int(...) of what it begins below"
    hints = [f"count by a signed number: {hint}"]
    if isinstance(first, ast.BinOp) and (count, made.stop, made.step) == (1, -1, -1):
        hints.insert(0, f"write reversed(range({ast.unparse(first.left)}))")
    notes = ("below 0 an unsigned number wraps around to the greatest",)
    found = Diagnostic("countdown", message, notes=notes, hints=tuple(hints))
    current().elaborator.doubt(resolved(found, place), above)


def _is_at_least(value: Value, least: int) -> bool:
    """Whether what made the number says that it is so much: the greater of two, one more than another."""
    made = value.owner
    if not isinstance(made, Op):
        return False
    if made.name in ("arith.extui", "arith.trunci"):
        return _is_at_least(made.operands[0], least)
    if made.name == "arith.shli":  # a power of two
        return (integer(made.operands[0]) or 0) >= least
    if made.name in ("arith.maxui", "arith.addi", "arith.ori"):
        return any((integer(operand) or 0) >= least for operand in made.operands)
    return False
