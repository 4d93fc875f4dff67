"""Synchronisation of the threads of a block."""

from __future__ import annotations

from weft.lang.errors import refuse
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import block_barrier
from weft.lang.scalars import Int32

__all__ = ["barrier"]


def barrier() -> None:
    """Wait until every thread of the block is here; their writes to memory are visible then.

    All threads of the block must reach it, or none; what was written before it to memory that they
    share may be read after it. ``weft.memory`` has an example. CUDA calls it ``__syncthreads()``.
    """
    target = current_target()
    if target.supports(Feature.NVVM):
        llvm_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", None, Int32(0), effects="block")
    elif target.supports(Feature.THREAD_LOOPS):
        block_barrier()
    else:
        refuse("unsupported", f"barrier() is not known on {target.name}")
