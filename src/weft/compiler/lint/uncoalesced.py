"""Threads next to each other that read or write far apart: others come in between, or nobody does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.terms import Symbol, along, constant
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.lint.accesses import Access, Walk, place_of
from weft.compiler.lint.addresses import Address, X, Y, Z, size_of
from weft.diagnostics import Diagnostic, Label, Location

_SECTOR, _LINE = 32, 128
"""Bytes that memory gives at once, and that a cache keeps together."""
_STEPS = frozenset({"llvm.getelementptr", "llvm.addrspacecast"})
_LEAST = 4
"""So many times what is wanted is moved, where nobody wants what lies between."""


class _Found(NamedTuple):
    access: Access
    apart: int
    """Bytes from a thread to the next along x."""
    through: Symbol | None
    """What goes through the memory between them, element by element; None where nothing does."""


def uncoalesced(
    function: Function, walk: Walk, accesses: list[Access], pointers: Collection[str]
) -> Iterator[Diagnostic]:
    """The accesses of which a warp's threads each need memory of their own; of one place, together.

    ``pointers`` are the parameters whose elements a program numbers itself, not a layout.
    """
    places: dict[Location, list[_Found]] = {}
    for access in accesses:
        found = _found(access)
        if found is None and access.function is function and access.place.base.name in pointers:
            found = _alone(function, walk, access)
        if found is not None:
            places.setdefault(place_of(access), []).append(found)
    dense = bool(places) and any(map(_is_dense, accesses))
    index = "global_idx" if function.element else "thread_idx"
    for place, together in places.items():
        first = together[0]
        done = " and ".join(
            sorted({"write" if one.access.op.name == "llvm.store" else "read" for one in together})
        )
        if first.through is None:
            hint = "let neighbouring threads take neighbouring elements: what lies between is moved as well"
        elif first.through not in (Y, Z):
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


def _alone(function: Function, walk: Walk, access: Access) -> _Found | None:
    """An access to one element of each stretch, of which the kernel wants no other."""
    apart = abs(constant(along(access.place.terms, X)) or 0)
    if apart < _SECTOR or _width(access) * _LEAST > _SECTOR or not _is_of_all(access):
        return None
    base, rest = access.place.base, _rest(access.place, apart)
    if rest is None or base not in function.args:
        return None
    for op in function.body.walk():
        if op.name in _STEPS or not any(_root(operand) is base for operand in op.operands):
            continue
        place = None
        if op.name == "llvm.load" or (op.name == "llvm.store" and _root(op.operands[1]) is not base):
            place = walk.addresses.address(op.operands[0])
        if place is None or _rest(place, apart) != rest:
            return None
    return _Found(access, apart, None)


def _rest(place: Address, apart: int) -> int | None:
    """At which byte of its stretch it lies; None where that is not the same for all threads and rounds."""
    if any(count % apart for product, count in place.terms.items() if product):
        return None
    return place.terms.get((), 0) % apart


def _root(pointer: Value) -> Value:
    while isinstance(pointer.owner, Op) and pointer.owner.name in (
        "llvm.getelementptr",
        "llvm.addrspacecast",
    ):
        pointer = pointer.owner.operands[0]
    return pointer


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
