"""The threads of a block in another order, where they are loops: what a kernel gives should not depend on it.

There are ``ORDERS`` of them, by number: odd ones go from the last thread to the first; in all but the first
two warps are shuffled, of loops of fewer than two warps each thread. In some of them the blocks that meet, of
a grid or of a cluster, go from the last to the first as well; other blocks the runtime shuffles.
"""

from __future__ import annotations

from weft.abi.cpu_limits import ORDERS
from weft.abi.warp import WARP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Module, Op, Region, Value

assert ORDERS == 8


def groups_turn(order: int) -> bool:
    """Whether blocks that meet go from the last to the first."""
    return order // 2 in (1, 2)


def in_order(module: Module, order: int) -> None:
    """Have the loops over threads go in an order, in place."""
    for f in module.functions:
        for op in list(f.body.walk()):
            if op.name == "weft.for" and (op.attrs.get("parallel") or "turns" in op.attrs):
                _shuffle(op, order)


def _shuffle(loop: Op, order: int) -> None:
    """Have a loop's body see the index that comes at the loop's own place in such an order."""
    b, (region,), (begin, end, step) = Builder(), loop.regions, loop.operands
    (index,) = region.args
    if integer(step) != 1:
        return
    b.loc = loop.loc
    with b.into(Region()) as head:
        count = b.arith("subi", end, begin)
        at = b.arith("subi", index, begin)
        if order % 2:
            at = b.arith("subi", b.arith("subi", count, b.constant(1, index.type)), at)
        if order > 1:
            at = _in_parts(b, at, count, rotated=order // 2 != 2, split=order // 2 != 1)
        seen = b.arith("addi", begin, at)
    for op in region.walk():
        op.operands = tuple([seen if v is index else v for v in op.operands])
    region.ops[:0] = head.ops


def _in_parts(b: Builder, at: Value, count: Value, *, rotated: bool, split: bool) -> Value:
    """The place of a thread whose warp goes elsewhere: ``split``, odd ones come first; ``rotated``."""

    def number(n: int) -> Value:
        return b.constant(n, at.type)

    one, two = number(1), number(2)
    size = b.select(b.compare("sge", count, number(2 * WARP)), number(WARP), one)
    parts = b.arith("divui", count, size)
    part = found = b.arith("divui", at, size)
    if split:
        half = b.arith("shrui", parts, one)
        odd = b.arith("addi", b.arith("muli", found, two), one)
        even = b.arith("muli", b.arith("subi", found, half), two)
        found = b.select(b.compare("slt", found, half), odd, even)
    if rotated:
        found = b.arith("addi", found, b.arith("addi", b.arith("divui", parts, number(3)), one))
        found = b.select(b.compare("slt", found, parts), found, b.arith("subi", found, parts))
    moved = b.arith("addi", at, b.arith("muli", b.arith("subi", found, part), size))
    return b.select(b.compare("slt", part, parts), moved, at)
