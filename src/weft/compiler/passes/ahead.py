"""Memory that a block on a CPU reads some rounds later, in a loop with the grid's stride.

Where neighbouring blocks cannot do such a loop side by side, since each has its shared memory, a block reads
a short stretch and goes on far away: further than the processor sees ahead, and not where it guesses. So
each round begins with a request for the stretch of a later one. Nothing is read: it may lie behind the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I32, I64, AddressSpace, PointerType
from weft.compiler.passes.indices import Strides, is_far
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.segment import Segment
from weft.compiler.passes.thread_context import indexed, loop_nest
from weft.record import replace

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody

_LINE = 64
"""Bytes that come from memory together."""
_AHEAD = 4
"""Rounds: a block of 256 threads computes some 100 ns for each, about what memory takes."""
_MOST = 2
"""Arrays of which a round reads stretches so."""


def fetch_ahead(body: BarrierBody, loop: Piece, step: Value) -> None:
    """At the beginning of a round of a strided loop, ask for what threads read some rounds later."""
    op, parts = loop.op, loop.parts[0]
    if op is None or len(parts) != 1 or not is_far(op.operands[2]) or not _is_alone(body, loop):
        return
    (node,) = parts
    loads = _stretches(body, node.ops, op.regions[0].args[0])
    if not 0 < len(loads) <= _MOST:
        return
    b, index = body.b, op.regions[0].args[0]
    here = body.behind[index]
    body.behind[index] = b.arith("addi", here, b.arith("muli", step, b.constant(_AHEAD, I64)))
    for load, needed in loads:
        _fetch(body, node, load, needed)
    body.behind[index] = here


def _is_alone(body: BarrierBody, loop: Piece) -> bool:
    """Whether blocks have one row of threads, and do the loop one behind the other."""
    wide = body.neighbours is not None and loop in body.wide
    return not wide and len(body.bounds) == 1 and body.warp is None and body.only is None


def _fetch(body: BarrierBody, node: Piece, load: Op, needed: list[Op]) -> None:
    b, size = body.b, load.results[0].type.bits // 8
    zero, each = b.constant(0, I64), _LINE // size
    last = b.arith("subi", body.bounds[0], b.constant(1, I64))
    lines = b.arith("addi", b.arith("divui", last, b.constant(each, I64)), b.constant(2, I64))
    (region,), (number,) = indexed("line")
    with b.into(region):  # the last thread reads of one line more, unless a line begins with the first
        thread = b.arith("muli", number, b.constant(each, I64))
        thread = b.select(b.compare("slt", thread, last), thread, last)
        segment = Segment(body, replace(body.context, thread_id=[thread, zero, zero]), node)
        for op in needed:
            segment.op(op)
        operands = segment.lookup(load.operands[0]), *(b.constant(n, I32) for n in (0, 3, 1))  # a read, kept
        b.emit("llvm.call_intrinsic", operands, (), {"intrin": "llvm.prefetch.p0", "effects": "all"})
    loop_nest(b, [region], [(zero, lines)], parallel=False)


def _stretches(body: BarrierBody, ops: list[Op], index: Value) -> list[tuple[Op, list[Op]]]:
    """The loads of which neighbouring threads read neighbouring memory, and what their addresses need."""
    made = {v for op in ops for v in op.results}
    along = Strides(lambda v: v is index, lambda v: v not in made)
    found: list[tuple[Op, list[Op]]] = []
    for op in ops:
        if op.name == "llvm.load":
            size, address = op.results[0].type.bits // 8, op.operands[0].type
            near = isinstance(address, PointerType) and address.space == AddressSpace.GLOBAL
            needed = _needed(op, ops)
            pure = all(each.spec.pure and not each.regions for each in needed)
            kept = any(v in body.arrays or v in body.cells for each in needed for v in each.results)
            if near and pure and not kept and size > 0 and along.of(op.operands[0]) == size:
                found.append((op, needed))
    return found


def _needed(load: Op, ops: list[Op]) -> list[Op]:
    """What computes an address, in order."""
    wanted = set(load.operands)
    chosen: list[Op] = []
    for op in reversed(ops):
        if wanted.intersection(op.results):
            chosen.append(op)
            wanted.update(op.operands)
    return chosen[::-1]
