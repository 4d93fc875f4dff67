"""Code of one piece of a kernel on a CPU, for one thread: values from other pieces are read from arrays."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

from weft.abi.warp import WARP
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I8, I64, Type
from weft.compiler.passes.thread_context import Context, Rewriter, linear

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody
    from weft.compiler.passes.own_places import Held
    from weft.compiler.passes.quotients import Part


class Segment(Rewriter):
    """Copies one segment for the thread at hand."""

    def __init__(self, body: BarrierBody, context: Context, home: object) -> None:
        super().__init__(body.b, context, body.frame, body.head)
        self.body = body
        self.home = home
        self.mapping.update(body.uniform)
        self.linear: Value | None = None
        self.inside: Part | None = None
        """What is known of some of the threads."""
        self.own: Held | None = None
        """The place in shared memory that a register holds."""

    def thread(self) -> Value:
        """The thread's number in its block."""
        if self.linear is None:
            self.linear = linear(self.b, self.context)
        return self.linear

    def at(self, array: Value, kind: Type, count: int = 1) -> Value:
        """The address of this thread's part of an array."""
        b = self.b
        index = self.thread()
        begin = self.body.in_strip.get(array)
        if begin is not None:
            index = b.arith("subi", index, begin)
        if count != 1:
            index = b.arith("muli", index, b.constant(count, I64))
        return b.at(array, index, kind)

    def set_alive(self, flag: int) -> None:
        """Note whether the thread takes part in what follows."""
        b = self.b
        assert self.body.alive is not None
        b.set(self.at(self.body.alive, I8), b.constant(flag, I8))

    def is_alive(self) -> Value:
        """Whether the thread has not returned yet."""
        b = self.b
        assert self.body.alive is not None
        flag = b.get(self.at(self.body.alive, I8), I8)
        return b.compare("ne", flag, b.constant(0, I8))

    def returns(self, op: Op) -> None:
        """A return: the thread is skipped from then on."""
        b, left = self.b, self.body.left
        if left is not None:
            self.set_alive(0)
            b.set(left, b.arith("subi", b.get(left, I64), b.constant(1, I64)))
        b.emit("weft.exit_thread")

    def lookup(self, v: Value) -> Value:
        """The copy of a value, or what the thread kept of it."""
        found = self.mapping.get(v)
        if found is not None:
            return found
        body = self.body
        behind = body.behind.get(v)
        if behind is not None:
            first, own = behind
            return reduce(partial(self.b.arith, "addi"), map(self.lookup, own), first)
        scalar = body.scalars.get(v)
        if scalar is not None:
            return scalar
        kept = body.arrays.get(v)
        if kept is not None:
            array, kind, count = kept
            address = self.at(array, kind, count)
            owner = v.owner
            if isinstance(owner, Op) and owner.name == "llvm.alloca":
                return self.b.value("llvm.addrspacecast", (address,), v.type)
            if isinstance(owner, Op) and owner.name == "weft.slot":
                return address
            return self.b.get(address, kind)
        owner = v.owner
        if isinstance(owner, Op) and v in body.home and body.home[v] is not self.home:
            super().op(owner)
            return self.mapping.pop(v)
        return v

    def shuffle(self, op: Op) -> None:
        """What another lane's place of an array holds."""
        b, (value, lane) = self.b, op.operands
        kept = self.body.arrays.get(value)
        if kept is None:  # the same in all lanes
            self.mapping[op.result] = self.lookup(value)
            return
        own, last = self.thread(), b.constant(WARP - 1, I64)
        first = b.arith("andi", own, b.constant(-WARP, I64))
        other = b.arith("addi", first, b.arith("andi", self.lookup(lane), last))
        self.mapping[op.result] = b.get(b.at(kept[0], other, kept[1]), kept[1])

    def op(self, op: Op) -> None:
        """Copy one operation, and keep what other pieces need of it."""
        if op.name in ("weft.slot", "llvm.alloca"):
            return
        if self.own is not None and op in self.own.accesses:
            if op.name == "llvm.store":
                self.b.set(self.own.register, self.lookup(op.operands[1]))
            else:
                self.mapping[op.result] = self.b.get(self.own.register, self.own.kind)
        elif op.name == "gpu.shuffle":
            self.shuffle(op)
        elif self.inside is None or not self.inside.op(op, self):
            super().op(op)
        for v in op.results:
            kept = self.body.arrays.get(v)
            made = self.mapping.get(v)
            if made is None:
                continue
            if kept is not None:
                self.b.set(self.at(kept[0], kept[1]), made)
            cell = self.body.cells.get(v)
            if cell is not None:
                self.b.set(cell, made)
