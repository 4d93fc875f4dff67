"""Who leads the threads of a grid or a cluster from one place where they meet to the next.

The pieces are kernels (``group_cut``), each with its own loops over blocks. A cluster is led by the worker
that has taken it, which also does all of it. A grid is led by the worker that comes first; the others, as
many as come and whenever they do, help with the piece that is open. When no block of it is left to take and
nobody is inside, it is closed, and the leader goes on. So nobody waits for a worker that never comes.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.jumps import JUMPS
from weft.compiler.ir.types import I1, I8, I64
from weft.compiler.passes.group_cut import (
    GENERIC,
    Cut,
    KeptArray,
    Node,
    load,
    meets,
    placed,
    product,
    store,
    taken,
)
from weft.compiler.passes.launch_record import RECORD, LaunchRecord
from weft.compiler.passes.meeting import Decisions, disagree, tally
from weft.compiler.passes.thread_context import Context, Frame, Rewriter, indexed, loop_nest
from weft.compiler.passes.uniformity import LOOPS

Looped = Callable[[Function, str], list[Function]]
"""The loops of a piece of such a group, and what they call."""


class Group:
    """The function that leads a group through the pieces of one kernel.

    Args:
        module: The kernel's.
        kernel: What is cut.
        frame: What its code is written for.
        group: Which threads meet: those of the ``grid``, or of each ``cluster``.
        looped: What makes the loops of a piece.
    """

    def __init__(self, module: Module, kernel: Function, frame: Frame, group: str, looped: Looped) -> None:
        functions = {f.name: f for f in module.functions}
        self.cut = Cut(kernel, group, functions, clustered=frame.clustered)
        self.decisions = Decisions(kernel, functions)
        self.meeting = next((op for op in kernel.body.walk() if meets(op, group)), None)
        self.kernel, self.frame, self.group, self.looped = kernel, frame, group, looped
        self.b = b = Builder()
        b.loc = (kernel.line, 0)
        self.head: list[Op] = []
        launch = Value(RECORD, None, "launch")
        self.parameters = [Value(a.type, None, a.name) for a in kernel.args]
        place = kernel.file, kernel.line, kernel.source_name
        name, args = f"{kernel.name}.loops", [*self.parameters, launch]
        self.function = Function(name, args, (), Region(), False, *place, inline=True)
        self.function.alone = kernel.alone
        b.region = self.function.body
        self.launch = self.record = LaunchRecord(b, launch)
        grid, block = (self.launch.fields(n) for n in ("grid", "block"))
        one, zero = b.constant(1, I64), b.constant(0, I64)
        cluster = self.launch.fields("cluster") if frame.clustered else [one, one, one]
        self.known = dict(zip(kernel.args, self.parameters, strict=True))
        self.state = self.launch.field("state")
        self.kept = self.shared = self.stride = zero
        self.context = Context(
            self.state, [zero] * 3, [zero] * 3, block, grid, cluster, zero, self.launch.address
        )
        number = self.context.number
        self.blocks = product(b, number, f"{group}_dim")
        self.each = product(b, number, "block_dim")
        self.threads = self.cut.threads(b, number)

    def build(self) -> list[Function]:
        """The function, and the pieces' loops."""
        b = self.b
        at = len(b.region.ops)
        self.stride = self.launch.shared_stride(self.frame.size)
        (self.lead_grid if self.group == "grid" else self.lead_clusters)()
        self.function.body.ops[at:at] = self.head
        b.emit("weft.return")
        pieces = [f for piece in self.cut.pieces for f in self.looped(piece, self.group)]
        return [self.function, *pieces]

    # -- memory -------------------------------------------------------------------------------
    def take_kept(self) -> Value:
        """The memory in which values live from piece to piece."""
        b, cut = self.b, self.cut
        arrays = b.arith("muli", self.threads, b.constant(cut.bytes_each, I64))
        return taken(b, b.arith("addi", arrays, b.constant(cut.begin, I64)))

    def give(self, memory: Value) -> None:
        """Return memory."""
        self.b.emit("weft.give_memory", (memory,))

    def call(self, number: int) -> None:
        """Do a piece of the record at hand."""
        operands = (*self.parameters, self.kept, self.record.address)
        self.b.emit("func.call", operands, (), {"callee": f"{self.cut.pieces[number].name}.loops"})

    # -- clusters -----------------------------------------------------------------------------
    def lead_clusters(self) -> None:
        """Take cluster after cluster, and lead each."""
        b, c, launch, local = self.b, self.context, self.launch, LaunchRecord.local(self.b, self.head)
        within = self.kernel.name.rpartition(".")[2].startswith("grid")
        for name in ("grid", "block", "over", "cluster"):
            for axis, value in enumerate(launch.fields(name)):
                local.set(name, value, axis)
        local.set("state", self.state)
        local.set("dynamic_shared", launch.field("dynamic_shared"))
        zero = b.constant(0, I64)
        for name, value in (("total", self.blocks), ("chunk", self.blocks), ("stop", zero)):
            local.set(name, value)
        local.set("stride", self.stride)
        self.kept = self.take_kept()
        own = None if within else taken(b, b.arith("muli", self.blocks, self.stride))
        total, start = launch.field("total"), b.slot(I64, "start", self.head)
        condition, body = Region(), Region()
        with b.into(condition):
            b.set(start, launch.take(self.blocks))
            b.emit("weft.condition", (b.compare("slt", b.get(start, I64), total),))
        with b.into(body):
            first = b.get(start, I64)
            number = b.arith("divui", first, self.blocks)
            every = [b.arith("divui", g, n) for g, n in zip(c.grid_dim, c.cluster_dim, strict=True)]
            ids = placed(b, number, every)
            for axis, (n, size) in enumerate(zip(ids, c.cluster_dim, strict=True)):
                local.set("origin", b.arith("muli", n, size), axis)
            shared = launch.field("shared")
            if own is None:
                shared = b.arith("addi", shared, b.arith("muli", first, self.stride))
            else:
                shared = b.value("llvm.ptrtoint", (own,), I64)
            local.set("shared", shared)
            self.record = local

            def run(number: int) -> None:
                local.set("next", zero)
                self.call(number)
                self.stop_if_told(local, [local, launch] if within else [local])

            self.sequence(self.cut.nodes, run)
        b.emit("weft.while", (), (), {"blocks": True}, (condition, body))
        for memory in (self.kept, *([] if own is None else [own])):
            self.give(memory)

    def stop_if_told(self, record: LaunchRecord, noted: list[LaunchRecord]) -> None:
        """End the group if threads have parted in the piece."""
        b = self.b
        stop = record.field("stop")
        with b.into(Region()) as leave:
            if len(noted) > 1:
                noted[1].set("stop", b.constant(1, I64))
            record.set("stop", b.constant(0, I64))
            b.emit("weft.exit_block")
        b.branch(b.compare("ne", stop, b.constant(0, I64)), leave)

    # -- a grid -------------------------------------------------------------------------------
    def lead_grid(self) -> None:
        """Lead, if nobody does; else help."""
        b = self.b
        lead, help_ = Region(), Region()
        with b.into(lead):
            self.lead()
        with b.into(help_):
            self.help()
        first = b.compare("ne", self.ask("weft.lead"), b.constant(0, I64))
        b.branch(first, lead, help_)

    def ask(self, name: str, value: Value | None = None) -> Value:
        """What a function says that is written in weft (``weft.compiler.support``)."""
        given = value or self.b.constant(0, I64)
        return self.b.value("weft.supported", (self.launch.address, given), I64, {"callee": name})

    def lead(self) -> None:
        """Open piece after piece."""
        b, launch = self.b, self.launch
        self.kept = self.take_kept()
        shared = taken(b, b.arith("muli", self.blocks, self.stride))
        launch.set("kept", b.value("llvm.ptrtoint", (self.kept,), I64))
        launch.set("shared", b.value("llvm.ptrtoint", (shared,), I64))
        launch.set("stride", self.stride)
        once = b.slot(I64, "once", self.head)
        b.set(once, b.constant(0, I64))

        def run(number: int) -> None:
            self.ask("weft.open", b.constant(number, I64))
            self.call(number)
            self.ask("weft.close")
            self.stop_if_told(launch, [launch])

        condition, body = Region(), Region()
        with b.into(condition):
            begun = b.get(once, I64)
            b.set(once, b.constant(1, I64))
            b.emit("weft.condition", (b.compare("eq", begun, b.constant(0, I64)),))
        with b.into(body):
            self.sequence(self.cut.nodes, run)
        b.emit("weft.while", (), (), {"blocks": True}, (condition, body))
        self.ask("weft.end")
        for memory in (self.kept, shared):
            self.give(memory)

    def help(self) -> None:
        """Do what is open, until the leader is done."""
        b = self.b
        last = b.slot(I64, "last", self.head)
        b.set(last, b.constant(0, I64))
        condition, body = Region(), Region()
        with b.into(condition):
            b.set(last, self.ask("weft.enter", b.get(last, I64)))
            b.emit("weft.condition", (b.compare("sge", b.get(last, I64), b.constant(0, I64)),))
        with b.into(body):
            self.kept = b.value("llvm.inttoptr", (self.launch.field("kept"),), GENERIC)
            piece = b.arith("andi", b.get(last, I64), b.constant((1 << 16) - 1, I64))
            for number in range(len(self.cut.pieces)):
                with b.into(Region()) as this:
                    self.call(number)
                b.branch(b.compare("eq", piece, b.constant(number, I64)), this)
            self.ask("weft.leave")
        b.emit("weft.while", (), (), {}, (condition, body))

    # -- control flow -------------------------------------------------------------------------
    def sequence(self, nodes: list[Node], run: Callable[[int], None]) -> None:
        """Some pieces, and the control flow around them."""
        for node in nodes:
            if node.op is not None:
                self.control(node, node.op, run)
            elif node.number >= 0:
                run(node.number)

    def control(self, node: Node, op: Op, run: Callable[[int], None]) -> None:
        """Control flow that all threads of the group take together."""
        b = self.b
        b.loc = op.loc
        if op.name in JUMPS:
            b.emit(op.name)
            return
        self.decisions.asked(op, self.meeting)
        operands = tuple([self.value(v, op) for v in op.operands])
        regions: list[Region] = []
        for n, (old, part) in enumerate(zip(op.regions, node.parts, strict=True)):
            with b.into(old.alike(self.known)) as made:
                is_condition = op.name == "weft.while" and n == 0
                for index in old.args:
                    if index in self.cut.cells:
                        cell = b.at(self.kept, b.constant(self.cut.cells[index], I64), I8)
                        store(b, cell, self.known[index])
                if op.name in LOOPS and not is_condition and self.cut.gone is not None:
                    self.stop_when_all_left()
                self.sequence(part, run)
                if is_condition:
                    b.emit("weft.condition", (self.value(old.ops[-1].operands[0], op),))
            regions.append(made)
        b.emit(op.name, operands, (), dict(op.attrs), tuple(regions))

    def value(self, v: Value, op: Op) -> Value:
        """What control flow goes by: computed here, or asked of the threads."""
        if not self.cut.known(v):
            return self.asked(v, op)
        found = self.known.get(v)
        if found is not None or not isinstance(v.owner, Op):
            return found or v
        rewriter = Rewriter(self.b, self.context, self.frame, self.head)
        rewriter.mapping = {o: self.value(o, op) for o in v.owner.operands}
        rewriter.op(v.owner)
        return rewriter.lookup(v)

    def asked(self, v: Value, op: Op) -> Value:
        """What all threads say; where they disagree, the group ends."""
        b, cut = self.b, self.cut
        array = cut.places[v]
        zero = b.constant(0, I64)
        if cut.gone is None and cut.uniformity.same(v):
            return load(b, array.address(b, self.kept, cut.begin, self.threads, zero), v.type)
        some, all_ = (b.slot(v.type, name, self.head) for name in ("some", "all"))
        b.set(some, b.constant(0, v.type))
        b.set(all_, b.constant(-1, v.type))
        self.each_thread(lambda n: tally(b, self.of(array, n), some, all_))
        with b.into(Region()) as stop:
            self.report(v, op)
            b.emit("weft.exit_block")
        b.branch(disagree(b, some, all_, v.type), stop)
        return b.get(some, v.type)

    def of(self, array: KeptArray, n: Value) -> Value:
        """What a thread's place of an array holds."""
        return load(self.b, array.address(self.b, self.kept, self.cut.begin, self.threads, n), array.kind)

    def each_thread(self, body: Callable[[Value], None]) -> None:
        """Something for the number of each thread that is left."""
        b = self.b
        (region,), (n,) = indexed("n")
        with b.into(region):
            if self.cut.gone is None:
                body(n)
            else:
                with b.into(Region()) as left:
                    body(n)
                b.branch(b.compare("eq", self.of(self.cut.gone, n), b.constant(0, I8)), left)
        every = b.arith("muli", self.blocks, self.each)
        loop_nest(b, [region], [(b.constant(0, I64), every)], parallel=False)

    def stop_when_all_left(self) -> None:
        """Leave a loop that no thread is in any more."""
        b = self.b
        left = b.slot(I1, "left", self.head)
        b.set(left, b.constant(False, I1))
        self.each_thread(lambda _: b.set(left, b.constant(True, I1)))
        with b.into(Region()) as stop:
            b.emit("weft.break")
        b.branch(b.get(left, I1), Region(), stop)

    def report(self, v: Value, op: Op) -> None:
        """Tell the runtime of a thread that decides otherwise than the first."""
        b, array, none = self.b, self.cut.places[v], self.b.constant(-1, I64)
        seen = [b.slot(I64, name, self.head) for name in ("first", "decision", "other", "otherwise")]
        first, decision, other, otherwise = seen
        b.set(first, none)
        b.set(other, none)

        def note(n: Value) -> None:
            value = self.of(array, n)
            if value.type is not I64:
                value = b.value("arith.extui" if value.type is I1 else "arith.extsi", (value,), I64)
            begin, compare, differs = Region(), Region(), Region()
            odd = b.compare("ne", value, b.get(decision, I64))
            odd = b.arith("andi", odd, b.compare("eq", b.get(other, I64), none))
            with b.into(begin):
                b.set(first, n)
                b.set(decision, value)
            with b.into(differs):
                b.set(other, n)
                b.set(otherwise, value)
            with b.into(compare):
                b.branch(odd, differs)
            b.branch(b.compare("eq", b.get(first, I64), none), begin, compare)

        self.each_thread(note)
        zero = b.constant(0, I64)
        origin = self.record.fields("origin")
        numbers = [b.get(slot, I64) for slot in (first, decision, otherwise)]
        operands = (self.state, *origin, b.get(other, I64), zero, zero, *numbers)
        inside = (met for region in op.regions for met in region.walk() if meets(met, self.group))
        parting = self.decisions.before(op, next(inside, self.meeting or op))
        b.emit("weft.host_parted", operands, (), {"place": parting.text(), "flag": v.type is I1})
