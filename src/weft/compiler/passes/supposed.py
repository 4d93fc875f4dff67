"""What is supposed of a variable that a loop changes, from how it does, and what shows that it holds."""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.terms import Terms, difference
from weft.compiler.passes.proofs import Atom, Case, Condition, all_of, proved, reach, within


class Supposed(NamedTuple):
    """A variable that is never below (``up``) or above (``down``) its first value, or 0 (``positive``)."""

    slot: Value
    first: Terms
    up: bool
    down: bool
    positive: bool

    def head(self) -> Atom:
        """What it holds when a round begins."""
        made = Atom(*range_of(self.slot))
        if self.up:
            made.lows.append((Case(self.first),))
            made.least = max(made.least, reach(self.first)[0])
        if self.down:
            made.highs.append((Case(self.first),))
            made.greatest = min(made.greatest, reach(self.first)[1])
        if self.positive:
            made.lows.append((Case({}),))
            made.least = max(made.least, 0)
        return made

    def holds_of(self, given: Terms, facts: tuple[Terms, ...]) -> Condition:
        """On which condition what it is given, where facts hold, is as was supposed."""
        least, greatest = range_of(self.slot)
        shown = [difference(given, self.first)] if self.up else []
        shown += [difference(self.first, given)] if self.down else []
        shown += [given, self.first] if self.positive else []
        fits = within(given, least, greatest, facts), within(self.first, least, greatest)
        return all_of([*fits, *(proved(terms, facts) for terms in shown)])


def supposed(slot: Value, first: Terms, given: list[Op]) -> Supposed | None:
    """How a loop's variable may go, by the operations that give it something; None where none says it."""
    up = down = positive = True
    for op in given:
        owner = op.operands[1].owner
        if op.operands[0] is not slot:
            continue
        name = owner.name if isinstance(owner, Op) else ""
        up &= name in ("arith.addi", "arith.muli", "arith.shli")
        down &= name in ("arith.subi", "arith.shrsi", "arith.shrui", "arith.divsi", "arith.divui")
        positive &= name in ("arith.shrsi", "arith.shrui", "arith.divsi", "arith.divui")
    return Supposed(slot, first, up, down, positive) if up or down or positive else None


def range_of(slot: Value) -> tuple[int, int]:
    """The least and the greatest number that a variable holds, signed."""
    assert isinstance(slot.owner, Op)
    bits = slot.owner.type_attr("elem_type").bits
    return -(1 << bits - 1), (1 << bits - 1) - 1
