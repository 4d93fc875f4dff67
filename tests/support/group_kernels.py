"""Kernels whose blocks wait for each other, which several files of tests launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import Comptime, Float32, Int, Int32, Pointer, kernel
from weft.gpu import (
    block_id_in_cluster,
    block_idx,
    block_rank_in_cluster,
    cluster_dim,
    cluster_idx,
    cluster_sync,
    global_idx,
    grid_dim,
    grid_sync,
    map_shared_rank,
    thread_idx,
)
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

SHARED = AddressSpace.SHARED


def put(device: DeviceContext, array: Any) -> Any:
    buffer = device.enqueue_create_buffer(str(array.dtype), array.size)
    device.enqueue_copy(dst=buffer, src=np.ascontiguousarray(array).reshape(-1))
    return buffer


def get(device: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    device.enqueue_copy(dst=out, src=buffer)
    device.synchronize()
    return out


def numbers(size: int) -> Any:
    return np.random.default_rng(size).integers(-1000, 1000, size).astype(np.float32)


@kernel
def places(out: Pointer[Int32]):
    """Where each block finds itself, nine numbers and its rank."""
    block = (block_idx.z * grid_dim.y + block_idx.y) * grid_dim.x + block_idx.x
    at = out + 10 * block
    at[0], at[1], at[2] = Int32(cluster_idx.x), Int32(cluster_idx.y), Int32(cluster_idx.z)
    at[3], at[4], at[5] = Int32(cluster_dim.x), Int32(cluster_dim.y), Int32(cluster_dim.z)
    at[6], at[7] = Int32(block_id_in_cluster.x), Int32(block_id_in_cluster.y)
    at[8], at[9] = Int32(block_id_in_cluster.z), Int32(block_rank_in_cluster())


@kernel
def cluster_sums(x: Pointer[Float32], out: Pointer[Float32], *, size: Comptime[int]):
    """The sum of each cluster's elements, read out of all its blocks' shared memory by each block."""
    mine = stack_allocation(Float32, size, address_space=SHARED)
    mine[thread_idx.x] = x[global_idx.x]
    cluster_sync()
    total = 0.0
    for rank in range(cluster_dim.x):
        theirs = map_shared_rank(mine, rank)
        for i in range(size):
            total += theirs[i]
    cluster_sync()
    if thread_idx.x == 0:
        out[block_idx.x] = total


@kernel
def diffuse(x: Pointer[Float32], y: Pointer[Float32], size: Int, steps: Int):
    """Steps that each need what other blocks made in the step before."""
    i = global_idx.x
    for _ in range(steps):
        if 0 < i < size - 1:
            y[i] = x[i] + 0.25 * (x[i - 1] - 2.0 * x[i] + x[i + 1])
        grid_sync()
        if 0 < i < size - 1:
            x[i] = y[i]
        grid_sync()


def diffused(x: Any, steps: int) -> Any:
    x = x.copy()
    for _ in range(steps):
        x[1:-1] = x[1:-1] + np.float32(0.25) * (x[:-2] - np.float32(2) * x[1:-1] + x[2:])
    return x


def launch_diffuse(device: DeviceContext, x: Any, y: Any, **options: Any) -> None:
    grid = options.pop("grid_dim", 32)
    device.enqueue_function(
        diffuse, x, y, len(x), 50, grid_dim=grid, block_dim=64, cooperative=True, **options
    )
