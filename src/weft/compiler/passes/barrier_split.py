"""A block on one CPU thread, cut where its threads meet: each piece is looped over threads.

Between barriers threads are independent, so each piece ("segment") runs for all threads of the block
in turn. What ``together`` finds to run once for all threads stands outside the thread loops: control flow
around barriers, loops of which all threads make the same rounds, what they all compute alike. What else
lives from one segment to another is kept per thread in arrays; cheap pure operations are computed again
instead. A thread that has returned is skipped from then on.
The scheme is that of POCL's work-item loops (Jääskeläinen et al., 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.abi.warp import WARP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Attribute, Function, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS
from weft.compiler.ir.jumps import JUMPS, leaves
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import I8, I64, AddressSpace, Type, pointer
from weft.compiler.passes.ahead import fetch_next_block
from weft.compiler.passes.between_pieces import allocate
from weft.compiler.passes.guard_bounds import threads_within
from weft.compiler.passes.in_strips import in_strips
from weft.compiler.passes.lanes import MOST, Lanes, width
from weft.compiler.passes.launch_record import LaunchRecord
from weft.compiler.passes.meeting import Decisions, disagree, report, tally
from weft.compiler.passes.neighbours import Neighbours, blocks_side_by_side
from weft.compiler.passes.pieces import Cut, Piece, within
from weft.compiler.passes.row_quotients import in_quotients
from weft.compiler.passes.segment import Segment
from weft.compiler.passes.some_threads import guard, narrow, single
from weft.compiler.passes.strided import by_lanes, growing, row_end, strided
from weft.compiler.passes.thread_context import (
    Context,
    Frame,
    Rewriter,
    indexed,
    loop_nest,
    threads_in,
    threads_of,
)
from weft.compiler.passes.together import Together
from weft.compiler.passes.warp_calls import call_by_warp, is_call, needed, read_in_place
from weft.compiler.passes.warps import Warp
from weft.record import replace

_P = pointer(AddressSpace.GENERIC)


class BarrierBody:
    """Emits one block of a kernel that is cut where ``b`` stands."""

    def __init__(
        self,
        b: Builder,
        kernel: Function,
        context: Context,
        frame: Frame,
        head: list[Op],
        parameters: list[Value],
        bounds: list[Value],
        decisions: Decisions,
        together: Together,
    ) -> None:
        self.b = b
        self.kernel = kernel
        self.decisions = decisions
        self.together = together
        self.context = context
        self.frame = frame
        self.head = head
        self.bounds = bounds
        self.every = bounds[0]
        self.in_strip: dict[Value, Value] = {}  # what is kept for a strip alone, and its first thread
        self.uniform: dict[Value, Value] = dict(zip(kernel.args, parameters, strict=True))
        """What is computed once, and its copies."""
        self.in_place = read_in_place(kernel)  # what calls take of variables, from where these lie
        self.behind: dict[Value, tuple[Value, tuple[Value, ...]]] = {}
        """Indices of which each thread's is a sum: the first one's, and parts that are its own."""
        self.rows: tuple[tuple[Value, tuple[Value, ...]], ...] = ()
        """Of rounds in which rows of threads follow each other: threads left, and what is before a row."""
        self.home: dict[Value, Piece] = {}
        self.used_in: dict[Value, set[Piece]] = {}
        self.run: dict[Piece, object] = {}
        """Of pieces that a warp does before the next warp does them: what tells their run from others."""
        self.from_before: dict[Piece, list[Value]] = {}
        """What control flow of a warp goes by that threads of all warps have made before this run."""
        self.arrays: dict[Value, tuple[Value, Type, int]] = {}
        self.cells: dict[Value, Value] = {}
        self.scalars: dict[Value, Value] = {}
        self.met: dict[Value, tuple[Value, Value]] = {}
        """Of what threads are asked for: variables with the bits that some have, and that all have."""
        returns = [op for op in kernel.body.walk() if op.name == "weft.return"]
        self.returns_early = returns != [kernel.body.ops[-1]]
        self.alive: Value | None = None
        self.left: Value | None = None
        self.first: Value | None = None
        """The first thread along x that does something, where it is not that of the block."""
        self.only: Value | None = None
        """The one thread along x, or lane of a warp, for which something is done."""
        self.apart: Value | None = None
        """Every how manieth thread along x does something."""
        self.warp: Value | None = None
        """The number of the first thread of the warp at hand, where each warp goes its own way."""
        self.number: Value | None = None
        """And the number of that warp."""
        self.lanes_left: Value | None = None
        """How many lanes, from the first on, do something, where it is not all of them."""
        self.neighbours: Neighbours | None = None
        """The blocks that go side by side at the beginning."""
        self.wide: set[Piece] = set()
        """What all of them do at once."""
        self.record: LaunchRecord | None = None
        """Of the group that is to end where threads disagree."""

    # -- analysis -----------------------------------------------------------------------------
    def survey(self, nodes: list[Piece]) -> None:
        """Note where every value is made and in which segments it is used."""
        for node in nodes:
            for part in node.parts:
                self.survey(part)
            for v in node.asked:
                assert node.asking is not None
                self.used_in.setdefault(v, set()).add(node.asking)
            for op in Region([], node.ops).walk():
                for v in op.results:
                    self.home[v] = node
                for r in op.regions:
                    for a in r.args:
                        self.home[a] = node
                for v in needed(op):
                    self.used_in.setdefault(self.in_place.get(v, v), set()).add(node)

    def warps_go_by(self, nodes: list[Piece]) -> None:
        """Note what a warp's control flow needs of other runs: each thread has it kept."""
        run = object()
        for node in nodes:
            if self.of_the_block(node):
                run = object()
                for part in node.parts:
                    self.warps_go_by(part)
                continue
            for each in within(node):
                self.run[each] = run
            for each in within(node):
                if each.op is None:
                    continue
                for v in self.together.decides(each.op):
                    before = v in self.home and self.run.get(self.home[v]) is not run
                    if before and v not in each.asked and not self.together.once(v):
                        self.from_before.setdefault(each, []).append(v)
                        self.used_in.setdefault(v, set()).add(each)

    def of_the_block(self, node: Piece) -> bool:
        """Whether all threads of a block take it together, though lanes of warps meet elsewhere."""
        return node.op in self.together.strided or _of_the_block(node)

    # -- storage ------------------------------------------------------------------------------
    def array(self, kind: Type, count: int = 1, alignment: int = 0, home: Piece | None = None) -> Value:
        """Memory for ``count`` values of every thread of a block, taken once per worker.

        There are as many blocks as are side by side at ``home``.
        """
        size, *others = self.context.block_dim[: self.context.rank]
        wide = self.neighbours is not None and home in self.wide
        if self.neighbours is not None and wide:
            size = self.hoisted("arith.muli", (size, self.neighbours.most), I64)
        for threads in others:
            size = self.hoisted("arith.muli", (size, threads), I64)
        if self.together.laned:  # the last strip may have lanes without a thread
            more = self.hoisted("arith.constant", (), I64, {"value": MOST})
            size = self.hoisted("arith.addi", (size, more), I64)
        if count != 1:
            times = self.hoisted("arith.constant", (), I64, {"value": count})
            size = self.hoisted("arith.muli", (size, times), I64)
        attrs = {"elem_type": kind, "count": count, "alignment": max(64, alignment, kind.bits // 8)}
        attrs |= {"wide": True} if wide else {}
        return self.hoisted("llvm.alloca", (size,), _P, attrs)

    def hoisted(
        self,
        name: str,
        operands: tuple[Value, ...],
        kind: Type,
        attrs: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """An operation before all that blocks do."""
        op = Op(SPECS[name], operands, attrs or {}, (), (kind,), (0, 0))
        self.head.append(op)
        return op.result

    def variable(self, kind: Type, name: str) -> Value:
        """A variable of the block."""
        return self.b.slot(kind, name, self.head)

    # -- emission -----------------------------------------------------------------------------
    def emit(self, follows: int = 0) -> None:
        """The whole block; the next one lies along the axis ``follows``."""
        nodes = Cut(self.decisions, self.together, self.in_place).pieces(self.kernel.body.ops)
        self.survey(nodes)
        if self.together.warps:
            self.warps_go_by(nodes)
        if self.neighbours is not None:
            blocks_side_by_side(self, nodes, self.neighbours)
            return
        allocate(self, nodes)
        fetch_next_block(self, nodes, follows)
        if self.returns_early:
            self.alive = self.array(I8)
            self.left = self.variable(I64, "left")
            count, *others = self.bounds
            for threads in others:
                count = self.b.arith("muli", count, threads)
            self.b.set(self.left, count)
            self.threads(lambda s: s.set_alive(1), guard=False)
        self.sequence(nodes)

    def sequence(self, nodes: list[Piece]) -> None:
        """Some pieces, one after the other; those between which only lanes of warps meet warp by warp."""
        run: list[Piece] = []
        done = 0
        for n, node in enumerate(nodes):
            if n >= done and in_strips(self, nodes[n : n + 3]):
                done = n + 3
            if n < done:
                continue
            if self.together.warps and self.warp is None and not self.of_the_block(node):
                run.append(node)
                continue
            self.each_warp(run)
            run = []
            if node.op is None:
                self.piece(node)
            elif node.op.name not in BARRIERS:
                self.control(node)
        self.each_warp(run)

    def each_warp(self, nodes: list[Piece]) -> None:
        """Some pieces, for each warp; or for all threads, where nobody meets."""
        if not nodes:
            return
        b, (region,), (first,) = self.b, *indexed("warp")
        for node in nodes:
            node.ops = self.each(node.ops)
        if (
            len(nodes) == 1 and nodes[0].op is None and not nodes[0].laned
        ):  # nothing is to come before or behind it
            self.piece(nodes[0])
            return
        with b.into(region):
            self.warp, self.number = first, b.arith("divui", first, b.constant(WARP, I64))
            self.sequence(nodes)
            self.warp = self.number = None
        step = b.constant(WARP, I64)
        b.emit("weft.for", (b.constant(0, I64), self.size(), step), (), {"parallel": False}, (region,))

    def size(self) -> Value:
        """Threads of a block."""
        return threads_in(self.b, self.context)

    def lanes(self, body: Callable[[Segment], None], home: Piece | None) -> None:
        """``body(segment)`` for the lanes of the warp at hand."""
        b, c, first = self.b, self.context, self.warp
        assert first is not None
        (region,), (lane,) = indexed("lane")
        with b.into(region if self.only is None else b.region):
            lane = self.only or lane
            thread = b.arith("addi", first, lane)
            ids, rest = list(c.thread_id), thread
            for axis in range(c.rank - 1):
                ids[axis] = b.arith("remui", rest, c.block_dim[axis])
                rest = b.arith("divui", rest, c.block_dim[axis])
            ids[c.rank - 1] = rest
            context = replace(c, thread_id=ids, thread=thread, lane=lane, warp=self.number)
            if self.only is not None:
                self.alone(body, context, home)
                return
            self.one(body, context, home, guard=True)
        loop_nest(b, [region], [(b.constant(0, I64), self.lanes_left or b.constant(WARP, I64))])

    def piece(self, node: Piece) -> None:
        """What the threads do between two places where they meet; what is shared comes first."""
        if node.laned:
            if is_call(node.ops[0]):
                call_by_warp(self, node.ops[0])
            elif self.together.warps:
                Warp(self, node.ops).emit()
            else:
                self.strips(node.ops[0])
            return
        own = self.each(node.ops)
        whole = self.warp is None
        guarded = guard(self, own) if whole else None
        every, first, self.only = self.bounds[0], self.first, single(self, own)
        if self.only is not None:
            own = [op for op in own if op.name != "weft.return"]  # nothing is behind it
        if guarded is not None:
            branch, bounds = guarded
            at = own.index(branch)
            own[at : at + 1] = branch.regions[0].ops
            for bound in bounds:
                within = threads_within(self.b, bound, self.uniform_value)
                fewer = self.b.compare("slt", within, self.bounds[0])
                self.bounds[0] = self.b.select(fewer, within, self.bounds[0])
        elif whole and self.only is None:
            step = narrow(self, own)
            self.apart = step if self.first is None else None
        node.ops = own
        if any(map(self.matters, own)) and (self.first is not None or not in_quotients(self, node)):
            self.threads(node.copy_into, home=node)
        self.bounds[0], self.first, self.only, self.apart = every, first, None, None

    def each(self, ops: list[Op]) -> list[Op]:
        """What each thread does of a piece; what they share is done."""
        own: list[Op] = []
        for op in ops:
            if op.name != "weft.slot" and self.together.runs_once(op):
                shared = Rewriter(self.b, self.context, self.frame, self.head)
                shared.mapping = self.uniform
                shared.op(op)
            else:
                own.append(op)
        return own

    def strips(self, loop: Op) -> None:
        """A loop that threads do as lanes, strip by strip."""
        b = self.b
        (strip, *rows), context = threads_of(self.context)
        zero = b.constant(0, I64)
        with b.into(rows[0] if rows else b.region):
            end = row_end(self, context)
            with b.into(strip):
                Lanes(self, loop, context, end).emit()
            step = b.constant(width(loop), I64)
            b.emit("weft.for", (zero, end, step), (), {"parallel": False}, (strip,))
        loop_nest(b, rows, [(zero, bound) for bound in self.bounds[1:]], parallel=False)

    def matters(self, op: Op) -> bool:
        """Whether an operation of a piece does more than compute what only that piece may use."""
        if op.spec.pure:
            return any(v in self.arrays or v in self.cells for v in op.results)
        if op.name == "weft.return":
            return self.left is not None
        return op.name not in ("weft.slot", "llvm.alloca", "llvm.unreachable")

    def uniform_value(self, v: Value, asked: Sequence[Value] = ()) -> Value:
        """A value that is alike in all threads, outside their loops; ``asked``: what they just told."""
        found = self.uniform.get(v)
        if found is not None:
            return found
        told = v in self.met and (v in asked or v not in self.cells)
        cell = self.met[v][0] if told else self.cells.get(v)
        if cell is not None:
            return self.b.get(cell, v.type)
        owner = v.owner
        if not isinstance(owner, Op):
            return v
        rewriter = Rewriter(self.b, self.context, self.frame, self.head)
        rewriter.mapping = {o: self.uniform_value(o, asked) for o in owner.operands}
        rewriter.op(owner)
        return rewriter.lookup(v)

    def control(self, node: Piece) -> None:
        """Control flow that all threads take together."""
        op, b = node.op, self.b
        assert op is not None
        b.loc = op.loc
        if op.name in JUMPS:
            b.emit(op.name)
            return
        if op.name != "weft.while":
            self.meet(node)
        self.recall(node)
        if op in self.together.strided:
            strided(self, node, self.together.strided[op])
            return
        if op in self.together.growing:
            growing(self, node, self.together.growing[op])
            return
        if op in self.together.lane_rounds:
            by_lanes(self, node, self.together.lane_rounds[op])
            return
        operands = tuple([self.uniform_value(v, node.asked) for v in op.operands])
        regions: list[Region] = []
        for n, (old, part) in enumerate(zip(op.regions, node.parts, strict=True)):
            with b.into(old.alike(self.uniform)) as made:
                is_condition = op.name == "weft.while" and n == 0
                if op.name in ("weft.for", "weft.while") and not is_condition and self.left is not None:
                    self.stop_when_all_left()
                self.sequence(part)
                if is_condition:
                    self.meet(node)
                    b.emit("weft.condition", (self.uniform_value(old.ops[-1].operands[0], node.asked),))
            regions.append(made)
        b.emit(op.name, operands, (), dict(op.attrs), tuple(regions))

    def recall(self, node: Piece) -> None:
        """Have the block's variables hold what the warp at hand goes by, as its threads have kept it."""
        for v in self.from_before.get(node, ()):
            cell = self.cells.get(v)
            if cell is not None and self.warp is not None:
                self.threads(lambda s, v=v, cell=cell: self.b.set(cell, s.lookup(v)))

    def meet(self, node: Piece) -> None:
        """Ask all threads for a decision; where they disagree, end the block."""
        b = self.b
        for v in node.asked:
            some, all_ = self.met[v]
            b.set(some, b.constant(0, v.type))
            b.set(all_, b.constant(-1, v.type))
            self.threads(lambda s, v=v, met=(some, all_): tally(s.b, s.lookup(v), *met), home=node.asking)
            stop = Region()
            with b.into(stop):
                b.live = True
                self.report(node, v)
                if self.record is not None:
                    self.record.set("stop", b.constant(1, I64))
                b.emit("weft.exit_block")
            b.branch(disagree(b, some, all_, v.type), stop)

    def report(self, node: Piece, v: Value) -> None:
        """Tell the runtime which threads disagree."""
        parting = node.parting
        assert parting is not None
        first = self.variable(I64, "first"), self.variable(I64, "first_value")
        self.b.set(first[0], self.b.constant(-1, I64))
        self.threads(
            lambda s: report(s.b, s.context, s.thread(), s.lookup(v), first, parting), home=node.asking
        )

    def stop_when_all_left(self) -> None:
        """Leave a loop that no thread is in any more."""
        b = self.b
        assert self.left is not None
        none = b.compare("sle", b.get(self.left, I64), b.constant(0, I64))
        if self.warp is not None:
            here = self.variable(I64, "here")
            b.set(here, b.constant(0, I64))
            self.threads(lambda _: b.set(here, b.constant(1, I64)))
            none = b.compare("eq", b.get(here, I64), b.constant(0, I64))
        stop = Region()
        with b.into(stop):
            b.emit("weft.break")
        b.branch(none, stop)

    def threads(
        self, body: Callable[[Segment], None], *, home: Piece | None = None, guard: bool = True
    ) -> None:
        """``body(segment)`` inside loops over the threads of the block."""
        b = self.b
        if self.warp is not None:
            self.lanes(body, home)
            return
        (along_x, *rows), context = threads_of(self.context)
        zero = b.constant(0, I64)
        if self.only is None:
            with b.into(rows[0] if rows else b.region):
                end = row_end(self, context)
            with b.into(along_x):
                self.one(body, context, home, guard=guard)
            ranges = [(self.first or zero, end), *((zero, bound) for bound in self.bounds[1:])]
            loop_nest(b, [along_x, *rows], ranges, step=self.apart)
            return
        with b.into(rows[0] if rows else b.region):
            self.alone(body, replace(context, thread_id=[self.only, *context.thread_id[1:]]), home)
        loop_nest(b, rows, [(zero, bound) for bound in self.bounds[1:]], parallel=False)

    def alone(self, body: Callable[[Segment], None], context: Context, home: Piece | None) -> None:
        """``body(segment)`` for one thread along x, or lane, if it is there."""
        b, only, zero = self.b, self.only, self.b.constant(0, I64)
        assert only is not None
        end = row_end(self, context) if self.warp is None else b.constant(WARP, I64)
        there = b.arith("andi", b.compare("sge", only, self.first or zero), b.compare("slt", only, end))
        with b.into(Region()) as inner:
            self.one(body, context, home, guard=True)
        b.branch(there, inner)

    def one(
        self, body: Callable[[Segment], None], context: Context, home: Piece | None, *, guard: bool
    ) -> None:
        """``body(segment)`` for the thread at hand."""
        b = self.b
        b.live = True
        segment = Segment(self, context, home)
        segment.thread()  # here, where it dominates every use
        if guard and self.alive is not None:
            inner = Region()
            with b.into(inner):
                body(segment)
            b.branch(segment.is_alive(), inner)
        else:
            body(segment)


def _of_the_block(node: Piece) -> bool:
    """Whether all threads of a block take it together: a barrier, what has one in it, or leaves a loop."""
    op = node.op
    if op is None:
        return False
    if op.name in JUMPS or any(o.name == "gpu.barrier" for o in Region([], [op]).walk()):
        return True
    return op.name == "weft.if" and any(map(leaves, op.regions))
