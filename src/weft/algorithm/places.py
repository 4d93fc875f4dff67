"""Where an algorithm runs: in a given context, in that of its memory, or on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, cast

from weft.diagnostics import LaunchError, a_
from weft.lang.above import above
from weft.lang.host_closures import memory_of
from weft.targets import find_target

if TYPE_CHECKING:
    from weft.gpu.host import DeviceContext


class Place:
    """For ``with``: where an algorithm runs; what has no context of the user's is waited for.

    Args:
        context: where it shall run; None for the context of the first memory among ``values`` that has one.
        values: memory, and functions that capture some.
    """

    def __init__(self, context: DeviceContext | None, *values: Any) -> None:
        if context is not None and not hasattr(context, "enqueue_function"):
            raise LaunchError.here(
                "argument-type",
                f"context= takes a DeviceContext, not {a_(type(context).__name__)}",
                "make one: DeviceContext()",
                at=("context", 2),
            )
        found = context or next((own for value in values for own in _contexts(value)), None)
        self.waits = found is None
        self.context: DeviceContext = found or above().cpu()

    @property
    def threads_are_loops(self) -> bool:
        """Whether a block's threads are a loop, so that one thread serves it best."""
        return find_target(self.context.target).threads == "loops"

    def __enter__(self) -> Place:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.waits and kind is None:
            self.context.synchronize()


def _contexts(value: Any) -> list[Any]:
    return [memory.context for memory in memory_of(value) if hasattr(memory, "context")]


def as_count(value: Any, name: str, position: int) -> int:
    """A number of things, as an argument of that name and position.

    Raises:
        LaunchError: it is none.
    """
    try:
        count = index(value)
    except TypeError:
        count = -1
    if count < 0 or isinstance(value, bool):
        shown = repr(value) if isinstance(value, (int, float)) else a_(type(value).__name__)
        message = f"{name} takes a number of elements, not {shown}"
        raise LaunchError.here("argument-type", message, "write an int, 0 or more", at=(name, position))
    return count


def as_shape(value: Any, name: str, position: int) -> tuple[int, ...]:
    """Extents, as an int or a sequence of ints.

    Raises:
        LaunchError: they are none.
    """
    if isinstance(value, (tuple, list)):
        return tuple([as_count(extent, name, position) for extent in cast("Sequence[Any]", value)])
    return (as_count(value, name, position),)
