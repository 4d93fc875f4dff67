"""Streams and events beside the one stream that every context has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from weft.diagnostics import LaunchError, a_
from weft.diagnostics.instead import ON_HOST, instead
from weft.diagnostics.spelt import Spelt
from weft.runtime import unwaited
from weft.runtime.driver import Event, Stream
from weft.runtime.instead import OF_EVENTS, OF_STREAMS

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext
    from weft.runtime.graphs import DeviceGraph


@instead(OF_EVENTS, ON_HOST)
class DeviceEvent(Spelt):
    """A place in a stream, reached once all that was queued before it has ended.

    Streams and contexts make them by ``record_event``, and wait for them by ``enqueue_wait_for``.
    """

    __weft_inside__ = "capture native place"

    def __init__(self, native: Event, capture: DeviceGraph | None = None, place: str = "") -> None:
        self.native = native
        self.capture = capture
        """The graph in whose capture the event was recorded; None where it is one of work that runs."""
        self.place = place
        """The device, in words."""

    @property
    def done(self) -> bool:
        """Whether the place has been reached."""
        done = self._outside().done
        if done:
            unwaited.waited()
        return done

    def __repr__(self) -> str:
        where = f" on {self.place}" if self.place else ""
        if self.capture is not None:
            return f"<DeviceEvent of a capture{where}>"
        return f"<DeviceEvent{where}, {'reached' if self.native.done else 'ahead'}>"

    def synchronize(self) -> None:
        """Wait until the place has been reached."""
        unwaited.waited()
        self._outside().synchronize()

    def seconds_since(self, earlier: DeviceEvent) -> float:
        """Seconds on the device between two places; waits until both have been reached.

        Raises:
            LaunchError: the places are in streams of two devices.
        """
        if not isinstance(earlier, DeviceEvent):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LaunchError.here(
                "event-type",
                f"seconds_since takes the earlier event, a DeviceEvent, not {a_(type(earlier).__name__)}",
                "record one before the work: `earlier = ctx.record_event()`",
                at=("earlier", 0),
            )
        if earlier.place != self.place:
            raise LaunchError.here(
                "event-device",
                f"events of two devices have no time between them: this is of {self.place}, "
                f"the earlier one of {earlier.place}",
                "record both by contexts of one device, or measure by time.perf_counter()",
            )
        earlier.synchronize()
        self.synchronize()
        unwaited.waited()
        return self.native.seconds_since(earlier.native)

    def _outside(self) -> Event:
        if self.capture is not None:
            raise LaunchError.here(
                "capture-event",
                "an event of a capture is reached only in replays of its graph",
                "record an event after `graph.replay()`",
            )
        return self.native


@instead(OF_STREAMS, ON_HOST)
class DeviceStream(Spelt):
    """A queue of a device's work that runs in order; contexts make them.

    Example:
        >>> from weft import Int32
        >>> from weft.gpu.host import DeviceContext
        >>> with DeviceContext(api="cpu") as ctx, ctx.create_stream() as stream:
        ...     buffer = ctx.enqueue_create_buffer(Int32, 4)
        ...     ctx.enqueue_fill(buffer, 7, stream=stream)
        ...     stream.synchronize()
    """

    __weft_inside__ = "native record"

    def __init__(self, context: BaseContext, native: Stream, priority: int = 0) -> None:
        self.context = context
        self.native = native
        self.priority = priority
        """What was asked for; a lower number is more urgent."""

    def __repr__(self) -> str:
        return f"<DeviceStream of priority {self.priority} on {self.context.name}>"

    def record_event(self) -> DeviceEvent:
        """An event at the present end of the stream."""
        return self.context.record_event(stream=self)

    record = record_event

    def enqueue_wait_for(self, other: DeviceEvent | DeviceStream | BaseContext) -> None:
        """Hold what is queued here from now on until something else has been reached; the host goes on.

        Args:
            other: An event, or a stream or a context, which means all that it holds now. It may be of
                another device.

        Raises:
            LaunchError: it is none of these, or belongs to a capture and this does not.
        """
        self.context.enqueue_wait_for(other, stream=self)

    wait = enqueue_wait_for

    def enqueue_host_call(self, function: Callable[[], object]) -> None:
        """Queue a call of a Python function, on a thread of weft's or of the driver's.

        What is queued after it waits for it. It must not wait for the device or queue work. What it
        raises surfaces at the next ``synchronize``.
        """
        self.context.enqueue_host_call(function, stream=self)

    def synchronize(self) -> None:
        """Wait until all work queued here has ended; write what its kernels printed.

        Raises:
            DeviceError: work failed since the last time.
        """
        self.context.refuse_waiting()
        unwaited.waited()
        self.native.synchronize()

    def close(self) -> None:
        """Take no more work; what is queued still runs. Idempotent."""
        self.native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
