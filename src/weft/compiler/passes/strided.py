"""Loops that threads begin one behind the other, as code: the first thread's rounds, joined by the others.

Threads follow each other along one axis. Along x rows of threads may do so as well, so that all of a block go
through memory together: a round then has fewer threads in its last row, and none in those behind that.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

from weft.abi.warp import WARP
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I64
from weft.compiler.passes.ahead import fetch_ahead
from weft.compiler.passes.indices import Start
from weft.compiler.passes.neighbours import rounds_at_once
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.thread_context import Context, Rewriter, clamp
from weft.record import replace

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody
    from weft.compiler.passes.together import Growing


def strided(body: BarrierBody, node: Piece, start: Start) -> None:
    """Emit such a loop."""
    op, b, axis, rows = node.op, body.b, start.axis, start.own[1:]
    assert op is not None
    lower = b.constant(0, I64)
    for offset in start.shared:
        lower = b.arith("addi", lower, body.uniform_value(offset, node.asked))
    upper, step = (body.uniform_value(v, node.asked) for v in op.operands[1:])
    every, before = body.bounds[axis], body.rows
    reach = b.arith("addi", every, _begin(body, rows, _last(body))) if rows else every
    lower = rounds_at_once(body, node, lower, upper, step, reach)
    index, first = op.regions[0].args[0], dict[Value, Value]()
    with b.into(op.regions[0].alike(first)) as made:
        body.behind[index] = first[index], start.own
        if body.left is not None:
            body.stop_when_all_left()
        fetch_ahead(body, node, step)
        left = b.arith("subi", upper, first[index])  # more than 0
        fewer = b.compare("ult", left, every)
        body.bounds[axis] = b.select(fewer, left, every)
        body.rows = (*before, (left, rows)) if rows else before
        body.sequence(node.parts[0])
        body.bounds[axis], body.rows = every, before
    b.emit(op.name, (lower, upper, step), (), dict(op.attrs), (made,))


def by_lanes(body: BarrierBody, node: Piece, start: Start) -> None:
    """Emit such a loop of the lanes of the warp at hand."""
    op, b, every = node.op, body.b, body.b.constant(WARP, I64)
    assert op is not None
    lower = b.constant(0, I64)
    for offset in start.shared:
        lower = b.arith("addi", lower, body.uniform_value(offset, node.asked))
    upper, step = (body.uniform_value(v, node.asked) for v in op.operands[1:])
    index, first = op.regions[0].args[0], dict[Value, Value]()
    with b.into(op.regions[0].alike(first)) as made:
        body.behind[index] = first[index], start.own
        if body.left is not None:
            body.stop_when_all_left()
        left = b.arith("subi", upper, first[index])  # more than 0
        body.lanes_left = b.select(b.compare("ult", left, every), left, every)
        body.sequence(node.parts[0])
        body.lanes_left = None
    b.emit(op.name, (lower, upper, step), (), dict(op.attrs), (made,))


def growing(body: BarrierBody, node: Piece, to: Growing) -> None:
    """Emit a loop that threads leave one behind the other: the last one's rounds, in which fewer come by."""
    op, b = node.op, body.b
    assert op is not None
    lower, step = (body.uniform_value(op.operands[n], node.asked) for n in (0, 2))
    _, plus, minus = to.end
    upper = b.arith("subi", body.bounds[0], b.constant(1, I64))
    for name, offsets in (("addi", plus), ("subi", minus)):
        for offset in offsets:
            upper = b.arith(name, upper, body.uniform_value(offset, node.asked))
    first, zero = dict[Value, Value](), b.constant(0, I64)
    with b.into(op.regions[0].alike(first)) as made:
        body.uniform[op.regions[0].args[0]] = first[op.regions[0].args[0]]
        if body.left is not None:
            body.stop_when_all_left()
        here = clamp(b, first[op.regions[0].args[0]], to.least - 1, to.greatest)  # nothing wraps around
        gone = to.end.index_at(here, b, lambda v: body.uniform_value(v, node.asked))
        gone = b.arith("addi", gone, b.constant(1, I64))
        body.first = b.select(b.compare("sgt", gone, zero), gone, zero)
        body.sequence(node.parts[0])
        body.first = None
    b.emit(op.name, (lower, upper, step), (), dict(op.attrs), (made,))


def row_end(body: BarrierBody, context: Context) -> Value:
    """How many threads along x run in the row at hand."""
    b, end = body.b, body.bounds[0]
    for left, rows in body.rows:
        before = _begin(body, rows, context)
        here = b.select(b.compare("ult", before, left), b.arith("subi", left, before), b.constant(0, I64))
        end = b.select(b.compare("ult", here, end), here, end)
    return end


def _last(body: BarrierBody) -> Context:
    """The last thread."""
    one = body.b.constant(1, I64)
    ids = [body.b.arith("subi", bound, one) for bound in body.bounds]
    return replace(body.context, thread_id=[*ids, *body.context.thread_id[len(ids) :]])


def _begin(body: BarrierBody, rows: tuple[Value, ...], context: Context) -> Value:
    """How far a thread's row is behind the first."""
    rewriter = Rewriter(body.b, context, body.frame, body.head)

    def made(v: Value) -> Value:
        if isinstance(v.owner, Op) and v not in rewriter.mapping:
            for operand in v.owner.operands:
                made(operand)
            rewriter.op(v.owner)
        return rewriter.lookup(v)

    return reduce(partial(body.b.arith, "addi"), map(made, rows))
