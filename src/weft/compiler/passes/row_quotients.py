"""Pieces of a block between barriers, or rounds of its loops, whose threads divide their index: in parts.

``for i in range(global_idx.x, n, stride): y, x = i // width, i % width`` is a loop over rounds of all threads
(``strided.py``), in which ``i`` is where the round begins and the thread's index. See ``quotients.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I64
from weft.compiler.passes.decided import Decided
from weft.compiler.passes.indices import IndexPlus, Ranges, thread_axis, thread_plus
from weft.compiler.passes.pairs import computes_much
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.quotients import Part, divided, in_parts, is_wide, quotient_of
from weft.compiler.passes.segment import Segment
from weft.compiler.passes.some_threads import is_known
from weft.compiler.passes.thread_context import threads_of

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody


def in_quotients(body: BarrierBody, node: Piece) -> bool:
    """Do a piece for all threads in parts, if they divide their index and nothing is in the way."""
    ops = list(Region([], node.ops).walk())
    divisions = [found for op in ops if (found := divided(op))]
    plain = body.warp is None and body.only is None and body.apart is None and body.alive is None
    if not divisions or not plain or body.context.rank != 1 or body.rows:
        return False
    behind = {index: first for index, (first, own) in body.behind.items() if _is_thread(own)}
    starts = {loop.regions[0].args[0]: loop.operands[0] for loop in body.together.strided}
    inner = {v for op in ops for region in op.regions for v in region.args}
    top = {*map(id, node.ops)}
    inner |= {v for op in ops if id(op) not in top for v in op.results}

    def given(v: Value) -> bool:
        """Whether a value is known before the piece, and so to all of its parts."""
        return v not in inner and is_known(body, v)

    known = Decided({})
    for index in behind:
        ends = Ranges().range(starts[index])
        if ends is not None:
            known.learn(index, (ends[0], 1 << 61))  # only whether it may be negative is asked

    def place(v: Value) -> IndexPlus | None:
        if v in behind:
            return IndexPlus("x", (v,))
        return thread_plus(v, lambda v, _: given(v))

    found = quotient_of(divisions, place, given, known)
    if found is None:
        return False

    def lookup(v: Value) -> Value:
        return behind[v] if v in behind else body.uniform_value(v)

    b, end = body.b, body.bounds[0]
    wide = is_wide(b, found, lookup)
    with b.into(Region()) as parts:
        in_parts(b, found, end, lookup, lambda low, high, part: _threads(body, node, low, high, part), place)
    with b.into(Region()) as whole:
        _threads(body, node, b.constant(0, I64), end, None)
    b.branch(wide, parts, whole)
    return True


def _is_thread(own: tuple[Value, ...]) -> bool:
    return len(own) == 1 and thread_axis(own[0]) == "x"


def _threads(body: BarrierBody, node: Piece, low: Value, high: Value, part: Part | None) -> None:
    """A piece for some threads: one by one where they are no part, if dividing is most of what they do."""
    b = body.b
    (along_x,), context = threads_of(body.context)
    with b.into(along_x):
        b.live = True
        segment = Segment(body, context, node)
        segment.inside = part
        segment.thread()
        node.copy_into(segment)
    fast = part is not None or computes_much(node.ops)
    attrs = {"parallel": True} if fast else {"parallel": True, "few": True}
    b.emit("weft.for", (low, high, b.constant(1, I64)), (), attrs, (along_x,))
