"""How a launch over a range is cut into blocks."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from weft.abi.cpu_limits import STRIP
from weft.compiler.frontend.options import Over
from weft.compiler.source.python import definition_of
from weft.gpu.over import run_over
from weft.launch.large import threads_are_loops
from weft.record import record
from weft.runtime.dim import Dim
from weft.runtime.driver import DeviceInfo

_THREADS = 256
_PER_THREAD = 4
_CPU_ROW = 1 << 14
_CPU_BLOCKS = (1 << 31) - 1
_RUN = definition_of(run_over)


@record
class OverPlan:
    """Extents as x, y, z, the block, and how many elements each thread should do along x and y."""

    extents: tuple[int, int, int]
    rank: int
    block: Dim
    per_thread: tuple[int, int]

    @property
    def empty(self) -> bool:
        """Whether there is no element."""
        return 0 in self.extents

    def grid(self, per_thread: tuple[int, int]) -> Dim:
        """The grid that covers the extents."""
        x, y, z = self.extents
        return Dim(
            -(-x // (self.block.x * per_thread[0])),
            -(-y // (self.block.y * per_thread[1])),
            -(-z // self.block.z),
        )


@functools.cache
def describe_over(rank: int, per_thread: tuple[int, int] = (1, 1)) -> Over:
    """What the compiler is told of a launch over ``rank`` extents."""
    return Over(rank, per_thread, _RUN)


def is_even(info: DeviceInfo, block: Sequence[int] = (STRIP,)) -> bool:
    """Whether kernels are compiled for blocks of whole strips of threads, and this is one."""
    return block[0] % STRIP == 0 and threads_are_loops(info)


def most_blocks(info: DeviceInfo) -> tuple[int, int, int]:
    """How many blocks a launch over a range may have in x, y and z."""
    if threads_are_loops(info):
        return _CPU_BLOCKS, _CPU_BLOCKS, _CPU_BLOCKS  # stretches of rows, which no limit of GPUs is about
    return info.max_grid_dim


def plan_over(info: DeviceInfo, sizes: tuple[int, ...]) -> OverPlan:
    """The plan for a range whose last extent is x.

    On a GPU a block has about 256 threads, along x first, so that neighbours touch neighbouring
    memory; a short x leaves the rest to y and z. Where there is enough to keep the GPU busy, each
    thread does four elements a block's width apart: their loads are in flight together, which is
    what it takes to saturate the memory. On a CPU a block is a stretch of a row, which its thread
    loop runs through.
    """
    x, y, z = (*reversed(sizes), 1, 1)[:3]
    rank = len(sizes)
    if 0 in sizes:
        return OverPlan((x, y, z), rank, Dim(1), (1, 1))
    if threads_are_loops(info):
        bx = min(x, _CPU_ROW)
        by = min(y, max(1, _CPU_ROW // bx)) if bx < 64 else 1
        return OverPlan((x, y, z), rank, Dim(bx, by, 1), (1, 1))
    bx = min(x, _THREADS)
    by = min(y, max(1, _THREADS // bx))
    bz = min(z, max(1, _THREADS // (bx * by)), 64)
    busy = x * y * z >= info.multiprocessors * 2048 * _PER_THREAD
    per_thread = (1, 1)
    if busy and x >= bx * _PER_THREAD:
        per_thread = (_PER_THREAD, 1)
    elif busy and y >= by * _PER_THREAD:
        per_thread = (1, _PER_THREAD)
    return OverPlan((x, y, z), rank, Dim(bx, by, bz), per_thread)
