"""What launches take on their device, by events around each: ``weft profile``.

A launch that is measured goes through Python, and the events stand beside it in its stream, so a kernel of
few microseconds seems a little longer than it is. Launches of a graph are not seen one by one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from weft.record import record
from weft.runtime.driver import DeviceInfo, Event, Launch, Stream

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext


@record
class Measured:
    """A launch: its kernel, the events around it, the bytes of the arrays it was given, and its device."""

    name: str
    before: Event
    after: Event
    nbytes: int
    device: DeviceInfo


@record
class Row:
    """The launches of a kernel: times in seconds; ``rate`` is bytes of its arrays a second, by the median."""

    name: str
    device: DeviceInfo
    count: int
    total: float
    least: float
    median: float
    rate: float


_measured: list[Measured] | None = None


def start() -> None:
    """From now on launches of this process are measured."""
    global _measured
    _measured = []


def is_profiled() -> bool:
    """Whether launches are measured."""
    return _measured is not None


def put(stream: Stream, launch: Launch, memory: Iterable[Any], context: BaseContext) -> None:
    """Launch, and measure it where that is asked for."""
    if _measured is None or context.recording is not None:
        stream.launch(launch)
        return
    before = stream.record()
    stream.launch(launch)
    nbytes = sum(int(getattr(m, "nbytes", 0)) for m in memory)
    name = launch.function.kernel.signature.name
    _measured.append(Measured(name, before, stream.record(), nbytes, context.info))


def rows() -> list[Row]:
    """What was measured so far, by kernels, those that took most first. The work has to have ended."""
    by_kernel: dict[tuple[str, str], list[Measured]] = {}
    for each in _measured or ():
        by_kernel.setdefault((each.name, each.device.name), []).append(each)
    found: list[Row] = []
    for (name, _), launches in by_kernel.items():
        times = [each.after.seconds_since(each.before) for each in launches]
        rates = [each.nbytes / time for each, time in zip(launches, times, strict=True) if time > 0]
        rate = statistics.median(rates) if rates else 0.0
        median = statistics.median(times)
        found.append(Row(name, launches[0].device, len(times), sum(times), min(times), median, rate))
    return sorted(found, key=lambda row: -row.total)


def trace() -> list[dict[str, object]]:
    """The launches as events of Chrome's trace format, in microseconds from the first of their device."""
    first: dict[str, Event] = {}
    events: list[dict[str, object]] = []
    for each in _measured or ():
        start = first.setdefault(each.device.name, each.before)
        at, took = each.before.seconds_since(start), each.after.seconds_since(each.before)
        row: dict[str, object] = {"name": each.name, "ph": "X", "pid": each.device.name, "tid": "kernels"}
        events.append({**row, "ts": at * 1e6, "dur": took * 1e6, "args": {"bytes": each.nbytes}})
    return events
