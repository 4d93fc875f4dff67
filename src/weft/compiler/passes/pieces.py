"""What a block does in turn where its threads meet: pieces between, and control flow around them.

Each piece ("segment") is looped over threads; or a warp does it as one, or strips of threads as lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op, Value
from weft.compiler.passes.held import held, store
from weft.compiler.passes.meeting import Decisions, find_barrier
from weft.compiler.passes.own_places import give, hold
from weft.compiler.passes.together import Together
from weft.compiler.passes.uniformity import LOOPS
from weft.compiler.passes.warp_calls import Waiting, is_call
from weft.compiler.passes.warps import Exchanges, is_exchange
from weft.diagnostics.parted import Parting
from weft.record import field, record

if TYPE_CHECKING:
    from weft.compiler.passes.segment import Segment


@record(frozen=False, eq=False)
class Piece:
    """A segment (``ops``), or control flow that all threads take together (``op``)."""

    op: Op | None
    ops: list[Op] = field(default_factory=list[Op])
    parts: list[list[Piece]] = field(default_factory=list["list[Piece]"])
    in_loop: bool = False
    asked: list[Value] = field(default_factory=list[Value])
    """What of the control flow's operands all threads must agree on, and are asked for."""
    laned: bool = False
    """Whether a segment is one loop that threads do as lanes, or what a warp does as one vector."""
    single: bool = False
    """Whether a segment is one branch that one thread along x takes."""
    asking: Piece | None = None
    """The segment that asks."""
    parting: Parting | None = None

    def copy_into(self, segment: Segment) -> None:
        """The segment's operations, for the thread at hand."""
        variables, place = held(segment, self.ops), hold(segment, self.ops)
        segment.own = place
        for op in self.ops:
            segment.op(op)
        store(segment, variables)
        if place is not None:
            segment.own = None
            give(segment, place)


def within(piece: Piece) -> Iterator[Piece]:
    """The piece, and all that are in it."""
    yield piece
    if piece.asking is not None:
        yield piece.asking
    for part in piece.parts:
        for inner in part:
            yield from within(inner)


class Cut:
    """Cuts a kernel into pieces; ``in_place`` are what ``warp_calls`` take from where variables lie."""

    def __init__(self, decisions: Decisions, together: Together, in_place: dict[Value, Value]) -> None:
        self.decisions = decisions
        self.together = together
        self.in_place = in_place

    def pieces(self, ops: list[Op], in_loop: bool = False, barrier: Op | None = None) -> list[Piece]:
        """The pieces of a list of operations; ``barrier`` is that of the loop around them."""
        out: list[Piece] = []
        segment: list[Op] = []
        exchanges, waiting = Exchanges(), Waiting(self.in_place)

        def exchanged() -> None:
            if exchanges.ops:
                ops, apart = exchanges.taken()
                out.append(Piece(None, ops, in_loop=in_loop, laned=True))
                segment.extend(apart)

        def flush() -> None:
            exchanged()
            if segment:
                out.append(Piece(None, list(segment), in_loop=in_loop))
                segment.clear()
            out.extend([Piece(None, [call], in_loop=in_loop, laned=True) for call in waiting.taken()])

        read: set[Value] = set()
        for op in ops:
            if (not exchanges.ops and is_exchange(op)) or waiting.are_before(op):
                flush()
            if exchanges.takes(op, self.together.runs_once(op)):
                continue
            exchanged()
            if is_call(op):
                waiting.add(op)
                continue
            alone = op in self.together.singles and op not in self.together.splits
            if alone:
                flush()
            if op not in self.together.splits:
                if op.name == "weft.set" and op.operands[0] in read and self.together.runs_once(op):
                    flush()  # what reads it before does so in the threads' loop
                    read.clear()
                if not op.results or op.results[0] not in self.in_place:
                    segment.append(op)
                read.update(v for inner in op.regions for o in inner.walk() for v in o.operands)
                if alone:
                    flush()
                    out[-1].single = True
                continue
            flush()
            read.clear()
            if op.name == "gpu.shuffle":
                segment.append(op)
                continue
            if op in self.together.laned:
                out.append(Piece(None, [op], in_loop=in_loop, laned=True))
                continue
            out.append(self._divided(op, in_loop, barrier))
        flush()
        return out

    def _divided(self, op: Op, in_loop: bool, barrier: Op | None) -> Piece:
        """What threads come to together: a barrier, or a loop or branch around one, in pieces of its own."""
        free = op in self.together.chosen
        node = Piece(op, asked=[] if free else self.decisions.asked(op, barrier))
        if node.asked:
            node.asking, node.parting = Piece(None), self.decisions.parting(op, barrier)
        loops = in_loop or op.name in LOOPS
        around = (find_barrier(op.regions[-1]) or barrier) if op.name in LOOPS else barrier
        for n, region in enumerate(op.regions):
            inner = region.ops
            if op.name == "weft.while" and n == 0:
                inner = inner[:-1]
            node.parts.append(self.pieces(inner, loops, around))
        return node
