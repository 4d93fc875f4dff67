"""Loops with the grid's stride, ``for i in range(global_idx.x, n, block_dim.x * grid_dim.x):``, on a CPU.

A block reads a stretch of memory as long as itself, and the next one far away. So two things are done.
Stretches of neighbouring blocks touch: a worker does the rounds of several blocks together, as if they were
one wide block, up to the end of the loop, and what is behind it block by block. Where that is all that a
kernel does, nothing is behind it. Blocks may come in any order, so nobody can tell. And four rounds are done
in one loop over the threads: what a thread keeps from one to the next is read and written once for all, and
four stretches of memory are under way. Each thread still does one round behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.abi.cpu_limits import MOST_NEIGHBOURS
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.types import I64, AddressSpace, PointerType
from weft.compiler.passes.between_pieces import allocate
from weft.compiler.passes.indices import is_far, only_global
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.quotients import divided
from weft.compiler.passes.segment import Segment
from weft.compiler.passes.thread_context import Context, Frame, indexed, loop_nest
from weft.compiler.passes.together import Together
from weft.record import record, replace

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody

_APART = frozenset(
    {
        "gpu.barrier",
        "gpu.dynamic_shared_memory",
        "gpu.lane_id",
        "gpu.subgroup_id",
        "gpu.thread_number",
        "gpu.warp_call",
        "weft.exit_thread",
        "weft.failed",
        "weft.print",
    }
)
"""What asks for the block's own."""
_ROUND = 24
"""Operations of a round, of which some are done at once: in longer ones memory is a smaller part."""
_AT_ONCE = 4
"""Rounds done in one loop over the threads: two leave half of the time to what threads keep."""


@record
class Neighbours:
    """The blocks at hand that go side by side."""

    last: Op
    """The loop in which they do, and the last of the kernel's operations for which they do."""
    most: Value
    """How many there can be."""
    count: Value
    """How many there are."""
    bound: Value
    """How many threads these have."""


def side_by_side(kernel: Function, together: Together, frame: Frame) -> Op | None:
    """The loop at the beginning of a kernel that neighbouring blocks do together, if it has one."""
    ops = kernel.body.ops
    at = next((n for n, op in enumerate(ops) if op in together.splits), len(ops))
    if at == len(ops) or ops[at] not in together.strided or not is_far(ops[at].operands[2]):
        return None
    returns = [op for op in kernel.body.walk() if op.name == "weft.return"]
    if together.warps or kernel.block_rank != 1 or kernel.over_rank or returns != ops[-1:]:
        return None
    head = list(Region([], ops[: at + 1]).walk())
    made = {v for op in head for v in op.results}
    decided = {v for op in together.splits - {ops[at]} for v in together.decides(op)}
    alone = any(not together.once(v) for v in decided & made)
    if alone or not only_global(head) or any(_is_apart(op, together, frame) for op in head):
        return None
    return ops[at]


def _is_apart(op: Op, together: Together, frame: Frame) -> bool:
    """Whether an operation is its block's alone."""
    if op.name in _APART or op.attrs.get("callee") in frame.helpers:
        return True
    if any(isinstance(v.type, PointerType) and v.type.space == AddressSpace.SHARED for v in op.operands):
        return True
    if op.spec.pure or op.regions or op.name in ("weft.slot", "weft.get", "llvm.load"):
        return False  # done again for each block
    return together.runs_once(op)


def most_neighbours(b: Builder, context: Context) -> Value:
    """How many blocks go side by side at most."""
    number = b.arith("divui", b.constant(MOST_NEIGHBOURS, I64), context.block_dim[0])
    one = b.constant(1, I64)
    return b.select(b.compare("slt", number, one), one, number)


def blocks_side_by_side(body: BarrierBody, nodes: list[Piece], blocks: Neighbours) -> None:
    """Several blocks: the beginning for the threads of all, and the rest of each, where there is any."""
    b, context, every = body.b, body.context, body.bounds[0]
    at = next(n for n, node in enumerate(nodes) if node.op is blocks.last) + 1
    first, rest = nodes[:at], nodes[at:]
    body.wide = set(_all(first))
    allocate(body, nodes)
    again = [op for node in first for op in node.ops]
    body.bounds[0] = blocks.bound
    body.sequence(first)
    body.bounds[0] = every
    (region,), (number,) = indexed("block")
    with b.into(region):
        begin = b.arith("muli", number, context.block_dim[0])
        block = b.arith("addi", context.block_id[0], number)
        body.context = replace(context, block_id=[block, *context.block_id[1:]])
        for v, (array, kind, count) in body.arrays.items():
            if body.home[v] in body.wide:
                index = b.arith("muli", begin, b.constant(count, I64))
                body.arrays[v] = (b.at(array, index, kind), kind, count)
        body.each(again)  # what a block's threads share
        body.sequence(rest)
    if any(node.op is not None or any(map(body.matters, node.ops)) for node in rest):
        loop_nest(b, [region], [(b.constant(0, I64), blocks.count)], parallel=False)


def _all(nodes: list[Piece]) -> Iterator[Piece]:
    """Pieces, and those within them."""
    for node in nodes:
        yield node
        for part in node.parts:
            yield from _all(part)


def rounds_at_once(
    body: BarrierBody, loop: Piece, first: Value, upper: Value, step: Value, every: Value
) -> Value:
    """Some at a time of the rounds of a strided loop that all threads make; the first's begin at ``first``.

    ``every`` is how far the threads of a round reach. Gives where the rounds begin that are left, the last of
    which may have fewer threads.
    """
    op, parts = loop.op, loop.parts[0]
    if op is None or len(parts) != 1 or not is_far(op.operands[2]) or not _is_brief(body, parts[0]):
        return first
    b, index, (node,) = body.b, op.regions[0].args[0], parts
    zero, one, apart = b.constant(0, I64), b.constant(1, I64), body.together.strided[op].own
    way = b.select(b.compare("slt", first, upper), b.arith("subi", upper, first), zero)
    together = b.arith("muli", step, b.constant(_AT_ONCE, I64))
    room = b.arith("subi", b.arith("subi", way, every), b.arith("subi", together, step))
    times = b.arith("addi", b.arith("divui", room, together), one)
    times = b.select(b.compare("slt", room, zero), zero, times)
    (region,), (number,) = indexed("four")
    with b.into(region):
        starts = [b.arith("addi", first, b.arith("muli", number, together))]
        for _ in range(_AT_ONCE - 1):
            starts.append(b.arith("addi", starts[-1], step))
        shared: list[dict[Value, Value]] = []
        before, own = dict(body.uniform), list[Op]()
        for start in starts:
            body.behind[index] = start, apart
            own = body.each(node.ops)
            shared.append(dict(body.uniform))
            body.uniform.clear()
            body.uniform.update(before)

        def rounds(segment: Segment) -> None:
            for start, known in zip(starts, shared, strict=True):
                body.behind[index] = start, apart
                segment.mapping.update(known)
                for op in own:
                    segment.op(op)

        body.threads(rounds, home=node)
    loop_nest(b, [region], [(zero, times)], parallel=False)
    return b.arith("addi", first, b.arith("muli", times, together))


def _is_brief(body: BarrierBody, node: Piece) -> bool:
    """Whether some rounds at once are worth it: one does little, and adds to what a thread keeps."""
    if body.left is not None or body.warp is not None or node.op is not None or len(node.ops) > _ROUND:
        return False
    keeps = any(op.name == "weft.set" and not body.together.runs_once(op) for op in node.ops)
    return keeps and not any(op.regions or op.name == "func.call" or divided(op) for op in node.ops)
