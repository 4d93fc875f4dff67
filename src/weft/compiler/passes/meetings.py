"""How a thread that can be suspended (``resumable``) waits: it counts itself in, and looks who else has come.

Where they meet lies in memory of the block. A barrier's place there, and that of an exchange between lanes,
has how many have arrived and how often all had; who waits asks for that each time it is gone on with.
"""

from __future__ import annotations

from weft.abi.cpu_limits import MOST_THREADS
from weft.abi.warp import WARP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS, NAMED, group_of
from weft.compiler.ir.types import I1, I8, I32, I64, AddressSpace, Type, pointer
from weft.compiler.passes.group_cut import GENERIC, PADDING, load, store
from weft.compiler.passes.launch_record import RECORD, LaunchRecord
from weft.compiler.passes.thread_context import Context, Frame, Rewriter
from weft.compiler.passes.waits import place_text

_WARPS = MOST_THREADS // WARP
_WORD = 8
_MEETING = 2 * _WORD
"""How many have arrived; how often all had."""
_THREAD = 2 * _WORD
"""A thread's handle, 0 when it has ended; where it waits, for messages."""
_OF_GROUP = ("live", "further")
"""Words of a group: its threads that have not ended; how often one got further."""
_SHARED = pointer(AddressSpace.SHARED)


class Memory:
    """Where the threads of a kernel's group keep what they meet by.

    First come the words of the group, then those of each block: how many of its threads and of those of each
    warp have not ended, the meetings, the threads, and for each exchange what they give, twice.
    """

    def __init__(self, kernel: Function) -> None:
        self.meetings: dict[Op | int, int] = {}
        """Where they lie in the memory of the block, or of the group."""
        self.given: dict[tuple[Op, int], int] = {}
        """Where lanes lay the n-th of what an operation exchanges, in bytes for each thread of a block."""
        size, each, of_group = _WORD * (1 + _WARPS), _THREAD, _WORD * len(_OF_GROUP)
        for op in kernel.body.walk():
            where, group = _meeting(op), group_of(op)
            if op.name not in BARRIERS or where in self.meetings:
                continue
            if group in ("cluster", "grid"):
                self.meetings[where] = of_group
                of_group += _MEETING
                continue
            self.meetings[where] = size
            size += _MEETING * (_WARPS if group == "warp" else 1)
            for n, v in enumerate(_exchanged(op)):
                self.given[op, n] = each
                each += 2 * max(16, _stored(v.type))
        self.begin = _padded(size)
        self.for_group = _padded(of_group)
        self.for_each = each

    def threads(self, b: Builder, threads: Value) -> Value:
        """Those of a block, and lanes that its last warp has more."""
        more = b.arith("addi", threads, b.constant(WARP - 1, I64))
        return b.arith("andi", more, b.constant(-WARP, I64))

    def nbytes(self, b: Builder, threads: Value) -> Value:
        """Of a block."""
        each = b.arith("muli", self.threads(b, threads), b.constant(self.for_each, I64))
        return b.arith("addi", each, b.constant(self.begin, I64))

    def word(self, b: Builder, group: Value, name: str) -> Value:
        """The address of a word of the group."""
        return b.at(group, b.constant(_OF_GROUP.index(name), I64), I64)

    def thread(self, b: Builder, block: Value, number: Value) -> Value:
        """The address of a thread's handle."""
        offset = b.arith("muli", number, b.constant(_THREAD, I64))
        return b.at(block, b.arith("addi", offset, b.constant(self.begin, I64)), I8)


def _padded(size: int) -> int:
    return -(-size // PADDING) * PADDING


def _meeting(op: Op) -> Op | int:
    """What tells one meeting from others: the operation, or the number of a named barrier."""
    return op.int_attr("number") if op.name == NAMED else op


def _exchanged(op: Op) -> tuple[Value, ...]:
    """What lanes lay down where others take it."""
    if op.name == "gpu.warp_call":
        return (*op.operands[1:], *op.results)
    return op.operands[:1] if op.name == "gpu.shuffle" else op.results if op.name == "gpu.ballot" else ()


def _stored(kind: Type) -> int:
    """Bytes from one of a type to the next, at most."""
    return 1 << (max(8, kind.bits) // 8 - 1).bit_length()


class Threads(Rewriter):
    """Writes the function of one thread."""

    def __init__(self, kernel: Function, frame: Frame, memory: Memory) -> None:
        self.kernel, self.memory = kernel, memory
        b = Builder()
        b.loc = (kernel.line, 0)
        args = [Value(a.type, None, a.name) for a in kernel.args]
        launch, self.group, self.block = (Value(RECORD, None, n) for n in ("launch", "group", "block"))
        shared = Value(_SHARED, None, "shared")
        numbers = [Value(I64, None, name) for name in ("stride", "threads")]
        ids = [Value(I64, None, f"{what}_{axis}") for what in ("block", "thread") for axis in "xyz"]
        self.number, self.own = Value(I64, None, "number"), Value(GENERIC, None, "own")
        every = [*args, launch, self.group, self.block, shared, *numbers, *ids, self.number, self.own]
        place = kernel.file, kernel.line, kernel.source_name
        self.function = Function(f"{kernel.name}.thread", every, (), Region(), False, *place, resumable=True)
        self.function.alone = kernel.alone
        b.region = self.function.body
        stride, self.size = numbers
        record = LaunchRecord(b, launch)
        one = b.constant(1, I64)
        cluster = record.fields("cluster") if frame.clustered else [one] * 3
        extents = record.fields("block"), record.fields("grid"), cluster
        state = record.field("state")
        context = Context(state, ids[:3], ids[3:], *extents, stride, shared, thread=self.number)
        super().__init__(b, context, frame, [])
        self.mapping.update(zip(kernel.args, args, strict=True))
        self.warp = b.arith("divui", self.number, b.constant(WARP, I64))
        self.padded = memory.threads(b, self.size)
        self.live = {
            "group": memory.word(b, self.group, "live"),
            "block": self.block,
            "warp": b.at(self.block, b.arith("addi", self.warp, one), I64),
        }
        self.further = memory.word(b, self.group, "further")

    def build(self) -> Function:
        """The function."""
        b = self.b
        before = len(b.region.ops)
        for live in self.live.values():
            self.add(live, 1)
        self.suspend(self.kernel.body.ops[0], "beginning")
        for op in self.kernel.body.ops:
            self.op(op)
        self.function.body.ops[before:before] = self.head
        return self.function

    # -- words in memory ------------------------------------------------------------------------
    def add(self, address: Value, count: int) -> Value:
        """Add to a word; gives what it was."""
        b = self.b
        was = load(b, address, I64)
        store(b, address, b.arith("addi", was, b.constant(count, I64)))
        return was

    def at(self, offset: int, kind: Type = I8, index: Value | None = None) -> Value:
        """An address in the block's memory."""
        b = self.b
        place = b.at(self.block, b.constant(offset, I64), I8)
        return place if index is None else b.at(place, index, kind)

    def places(self, op: Op, parity: Value) -> dict[Value, Value]:
        """Where the first thread lays what an operation exchanges, in even rounds or odd ones."""
        b, index = self.b, self.b.arith("muli", self.padded, parity)
        made = dict[Value, Value]()
        for n, v in enumerate(_exchanged(op)):
            behind = b.arith("muli", self.padded, b.constant(self.memory.given[op, n], I64))
            made[v] = b.at(b.at(self.at(self.memory.begin), behind, I8), index, v.type)
        return made

    # -- waiting --------------------------------------------------------------------------------
    def suspend(self, op: Op, kind: str) -> None:
        """Let others go on."""
        noted = self.b.at(self.own, self.b.constant(1, I64), I64)
        self.b.emit("weft.suspend", (noted,), (), {"place": place_text(self.kernel, op, kind)})

    def returns(self, op: Op) -> None:
        """The thread ends, and nobody waits for it any more."""
        b = self.b
        for live in self.live.values():
            self.add(live, -1)
        self.add(self.further, 1)
        store(b, self.own, b.constant(0, I64))
        b.emit("weft.return")

    def op(self, op: Op) -> None:
        """One operation of the kernel."""
        self.b.loc = op.loc
        if op.name in BARRIERS:
            self.meets(op)
        elif "waits" in op.attrs:
            self.turns(op)
        else:
            super().op(op)

    def looks(self, op: Op) -> tuple[Value, ...]:
        """That others of the block may go on is not to be seen here: so it is taken for something new."""
        *known, looks, _ = super().looks(op)
        return *known, looks, looks

    def turns(self, op: Op) -> None:
        """A loop that may go on until others have written: after each round they go on."""
        b = self.b
        again = b.slot(I1, "again", self.head)
        b.set(again, b.constant(False, I1))
        with b.into(op.regions[0].alike(self.mapping)) as condition:
            with b.into(Region()) as wait:
                if op.attrs["waits"] == "any":
                    self.add(self.further, 1)
                self.suspend(op, "loop")
            b.branch(b.get(again, I1), wait)
            b.set(again, b.constant(True, I1))
            for each in op.regions[0].ops:
                self.op(each)
        body = self.region(op.regions[1])
        b.loc = op.loc
        b.emit("weft.while", (), (), {}, (condition, body))
        self.add(self.further, 1)

    def meets(self, op: Op) -> None:
        """All of a group come to an operation, and take of each other what it exchanges."""
        b, group = self.b, group_of(op)
        offset = b.constant(self.memory.meetings[_meeting(op)], I64)
        arrived = b.at(self.group if group in ("cluster", "grid") else self.block, offset, I8)
        if group == "warp":
            arrived = b.at(arrived, b.arith("muli", self.warp, b.constant(_MEETING, I64)), I8)
        rounds = b.at(arrived, b.constant(1, I64), I64)
        mine = load(b, rounds, I64)
        places = self.places(op, b.arith("andi", mine, b.constant(1, I64)))
        self.give(op, places, arrived)
        self.add(arrived, 1)
        with b.into(Region()) as condition:
            self.end_round(op, places, arrived, rounds, mine)
            b.emit("weft.condition", (b.compare("eq", load(b, rounds, I64), mine),))
        if op.attrs.get("arrives"):
            b.region.ops += condition.ops[:-2]
            return
        with b.into(Region()) as body:
            self.suspend(op, group)
        b.emit("weft.while", (), (), {}, (condition, body))
        self.add(self.further, 1)
        self.take(op, places)

    def end_round(
        self, op: Op, places: dict[Value, Value], arrived: Value, rounds: Value, mine: Value
    ) -> None:
        """Let all go on where all have come: who sees it first does it for the others."""
        b = self.b
        if op.name == NAMED:
            expected = b.constant(op.int_attr("threads"), I64)
        else:
            expected = load(b, self.live.get(group_of(op), self.live["group"]), I64)
        full = b.compare("eq", load(b, arrived, I64), expected)
        first = b.compare("eq", load(b, rounds, I64), mine)
        with b.into(Region()) as end:
            if op.name == "gpu.warp_call":
                self.call(op, places)
            store(b, arrived, b.constant(0, I64))
            self.add(rounds, 1)
        b.branch(b.arith("andi", full, first), end)

    # -- exchanges between lanes ----------------------------------------------------------------
    def give(self, op: Op, places: dict[Value, Value], arrived: Value) -> None:
        """Lay down what others take."""
        b = self.b
        if op.name == "gpu.ballot":
            first = b.arith("muli", self.warp, b.constant(WARP, I64))
            at = b.at(places[op.result], first, I32)
            none = b.compare("eq", load(b, arrived, I64), b.constant(0, I64))
            bits = b.select(none, b.constant(0, I32), load(b, at, I32))
            lane = b.value("arith.trunci", (b.arith("subi", self.number, first),), I32)
            bit = b.arith("shli", b.value("arith.extui", (self.lookup(op.operands[0]),), I32), lane)
            store(b, at, b.arith("ori", bits, bit))
            return
        for v, place in places.items():
            if v not in op.results:
                store(b, b.at(place, self.number, v.type), self.lookup(v))

    def take(self, op: Op, places: dict[Value, Value]) -> None:
        """Take what others have given."""
        b = self.b
        if not op.results:
            return
        index = self.number
        first = b.arith("andi", index, b.constant(-WARP, I64))
        if op.name == "gpu.ballot":
            index = first
        v = op.result
        if op.name == "gpu.shuffle":
            v = op.operands[0]
            lane = b.arith("andi", self.lookup(op.operands[1]), b.constant(WARP - 1, I64))
            other = b.arith("addi", first, lane)  # of one that is not there, its own
            index = b.select(b.compare("slt", other, self.size), other, index)
        self.mapping[op.result] = load(b, b.at(places[v], index, v.type), v.type)

    def call(self, op: Op, places: dict[Value, Value]) -> None:
        """What all lanes of a warp do as one."""
        b = self.b
        first = b.arith("andi", self.number, b.constant(-WARP, I64))
        given = [b.at(places[v], first, v.type) for v in _exchanged(op)]
        b.emit("llvm.call", (self.lookup(op.operands[0]), *given), (), {"effects": "all"})
