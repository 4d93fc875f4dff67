"""What an ``over=`` launch asks of elaboration, where threads are hardware."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Over"]


@dataclass(frozen=True, slots=True)
class Over:
    """A launch over a range.

    ``rank`` extents; each thread does ``per_thread`` elements along x and along y. ``runner`` is the
    library's staged function that calls the element for each of them:
    ``runner(element, extents, per_x, per_y)``.
    """

    rank: int
    per_thread: tuple[int, int] = (1, 1)
    runner: Callable[..., Any] | None = None
