"""Threads of a CPU as lanes of vectors: what they compute, and how it gets from their memory and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING

from weft.abi.warp import WARP
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import F32, F64, I1, I8, I32, I64, FloatType, IntType, Type, vector
from weft.compiler.passes.thread_context import Context, linear

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody


def computes(op: Op) -> bool:
    """Whether an operation computes numbers from numbers, as lanes can."""
    numbers = op.name.startswith(("arith.", "math.", "gpu.")) and op.spec.pure
    return numbers and all(in_lane(v.type) for v in (*op.operands, *op.results))


def in_lane(kind: Type) -> bool:
    """Whether lanes compute with such numbers."""
    if isinstance(kind, FloatType):
        return kind in (F32, F64)
    return isinstance(kind, IntType) and kind.bits <= 64


def made_anew(v: Value, known: Callable[[Value], bool]) -> bool:
    """Whether lanes can compute a value from without anew, from numbers that are ``known`` or indices."""
    owner = v.owner
    return (
        known(v)
        or not isinstance(owner, Op)
        or (computes(owner) and all(made_anew(o, known) for o in owner.operands))
    )


class Vectors:
    """Emits what threads compute that follow each other, from that of ``context`` on."""

    def __init__(self, body: BarrierBody, lanes: int, context: Context) -> None:
        self.b, self.body, self.lanes, self.place = body.b, body, lanes, context.thread_id
        self.context = context
        self.linear = linear(body.b, context)
        """The first lane's number in the block."""
        self.known: dict[Value, Value] = {}

    # -- values -------------------------------------------------------------------------------
    def splat(self, v: Value) -> Value:
        """The same in all lanes."""
        return self.b.value("vector.splat", (v,), vector(self.lanes, v.type))

    def numbered(self, element: Type = I64) -> Value:
        """0, 1, 2, ..."""
        b, kind = self.b, vector(self.lanes, element)
        made = b.constant(0, kind)
        for n in range(1, self.lanes):
            made = b.value("vector.insertelement", (b.constant(n, element), made, b.constant(n, I32)), kind)
        return made

    def counted(self, first: Value) -> Value:
        """``first`` and the numbers behind it."""
        return self.b.arith("addi", self.splat(first), self.numbered())

    def lookup(self, v: Value) -> Value:
        """A value in all lanes; what comes from without is taken there before the loop."""
        found = self.known.get(v)
        if found is None:
            found = self.known[v] = self.made(v)
        return found

    def made(self, v: Value) -> Value:
        """The same, where it is not known yet."""
        body, owner = self.body, v.owner
        if v in body.uniform:
            return self.splat(body.uniform[v])
        if v in body.behind:
            first, own = body.behind[v]
            return reduce(partial(self.b.arith, "addi"), map(self.lookup, own), self.splat(first))
        if v in body.arrays and not self.makes(v):
            return self.load(*body.arrays[v][:2])
        if not isinstance(owner, Op):
            return self.splat(v)
        if owner.name == "gpu.thread_id":
            return self.index("xyz".index(str(owner.attrs["dimension"])))
        if owner.name == "gpu.thread_number":
            return self.counted(self.linear)
        if owner.name == "gpu.lane_id":
            last = self.b.constant(WARP - 1, vector(self.lanes, I64))
            return self.b.arith("andi", self.counted(self.linear), last)
        if owner.name == "gpu.subgroup_id":
            return self.warps()
        if owner.name.startswith("gpu."):
            return self.splat(body.uniform_value(v))
        return self.compute(owner)

    def makes(self, v: Value) -> bool:
        """Whether a value that threads keep is made here."""
        return False

    def index(self, axis: int) -> Value:
        """The threads' index along an axis."""
        return self.counted(self.place[0]) if axis == 0 else self.splat(self.place[axis])

    def warps(self) -> Value:
        """The numbers of the threads' warps."""
        size = self.b.constant(WARP, vector(self.lanes, I64))
        return self.b.arith("divui", self.counted(self.linear), size)

    def compute(self, op: Op) -> Value:
        """One operation on numbers, in all lanes."""
        kind = op.result.type
        if op.name == "arith.constant":
            return self.b.constant(op.number_attr("value"), vector(self.lanes, kind))
        operands = tuple([self.lookup(v) for v in op.operands])
        return self.b.value(op.name, operands, vector(self.lanes, kind), op.attrs)

    # -- memory -------------------------------------------------------------------------------
    def load(self, array: Value, kind: Type) -> Value:
        """What the lanes' threads keep in an array; a flag is a byte there."""
        b, held = self.b, I8 if kind is I1 else kind
        attrs = {"alignment": max(1, held.bits // 8), "invariant": False, "volatile": False}
        made = b.value("llvm.load", (b.at(array, self.linear, held),), vector(self.lanes, held), attrs)
        return made if held is kind else self.compare("ne", made, b.constant(0, made.type))

    def store(self, array: Value, kind: Type, value: Value) -> None:
        """Keep it; lanes without a thread have what they found."""
        b, held = self.b, I8 if kind is I1 else kind
        if held is not kind:
            value = b.value("arith.extui", (value,), vector(self.lanes, held))
        attrs = {"alignment": max(1, held.bits // 8), "volatile": False}
        b.emit("llvm.store", (b.at(array, self.linear, held), value), (), attrs)

    def compare(self, predicate: str, a: Value, c: Value) -> Value:
        """How integers compare in each lane."""
        return self.b.value("arith.cmpi", (a, c), vector(self.lanes, I1), {"predicate": predicate})
