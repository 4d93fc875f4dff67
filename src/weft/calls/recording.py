"""What a call of the library does, noted while it is done: the arrays that it makes, and its launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from weft.gpu.host import DeviceContext
    from weft.lang import Kernel
    from weft.launch.launched import Launched
    from weft.runtime.driver import Tiled

    Make = Callable[[DeviceContext], Any]


class Made(NamedTuple):
    """An array that an operation has made."""

    room: Callable[[tuple[int, ...]], Make]
    """Gives what makes so many bytes of the same library."""
    make: Make
    """Makes another; it holds no context, which may end before."""
    array: Any
    address: int
    nbytes: int


class Recording:
    """What one call has done so far."""

    def __init__(self) -> None:
        self.read: list[Any] = []
        """What the operation was given and has read as an array, not as a number."""
        self.results: list[Made] = []
        """What may be given to the caller."""
        self.scratch: list[Made] = []
        """What kernels hand to each other."""
        self.launches: list[tuple[DeviceContext, Launched]] = []
        self.tiles: dict[int, tuple[Tiled, Any]] = {}
        """Tiles by hardware, by the address of their descriptor, with its buffer."""
        self.waits = False
        """Whether the caller may look at the result as soon as the call returns."""


def launch(
    context: DeviceContext, kernel: Kernel[...], args: Iterable[Any], named: Mapping[str, Any]
) -> None:
    """Launch a kernel, as part of the call that is recorded if there is one."""
    if active.recording is None or not context.launches_as_usual:
        context.enqueue_function(kernel, *args, **named)
    else:
        active.recording.launches.append((context, context.enqueue_by_python(kernel, *args, **named)))


class _Active(threading.local):
    recording: Recording | None = None


active: _Active = _Active()
"""The recording of the call that this thread is in."""
