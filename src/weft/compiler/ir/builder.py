"""Appends operations to the region at hand, stamped with the user's line."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from weft.compiler.ir.core import Attribute, Function, Loc, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import Type
from weft.diagnostics import CompileError, caller_location, elaborating
from weft.dtype import DType

__all__ = ["Builder", "building", "current", "maybe_current"]

_NO_ATTRS: dict[str, Attribute] = {}


class Builder:
    """Where elaboration stands: function, region, line, and whether code here is reached.

    ``target`` and ``elaborator`` are what the rooms above put there for the library to ask: the
    target compiled for, and who elaborates a called function.
    """

    def __init__(self, target: Any = None, elaborator: Any = None) -> None:
        self.target = target
        self.elaborator = elaborator
        self.function: Function | None = None
        self.region = Region()
        self.loc: Loc = (0, 0)
        self.live = True
        self.contract = True
        self.element: tuple[Any, Any, Any] | None = None
        self.marks = 0
        self.met: dict[object, DType] = {}
        """By the mark of a number whose type is not settled, the type that it has met."""
        self.stored: dict[object, DType] = {}
        """Likewise, the type of what is stored into its variable."""
        self.learnt = False
        """Whether the pass took one of them for another type: then there is going to be another pass."""

    def new_mark(self) -> int:
        """A mark for a number whose type is not settled yet."""
        self.marks += 1
        return self.marks

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
            self.region.ops.append(op)
            if op.spec.terminator:
                self.live = False
        return op

    def value(
        self, name: str, operands: tuple[Value, ...], type: Type, attrs: Mapping[str, Attribute] = _NO_ATTRS
    ) -> Value:
        """Append an operation of one result and give the result."""
        op = Op(SPECS[name], operands, attrs, (), (type,), self.loc)
        if self.live:
            self.region.ops.append(op)
        return op.results[0]

    def constant(self, value: bool | int | float, type: Type) -> Value:
        """A constant; a vector type gives the same number in all lanes."""
        return self.value("arith.constant", (), type, {"value": value})

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


_state = threading.local()


def current() -> Builder:
    """The builder of the elaboration under way in this thread.

    Raises:
        CompileError: nothing is being compiled here.
    """
    builder: Builder | None = getattr(_state, "builder", None)
    if builder is None:
        raise CompileError.at(
            "outside-kernel",
            "this has a meaning only in a kernel or @func, while that is being compiled",
            caller_location(),
            hints=("move it into a function decorated with @kernel or @func",),
        )
    return builder


def maybe_current() -> Builder | None:
    """The builder at work in this thread, or None on the host."""
    return getattr(_state, "builder", None)


@contextmanager
def building(builder: Builder | None) -> Generator[Builder | None]:
    """Make ``builder`` the current one (None: leave compilation, as a callback on the host does)."""
    before = maybe_current()
    _state.builder, elaborating.now = builder, builder is not None
    try:
        yield builder
    finally:
        _state.builder, elaborating.now = before, before is not None
