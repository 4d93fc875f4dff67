"""Comparisons of what a loop counts, which LLVM 22 is not to see through where there is another way out.

``while i < n and i <= a[i]`` ran on past ``n``: of ``i <= a[i]`` LLVM knows that it holds for less than 2^63
rounds, takes the counter behind so many for negative, and so for less than ``n``, which it then asks for in
the first round alone (llvm-project issue 180870, mended after LLVM 22.1). The other comparison may come from
anywhere, a helper, a minimum, a tuple, so the limit is kept from LLVM as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.compiler.ir.constants import constant
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.types import VectorType

_LOOPS = ("weft.while", "weft.for")
_LEAVES = ("weft.return", "weft.exit_thread", "weft.exit_block")
_SUMS = ("arith.addi", "arith.subi")
_LINEAR = (*_SUMS, "arith.muli", "arith.shli", "arith.extsi", "arith.extui", "arith.trunci")
_ORDERS = ("slt", "sle", "sgt", "sge")


def hidden_counters(function: Function) -> set[tuple[Op, int]]:
    """Comparisons, and loops over ranges, each with the operand of it whose counter LLVM is not to know.

    Of a loop it is what is compared with the range's end, operand 1.
    """
    return {
        found
        for loop in function.body.walk()
        if loop.name in _LOOPS and _has_other_ways_out(loop)
        for found in _Loop(loop).compared()
    }


def _own(region: Region, but: Callable[[Op], bool]) -> Iterator[Op]:
    """What a loop's region does, without what some loops in it do."""
    for op in region.ops:
        yield op
        if not but(op):
            for inner in op.regions:
                yield from _own(inner, but)


def _is_loop(op: Op) -> bool:
    return op.name in _LOOPS


def _has_threads(op: Op) -> bool:
    """Whether it is a loop whose rounds are threads, out of which a thread's end leads no further."""
    return op.attrs.get("parallel") is True


def _has_other_ways_out(loop: Op) -> bool:
    """Whether there is a way out besides a range's end or one comparison."""
    if _has_threads(loop):
        return False
    if loop.name == "weft.while" and _plain_condition(loop.regions[0]) is None:
        return True
    body = loop.regions[-1]
    return any(op.name == "weft.break" for op in _own(body, _is_loop)) or any(
        op.name in _LEAVES for op in _own(body, _has_threads)
    )


def _plain_condition(region: Region) -> Op | None:
    """The comparison that is all of a condition."""
    owner = region.ops[-1].operands[0].owner
    return owner if isinstance(owner, Op) and owner.name == "arith.cmpi" else None


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
        """Its comparisons in question; those with a constant let LLVM write out short loops."""
        own = [op for region in self.loop.regions for op in _own(region, _is_loop)]
        if not any(self.meets(op) for op in own):
            return
        if self.loop.name == "weft.for" and constant(self.loop.operands[1]) is None:
            yield self.loop, 1
        for op in own:
            if _compares(op) and op.attrs["predicate"] in _ORDERS:
                for n, (one, other) in enumerate((op.operands, op.operands[::-1])):
                    if self.counts(one, _LINEAR) and constant(other) is None:
                        yield op, n

    def meets(self, op: Op) -> bool:
        """Whether what is made of a counter is compared with what varies, or a helper may compare it."""
        if op.name == "func.call":
            return any(self.counts(v, None) for v in op.operands)
        return _compares(op) and any(
            self.counts(one, None) and self.varies(other) for one, other in (op.operands, op.operands[::-1])
        )

    def counts(self, v: Value, by: tuple[str, ...] | None, asked: frozenset[Value] = frozenset()) -> bool:
        """Whether a value goes on from round to round, or is made of such by these operations, or any."""
        if v not in self.inside:
            return False
        if not isinstance(v.owner, Op):
            return True
        if v.owner.name == "weft.get":
            slot = v.owner.operands[0]
            given = self.sets.get(slot, [])
            return slot in asked or any(self.counts(g, by, asked | {slot}) for g in given)
        through = v.owner.spec.pure if by is None else v.owner.name in by
        return through and any(self.counts(o, by, asked) for o in v.owner.operands)

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


def _compares(op: Op) -> bool:
    return op.name == "arith.cmpi" and not isinstance(op.operands[0].type, VectorType)
