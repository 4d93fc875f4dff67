"""Barriers in shared memory, at which threads and copies arrive: ``mbarrier``.

A barrier counts what has come: threads by ``arrive``, bytes of bulk copies (``weft.gpu.bulk``,
``weft.layout.tma_async``) by themselves. When all threads that ``init`` named and all bytes that
``expect_bytes`` announced are there its *phase* ends and the next begins. ``wait(parity)`` waits for the end
of the phases of even numbers, 0, or odd ones, 1: the first is waited for by 0, the next by 1. Waiting for 1
before any has ended passes at once.

From compute capability 9.0 (Hopper) on these are PTX's ``mbarrier``; elsewhere words in shared memory in
which the threads count, so that the same program runs.

Example:
    >>> from weft import Float32, Pointer, UInt64, kernel
    >>> from weft.gpu import barrier, thread_idx
    >>> from weft.gpu.bulk import async_bulk_copy
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def reversed_block(x: Pointer[Float32], out: Pointer[Float32]):
    ...     tile = stack_allocation(Float32, 32, address_space=AddressSpace.SHARED)
    ...     arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=AddressSpace.SHARED))
    ...     if thread_idx.x == 0:
    ...         arrived.init(1)
    ...     barrier()
    ...     if thread_idx.x == 0:
    ...         arrived.expect_bytes(32 * 4)
    ...         async_bulk_copy(x, tile, 32, arrived)
    ...     arrived.wait(0)
    ...     out[thread_idx.x] = tile[31 - thread_idx.x]
    >>> ctx = DeviceContext(api="cpu")
    >>> x, out = (ctx.enqueue_create_buffer(Float32, 32) for _ in range(2))
    >>> with x.map_to_host() as host:
    ...     host[:] = range(32)
    >>> ctx.enqueue_function(reversed_block, x, out, grid_dim=1, block_dim=32)
    >>> with out.map_to_host() as host:
    ...     print(host[:4])
    [31. 30. 29. 28.]
"""

from __future__ import annotations

from typing import Any

from weft.atomic import Atomic
from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.gpu import cluster
from weft.lang.decorators import func
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import note_copies, threads_are_loops, uses_thread
from weft.lang.number import NumberLike
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Bool, Int, Int32, UInt32, UInt64
from weft.lang.structs import struct

__all__ = ["SharedMemBarrier"]

_MOST = (1 << 15) - 1
_PENDING, _COUNT, _PHASE = 32, 47, 62
"""Where a word without hardware has how many are awaited, how many were, and the number of the phase; the
lowest 32 bits are the bytes that are missing, which may have come before they were announced."""


@struct
class SharedMemBarrier:
    """A barrier at a word of shared memory; ``SharedMemBarrier(words + i)`` is one of several.

    ``bars = stack_allocation(SharedMemBarrier, 4, address_space=AddressSpace.SHARED)`` makes the words, too:
    ``bars[i]`` is the barrier there.

    Mojo: ``SharedMemBarrier``. CUTLASS: ``ClusterTransactionBarrier``.
    """

    word: Pointer[UInt64]

    @staticmethod
    def __weft_used_at__(at: Pointer[Any]) -> SharedMemBarrier:
        return SharedMemBarrier(at.bitcast(UInt64))

    def init(self, count: NumberLike = 1) -> None:
        """Begin: each phase ends when so many have arrived. One thread calls it, before a ``barrier()``.

        Args:
            count: 1 to 32767.

        PTX: ``mbarrier.init``, and the fences that show it to copies and to the cluster.
        """
        _init(self.word, UInt32(count))

    def arrive(self) -> None:
        """Arrive; what this thread wrote before is visible to those who wait. PTX: ``mbarrier.arrive``."""
        _arrive(self.word)

    def arrive_cluster(self, rank: NumberLike) -> None:
        """Arrive at the same barrier of another block of the cluster, by its rank.

        What this thread wrote before is visible there only behind a ``fence("release", scope="cluster")``,
        which takes long; to say that something was read needs none. PTX: ``mbarrier.arrive.shared::cluster``.
        """
        _arrive_at(self.word, UInt32(rank))

    def expect_bytes(self, count: NumberLike) -> None:
        """Arrive, and announce so many bytes of copies. PTX: ``mbarrier.arrive.expect_tx``."""
        _expect(self.word, UInt32(count), arrives=True)

    def expect_more(self, count: NumberLike) -> None:
        """Announce so many bytes of copies, without arriving. PTX: ``mbarrier.expect_tx``."""
        _expect(self.word, UInt32(count), arrives=False)

    def try_wait(self, parity: NumberLike) -> Bool:
        """Whether the phase of this parity has ended; the hardware may wait a while for it.

        PTX: ``mbarrier.try_wait.parity``.
        """
        return _tried(self.word, UInt32(parity))

    def wait(self, parity: NumberLike) -> None:
        """Wait until the phase of this parity has ended."""
        _wait(self.word, UInt32(parity))


def has_hardware() -> bool:
    """Whether the target has barriers that count bytes, and copies that bring these."""
    return current_target().supports(Feature.TENSOR_MEMORY_ACCESS)


def _asm(text: str, result: Any, word: Pointer[UInt64], *args: Any, constraints: str) -> Any:
    return inline_asm(text, result, shared_address(word), *args, constraints=constraints, effects="block")


def shared_address(pointer: Pointer[Any]) -> UInt32:
    """An address of shared memory as instructions take it.

    Raises:
        CompileError: it is other memory.
    """
    uses_thread()
    if pointer.space != AddressSpace.SHARED:
        refuse(
            "address-space",
            f"this is memory of AddressSpace.{AddressSpace(pointer.space).name}, not of SHARED",
            hint="make it with stack_allocation(..., address_space=AddressSpace.SHARED)",
        )
    return UInt32(Int(pointer))


def _init(word: Pointer[UInt64], count: UInt32) -> None:
    if has_hardware():
        text = "mbarrier.init.shared::cta.b64 [$0], $1; fence.mbarrier_init.release.cluster; "
        _asm(f"{text}fence.proxy.async.shared::cta;", None, word, count, constraints="r,r")
        return
    shared_address(word)
    each = count.cast(UInt64)
    Atomic.store(word, each << _PENDING | each << _COUNT, ordering="release", scope="block")


def _arrive(word: Pointer[UInt64]) -> None:
    if has_hardware():
        _asm("mbarrier.arrive.shared::cta.b64 _, [$0];", None, word, constraints="r")
    else:
        shared_address(word)
        _count(word, Int32(1), Int32(0))


def _arrive_at(word: Pointer[UInt64], rank: UInt32) -> None:
    cluster.check("arrive_cluster()")
    if has_hardware():
        text = "{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; "
        arrive = "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
        _asm(text + arrive, None, word, rank, constraints="r,r")
    else:
        _count(cluster.map_shared_rank(word, rank), Int32(1), Int32(0))


def _expect(word: Pointer[UInt64], count: UInt32, *, arrives: bool) -> None:
    if has_hardware():
        text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
        if not arrives:
            text = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
        _asm(text, None, word, count, constraints="r,r")
    else:
        shared_address(word)
        _count(word, Int32(int(arrives)), count.cast(Int32))


def count_in(barrier: SharedMemBarrier, nbytes: NumberLike) -> None:
    """Count bytes in, where no hardware does."""
    _count(barrier.word, Int32(0), -UInt32(nbytes).cast(Int32))


def _tried(word: Pointer[UInt64], parity: UInt32) -> Bool:
    if has_hardware():
        text = "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; selp.u32 $0, 1, 0, p; }"
        return _asm(text, UInt32, word, parity, constraints="=r,r,r") != 0
    shared_address(word)
    ended = _ended(word, parity)
    note_copies("arrived", word.value, when=ended.value)
    return ended


def _wait(word: Pointer[UInt64], parity: UInt32) -> None:
    if has_hardware():
        text = "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra AGAIN; }"
        _asm(text, None, word, parity, constraints="r,r")
        return
    shared_address(word)
    _spin(word, parity)
    note_copies("arrived", word.value)


@func
def _ended(word: Pointer[UInt64], parity: UInt32) -> Bool:
    phase = Atomic.load(word, ordering="acquire", scope="block") >> _PHASE & 1
    return phase.cast(UInt32) != parity & 1


@func
def _spin(word: Pointer[UInt64], parity: UInt32) -> None:
    while not _ended(word, parity):
        pass


def _count(word: Pointer[UInt64], arrivals: Int32, missing: Int32) -> None:
    """Count arrivals, and bytes that are announced, or have come if negative."""
    if threads_are_loops():  # where nobody comes between
        state = Atomic.load(word, ordering="acquire", scope="cluster")
        Atomic.store(word, _counted(state, arrivals, missing), ordering="release", scope="cluster")
    else:
        _count_among_others(word, arrivals, missing)


@func
def _count_among_others(word: Pointer[UInt64], arrivals: Int32, missing: Int32) -> None:
    state = Atomic.load(word, scope="block")
    done = Bool(False)
    while not done:
        after = _counted(state, arrivals, missing)
        state, done = Atomic.compare_exchange(word, state, after, ordering="acq_rel", scope="block")


@func
def _counted(state: UInt64, arrivals: Int32, missing: Int32) -> UInt64:
    """The word behind it."""
    awaited = (state >> _PENDING & _MOST).cast(Int32) - arrivals
    left = state.cast(UInt32).cast(Int32) + missing
    count, phase = state >> _COUNT & _MOST, state >> _PHASE & 1
    if awaited == 0 and left == 0:
        return (phase ^ 1) << _PHASE | count << _COUNT | count << _PENDING
    held = phase << _PHASE | count << _COUNT | awaited.cast(UInt64) << _PENDING
    return held | left.cast(UInt32).cast(UInt64)


present(globals())
