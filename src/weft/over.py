"""How a launch over a range is cut into blocks."""

from __future__ import annotations

from weft.runtime.dim import Dim
from weft.runtime.driver import DeviceInfo
from weft.targets import Feature, find_target

__all__ = ["plan_over"]

_GPU_THREADS = 256
_CPU_ROW = 1 << 14


def plan_over(info: DeviceInfo, sizes: tuple[int, ...]) -> tuple[tuple[int, int, int], Dim, Dim]:
    """Extents as x, y, z, the grid and the block for a range whose last extent is x.

    On a GPU a block has about 256 threads, along x first, so that neighbours touch neighbouring
    memory; a short x leaves the rest to y and z. On a CPU a block is a stretch of a row, which its
    thread loop runs through.
    """
    x, y, z = (*reversed(sizes), 1, 1)[:3]
    if find_target(info.target).supports(Feature.THREAD_LOOPS):
        bx = min(x, _CPU_ROW)
        by = min(y, max(1, _CPU_ROW // bx)) if bx < 64 else 1
        block = Dim(bx, by, 1)
    else:
        bx = min(x, _GPU_THREADS)
        by = min(y, max(1, _GPU_THREADS // bx))
        bz = min(z, max(1, _GPU_THREADS // (bx * by)), 64)
        block = Dim(bx, by, bz)
    grid = Dim(-(-x // block.x), -(-y // block.y), -(-z // block.z))
    return (x, y, z), grid, block
