"""Host memory that queued work writes: who looks at it before the program has waited may be too early.

Contexts that are checked for races note it. Any wait of the program ends that for all of it: what it was for
is not asked, so that nobody is blamed who has waited by other means.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from weft.diagnostics import LaunchError

if TYPE_CHECKING:
    from weft.runtime.allocation import Allocation

written: set[weakref.ref[Allocation]] = set()
"""What is written by copies that nobody has waited for: by hand, since each wait looks at it."""

arrays: list[tuple[int, int, weakref.ref[Any] | None]] = []
"""Memory that launches write which nobody has waited for: from, to, and of weft's own whose it is."""


def launched(memory: Any) -> None:
    """A launch was queued that writes memory: of a buffer, or of an array."""
    owner: Any = getattr(memory, "allocation", None)
    whose: weakref.ref[Any] | None = weakref.ref(owner) if hasattr(owner, "__weakref__") else None
    arrays.append((memory.address, memory.address + memory.nbytes, whose))


def writes(memory: Allocation) -> None:
    """A copy was queued that writes host memory."""
    written.add(weakref.ref(memory, written.discard))


def waited() -> None:
    """The program has waited."""
    written.clear()
    arrays.clear()


def check_array(source: object) -> None:
    """Whether an array may be copied from: its elements are taken at once.

    Raises:
        LaunchError: a launch that writes it was queued, and the program has not waited since.
    """
    interface = getattr(source, "__array_interface__", None) if arrays else None
    if interface is None:
        return
    low = interface["data"][0]
    if any(begin < low + getattr(source, "nbytes", 1) and low < end for begin, end, _ in arrays):
        raise LaunchError.here(
            "host-read",
            "this array is copied from before the program has waited for the kernel that writes it",
            "wait between the two: `ctx.synchronize()`",
        )


def check(memory: Allocation | None, low: int, nbytes: int) -> None:
    """Whether bytes of host memory may be looked at.

    Raises:
        LaunchError: what writes them was queued, a copy or a launch, and the program has not waited since.
    """
    if memory is None:
        return
    own = weakref.ref(memory)
    writer = "copy" if own in written else ""
    if any(begin < low + nbytes and low < end and whose == own for begin, end, whose in arrays):
        writer = "kernel"
    if writer:
        raise LaunchError.here(
            "host-read",
            f"this host memory is used before the program has waited for the {writer} that writes it",
            "wait between the two: `ctx.synchronize()`",
        )
