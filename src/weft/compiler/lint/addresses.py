"""Where the threads of a block read and write, as polynomials in their index.

Only what follows from the index alone is known: variables, what is loaded, and what functions give are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.terms import Terms, added, constant, multiplied, symbols
from weft.compiler.ir.types import IntType, PointerType, VectorType

X, Y, Z = "x", "y", "z"
"""The thread's index; in the body of a launch over a range, the element's."""

_MOST = 16
"""Of more terms nothing is said."""
_WIDENING = frozenset({"arith.extsi", "arith.extui"})


class Address(NamedTuple):
    """A place in memory: bytes beyond what a pointer holds."""

    base: Value
    terms: Terms


class Addresses:
    """The addresses and integers of one function; ``given`` are those of a call's arguments, where known."""

    def __init__(
        self, function: Function, given: Mapping[Value, Terms | Address | None] | None = None
    ) -> None:
        self.loops: dict[Region, Op] = {}
        self._known: dict[Value, Terms | None] = {}
        self._given: dict[Value, Address | None] = {}
        for argument, known in (given or {}).items():
            if isinstance(known, Address) or isinstance(argument.type, PointerType):
                self._given[argument] = known if isinstance(known, Address) else None
            else:
                self._known[argument] = known
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
                total = added(total, index, size_of(owner.type_attr("elem_type")))
            pointer = owner.operands[0]
            owner = pointer.owner
        if pointer in self._given:
            at = self._given[pointer]
            return None if at is None else Address(at.base, added(at.terms, total, 1))
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
            return added({(v,): 1}, first, 1)
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
            return None if count is None else added({}, left, 1 << count)
        if op.name == "arith.muli":
            found = multiplied(left, right)
        else:
            found = added(left, right, 1 if op.name == "arith.addi" else -1)
        return found if len(found) <= _MOST else None


def size_of(kind: object) -> int:
    """The bytes of a type in memory, where its parts have no gaps."""
    if isinstance(kind, PointerType):
        return 8
    if isinstance(kind, VectorType):
        return size_of(kind.scalar) * kind.lanes
    bits = getattr(kind, "bits", 8)
    return max(1, bits // 8)
