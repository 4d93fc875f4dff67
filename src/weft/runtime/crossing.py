"""Copies whose ends belong to two contexts. They come in the order of both.

Such a copy waits for what the stream of the other context holds, and what that stream is given afterwards
waits for it, as if it stood in both streams. Every wait is for something queued before, so that waits never
form a circle. In a capture nothing waits: the work of the other context is no part of the graph.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

from weft.diagnostics import LaunchError
from weft.runtime.allocation import Allocation
from weft.runtime.driver import Copy, CopyKind, Device, Event

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext
    from weft.runtime.driver import Stream

_PIECE = 16 << 20
"""Between a GPU and the CPU as a device, memory goes by way of two pinned pieces of this size."""


class End(NamedTuple):
    """One end of a copy: memory, and the context in whose order it is used."""

    context: BaseContext
    address: int
    letter: str
    """``d`` for device memory, ``h`` for host memory."""
    device: Device
    """Whose memory it is."""
    owner: object
    """What keeps the memory."""

    @property
    def shares_host(self) -> bool:
        """Whether all memory of its device is the host's."""
        return self.context.info.shares_host


def copy_across(context: BaseContext, stream: Stream, dst: End, src: End, nbytes: int) -> None:
    """Queue a copy with one end of this context, on a stream of it, and one of another context.

    Raises:
        LaunchError: a capture of the CPU cannot hold it.
    """
    there = src if dst.context is context else dst
    if context.recording is None:
        context.keep(there.owner)
    if context.api == there.context.api:
        _copy_alike(context, stream, there.context, dst, src, nbytes)
    elif there.context.closed and there.shares_host:  # its memory is ordinary, and nobody uses it
        owners = (dst.owner, None) if there is dst else (None, src.owner)
        stream.copy(Copy(_kind(src, dst), dst.address, src.address, nbytes, *owners))
    elif context.recording is not None:
        _record(context, stream, dst, src, nbytes)
    else:
        there.context.device  # noqa: B018 - whether it is open
        streams = (there.context.native, stream) if there is src else (stream, there.context.native)
        _copy_by_way_of_the_host(streams, dst, src, nbytes)


def _kind(src: End, dst: End) -> CopyKind:
    """The direction, as another API's device has it."""
    return cast("CopyKind", f"{_letter(src)}2{_letter(dst)}")


def _letter(end: End) -> str:
    """``d`` or ``h``; to a GPU, all memory of the CPU is the host's."""
    return "h" if end.shares_host else end.letter


def _copy_alike(
    context: BaseContext, stream: Stream, other: BaseContext, dst: End, src: End, nbytes: int
) -> None:
    """A copy between two devices of one API, or two contexts of one device."""
    theirs = dst if dst.context is other else src
    kind = cast("CopyKind", f"{src.letter}2{dst.letter}")
    elsewhere = dst.context.id != src.context.id and theirs.letter == "d"
    ordered = context.recording is None and not other.closed
    if elsewhere and kind != "d2d" and context.recording is None:
        # between the host and their device: that device does it, since this may not reach its memory
        worker = other.native if ordered else theirs.device.create_stream()
        worker.follow(stream)
        worker.copy(Copy(kind, dst.address, src.address, nbytes))
        stream.follow(worker)
        return
    if ordered:
        stream.follow(other.native)
    devices = (dst.device, src.device) if elsewhere else None
    stream.copy(Copy(kind, dst.address, src.address, nbytes, devices=devices))
    if ordered:
        other.native.follow(stream)


def _copy_by_way_of_the_host(streams: tuple[Stream, Stream], dst: End, src: End, nbytes: int) -> None:
    """A copy between devices of two APIs, by the streams of the source and of the destination.

    Memory of the CPU is not pinned. So the CPU's stream copies between it and pinned memory, and the
    GPU's stream between that and its own; in pieces, two of which are under way at a time.
    """
    gpu = src if dst.shares_host else dst
    first, second = streams
    if _letter(src) == _letter(dst) == "h":
        here, there = (first, second) if src.shares_host else (second, first)
        here.follow(there)
        here.copy(Copy("h2h", dst.address, src.address, nbytes))
        there.follow(here)
        return
    one, two = cast("tuple[CopyKind, CopyKind]", (f"{_letter(src)}2h", f"h2{_letter(dst)}"))
    starts = range(0, nbytes, _PIECE)
    pinned = [Allocation(gpu.device, min(nbytes, _PIECE), host=True) for _ in starts[:2]]
    passed: list[Event] = []
    for number, start in enumerate(starts):
        size, between = min(_PIECE, nbytes - start), pinned[number % 2].address
        if number >= 2:
            first.wait(passed[number - 2])
        first.copy(Copy(one, between, src.address + start, size))
        second.follow(first)
        second.copy(Copy(two, dst.address + start, between, size))
        passed.append(second.record())
    first.wait(passed[-1])


def _record(context: BaseContext, stream: Stream, dst: End, src: End, nbytes: int) -> None:
    """A copy between devices of two APIs, for a graph."""

    def move(to: int, source: int) -> Callable[[], object]:
        return lambda: ctypes.memmove(to, source, nbytes)

    gpu = src if dst.shares_host else dst
    if _letter(src) == _letter(dst) == "h":
        stream.call(move(dst.address, src.address))
        return
    if gpu.context is not context or not (src.shares_host or dst.shares_host):
        raise LaunchError.here(
            "capture-copy",
            "a graph of the CPU holds no copy from or to a GPU's memory",
            "capture it by the GPU's context, or queue it after `graph.replay()`",
        )
    pinned = Allocation(gpu.device, nbytes, host=True)
    context.keep(pinned)
    if gpu is src:
        stream.copy(Copy("d2h", pinned.address, src.address, nbytes))
        stream.call(move(dst.address, pinned.address))
    else:
        stream.call(move(pinned.address, src.address))
        stream.copy(Copy("h2d", dst.address, pinned.address, nbytes))
