"""Kernels whose launch overlaps with the end of what is before them in the stream."""

from __future__ import annotations

from weft.gpu import launch_dependent_grids, wait_on_dependent_grids


def begin_early() -> None:
    """What a kernel does first that ``Operands.launch`` launches ``early``, before it touches global memory.

    The next such kernel may begin, which takes the hardware a microsecond; what was before has ended. Not for
    kernels of few blocks of which a multiprocessor holds several: those of the next one are put where room is
    first, so that some multiprocessors have two and others none (on an H200 3 of 12 us were lost).
    """
    launch_dependent_grids()
    wait_on_dependent_grids()
