"""Checked mode: every access is of memory that the pointer it is made by was for.

Each pointer value is followed from where it comes from (an argument, memory of the kernel's own), with three
numbers: how many bytes behind its origin it points, and which bytes there are around that. An access outside
does not happen: the host is told, what is read is 0. So it is for a pointer's own memory, not for what lies
beside it, as in W. Xu, D. DuVarney, R. Sekar: An efficient and backwards-compatible transformation to ensure
memory safety of C programs (2004). What is known of no pointer (one loaded from memory) is not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from weft.abi.artifact import FaultSite
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I1, I64, IntType, PointerType, Type
from weft.compiler.passes.faults import count_assertions, tell
from weft.compiler.passes.inline_barriers import inline
from weft.dtype import DType

_Number = int | Value
_LEAST, _MOST = -(1 << 62), 1 << 62
_VERBS: dict[str, Literal["reads", "writes", "updates"]] = {
    "llvm.load": "reads",
    "llvm.store": "writes",
    "llvm.atomicrmw": "updates",
    "llvm.cmpxchg": "updates",
}


class _Origin(NamedTuple):
    """Where a pointer points: so many bytes behind its origin, around which are bytes from low to high."""

    at: _Number
    low: _Number
    high: _Number
    name: str = ""


_UNKNOWN = _Origin(0, _LEAST, _MOST)


def check_bounds(module: Module, new_site: Callable[[Function, FaultSite], int]) -> None:
    """Have the kernels of a module check what they access, in place.

    Each takes two more arguments for every pointer among its own. ``new_site`` gives a site its number.
    """
    ops = [op for f in module.functions for op in f.body.walk()]
    pointed = {str(op.attrs["callee"]) for op in ops if op.name == "func.constant"}
    inline(module, lambda f: f.name not in pointed)
    count_assertions(module)
    for kernel in [f for f in module.functions if f.kernel]:
        _Checked(module, kernel, lambda site, kernel=kernel: new_site(kernel, site)).run()


class _Checked:
    """The body of one kernel."""

    def __init__(self, module: Module, kernel: Function, new_site: Callable[[FaultSite], int]) -> None:
        self.kernel = kernel
        self.new_site = new_site
        self.memory = {g.name: g for g in module.globals}
        self.b = Builder()
        self.head: list[Op] = []
        self.origins: dict[Value, _Origin] = {}
        self.slots: dict[Value, tuple[Value, Value, Value]] = {}

    def run(self) -> None:
        """Check all accesses."""
        for arg in [a for a in self.kernel.args if isinstance(a.type, PointerType)]:
            low, high = (Value(I64, None, f"{arg.name}.{end}") for end in ("low", "high"))
            self.kernel.args += [low, high]
            self.origins[arg] = _Origin(0, low, high, arg.name)
        self.region(self.kernel.body)
        self.kernel.body.ops[:0] = self.head

    def region(self, region: Region) -> None:
        ops, region.ops[:] = region.ops[:], []
        b = self.b
        with b.into(region):
            for op in ops:
                b.live, b.loc = True, op.loc
                for inner in op.regions:
                    self.region(inner)
                b.live, b.loc = True, op.loc
                if op.name in _VERBS:
                    self.access(op)
                else:
                    region.ops.append(op)
                self.follow(op)

    def follow(self, op: Op) -> None:
        """Note where the pointers point that an operation makes or keeps."""
        b = self.b
        if op.name == "weft.set" and isinstance(op.operands[1].type, PointerType):
            origin = self.origin(op.operands[1])
            for place, number in zip(self.slots_of(op.operands[0]), origin[:3], strict=True):
                b.set(place, self.value(number))
            return
        if len(op.results) != 1 or not isinstance(op.result.type, PointerType):
            return
        made = _UNKNOWN
        if op.name == "weft.get":
            slot = op.operands[0]
            at, low, high = [b.get(place, I64) for place in self.slots_of(slot)]
            made = _Origin(at, low, high, _name(slot))
        elif op.name == "llvm.alloca" and not op.operands:
            made = _Origin(0, 0, op.int_attr("count") * _size(op.type_attr("elem_type").bits))
        elif op.name == "llvm.mlir.addressof":
            found = self.memory[str(op.attrs["global_name"])]
            if not found.external:
                made = _Origin(0, 0, found.count * _size(found.element.bits))
        elif op.name == "llvm.getelementptr":
            base, size = self.origin(op.operands[0]), _size(op.type_attr("elem_type").bits)
            made = base._replace(at=self.sum(base.at, self.times(op.operands[1], size)))
        elif op.name == "llvm.addrspacecast":
            made = self.origin(op.operands[0])
        elif op.name == "arith.select":
            condition, *two = op.operands
            one, other = map(self.origin, two)
            ends = zip(one[:3], other[:3], strict=True)
            at, low, high = [b.select(condition, self.value(x), self.value(y)) for x, y in ends]
            made = _Origin(at, low, high, one.name if one.name == other.name else "")
        self.origins[op.result] = made

    def access(self, op: Op) -> None:
        """Have an access happen where it is within its memory."""
        b, place = self.b, op.operands[0]
        kind = op.result.type if op.name == "llvm.load" else op.operands[1].type
        at, low, high, name = self.origin(place)
        size = _size(kind.bits)
        if low is _LEAST or _is_within(at, low, high, size):
            b.region.ops.append(op)
            return
        begins = b.compare("sle", self.value(low), self.value(at))
        ends = b.compare("sle", self.value(self.sum(at, size)), self.value(high))
        within = b.value("arith.andi", (begins, ends), I1)
        loc = op.loc
        file = self.kernel.file if len(loc) == 2 else loc[2].file
        pieces = (DType.int64,) * 4
        site = self.new_site(FaultSite("out-of-bounds", pieces, file, *loc[:2], _VERBS[op.name], name, size))
        told, given = tuple(map(self.value, (at, low, high))), op.results
        kept = [b.slot(r.type, "read", self.head) for r in given]
        op.results = tuple([Value(r.type, op) for r in given])
        with b.into(Region()) as inside:
            b.region.ops.append(op)
            for slot, result in zip(kept, op.results, strict=True):
                b.set(slot, result)
        with b.into(Region()) as outside:
            for slot, nothing in zip(kept, self.nothing(op), strict=True):
                b.set(slot, nothing)
            address = b.value("llvm.ptrtoint", (place,), I64)
            tell(b, site, (*told, address))
        b.branch(within, inside, outside)
        for slot, result in zip(kept, given, strict=True):
            got = b.emit("weft.get", (slot,), (result.type,))
            got.results, result.owner = (result,), got

    def nothing(self, op: Op) -> list[Value]:
        """What an access gives that does not happen, as if there were zeros."""
        made = [self.zero(r.type) for r in op.results]
        if op.name == "llvm.cmpxchg" and isinstance(op.operands[1].type, IntType):
            made[1] = self.b.compare("eq", op.operands[1], made[0])
        return made

    def zero(self, kind: Type) -> Value:
        if isinstance(kind, PointerType):
            return self.b.value("llvm.inttoptr", (self.b.constant(0, I64),), kind)
        return self.b.constant(0, kind)

    def origin(self, pointer: Value) -> _Origin:
        return self.origins.get(pointer, _UNKNOWN)

    def slots_of(self, slot: Value) -> tuple[Value, Value, Value]:
        """The slots for the numbers of the pointer in a slot."""
        if slot not in self.slots:
            names = [f"{_name(slot)}.{name}" for name in ("at", "low", "high")]
            at, low, high = [self.b.slot(I64, name, self.head) for name in names]
            self.slots[slot] = at, low, high
        return self.slots[slot]

    def value(self, number: _Number) -> Value:
        return self.b.constant(number, I64) if isinstance(number, int) else number

    def sum(self, a: _Number, c: _Number) -> _Number:
        if isinstance(a, int) and isinstance(c, int):
            return a + c
        if a == 0:
            return c
        return self.b.arith("addi", self.value(a), self.value(c))

    def times(self, index: Value, size: int) -> _Number:
        """An index in bytes."""
        owner = index.owner
        if isinstance(owner, Op) and owner.name == "arith.constant":
            return owner.int_attr("value") * size
        b = self.b
        wide = index if index.type is I64 else b.value("arith.extsi", (index,), I64)
        return wide if size == 1 else b.arith("muli", wide, b.constant(size, I64))


def _name(slot: Value) -> str:
    return str(slot.owner.attrs["name"]) if isinstance(slot.owner, Op) else ""


def _is_within(at: _Number, low: _Number, high: _Number, size: int) -> bool:
    """Whether that is known."""
    if isinstance(at, Value) or isinstance(low, Value) or isinstance(high, Value):
        return False
    return low <= at <= high - size


def _size(bits: int) -> int:
    return max(1, bits // 8)
