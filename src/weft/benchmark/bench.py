"""Several benchmarks, for comparison."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Concatenate, TypeVar

from weft.benchmark.instead import OF_BENCHES
from weft.benchmark.params import choices
from weft.benchmark.report import Report, ThroughputMeasure, check_number, checked_measures
from weft.benchmark.text import FORMATS, SUFFIXES, shown
from weft.benchmark.timing import BenchConfig, Bencher, Measurement, check_function, checked_config
from weft.diagnostics import LaunchError, Location, caller_location
from weft.diagnostics.hook import pruned
from weft.diagnostics.instead import ON_HOST, instead
from weft.diagnostics.spelt import Spelt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BenchId:
    """The name of a benchmark: of a function, and where it has several, of what it works on.

    Example:
        >>> print(BenchId("sort", "reversed"))
        sort/reversed
    """

    func_name: str
    input_id: str = ""

    def __str__(self) -> str:
        return f"{self.func_name}/{self.input_id}" if self.input_id else self.func_name


class _Case:
    """A function that is measured with one choice of parameters."""

    def __init__(
        self,
        function: Callable[..., object],
        name: str,
        params: Mapping[str, Any],
        measures: tuple[ThroughputMeasure, ...],
        config: BenchConfig,
    ) -> None:
        self.function = function
        self.name = name
        self.params = params
        self.measures = measures
        self.measurement = Measurement(config)
        self.place: Location | None = caller_location()

    def repeat(self) -> None:
        """Call it once for a part of its samples."""
        self.measurement.taken = False
        self.measurement.measures[:] = self.measures
        try:
            self.function(Bencher(self.measurement), **self.params)
        except Exception as error:
            which = ", ".join(f"{name}={shown(value)}" for name, value in self.params.items())
            error.add_note(f"in the benchmark {self.name}" + (f" with {which}" if which else ""))
            error.__traceback__ = pruned(error.__traceback__)
            raise
        if not self.measurement.taken:
            raise LaunchError.at(
                "benchmark",
                f"{self.name} has measured nothing",
                self.place,
                hints=("call `b.iter(...)` or `b.iter_custom(..., ctx)` in it, b being its first parameter",),
            )


@instead(OF_BENCHES, ON_HOST)
class Bench(Spelt):
    """Measures functions one after the other or in turns, and shows the results together.

    Each function gets a ``Bencher``. What it does before it calls one of that one's ``iter`` methods is not
    measured. What it raises comes through, with a note of the case.

    Args:
        config: how long and how often; ``BenchConfig()`` where it is left out.

    Example:
        >>> def doubled(b: Bencher, n: int) -> None:
        ...     b.measure("elements", n)
        ...     b.iter(lambda: [2 * i for i in range(n)])
        >>> bench = Bench(BenchConfig(min_runtime_secs=0.01))
        >>> bench.bench_function(doubled, params={"n": [10, 1000]})
        >>> table = str(bench).splitlines()
        >>> table[0].split()
        ['name', 'n', 'median', 'min', 'max', 'spread', 'samples', 'GElems/s']
        >>> [line.split()[:2] for line in table[2:]]
        [['doubled', '10'], ['doubled', '1000']]
    """

    def __init__(self, config: BenchConfig | None = None) -> None:
        self.config: BenchConfig = checked_config(config)
        self.reports: list[Report] = []
        """What was measured, in order."""
        self._turns: list[_Case] | None = None

    def bench_function(
        self,
        function: Callable[Concatenate[Bencher, ...], object],
        bench_id: BenchId | str | None = None,
        *,
        params: Mapping[str, Iterable[Any]] | None = None,
        measures: Iterable[ThroughputMeasure] = (),
    ) -> None:
        """Measure a function, once for each choice of its parameters.

        Args:
            function: called with a ``Bencher``, and the parameters by their names.
            bench_id: its name in the results; by default the function's own.
            params: the values of each parameter; every choice of one each is a case.
            measures: how much of what one call does. Where that depends on the parameters, the function
                says it by ``b.measure``.

        Raises:
            LaunchError: the function lacks one of the parameters, or more; or it measures nothing.
        """
        check_function("bench_function", function)
        name = str(getattr(function, "__name__", "function") if bench_id is None else bench_id)
        config, given = self.config, checked_measures(measures)
        cases = [
            _Case(function, name, choice, given, config) for choice in choices(name, function, params or {})
        ]
        if self._turns is not None:
            self._turns += cases
            return
        for case in cases:
            for _ in range(config.num_repetitions):
                case.repeat()
            self._add(case)

    def bench_with_input(
        self,
        function: Callable[[Bencher, T], object],
        bench_id: BenchId | str,
        input: T,
        measures: Iterable[ThroughputMeasure] = (),
    ) -> None:
        """Measure a function with something to work on, which is given as it is."""
        check_function("bench_with_input", function)
        self.bench_function(lambda b: function(b, input), bench_id, measures=measures)

    @contextmanager
    def in_turns(self, num_repetitions: int = 10) -> Generator[None]:
        """For ``with``: what is added in the block is measured at its end, A B C A B C.

        Whatever slows the machine for a while slows all of them alike. Each function is called once a
        round, so it prepares anew each time.

        Args:
            num_repetitions: the rounds; each case takes its part of the time and of the samples in each.

        Example:
            >>> bench = Bench(BenchConfig(min_runtime_secs=0.02))
            >>> with bench.in_turns(num_repetitions=2):
            ...     bench.bench_function(lambda b: b.iter(lambda: sum(range(100))), "sum")
            ...     bench.bench_function(lambda b: b.iter(lambda: max(range(100))), "max")
            >>> [report.name for report in bench.reports]
            ['sum', 'max']
        """
        check_number("num_repetitions", num_repetitions, "num_repetitions", 0, 1)
        if self._turns is not None:
            message = "a block of cases in turns is under way"
            raise LaunchError.here("benchmark", message, "end it before the next one, or use another Bench")
        before, self.config = self.config, replace(self.config, num_repetitions=num_repetitions)
        turns: list[_Case] = []
        self._turns = turns
        try:
            yield
        finally:
            self.config, self._turns = before, None
        for _ in range(num_repetitions):
            for case in turns:
                case.repeat()
        for case in turns:
            self._add(case)

    def dump_report(self, out_file: str | os.PathLike[str]) -> None:
        """Write the results to a file: ``.csv`` and ``.json`` with times in seconds, ``.txt`` as printed.

        Raises:
            LaunchError: the file's name ends otherwise.
            OSError: it cannot be written.
        """
        path = Path(out_file)
        if path.suffix not in SUFFIXES:
            message = f"a report is not written to {path.name!r}: its name says no format"
            hint = f"end it with {', '.join(SUFFIXES)}"
            raise LaunchError.here("benchmark", message, hint, at=("out_file", 0))
        text = FORMATS[SUFFIXES[path.suffix]](self.reports)
        path.write_text(text + "\n", encoding="utf-8", newline="\n")

    def __str__(self) -> str:
        return format(self)

    def __format__(self, format_spec: str) -> str:
        """The results as text: ``f"{bench}"`` or ``:table``, ``f"{bench:csv}"``, ``f"{bench:json}"``."""
        write = FORMATS.get(format_spec or "table")
        if write is None:
            message = f"a report has no format {format_spec!r}"
            raise LaunchError.here("benchmark", message, f"write one of {', '.join(FORMATS)}")
        return write(self.reports)

    def _add(self, case: _Case) -> None:
        report = case.measurement.report(case.name, case.params)
        self.reports.append(report)
        if self.config.show_progress:
            chosen = "".join(f" {name}={shown(value)}" for name, value in case.params.items())
            print(f"{case.name}{chosen}: {report}", file=sys.stderr, flush=True)
