"""Appends operations to the region at hand, stamped with the user's line."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from weft.compiler.ir.core import Attribute, Function, Loc, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import I1, SLOT, Type

_NO_ATTRS: dict[str, Attribute] = {}


class Builder:
    """Where building stands: function, region, line, and whether code here is reached."""

    most = 1 << 62
    """More operations in one region are too many."""

    def __init__(self) -> None:
        self.function: Function | None = None
        self.region: Region = Region()
        self.loc: Loc = (0, 0)
        self.live: bool = True

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...] = (),
        types: tuple[Type, ...] = (),
        attrs: Mapping[str, Attribute] = _NO_ATTRS,
        regions: tuple[Region, ...] = (),
    ) -> Op:
        """Append one operation; where the code is unreachable it is made but not kept."""
        op = Op(SPECS[name], operands, attrs, regions, types, self.loc)
        if self.live:
            ops = self.region.ops
            ops.append(op)
            if len(ops) > self.most:
                self.overfull()
            if op.spec.terminator:
                self.live = False
        return op

    def value(
        self, name: str, operands: tuple[Value, ...], type: Type, attrs: Mapping[str, Attribute] = _NO_ATTRS
    ) -> Value:
        """Append an operation of one result and give the result."""
        op = Op(SPECS[name], operands, attrs, (), (type,), self.loc)
        if self.live:
            ops = self.region.ops
            ops.append(op)
            if len(ops) > self.most:
                self.overfull()
        return op.results[0]

    def overfull(self) -> None:
        """What comes of more operations than ``most`` in one region."""

    def constant(self, value: bool | int | float, type: Type) -> Value:
        """A constant; a vector type gives the same number in all lanes."""
        return self.value("arith.constant", (), type, {"value": value})

    def arith(self, name: str, a: Value, b: Value) -> Value:
        """One of ``arith``'s operations on two integers."""
        return self.value(f"arith.{name}", (a, b), a.type)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """How two integers compare."""
        return self.value("arith.cmpi", (a, b), I1, {"predicate": predicate})

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """One of two values."""
        return self.value("arith.select", (condition, yes, no), yes.type)

    def at(self, base: Value, index: Value, kind: Type) -> Value:
        """The address of one of many."""
        return self.value("llvm.getelementptr", (base, index), base.type, {"elem_type": kind})

    def slot(self, kind: Type, name: str, head: list[Op]) -> Value:
        """A variable, which is put behind the operations of ``head``."""
        op = Op(SPECS["weft.slot"], (), {"elem_type": kind, "name": name}, (), (SLOT,), self.loc)
        head.append(op)
        return op.result

    def get(self, place: Value, kind: Type) -> Value:
        """What a place holds."""
        return self.value("weft.get", (place,), kind)

    def set(self, place: Value, value: Value) -> None:
        """Let a place hold something."""
        self.emit("weft.set", (place, value))

    def branch(self, condition: Value, then: Region, other: Region | None = None) -> None:
        """Do one thing or the other."""
        self.emit("weft.if", (condition,), (), {}, (then, other or Region()))

    def prologue(self, name: str, type: Type, attrs: Mapping[str, Attribute]) -> Value:
        """An operation at the head of the function's body: slots and local memory live there."""
        assert self.function is not None
        op = Op(SPECS[name], (), attrs, (), (type,), self.loc)
        self.function.body.ops.insert(0, op)
        return op.results[0]

    @contextmanager
    def into(self, region: Region) -> Generator[Region]:
        """Append to ``region`` for a while; afterwards the code here is reached as it was before."""
        before, was_live = self.region, self.live
        self.region = region
        try:
            yield region
        finally:
            self.region, self.live = before, was_live
