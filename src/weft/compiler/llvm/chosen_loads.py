"""Loads of which a branch chooses one, kept apart in threads' loops, so that LLVM makes vectors of them.

Of ``a[i] if m else b[i]`` it makes one load of a chosen address, and of that no vector, or a gather. Where
it cannot make one of the two, it loads both under masks. Loads from different spaces of addresses it leaves
apart, and on a CPU all spaces are the same memory: so the sides of a branch load from spaces of their own.
What is loaded from one address is in one space everywhere, since LLVM is to see that it is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.types import AddressSpace, FloatType, IntType, PointerType

SPACES = 16
"""Spaces that loads are told apart by at most, the first included."""
_MOST = 64
"""Addresses of one loop that are compared at most."""
_FEW = 32
"""LLVM writes out a loop of so many rounds within."""


def chosen_loads(function: Function) -> dict[Op, int]:
    """Loads that are to be from another space than the first, each with its number."""
    found = dict[Op, int]()
    for loop in function.body.walk():
        if loop.name == "weft.for" and loop.attrs["parallel"] is True:
            found.update(_Rivals(loop.regions[0]).apart())
    return found


class _Rivals:
    """Addresses that a branch chooses from, in the body of a loop over threads."""

    def __init__(self, body: Region) -> None:
        self._numbers = dict[object, int]()
        self._known = dict[Value, int]()
        self._loads = dict[int, list[Op]]()
        self._of = dict[int, set[int]]()
        ops = list(body.walk())
        if any(op.name == "weft.if" and op.regions[1].ops for op in ops) and not any(map(_is_own, ops)):
            self._visit(body)  # else LLVM compares addresses, which it does of one space alone

    def apart(self) -> Iterator[tuple[Op, int]]:
        """Loads that are not from the first space."""
        spaces = dict[int, int]()
        for key, loads in self._loads.items() if len(self._loads) <= _MOST else ():
            others = {spaces.get(rival) for rival in self._of.get(key, ())}
            spaces[key] = next((n for n in range(SPACES) if n not in others), 0)
            if spaces[key]:
                yield from ((load, spaces[key]) for load in loads)

    def _visit(self, region: Region) -> dict[int, object]:
        """What a region loads, by address; note what a branch within it chooses from."""
        found = dict[int, object]()
        for op in region.ops:
            if _is_plain_load(op):
                key = self._number((op.result.type.llvm, self._key(op.operands[0])))
                self._loads.setdefault(key, []).append(op)
                found[key] = op.result.type
            elif op.name == "weft.if":
                then, other = map(self._visit, op.regions)
                for key, kind in then.items():
                    for rival in [rival for rival, its in other.items() if its is kind and rival != key]:
                        self._of.setdefault(key, set()).add(rival)
                        self._of.setdefault(rival, set()).add(key)
                found |= then | other
            elif op.name == "weft.for" and _is_short(op):
                found |= self._visit(op.regions[0])
        return found

    def _key(self, v: Value) -> int:
        """A number that values have alike which are computed alike."""
        if v not in self._known:
            op = v.owner
            if isinstance(op, Op) and op.spec.pure and len(op.results) == 1:
                self._known[v] = self._number((op.name, str(op.attrs), *map(self._key, op.operands)))
            else:
                self._known[v] = self._number(v)
        return self._known[v]

    def _number(self, what: object) -> int:
        return self._numbers.setdefault(what, len(self._numbers))


def _is_plain_load(op: Op) -> bool:
    """Whether it loads a number that machines load under masks, which nobody else is about to change."""
    if op.name != "llvm.load" or op.attrs["volatile"] or "ordering" in op.attrs:
        return False
    return isinstance(op.result.type, (FloatType, IntType)) and op.result.type.bits in (32, 64)


def _is_own(op: Op) -> bool:
    """Whether it has the address of memory that is one thread's own, other than a variable's."""
    if op.name in ("weft.get", "weft.set", "weft.slot"):
        return False
    return any(isinstance(v.type, PointerType) and v.type.space == AddressSpace.LOCAL for v in op.operands)


def _is_short(loop: Op) -> bool:
    """Whether a loop has few rounds, known when it is compiled."""
    lower, upper, step = map(integer, loop.operands)
    return None not in (lower, upper) and bool(step) and len(range(lower or 0, upper or 0, step or 1)) <= _FEW
