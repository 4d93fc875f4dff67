"""What type checkers take for a kernel: a callable whose parameters are those of its launch.

So ``functools.partial(kernel, factor=2)`` is one too, whose remaining parameters they know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVarTuple

if TYPE_CHECKING:
    from weft.lang.decorators import Kernel

__all__ = ["AtLaunch", "Defaulted", "Launchable"]

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")


class AtLaunch:
    """What a kernel gives where it is called: nothing is of this class, since a kernel runs at a launch."""


Launchable = Callable[P, AtLaunch]
"""What a launch takes: a kernel, a ``functools.partial`` of one, or what ``compile_function`` made of it."""


class Defaulted(Protocol[P, *Ts]):
    """A kernel whose parameters by name alone have defaults, so a launch may leave them out.

    Its parameters stay what they are when some are bound or tuned.
    """

    def at_level(self, opt_level: int | None) -> Kernel[P]:
        """By which its parameters are found."""
        ...

    def __call__(self, /, *args: *Ts) -> AtLaunch:
        """By which kernels are told apart that want a name."""
        ...
