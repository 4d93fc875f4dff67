"""Comparisons of what a loop counts with what it does not know ahead, which LLVM 22 is not to see through.

``while i < n and i <= a[i]`` ran on past ``n``: of ``i <= a[i]`` LLVM knows that it holds for less than 2^63
rounds, takes the counter behind so many for negative, and so for less than ``n``, which it then asks for in
the first round alone (llvm-project issue 180870, mended after LLVM 22.1).
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.types import VectorType

_LOOPS = ("weft.while", "weft.for")
_LEAVES = ("weft.break", "weft.return", "weft.exit_thread", "weft.exit_block")
_SUMS = ("arith.addi", "arith.subi")
_LINEAR = (*_SUMS, "arith.muli", "arith.shli", "arith.extsi", "arith.extui", "arith.trunci")
_ORDERS = ("slt", "sle", "sgt", "sge")


def hidden_counters(function: Function) -> set[tuple[Op, int]]:
    """Comparisons, each with the operand of it, whose counter LLVM is not to know."""
    return {
        found
        for loop in function.body.walk()
        if loop.name in _LOOPS and _may_be_left(loop)
        for found in _Loop(loop).compared()
    }


def _own(region: Region) -> Iterator[Op]:
    """What a loop's region does, but for the loops in it."""
    for op in region.ops:
        yield op
        if op.name not in _LOOPS:
            for inner in op.regions:
                yield from _own(inner)


def _may_be_left(loop: Op) -> bool:
    """Whether there is a way out besides a range's end."""
    return loop.name == "weft.while" or any(op.name in _LEAVES for op in _own(loop.regions[0]))


class _Loop:
    """A loop, with what it sets."""

    def __init__(self, loop: Op) -> None:
        self.loop = loop
        self.inside: set[Value] = set()
        self.sets: dict[Value, list[Value]] = {}
        for region in loop.regions:
            self.inside.update(region.args)
            for op in region.walk():
                self.inside.update(op.results)
                for inner in op.regions:
                    self.inside.update(inner.args)
                if op.name == "weft.set":
                    self.sets.setdefault(op.operands[0], []).append(op.operands[1])

    def compared(self) -> Iterator[tuple[Op, int]]:
        """Its comparisons in question."""
        for region in self.loop.regions:
            for op in _own(region):
                if op.name != "arith.cmpi" or op.attrs["predicate"] not in _ORDERS:
                    continue
                if isinstance(op.operands[0].type, VectorType):
                    continue
                for n, (one, other) in enumerate((op.operands, op.operands[::-1])):
                    if self.counts(one, frozenset()) and self.varies(other):
                        yield op, n

    def counts(self, v: Value, asked: frozenset[Value]) -> bool:
        """Whether a value goes on by the same step in each round."""
        if v not in self.inside:
            return False
        if not isinstance(v.owner, Op):
            return True
        if v.owner.name == "weft.get":
            slot = v.owner.operands[0]
            given = self.sets.get(slot, [])
            return slot in asked or any(self.counts(g, asked | {slot}) for g in given)
        return v.owner.name in _LINEAR and any(self.counts(o, asked) for o in v.owner.operands)

    def varies(self, v: Value) -> bool:
        """Whether a value may be another in each round."""
        if v not in self.inside:
            return False
        op = v.owner
        if not isinstance(op, Op):
            return True
        if op.name == "weft.get":
            return op.operands[0] in self.sets
        return not op.spec.pure or any(self.varies(o) for o in op.operands)
