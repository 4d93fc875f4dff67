"""Rounds that some threads end early, after a loop's last barrier: the rest moves into the other branch.

``barrier(); if own: continue; rest`` is ``if not own: rest``, after which all threads begin the next round
together. What is left where nobody waits for anybody is then done thread by thread.
"""

from __future__ import annotations

from weft.compiler.ir.core import Module, Op, Region
from weft.compiler.ir.jumps import leaves
from weft.compiler.passes.inline_barriers import has_barrier
from weft.compiler.passes.uniformity import LOOPS

_END = "weft.continue"


def skip_the_rest(module: Module) -> None:
    """Have threads skip what is left of a round, in all kernels of the module, in place."""
    for function in module.functions:
        for op in function.body.walk():
            if op.name in LOOPS and has_barrier(op.regions[-1]):
                _to_the_end(op.regions[-1])


def _to_the_end(region: Region) -> None:
    """Rewrite a region behind which a round ends."""
    if region.ops and region.ops[-1].name == _END:
        region.ops.pop()
    for n in range(len(region.ops) - 1, -1, -1):
        op = region.ops[n]
        if op.name == "weft.if" and any(map(leaves, op.regions)):
            going = [one for one in op.regions if not _ends(one)]
            if len(going) == 2 and n + 1 < len(region.ops):
                return  # within one of them it is decided anew, and both would need what is left
            for one in going[:1]:
                one.ops += region.ops[n + 1 :]
            del region.ops[n + 1 :]
            for one in op.regions:
                _to_the_end(one)
        if has_barrier(Region([], [op])):
            return


def _ends(region: Region) -> bool:
    """Whether all threads that come to a region's end begin the next round there."""
    last: list[Op] = region.ops[-1:]
    return bool(last) and last[0].name == _END
