"""Sums of products that still run: who reads them waits for them, and for no product that was begun later."""

from __future__ import annotations

from typing import Any

from weft.gpu.mbarrier import shared_address
from weft.gpu.wgmma import wgmma_settle, wgmma_wait
from weft.lang.elaboration import current
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import threads_are_loops
from weft.lang.pointer import AddressSpace
from weft.lang.scalars import UInt32
from weft.memory import stack_allocation
from weft.tile.registers import joined, lane, pieces

__all__ = ["Running", "settle"]

_WARPGROUP = 128
"""Threads that multiply together."""
_FEW = 4
"""Numbers of a thread that a reduction gives."""


class Running:
    """The sums of a product by ``wgmma`` that was begun.

    Groups of products end in the order in which they were begun. How many were begun later is known where
    they stand in the same straight line of code; elsewhere a reader waits for all.
    """

    def __init__(self, sums: Any, columns: int, groups: int, rings: set[int]) -> None:
        b = current()
        self.sums = sums
        """What is the hardware's until it is waited for."""
        self.dtype: Any = sums.dtype
        self._columns, self._region, self._ended = columns, b.region, None
        b.begun += [(b.region, rings)] * groups
        self._begun, self._count, self._before = b.begun, len(b.begun), len(b.reduced)

    def ended(self) -> Any:
        """The sums, when the product has ended."""
        b = current()
        if b.begun is not self._begun or b.region is not self._region:
            return ended(self.sums, self._columns)
        if self._ended is None:
            keep_before([values for region, values in b.reduced[self._before :] if region is b.region])
            later = self._begun[self._count :]
            straight = all(region is self._region for region, _ in later)
            self._ended = ended(self.sums, self._columns, len(later) if straight else 0)
        return self._ended

    def further(self) -> Any:
        """The sums as another product takes them to add to, for which they need not have ended."""
        return self.sums if self._ended is None else self._ended


def keep_before(values: list[Any]) -> None:
    """Have the assembler leave reductions before what follows, which waits for products.

    It would wait first and compute then, beside nothing. A store that almost never happens, to memory that
    nobody reads, needs what they gave.
    """
    lanes = [lane(x, n) for x in values if x.dtype.bits == 32 and x.lanes <= _FEW for n in range(x.lanes)]
    if not lanes:
        return
    place = shared_address(stack_allocation(UInt32, 1, address_space=AddressSpace.SHARED))
    text = "{ .reg .pred p; setp.eq.b32 p, $1, 0x7fedcba9; @p st.volatile.shared.b32 [$0], $1; }"
    for x in lanes:
        inline_asm(text, None, place, x.bitcast(UInt32), constraints="r,r", effects="write")


def ended(sums: Any, columns: int, pending: int = 0) -> Any:
    """The sums, when all products have ended but so many groups that were begun last."""
    chains = [tuple([lane(part, n) for n in range(part.lanes)]) for part in pieces(sums, columns // 2)]
    return joined([joined(wgmma_wait(chain, pending)) for chain in chains])


def settle(ring: int = 0) -> None:
    """Wait for the products that read shared memory which is going to be written over.

    Args:
        ring: which memory, so that products of other operands may run on; 0 for any.
    """
    b, others = current(), 0
    if (
        threads_are_loops()
        or not current_target().supports(Feature.WGMMA)
        or b.elaborator.threads < _WARPGROUP
    ):
        return
    for region, rings in reversed(b.begun):
        if region is not b.region or not ring or not {ring, 0}.isdisjoint(rings - {0} if ring else rings):
            break
        others += 1
    wgmma_settle(others)
