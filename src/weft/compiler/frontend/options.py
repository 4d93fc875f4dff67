"""How a kernel is compiled, beside the types of its parameters."""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.source.definition import Definition
from weft.record import record


@record
class Over:
    """A launch over a range.

    ``rank`` extents; each thread does ``per_thread`` elements along x and along y. ``runner`` is the
    library's staged function that calls the element for each of them:
    ``runner(element, extents, per_x, per_y)``.
    """

    rank: int
    per_thread: tuple[int, int] = (1, 1)
    runner: Definition | None = None


class CompileOptions(NamedTuple):
    """All that one kernel is compiled for in two ways: it tells variants apart, and the cache, as a whole."""

    over: Over | None = None
    """What a launch over a range asks of elaboration, where threads are hardware."""
    distinct: bool = False
    """No two pointer arguments reach the same memory. LLVM takes such memory to be nobody else's, whatever
    the threads wait for; so where they wait, it is told of less."""
    checked: frozenset[str] = frozenset()
    """What it is checked for, by the words of ``abi/checks.py``."""
    any_block: bool = False
    """Where threads are loops: blocks may extend along axes that the kernel asks no thread's place of. Most
    do not, and their code has a third of the loops."""
    order: int = 0
    """Where threads are loops, in which of ``ORDERS`` (``abi/cpu_limits.py``) they go."""
    debug: bool = False
    """Where threads are loops: for debuggers of native code, with all variables and without optimisation."""
    even: bool = False
    """Where threads are loops: blocks have a multiple of ``STRIP`` (``abi.cpu_launch``) threads along x, as
    most do. Their loops are whole vectors, without one for what is left."""
    large: bool = False
    """Where threads are loops: a launch may touch more memory than caches hold (``abi.cpu_limits``)."""
    opt_level: int | None = None
    """How much LLVM and the target's assembler optimise, from 0 to 3; None is as much as the target says."""


PLAIN = CompileOptions()
"""A launch of blocks, of which nothing is promised."""
