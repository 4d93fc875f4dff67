"""Helpers put into kernels where threads are loops: those that go by what each thread has of its own.

Of a helper that only computes which thread it is in nothing would be known, nor would loops of a helper be
taken apart (``together.py``), of which threads take every so manieth round.
"""

from __future__ import annotations

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Module, Op
from weft.compiler.passes.inline_barriers import inline
from weft.compiler.passes.loop_variables import added, within
from weft.compiler.passes.uniformity import is_alike

_BRIEF = 32
"""Operations of a helper that only computes."""


def inline_strides(module: Module) -> None:
    """Put such helpers into what calls them, in place."""
    if all(f.kernel for f in module.functions):
        return
    ops = [op for f in module.functions for op in f.body.walk()]
    kept = {op.attrs["callee"] for op in ops if "callee" in op.attrs and _is_kept(op)}
    inline(module, lambda f: f.name not in kept and (_is_place(f) or any(map(_strides, f.body.walk()))))


def _is_kept(op: Op) -> bool:
    """Whether an operation takes a function's address, or calls it once for all threads."""
    return op.name != "func.call" or is_alike(op)


def _is_place(f: Function) -> bool:
    """Whether a helper computes of indices alone."""
    *ops, last = f.body.ops
    few = len(ops) <= _BRIEF and last.name == "weft.return"
    return few and any(op.name.startswith("gpu.") for op in ops) and all(op.spec.pure for op in ops)


def _strides(loop: Op) -> bool:
    """Whether threads may begin a loop one behind the other, and go on by as many as they are."""
    if loop.name == "weft.for":
        return integer(loop.operands[2]) not in (1, -1) and integer(loop.operands[0]) is None
    given = [op for op in within(loop) if op.name == "weft.set"] if loop.name == "weft.while" else []
    steps = [added(op, op.operands[0]) for op in given]
    return any(step is not None and integer(step) not in (1, -1) for step in steps)
