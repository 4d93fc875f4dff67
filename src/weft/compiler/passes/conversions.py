"""Conversions of integers of 64 bits that are known to be near, as sums: vectors have none for them.

Added to the bits of 1.5 * 2**52, a float of 64 bits, an integer is the end of its mantissa; less that number
the float is the integer, exactly, and a narrower one is rounded once. ``Float32(global_idx.x)`` would else be
converted lane by lane: many machines have no such instruction for vectors, and of others LLVM may not use it
(``without_wrong`` in ``llvm/worker/backend.py``).
"""

from __future__ import annotations

import struct

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Attribute, Module, Op, Region, Value
from weft.compiler.ir.types import F64, I32, I64, FloatType
from weft.compiler.passes.indices import Ranges

_MIDDLE = 1.5 * 2**52
_BITS: int = struct.unpack("<q", struct.pack("<d", _MIDDLE))[0]
_NEAR = 1 << 51


def conversions(module: Module) -> None:
    """Rewrite those of indices, in place."""
    for f in module.functions:
        if any(_converts(op) for op in f.body.walk()):
            _region(f.body, Ranges())


def _region(region: Region, ranges: Ranges) -> None:
    b = Builder()
    ops, b.region = region.ops, region
    region.ops = []
    for op in ops:
        for inner in op.regions:
            _region(inner, ranges)
        b.loc = op.loc
        made = converted(b, op, op.operands[0], ranges.range(op.operands[0])) if _converts(op) else None
        if made is None:
            region.ops.append(op)
        else:
            made.results = op.results
            op.result.owner = made


def _converts(op: Op) -> bool:
    """Whether it makes a float of 32 or 64 bits of an integer of 64, which is no constant."""
    kind = op.results[0].type if op.name == "arith.sitofp" else None
    wide = isinstance(kind, FloatType) and kind.bits >= 32 and op.operands[0].type is I64
    return wide and integer(op.operands[0]) is None


def converted(b: Builder, op: Op, v: Value, ends: tuple[int, int] | None) -> Op | None:
    """Convert ``v`` as an operation does, where it goes so far; None where that is too far."""
    kind = op.result.type
    if not _converts(op) or ends is None or ends[0] < -_NEAR or ends[1] >= _NEAR:
        return None
    if ends[0] >= -(1 << 31) and ends[1] < 1 << 31:
        return b.emit("arith.sitofp", (b.value("arith.trunci", (v,), I32),), (kind,))
    made = b.value("arith.bitcast", (b.arith("addi", v, b.constant(_BITS, I64)),), F64)
    exact: dict[str, Attribute] = {"fastmath": "none"}
    last = b.emit("arith.subf", (made, b.constant(_MIDDLE, F64)), (F64,), exact)
    return last if kind is F64 else b.emit("arith.truncf", (last.result,), (kind,))
