"""Timing: how long something takes, how much that varies, and what throughput it means.

Example:
    >>> from weft import Float32
    >>> from weft.benchmark import benchmark
    >>> from weft.gpu.host import DeviceContext
    >>> ctx = DeviceContext(api="cpu")
    >>> buffer = ctx.enqueue_create_buffer(Float32, 1 << 16)
    >>> report = benchmark(lambda: buffer.enqueue_fill(1.0), context=ctx, min_seconds=0.01, bytes=1 << 18)
    >>> report.bytes_per_second > 0
    True
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.diagnostics import LaunchError, a_, caller_location

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext

__all__ = ["Report", "benchmark"]

_SAMPLES = 20
"""Samples that are aimed at; a sample has as many calls as that takes."""
_LEAST = 5
"""Samples that there are in any case."""
_MOST_CALLS = 10000
"""Calls of a sample at most: a device's queue has an end."""


@dataclass(frozen=True, slots=True)
class Report:
    """What ``benchmark`` has measured. Times are seconds for one call.

    Example:
        >>> print(Report((2e-6, 3e-6, 2.5e-6), calls=100, bytes=5_000_000))
        2.5 µs (min 2 µs, max 3 µs, spread 20 %, 3 samples of 100 calls), 2000 GB/s
    """

    times: tuple[float, ...]
    """The time of one call, by each sample in turn."""
    calls: int
    """Calls that a sample is the mean of."""
    bytes: int = 0
    """Bytes that one call moves; 0 where that was not said."""
    flops: int = 0
    """Operations that one call does; 0 where that was not said."""

    @property
    def median(self) -> float:
        """The median over the samples."""
        return statistics.median(self.times)

    @property
    def min(self) -> float:
        """The fastest sample."""
        return min(self.times)

    @property
    def max(self) -> float:
        """The slowest sample."""
        return max(self.times)

    @property
    def spread(self) -> float:
        """How far apart the quarters of the samples lie, as a part of the median: 0.02 is 2 %."""
        if len(self.times) < 2 or not self.median:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return (high - low) / self.median

    @property
    def bytes_per_second(self) -> float:
        """Bytes moved a second, by the median."""
        return self.bytes / self.median if self.median else 0.0

    @property
    def flops_per_second(self) -> float:
        """Operations a second, by the median."""
        return self.flops / self.median if self.median else 0.0

    def __str__(self) -> str:
        median, low, high = map(_time, (self.median, self.min, self.max))
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        text = f"{median} (min {low}, max {high}, spread {_digits(100 * self.spread)} %, "
        text += f"{len(self.times)} samples of {calls})"
        if self.bytes:
            text += f", {_digits(self.bytes_per_second / 1e9)} GB/s"
        if self.flops:
            text += f", {_digits(self.flops_per_second / 1e9)} GFLOP/s"
        return text


def benchmark(
    function: Callable[[], object],
    *,
    context: BaseContext | None = None,
    warmup: int = 3,
    min_seconds: float = 0.5,
    bytes: int = 0,
    flops: int = 0,
) -> Report:
    """Call a function again and again and measure how long a call takes.

    On a context the time is the device's, between two events of the context's own stream: the host may
    run ahead, so a kernel that takes longer than its launch is measured by itself. For one that is
    shorter, capture it with ``ctx.capture()`` and measure ``graph.replay``. Without a context it is the
    host's time.

    Args:
        function: What to measure; with a context, it queues work there and does not wait for it.
        context: Whose work it is.
        warmup: Calls before anything is measured: kernels are compiled then, caches filled.
        min_seconds: How long to measure at least.
        bytes: Bytes that one call moves, for the throughput.
        flops: Operations that one call does, likewise.

    Raises:
        LaunchError: a number is below 0, or an argument is something else.
    """
    if not callable(function):
        given = "None" if function is None else a_(type(function).__name__)
        message = f"benchmark takes a function without arguments, not {given}"
        raise _refused(message, 0, "write `lambda: ...` around the call that is meant")
    if context is not None and not hasattr(context, "execution_time"):
        message = f"context= of a benchmark is a DeviceContext, not {a_(type(context).__name__)}"
        raise _refused(message, "context", "make one: DeviceContext()")
    numbers = {"warmup": warmup, "min_seconds": min_seconds, "bytes": bytes, "flops": flops}
    for name, number in numbers.items():
        if not isinstance(number, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"{name}={number!r} of a benchmark is {a_(type(number).__name__)}"
            raise _refused(message, name, "give a number of 0 or more")
        if number < 0:
            raise _refused(f"{name}={number!r} of a benchmark is below 0", name, "give 0 or more")
    for _ in range(warmup):
        function()
    if context is not None:
        context.synchronize()
    calls, aim = 1, min_seconds / _SAMPLES
    while True:  # the first sample is the one that found out how many calls it takes
        elapsed = _sample(function, context, calls)
        if elapsed >= aim or calls >= _MOST_CALLS:
            break
        calls = min(
            _MOST_CALLS, max(2 * calls, int(1.1 * calls * aim / max(elapsed, 1e-9)) if elapsed else 0)
        )
    times, total = [elapsed / calls], elapsed
    while total < min_seconds or len(times) < _LEAST:
        elapsed = _sample(function, context, calls)
        times.append(elapsed / calls)
        total += elapsed
    return Report(tuple(times), calls, bytes, flops)


def _refused(message: str, at: int | str, hint: str) -> LaunchError:
    from weft.diagnostics.wrote import argument_place

    call = caller_location()
    place = None if call is None else argument_place(call, at)
    return LaunchError.at("benchmark", message, place, hints=(hint,))


def _sample(function: Callable[[], object], context: BaseContext | None, calls: int) -> float:
    """Seconds that so many calls take."""
    if context is not None:
        return context.execution_time(lambda _: function(), calls) / 1e9
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return time.perf_counter() - start


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{_digits(seconds * scale)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
