"""Branches of pieces in which threads do several things, parted: each thing is asked for by itself.

``tile[y + 1, x + 1] = a[i]``, ``if x == 0: tile[y + 1, 0] = a[i - 1]`` fills a tile and its rim. Vectors of
threads would do the second under masks, which costs more than all else; one thread of a row does it at once.
It may come behind what the others do, as threads between two barriers do not know of each other. So what one
thread along x does, or those at one of the ends (``if x < 4:``), is a piece of its own, under a branch (``if
row < rows:``) as well.

Likewise a loop that threads begin one behind the other (``together.py``) comes out of a branch: all go
through its rounds, and those who would have come to it do something there.
"""

from __future__ import annotations

from collections import Counter

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.effects import meets_in_warp
from weft.compiler.passes.given_first import kept_before
from weft.compiler.passes.guard_bounds import bound_of, parts_of
from weft.compiler.passes.indices import Ranges, Start, is_positive, thread_plus
from weft.compiler.passes.inline_barriers import has_barrier
from weft.compiler.passes.loop_variables import within
from weft.compiler.passes.together import KEPT
from weft.compiler.passes.uniformity import is_of_block

_MEMORY = frozenset({"llvm.load", "llvm.store", "weft.if"})
_VARIABLES = frozenset({"weft.get", "weft.set"})


def parted(kernel: Function) -> set[Op]:
    """Rewrite a kernel with barriers, in place; gives the branches that are to be pieces of their own."""
    found = set[Op]()
    if has_barrier(kernel.body) and not any(map(meets_in_warp, kernel.body.walk())):
        _Parts(found, kernel).region(kernel.body)
    return found


class _Parts:
    def __init__(self, found: set[Op], kernel: Function) -> None:
        self.found = found
        self.uses = Counter(slot for op in kernel.body.walk() for slot in op.operands if _is_slot(slot))
        self.known: dict[Value, bool] = {}

    def region(self, region: Region) -> None:
        """Look at operations among which threads meet."""
        ops, region.ops[:] = region.ops[:], []
        for op in ops:
            if any(map(has_barrier, op.regions)):
                for inner in op.regions:
                    self.region(inner)
            elif self.is_apart(op):
                self.found.add(op)
            elif _is_plain(op) or _is_movable(op):
                self.parted(op, region)
                continue
            region.ops.append(op)

    def parted(self, branch: Op, to: Region) -> None:
        """Append a branch, or what is computed in it, and a branch for each part."""
        ops = branch.regions[0].ops
        apart = [op for op in ops if self.is_apart(op)]
        loops = [op for op in ops if _strides(op)]
        if not (apart or loops):
            to.ops.append(branch)
            return
        fixed = dict.fromkeys(op for op in ops if op.results and self.is_anywhere(op.result))
        to.ops += fixed
        b, part = Builder(), list[Op]()
        b.region = to

        def end() -> None:
            if part:
                b.branch(branch.operands[0], Region([], part[:]))
                part.clear()

        for op in ops:
            b.loc = op.loc
            if op in apart:
                end()
                both = b.arith("andi", branch.operands[0], op.operands[0])
                self.found.add(b.emit("weft.if", (both,), (), {}, op.regions))
            elif op in loops:
                end()
                inner = op.regions[0]
                with b.into(Region()) as made:
                    b.branch(branch.operands[0], Region([], inner.ops[:]))
                inner.ops[:] = made.ops
                self.region(inner)
                to.ops.append(op)
            elif op not in fixed:
                part.append(op)
        end()

    def is_apart(self, branch: Op) -> bool:
        """Whether one thread of a row takes such a branch, and it goes by nothing but numbers from before."""
        ops = list(within(branch)) if branch.name == "weft.if" else []
        if not (ops and _is_plain(branch, _VARIABLES) and _is_of_few(branch)):
            return False
        inside = {v for op in ops for v in op.results}
        given = {v for op in (branch, *ops) for v in op.operands}
        slots = {v for v in given if _is_slot(v)}
        own = Counter(slot for op in ops for slot in op.operands if slot in slots)
        if slots & kept_before(branch.regions[0].ops) or any(self.uses[slot] > own[slot] for slot in slots):
            return False
        return all(map(self.is_anywhere, given - inside - slots))

    def is_anywhere(self, v: Value) -> bool:
        """Whether a value may be computed anywhere."""
        op = v.owner
        if isinstance(op, Op) and v not in self.known:
            self.known[v] = op.spec.pure and all(map(self.is_anywhere, op.operands))
        return self.known.get(v, True)


def _is_slot(v: Value) -> bool:
    return isinstance(v.owner, Op) and v.owner.name == "weft.slot"


def _is_plain(op: Op, more: frozenset[str] = frozenset()) -> bool:
    """Whether a branch, without another side, only reads and writes memory, or does ``more``."""
    if op.name != "weft.if" or op.regions[1].ops:
        return False
    return all(
        one.spec.pure
        or one.name in more
        or (one.name in _MEMORY and "ordering" not in one.attrs and not one.attrs.get("volatile"))
        for one in within(op)
    )


def _is_movable(op: Op) -> bool:
    """Whether a branch, without another side, may be parted at a loop: nobody leaves it, waits or tells."""
    if op.name != "weft.if" or op.regions[1].ops or not any(map(_strides, op.regions[0].ops)):
        return False
    return not any(
        (one.spec.terminator and one.name != "weft.condition")
        or one.name in KEPT
        or (one.spec.sync is not None and one.spec.sync(one))
        for one in within(op)
    )


def _strides(loop: Op) -> bool:
    """Whether threads begin a loop one behind the other."""
    if loop.name != "weft.for" or not (is_of_block(loop.operands[1]) and is_positive(loop.operands[2])):
        return False
    return Start.of(loop.operands[0], is_of_block) is not None


def _is_of_few(branch: Op) -> bool:
    """Whether at most one thread of a row takes a branch, or those at one of its ends."""
    for part in parts_of(branch.operands[0], False):
        test = part.owner
        if isinstance(test, Op) and test.name == "arith.cmpi" and test.attrs["predicate"] == "eq":
            for own, other in (test.operands, test.operands[::-1]):
                found = thread_plus(own, lambda v, _: is_of_block(v))
                if found is not None and found.name == "x" and is_of_block(other):
                    return True
        for negated in (False, True):
            bound = bound_of(part, negated, lambda v, _: is_of_block(v), Ranges())
            added = () if bound is None else (*bound.place.plus, *bound.place.minus)
            if bound is not None and bound.axis == 0 and None not in map(integer, added):
                return True
    return False
