"""Threads, blocks and what they share."""

from weft.gpu.indices import block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.sync import barrier

__all__ = ["barrier", "block_dim", "block_idx", "global_idx", "grid_dim", "thread_idx"]
