"""In which stream work on other libraries' arrays runs, and what waits for what."""

from __future__ import annotations

from collections.abc import Sequence

from weft.foreign.arrays import ForeignArray
from weft.runtime.context import BaseContext
from weft.runtime.driver import Stream


class Ordered:
    """For ``with``: where to launch work that uses other libraries' arrays.

    Work on arrays of one stream alone goes to that stream, as the library's own work does. Other work
    goes to the context's stream, or the one that the launch names: it waits for the streams of the
    arrays, and what they are given afterwards waits for it. What a graph records waits for nothing.

    Args:
        context: where the launch is.
        target: the stream that the launch goes to otherwise.
        arrays: the arrays among its arguments.
        alone: whether the launch may go to their stream.
        recorded: whether it becomes part of a graph instead of running.
    """

    guest: tuple[int, Stream] | None = None
    """The arrays' stream and its driver's handle, where the launch goes there."""

    def __init__(
        self,
        context: BaseContext,
        target: Stream,
        arrays: Sequence[ForeignArray],
        *,
        alone: bool,
        recorded: bool = False,
    ) -> None:
        self._context = context
        self._recorded = recorded
        self._guests: list[Stream] = []
        self._arrays = arrays
        self._stream = target
        if recorded:
            return
        device = context.device
        owners = {a.stream: a.stream_owner for a in arrays if a.stream is not None}
        adopted = [(handle, device.adopt_stream(handle, owner)) for handle, owner in owners.items()]
        guests = [(handle, stream) for handle, stream in adopted if stream is not None]
        if alone and len(guests) == 1:
            self.guest = guests[0]
            self._stream = self.guest[1]
        else:
            self._guests = [stream for _, stream in guests]

    def __enter__(self) -> Stream:
        stream = self._stream
        for array in self._arrays:
            if array.hold or self._recorded:
                self._context.keep(array.owner)
        for guest in self._guests:
            stream.follow(guest)
        return stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        for guest in self._guests:
            guest.follow(self._stream)
