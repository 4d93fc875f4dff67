"""What lanes of a warp hand each other, and what they compute of it: a warp is one vector, held in registers.

Where all lanes that others read from are known, as in a butterfly, one shuffle of the vector does it, and a
vote is its bits. What is computed from one exchange to the next goes on in vectors; only what others need
goes to memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.abi.warp import WARP
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I32, vector
from weft.compiler.passes.thread_context import warp_of
from weft.compiler.passes.vectors import Vectors, computes
from weft.record import replace

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody

_FAR = 16
"""Operations behind an exchange that are still done in vectors of 32; LLVM's loops take fewer registers."""


def is_exchange(op: Op) -> bool:
    """Whether lanes hand each other values in a way that is known."""
    return op.name == "gpu.ballot" or (op.name == "gpu.shuffle" and "mask" in op.attrs)


class Exchanges:
    """Operations of a straight line, from an exchange on, that a warp does as one vector."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self._made: set[Value] = set()
        self._since = 0

    def takes(self, op: Op, once: bool) -> bool:
        """Whether an operation goes on with them, as does what is done ``once`` before; it is among them."""
        if is_exchange(op):
            self._since = 0
            self._made.add(op.result)
        elif not self.ops or not (once or computes(op)):
            return False
        elif not self._made.isdisjoint(op.operands):
            self._since += 1
            if self._since > _FAR:
                return False
            self._made.add(op.result)
        self.ops.append(op)
        return True

    def taken(self) -> tuple[list[Op], list[Op]]:
        """Exchanges with what is made of them and for them, and what else was among them; none are left."""
        needed, apart, ops = set[Value](), list[Op](), list[Op]()
        for op in reversed(self.ops):
            if op.result in self._made or op.result in needed:
                needed.update(op.operands)
                ops.append(op)
            else:
                apart.append(op)
        self.ops, self._made = [], set()
        return ops[::-1], apart[::-1]


class Warp(Vectors):
    """Emits such operations for the warp at hand."""

    def __init__(self, body: BarrierBody, ops: list[Op]) -> None:
        super().__init__(body, WARP, replace(body.context, thread=body.warp, warp=body.number))
        self.ops = ops
        self._inside = {v for op in ops for v in op.results}

    def makes(self, v: Value) -> bool:
        """Whether it is among the operations."""
        return v in self._inside

    def made(self, v: Value) -> Value:
        """A value in all lanes."""
        op, b = v.owner, self.b
        if not isinstance(op, Op) or v not in self._inside or not is_exchange(op):
            return super().made(v)
        value = self.lookup(op.operands[0])
        if op.name == "gpu.ballot":
            return self.splat(b.value("arith.bitcast", (value,), I32))
        return b.value("vector.shuffle", (value, value), vector(WARP, v.type), {"mask": op.attrs["mask"]})

    def index(self, axis: int) -> Value:
        """The threads' index along an axis; a warp may go through several rows."""
        b, c, rest = self.b, self.body.context, self.counted(self.linear)
        for size in c.block_dim[:axis]:
            rest = b.arith("divui", rest, self.splat(size))
        return rest if axis == c.rank - 1 else b.arith("remui", rest, self.splat(c.block_dim[axis]))

    def warps(self) -> Value:
        """The warp's number."""
        return self.splat(warp_of(self.b, self.context))

    def emit(self) -> None:
        """All of them; what others need is kept."""
        b, body = self.b, self.body
        for op in self.ops:
            b.loc = op.loc
            for v in op.results:
                kept, cell = body.arrays.get(v), body.cells.get(v)
                if kept is not None:
                    self.store(kept[0], kept[1], self.lookup(v))
                if cell is not None:
                    first = b.constant(0, I32)
                    b.set(cell, b.value("vector.extractelement", (self.lookup(v), first), v.type))
