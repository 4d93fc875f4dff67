"""Host memory that queued copies write: who looks at it before the program has waited may be too early.

Contexts that are checked for races note it. Any wait of the program ends that for all of it: what it was for
is not asked, so that nobody is blamed who has waited by other means.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from weft.diagnostics import LaunchError

if TYPE_CHECKING:
    from weft.runtime.allocation import Allocation

written: weakref.WeakSet[Allocation] = weakref.WeakSet()
"""What is written by copies that nobody has waited for."""


def check(memory: Allocation | None) -> None:
    """Whether host memory may be looked at.

    Raises:
        LaunchError: a copy into it was queued, and the program has not waited since.
    """
    if memory in written:
        raise LaunchError.here(
            "host-read",
            "this host memory is used before the program has waited for the copy that writes it",
            "wait between the two: `ctx.synchronize()`",
        )
