"""Calling a function again and again, and measuring how long a call takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, overload

from weft.benchmark.report import BenchMetric, Report, ThroughputMeasure, check_number, checked_measures
from weft.diagnostics import LaunchError, a_
from weft.diagnostics.hook import pruned

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext

    Context = TypeVar("Context", bound=BaseContext)

_SAMPLES = 20
"""Samples that are aimed at; a sample has as many calls as that takes."""
_LEAST = 5
"""Samples that there are in any case that leaves the time for them."""


@dataclass(frozen=True, slots=True)
class BenchConfig:
    """How long and how often is measured.

    Raises:
        LaunchError: a number is below 0, or below 1 where 0 means nothing; or it is something else.

    Example:
        >>> BenchConfig(min_runtime_secs=2).num_warmup_iters
        3
    """

    min_runtime_secs: float = 0.5
    """How long to measure at least, the warm-up not counted."""
    max_runtime_secs: float = 60.0
    """After how long no further sample is begun."""
    num_warmup_iters: int = 3
    """Calls before anything is measured: kernels are compiled then, caches filled."""
    max_iters: int = 1_000_000_000
    """Calls that are measured at most."""
    max_batch_size: int = 10_000
    """Calls of a sample at most: a device's queue has an end."""
    num_repetitions: int = 1
    """How often the function of a case is called, each time for a part of the samples: its buffers lie
    elsewhere each time."""
    show_progress: bool = False
    """Whether a line of each result goes to ``sys.stderr`` at once."""

    def __post_init__(self) -> None:
        for position, field in enumerate(fields(self)):
            least = 1 if field.name in ("max_iters", "max_batch_size", "num_repetitions") else 0
            check_number(field.name, getattr(self, field.name), field.name, position, least)


def checked_config(config: BenchConfig | None) -> BenchConfig:
    """The configuration, by default the usual one; what is none is refused."""
    if config is None or isinstance(config, BenchConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
        return config or BenchConfig()
    message = f"config of a benchmark is a BenchConfig, not {a_(type(config).__name__)}"
    raise LaunchError.here("benchmark", message, "write BenchConfig(min_runtime_secs=0.5)", at=("config", 0))


class Measurement:
    """Samples of one function, which may be called for them several times."""

    def __init__(self, config: BenchConfig) -> None:
        self.config = config
        self.measures: list[ThroughputMeasure] = []
        self.taken = False
        self._times: list[float] = []
        self._batch = 1
        self._growing = True

    def take(self, sample: Callable[[int], float]) -> None:
        """Warm up and sample for this repetition's part; ``sample`` gives the seconds of so many calls."""
        if self.taken:
            raise LaunchError.here(
                "benchmark",
                "this function was measured already",
                "measure each by a function of its own, and give each to `bench_function`",
            )
        self.taken: bool = True
        config, parts = self.config, self.config.num_repetitions
        least = math.ceil(_LEAST / parts)
        limit = max(1, min(config.max_batch_size, config.max_iters // (least * parts)))
        aim = config.min_runtime_secs / _SAMPLES
        if config.num_warmup_iters:
            sample(config.num_warmup_iters)
        times: list[float] = []
        spent = useful = 0.0
        while True:
            calls = self._batch
            elapsed = sample(calls)
            spent += elapsed
            late = spent >= config.max_runtime_secs / parts
            if self._growing and elapsed < aim and calls < limit and not late:
                grown = int(1.1 * calls * aim / elapsed) if elapsed else 0
                self._batch = min(limit, max(2 * calls, grown))
                continue
            self._growing = False
            times.append(elapsed / calls)
            useful += elapsed
            enough = useful >= config.min_runtime_secs / parts and len(times) >= least
            if enough or late or (len(times) + 1) * calls * parts > config.max_iters:
                break
        self._times += times

    def report(self, name: str, params: Mapping[str, Any]) -> Report:
        """What was measured."""
        return Report(tuple(self._times), self._batch, tuple(self.measures), name, params)


class Bencher:
    """What a function gets that ``Bench`` measures: it prepares, and calls one of the ``iter`` methods once.

    Example:
        >>> from weft.benchmark import Bench, BenchConfig, Bencher
        >>> def sorting(b: Bencher, n: int) -> None:
        ...     numbers = list(range(n, 0, -1))
        ...     b.measure("elements", n)
        ...     b.iter(lambda: sorted(numbers))
        >>> bench = Bench(BenchConfig(min_runtime_secs=0.01))
        >>> bench.bench_function(sorting, params={"n": [100]})
        >>> bench.reports[0].rates["GElems/s"] > 0
        True
    """

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement

    def iter(self, function: Callable[[], object], wait: Callable[[], object] | None = None) -> None:
        """Measure calls of a function by the host's clock, which does not see what a device still does.

        Args:
            function: called without arguments.
            wait: called before each sample, and at its end, which counts: for libraries with a queue of their
                own, such as ``torch.cuda.synchronize``.
        """
        check_function("iter", function)
        done: Callable[[], object] = (lambda: None) if wait is None else wait
        check_function("iter", done, ("wait", 1))

        def sample(calls: int) -> float:
            done()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            done()
            return time.perf_counter() - start

        self._measurement.take(sample)

    def iter_preproc(self, function: Callable[[], object], preproc: Callable[[], object]) -> None:
        """Measure calls of a function by the host's clock, each after a ``preproc`` that does not count.

        For functions that spend what they work on, such as a sort in place. Each call is timed by itself,
        so one should take some microseconds.
        """
        check_function("iter_preproc", function)
        check_function("iter_preproc", preproc, ("preproc", 1))

        def sample(calls: int) -> float:
            total = 0.0
            for _ in range(calls):
                preproc()
                start = time.perf_counter()
                function()
                total += time.perf_counter() - start
            return total

        self._measurement.take(sample)

    def iter_custom(self, function: Callable[[Context], object], context: Context) -> None:
        """Measure what a function queues on a context's own stream, by two events of the device.

        The host may run ahead, so a kernel that takes longer than its launch is measured by itself. For one
        that is shorter, capture many of them with ``ctx.capture()`` and replay the graph.

        Args:
            function: called with the context; it queues work there and does not wait for it.
            context: whose work it is.
        """
        check_function("iter_custom", function)
        if not hasattr(context, "execution_time"):
            message = f"the context of a benchmark is a DeviceContext, not {a_(type(context).__name__)}"
            raise LaunchError.here("benchmark", message, "make one: DeviceContext()", at=("context", 1))
        self._measurement.take(lambda calls: context.execution_time(function, calls) / 1e9)

    def measure(self, metric: BenchMetric | str, value: float) -> None:
        """Say how much of what one call does, for the throughput: ``b.measure("bytes", buffer.nbytes)``.

        Raises:
            LaunchError: as ``ThroughputMeasure``.
        """
        self._measurement.measures.append(ThroughputMeasure(metric, value))


@overload
def run(
    function: Callable[[], object],
    *,
    config: BenchConfig | None = None,
    measures: Iterable[ThroughputMeasure] = (),
) -> Report: ...
@overload
def run(
    function: Callable[[Context], object],
    context: Context,
    *,
    config: BenchConfig | None = None,
    measures: Iterable[ThroughputMeasure] = (),
) -> Report: ...
def run(
    function: Callable[..., object],
    context: BaseContext | None = None,
    *,
    config: BenchConfig | None = None,
    measures: Iterable[ThroughputMeasure] = (),
) -> Report:
    """Measure one function: as ``Bencher.iter`` does, or with a context as ``Bencher.iter_custom``.

    Args:
        function: called without arguments, or with the context.
        context: whose work it queues.
        config: how long and how often; ``BenchConfig()`` where it is left out.
        measures: how much of what one call does, for the throughput.

    Raises:
        LaunchError: an argument is something else.

    Example:
        >>> from weft import Float32
        >>> from weft.gpu.host import DeviceContext
        >>> ctx = DeviceContext(api="cpu")
        >>> buffer = ctx.enqueue_create_buffer(Float32, 1 << 16)
        >>> moved = [ThroughputMeasure("bytes", buffer.nbytes)]
        >>> quick = BenchConfig(min_runtime_secs=0.01)
        >>> report = run(lambda ctx: buffer.enqueue_fill(1.0), ctx, config=quick, measures=moved)
        >>> report.rates["GB/s"] > 0
        True
    """
    check_function("run", function)
    measurement = Measurement(checked_config(config))
    measurement.measures += checked_measures(measures)
    bencher = Bencher(measurement)
    for _ in range(measurement.config.num_repetitions):
        measurement.taken = False
        try:
            if context is None:
                bencher.iter(function)
            else:
                bencher.iter_custom(function, context)
        except Exception as error:
            error.__traceback__ = pruned(error.__traceback__)
            raise
    return measurement.report(getattr(function, "__name__", ""), {})


def check_function(name: str, function: object, at: tuple[str, int] = ("function", 0)) -> None:
    """Refuse what cannot be called, as an argument of this name and position."""
    if not callable(function):
        given = "None" if function is None else a_(type(function).__name__)
        raise LaunchError.here(
            "benchmark",
            f"{name} takes a function, not {given}",
            "write `lambda: ...` around the call that is meant",
            at=at,
        )
