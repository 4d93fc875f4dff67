"""Graphs: a sequence of work, captured once and replayed as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.diagnostics import LaunchError
from weft.diagnostics.instead import ON_HOST, instead
from weft.diagnostics.spelt import Spelt
from weft.runtime.driver import Capture, Graph, Stream
from weft.runtime.instead import OF_CAPTURES, OF_GRAPHS

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext
    from weft.runtime.streams import DeviceStream


watch: Callable[[DeviceGraph, Stream, Callable[[], None]], None] | None = None
"""Who replays graphs, where somebody measures them: it gets the graph, the stream and what replays."""


class Recording:
    """A capture under way: which of its branches stands for which stream."""

    def __init__(self, native: Capture) -> None:
        self.native = native
        self._branches: dict[Stream, Stream] = {}

    def branch(self, stream: Stream) -> Stream:
        """What records the work for a stream."""
        found = self._branches.get(stream)
        if found is None:
            found = self._branches[stream] = self.native.branch(stream)
        return found


@instead(OF_GRAPHS, ON_HOST)
class DeviceGraph(Spelt):
    """Work of a context that was captured by ``ctx.capture()`` and is queued again by ``replay``.

    A graph keeps the buffers, kernels and functions that it uses, also after they are closed.
    """

    def __init__(self, context: BaseContext) -> None:
        self.context = context
        self.launches: list[tuple[str, float, float]] = []
        """The kernels that it launches with their bytes and operations, where launches are measured."""
        self._native: Graph | None = None
        self._closed = False

    def __len__(self) -> int:
        """How many pieces of work it has: launches, copies, fills and calls of host functions."""
        return 0 if self._native is None else self._native.size

    def replay(self, *, stream: DeviceStream | None = None) -> None:
        """Queue all of the graph's work, as one piece.

        Args:
            stream: Another stream than the context's own.

        Raises:
            LaunchError: the graph is empty or closed, or the context is capturing.
        """
        if self.context.recording is not None:
            raise LaunchError.here(
                "capture-nested",
                "a graph is not replayed within a capture",
                "call what queues its work, so that the work becomes part of this graph",
            )
        if self._native is None:
            raise LaunchError.here(
                "graph-empty",
                "this graph is closed"
                if self._closed
                else "this graph holds nothing to replay: its capture has not begun, or ended with an error",
                "replay it before close(), or capture the work again: `with ctx.capture() as graph:`"
                if self._closed
                else "replay it after the `with ctx.capture() as graph:` block",
            )
        native, queue = self._native, self.context.queue_of(stream)
        if watch is None:
            native.replay(queue)
        else:
            watch(self, queue, lambda: native.replay(queue))

    def update(self) -> GraphCapture:
        """For ``with``: capture anew into this graph, with other arguments or other work.

        Where the work has the form that it had, only arguments change and nothing is set up anew.
        Replays that are queued already do what they did. If the block raises, the graph stays as it is.
        """
        return GraphCapture(self.context, self)

    def close(self) -> None:
        """Give up what the graph keeps, once queued replays have ended. Idempotent."""
        self._native = None
        self._closed = True

    def take(self, capture: Capture) -> None:
        """Become what was captured."""
        self._native = capture.finish(self._native)

    def __repr__(self) -> str:
        return f"<DeviceGraph of {len(self)} nodes on {self.context.name}>"


@instead(OF_CAPTURES, ON_HOST)
class GraphCapture(Spelt):
    """The context manager of ``ctx.capture()`` and ``graph.update()``."""

    def __init__(self, context: BaseContext, graph: DeviceGraph) -> None:
        self._context = context
        self._graph = graph
        self._recording: Recording | None = None

    def __enter__(self) -> DeviceGraph:
        self._recording = self._context.begin_capture(self._graph)
        return self._graph

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        recording, self._recording = self._recording, None
        if recording is None or self._context.recording is not recording:
            return  # the context was closed meanwhile
        self._context.end_capture()
        if kind is None:
            self._graph.take(recording.native)
        else:
            recording.native.abandon()
