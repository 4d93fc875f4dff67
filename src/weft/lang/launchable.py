"""What type checkers take for a kernel: a callable whose parameters are those of its launch.

So ``functools.partial(kernel, factor=2)`` is one too, whose remaining parameters they know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    pass

__all__ = ["AtLaunch", "Launchable"]

P = ParamSpec("P")


class AtLaunch:
    """What a kernel gives where it is called: nothing is of this class, since a kernel runs at a launch."""


Launchable = Callable[P, AtLaunch]
"""What a launch takes: a kernel, a ``functools.partial`` of one, or what ``compile_function`` made of it."""
