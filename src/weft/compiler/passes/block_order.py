"""The order in which a worker of a CPU takes blocks.

Blocks that follow each other along x are near each other in memory, as a rule. Where a kernel stores what
lies near each other along y, and far apart along x, as a transposition does, they go along y: lines of memory
that two blocks write each a part of are still there for the second, and pages are written from end to end.
"""

from __future__ import annotations

from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.passes.indices import Strides

_NEAR = 4096
"""Bytes between what two blocks store, at most, where these follow each other in a page of memory."""


def goes_down(kernel: Function) -> bool:
    """Whether blocks go along y first. Those that call or tell something stay in their order."""
    ops = list(kernel.body.walk())
    if any(op.name == "func.call" or not _is_silent(op) for op in ops):
        return False
    stored = [op.operands[0] for op in ops if op.name == "llvm.store" and _is_global(op.operands[0])]
    return bool(stored) and all(map(_is_near_along_y, stored))


def _is_silent(op: Op) -> bool:
    return op.name not in ("weft.print", "weft.failed", "weft.assert") and "atomic" not in op.name


def _is_global(address: Value) -> bool:
    return isinstance(address.type, PointerType) and address.type.space == AddressSpace.GLOBAL


def _is_near_along_y(address: Value) -> bool:
    down, across = _along("y").of(address), _along("x").of(address)
    return down is not None and 0 < down <= _NEAR and across is None


def _along(axis: str) -> Strides:
    """By how much addresses grow from one block to the next."""

    def index(v: Value) -> bool:
        op = v.owner
        return isinstance(op, Op) and op.name == "gpu.block_id" and op.attrs["dimension"] == axis

    return Strides(index, lambda v: not (isinstance(v.owner, Op) and v.owner.operands))
