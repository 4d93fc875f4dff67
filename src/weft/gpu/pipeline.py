"""Stages of shared memory that some threads fill while others use them.

A pipeline of N stages goes round: round n lies in stage ``n % N``. Who fills it calls
``producer_acquire(n)``, which waits until the stage is free, and announces and begins copies at ``full(n)``;
who uses it calls ``consumer_wait(n)``, which waits until it is filled, and ``consumer_release(n)`` when done.
Rounds are counted from 0 and through: a kernel that does several tiles goes on counting.

CUTLASS: ``PipelineTmaAsync``. Mojo: ``PipelineState`` and two arrays of ``SharedMemBarrier``.

Example:
    >>> from weft import Float32, Int, Pointer, UInt64, kernel
    >>> from weft.gpu import thread_idx
    >>> from weft.gpu.bulk import async_bulk_copy
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def sums(x: Pointer[Float32], out: Pointer[Float32], rounds: Int):
    ...     tiles = stack_allocation(Float32, 2 * 32, address_space=AddressSpace.SHARED)
    ...     words = stack_allocation(UInt64, 2 * 2, address_space=AddressSpace.SHARED)
    ...     pipe = Pipeline[2](words)
    ...     pipe.init(consumers=32)
    ...     total = Float32(0.0)
    ...     for n in range(rounds + 1):
    ...         if n < rounds and thread_idx.x == 0:  # the next tile comes while this one is used
    ...             stage = pipe.producer_acquire(n)
    ...             pipe.full(n).expect_bytes(32 * 4)
    ...             async_bulk_copy(x + 32 * n, tiles + 32 * stage, 32, pipe.full(n))
    ...         if n > 0:
    ...             stage = pipe.consumer_wait(n - 1)
    ...             total += tiles[32 * stage + thread_idx.x]
    ...             pipe.consumer_release(n - 1)
    ...     out[thread_idx.x] = total
    >>> ctx = DeviceContext(api="cpu")
    >>> x, out = ctx.enqueue_create_buffer(Float32, 96), ctx.enqueue_create_buffer(Float32, 32)
    >>> with x.map_to_host() as host:
    ...     host[:] = range(96)
    >>> ctx.enqueue_function(sums, x, out, 3, grid_dim=1, block_dim=32)
    >>> with out.map_to_host() as host:
    ...     print(host[:4])
    [ 96.  99. 102. 105.]
"""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from weft.diagnostics.modules import present
from weft.gpu.lanes import block_thread, block_threads
from weft.gpu.mbarrier import SharedMemBarrier
from weft.gpu.sync import barrier
from weft.lang.number import NumberLike
from weft.lang.pointer import Pointer
from weft.lang.scalars import Bool, Int, UInt32, UInt64
from weft.lang.structs import struct

__all__ = ["Pipeline"]

N = TypeVar("N", bound=int)


@struct
class Pipeline(Generic[N]):
    """``N`` stages, whose barriers are ``2 * N`` words of shared memory: ``Pipeline[4](words)``."""

    words: Pointer[UInt64]

    def init(self, producers: int = 1, consumers: int = 1, *, meets: bool = True) -> None:
        """Begin with all stages free. All threads of the block call it; a barrier.

        Args:
            producers: how many threads arrive at ``full(n)`` each round, by ``expect_bytes`` or ``arrive``.
            consumers: how many call ``consumer_release(n)`` each round.
            meets: whether all threads meet behind it; False where another barrier follows.
        """
        stages = cast("int", N)
        for i in range(block_thread(), 2 * stages, block_threads()):
            SharedMemBarrier(self.words + i).init(
                Bool(i < stages).select(UInt32(producers), UInt32(consumers))
            )
        if meets:
            barrier()

    def stage(self, n: NumberLike) -> Int:
        """In which stage round n lies."""
        return Int(UInt32(n) % cast("int", N))

    def full(self, n: NumberLike) -> SharedMemBarrier:
        """The barrier at which the copies of round n arrive."""
        return SharedMemBarrier(self.words + self.stage(n))

    def free(self, n: NumberLike) -> SharedMemBarrier:
        """The barrier at which those arrive who have used round n."""
        return SharedMemBarrier(self.words + cast("int", N) + self.stage(n))

    def producer_acquire(self, n: NumberLike) -> Int:
        """Wait until the stage of round n is free; gives its number."""
        self.free(n).wait(UInt32(n) // cast("int", N) & 1 ^ 1)
        return self.stage(n)

    def consumer_wait(self, n: NumberLike) -> Int:
        """Wait until round n is there; gives its stage's number."""
        self.full(n).wait(UInt32(n) // cast("int", N) & 1)
        return self.stage(n)

    def consumer_release(self, n: NumberLike) -> None:
        """Say that this thread, and those for which it speaks, have used round n."""
        self.free(n).arrive()


present(globals())
