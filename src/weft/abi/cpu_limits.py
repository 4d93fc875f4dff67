"""How many threads there are, at most, where threads are loops; and what is much for caches."""

from __future__ import annotations

import functools
from pathlib import Path

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
LINE = 64
"""Bytes of memory that a processor reads and writes at once."""
TOUCHED = 16
"""As many bytes a thread of a launch is taken to read and write, where nothing is known of it."""


@functools.cache
def large() -> int:
    """How many bytes a launch reads and writes at least whose stores go past the caches: 1.5 of the last.

    Source: glibc's ``x86_non_temporal_threshold``, of what ``memcpy`` writes three quarters.
    """
    last = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    try:
        size = int(last.read_text().strip().rstrip("K")) << 10
    except (OSError, ValueError):
        size = 32 << 20
    return size // 2 * 3
