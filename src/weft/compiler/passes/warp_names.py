"""What kernels compute of indices to find their warp and lane, called by name: ``thread_idx.x % 32``.

Blocks are of whole warps where lanes meet. So ``global_idx.x // 32`` is a warp's number and one that all of
the block share, and alike in all lanes; ``global_idx.x % 32`` is a thread's lane.
"""

from __future__ import annotations

from weft.abi.warp import WARP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.effects import meets_in_warp
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import I64
from weft.compiler.passes.indices import Ranges, thread_axis

_NAMES = {
    ("arith.andi", WARP - 1): "gpu.lane_id",
    ("arith.shrsi", WARP.bit_length() - 1): "gpu.subgroup_id",
}


def name_lanes(kernel: Function) -> None:
    """Call them so, in a kernel with blocks of one row."""
    if kernel.block_rank == 1 and any(map(meets_in_warp, kernel.body.walk())):
        _name(kernel.body, Ranges())


def _name(region: Region, ranges: Ranges) -> None:
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions:
            _name(inner, ranges)
        name = _NAMES.get((op.name, integer(op.operands[1]) or 0)) if len(op.operands) == 2 else None
        rest = None if name is None else _beside_thread(op.operands[0], ranges)
        if name is not None and rest is not None:
            if rest and name == "gpu.subgroup_id":
                ops += _sum(op, name, rest)
            else:
                op.spec, op.name, op.operands = SPECS[name], name, ()
        ops.append(op)
    region.ops[:] = ops


def _beside_thread(v: Value, ranges: Ranges) -> list[Value] | None:
    """The multiples of warps that are added to a thread's index along x; None where it is another number."""
    if v.type is not I64 or ranges.range(v) is None:
        return None
    found, waiting, threads = list[Value](), [v], 0
    while waiting:
        one = waiting.pop()
        if thread_axis(one) == "x":
            threads += 1
        elif _is_multiple(one):
            found.append(one)
        elif isinstance(one.owner, Op) and one.owner.name == "arith.addi":
            waiting += one.owner.operands
        else:
            return None
    return found if threads == 1 else None


def _is_multiple(v: Value) -> bool:
    """Whether a number is certain to be one of whole warps."""
    owner, known = v.owner, integer(v)
    if known is not None:
        return known % WARP == 0
    if not isinstance(owner, Op):
        return False
    if owner.name == "arith.muli":
        return any(map(_is_multiple, owner.operands))
    if owner.name in ("arith.addi", "arith.subi"):
        return all(map(_is_multiple, owner.operands))
    return owner.name == "gpu.block_dim" and owner.attrs["dimension"] == "x"


def _sum(op: Op, name: str, rest: list[Value]) -> list[Op]:
    """Let an operation add the number of a warp to what is left of a sum; gives what it needs."""
    b = Builder()
    b.loc = op.loc
    with b.into(Region()) as made:
        before, by = rest[0], op.operands[1]
        for other in rest[1:]:
            before = b.arith("addi", before, other)
        operands = b.arith("shrsi", before, by), b.value(name, (), I64)
    op.spec, op.name, op.operands = SPECS["arith.addi"], "arith.addi", operands
    return made.ops
