"""Checked mode, where threads are loops: what each thread keeps of its copies that go on beside it.

What that is for stands in ``compiler/copies_under_way.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Module, Op, Region, Value
from weft.compiler.ir.types import I64

COPIES = "weft.copies"
_ALL = (1 << 63) - 1
_Call = Callable[..., Value | None]


def has_copies(ops: list[Op]) -> bool:
    """Whether there are copies among operations, and so may be under way."""
    return any(op.name == COPIES and op.attrs["what"] == "begins" for op in ops)


def forget_copies(module: Module) -> None:
    """Leave out what was noted of copies."""
    for f in module.functions:
        _forget(f.body)


def _forget(region: Region) -> None:
    region.ops[:] = [op for op in region.ops if op.name != COPIES]
    for op in region.ops:
        for inner in op.regions:
            _forget(inner)


class UnderWay:
    """The copies of one kernel, whose slots are put into ``head``; ``call`` calls what notes them."""

    def __init__(self, b: Builder, call: _Call, head: list[Op]) -> None:
        self.b, self.call = b, call
        self.begins = False
        """Whether a copy is being made where ``b`` stands."""
        self.barrier: Value | None = None
        """The address of the barrier that counts its bytes, if one does."""
        self.latest, self.groups = (b.slot(I64, name, head) for name in ("copies", "groups"))
        for slot in (self.latest, self.groups):
            b.set(slot, b.constant(0, I64))

    def order(self, op: Op, me: Callable[[], Value]) -> None:
        """A thread begins or has begun a copy, ends a group, or waits; ``me`` gives a record of it."""
        b, what = self.b, op.attrs["what"]
        barrier = b.value("llvm.ptrtoint", op.operands, I64) if op.operands else None
        if what in ("begins", "ends"):
            self.begins, self.barrier = what == "begins", barrier
            return
        if barrier is not None:
            self.call("weft.arrived.1", barrier)
            return
        groups = b.get(self.groups, I64)
        if what == "group":
            b.set(self.groups, b.arith("addi", groups, b.constant(1, I64)))
            return
        until = b.constant(_ALL, I64)
        if what == "left":
            until = b.arith("subi", groups, b.constant(op.int_attr("count"), I64))
            zero = b.constant(0, I64)
            until = b.select(b.compare("slt", until, zero), zero, until)
        latest = self.call("weft.wait.3", me(), b.get(self.latest, I64), until)
        assert latest is not None
        b.set(self.latest, latest)

    def note(self, cells: Value, at: Value, me: Value, count: int, shift: int) -> None:
        """Note a copy to so many cells."""
        b = self.b
        numbers = b.constant(count, I64), b.constant(shift, I64)
        if self.barrier is not None:
            self.call("weft.bulk.6", cells, at, me, self.barrier, *numbers)
            return
        latest = self.call(
            "weft.copy.7", cells, at, me, b.get(self.latest, I64), b.get(self.groups, I64), *numbers
        )
        assert latest is not None
        b.set(self.latest, latest)
