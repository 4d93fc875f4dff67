"""Synchronisation of the threads of a block."""

from __future__ import annotations

from weft.lang.machine import block_barrier


def barrier() -> None:
    """Wait until every thread of the block is here; their writes to memory are visible then.

    All threads of the block must reach it, or none; what was written before it to memory that they
    share may be read after it. ``weft.memory`` has an example. CUDA calls it ``__syncthreads()``.
    """
    block_barrier()
