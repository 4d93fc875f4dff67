"""The threads of a block from the last to the first, where they are loops."""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Module, Op, Region


def backward(module: Module) -> None:
    """Turn the loops over threads round, in place."""
    for f in module.functions:
        for op in list(f.body.walk()):
            if op.name == "weft.for" and (op.attrs.get("parallel") or "turns" in op.attrs):
                _turn(op)


def _turn(loop: Op) -> None:
    """Have a loop's body see the index that is as far from the end as the loop's own is from the begin."""
    b, (region,), (begin, end, _) = Builder(), loop.regions, loop.operands
    (index,) = region.args
    b.loc = loop.loc
    with b.into(Region()) as head:
        one = b.constant(1, index.type)
        last = b.arith("subi", b.arith("addi", begin, end), one)
        turned = b.arith("subi", last, index)
    for op in region.walk():
        op.operands = tuple([turned if v is index else v for v in op.operands])
    region.ops[:0] = head.ops
