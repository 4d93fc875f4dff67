"""Streams and events beside the one stream that every context has."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from weft.runtime.driver import Event, Stream

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext

__all__ = ["DeviceEvent", "DeviceStream"]


class DeviceEvent:
    """A place in a stream, reached once all that was queued before it has ended."""

    def __init__(self, native: Event) -> None:
        self.native = native

    @property
    def done(self) -> bool:
        """Whether the place has been reached."""
        return self.native.done

    def synchronize(self) -> None:
        """Wait until the place has been reached."""
        self.native.synchronize()

    def seconds_since(self, earlier: DeviceEvent) -> float:
        """Seconds on the device between two places; waits until both have been reached."""
        earlier.synchronize()
        self.synchronize()
        return self.native.seconds_since(earlier.native)


class DeviceStream:
    """A queue of a device's work that runs in order; contexts make them.

    Example:
        >>> from weft import Int32
        >>> from weft.gpu.host import DeviceContext
        >>> with DeviceContext(api="cpu") as ctx, ctx.create_stream() as stream:
        ...     buffer = ctx.enqueue_create_buffer(Int32, 4)
        ...     ctx.enqueue_fill(buffer, 7, stream=stream)
        ...     stream.synchronize()
    """

    def __init__(self, context: BaseContext, native: Stream) -> None:
        self.context = context
        self.native = native

    def record(self) -> DeviceEvent:
        """An event at the present end of the stream."""
        return DeviceEvent(self.native.record())

    def wait(self, event: DeviceEvent) -> None:
        """Hold what is queued here from now on until an event of any stream has been reached."""
        self.native.wait(event.native)

    def synchronize(self) -> None:
        """Wait until all work queued here has ended; write what its kernels printed.

        Raises:
            DeviceError: work failed since the last time.
        """
        self.native.synchronize()

    def close(self) -> None:
        """Take no more work; what is queued still runs. Idempotent."""
        self.native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
