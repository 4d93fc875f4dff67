"""A loop that each thread leaves when it is done: threads of a CPU are lanes of vectors in it, under masks.

That is a ``while``, or a ``for`` of which all make the same rounds but for a ``break``. All lanes of a strip
go round until none is left, as in ISPC; what its variables are when it leaves, a lane keeps apart. So those
that left compute on, which nobody sees, and no round waits for the mask of the one before. LLVM makes no
vectors of such loops. Only loops that compute are taken, without memory other than variables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.jumps import JUMPS
from weft.compiler.ir.types import I1, I32, I64, vector
from weft.compiler.passes.thread_context import Context
from weft.compiler.passes.uniformity import LOOPS, is_of_block
from weft.compiler.passes.vectors import Vectors, computes, in_lane

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody

MOST = 16
"""Lanes of a strip, where what they compute has 32 bits: two vectors of 256 bits, as each waits for itself;
the variables of more are no longer all in registers."""
_CONTROL = frozenset({"weft.if", "weft.get", "weft.set", "weft.condition"}) | JUMPS


def takes(loop: Op) -> bool:
    """Whether lanes can do a loop that they leave one by one: it only computes, with no loop within."""
    ops = [op for region in loop.regions for op in region.walk()]
    if loop.name == "weft.for":
        if not (any(op.name == "weft.break" for op in ops) and all(map(is_of_block, loop.operands))):
            return False
    return loop.name in LOOPS and all(map(_takes, ops))


def _takes(op: Op) -> bool:
    if op.name in _CONTROL:
        return all(in_lane(v.type) for v in (*op.operands[1:], *op.results))
    return computes(op)


def forgotten(loop: Op, ahead: list[Op], kernel: Region) -> frozenset[Value]:
    """Variables that nothing reads behind a loop: given just ``ahead`` of it, and read by it alone."""
    read = Counter(_read(kernel))
    inside = Counter(v for region in loop.regions for v in _read(region))
    given = [op.operands[0] for op in ahead if op.name == "weft.set"]
    return frozenset(slot for slot in given if read[slot] == inside[slot])


def _read(region: Region) -> Iterator[Value]:
    return (v for op in region.walk() for v in op.operands[op.name == "weft.set" :])


def width(loop: Op) -> int:
    """How many lanes do a loop."""
    ops = [op for region in loop.regions for op in region.walk()]
    return MOST // 2 if any(v.type.bits > 32 for op in ops for v in op.results) else MOST


class Lanes(Vectors):
    """Emits one such loop for a strip of threads along x, from that of ``context`` to before ``end``."""

    def __init__(self, body: BarrierBody, loop: Op, context: Context, end: Value) -> None:
        super().__init__(body, width(loop), context)
        self.loop = loop
        self.slots: dict[Value, Value] = {}
        self.left: dict[Value, Value] = {}
        """What variables were when each lane left the loop, of those that are read behind it."""
        self.sign = I32 if self.lanes == MOST else I64
        self.kept = vector(self.lanes, self.sign)
        """A mask from block to block of code, as wide as what it is for: of flags LLVM makes bytes there."""
        self.live = body.variable(self.kept, "live")
        """The lanes that have not left the loop."""
        self.begin(self.b.arith("subi", end, self.place[0]))

    def begin(self, left: Value) -> None:
        """The lanes that have one of so many threads are in the loop: their signs say so."""
        b, every, element = self.b, self.b.constant(self.lanes, I64), self.sign
        left = b.select(b.compare("slt", left, every), left, every)
        if element is not I64:
            left = b.value("arith.trunci", (left,), element)
        ahead = b.arith("subi", self.numbered(element), self.splat(left))
        b.set(self.live, b.arith("shrsi", ahead, b.constant(element.bits - 1, self.kept)))
        if self.body.alive is not None:
            self.keep(self.load(self.body.alive, I1))

    def keep(self, mask: Value) -> None:
        """From here on these lanes alone are in the loop, of those that are; others may have any flag."""
        b = self.b
        flags = b.value("arith.extsi", (mask,), self.kept)
        b.set(self.live, b.select(self.here(), flags, b.constant(0, self.kept)))

    def here(self) -> Value:
        """The mask of the lanes that are in it."""
        return self.compare("slt", self.b.get(self.live, self.kept), self.b.constant(0, self.kept))

    def needs(self) -> None:
        """Take what comes from without, before the loop."""
        inside = {v for region in self.loop.regions for op in region.walk() for v in op.results}
        for region in self.loop.regions:
            inside.update(region.args)
            for op in region.walk():
                if op.name in ("weft.get", "weft.set"):
                    self.variable(op.operands[0])
                for v in op.operands[op.name in ("weft.get", "weft.set") :]:
                    if v not in inside:
                        self.lookup(v)

    # -- variables ----------------------------------------------------------------------------
    def variable(self, slot: Value) -> Value:
        """A variable of all lanes; its values are taken from where threads keep it."""
        made = self.slots.get(slot)
        if made is None:
            assert isinstance(slot.owner, Op)
            kind = slot.owner.type_attr("elem_type")
            made = self.slots[slot] = self.body.variable(
                vector(self.lanes, kind), str(slot.owner.attrs["name"])
            )
            if slot in self.body.uniform:
                self.b.set(made, self.splat(self.b.get(self.body.uniform[slot], kind)))
            elif slot in self.body.arrays:
                self.b.set(made, self.load(*self.body.arrays[slot][:2]))
        return made

    # -- the loop -----------------------------------------------------------------------------
    def emit(self) -> None:
        """The loop, and what its variables are afterwards."""
        self.needs()
        self.leave_behind()
        if self.loop.name == "weft.for":
            self.rounds()
        else:
            self.ask()
        for slot, variable in self.left.items():
            array, kind, _ = self.body.arrays[slot]
            self.store(array, kind, self.b.get(variable, vector(self.lanes, kind)))

    def some(self) -> Value:
        """Whether a lane is still in the loop."""
        attrs = {"intrin": f"llvm.vector.reduce.or.v{self.lanes}i1", "effects": "none"}
        return self.b.value("llvm.call_intrinsic", (self.here(),), I1, attrs)

    def rounds(self) -> None:
        """Rounds that all make until none is left, with the same index."""
        b, (inner,), first = self.b, self.loop.regions, dict[Value, Value]()
        bounds = tuple(map(self.body.uniform_value, self.loop.operands))
        with b.into(Region()) as stop:
            b.emit("weft.break")
        b.live = True
        with b.into(inner.alike(first)) as made:
            b.branch(b.arith("xori", self.some(), b.constant(True, I1)), stop)
            b.live = True
            self.known[inner.args[0]] = self.splat(first[inner.args[0]])
            self.sequence(inner.ops, b.constant(True, vector(self.lanes, I1)))
        b.live = True
        b.emit("weft.for", bounds, (), dict(self.loop.attrs), (made,))
        self.note(self.here())

    def ask(self) -> None:
        """Rounds before which each lane is asked whether it goes on."""
        b = self.b
        condition, inner = self.loop.regions
        asked, done, every = Region(), Region(), b.constant(True, vector(self.lanes, I1))
        with b.into(asked):
            self.sequence(condition.ops[:-1], every)
            self.note(self.here())
            self.keep(self.lookup(condition.ops[-1].operands[0]))
            b.emit("weft.condition", (self.some(),))
        with b.into(done):
            b.live = True
            self.sequence(inner.ops, every)
        b.live = True
        b.emit("weft.while", (), (), {}, (asked, done))

    def leave_behind(self) -> None:
        """Room for what is read behind the loop."""
        b, forgotten = self.b, self.body.together.laned[self.loop]
        changed = {
            op.operands[0] for region in self.loop.regions for op in region.walk() if op.name == "weft.set"
        }
        for slot, variable in self.slots.items():
            if slot in changed and slot in self.body.arrays and slot not in forgotten:
                kind = vector(self.lanes, self.body.arrays[slot][1])
                self.left[slot] = self.body.variable(kind, "left")
                b.set(self.left[slot], b.get(variable, kind))

    def note(self, mask: Value) -> None:
        """What is read behind the loop is that of now, for these lanes."""
        b = self.b
        for slot, left in self.left.items():
            kind = vector(self.lanes, self.body.arrays[slot][1])
            b.set(left, b.select(mask, b.get(self.slots[slot], kind), b.get(left, kind)))

    def sequence(self, ops: list[Op], here: Value) -> Value:
        """Operations, where the lanes of a mask are; gives those that are there behind them."""
        b, mask = self.b, vector(self.lanes, I1)
        for op in ops:
            b.loc = op.loc
            if op.name == "weft.get":
                kind = vector(self.lanes, op.result.type)
                self.known[op.result] = b.get(self.variable(op.operands[0]), kind)
            elif op.name == "weft.set":
                slot, value = self.variable(op.operands[0]), self.lookup(op.operands[1])
                b.set(slot, b.select(here, value, b.get(slot, value.type)))
            elif op.name == "weft.if":
                taken = self.lookup(op.operands[0])
                other = b.arith("xori", taken, b.constant(True, mask))
                sides = [b.arith("andi", here, taken), b.arith("andi", here, other)]
                then, other = (self.sequence(r.ops, side) for r, side in zip(op.regions, sides, strict=True))
                here = b.arith("ori", then, other)
            elif op.name in JUMPS:
                if op.name == "weft.break":
                    self.note(b.select(self.here(), here, b.constant(False, mask)))
                    self.keep(b.arith("xori", here, b.constant(True, mask)))
                return b.constant(False, mask)
            else:
                self.known[op.result] = self.made(op.result)
        return here
