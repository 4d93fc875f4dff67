"""Where the pointers of a checked kernel point, and what was there when they came about.

Each pointer value is followed from where it comes from (an argument, memory of the kernel's own), with
numbers: how many bytes behind its origin it points, which bytes there are around that, and where what is
noted of these is (``abi/shadow.py``). Of a pointer that was loaded from memory nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from weft.abi.artifact import FOUND, FaultSite
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Global, Op, Value
from weft.compiler.ir.types import I64, AddressSpace, PointerType
from weft.compiler.passes.faults import places_of, site_at
from weft.diagnostics.wrote import indexed, variable_given
from weft.dtype import DType

Number = int | Value
LEAST, MOST = -(1 << 62), 1 << 62
FAR = 256
"""Memory of arguments is taken to begin at a multiple of this; whoever promises an alignment is asked."""
VERBS: dict[str, Literal["reads", "writes", "updates"]] = {
    "llvm.load": "reads",
    "llvm.store": "writes",
    "llvm.atomicrmw": "updates",
    "llvm.cmpxchg": "updates",
}
_OWN = frozenset({"llvm.alloca", "llvm.mlir.addressof", "gpu.dynamic_shared_memory"})
_GLOBAL = AddressSpace.GLOBAL
_FINDING = frozenset({"llvm.inttoptr", "llvm.call", "func.call"})
_GIVING = frozenset({"stack_allocation", "dynamic_shared_memory"})


class Origin(NamedTuple):
    """Where a pointer points: so many bytes behind its origin, around which are bytes from low to high.

    ``cells`` is where what is noted of them is, 0 for nowhere. The address is a multiple of ``step``.
    """

    at: Number
    low: Number
    high: Number
    cells: Number = 0
    name: str = ""
    step: int = 1


_UNKNOWN = Origin(0, LEAST, MOST)


class Found(NamedTuple):
    """What the checks for races know of pointers that were made of numbers."""

    around: Callable[[Value], tuple[Value, Value, Value]]
    """Of the memory around an address: where in it that is, its size, and its cells."""
    hopped: Callable[[Value], Value]
    """How much further the cells of shared memory are so many blocks on."""


class Origins:
    """The origins of a kernel's pointers, as ``b`` comes by the operations that make them.

    ``cells_of`` says where what is noted of memory of the module is. Slots for the numbers of those
    pointers that are in slots are put into ``head``.
    """

    def __init__(
        self,
        b: Builder,
        kernel: Function,
        memory: Mapping[str, Global],
        cells_of: Callable[[Op], Number],
        head: list[Op],
        dynamic: Value,
        found: Found | None = None,
    ) -> None:
        self.b, self.kernel = b, kernel
        self.found = found
        self.addresses: dict[Value, Origin] = {}
        """Where numbers point that were made of pointers to shared memory."""
        self.memory = memory
        self.cells_of = cells_of
        self.head = head
        self.known: dict[Value, Origin] = {}
        self.dynamic = dynamic
        """How many bytes of shared memory the launch gives."""
        self._slots: dict[Value, tuple[Value, ...]] = {}

    def find(self, pointer: Value) -> None:
        """Note where a pointer points that comes from nowhere, as far as the launch knows of its memory."""
        if self.found is not None and isinstance(pointer.type, PointerType):
            at, size, cells = self.found.around(self.b.value("llvm.ptrtoint", (pointer,), I64))
            self.known[pointer] = Origin(at, 0, size, cells, FOUND)

    def of(self, pointer: Value) -> Origin:
        """That of a pointer."""
        return self.known.get(pointer, _UNKNOWN)

    def follow(self, op: Op) -> None:
        """Note where the pointers point that an operation makes or keeps."""
        b = self.b
        if self.found is not None:
            self.follow_address(op, self.found)
        if op.name == "weft.set" and isinstance(op.operands[1].type, PointerType):
            origin = self.of(op.operands[1])
            for place, number in zip(self.slots_of(op.operands[0]), origin[:4], strict=True):
                b.set(place, self.value(number))
            return
        if len(op.results) != 1 or not isinstance(op.result.type, PointerType):
            return
        made = _UNKNOWN
        if op.name in _FINDING:
            made = self.addresses.get(op.operands[0]) if op.name == "llvm.inttoptr" else None
            if made is None:
                self.find(op.result)
            else:
                self.known[op.result] = made
            return
        if op.name == "weft.get":
            slot = op.operands[0]
            at, low, high, cells = [b.get(place, I64) for place in self.slots_of(slot)]
            made = Origin(at, low, high, cells, _name(slot))
        elif op.name == "llvm.alloca" and not op.operands:
            size = op.int_attr("count") * size_of(op.type_attr("elem_type").bits)
            made = Origin(0, 0, size, step=op.int_attr("alignment"))
        elif op.name == "llvm.mlir.addressof":
            found = self.memory[str(op.attrs["global_name"])]
            if not found.external:
                size = bytes_of(op, found)
                made = Origin(0, 0, size, self.cells_of(op), step=found.align)
            else:
                made = Origin(0, 0, self.dynamic, self.cells_of(op), step=found.align)
        elif op.name == "gpu.dynamic_shared_memory":
            made = Origin(0, 0, self.dynamic, self.cells_of(op), step=16)
        elif op.name == "llvm.getelementptr":
            base, size = self.of(op.operands[0]), size_of(op.type_attr("elem_type").bits)
            by = self.times(op.operands[1], size)
            step = math.gcd(base.step, by if isinstance(by, int) else size * factor_of(op.operands[1]))
            made = base._replace(at=self.sum(base.at, by), step=step)
        elif op.name == "llvm.addrspacecast":
            made = self.of(op.operands[0])
        elif op.name == "arith.select":
            condition, *two = op.operands
            one, other = map(self.of, two)
            ends = zip(one[:4], other[:4], strict=True)
            at, low, high, cells = [b.select(condition, self.value(x), self.value(y)) for x, y in ends]
            name = one.name if one.name == other.name else ""
            made = Origin(at, low, high, cells, name, math.gcd(one.step, other.step))
        if op.name in _OWN and not made.name:
            made = made._replace(name=self.variable(op))
        self.known[op.result] = made

    def follow_address(self, op: Op, found: Found) -> None:
        """Note where a number points: another block's memory, or what a lane asks another lane for."""
        b = self.b
        if op.name == "llvm.ptrtoint" and _space(op.operands[0]) == AddressSpace.SHARED:
            self.addresses[op.result] = self.of(op.operands[0])
        origin = self.addresses.get(op.operands[0]) if len(op.operands) == 2 and op.results else None
        if origin is None or op.operands[1] in self.addresses:
            return
        number, by = op.operands
        blocks = _blocks_on(by)
        if op.name == "gpu.shuffle":
            begins = b.arith("subi", number, self.value(origin.at))
            made = origin._replace(at=b.arith("subi", op.result, begins), step=1)
        elif op.name == "arith.addi" and blocks is not None:
            made = origin._replace(cells=self.sum(origin.cells, found.hopped(blocks)))
        elif op.name in ("arith.addi", "arith.subi"):
            made = origin._replace(at=b.arith(op.name[6:], self.value(origin.at), by), step=1)
        else:
            return
        self.addresses[op.result] = made

    def variable(self, op: Op) -> str:
        """The variable of the program that is given memory of the kernel's own, if it is one."""
        loc = op.loc
        file = self.kernel.file if len(loc) == 2 else loc[2].file
        return variable_given(file, *loc[:2], _GIVING)

    def slots_of(self, slot: Value) -> tuple[Value, ...]:
        """The slots for the numbers of the pointer in a slot."""
        if slot not in self._slots:
            names = [f"{_name(slot)}.{name}" for name in ("at", "low", "high", "cells")]
            self._slots[slot] = tuple([self.b.slot(I64, name, self.head) for name in names])
        return self._slots[slot]

    def value(self, number: Number) -> Value:
        """A number as a value."""
        return self.b.constant(number, I64) if isinstance(number, int) else number

    def sum(self, a: Number, c: Number) -> Number:
        """The sum of two."""
        if isinstance(a, int) and isinstance(c, int):
            return a + c
        if a == 0:
            return c
        return self.b.arith("addi", self.value(a), self.value(c))

    def times(self, index: Value, size: int) -> Number:
        """An index in bytes."""
        known = integer(index)
        if known is not None:
            return known * size
        b = self.b
        wide = index if index.type is I64 else b.value("arith.extsi", (index,), I64)
        return wide if size == 1 else b.arith("muli", wide, b.constant(size, I64))


def factor_of(index: Value) -> int:
    """A number that an index is a multiple of."""
    by = index.owner
    if isinstance(by, Op) and by.name == "arith.muli":
        for each in by.operands:
            known = integer(each)
            if known is not None:
                return known
    return 1


def bytes_of(op: Op, memory: Global) -> int:
    """How many bytes of a module's memory an operation means that names it: of scratch its own part."""
    own = op.attrs.get("count")
    return own if isinstance(own, int) else memory.count * size_of(memory.element.bits)


def size_of(bits: int) -> int:
    """Bytes in memory of a type of so many bits."""
    return max(1, bits // 8)


def accessed(op: Op) -> int:
    """How many bytes an access takes."""
    return size_of((op.result if op.name == "llvm.load" else op.operands[1]).type.bits)


def alignment_of(op: Op) -> int:
    """To how many bytes an access is taken to be aligned."""
    return op.int_attr("alignment") if "alignment" in op.attrs else accessed(op)


def granule_of(functions: Sequence[Function], chosen: Callable[[AddressSpace], bool]) -> int:
    """The power of two of bytes, 8 at most, that accesses of these spaces are multiples of and begin at."""
    found = 8
    for op in [op for f in functions for op in f.body.walk()]:
        place = op.operands[0].type if op.name in VERBS else None
        if isinstance(place, PointerType) and chosen(place.space):
            found = math.gcd(found, accessed(op), alignment_of(op))
    return found


def in_launches(space: AddressSpace) -> bool:
    """Whether all threads of a launch may use what is there."""
    return space not in (AddressSpace.LOCAL, AddressSpace.SHARED)


def in_blocks(space: AddressSpace) -> bool:
    """Whether those of a block may."""
    return space in (AddressSpace.SHARED, AddressSpace.SHARED_CLUSTER, AddressSpace.GENERIC)


def access_site(kind: str, kernel: Function, op: Op, origin: Origin, *, counted: bool = False) -> FaultSite:
    """The site of a fault of an access; a race delivers first what it races with."""
    pieces = (DType.int64,) * (5 if kind == "data-race" else 4)
    size = op.attrs.get("element", accessed(op))
    name = origin.name or _as_written(kernel, op)
    what = {"verb": VERBS[op.name], "name": name, "size": size, "alignment": alignment_of(op)}
    return site_at(kernel, op, kind, pieces, **what, scope=scope_of(op), counted=counted)


def _as_written(kernel: Function, op: Op) -> str:
    """The name of a table or an array of the thread's own that no statement allocates, as it is indexed."""
    (place, *_), own = places_of(kernel, op.loc)
    span: Any = op.attrs.get("span")
    return indexed(place[0], span) if own and span else ""


def scope_of(op: Op) -> Literal["", "block", "device"]:
    """Among whom an access is atomic, if it is."""
    if "ordering" not in op.attrs and op.attrs.get("volatile") is not True:
        return ""
    return "block" if op.attrs.get("syncscope") == "block" and _space(op.operands[0]) == _GLOBAL else "device"


def _space(pointer: Value) -> AddressSpace:
    return pointer.type.space if isinstance(pointer.type, PointerType) else AddressSpace.GENERIC


def _blocks_on(by: Value) -> Value | None:
    """How many blocks on it is to the shared memory of another, if a number is that."""
    op = by.owner
    if isinstance(op, Op) and op.name == "arith.muli":
        for one, other in (op.operands, op.operands[::-1]):
            if isinstance(other.owner, Op) and other.owner.name == "gpu.shared_stride":
                return one
    return None


def _name(slot: Value) -> str:
    return str(slot.owner.attrs["name"]) if isinstance(slot.owner, Op) else ""
