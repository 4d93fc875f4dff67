"""Loops over threads in which LLVM interleaves two vectors, where blocks have whole strips of threads.

What a thread computes waits for what it computed before; beside a second vector the processor waits less. Two
vectors of floats of 32 bits are a strip where a vector has 8 of them; LLVM is told of one where it has more.
"""

from __future__ import annotations

from weft.compiler.ir.core import Module, Op
from weft.compiler.ir.types import FloatType
from weft.compiler.passes.uniformity import LOOPS

_ENOUGH = 6
"""With fewer computations memory is what a loop waits for."""


def pairs(module: Module) -> None:
    """Mark the loops that compute with floats, in place."""
    for f in module.functions:
        for op in f.body.walk():
            if op.name == "weft.for" and op.attrs["parallel"] and "few" not in op.attrs:
                if computes_much(op.regions[0].ops):
                    op.attrs = {**op.attrs, "pairs": True}


def computes_much(ops: list[Op]) -> bool:
    """Whether operations compute so much with floats that memory is not what they wait for."""
    return sum(map(_computes, ops)) >= _ENOUGH


def _computes(op: Op) -> int:
    """How many computations of floats of 32 bits or more it is; functions and loops are enough of them."""
    inner = sum(_computes(each) for region in op.regions for each in region.ops)
    kind = op.results[0].type.scalar if op.results else None
    if not isinstance(kind, FloatType) or kind.bits < 32:
        return inner * (_ENOUGH if op.name in LOOPS else 1)
    return _ENOUGH if op.name == "func.call" else int(op.spec.pure and bool(op.operands))
