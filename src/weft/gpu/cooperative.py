"""Cooperative launches: all blocks of the grid run at once, and wait for each other.

``ctx.enqueue_function(..., cooperative=True)`` makes such a launch, or says how many blocks fit at most.

Example:
    >>> from weft import Float32, Int, Pointer, kernel
    >>> from weft.gpu import global_idx, grid_sync
    >>> from weft.gpu.host import DeviceContext
    >>> @kernel
    ... def smooth_twice(x: Pointer[Float32], y: Pointer[Float32], n: Int):
    ...     i = global_idx.x
    ...     if 0 < i < n - 1:
    ...         y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0
    ...     grid_sync()  # all of y is there now
    ...     if 0 < i < n - 1:
    ...         x[i] = (y[i - 1] + y[i] + y[i + 1]) / 3.0
    >>> ctx = DeviceContext(api="cpu")
    >>> x, y = (ctx.enqueue_create_buffer(Float32, 6) for _ in range(2))
    >>> with x.map_to_host() as host:
    ...     host[:] = [0, 9, 0, 9, 0, 0]
    >>> y.enqueue_fill(0.0)
    >>> ctx.enqueue_function(smooth_twice, x, y, 6, grid_dim=3, block_dim=2, cooperative=True)
    >>> with x.map_to_host() as host:
    ...     print(host)
    HostBuffer([0.0, 3.0, 4.0, 4.0, 2.0, 0.0])
"""

from __future__ import annotations

from weft.atomic import Atomic
from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.gpu.indices import block_idx, grid_dim, thread_idx
from weft.gpu.sync import barrier
from weft.lang.decorators import func
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import group_barrier, note_use, threads_are_loops
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import UInt32
from weft.lang.spec import PointerSpec

__all__ = ["grid_sync"]

_HIGHEST = 1 << 31


def grid_sync() -> None:
    """Wait until every thread of the grid is here; their writes to memory are visible then.

    All threads of the grid must reach it, or none; those that have returned are waited for, so none does
    before it. A CPU tells of that, a GPU may hang. The launch says ``cooperative=True``, without which
    it is refused. CUDA calls it ``cooperative_groups::this_grid().sync()``.

    On a CPU the launch may have any number of blocks: all of them run up to here before any goes on, and what
    their threads need afterwards is kept meanwhile.

    Raises:
        CompileError: the blocks of a launch do not all run at once on this target.
    """
    target = current_target()
    known = threads_are_loops() or target.supports(Feature.NVVM)  # of others the counter is not known
    if not (known and target.supports(Feature.COOPERATIVE)):
        refuse(
            "unsupported",
            f"grid_sync() is not known on {target.name}, where the blocks of a launch do not all run at once",
            hint="make two kernels of it: what is queued first has ended before the next begins",
        )
    note_use("grid_sync")
    if threads_are_loops():
        group_barrier("grid")
        return
    barrier()
    _meet()
    barrier()


def _arrivals() -> Pointer[UInt32]:
    """The counter that the driver gives each cooperative launch.

    Its address is where CUDA's own cooperative groups find it: the launch's workspace is named by two
    registers, and the counter is its second word.
    """
    workspace: Pointer[UInt32] = inline_asm(
        "{ .reg .b32 high, low; mov.u32 high, %envreg1; mov.u32 low, %envreg2; mov.b64 $0, {low, high}; }",
        PointerSpec(UInt32.dtype, AddressSpace.GENERIC),
        constraints="=l",
        effects="none",
    )
    return workspace + 1


@func
def _meet() -> None:
    """One thread of each block counts it in and waits for the others.

    The first block adds what makes the counter's highest bit flip once all others have added one.
    """
    if thread_idx.x + thread_idx.y + thread_idx.z == 0:
        others = grid_dim.x * grid_dim.y * grid_dim.z - 1
        first = block_idx.x + block_idx.y + block_idx.z == 0
        count = first.select(_HIGHEST - others, 1).cast(UInt32)
        arrivals = _arrivals()
        before = Atomic.fetch_add(arrivals, count, ordering="release")
        while (before ^ Atomic.load(arrivals, ordering="acquire")) & _HIGHEST == 0:
            pass


present(globals())
