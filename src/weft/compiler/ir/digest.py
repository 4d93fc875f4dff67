"""A module as bytes: two modules that differ in anything give different ones."""

from __future__ import annotations

import marshal
from typing import Any, cast

from weft.compiler.ir.core import Function, Global, Loc, Module, Op, Region, Value
from weft.compiler.ir.types import Type
from weft.diagnostics import a_

_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
_VERSION = 2
"""Of ``marshal``: the last that writes equal values alike, whether they are one object or two."""


def module_bytes(module: Module) -> bytes:
    """Everything that the module holds: operations, attributes with their types, places, names."""
    writer = _Writer()
    writer.record(module)
    described: Any = writer.out
    return marshal.dumps(described, _VERSION)


class _Writer:
    """Writes one list, in which all that has parts says how many; nesting may be of any depth."""

    def __init__(self) -> None:
        self.out: list[object] = []
        self.numbers: dict[Value, int] = {}

    def record(self, item: Module | Function | Global) -> None:
        """The fields of a record, whichever it has."""
        for name in item.__match_args__:
            value: Any = getattr(item, name)
            if isinstance(value, Region):
                self.region(value)
            elif isinstance(value, list):
                self.out.append(len(cast("list[Any]", value)))
                for part in cast("list[Function | Global | Value]", value):
                    if isinstance(part, Value):
                        self.out.append(self.define(part))
                    else:
                        self.record(part)
            else:
                self.out.append(self.plain(value))

    def plain(self, item: Any) -> object:
        """A value without operations in it, told apart by its type."""
        if type(item) in _PLAIN:
            return item
        if isinstance(item, Type):
            return "type", item.mlir
        if isinstance(item, (tuple, list)):
            return tuple([self.plain(part) for part in cast("list[Any]", item)])
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

    def region(self, region: Region) -> None:
        """The operations of a region, each before those within it and before what uses it."""
        waiting: list[Region | Op] = [region]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Op):
                self.op(item)
                waiting += reversed(item.regions)
            else:
                self.out.append((tuple([self.define(v) for v in item.args]), len(item.ops)))
                waiting += reversed(item.ops)

    def op(self, op: Op) -> None:
        """An operation; one that is used before its definition is no valid IR."""
        numbers, attrs = self.numbers, op.attrs
        self.out.append(
            (
                op.spec.name,
                tuple([numbers[v] for v in op.operands]),
                tuple([(k, v if type(v) in _PLAIN else self.plain(v)) for k, v in attrs.items()])
                if attrs
                else (),
                len(op.regions),
                tuple([self.define(v) for v in op.results]),
                op.loc if len(op.loc) == 2 else _place(op.loc),
            )
        )


def _place(loc: Loc) -> tuple[object, ...]:
    """A place, with those that it was called from."""
    out: list[object] = []
    while len(loc) > 2:
        out += loc[0], loc[1], loc[2].name
        loc = loc[3]
    return (*out, *loc)
