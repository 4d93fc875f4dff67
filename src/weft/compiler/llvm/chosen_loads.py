"""Loads of which a branch chooses one, kept apart in threads' loops, so that LLVM makes vectors of them.

Of ``a[i] if m else b[i]``, and of ``x = b[i]`` with ``if m: x = a[i]`` behind, it makes one load of a chosen
address, and of that no vector, or a gather. Where it cannot make one of the two, it loads both under masks.
Loads from different spaces of addresses it leaves apart, and on a CPU all spaces are the same memory: so what
a branch chooses from is loaded from spaces of their own. What is loaded from one address is in one space
everywhere, since LLVM is to see that it is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Region
from weft.compiler.ir.numbering import Numbering
from weft.compiler.ir.types import AddressSpace, FloatType, IntType, PointerType

_Key = tuple[str, int]
"""The type of what is loaded, and the number of its address."""
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
        self._numbers = Numbering()
        self._loads = dict[_Key, list[Op]]()
        self._of = dict[_Key, set[_Key]]()
        ops = list(body.walk())
        if any(op.name == "weft.if" for op in ops) and not any(map(_is_own, ops)):
            self._visit(body)  # else LLVM compares addresses, which it does of one space alone

    def apart(self) -> Iterator[tuple[Op, int]]:
        """Loads that are not from the first space."""
        spaces = dict[_Key, int]()
        for key, loads in self._loads.items() if len(self._loads) <= _MOST else ():
            others = {spaces.get(rival) for rival in self._of.get(key, ())}
            spaces[key] = next((n for n in range(SPACES) if n not in others), 0)
            if spaces[key]:
                yield from ((load, spaces[key]) for load in loads)

    def _visit(self, region: Region) -> set[_Key]:
        """What a region loads; note what branches within it choose from, also of what was loaded before."""
        found = set[_Key]()
        for op in region.ops:
            if _is_plain_load(op):
                key = op.result.type.llvm, self._numbers.of(op.operands[0])
                self._loads.setdefault(key, []).append(op)
                found.add(key)
            elif op.name == "weft.if":
                then, other = map(self._visit, op.regions)
                self._choose(then, other | found)
                self._choose(other, found)
                found |= then | other
            elif op.name == "weft.for" and _is_short(op):
                found |= self._visit(op.regions[0])
        return found

    def _choose(self, some: set[_Key], others: set[_Key]) -> None:
        for key in some:
            for rival in [rival for rival in others if rival[0] == key[0] and rival != key]:
                self._of.setdefault(key, set()).add(rival)
                self._of.setdefault(rival, set()).add(key)


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
