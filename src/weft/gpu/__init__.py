"""Threads and blocks: where a thread stands, and how the threads of a block wait for each other.

The names are for kernels; outside of one there are no threads, and reading them is an error.

Example:
    >>> from weft import Int32, Pointer, kernel
    >>> from weft.gpu import block_dim, block_idx, global_idx, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> @kernel
    ... def blocks(out: Pointer[Int32]):
    ...     out[global_idx.x] = Int32(10 * block_idx.x + thread_idx.x)
    >>> ctx = DeviceContext(api="cpu")
    >>> out = ctx.enqueue_create_buffer(Int32, 6)
    >>> ctx.enqueue_function(blocks, out, grid_dim=2, block_dim=3)
    >>> with out.map_to_host() as host:
    ...     print(host)
    HostBuffer([0, 1, 2, 10, 11, 12])
"""

from typing import TYPE_CHECKING

from weft.diagnostics.modules import present
from weft.gpu.cluster import (
    block_id_in_cluster,
    block_rank_in_cluster,
    cluster_arrive,
    cluster_dim,
    cluster_idx,
    cluster_sync,
    cluster_wait,
    elect_one_sync,
    map_shared_rank,
)
from weft.gpu.cooperative import grid_sync
from weft.gpu.grid_controls import launch_dependent_grids, wait_on_dependent_grids
from weft.gpu.indices import block_dim, block_idx, global_idx, grid_dim, launch_bounds, thread_idx
from weft.gpu.lanes import lane_id, warp_id
from weft.gpu.sync import barrier

if TYPE_CHECKING:
    from weft.gpu import block as block
    from weft.gpu import bulk as bulk
    from weft.gpu import cluster as cluster
    from weft.gpu import cooperative as cooperative
    from weft.gpu import grid_controls as grid_controls
    from weft.gpu import host as host
    from weft.gpu import mbarrier as mbarrier
    from weft.gpu import memory as memory
    from weft.gpu import mma as mma
    from weft.gpu import pipeline as pipeline
    from weft.gpu import semaphore as semaphore
    from weft.gpu import sync as sync
    from weft.gpu import warp as warp
    from weft.gpu import wgmma as wgmma

__all__ = [
    "barrier",
    "block_dim",
    "block_id_in_cluster",
    "block_idx",
    "block_rank_in_cluster",
    "cluster_arrive",
    "cluster_dim",
    "cluster_idx",
    "cluster_sync",
    "cluster_wait",
    "elect_one_sync",
    "global_idx",
    "grid_dim",
    "grid_sync",
    "lane_id",
    "launch_bounds",
    "launch_dependent_grids",
    "map_shared_rank",
    "thread_idx",
    "wait_on_dependent_grids",
    "warp_id",
]

_LATER = {
    part: f"weft.gpu.{part}"
    for part in "block bulk cluster cooperative grid_controls host mbarrier memory mma pipeline semaphore "
    "sync warp wgmma".split()
}
"""The modules below, each loaded when it is asked for."""

present(globals(), _LATER)
