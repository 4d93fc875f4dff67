"""What a benchmark has found out, and what throughput that means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft.diagnostics import a_, nearest
from weft.diagnostics.errors import LaunchError


@dataclass(frozen=True, slots=True)
class BenchMetric:
    """What a throughput counts.

    Example:
        >>> from weft.benchmark import BenchMetric, ThroughputMeasure
        >>> rays = BenchMetric("rays", "GRays/s")
        >>> ThroughputMeasure(rays, 2_000_000).compute(1e-3)
        2.0
    """

    name: str
    unit: str
    """What a thousand million of it a second are called."""

    elements: ClassVar[BenchMetric]
    bytes: ClassVar[BenchMetric]
    flops: ClassVar[BenchMetric]

    def __str__(self) -> str:
        return self.name


BenchMetric.elements = BenchMetric("elements", "GElems/s")
BenchMetric.bytes = BenchMetric("bytes", "GB/s")
BenchMetric.flops = BenchMetric("flops", "GFLOP/s")
_KNOWN = {metric.name: metric for metric in (BenchMetric.elements, BenchMetric.bytes, BenchMetric.flops)}


@dataclass(frozen=True, slots=True)
class ThroughputMeasure:
    """How much of something one call does: bytes that it moves, elements that it makes, operations.

    Args:
        metric: what is counted: a ``BenchMetric``, or ``"elements"``, ``"bytes"``, ``"flops"``.
        value: how many of it one call does.

    Raises:
        LaunchError: there is no such metric, or the value is no number of 0 or more.
    """

    metric: BenchMetric
    value: float

    def __init__(self, metric: BenchMetric | str, value: float) -> None:
        if not isinstance(metric, BenchMetric):
            if not isinstance(metric, str) or metric not in _KNOWN:  # pyright: ignore[reportUnnecessaryIsInstance]
                close = nearest(metric, _KNOWN) if isinstance(metric, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
                hint = "write BenchMetric.elements, .bytes or .flops, or make one: BenchMetric(name, unit)"
                raise LaunchError.here(
                    "benchmark",
                    f"there is no metric {metric!r} of a benchmark",
                    f"did you mean {close!r}?" if close else hint,
                    at=("metric", 0),
                )
            metric = _KNOWN[metric]
        check_number(str(metric), value, "value", 1)
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "value", value)

    def compute(self, elapsed_sec: float) -> float:
        """The throughput in the metric's unit, if one call takes so many seconds."""
        return self.value / elapsed_sec / 1e9 if elapsed_sec else 0.0


def check_number(name: str, value: object, at: str, position: int = -1, least: float = 0) -> None:
    """Refuse an argument that is no number, or too small a one."""
    fits = f"give a number of {least} or more"
    if not isinstance(value, (int, float)):
        message = f"{name}={value!r} of a benchmark is {a_(type(value).__name__)}"
        raise LaunchError.here("benchmark", message, fits, at=(at, position))
    if not value >= least:
        message = f"{name}={value!r} of a benchmark is below {least}"
        raise LaunchError.here("benchmark", message, fits, at=(at, position))


def checked_measures(measures: Iterable[ThroughputMeasure]) -> tuple[ThroughputMeasure, ...]:
    """The measures, or a refusal of what is none."""
    found = tuple(measures) if isinstance(measures, Iterable) else (measures,)  # pyright: ignore[reportUnnecessaryIsInstance]
    for measure in found:
        if not isinstance(measure, ThroughputMeasure):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"measures of a benchmark holds {measure!r}, which is {a_(type(measure).__name__)}"
            hint = 'write measures=[ThroughputMeasure("bytes", n)]'
            raise LaunchError.here("benchmark", message, hint, at=("measures", -1))
    return found


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured of one function. Times are seconds for one call.

    Example:
        >>> from weft.benchmark import Report, ThroughputMeasure
        >>> moved = [ThroughputMeasure("bytes", 5_000_000)]
        >>> print(Report((2e-6, 3e-6, 2.5e-6), batch_size=100, measures=moved))
        2.5 µs (min 2 µs, max 3 µs, spread 20 %, 3 samples of 100 calls), 2000 GB/s
    """

    times: tuple[float, ...]
    """The time of one call, by each sample in turn."""
    batch_size: int = 1
    """Calls that a sample is the mean of."""
    measures: Sequence[ThroughputMeasure] = ()
    """How much of what one call does."""
    name: str = ""
    """What was measured."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The parameters that it was called with."""

    @property
    def median(self) -> float:
        """The median over the samples."""
        from statistics import median  # not at once: kernels import `keep` from this package

        return median(self.times)

    @property
    def mean(self) -> float:
        """The mean over the samples."""
        return sum(self.times) / len(self.times)

    @property
    def min(self) -> float:
        """The fastest sample."""
        return min(self.times)

    @property
    def max(self) -> float:
        """The slowest sample."""
        return max(self.times)

    @property
    def iters(self) -> int:
        """Calls that were measured, all samples together."""
        return self.batch_size * len(self.times)

    @property
    def duration(self) -> float:
        """Seconds that all of them took."""
        return self.batch_size * sum(self.times)

    @property
    def spread(self) -> float:
        """How far apart the quarters of the samples lie, as a part of the median: 0.02 is 2 %."""
        if len(self.times) < 2 or not self.median:
            return 0.0
        from statistics import quantiles

        low, _, high = quantiles(self.times, n=4, method="inclusive")
        return (high - low) / self.median

    @property
    def rates(self) -> dict[str, float]:
        """The throughput of each measure by its unit, from the median: ``{"GB/s": 2000.0}``."""
        return {m.metric.unit: m.compute(self.median) for m in self.measures}

    def __str__(self) -> str:
        median, low, high = map(time_text, (self.median, self.min, self.max))
        calls = "1 call" if self.batch_size == 1 else f"{self.batch_size} calls"
        text = f"{median} (min {low}, max {high}, spread {digits(100 * self.spread)} %, "
        text += f"{len(self.times)} samples of {calls})"
        return ", ".join([text, *(f"{digits(rate)} {unit}" for unit, rate in self.rates.items())])


def time_text(seconds: float) -> str:
    """A time with its unit, to three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{digits(seconds * scale)} {unit}"
    return f"{digits(seconds * 1e9)} ns"


def digits(value: float) -> str:
    """A number to three digits."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
