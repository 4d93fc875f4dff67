"""Loads from shared memory that are made once for all threads of a block, since all get the same.

Such a load is from a place that is known when it is compiled, and nothing can have written to shared memory
since the threads have met last, on no way that leads to it. What another thread writes there at the same
time would be a race.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS, meets_in_warp
from weft.compiler.ir.jumps import JUMPS
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.passes.inline_barriers import has_barrier
from weft.compiler.passes.uniformity import LOOPS

_Around = tuple[Sequence[Op], Op]
"""What stands before an operation with regions, and that."""


def settled_loads(kernel: Function) -> frozenset[Op]:
    """The loads of a kernel, whose helpers with barriers are inlined, that give all threads the same."""
    return frozenset(_found(kernel.body.ops, ()))


def _found(ops: list[Op], around: tuple[_Around, ...]) -> Generator[Op]:
    for n, op in enumerate(ops):
        plain = op.name == "llvm.load" and "ordering" not in op.attrs and op.attrs["volatile"] is False
        if plain and _is_known_place(op.operands[0]) and not any(map(_may_write, _before(ops[:n], around))):
            yield op
        for region in op.regions:
            yield from _found(region.ops, ((ops[:n], op), *around))


def _is_known_place(address: Value) -> bool:
    """Whether it is a known place in memory of the block that is there for the whole kernel."""
    owner = address.owner
    if not isinstance(owner, Op) or not isinstance(address.type, PointerType):
        return False
    if owner.name == "llvm.getelementptr":
        index = integer(owner.operands[1])
        return index is not None and index >= 0 and _is_known_place(owner.operands[0])
    return owner.name == "llvm.mlir.addressof" and address.type.space == AddressSpace.SHARED


def _may_write(op: Op) -> bool:
    """Whether an operation may change shared memory."""
    spec = op.spec
    if meets_in_warp(op):
        return False
    if spec.writes:
        kind = op.operands[0].type
        return isinstance(kind, PointerType) and kind.space in (AddressSpace.SHARED, AddressSpace.GENERIC)
    if spec.pure or op.attrs.get("effects") in ("none", "read"):
        return False
    return op.name == "func.call" or spec.lets_go or (spec.sync is not None and bool(spec.sync(op)))


def _before(ops: Sequence[Op], around: tuple[_Around, ...]) -> Generator[Op]:
    """What a thread may have done since the last barrier, when it has done ``ops``."""
    if (yield from _last(ops)):
        return
    for outer, parent in around:
        if parent.name in LOOPS:
            yield from _round(parent)
        if (yield from _last(outer)):
            return


def _last(ops: Sequence[Op]) -> Generator[Op, None, bool]:
    """The same of ``ops`` alone; whether there is a barrier that all come by."""
    for op in reversed(ops):
        if op.name in BARRIERS and not meets_in_warp(op):
            return True
        yield op
        if not any(map(has_barrier, op.regions)):
            for region in op.regions:
                yield from region.walk()
        elif op.name in LOOPS:
            yield from _round(op)
        else:
            for region in op.regions:
                yield from _last(region.ops)
    return False


def _round(loop: Op) -> Generator[Op]:
    """The same of rounds of a loop."""
    for region in loop.regions:
        inner = list(region.walk())
        yield from inner if any(op.name in JUMPS for op in inner) else _ended(region)


def _ended(region: Region) -> Generator[Op]:
    yield from _last(region.ops)
