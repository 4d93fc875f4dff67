"""What a variable is read for is what it was given, where nothing can have given it anything else since.

So what is known of an index stays known where it went through a variable: ``for i in range(...)`` behind
another loop of an ``i`` has one, which loops within read.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.core import Module, Op, Region, Value
from weft.compiler.passes.loop_variables import within
from weft.compiler.passes.uniformity import LOOPS

_ACCESSES = ("weft.get", "weft.set")


def forwarded(module: Module) -> None:
    """Rewrite every function with loops, in place; variables that nobody reads are given nothing."""
    for f in module.functions:
        ops = list(f.body.walk())
        if any(op.name in LOOPS for op in ops):
            slots = {op.result for op in ops if op.name == "weft.slot"}
            slots.difference_update(v for op in ops if op.name not in _ACCESSES for v in op.operands)
            made = _Forwarded(slots)
            made.region(f.body, {})
            made.drop(f.body, {op.operands[0] for op in f.body.walk() if op.name == "weft.get"})


class _Forwarded:
    """The variables ``slots`` of one function."""

    def __init__(self, slots: set[Value]) -> None:
        self.slots = slots
        self.read: dict[Value, Value] = {}
        """What stands for what was read."""

    def region(self, region: Region, known: dict[Value, Value]) -> None:
        """Rewrite a region at whose beginning variables hold what is ``known``."""
        made: list[Op] = []
        for op in region.ops:
            op.operands = tuple([self.read.get(v, v) for v in op.operands])
            if op.name == "weft.get" and op.operands[0] in known:
                self.read[op.result] = known[op.operands[0]]
                continue
            made.append(op)
            if op.name == "weft.set" and op.operands[0] in self.slots:
                known[op.operands[0]] = op.operands[1]
            elif op.regions:
                given = set(_given(op)) if known else ()
                before = {v: known[v] for v in known if v not in given}
                for inner in op.regions:
                    self.region(inner, dict(before if op.name in LOOPS else known))
                known.clear()
                known.update(before)
        region.ops[:] = made

    def drop(self, region: Region, read: set[Value]) -> None:
        """Leave out what gives variables that are not ``read``."""
        region.ops[:] = [op for op in region.ops if not (op.name == "weft.set" and self.is_idle(op, read))]
        for op in region.ops:
            for inner in op.regions:
                self.drop(inner, read)

    def is_idle(self, given: Op, read: set[Value]) -> bool:
        """Whether an operation gives a variable that nobody reads."""
        return given.operands[0] in self.slots and given.operands[0] not in read


def _given(op: Op) -> Iterator[Value]:
    """The variables that are given something within an operation."""
    return (one.operands[0] for one in within(op) if one.name == "weft.set")
