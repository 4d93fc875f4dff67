"""Threads next to each other that read or write far apart, where others of the block come in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.compiler.ir.core import Function
from weft.compiler.ir.terms import Symbol, along, constant
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.lint.accesses import Access, place_of
from weft.compiler.lint.addresses import X, Y, Z, size_of
from weft.diagnostics import Diagnostic, Label, Location

_SECTOR, _LINE = 32, 128
"""Bytes that memory gives at once, and that a cache keeps together."""


class _Found(NamedTuple):
    access: Access
    apart: int
    """Bytes from a thread to the next along x."""
    through: Symbol
    """What goes through the memory between them, element by element."""


def uncoalesced(function: Function, accesses: list[Access]) -> Iterator[Diagnostic]:
    """The accesses of which a warp's threads each need memory of their own; of one place, together."""
    places: dict[Location, list[_Found]] = {}
    for access in accesses:
        if (found := _found(access)) is not None:
            places.setdefault(place_of(access), []).append(found)
    dense = bool(places) and any(map(_is_dense, accesses))
    index = "global_idx" if function.element else "thread_idx"
    for place, together in places.items():
        first = together[0]
        done = " and ".join(
            sorted({"write" if one.access.op.name == "llvm.store" else "read" for one in together})
        )
        if first.through not in (Y, Z):
            hint = "let neighbouring threads take neighbouring elements: transpose it, or give a block a row"
        elif dense:
            hint = "where one side must be so, copy tiles through shared memory, each side along its rows"
        else:
            hint = f"let {index}.x be the last index: it counts fastest"
        yield Diagnostic(
            "uncoalesced",
            f"threads next to each other {done} {first.apart} bytes apart: a warp needs up to 32 transfers",
            (Label(place),),
            (f"threads of a warp differ in {index}.x: what it counts should lie side by side",),
            (hint,),
        )


def _found(access: Access) -> _Found | None:
    terms = access.place.terms
    step = along(terms, X)
    apart, width = constant(step), _width(access)
    if not step or apart is None or not _is_of_all(access):
        return None
    for symbol in (Y, Z, *(loop.regions[0].args[0] for loop in access.loops)):
        near = constant(along(terms, symbol))
        if near is None or not 0 < abs(near) <= width:
            continue
        least = max(width + 1, _SECTOR if symbol in (Y, Z) else _LINE)
        if abs(apart) >= least:
            return _Found(access, abs(apart), symbol)
    return None


def _is_dense(access: Access) -> bool:
    apart = constant(along(access.place.terms, X))
    return apart is not None and 0 < abs(apart) <= _width(access) and _is_of_all(access)


def _is_of_all(access: Access) -> bool:
    """Whether it is of memory that is not the block's or the thread's own."""
    kind = access.place.base.type
    return isinstance(kind, PointerType) and kind.space is AddressSpace.GLOBAL


def _width(access: Access) -> int:
    op = access.op
    return size_of((op.operands[1] if op.name == "llvm.store" else op.result).type)
