"""Decisions before barriers: all threads of a block must take them alike.

Where the analysis knows that they do, nothing is done. Where the first threads are certain not to, the
kernel is refused. Else the block asks all its threads, and ends where they disagree.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Loc, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS, NAMED, meets_in_warp
from weft.compiler.ir.types import I1, I64, Type
from weft.compiler.passes.faults import places_of
from weft.compiler.passes.first_threads import differs
from weft.compiler.passes.settled import settled_loads
from weft.compiler.passes.thread_context import Context
from weft.compiler.passes.uniformity import Uniformity
from weft.compiler.passes.unwritten import unwritten_loads
from weft.diagnostics import CompileError
from weft.diagnostics.parted import Parting, SourcePlace


def find_barrier(region: Region) -> Op | None:
    """The first barrier in a region."""
    return next((op for op in region.walk() if op.name in BARRIERS), None)


class Decisions:
    """The control flow around the barriers of a kernel."""

    def __init__(self, kernel: Function, functions: Mapping[str, Function]) -> None:
        self.kernel = kernel
        settled, unwritten = settled_loads(kernel), unwritten_loads(kernel, functions)
        self.uniformity = Uniformity(kernel, functions, settled=settled, unwritten=unwritten)
        warps = any(map(meets_in_warp, kernel.body.walk()))
        self.of_warps = Uniformity.of_warps(kernel, functions, unwritten) if warps else self.uniformity

    def asked(self, op: Op, barrier: Op | None) -> list[Value]:
        """What all threads must be asked for before ``op``; ``barrier`` is that of the loop around it.

        Raises:
            CompileError: they are certain to disagree.
        """
        values = [*op.operands, *(op.regions[0].ops[-1].operands if op.name == "weft.while" else ())]
        met = [inner for r in op.regions for inner in r.walk() if inner.name in BARRIERS]
        same = self.of_warps.same if met and all(map(meets_in_warp, met)) else self.uniformity.same
        found = [v for v in values if not same(v)]
        if any(differs(v, same) for v in found):
            raise CompileError(self.parting(op, barrier).certain())
        return found

    def ask_all(self) -> None:
        """Ask so before all that decides about a barrier.

        Raises:
            CompileError: threads are certain to disagree.
        """
        for op in self.kernel.body.walk():
            met = [b for r in op.regions for b in r.walk() if b.name in BARRIERS and b.name != NAMED]
            if met:
                self.asked(op, met[0])

    def parting(self, op: Op, barrier: Op | None) -> Parting:
        """The place of a decision and of the barrier behind it."""
        own = next((b for b in map(find_barrier, op.regions) if b is not None), None)
        return self.before(op, own or barrier or op)

    def before(self, op: Op, met: Op) -> Parting:
        """The place of a decision and of what threads are to meet at."""
        group = "warp" if meets_in_warp(met) else str(met.attrs.get("group", "block"))
        return Parting(self.place(op.loc), self.place(met.loc), group)

    def place(self, loc: Loc) -> SourcePlace:
        """A place of the user's: of the kernel, or of a function that was put into it."""
        return places_of(self.kernel, loc)[0][0]


def tally(b: Builder, value: Value, some: Value, all_: Value) -> None:
    """Take one thread's value into the bits that some threads have and those that all have."""
    kind = value.type
    b.set(some, b.arith("ori", b.get(some, kind), value))
    b.set(all_, b.arith("andi", b.get(all_, kind), value))


def disagree(b: Builder, some: Value, all_: Value, kind: Type) -> Value:
    """Whether a bit is set for some threads and not for all."""
    clear = b.arith("xori", b.get(all_, kind), b.constant(-1, kind))
    odd = b.arith("andi", b.get(some, kind), clear)
    return odd if kind is I1 else b.compare("ne", odd, b.constant(0, kind))


def report(
    b: Builder, context: Context, linear: Value, value: Value, first: tuple[Value, Value], parting: Parting
) -> None:
    """Tell the runtime of the thread at hand if it disagrees with the first one.

    ``first`` are variables: the number of the first thread, -1 before it came, and its value.
    """
    wide = value
    if value.type is not I64:
        wide = b.value("arith.extui" if value.type is I1 else "arith.extsi", (value,), I64)
    number, decision = (b.get(slot, I64) for slot in first)
    is_first = b.compare("eq", number, b.constant(-1, I64))
    begin, compare, tell = Region(), Region(), Region()
    with b.into(begin):
        b.set(first[0], linear)
        b.set(first[1], wide)
    with b.into(tell):
        ids = (*context.block_id, *context.thread_id)
        operands = (context.state, *ids, number, decision, wide)
        b.emit("weft.host_parted", operands, (), {"place": parting.text(), "flag": value.type is I1})
    with b.into(compare):
        other = b.compare("ne", wide, decision)
        b.branch(other, tell)
    b.branch(is_first, begin, compare)
