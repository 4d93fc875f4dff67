"""Threads of a warp that want different words of one bank of shared memory, and so wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.terms import along, constant
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.lint.accesses import Access, place_of
from weft.compiler.lint.addresses import X, Y, size_of
from weft.diagnostics import Diagnostic, Label, Location
from weft.lang.banks import BANKS, wavefronts

_WIDEST = 16
_MANY = 8
"""From so many ways on it is told: fewer may be the price of something else."""


def conflicts(accesses: list[Access]) -> Iterator[Diagnostic]:
    """Accesses for which lanes wait for each other, however a block's threads are spread; once a place."""
    places: dict[Location, int] = {}
    flat = not any(along(access.place.terms, Y) for access in accesses)
    for access in accesses:
        ways = _ways(access, (BANKS,) if flat else (8, 16, BANKS))
        if ways >= _MANY:
            place = place_of(access)
            places[place] = max(ways, places.get(place, 0))
    for place, ways in places.items():
        yield Diagnostic(
            "bank-conflicts",
            f"up to {ways} threads of a warp want different words of one bank of shared memory: one by one",
            (Label(place),),
            ("there are 32 banks of 4 bytes, in turn; each gives one word at a time",),
            ("make rows longer by one: Layout((n, m), (m + 1, 1)); or use a ComposedLayout with a Swizzle",),
        )


def _ways(access: Access, rows: tuple[int, ...]) -> int:
    """How many times as long as at best it takes; 0 where it is less in blocks of some of these widths."""
    kind = access.place.base.type
    if not isinstance(kind, PointerType) or kind.space is not AddressSpace.SHARED:
        return 0
    terms, op = access.place.terms, access.op
    size = size_of((op.operands[1] if op.name == "llvm.store" else op.result).type)
    right, down = (constant(along(terms, symbol)) for symbol in (X, Y))
    if right is None or down is None or size > _WIDEST or right % size or down % size:
        return 0
    best = max(1, size // 4)
    found = [
        wavefronts([lane % row * abs(right) + lane // row * abs(down) for lane in range(BANKS)], size) // best
        for row in rows
    ]
    return found[-1] if min(found) >= _MANY else 0
