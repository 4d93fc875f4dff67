"""Where the threads of a block read and write, as polynomials in their index.

Only what follows from the index alone is known: variables, what is loaded, and what functions give are not.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.types import IntType, PointerType, VectorType

X, Y, Z = "x", "y", "z"
"""The thread's index; in the body of a launch over a range, the element's."""

Symbol = str | Value
Terms = dict[tuple[Symbol, ...], int]
"""How often each product of symbols is taken; that of none is 1."""

_MOST = 16
"""Of more terms nothing is said."""
_WIDENING = frozenset({"arith.extsi", "arith.extui"})


class Address(NamedTuple):
    """A place in memory: bytes beyond what a pointer holds."""

    base: Value
    terms: Terms


class Addresses:
    """The addresses and integers of one function."""

    def __init__(self, function: Function) -> None:
        self.loops: dict[Region, Op] = {}
        self._known: dict[Value, Terms | None] = {}
        if function.element:
            for argument, symbol in zip(function.args[-3:], (X, Y, Z), strict=True):
                self._known[argument] = {(symbol,): 1}

    def terms(self, v: Value) -> Terms | None:
        """An integer, or None where it is not known."""
        if v not in self._known:
            self._known[v] = None
            self._known[v] = self._terms(v)
        return self._known[v]

    def address(self, pointer: Value) -> Address | None:
        """Where a pointer points, or None where that is not known."""
        total: Terms = {}
        owner = pointer.owner
        while isinstance(owner, Op) and owner.name in ("llvm.getelementptr", "llvm.addrspacecast"):
            if owner.name == "llvm.getelementptr":
                index = self.terms(owner.operands[1])
                if index is None:
                    return None
                total = _sum(total, index, size_of(owner.type_attr("elem_type")))
            pointer = owner.operands[0]
            owner = pointer.owner
        return Address(pointer, total)

    def _terms(self, v: Value) -> Terms | None:
        op = v.owner
        if not isinstance(v.type, IntType):
            return None
        if op is None:
            return {(v,): 1}
        if isinstance(op, Region):
            loop = self.loops.get(op)
            first, _, step = (None,) * 3 if loop is None else map(self.terms, loop.operands)
            if first is None or step is None or symbols(step) & {X, Y, Z}:
                return None
            return _sum({(v,): 1}, first, 1)
        if op.name == "arith.constant":
            number = int(op.number_attr("value"))
            return {(): number} if number else {}
        if op.name == "gpu.thread_id":
            return {(str(op.attrs["dimension"]),): 1}
        if op.name in ("gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.over"):
            return {(f"{op.name}.{op.attrs['dimension']}",): 1}
        if op.name in _WIDENING:
            return self.terms(op.operands[0])
        return self._computed(op)

    def _computed(self, op: Op) -> Terms | None:
        if op.name not in ("arith.addi", "arith.subi", "arith.muli", "arith.shli"):
            return None
        left, right = map(self.terms, op.operands)
        if left is None or right is None:
            return None
        if op.name == "arith.shli":
            count = constant(right)
            return None if count is None else _sum({}, left, 1 << count)
        if op.name == "arith.muli":
            found = _product(left, right)
        else:
            found = _sum(left, right, 1 if op.name == "arith.addi" else -1)
        return found if len(found) <= _MOST else None


def constant(terms: Terms) -> int | None:
    """The number that they are, if they are one."""
    return terms.get((), 0) if not terms.keys() - {()} else None


def difference(a: Terms, b: Terms) -> Terms:
    """How far ``a`` lies beyond ``b``."""
    return _sum(a, b, -1)


def along(terms: Terms, symbol: Symbol) -> Terms:
    """What is added where a symbol grows by one; of no number is it taken to be a power."""
    found: Terms = {}
    for product, count in terms.items():
        if symbol in product:
            rest = list(product)
            rest.remove(symbol)
            found[tuple(rest)] = count
    return found


def symbols(terms: Terms) -> set[Symbol]:
    """All that they are made of."""
    return {symbol for product in terms for symbol in product}


def size_of(kind: object) -> int:
    """The bytes of a type in memory, where its parts have no gaps."""
    if isinstance(kind, PointerType):
        return 8
    if isinstance(kind, VectorType):
        return size_of(kind.scalar) * kind.lanes
    bits = getattr(kind, "bits", 8)
    return max(1, bits // 8)


def _sum(a: Terms, b: Terms, times: int) -> Terms:
    found = dict(a)
    for product, count in b.items():
        found[product] = found.get(product, 0) + times * count
        if not found[product]:
            del found[product]
    return found


def _product(a: Terms, b: Terms) -> Terms:
    found: Terms = {}
    for one, count in a.items():
        for other, times in b.items():
            product = tuple(sorted((*one, *other), key=_order))
            found[product] = found.get(product, 0) + count * times
    return found


def _order(symbol: Symbol) -> tuple[bool, str, int]:
    return (False, symbol, 0) if isinstance(symbol, str) else (True, "", id(symbol))
