"""In which stream work on other libraries' arrays runs, and what waits for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.foreign.arrays import ForeignArray
from weft.runtime.context import BaseContext
from weft.runtime.cuda.device import CudaDevice
from weft.runtime.cuda.guest import GuestStream, guest_stream
from weft.runtime.cuda.stream import CudaStream
from weft.runtime.driver import Stream

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Ordered"]


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

    guest: GuestStream | None = None
    """The arrays' stream, where the launch goes there."""

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
        self._guests: list[GuestStream] = []
        self._arrays = arrays
        self._stream = target
        device = context.device
        if not isinstance(device, CudaDevice) or recorded:
            return
        owners = {a.stream: a.stream_owner for a in arrays if a.stream is not None}
        guests = [guest_stream(device, handle, owner) for handle, owner in owners.items()]
        if alone and len(guests) == 1:
            self._stream = self.guest = guests[0]
        else:
            self._guests = guests

    def __enter__(self) -> Stream:
        stream = self._stream
        for array in self._arrays:
            if array.hold or self._recorded:
                self._context.keep(array.owner)
        for guest in self._guests:
            assert isinstance(stream, CudaStream)
            guest.before(stream)
        return stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        stream = self._stream
        for guest in self._guests:
            assert isinstance(stream, CudaStream)
            guest.after(stream)
