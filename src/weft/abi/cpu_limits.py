"""How many threads there are, at most, where threads are loops; and what is much for caches."""

from __future__ import annotations

import functools
import os

ORDERS = 8
"""In so many orders a schedule has the threads of a block go (``passes/thread_order.py``)."""
MOST_THREADS = 1024
"""Of a block: what a thread keeps over a barrier is there as many times."""

MOST_NEIGHBOURS = 16384
"""Threads of blocks that go side by side through a loop with the grid's stride: 64 KiB of
floats, as more of one stretch of memory pays more than what they keep in the nearest cache."""
MOST_TOGETHER = 1 << 30
"""Threads that one loop goes over, at most: those of a block, or of blocks that follow each other."""
STRIP = 16
"""Kernels for blocks of a multiple of so many threads along x have no loops for single ones."""


@functools.cache
def large() -> int:
    """How many bytes a launch writes at least that stores past the caches: three quarters of the last one's.

    Source: glibc's ``x86_non_temporal_threshold``, which ``memcpy`` goes by.
    """
    try:
        size = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (AttributeError, OSError, ValueError):
        size = 0
    return (size if size > 0 else 32 << 20) // 4 * 3
