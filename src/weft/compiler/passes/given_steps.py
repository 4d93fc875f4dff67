"""Loops that threads begin one behind the other, by a step that is an argument: two versions.

``for i in range(global_idx.x, n, step)`` is taken apart (``together.py``) where the step is certain to be
positive, as extents of a launch are. Of an argument the block asks once, and threads go on by themselves
where it is not, or is huge.
"""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.core import Module, Op, Region
from weft.compiler.ir.types import I32, I64
from weft.compiler.passes.indices import Ranges, Start, is_positive
from weft.compiler.passes.loop_variables import within
from weft.compiler.passes.uniformity import is_of_block

_BRIEF = 200
"""Operations of a loop that are written down twice."""


def given_steps(module: Module) -> None:
    """Rewrite the kernels of the module, in place."""
    for f in module.functions:
        if f.kernel and any(_is_given(op) for op in f.body.walk()):
            _region(f.body)


def _is_given(op: Op) -> bool:
    """Whether it is such a loop."""
    if op.name != "weft.for" or is_positive(op.operands[2]) or not all(map(is_of_block, op.operands[1:])):
        return False
    lower, step = op.operands[0], op.operands[2]
    if isinstance(step.owner, Op) and step.owner.name == "arith.constant":
        return False
    begins = Start.of(lower, is_of_block) is not None and Ranges().range(lower) is not None
    return begins and sum(1 for _ in within(op)) <= _BRIEF


def _region(region: Region) -> None:
    b, ops = Builder(), region.ops
    region.ops, b.region = [], region
    for op in ops:
        for inner in op.regions:
            _region(inner)
        if not _is_given(op):
            region.ops.append(op)
            continue
        b.loc = op.loc
        lower, upper, step = op.operands
        less = b.arith("subi", step, b.constant(1, I64))
        near = b.compare("ult", less, b.constant(1 << 32, I64))
        short = b.value("arith.extui", (b.value("arith.trunci", (less,), I32),), I64)
        positive = b.arith("addi", short, b.constant(1, I64))  # the step, where that is near
        copy = clone_op(op, {})
        op.operands = lower, upper, positive
        b.branch(near, Region([], [op]), Region([], [copy]))
