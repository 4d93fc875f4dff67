"""Host memory that queued work writes: who looks at it before the program has waited may be too early.

Contexts that are checked for races note it. Any wait of the program ends that for all of it: what it was for
is not asked, so that nobody is blamed who has waited by other means.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from weft.diagnostics import LaunchError

if TYPE_CHECKING:
    from weft.runtime.allocation import Allocation

written: set[weakref.ref[Allocation]] = set()
"""What is written by copies that nobody has waited for: by hand, since each wait looks at it."""

arrays: list[tuple[int, int]] = []
"""Memory of the host, from and to, that is written by launches which nobody has waited for."""


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
    if any(begin < low + getattr(source, "nbytes", 1) and low < end for begin, end in arrays):
        raise LaunchError.here(
            "host-read",
            "this array is copied from before the program has waited for the kernel that writes it",
            "wait between the two: `ctx.synchronize()`",
        )


def check(memory: Allocation | None) -> None:
    """Whether host memory may be looked at.

    Raises:
        LaunchError: a copy into it was queued, and the program has not waited since.
    """
    if memory is not None and weakref.ref(memory) in written:
        raise LaunchError.here(
            "host-read",
            "this host memory is used before the program has waited for the copy that writes it",
            "wait between the two: `ctx.synchronize()`",
        )
