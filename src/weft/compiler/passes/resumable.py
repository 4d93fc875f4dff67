"""Threads as coroutines, for kernels in which one thread waits for what a later one does.

Loops over threads run what all do before what they do next, so no kernel can be made of them whose warps
have different tasks. Here a thread is a function that is left where it waits and gone on with later (LLVM's
coroutines; what it keeps is memory as large as that), and one worker goes on with those of a block in turn,
or with those of all blocks that meet. Where they do so again and again and none gets further, that is told
of, and the group ends.
"""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I8, I64, AddressSpace, pointer
from weft.compiler.passes.group_cut import GENERIC, has_meeting, load, placed, product, store, taken
from weft.compiler.passes.launch_record import RECORD, LaunchRecord
from weft.compiler.passes.meeting import Decisions
from weft.compiler.passes.meetings import Memory, Threads
from weft.compiler.passes.thread_context import Context, Frame, indexed, linear, loop_nest
from weft.record import replace

_PATIENCE = 3
"""Rounds in which no thread gets further, until it is clear that none ever does: what a loop writes again and
again is there after the first."""


class Resumable:
    """The functions of one kernel: ``thread``, and ``loops`` that goes on with all of a group."""

    def __init__(self, module: Module, kernel: Function, frame: Frame) -> None:
        Decisions(kernel, {f.name: f for f in module.functions}).ask_all()
        grid = has_meeting(kernel.body, "grid")
        self.group = "grid" if grid else "cluster" if frame.meets else "block"
        self.kernel, self.frame = kernel, frame
        self.memory = Memory(kernel)
        self.b = b = Builder()
        b.loc = (kernel.line, 0)
        launch = Value(RECORD, None, "launch")
        self.parameters = [Value(a.type, None, a.name) for a in kernel.args]
        place = kernel.file, kernel.line, kernel.source_name
        args = [*self.parameters, launch]
        self.function = Function(f"{kernel.name}.loops", args, (), Region(), False, *place)
        b.region = self.function.body
        self.head: list[Op] = []
        self.record = LaunchRecord(b, launch)
        one, zero = b.constant(1, I64), b.constant(0, I64)
        block, grid_dim = self.record.fields("block"), self.record.fields("grid")
        cluster = self.record.fields("cluster") if frame.clustered else [one] * 3
        none = [zero] * 3
        self.context = Context(zero, none, none, block, grid_dim, cluster, zero, zero)
        number = self.context.number
        self.blocks = one if self.group == "block" else product(b, number, f"{self.group}_dim")
        """Of a group."""
        self.threads = product(b, number, "block_dim")
        """Of a block."""
        self.zero, self.one = zero, one
        self.start = b.slot(I64, "start", self.head)

    def build(self) -> list[Function]:
        """Both."""
        b = self.b
        self.stride = self.record.shared_stride(self.frame.size)
        self.each = self.memory.nbytes(b, self.threads)
        shared = taken(b, b.arith("muli", self.blocks, self.stride))
        group = taken(b, self.size())
        start, total = self.start, self.record.field("total")
        condition, body = Region(), Region()
        with b.into(condition):
            b.set(start, self.record.take(self.blocks))
            b.emit("weft.condition", (b.compare("slt", b.get(start, I64), total),))
        with b.into(body):
            self.clear(group)
            self.begin(group, shared, b.get(start, I64))
            self.go_on(group)
        b.emit("weft.while", (), (), {}, (condition, body))
        for memory in (shared, group):
            b.emit("weft.give_memory", (memory,))
        b.emit("weft.return")
        self.function.body.ops[:0] = self.head
        return [Threads(self.kernel, self.frame, self.memory).build(), self.function]

    def size(self) -> Value:
        """How many bytes a group takes."""
        b = self.b
        words = b.constant(self.memory.for_group, I64)
        return b.arith("addi", words, b.arith("muli", self.blocks, self.each))

    def clear(self, group: Value) -> None:
        """Begin with zeros."""
        b, ((region,), (n,)) = self.b, indexed("word")
        with b.into(region):
            store(b, b.at(group, n, I64), self.zero)
        words = b.arith("shrui", self.size(), b.constant(3, I64))
        b.emit("weft.for", (self.zero, words, self.one), (), {"parallel": False}, (region,))

    def ids(self, start: Value, n: Value) -> list[Value]:
        """Where in the grid the n-th block of a group is, which begins at a number."""
        b, c = self.b, self.context
        if not self.frame.clustered:
            return placed(b, b.arith("addi", start, n), c.grid_dim)
        members = product(b, c.number, "cluster_dim")
        number = b.arith("addi", start, n)
        clusters = [b.arith("divui", g, s) for g, s in zip(c.grid_dim, c.cluster_dim, strict=True)]
        whole = placed(b, b.arith("divui", number, members), clusters)
        inside = placed(b, b.arith("remui", number, members), c.cluster_dim)
        sizes = c.cluster_dim
        return [
            b.arith("addi", b.arith("muli", w, s), i) for w, s, i in zip(whole, sizes, inside, strict=True)
        ]

    def block(self, group: Value, n: Value) -> Value:
        """The memory of the n-th block."""
        b = self.b
        offset = b.arith("addi", b.constant(self.memory.for_group, I64), b.arith("muli", n, self.each))
        return b.at(group, offset, I8)

    def begin(self, group: Value, shared: Value, start: Value) -> None:
        """Begin all threads of a group: each waits at once, so that all are known when the first goes on."""
        b, c = self.b, self.context
        (of_blocks,), (n,) = indexed("block")
        regions, ids = indexed("thread_x", "thread_y", "thread_z")
        with b.into(of_blocks):
            place = self.ids(start, n)
            own = b.at(shared, b.arith("muli", n, self.stride), I8)
            own = b.value("llvm.addrspacecast", (own,), pointer(AddressSpace.SHARED))
            block = self.block(group, n)
            ends = [self.end(axis, place[axis]) for axis in range(3)]
            with b.into(regions[0]):
                number = linear(b, replace(c, thread_id=ids))
                record = self.memory.thread(b, block, number)
                given = *self.parameters, self.record.address, group, block, own, self.stride, self.threads
                operands = (*given, *place, *ids, number, record)
                b.emit("func.call", operands, (), {"callee": f"{self.kernel.name}.thread"})
            loop_nest(b, regions, [(self.zero, end) for end in ends], parallel=False)
        b.emit("weft.for", (self.zero, self.blocks, self.one), (), {"parallel": False}, (of_blocks,))

    def end(self, axis: int, block: Value) -> Value:
        """How many threads a block has along an axis: all, or those inside an over= range."""
        b, size = self.b, self.context.block_dim[axis]
        if axis >= self.kernel.over_rank:
            return size
        left = b.arith("subi", self.record.field("over", axis), b.arith("muli", block, size))
        return b.select(b.compare("slt", left, size), left, size)

    def each_thread(self, group: Value, body: str) -> None:
        """Something with the handle of each thread that has not ended."""
        b = self.b
        (of_blocks, of_threads), (n, number) = indexed("block", "thread")
        with b.into(of_blocks):
            block = self.block(group, n)
        with b.into(of_threads):
            record = self.memory.thread(b, block, number)
            handle = load(b, record, I64)
            with b.into(Region()) as there:
                if body == "stuck":
                    self.tell(group, n, number, record)
                else:
                    found = b.value("llvm.inttoptr", (handle,), GENERIC)
                    b.emit("weft.resume", (found,), (), {"ends": body == "end"})
            b.branch(b.compare("ne", handle, self.zero), there)
        with b.into(of_blocks):
            attrs = {"parallel": False, "turns": True}
            b.emit("weft.for", (self.zero, self.threads, self.one), (), attrs, (of_threads,))
        b.emit("weft.for", (self.zero, self.blocks, self.one), (), attrs, (of_blocks,))

    def go_on(self, group: Value) -> None:
        """Go on with one thread after the other until all have ended, or none gets further."""
        b = self.b
        vain = b.slot(I64, "vain", self.head)
        b.set(vain, self.zero)
        live, further = (self.memory.word(b, group, name) for name in ("live", "further"))
        condition, body = Region(), Region()
        with b.into(condition):
            b.emit("weft.condition", (b.compare("ne", load(b, live, I64), self.zero),))
        with b.into(body):
            before = load(b, further, I64)
            self.each_thread(group, "resume")
            same = b.compare("eq", load(b, further, I64), before)
            more = b.arith("addi", b.get(vain, I64), self.one)
            b.set(vain, b.select(same, more, self.zero))
            with b.into(Region()) as stuck:
                self.each_thread(group, "stuck")
                self.each_thread(group, "end")
                b.emit("weft.break")
            b.branch(b.compare("eq", b.get(vain, I64), b.constant(_PATIENCE, I64)), stuck)
        b.emit("weft.while", (), (), {}, (condition, body))

    def tell(self, group: Value, n: Value, number: Value, record: Value) -> None:
        """Tell of a thread that waits for ever, and how many are left to tell of."""
        b = self.b
        live = self.memory.word(b, group, "live")
        left = b.arith("subi", load(b, live, I64), self.one)
        store(b, live, left)
        place = b.value("llvm.inttoptr", (load(b, b.at(record, self.one, I64), I64),), GENERIC)
        block = self.ids(b.get(self.start, I64), n)
        operands = self.record.field("state"), *block, number, left, place
        b.emit("weft.host_stuck", operands)
