"""The record of a launch (``weft.abi.cpu_launch``), as passes read and write it."""

from __future__ import annotations

import ctypes

from weft.abi.cpu_launch import LaunchBlock
from weft.abi.cpu_limits import MOST_THREADS
from weft.abi.records import place_of
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import I8, I32, I64, AddressSpace, pointer

RECORD = pointer(AddressSpace.GENERIC)


class LaunchRecord:
    """The record at ``address``."""

    def __init__(self, b: Builder, address: Value) -> None:
        self.b = b
        self.address = address

    @staticmethod
    def local(b: Builder, head: list[Op]) -> LaunchRecord:
        """A record of the function's own."""
        attrs = {"elem_type": I8, "count": ctypes.sizeof(LaunchBlock), "alignment": 8}
        op = Op(SPECS["llvm.alloca"], (), attrs, (), (RECORD,), b.loc)
        head.append(op)
        return LaunchRecord(b, op.result)

    def at(self, name: str, n: int = 0) -> Value:
        """The address of a field, or of its n-th element."""
        b, (offset, size) = self.b, place_of(LaunchBlock, name)
        return b.at(self.address, b.constant(offset + n * size, I64), I8)

    def field(self, name: str, n: int = 0) -> Value:
        """The same field, widened to 64 bits."""
        b, (_, size) = self.b, place_of(LaunchBlock, name)
        attrs = {"alignment": size, "invariant": False, "volatile": False}
        value = b.value("llvm.load", (self.at(name, n),), I32 if size == 4 else I64, attrs)
        return b.value("arith.extui", (value,), I64) if size == 4 else value

    def fields(self, name: str) -> list[Value]:
        """A field along x, y and z."""
        return [self.field(name, n) for n in range(3)]

    def shared_stride(self, size: int) -> Value:
        """How far apart the shared memory of blocks lies; ``size`` bytes of it the kernel names itself."""
        b = self.b
        whole = b.arith("addi", self.field("dynamic_shared"), b.constant(size + 127, I64))
        return b.arith("andi", whole, b.constant(-128, I64))

    @staticmethod
    def extents(f: Function) -> dict[Value, tuple[int, int]]:
        """What a function reads of the extents of blocks and grid, and how far these go."""
        ends = {"block": (0, MOST_THREADS), "grid": (0, (1 << 31) - 1)}
        begins = {place_of(LaunchBlock, name)[0] + 4 * n: end for name, end in ends.items() for n in range(3)}
        found = dict[Value, tuple[int, int]]()
        for op in f.body.ops:
            load = op.operands[0].owner if op.name == "arith.extui" else None
            at = load.operands[0].owner if isinstance(load, Op) and load.name == "llvm.load" else None
            if isinstance(at, Op) and at.name == "llvm.getelementptr" and at.operands[0] is f.args[-1]:
                offset = integer(at.operands[1])
                if offset in begins:
                    found[op.result] = begins[offset]
        return found

    def set(self, name: str, value: Value, n: int = 0) -> None:
        """Write a field."""
        b, (_, size) = self.b, place_of(LaunchBlock, name)
        if size == 4:
            value = b.value("arith.trunci", (value,), I32)
        b.emit("llvm.store", (self.at(name, n), value), (), {"alignment": size, "volatile": False})

    def take(self, count: Value) -> Value:
        """The next blocks, so many, which are this worker's."""
        attrs = {"bin_op": "add", "ordering": "monotonic", "syncscope": ""}
        return self.b.value("llvm.atomicrmw", (self.at("next"), count), I64, attrs)
