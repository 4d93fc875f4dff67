"""Barriers that not all threads of a block reach, where that is certain: as on the CPU, it is refused."""

from __future__ import annotations

from collections.abc import Mapping

from weft.compiler.ir.core import Function, Op
from weft.compiler.passes.meeting import Decisions, find_barrier


def check_barriers(function: Function, functions: Mapping[str, Function]) -> None:
    """Whether all threads come to the barriers within branches and loops of a kernel.

    Raises:
        CompileError: the first threads are certain to part before one.
    """
    decisions: Decisions | None = None
    around: list[Op] = [op for op in function.body.ops if op.regions]
    for op in around:  # grows while it runs
        if any(find_barrier(region) for region in op.regions):
            decisions = decisions or Decisions(function, functions)
            decisions.asked(op, None)
            around += [inner for region in op.regions for inner in region.ops if inner.regions]
