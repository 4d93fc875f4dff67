"""Kernels for targets without hardware threads: loops over blocks and threads around the body.

The entry takes the packed arguments and the launch's record (``weft.abi.cpu_launch``), and takes
chunks of blocks until none is left, so any number of workers may call it at once. A body without
barriers is one nest of thread loops, the innermost marked parallel so that LLVM vectorises it; a
body with barriers is split at them (``weft.compiler.passes.barrier_split``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from weft.abi.cpu_limits import MOST_THREADS, MOST_TOGETHER, STRIP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I1, I8, I64, AddressSpace, pointer
from weft.compiler.passes.barrier_split import BarrierBody
from weft.compiler.passes.block_order import goes_down
from weft.compiler.passes.clamped import Clamps, find_clamps
from weft.compiler.passes.end_threads import return_ends
from weft.compiler.passes.group_cut import block_number, has_meeting
from weft.compiler.passes.group_loops import Group
from weft.compiler.passes.guard_bounds import take_guards, threads_within
from weft.compiler.passes.indices import only_global
from weft.compiler.passes.inline_barriers import has_barrier, inline_barriers
from weft.compiler.passes.interior import Interior, find_interior
from weft.compiler.passes.launch_record import LaunchRecord
from weft.compiler.passes.looks import note_looks
from weft.compiler.passes.meeting import Decisions
from weft.compiler.passes.neighbours import Neighbours, most_neighbours, side_by_side
from weft.compiler.passes.pairs import computes_much
from weft.compiler.passes.parted import parted
from weft.compiler.passes.quotients import Part, find_quotient, in_parts, is_wide
from weft.compiler.passes.resumable import Resumable
from weft.compiler.passes.skipped import skip_the_rest
from weft.compiler.passes.thread_context import (
    Context,
    Frame,
    Rewriter,
    add_context_parameters,
    indexed,
    loop_nest,
    needs_context,
    threads_of,
)
from weft.compiler.passes.together import Together
from weft.compiler.passes.versions import Versions, versions_of
from weft.compiler.passes.waits import is_left, mark_waits, meet_to_wait
from weft.compiler.passes.warp_names import name_lanes
from weft.record import replace

_P = pointer(AddressSpace.GENERIC)
_STRETCH = 4
"""How many chunks of blocks are taken as one where they go side by side: two of a launch for each thread."""


def thread_loops(module: Module, *, even: bool = False, turned: bool = False) -> None:
    """Rewrite every kernel of the module, in place.

    ``even`` blocks have whole strips of threads along x; ``turned``: those that meet begin with the last.
    """
    waits = mark_waits(module)
    for kernel in [f for f in module.functions if f.kernel and waits]:
        meet_to_wait(kernel, kernel.body)
    note_looks(module)
    inline_barriers(module)
    skip_the_rest(module)
    return_ends(module)
    users = needs_context(module)
    made = [f for f in module.functions if not f.kernel and f.name not in users]
    for kernel in [f for f in module.functions if f.kernel]:
        name_lanes(kernel)
        frame = Frame.of(module, kernel, users)
        frame.even, frame.turned = even and not kernel.over_rank, turned
        made += [add_context_parameters(f, frame) for f in module.functions if f.name in frame.helpers]
        versions = versions_of(kernel)
        for each in (kernel,) if versions is None else (versions.usual, versions.other):
            left = waits and is_left(each)
            made += Resumable(module, each, frame).build() if left else looped(module, each, frame)
        made.append(entry(kernel, frame, versions))
    module.functions[:] = made
    module.globals = [g for g in module.globals if g.space != AddressSpace.SHARED]


def entry(k: Function, frame: Frame, versions: Versions | None) -> Function:
    """What a host calls. The loops take the kernel's arguments one by one.

    LLVM is told of a function's arguments, not of what is loaded, that nothing else reaches their memory.
    """
    b = Builder()
    b.loc = (k.line, 0)
    args, launch = Value(_P, None, "args"), Value(_P, None, "launch")
    made = Function(k.name, [args, launch], (), Region(), True, k.file, k.line, k.source_name)

    def call(name: str) -> None:
        b.emit("func.call", (*given, launch), (), {"callee": f"{name}.loops"})

    with b.into(made.body):
        given = [_parameter(b, args, n, a) for n, a in enumerate(k.args)]
        if versions is None:
            call(k.name)
        else:
            asking = _LaunchRewriter(b, frame, LaunchRecord(b, launch))
            asking.mapping.update(zip(k.args, given, strict=True))
            for op in versions.ops:
                asking.op(op)
            usual, other = Region(), Region()
            for region, version in ((usual, versions.usual), (other, versions.other)):
                with b.into(region):
                    call(version.name)
            b.branch(asking.lookup(versions.condition), usual, other)
        b.emit("weft.return")
    return made


class _LaunchRewriter(Rewriter):
    """Computes what all of a launch share."""

    def __init__(self, b: Builder, frame: Frame, record: LaunchRecord) -> None:
        zero = b.constant(0, I64)
        none = [zero] * 3
        extents = record.fields("block"), record.fields("grid")
        super().__init__(b, Context(zero, none, none, *extents, none, zero, zero), frame, [])
        self.record = record

    def op(self, op: Op) -> None:
        if op.name == "gpu.over":
            self.mapping[op.result] = self.record.field("over", "xyz".index(str(op.attrs["dimension"])))
        else:
            super().op(op)


def _parameter(b: Builder, args: Value, n: int, a: Value) -> Value:
    """The kernel's n-th machine argument, from its slot of 8 bytes."""
    at = b.at(args, b.constant(n, I64), I64)
    attrs = {"alignment": 8, "invariant": False, "volatile": False}
    if a.type is I1:
        byte = b.value("llvm.load", (at,), I8, attrs)
        return b.compare("ne", byte, b.constant(0, I8))
    return b.value("llvm.load", (at,), a.type, attrs)


def looped(module: Module, kernel: Function, frame: Frame, group: str = "") -> list[Function]:
    """The loops of a kernel, or of a piece of one that is cut where such a group meets."""

    def piece(cut: Function, group: str) -> list[Function]:
        return looped(module, cut, frame, group)

    if not group and has_meeting(kernel.body, "grid"):
        return Group(module, kernel, frame, "grid", piece).build()
    if has_meeting(kernel.body, "cluster") or (not group and frame.meets):
        return Group(module, kernel, frame, "cluster", piece).build()
    return [_Loops(module, kernel, frame, group).build()]


class _Loops:
    """Builds the loops of one kernel, or of a piece."""

    def __init__(self, module: Module, kernel: Function, frame: Frame, group: str) -> None:
        self.module = module
        self.kernel = kernel
        self.frame = frame
        self.group = group
        self.b = Builder()
        self.b.loc = (kernel.line, 0)
        self.guards = [] if has_barrier(kernel.body) else take_guards(kernel)
        functions = {f.name: f for f in module.functions}
        singles = parted(kernel)
        self.decisions = Decisions(kernel, functions)
        self.together = Together(kernel, functions, self.decisions.uniformity, self.decisions.of_warps)
        self.together.singles |= singles
        apart = group or frame.looks
        self.beside = None if apart else side_by_side(kernel, self.together, frame)
        plain = not self.together.splits
        self.clamps = find_clamps(kernel) if plain else None
        several = self.clamps is not None and self.clamps.tested
        self.interior = find_interior(kernel) if plain and not several else None
        if self.interior is not None:
            self.clamps = None
        self.quotient = find_quotient(kernel) if plain and self.clamps is None else None
        cut = bool(self.together.splits) and self.beside is None and not group
        self.down = cut and goes_down(kernel)
        self.record = LaunchRecord(self.b, Value(_P, None, "launch"))
        self.own: Value | None = None
        """How many bytes of shared memory a block has beside those that the launch gives."""

    def build(self) -> Function:
        """The function: it takes the kernel's arguments one by one, and the launch's record."""
        k, b, record = self.kernel, self.b, self.record
        place = (k.file, k.line, k.source_name)
        parameters = [Value(a.type, None, a.name) for a in k.args]
        args = [*parameters, record.address]
        made = Function(f"{k.name}.loops", args, (), Region(), False, *place, inline=not self.group)
        made.alone = k.alone
        b.region = made.body
        rank = k.block_rank or 3
        zero, one = b.constant(0, I64), b.constant(1, I64)
        grid = record.fields("grid")
        block = [record.field("block", n) if n < rank else one for n in range(3)]
        total, chunk, state = (record.field(name) for name in ("total", "chunk", "state"))
        cluster = record.fields("cluster") if self.frame.clustered else [one] * 3
        stride = record.field("stride") if self.group else zero
        shared = self.shared_memory()
        start, end = (b.slot(I64, name, made.body.ops) for name in ("start", "end"))
        b.set(start, zero)
        b.set(end, zero)
        context = Context(state, [zero] * 3, [zero] * 3, block, grid, cluster, stride, shared, rank)
        condition, more, blocks = Region(), Region(), Region()
        with b.into(more):
            taken = record.take(chunk)
            b.set(start, taken)
            b.set(end, self.smaller(b.arith("addi", taken, chunk), total))
        head: list[Op] = []
        most = one
        if self.beside is not None:
            most = most_neighbours(b, context)
            stretch = b.arith("muli", chunk, b.constant(_STRETCH, I64))
            chunk = self.larger(chunk, self.smaller(stretch, most))
        with b.into(condition):
            b.branch(b.compare("sge", b.get(start, I64), b.get(end, I64)), more)
            b.emit("weft.condition", (b.compare("slt", b.get(start, I64), total),))
        with b.into(blocks):
            linear = number = b.get(start, I64)
            if self.group and self.frame.turned:
                number = b.arith("subi", b.arith("subi", total, one), linear)
            self.place(context, number)
            count = one
            alone = self.frame.size or self.together.splits or self.group
            if not alone or self.beside is not None:
                row = b.arith("subi", grid[0], context.block_id[0])
                few = b.constant(MOST_TOGETHER // MOST_THREADS, I64)
                count = self.smaller(self.smaller(b.arith("subi", b.get(end, I64), linear), row), few)
            if self.beside is not None:
                count = self.smaller(count, most)
            b.set(start, b.arith("addi", linear, count))
            self.blocks(context, count, parameters, head, most)
        made.body.ops.extend(head)
        if self.own is not None and isinstance(self.own.owner, Op):
            self.own.owner.attrs = {"value": self.frame.size + self.frame.room + 128}
        b.emit("weft.while", (), (), {"blocks": True}, (condition, blocks))
        b.emit("weft.return")
        return made

    def shared_memory(self) -> Value:
        """The shared memory of a block, or of a group's first one."""
        b, space = self.b, pointer(AddressSpace.SHARED)
        if self.group:
            return b.value("llvm.inttoptr", (self.record.field("shared"),), space)
        given, self.own = self.record.field("dynamic_shared"), b.constant(self.frame.size + 128, I64)
        size = b.arith("addi", given, self.own)
        attrs = {"elem_type": I8, "count": 0, "alignment": 128}
        return b.emit("llvm.alloca", (size,), (space,), attrs).result

    def place(self, context: Context, linear: Value) -> None:
        """Let the context be that of the block with this number, of a group the one in that."""
        b = self.b
        if self.group == "cluster":
            ids = self.block_ids(linear, context.cluster_dim)
            origin = self.record.fields("origin")
            context.block_id = [b.arith("addi", n, o) for n, o in zip(ids, origin, strict=True)]
        else:
            context.block_id = self.block_ids(linear, context.grid_dim)
        if self.group:
            number = block_number(b, context.number, self.group, clustered=self.frame.clustered)
            context.shared = b.at(context.shared, b.arith("muli", number, context.shared_stride), I8)

    def block_ids(self, linear: Value, grid: list[Value]) -> list[Value]:
        """x, y, z of the block with that linear number."""
        b = self.b
        first, second = (grid[1], grid[0]) if self.down else (grid[0], grid[1])
        one = b.arith("remui", linear, first)
        rest = b.arith("divui", linear, first)
        other, z = b.arith("remui", rest, second), b.arith("divui", rest, second)
        return [other, one, z] if self.down else [one, other, z]

    def smaller(self, x: Value, y: Value) -> Value:
        """The smaller of two numbers."""
        less = self.b.compare("slt", x, y)
        return self.b.select(less, x, y)

    def larger(self, x: Value, y: Value) -> Value:
        """The larger of two numbers."""
        less = self.b.compare("slt", x, y)
        return self.b.select(less, y, x)

    def bound(self, axis: int, context: Context, count: Value | None = None) -> Value:
        """How many threads run along an axis, of so many blocks: all, or those inside an over= range."""
        b, size = self.b, context.block_dim[axis]
        if self.frame.even and axis == 0:  # here, where LLVM sees it beside the loop that it makes vectors of
            size = self.larger(b.arith("andi", size, b.constant(-STRIP, I64)), b.constant(STRIP, I64))
        every = size if count is None else b.arith("muli", size, count)
        if axis < self.kernel.over_rank:
            begin = b.arith("muli", context.block_id[axis], size)
            every = self.smaller(b.arith("subi", self.record.field("over", axis), begin), every)
        return every

    def blocks(
        self, context: Context, count: Value, parameters: list[Value], head: list[Op], most: Value
    ) -> None:
        """The work of ``count`` blocks, ``most`` at most, that follow each other along x.

        Where they are not cut and share no memory their threads may run in any order: row by row through
        all of the blocks, so that memory is read in the order in which it lies.
        """
        b, k, guards = self.b, self.kernel, self.guards
        if self.together.splits:
            bounds = [self.narrowed(axis, context, parameters) for axis in range(context.rank)]
            with b.into(Region()) as block:
                plan = self.decisions, self.together
                made = BarrierBody(b, k, context, self.frame, head, parameters, bounds, *plan)
                made.record = self.record if self.group else None
                if self.beside is not None:
                    bound = self.bound(0, context, count)
                    made.neighbours = Neighbours(self.beside, most, count, bound)
                made.emit(follows=int(self.down))
            if not guards:
                b.region.ops += block.ops
                return
            some = b.constant(True, I1)
            for axis in {guard.axis for guard in guards}:
                some = b.arith("andi", some, b.compare("sgt", bounds[axis], b.constant(0, I64)))
            b.branch(some, block)
            return
        (_, *rows), inner = threads_of(context)
        zero, first = b.constant(0, I64), context.block_id[0]
        ranges = [(zero, self.narrowed(axis, context, parameters)) for axis in range(1, context.rank)]
        inner = replace(inner, thread_id=[zero, *inner.thread_id[1:]])
        if only_global(list(k.body.walk())) and not self.frame.helpers:  # all of them as if they were one
            with b.into(rows[0] if rows else b.region):
                self.rows(inner, parameters, head, count)
            loop_nest(b, rows, ranges, parallel=False)
            return
        (every,), (block_x,) = indexed("block_x")
        regions = [every, *rows]
        with b.into(regions[0]):
            self.rows(replace(inner, block_id=[block_x, *context.block_id[1:]]), parameters, head)
        ranges.insert(0, (first, b.arith("addi", first, count)))
        loop_nest(b, regions, ranges, parallel=False)

    def rows(
        self, context: Context, parameters: list[Value], head: list[Op], count: Value | None = None
    ) -> None:
        """The threads of a block, or of so many, that follow each other along x."""
        b, zero, found = self.b, context.thread_id[0], self.interior
        end = self.narrowed(0, context, parameters, count)

        def row(
            begin: Value, end: Value, ops: list[Op], *, few: bool = False, inside: Part | Clamps | None = None
        ) -> None:
            (region,), (x,) = indexed("thread_x")
            place = replace(context, thread_id=[x, *context.thread_id[1:]])
            rewriter = _ThreadRewriter(b, place, self.frame, head)
            rewriter.inside = inside
            rewriter.mapping.update(zip(self.kernel.args, parameters, strict=True))
            with b.into(region):
                for op in ops:
                    rewriter.op(op)
            attrs = {"parallel": True, "few": True} if few else {"parallel": True}
            b.emit("weft.for", (begin, end, b.constant(1, I64)), (), attrs, (region,))

        shared = self.shared(context, parameters)
        if found is not None:
            self.partitioned(found, row, end, shared)
        elif self.clamps is not None:
            ops, clamps = self.kernel.body.ops, self.clamps
            low, high = clamps.ends(b, end, shared.lookup)
            self.beside_of(low, high, end, partial(row, ops=ops, few=clamps.tested and not clamps.inside))
            row(low, high, ops, inside=clamps)
        elif self.quotient is not None:
            ops, cut = self.kernel.body.ops, self.quotient
            wide = is_wide(b, cut, shared.lookup)  # here, where what it is made of dominates both loops
            with b.into(Region()) as parts:
                in_parts(b, cut, end, shared.lookup, lambda low, high, part: row(low, high, ops, inside=part))
            with b.into(Region()) as whole:
                row(zero, end, ops, few=not computes_much(ops))
            b.branch(wide, parts, whole)
        else:
            row(zero, end, self.kernel.body.ops)

    def beside_of(self, low: Value, high: Value, end: Value, row: Callable[[Value, Value], None]) -> None:
        """Do the threads along x before some, and those behind them, as one loop twice."""
        b, zero = self.b, self.b.constant(0, I64)
        (edges,), (side,) = indexed("side")
        with b.into(edges):
            first = b.compare("eq", side, zero)
            row(b.select(first, zero, high), b.select(first, low, end))
        loop_nest(b, [edges], [(zero, b.constant(2, I64))], parallel=False)

    def partitioned(
        self, found: Interior, row: Callable[..., None], end: Value, shared: _BlockRewriter
    ) -> None:
        """Rows of threads in which a test of where they are is asked for those at the edges alone."""
        b, zero = self.b, self.b.constant(0, I64)
        low, high, here = zero, end, b.constant(True, I1)
        for bound in found.lows:
            low = self.larger(low, threads_within(b, bound, shared.lookup))
        for bound in found.highs:
            high = self.smaller(high, threads_within(b, bound, shared.lookup))
        low = self.smaller(low, end)
        high = self.larger(low, high)
        for condition, wanted in found.rows:
            holds = shared.lookup(condition)
            here = b.arith("andi", here, holds if wanted else b.arith("xori", holds, b.constant(True, I1)))
        with b.into(Region()) as across:
            self.beside_of(low, high, end, partial(row, ops=self.kernel.body.ops, few=True))
            row(low, high, found.inside)
        with b.into(Region()) as beside:
            row(zero, end, found.outside)
        b.branch(here, across, beside)

    def shared(self, context: Context, parameters: list[Value]) -> _BlockRewriter:
        """What computes values that the threads share, where ``b`` stands."""
        made = _BlockRewriter(self.b, context, self.frame, [])
        made.mapping.update(zip(self.kernel.args, parameters, strict=True))
        return made

    def narrowed(
        self, axis: int, context: Context, parameters: list[Value], count: Value | None = None
    ) -> Value:
        """How many threads run along an axis, of so many blocks, under the kernel's own guards."""
        rewriter = self.shared(context, parameters)
        size = self.bound(axis, context, count)
        for guard in self.guards:
            if guard.axis == axis:
                size = self.smaller(threads_within(self.b, guard, rewriter.lookup), size)
        return size


class _BlockRewriter(Rewriter):
    """Computes, once for the block, values that its threads share."""

    def lookup(self, v: Value) -> Value:
        found = self.mapping.get(v)
        if found is None:
            assert isinstance(v.owner, Op)
            self.op(v.owner)
            found = self.mapping[v]
        return found


class _ThreadRewriter(Rewriter):
    inside: Part | Clamps | None = None
    """What is known of some of the threads of a row."""

    def op(self, op: Op) -> None:
        if self.inside is None or not self.inside.op(op, self):
            super().op(op)

    def returns(self, op: Op) -> None:
        self.b.emit("weft.exit_thread")
