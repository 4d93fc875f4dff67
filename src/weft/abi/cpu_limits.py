"""How many threads there are, at most, where threads are loops."""

from __future__ import annotations

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
