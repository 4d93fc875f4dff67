"""A module as bytes: two modules that differ in anything give different ones."""

from __future__ import annotations

import dataclasses
import marshal
from collections.abc import Iterable
from typing import Any, cast

from weft.diagnostics import a_
from weft.ir.core import Function, Global, Loc, Module, Op, Region, Value
from weft.ir.types import Type

__all__ = ["module_bytes"]

_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
_VERSION = 2
"""Of ``marshal``: the last that writes equal values alike, whether they are one object or two."""


def module_bytes(module: Module) -> bytes:
    """Everything that the module holds: operations, attributes with their types, places, names."""
    described: Any = _Writer().record(module)
    return marshal.dumps(described, _VERSION)


class _Writer:
    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}

    def record(self, item: Module | Function | Global) -> tuple[object, ...]:
        """The fields of a dataclass, whichever it has."""
        return tuple([self.any(getattr(item, field.name)) for field in dataclasses.fields(item)])

    def any(self, item: Any) -> object:
        """Any value that the IR holds, told apart by its type."""
        if type(item) in _PLAIN:
            return item
        if isinstance(item, Type):
            return "type", item.mlir
        if isinstance(item, Value):
            return self.define(item)
        if isinstance(item, Region):
            return self.region(item)
        if isinstance(item, (Module, Function, Global)):
            return self.record(item)
        if isinstance(item, (tuple, list)):
            return tuple([self.any(part) for part in cast("list[Any]", item)])
        if isinstance(item, (set, frozenset)):
            return "set", *sorted(cast("set[int]", item))
        for plain in (int, float, str):  # a number of NumPy, a member of an enumeration
            if isinstance(item, plain):
                return plain(item)
        raise TypeError(f"the IR holds {a_(type(item).__name__)}")

    def define(self, value: Value) -> tuple[int, str, str]:
        """A value at the place that defines it."""
        number = self.numbers[value] = len(self.numbers)
        return number, value.name, value.type.mlir

    def region(self, region: Region) -> tuple[object, ...]:
        """The operations of a region, each before what uses it."""
        return tuple([self.define(v) for v in region.args]), tuple([self.op(op) for op in region.ops])

    def op(self, op: Op) -> tuple[object, ...]:
        """An operation; one that is used before its definition is no valid IR."""
        numbers, attrs = self.numbers, op.attrs
        return (
            op.spec.name,
            tuple([numbers[v] for v in op.operands]),
            tuple([(name, v if type(v) in _PLAIN else self.any(v)) for name, v in attrs.items()])
            if attrs
            else (),
            tuple([self.region(r) for r in op.regions]) if op.regions else (),
            tuple([self.define(v) for v in op.results]),
            self.loc(op.loc),
        )

    def loc(self, loc: Loc) -> Iterable[object]:
        """A place, with those that it was called from."""
        return loc if len(loc) == 2 else (loc[0], loc[1], loc[2].name, self.loc(loc[3]))
