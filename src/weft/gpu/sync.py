"""Synchronisation of the threads of a block."""

from __future__ import annotations

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.gpu.lanes import LANES
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import block_barrier, meet_at, threads_are_loops, uses_thread
from weft.lang.number import Number
from weft.lang.scalars import UInt32

__all__ = ["barrier", "named_barrier", "named_barrier_arrive"]


def barrier() -> None:
    """Wait until every thread of the block is here; their writes to memory are visible then.

    All threads of the block must reach it, or none; what was written before it to memory that they
    share may be read after it. ``weft.memory`` has an example. CUDA calls it ``__syncthreads()``.
    """
    block_barrier()


def named_barrier(number: int, threads: int) -> None:
    """Wait at one of the block's 15 further barriers, where some of its warps meet while others go on.

    Args:
        number: which, from 1 to 15, known at compile time.
        threads: how many come, those of ``named_barrier_arrive`` among them: whole warps.

    Raises:
        CompileError: the target has none.

    PTX: ``barrier.cta.sync``. CUTLASS: ``NamedBarrier::sync``.
    """
    _named("named_barrier()", "sync", number, threads)


def named_barrier_arrive(number: int, threads: int) -> None:
    """Say at such a barrier that this thread is here, and go on; what it wrote before is visible behind it.

    PTX: ``barrier.cta.arrive``.
    """
    _named("named_barrier_arrive()", "arrive", number, threads)


def _named(name: str, word: str, number: object, threads: object) -> None:
    uses_thread()
    target = current_target()
    if target.threads != "loops" and not target.supports(Feature.NVVM):
        refuse(
            "unsupported", f"{name} is not known on {target.name}", hint="let all threads meet at barrier()"
        )
    found, count = (n.value if isinstance(n, Number) else n for n in (number, threads))
    if type(found) is not int or not 1 <= found <= 15:
        refuse(
            "lanes",
            f"{name} takes a number from 1 to 15, known at compile time",
            hint="barrier() is number 0",
        )
    if type(count) is not int or count % LANES or not LANES <= count <= 1024:
        hint = "write 64 for two warps, say"
        refuse("lanes", f"{name} takes how many threads come, whole warps, known at compile time", hint=hint)
    if threads_are_loops():
        meet_at(found, count, arrives=word == "arrive")
        return
    llvm_intrinsic(f"llvm.nvvm.barrier.cta.{word}.count", None, UInt32(found), UInt32(count), effects="block")


present(globals())
