"""What launches take on their device, by events around each: ``weft profile``; and their ranges for NVTX.

A launch that is measured goes through Python, and the events stand beside it in its stream, so a kernel of
few microseconds seems a little longer than it is. A graph is measured as a whole, for what it launches is the
driver's affair: its row has the bytes and the operations of all its launches.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from weft.diagnostics import CompileError
from weft.lang.decorators import Kernel
from weft.record import record
from weft.runtime import graphs
from weft.runtime.driver import DeviceInfo, Event, Launch, Stream

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext

Call = tuple[Kernel[...], tuple[object, ...], Mapping[str, object]]
"""A kernel, and the arguments of its launch."""


@record
class Measured:
    """A launch, or a replay of a graph: the events around it, its bytes and operations, and its device."""

    name: str
    before: Event
    after: Event
    nbytes: float
    flops: float
    device: DeviceInfo


@record
class Row:
    """The launches of a kernel: times in seconds; rates are by the median.

    ``rate`` is bytes a second of its arrays, or what was declared; ``flops`` are operations a second, 0 where
    nobody has declared them. ``nbytes`` and ``work``, operations, are those of a launch.
    """

    name: str
    device: DeviceInfo
    count: int
    total: float
    least: float
    median: float
    rate: float
    flops: float
    nbytes: float
    work: float

    @property
    def intensity(self) -> float:
        """Operations a byte."""
        return self.work / self.nbytes if self.nbytes else 0.0

    def of_roof(self, bandwidth: float) -> float:
        """The fraction of what bandwidth and the device's lanes allow at most; 0 where that is unknown."""
        least = self.nbytes / bandwidth if bandwidth else 0.0
        if self.device.flops:
            least = max(least, self.work / self.device.flops)
        return least / self.median if self.median else 0.0


_measured: list[Measured] | None = None
_ranges: Any = None
"""The package ``nvtx``, where launches are its ranges."""
_DOMAIN = "weft"


def start() -> None:
    """From now on launches of this process are measured."""
    global _measured
    _measured = []
    graphs.watch = _replay


def start_ranges() -> None:
    """From now on each launch is a range of NVTX's domain ``weft``, named by its kernel.

    Raises:
        CompileError: the package ``nvtx`` is not installed.
    """
    global _ranges
    try:
        library: Any = importlib.import_module("nvtx")
    except ImportError:
        message = "ranges of NVTX need the package nvtx, which is not installed"
        raise CompileError.at("setting", message, None, hints=("pip install weft[nvtx]",)) from None
    _ranges = library


def stop() -> None:
    """From now on launches are neither measured nor ranges; what was measured is forgotten."""
    global _measured, _ranges
    _measured = _ranges = graphs.watch = None


def is_profiled() -> bool:
    """Whether launches are measured or marked, so that Python has to see them."""
    return _measured is not None or _ranges is not None


def put(stream: Stream, launch: Launch, memory: Iterable[Any], context: BaseContext, call: Call) -> None:
    """Launch, and measure or mark it where that is asked for."""
    if _measured is None and _ranges is None:
        stream.launch(launch)
        return
    name = launch.function.kernel.signature.name
    if _ranges is not None:
        _ranges.push_range(name, domain=_DOMAIN)
    try:
        if _measured is None:
            stream.launch(launch)
            return
        from weft.benchmark.work import work_of  # here, since few programs measure

        nbytes, flops = work_of(*call)
        if nbytes is None:
            nbytes = sum(int(getattr(m, "nbytes", 0)) for m in memory)
        if context.recording is not None:
            stream.launch(launch)
            graph = context.capturing
            if graph is not None:
                graph.launches.append((name, nbytes, flops))
            return
        before = stream.record()
        stream.launch(launch)
        _measured.append(Measured(name, before, stream.record(), nbytes, flops, context.info))
    finally:
        if _ranges is not None:
            _ranges.pop_range(_DOMAIN)


def _replay(graph: graphs.DeviceGraph, stream: Stream, replay: Callable[[], None]) -> None:
    """Replay a graph between events."""
    if _measured is None:
        replay()
        return
    before = stream.record()
    replay()
    names = ", ".join(dict.fromkeys(name for name, _, _ in graph.launches))
    nbytes = sum([nbytes for _, nbytes, _ in graph.launches])
    flops = sum([flops for _, _, flops in graph.launches])
    name = f"graph of {len(graph)}" + (f" ({names})" if names else "")
    _measured.append(Measured(name, before, stream.record(), nbytes, flops, graph.context.info))


def rows() -> list[Row]:
    """What was measured so far, by kernels, those that took most first. The work has to have ended."""
    by_kernel: dict[tuple[str, str], list[Measured]] = {}
    for each in _measured or ():
        by_kernel.setdefault((each.name, each.device.name), []).append(each)
    return sorted((_row(name, launches) for (name, _), launches in by_kernel.items()), key=_least_first)


def _least_first(row: Row) -> float:
    return -row.total


def _row(name: str, launches: list[Measured]) -> Row:
    from statistics import median as middle

    times = [each.after.seconds_since(each.before) for each in launches]
    pairs = [(each, time) for each, time in zip(launches, times, strict=True) if time > 0]
    rate = middle([each.nbytes / time for each, time in pairs]) if pairs else 0.0
    flops = middle([each.flops / time for each, time in pairs]) if pairs else 0.0
    nbytes = middle([each.nbytes for each in launches])
    work = middle([each.flops for each in launches])
    device = launches[0].device
    return Row(name, device, len(times), sum(times), min(times), middle(times), rate, flops, nbytes, work)


def trace() -> list[dict[str, object]]:
    """The launches as events of Chrome's trace format, in microseconds from the first of their device."""
    first: dict[str, Event] = {}
    events: list[dict[str, object]] = []
    for each in _measured or ():
        start = first.setdefault(each.device.name, each.before)
        at, took = each.before.seconds_since(start), each.after.seconds_since(each.before)
        row: dict[str, object] = {"name": each.name, "ph": "X", "pid": each.device.name, "tid": "kernels"}
        args = {"bytes": each.nbytes, "flops": each.flops, "bandwidth": each.device.bandwidth}
        args["peak"] = each.device.flops
        events.append({**row, "ts": at * 1e6, "dur": took * 1e6, "args": args})
    return events
