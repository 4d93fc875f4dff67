"""``while i < n: ...; i += step`` becomes ``for i in range(i, n, step): ...``, of which more is known.

The variable is given once in a round, by a step that is certain to be 1 or more, and the end is the same in
all rounds. Where the next step would leave 64 bits a ``while`` goes on at their other end, a ``for`` ends.
So the step is 1, which leaves them no sooner than at the end; or all is known; or the first round begins
within 62 bits and a step is a launch's extents by a small number: a launch has gone 2**46 rounds by then.

Where somebody may read the variable behind the loop it is still given in each round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.constants import constant, integer
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS
from weft.compiler.ir.types import I64
from weft.compiler.passes.indices import Ranges, is_positive, thread_plus
from weft.compiler.passes.inline_barriers import has_barrier
from weft.compiler.passes.lanes import takes
from weft.compiler.passes.loop_variables import (
    Place,
    added,
    gets,
    given_before,
    is_read_behind,
    is_read_between,
    sets,
    within,
)
from weft.compiler.passes.uniformity import JUMPS, LOOPS

_LESS = {"slt": "slt", "sle": "sle", "sgt": "slt", "sge": "sle"}
_NOT = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"}
_LARGEST = (1 << 63) - 1
_FACTOR = 1 << 16
"""How large a step is at most, or what an extent is taken times in one."""


def counted(module: Module) -> None:
    """Rewrite every function of the module, in place."""
    found = [f for f in module.functions if any(op.name == "weft.while" for op in f.body.walk())]
    meeting = module.reaching({f.name for f in module.functions if found and has_barrier(f.body)})
    for f in found:
        _Counted(f, meeting).region(f.body, ())


class _Test(NamedTuple):
    """What a loop goes on by: a variable is less than ``end`` (or the same, if ``inclusive``)."""

    slot: Value
    end: Value
    inclusive: bool
    body: list[Op]
    """What a round does, without the test."""


class _Counted:
    """The loops of one function."""

    def __init__(self, f: Function, meeting: set[str]) -> None:
        self.b, self.meeting = Builder(), meeting
        self.uses: dict[Value, list[Op]] = {}
        for op in f.body.walk():
            for v in op.operands:
                self.uses.setdefault(v, []).append(op)

    def region(self, region: Region, around: tuple[Place, ...]) -> None:
        """Rewrite the loops of a region, the inner ones first."""
        n = 0
        while n < len(region.ops):
            op, before = region.ops[n], len(region.ops)
            for inner in op.regions:
                self.region(inner, (Place(region.ops, n, op), *around))
            if op.name == "weft.while" and not (op.attrs or self.meets(op)):
                self.loop(op, (Place(region.ops, n, None), *around))
            n += 1 + len(region.ops) - before

    def meets(self, loop: Op) -> bool:
        """Whether threads wait for each other in a loop."""
        ops = [op for region in loop.regions for op in region.walk()]
        return any(op.name in BARRIERS or op.attrs.get("callee") in self.meeting for op in ops)

    def loop(self, loop: Op, place: tuple[Place, ...]) -> None:
        """Rewrite one loop, if it counts."""
        test = _condition(loop) or _first_break(loop)
        if test is None:
            return
        given = [op for region in loop.regions for op in region.walk() if sets(op, test.slot)]
        at = next((n for n, op in enumerate(test.body) if op in given), -1)
        if len(given) != 1 or at < 0 or any(map(_goes_on, test.body[:at])):
            return
        uses, step = self.uses[test.slot], added(given[0], test.slot)
        if step is None or any(op.name not in ("weft.get", "weft.set") for op in uses):
            return
        known, first = _Known(loop), given_before(place, test.slot)
        if known.same(test.end) and known.same(step) and _may(loop, first, test, step):
            read = any(gets(op, test.slot) and op.result not in known.inside for op in uses)
            self.rewrite(loop, place, test, given[0], step, read and is_read_behind(place, test.slot))

    def rewrite(
        self, loop: Op, place: tuple[Place, ...], test: _Test, given: Op, step: Value, read: bool
    ) -> None:
        """Put a ``for`` in the place of a loop whose variable may be ``read`` behind it, or not."""
        b, (ops, n, _) = self.b, place[0]
        b.loc = loop.loc
        mapping: dict[Value, Value] = {}
        first = given_before(place, test.slot)
        with b.into(Region()) as before:
            for v in (test.end, step):
                _copy_before(v, loop, mapping, before.ops)
            end = mapping.get(test.end, test.end)
            if test.inclusive and (last := integer(end)) is not None:
                end = b.constant(last + 1, I64)
            elif test.inclusive:
                more = b.compare("ne", end, b.constant(_LARGEST, I64))
                end = b.arith("addi", end, b.value("arith.extui", (more,), I64))
            lower = b.get(test.slot, I64) if first is None else first.operands[1]
            index = Value(I64, None, "i")
            body = Region([index])
            index.owner = body
            body.ops = _body(test, given, index, read)
            b.emit("weft.for", (lower, end, mapping.get(step, step)), (), {"parallel": False}, (body,))
        ops[n : n + 1] = before.ops
        if first is not None and not read and not is_read_between(ops, first, n, test.slot):
            ops.remove(first)


# -- what a loop goes by -----------------------------------------------------------------------
def _condition(loop: Op) -> _Test | None:
    """The test of ``while i < n:``, if that only reads."""
    condition, body = loop.regions
    if not all(op.spec.pure or op.name in ("weft.get", "llvm.load") for op in condition.ops[:-1]):
        return None
    return _compared(condition.ops[-1].operands[0], False, body.ops)


def _first_break(loop: Op) -> _Test | None:
    """The test of ``while True: if i >= n: break``."""
    if constant(loop.regions[0].ops[-1].operands[0]) is not True:
        return None
    ops = loop.regions[1].ops
    at = next((n for n, op in enumerate(ops) if not (op.spec.pure or op.name == "weft.get")), len(ops))
    if at == len(ops) or ops[at].name != "weft.if":
        return None
    then, other = (region.ops for region in ops[at].regions)
    if [op.name for op in then] != ["weft.break"] or other:
        return None
    return _compared(ops[at].operands[0], True, [*ops[:at], *ops[at + 1 :]])


def _compared(condition: Value, negated: bool, body: list[Op]) -> _Test | None:
    test = condition.owner
    if not isinstance(test, Op) or test.name != "arith.cmpi" or test.operands[0].type is not I64:
        return None
    predicate = str(test.attrs["predicate"])
    predicate = _NOT.get(predicate, "") if negated else predicate
    left, right = test.operands if predicate in ("slt", "sle") else test.operands[::-1]
    if predicate not in _LESS or not isinstance(left.owner, Op) or left.owner.name != "weft.get":
        return None
    return _Test(left.owner.operands[0], right, _LESS[predicate] == "sle", body)


def _goes_on(op: Op) -> bool:
    """Whether an operation may begin the next round of the loop around it."""
    if op.name == "weft.if":
        return any(_goes_on(inner) for region in op.regions for inner in region.ops)
    return op.name == "weft.continue"


class _Known:
    """What is the same in all rounds of a loop."""

    def __init__(self, loop: Op) -> None:
        ops = [op for region in loop.regions for op in region.walk()]
        self.inside = {v for op in ops for v in op.results}
        self.inside.update(a for op in ops for region in op.regions for a in region.args)
        self.asked = set(loop.regions[0].ops)
        self.given = {op.operands[0] for op in ops if op.name == "weft.set"}
        self.only_reads = all(_only_reads(op) for op in ops)

    def same(self, v: Value) -> bool:
        """Whether a value is."""
        owner = v.owner
        if v not in self.inside:
            return True
        if not isinstance(owner, Op):
            return False
        if owner.name == "weft.get":
            return owner.operands[0] not in self.given
        if owner.name == "llvm.load":
            plain = "ordering" not in owner.attrs and owner.attrs["volatile"] is False
            if not (plain and owner in self.asked and (self.only_reads or owner.attrs["invariant"] is True)):
                return False
        elif not owner.spec.pure:
            return False
        return all(map(self.same, owner.operands))


def _only_reads(op: Op) -> bool:
    return (
        op.spec.pure
        or op.name in ("weft.get", "weft.set", "weft.if", "llvm.load", "weft.condition")
        or op.name in LOOPS | JUMPS
    )


def _may(loop: Op, first: Op | None, test: _Test, step: Value) -> bool:
    """Whether a ``for`` is the same loop, and of use."""
    begin = None if first is None else first.operands[1]
    if begin is not None and thread_plus(begin, _anything) and Ranges().range(begin) is not None:
        return is_positive(step) and _factor(step) <= _FACTOR
    known = None if begin is None else integer(begin), integer(test.end), integer(step)
    if known[0] is not None and known[1] is not None and known[2] is not None:
        return 0 < known[2] <= _LARGEST - known[1]
    return integer(step) == 1 and not test.inclusive and not takes(loop)  # whose lanes leave one by one


def _anything(v: Value, axis: str) -> bool:
    return True


def _factor(step: Value) -> int:
    """A positive step that is a number, or how often the extents of a launch go into it."""
    known, owner = integer(step), step.owner
    if known is not None:
        return known
    return math.prod(map(_factor, owner.operands)) if isinstance(owner, Op) else 1


# -- the new loop ------------------------------------------------------------------------------
def _copy_before(v: Value, loop: Op, mapping: dict[Value, Value], to: list[Op]) -> None:
    """Compute before a loop what it computes alike in all rounds."""
    owner = v.owner
    if v in mapping or not isinstance(owner, Op):
        return
    if not any(owner is op for region in loop.regions for op in region.walk()):
        return
    for operand in owner.operands:
        _copy_before(operand, loop, mapping, to)
    to.append(clone_op(owner, mapping))


def _body(test: _Test, given: Op, index: Value, read: bool) -> list[Op]:
    """What a round does, with the index for the variable."""
    held: dict[Value, Value] = {}
    made: list[Op] = []
    now = index
    for op in test.body:
        for one in (op, *within(op)):
            if gets(one, test.slot):
                held[one.result] = now
            one.operands = tuple([held.get(v, v) for v in one.operands])
        if op is given:
            now = op.operands[1]
            if not read:
                continue
        made.append(op)
    _drop(made, held)
    return made


def _drop(ops: list[Op], held: dict[Value, Value]) -> None:
    """Leave out what reads the variable."""
    ops[:] = [op for op in ops if not (op.results and op.results[0] in held)]
    for op in ops:
        for region in op.regions:
            _drop(region.ops, held)
