"""Blocks that take turns: one waits until another has said that it may go on.

A semaphore is an ``Int32`` in memory that all blocks reach, which holds whose turn it is. What a block wrote
before ``release`` may be read by the one that ``wait`` lets go on. A block must only wait for blocks that run
already or have ended, as those of lower numbers do. All targets have it; PTX: ``ld.acquire``, ``st.release``.

Example:
    >>> from weft import Float32, Int32, Pointer, kernel
    >>> from weft.gpu import block_idx, global_idx, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.gpu.semaphore import Semaphore
    >>> @kernel
    ... def sums_in_order(x: Pointer[Float32], total: Pointer[Float32], turns: Pointer[Int32]):
    ...     turn = Semaphore(turns)
    ...     turn.wait(block_idx.x)
    ...     total[thread_idx.x] += x[global_idx.x]  # in the order of the blocks, each time
    ...     turn.release(block_idx.x + 1)
    >>> ctx = DeviceContext(api="cpu")
    >>> x, total = ctx.enqueue_create_buffer(Float32, 8), ctx.enqueue_create_buffer(Float32, 2)
    >>> turns = ctx.enqueue_create_buffer(Int32, 1)
    >>> total.enqueue_fill(0.0)
    >>> turns.enqueue_fill(0)
    >>> with x.map_to_host() as host:
    ...     host[:] = range(8)
    >>> ctx.enqueue_function(sums_in_order, x, total, turns, grid_dim=4, block_dim=2)
    >>> with total.map_to_host() as host:
    ...     print(host)
    HostBuffer([12.0, 16.0])
"""

from __future__ import annotations

from weft.atomic import Atomic
from weft.diagnostics.modules import present
from weft.gpu.lanes import block_thread
from weft.gpu.sync import barrier
from weft.lang.decorators import func
from weft.lang.number import NumberLike
from weft.lang.pointer import Pointer
from weft.lang.scalars import Int32
from weft.lang.structs import struct

__all__ = ["Semaphore"]


@struct
class Semaphore:
    """Whose turn it is, in ``lock``. All threads of a block call its methods."""

    lock: Pointer[Int32]

    def wait(self, status: NumberLike = 0) -> None:
        """Wait until the semaphore is ``status``; a barrier. CUTLASS: ``Semaphore::wait``."""
        _wait(self.lock, Int32(status))

    def release(self, status: NumberLike = 0) -> None:
        """Set it to ``status``, once all threads of the block are here."""
        _release(self.lock, Int32(status))


@func
def _wait(lock: Pointer[Int32], status: Int32) -> None:
    if block_thread() == 0:
        while Atomic.load(lock, ordering="acquire") != status:
            pass
    barrier()


@func
def _release(lock: Pointer[Int32], status: Int32) -> None:
    barrier()
    if block_thread() == 0:
        Atomic.store(lock, status, ordering="release")


present(globals())
