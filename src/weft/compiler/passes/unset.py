"""Checked mode: reads of a thread's own arrays where it has written nothing.

Beside each array lies another with a byte for each granule that is written: 0 before, 1 after. An array whose
address goes anywhere but into accesses is left out, as it may be written there.
"""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.types import I1, I8, I64, AddressSpace, pointer
from weft.compiler.passes.faults import NewSite, tell
from weft.compiler.passes.origins import VERBS, Origin, Origins, access_site, accessed, granule_of, size_of

_STEPS = frozenset({"llvm.getelementptr", "llvm.addrspacecast"})


class Unset:
    """The checks of one kernel, which are emitted where ``b`` stands."""

    def __init__(self, b: Builder, kernel: Function, new_site: NewSite, head: list[Op]) -> None:
        self.b, self.kernel, self.new_site, self.head = b, kernel, new_site, head
        self.shift = granule_of([kernel], lambda space: space == AddressSpace.LOCAL).bit_length() - 1
        self.arrays: dict[Value, Value] = {}
        """The array that a pointer is of."""
        self.written: dict[Value, Value] = {}
        """What lies beside each."""

    def begin(self) -> None:
        """Have all threads begin with arrays in which nothing is written."""
        self.find()
        for array in dict.fromkeys(self.arrays.values()):
            assert isinstance(array.owner, Op)
            self.written[array] = self.beside(array.owner)

    def find(self) -> None:
        """Find the arrays and what points to them."""
        found = self.arrays
        lost: set[Value] = set()
        for op in self.kernel.body.walk():
            if op.name == "llvm.alloca" and not op.operands:
                found[op.result] = op.result
            for n, operand in enumerate(op.operands):
                array = found.get(operand)
                if array is None:
                    continue
                if op.name in _STEPS and n == 0:
                    found[op.result] = array
                elif op.name not in VERBS or n > 0:
                    lost.add(array)
        self.arrays = {pointer: array for pointer, array in found.items() if array not in lost}

    def beside(self, array: Op) -> Value:
        """The bytes for an array, 0 when a thread begins."""
        b, size = self.b, array.int_attr("count") * size_of(array.type_attr("elem_type").bits)
        count = max(1, size >> self.shift)
        with b.into(Region([], self.head)):
            place = {"elem_type": I8, "count": count, "alignment": 16}
            made = b.value("llvm.alloca", (), pointer(AddressSpace.LOCAL), place)
            bounds = b.constant(0, I64), b.constant(count, I64), b.constant(1, I64)
            body = Region()
            body.args.append(Value(I64, body, "cell"))
            with b.into(body):
                self.put(b.at(made, body.args[0], I8), 0)
            b.emit("weft.for", bounds, (), {"parallel": False}, (body,))
        return made

    def put(self, at: Value, byte: int) -> None:
        """Set one of the bytes."""
        attrs = {"alignment": 1, "volatile": False}
        self.b.emit("llvm.store", (at, self.b.constant(byte, I8)), (), attrs)

    def check(self, op: Op, origin: Origin, origins: Origins) -> None:
        """Note a write; say where what is read is not written."""
        array = self.arrays.get(op.operands[0])
        if array is None:
            return
        b, at = self.b, origins.value(origin.at)
        first = b.arith("shrsi", at, b.constant(self.shift, I64)) if self.shift else at
        count = max(1, accessed(op) >> self.shift)
        cells = [b.at(self.written[array], origins.value(origins.sum(first, n)), I8) for n in range(count)]
        if VERBS[op.name] != "writes":
            attrs = {"alignment": 1, "invariant": False, "volatile": False}
            lacks = b.constant(False, I1)
            for cell in cells:
                byte = b.value("llvm.load", (cell,), I8, attrs)
                lacks = b.arith("ori", lacks, b.compare("eq", byte, b.constant(0, I8)))
            site = self.new_site(access_site("uninitialised", self.kernel, op, origin))
            with b.into(Region()) as told:
                address = b.value("llvm.ptrtoint", (op.operands[0],), I64)
                tell(b, site, (*map(origins.value, origin[:3]), address))
            b.branch(lacks, told)
        if VERBS[op.name] != "reads":
            for cell in cells:
                self.put(cell, 1)
