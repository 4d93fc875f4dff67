"""Prefetches of memory that a block on a CPU reads some rounds later, or that the next block reads.

Where neighbouring blocks cannot do a loop with the grid's stride side by side, since each has its shared
memory, a block reads a short stretch and goes on far away: further than the processor sees ahead, and not
where it guesses. So each round begins with a request for the stretch of a later one. And a block whose
threads meet computes for long between what it reads and what it writes, so memory rests until the next block
comes: each begins with a request for what that one will read and write. Nothing is read: it may lie behind
the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.abi.cpu_limits import LINE
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I32, I64, AddressSpace, PointerType
from weft.compiler.passes.indices import Strides, is_far
from weft.compiler.passes.inline_barriers import has_barrier
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.segment import Segment
from weft.compiler.passes.thread_context import Context, Rewriter, indexed
from weft.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from weft.compiler.passes.barrier_split import BarrierBody

PREFETCH = "llvm.prefetch.p0"
_AHEAD = 4
"""Rounds: a block of 256 threads computes some 100 ns for each, about what memory takes."""
_MOST = 2
"""Arrays of which a round reads stretches so."""
_MOST_OF_A_BLOCK = 4
"""Stretches that a block reads or writes so."""
_LONGEST = 24
"""Operations that compute an address of it."""
_SAFE = frozenset(
    {
        "arith.addi",
        "arith.constant",
        "arith.extsi",
        "arith.extui",
        "arith.muli",
        "arith.subi",
        "arith.trunci",
        "gpu.block_dim",
        "gpu.block_id",
        "gpu.grid_dim",
        "gpu.thread_id",
        "llvm.addrspacecast",
        "llvm.getelementptr",
    }
)
"""What computes addresses, and ends no program where nobody would have computed any, as a division does."""


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
    here, own = body.behind[index]
    body.behind[index] = b.arith("addi", here, b.arith("muli", step, b.constant(_AHEAD, I64))), own
    for load, needed in loads:
        _fetch(body, load, needed, lambda context: Segment(body, context, node))
    body.behind[index] = here, own


def _is_alone(body: BarrierBody, loop: Piece) -> bool:
    """Whether blocks have one row of threads, and do the loop one behind the other."""
    wide = body.neighbours is not None and loop in body.wide
    return not wide and len(body.bounds) == 1 and body.warp is None and body.only is None


def fetch_next_block(body: BarrierBody, nodes: list[Piece], follows: int) -> None:
    """At the beginning of a block whose threads meet, ask for what the one behind it reads and writes.

    The next one lies along the axis ``follows``. Blocks of rows are left alone: a transposition was as fast
    with it as without. Where threads never meet, the processor sees the next block early enough by itself.
    """
    alone = body.context.rank == 1 and not body.together.warps and body.record is None
    if not alone or body.kernel.over_rank or not has_barrier(body.kernel.body):
        return
    next_along = "xyz"[follows]
    plain = [op for node in nodes if node.op is None and not node.laned for op in node.ops]
    found = [(op, needed) for op in _outside_loops(plain) if (needed := _computable(op, next_along))]
    if not 0 < len(found) <= _MOST_OF_A_BLOCK:
        return
    b, ids = body.b, list(body.context.block_id)
    ids[follows] = b.arith("addi", ids[follows], b.constant(1, I64))

    def copies(context: Context) -> Rewriter:
        made = Rewriter(b, replace(context, block_id=ids), body.frame, body.head)
        made.mapping.update(body.uniform)
        return made

    for access, needed in found:
        _fetch(body, access, needed, copies)


def _outside_loops(ops: list[Op]) -> Iterator[Op]:
    for op in ops:
        yield op
        if op.name == "weft.if":
            for region in op.regions:
                yield from _outside_loops(region.ops)


def _computable(op: Op, next_along: str) -> list[Op]:
    """What computes, for any block, where an access is that neighbouring threads make side by side.

    Nothing where blocks that follow each other along this axis have it at the same place.
    """
    if op.name not in ("llvm.load", "llvm.store") or not _is_global(op):
        return []
    along = Strides(_is_thread, lambda v: not (isinstance(v.owner, Op) and v.owner.operands))
    needed: dict[Op, None] = {}
    _gather(op.operands[0], needed)
    safe = 0 < len(needed) <= _LONGEST and all(each.name in _SAFE for each in needed)
    moves = any(each.name == "gpu.block_id" and each.attrs["dimension"] == next_along for each in needed)
    near = 0 < _size(op) <= LINE and along.of(op.operands[0]) == _size(op)
    return list(needed) if safe and moves and near else []


def _gather(v: Value, found: dict[Op, None]) -> None:
    """The operations that make a value, in order; of more than are wanted not all."""
    owner = v.owner
    if isinstance(owner, Op) and owner not in found and len(found) <= _LONGEST:
        for operand in owner.operands:
            _gather(operand, found)
        found[owner] = None


def _is_thread(v: Value) -> bool:
    return isinstance(v.owner, Op) and v.owner.name == "gpu.thread_id" and v.owner.attrs["dimension"] == "x"


def _is_global(access: Op) -> bool:
    address = access.operands[0].type
    return isinstance(address, PointerType) and address.space == AddressSpace.GLOBAL


def _size(access: Op) -> int:
    """Bytes that an access takes."""
    kind = access.results[0].type if access.results else access.operands[1].type
    return kind.bits // 8


def _fetch(
    body: BarrierBody, access: Op, needed: Sequence[Op], copies: Callable[[Context], Rewriter]
) -> None:
    b, stores = body.b, access.name == "llvm.store"
    zero, each = b.constant(0, I64), LINE // _size(access)
    last = b.arith("subi", body.bounds[0], b.constant(1, I64))
    lines = b.arith("addi", b.arith("divui", last, b.constant(each, I64)), b.constant(2, I64))
    (region,), (number,) = indexed("line")
    with b.into(region):  # the last thread's is one line more, unless a line begins with the first
        thread = b.arith("muli", number, b.constant(each, I64))
        copy = copies(replace(body.context, thread_id=[thread, zero, zero]))
        for op in needed:
            copy.op(op)
        hints = (int(stores), 3, 1)  # to be read or written, kept, data
        operands = copy.lookup(access.operands[0]), *(b.constant(n, I32) for n in hints)
        b.emit("llvm.call_intrinsic", operands, (), {"intrin": PREFETCH, "effects": "all"})
    attrs = {"parallel": False, "few": True}  # copies of it would take LLVM's time, and save nothing
    b.emit("weft.for", (zero, lines, b.constant(1, I64)), (), attrs, (region,))


def _stretches(body: BarrierBody, ops: list[Op], index: Value) -> list[tuple[Op, list[Op]]]:
    """The loads of which neighbouring threads read neighbouring memory, and what their addresses need."""
    made = {v for op in ops for v in op.results}
    along = Strides(lambda v: v is index, lambda v: v not in made)
    found: list[tuple[Op, list[Op]]] = []
    for op in ops:
        if op.name == "llvm.load":
            size = _size(op)
            needed = _needed(op, ops)
            pure = all(each.spec.pure and not each.regions for each in needed)
            kept = any(v in body.arrays or v in body.cells for each in needed for v in each.results)
            if _is_global(op) and pure and not kept and 0 < size <= LINE and along.of(op.operands[0]) == size:
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
