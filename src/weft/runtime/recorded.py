"""Graphs of a device that has none of its own: what was queued, to be queued again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from weft.diagnostics import LaunchError
from weft.runtime.driver import Copy, Event, Launch, Stream

Step = Callable[[Stream], object]


class RecordedCapture:
    """Work being recorded. The order in which it came from all branches is an order to run it in.

    Args:
        ended: Is called when no more is recorded.
    """

    def __init__(self, ended: Callable[[], object] = lambda: None) -> None:
        self._ended = ended
        self._steps: list[Step] = []
        self._owners: list[object] = []

    def branch(self, like: Stream) -> Stream:
        """A stream that records."""
        return _Recorder(self._steps)

    def keep(self, owner: object) -> None:
        """Keep an object as long as the graph."""
        self._owners.append(owner)

    def finish(self, earlier: object) -> RecordedGraph:
        """The graph."""
        self._ended()
        return RecordedGraph(self._steps, self._owners)

    def abandon(self) -> None:
        """Nothing but the end has to be told."""
        self._ended()


class RecordedGraph:
    """Recorded work."""

    def __init__(self, steps: list[Step], owners: list[object]) -> None:
        self._steps = steps
        self._owners = owners
        self.size: int = len(steps)

    def replay(self, stream: Stream) -> None:
        """Queue all of it."""
        for step in self._steps:
            step(stream)
        stream.call(Held(self._owners))


class Held:
    """What queued work uses until a stream has come here: a call of which the program learns nothing."""

    def __init__(self, owners: list[object]) -> None:
        self._owners = owners

    def __call__(self) -> None:
        """Nothing."""


class _Recorder:
    """A stream that notes what it is asked."""

    native = None

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def copy(self, copy: Copy) -> None:
        """Note a copy; from ordinary memory, take the source's bytes now."""
        if copy.src_owner is not None:
            taken = ctypes.create_string_buffer(ctypes.string_at(copy.src, copy.nbytes), copy.nbytes)
            copy = copy._replace(src=ctypes.addressof(taken), src_owner=taken)
        self._steps.append(lambda to: to.copy(copy))

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Note a fill."""
        self._steps.append(lambda to: to.fill(address, pattern, count))

    def launch(self, launch: Launch) -> None:
        """Note a launch."""
        self._steps.append(lambda to: to.launch(launch))

    def call(self, function: Callable[[], object]) -> None:
        """Note a call of a host function."""
        self._steps.append(lambda to: to.call(function))

    def record(self) -> Event:
        """A place, which what is recorded later has passed in any case."""
        return _Mark()

    def wait(self, event: Event) -> None:
        """Nothing: the steps run in their order."""

    def follow(self, other: Stream) -> None:
        """Nothing, as for ``wait``."""

    def synchronize(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is held."""


class _Mark:
    """An event within a recording."""

    done = False

    def synchronize(self) -> None:
        """Impossible."""
        raise LaunchError.here(
            "capture-event", "an event of a capture is reached only in replays of its graph"
        )

    def seconds_since(self, earlier: Event) -> float:
        """Impossible."""
        raise LaunchError.here(
            "capture-event", "an event of a capture is reached only in replays of its graph"
        )
