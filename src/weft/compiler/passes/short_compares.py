"""Comparisons with threads' indices, in 32 bits: where threads are loops, LLVM makes vectors of these.

An index of 64 bits needs two vectors where a float of 32 bits needs one, and a mask put together of two.
But a loop has few threads: whether ``thread + first < limit`` is told by ``limit - first``, which all threads
share and which may be cut to just outside of what their indices can be. What all share may be any number,
where nothing is added to the index; else the sum has to be known not to wrap around.
"""

from __future__ import annotations

from weft.abi.cpu_limits import MOST_TOGETHER
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Module, Op, Region, Value
from weft.compiler.ir.types import I32, I64
from weft.compiler.passes.indices import IndexPlus, Ranges, index_plus
from weft.compiler.passes.launch_record import LaunchRecord
from weft.compiler.passes.thread_context import clamp

_TURNED = {"eq": "eq", "ne": "ne", "slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
"""Predicates, and those for the operands the other way round."""


def short_compares(module: Module) -> None:
    """Shorten comparisons in the loops over threads, in place."""
    for f in module.functions:
        extents = LaunchRecord.extents(f) if f.args else {}
        for op in f.body.walk():
            if op.name == "weft.for" and op.attrs["parallel"] is True and "few" not in op.attrs:
                _Threads(op.regions[0], extents).shorten()


class _Threads:
    """One loop over threads."""

    def __init__(self, body: Region, extents: dict[Value, tuple[int, int]]) -> None:
        self.body = body
        (self.index,) = body.args
        self.inside = {
            v for op in body.walk() for v in (*op.results, *(a for r in op.regions for a in r.args))
        }
        self.inside.add(self.index)
        self.known: dict[Value, bool] = {}
        """What is the same in all rounds."""
        self.ranges = Ranges({**extents, self.index: (0, MOST_TOGETHER - 1)})
        self.short: Value | None = None

    def shorten(self) -> None:
        """Compare in 32 bits what can be."""
        self.region(self.body)
        if self.short is not None and isinstance(self.short.owner, Op):
            self.body.ops.insert(0, self.short.owner)

    def region(self, region: Region) -> None:
        ops, region.ops[:] = region.ops[:], []
        for op in ops:
            for inner in op.regions:
                self.region(inner)
            if op.name == "arith.cmpi" and op.operands[0].type is I64:
                self.compare(region, op)
            region.ops.append(op)

    def compare(self, region: Region, op: Op) -> None:
        """Put before a comparison what it compares instead."""
        predicate = str(op.attrs["predicate"])
        for (one, limit), named in (
            (op.operands, predicate),
            (op.operands[::-1], _TURNED.get(predicate, "")),
        ):
            found = index_plus(one, self.named, lambda v, _: self.is_shared(v))
            ends = self.ranges.range(one)
            if named in _TURNED and found is not None and ends is not None and self.is_shared(limit):
                op.operands = self.shared(region, op, found, limit, ends)
                op.attrs = {**op.attrs, "predicate": named}
                return

    def shared(
        self, region: Region, op: Op, place: IndexPlus, limit: Value, ends: tuple[int, int]
    ) -> tuple[Value, Value]:
        """The index, and what all threads compare theirs with."""
        b, known = Builder(), integer(limit)
        b.loc, b.region = op.loc, region
        if self.short is None:
            with b.into(Region()):
                self.short = b.value("arith.trunci", (self.index,), I32)
        if known is not None and not (place.plus or place.minus):
            return self.short, b.constant(max(-1, min(known, MOST_TOGETHER)), I32)
        if place.plus or place.minus:
            limit = clamp(b, limit, ends[0] - 1, ends[1] + 1)  # so that nothing wraps around
        limit = place.index_at(limit, b, lambda v: v)
        return self.short, b.value("arith.trunci", (clamp(b, limit, -1, MOST_TOGETHER),), I32)

    def named(self, v: Value) -> str | None:
        return v.name if v is self.index else None

    def is_shared(self, v: Value) -> bool:
        """Whether it is the same in all rounds of the loop, and there where it is compared."""
        if v not in self.inside:
            return True
        if v not in self.known:
            op = v.owner
            computes = isinstance(op, Op) and op.spec.pure and not op.regions
            self.known[v] = isinstance(op, Op) and computes and all(map(self.is_shared, op.operands))
        return self.known[v]
