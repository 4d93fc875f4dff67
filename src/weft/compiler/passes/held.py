"""Variables that some threads give something in a piece: held in registers there, and stored by all.

What a thread keeps from piece to piece lies in an array. A store of some threads alone is one under a mask,
which is slow (and for bytes not one of vectors at all) where all may as well store what they have: the
place is the thread's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.jumps import JUMPS

if TYPE_CHECKING:
    from weft.compiler.passes.segment import Segment

_ENDS = JUMPS | {"weft.return", "weft.exit_thread"}


def held(segment: Segment, ops: list[Op]) -> list[tuple[Value, Value]]:
    """Such variables of a piece, from its beginning on: each with what holds it for the thread at hand."""
    b, arrays = segment.b, segment.body.arrays
    made = [
        (slot, b.slot(arrays[slot][1], slot.name, segment.head))
        for slot in _given_by_some(ops)
        if slot in arrays
    ]
    for slot, register in made:
        b.set(register, b.get(segment.lookup(slot), arrays[slot][1]))
        segment.mapping[slot] = register
    return made


def store(segment: Segment, made: list[tuple[Value, Value]]) -> None:
    """Store them, behind the piece."""
    for slot, register in made:
        del segment.mapping[slot]
        segment.b.set(segment.lookup(slot), segment.b.get(register, segment.body.arrays[slot][1]))


def _given_by_some(ops: list[Op]) -> list[Value]:
    """The variables that are given something in a branch or loop, where all threads come to the end."""
    inner = [op for op in ops if op.regions]
    within = [op for outer in inner for region in outer.regions for op in region.walk()]
    if any(op.name in _ENDS for op in within):
        return []
    given = dict.fromkeys(op.operands[0] for op in within if op.name == "weft.set")
    if not given:
        return []
    every = list(Region([], ops).walk())
    elsewhere = {v for op in every for v in op.operands[op.name in ("weft.get", "weft.set") :]}
    return [slot for slot in given if slot not in elsewhere]
