"""Timing: how long something takes, how much that varies, and what throughput it means. The names are Mojo's.

``run`` times one function, ``Bench`` several, for a table: peers in turns, and sweeps over parameters.
``keep`` and ``clobber_memory`` hold LLVM off what a kernel computes for the measurement alone.

Example:
    >>> from weft import Float32
    >>> from weft.benchmark import Bench, BenchConfig, Bencher, run
    >>> from weft.gpu.host import DeviceContext
    >>> ctx = DeviceContext(api="cpu")
    >>> quick = BenchConfig(min_runtime_secs=0.01)
    >>> report = run(lambda: sum(range(100)), config=quick)
    >>> report.min <= report.median
    True
    >>> def fill(b: Bencher, n: int) -> None:
    ...     buffer = ctx.enqueue_create_buffer(Float32, n)
    ...     b.measure("bytes", buffer.nbytes)
    ...     b.iter_custom(lambda ctx: buffer.enqueue_fill(1.0), ctx)
    >>> bench = Bench(quick)
    >>> bench.bench_function(fill, params={"n": [1 << 10, 1 << 16]})
    >>> [(report.name, report.params, "GB/s" in report.rates) for report in bench.reports]
    [('fill', {'n': 1024}, True), ('fill', {'n': 65536}, True)]
"""

from weft.benchmark.bench import Bench, BenchId
from weft.benchmark.report import BenchMetric, Report, ThroughputMeasure
from weft.benchmark.timing import BenchConfig, Bencher, run
from weft.benchmark.work import declare_work
from weft.diagnostics.modules import present
from weft.lang.kept import clobber_memory, keep

__all__ = [
    "Bench",
    "BenchConfig",
    "BenchId",
    "BenchMetric",
    "Bencher",
    "Report",
    "ThroughputMeasure",
    "clobber_memory",
    "declare_work",
    "keep",
    "run",
]


present(globals())
