"""Shared memory that some threads of a piece write, each at its own place: held in registers, stored by all.

``if x < n: tile[x] = a[i]`` is a store under a mask, which takes some processors up to seven times as
long as to read what is there and store either that or the new. Where nothing else in a piece touches that
memory, nobody can tell: one worker runs all of a block. A place may lie beyond the array, in a thread whose
branch would not have written; so the block's memory goes on far enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.numbering import Numbering
from weft.compiler.ir.types import AddressSpace, FloatType, IntType, PointerType, Type
from weft.compiler.passes.indices import Ranges, Strides, thread_axis
from weft.compiler.passes.thread_context import Rewriter
from weft.compiler.passes.uniformity import is_of_block

if TYPE_CHECKING:
    from weft.compiler.passes.segment import Segment

_MOST = 1 << 17
"""Bytes that a block's memory has more for this, at most."""
_OUTSIDE = (AddressSpace.GLOBAL, AddressSpace.CONSTANT, AddressSpace.LOCAL)
_ACCESSES = frozenset({"llvm.load", "llvm.store"})
_SIMPLE = _ACCESSES | {"weft.get", "weft.set", "weft.if", "weft.slot"}


class Held(NamedTuple):
    """A thread's own place, the register that holds it in a piece, and its type."""

    address: Value
    register: Value
    kind: Type
    accesses: frozenset[Op]


def hold(segment: Segment, ops: list[Op]) -> Held | None:
    """Have the place that a piece writes in a branch in a register from here on, if there is one."""
    body, frame = segment.body, segment.frame
    if body.record is not None or frame.clustered or body.warp is not None or body.only is not None:
        return None
    found = _own_place(segment, ops)
    if found is None:
        return None
    store, accesses, reach = found
    frame.room = max(frame.room, reach - frame.size)
    kind, b = store.operands[1].type, segment.b
    address = _made(segment, store.operands[0])
    register = b.slot(kind, "own", segment.head)
    load = {"alignment": store.attrs["alignment"], "invariant": False, "volatile": False}
    b.set(register, b.value("llvm.load", (address,), kind, load))
    return Held(address, register, kind, frozenset(accesses))


def give(segment: Segment, held: Held) -> None:
    """Store it, behind the piece."""
    b = segment.b
    value = b.get(held.register, held.kind)
    align = next(op.attrs["alignment"] for op in held.accesses)
    b.emit("llvm.store", (held.address, value), (), {"alignment": align, "volatile": False})


def _own_place(segment: Segment, ops: list[Op]) -> tuple[Op, list[Op], int] | None:
    """A store in a branch to the place, all that reads and writes it, and how far the place may be."""
    every = list(Region([], ops).walk())
    within = [op for outer in ops for side in outer.regions for op in side.walk()]
    store = next((op for op in within if op.name == "llvm.store" and _is_shared(op)), None)
    if store is None or not all(op.name in _SIMPLE or (op.spec.pure and not op.regions) for op in every):
        return None
    address, kind = store.operands[0], store.operands[1].type
    name, numbers, accesses = _array(address), Numbering(), list[Op]()
    if name is None or not isinstance(kind, (FloatType, IntType)) or kind.bits not in (32, 64):
        return None
    for op in every:
        if not _is_shared(op):
            continue
        array = _array(op.operands[0])
        if array is None or op.attrs["volatile"] or "ordering" in op.attrs:
            return None
        if op.name == "llvm.store" or array == name:
            given = op.operands[1].type if op.name == "llvm.store" else op.result.type
            if given is not kind or numbers.of(op.operands[0]) != numbers.of(address):
                return None
            accesses.append(op)
    reach = _reach(segment, address, kind)
    return None if reach is None else (store, accesses, reach)


def _is_shared(op: Op) -> bool:
    """Whether it may read or write a block's memory."""
    kind = op.operands[0].type if op.name in _ACCESSES else None
    return isinstance(kind, PointerType) and kind.space not in _OUTSIDE


def _array(address: Value) -> str | None:
    """The name of the array in which an address is."""
    while isinstance(address.owner, Op) and address.owner.name == "llvm.getelementptr":
        address = address.owner.operands[0]
    owner = address.owner
    is_name = isinstance(owner, Op) and owner.name == "llvm.mlir.addressof"
    return str(owner.attrs["global_name"]) if isinstance(owner, Op) and is_name else None


def _reach(segment: Segment, address: Value, kind: Type) -> int | None:
    """How many bytes a block's memory has to have for all places, if those along x lie side by side."""
    together, size = segment.body.together, kind.bits // 8

    def fixed(v: Value) -> bool:
        return thread_axis(v) in ("y", "z") or together.once(v) or is_of_block(v)

    if Strides(lambda v: thread_axis(v) == "x", fixed).of(address) != size:
        return None
    ranges, last = Ranges(), 0
    while isinstance(address.owner, Op) and address.owner.name == "llvm.getelementptr":
        ends = ranges.range(address.owner.operands[1])
        if ends is None or ends[0] < 0 or address.owner.type_attr("elem_type").bits != kind.bits:
            return None
        last += ends[1]
        address = address.owner.operands[0]
    offset = segment.frame.offsets.get(_array(address) or "")
    if offset is None:
        return None
    reach = offset + (last + 1) * size
    return reach if reach <= segment.frame.size + _MOST else None


def _made(segment: Segment, v: Value) -> Value:
    """A value that is made of indices and of what is known before the piece."""
    op = v.owner
    if v in segment.mapping or not isinstance(op, Op) or segment.body.home.get(v) is not segment.home:
        return segment.lookup(v)
    for operand in op.operands:
        _made(segment, operand)
    Rewriter.op(segment, op)
    return segment.mapping[v]
