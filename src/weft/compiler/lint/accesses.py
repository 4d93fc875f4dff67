"""The reads and writes of a kernel, each with the loops around it, where neighbouring threads come to it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weft.abi.warp import WARP
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.terms import Terms, along, difference, symbols
from weft.compiler.ir.types import I1, PointerType
from weft.compiler.lint.addresses import Address, Addresses, X
from weft.diagnostics import Location, is_internal

_ACCESSES = frozenset({"llvm.load", "llvm.store"})
_RETURN = frozenset({"weft.return"})
_DEEPEST, _MOST = 4, 400
"""Functions within functions that are looked into, and accesses."""
_LEAVES = _RETURN | {"weft.break", "weft.continue", "llvm.unreachable"}


class Access(NamedTuple):
    """A read or write to which many neighbouring threads come, as far as conditions tell."""

    op: Op
    loops: tuple[Op, ...]
    """The ``for`` around it."""
    place: Address
    region: Region
    function: Function
    """Which has it, as the kernel or as one that it calls."""


class Walk:
    """The accesses of a function whose place is known, and of those of the program that it calls.

    Left out are those that only few threads reach, or nobody knows how many.
    """

    def __init__(
        self,
        function: Function,
        functions: Mapping[str, Function],
        addresses: Addresses | None = None,
        deep: int = 0,
    ) -> None:
        self.addresses = addresses or Addresses(function)
        self._function = function
        self._functions = functions
        self._deep = deep
        self._given: dict[Value, list[Value]] | None = None

    def given(self, slot: Value) -> list[Value]:
        """What a variable is given."""
        if self._given is None:
            self._given = {}
            for op in self._function.body.walk():
                if op.name == "weft.set":
                    self._given.setdefault(op.operands[0], []).append(op.operands[1])
        return self._given.get(slot, [])

    def accesses(self) -> list[Access]:
        """In the order of the code."""
        found: list[Access] = []
        self._region(self._function.body, (), found)
        return found

    def _region(self, region: Region, loops: tuple[Op, ...], found: list[Access]) -> None:
        for op in region.ops:
            name = op.spec.name
            if name in _ACCESSES:
                place = self.addresses.address(op.operands[0])
                if place is not None and not op.attrs["volatile"] and "ordering" not in op.attrs:
                    found.append(Access(op, loops, place, region, self._function))
            elif name == "func.call":
                self._called(op, loops, found)
            elif name == "weft.for":
                body = op.regions[0]
                self.addresses.loops[body] = op
                self._region(body, (*loops, op), found)
                if _leaves(body, _RETURN):
                    return
            elif name == "weft.while":
                if _leaves(op.regions[1], _RETURN):
                    return
            elif name == "weft.if" and not self._branches(op, loops, found):
                return

    def _called(self, op: Op, loops: tuple[Op, ...], found: list[Access]) -> None:
        """What a function of the program does with these arguments."""
        called = self._functions.get(str(op.attrs["callee"]))
        if called is None or is_internal(called.file) or self._deep >= _DEEPEST or len(found) > _MOST:
            return
        look = self.addresses
        given = {
            argument: look.address(v) if isinstance(v.type, PointerType) else look.terms(v)
            for argument, v in zip(called.args, op.operands, strict=True)
        }
        inner = Walk(called, self._functions, Addresses(called, given), self._deep + 1)
        inner._region(called.body, loops, found)

    def _branches(self, op: Op, loops: tuple[Op, ...], found: list[Access]) -> bool:
        """Both sides; whether as many threads as before come to what follows."""
        taken, goes_on = op.operands[0], True
        for region, holds in zip(op.regions, (True, False), strict=True):
            if not region.ops:
                continue
            if self.many(taken, holds):
                self._region(region, loops, found)
            if region.ops[-1].spec.name in _LEAVES:
                goes_on = goes_on and self.many(taken, not holds)
            elif _leaves(region, _LEAVES):
                goes_on = False
        return goes_on

    def many(self, v: Value, holds: bool, known: dict[tuple[Value, bool], bool] | None = None) -> bool:
        """Whether neighbouring threads are known to come where a condition holds, or where it does not.

        What is ``known`` already of its parts is not asked again.
        """
        known = {} if known is None else known
        if (v, holds) not in known:
            known[v, holds] = self._many(v, holds, known)
        return known[v, holds]

    def _many(self, v: Value, holds: bool, known: dict[tuple[Value, bool], bool]) -> bool:
        op = v.owner
        if not isinstance(op, Op):
            return isinstance(v.owner, type(None)) and not self._deep  # an argument of the kernel
        if op.name == "arith.constant":
            return True
        if op.name in ("arith.andi", "arith.ori") and v.type is I1:
            return all(self.many(part, holds, known) for part in op.operands)
        if op.name == "arith.xori" and v.type is I1:
            return all(self.many(part, not holds, known) for part in op.operands)
        if op.name != "arith.cmpi":
            return False
        left, right = map(self.addresses.terms, op.operands)
        if left is None or right is None:
            return False
        return _many(difference(left, right), str(op.attrs["predicate"]), holds)


def _many(apart: Terms, predicate: str, holds: bool) -> bool:
    """Whether a comparison of what lies so far apart comes out alike for many threads along x."""
    if not along(apart, X):
        return True
    if predicate in ("eq", "ne"):
        return (predicate == "ne") == holds
    if any(not isinstance(symbol, str) for symbol in symbols(apart)):
        return True  # up to a bound that is an argument
    first = {product: count for product, count in apart.items() if product in ((), (X,))}
    compare = getattr(operator, predicate[-2:])
    found = [compare(first.get((), 0) + x * first.get((X,), 0), 0) is holds for x in range(WARP)]
    return sum(found) > 1


def _leaves(region: Region, by: frozenset[str]) -> bool:
    return any(op.spec.name in by for op in region.walk())


def place_of(access: Access) -> Location:
    """Where a program reads or writes: the subscript, if it is known which."""
    from weft.diagnostics.wrote import statement_place

    op = access.op
    line, column = op.loc[:2]
    alike = [other for other in access.region.ops if other.name == op.name and other.loc == op.loc]
    kind = ast.Store if op.name == "llvm.store" else ast.Load

    def subscript(statement: ast.stmt) -> ast.AST:
        heads = [getattr(statement, name) for name in ("test", "iter") if hasattr(statement, name)]
        found = [
            node
            for head in heads or [statement]
            for node in _in_order(head)
            if isinstance(node, ast.Subscript)
            and (isinstance(node.ctx, kind) or getattr(statement, "target", None) is node)
        ]
        return found[alike.index(op)] if len(found) == len(alike) else (heads or [statement])[0]

    return statement_place(access.function.file, line, column, subscript)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, and itself, as they are evaluated."""
    for below in ast.iter_child_nodes(node):
        yield from _in_order(below)
    yield node
