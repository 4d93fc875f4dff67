"""What a variable holds where a loop begins, and whether somebody reads it behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.passes.uniformity import JUMPS, LOOPS


class Place(NamedTuple):
    """Where an operation stands: what is around it, the innermost first."""

    ops: list[Op]
    at: int
    parent: Op | None


def sets(op: Op, slot: Value) -> bool:
    """Whether an operation gives a variable a value."""
    return op.name == "weft.set" and op.operands[0] is slot


def gets(op: Op, slot: Value) -> bool:
    """Whether it reads one."""
    return op.name == "weft.get" and op.operands[0] is slot


def added(given: Op, slot: Value) -> Value | None:
    """What is added to a variable, where it is given that."""
    add = given.operands[1].owner
    if not isinstance(add, Op) or add.name != "arith.addi":
        return None
    for one, other in (add.operands, add.operands[::-1]):
        if isinstance(one.owner, Op) and gets(one.owner, slot):
            return other
    return None


def within(op: Op) -> Iterator[Op]:
    """What is in its regions."""
    for region in op.regions:
        yield from region.walk()


def given_before(place: tuple[Place, ...], slot: Value) -> Op | None:
    """What gives a variable the value that it has where a loop begins."""
    for ops, at, parent in place:
        if parent is not None and parent.name in LOOPS:
            return None
        for op in reversed(ops[:at]):
            if sets(op, slot):
                return op
            if any(sets(inner, slot) for inner in within(op)):
                return None
    return None


def is_read_between(ops: list[Op], first: Op, end: int, slot: Value) -> bool:
    """Whether what gives a variable stands elsewhere, or the variable is read before the loop."""
    if first not in ops:
        return True
    between = Region([], ops[ops.index(first) : end])
    return any(gets(op, slot) for op in between.walk())


def is_read_behind(place: tuple[Place, ...], slot: Value) -> bool:
    """Whether a variable's value may be read behind an operation."""
    for ops, at, parent in place:
        if parent is not None and parent.name in LOOPS:
            again = [op for region in parent.regions for op in region.ops]
            if _is_read(again, slot):
                return True
        found = _is_read(ops[at + 1 :], slot)
        if found is not None:
            return found
    return False


def _is_read(ops: Sequence[Op], slot: Value) -> bool | None:
    """Whether operations read a variable before they give it another value; None where they do neither."""
    jumps = False
    for op in ops:
        if gets(op, slot):
            return True
        if sets(op, slot):
            return jumps  # who has left by then may read it elsewhere
        inner = list(within(op))
        if any(gets(one, slot) for one in inner):
            return True
        jumps = jumps or any(one.name in JUMPS for one in (op, *inner))
    return None
