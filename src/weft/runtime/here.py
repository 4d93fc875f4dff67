"""What belongs to one process, and is not pickled for another."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from weft.diagnostics import LaunchError, a_
from weft.diagnostics.spelt import Spelt


class Here(Spelt):
    """Memory, contexts and what else is made of them."""

    __slots__ = ()
    instead: ClassVar[str]
    """What to send to another process."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        name = getattr(self, "called", type(self).__name__)
        raise LaunchError.here(
            "pickle", f"{a_(name)} stays in its process: it can be neither pickled nor copied", self.instead
        )
