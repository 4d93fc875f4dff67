"""The report of a benchmark, and that what is measured is what was asked for."""

from __future__ import annotations

import time

import pytest

from weft import Float32
from weft.benchmark import Report, benchmark
from weft.diagnostics import LaunchError
from weft.gpu.host import DeviceContext


def test_report() -> None:
    report = Report((4e-3, 1e-3, 2e-3, 3e-3, 5e-3), calls=1, bytes=6_000_000, flops=3 * 10**9)
    assert (report.median, report.min, report.max) == (3e-3, 1e-3, 5e-3)
    assert report.spread == pytest.approx(2 / 3)
    assert report.bytes_per_second == pytest.approx(2e9)
    assert report.flops_per_second == pytest.approx(1e12)
    assert str(report) == (
        "3 ms (min 1 ms, max 5 ms, spread 66.7 %, 5 samples of 1 call), 2 GB/s, 1000 GFLOP/s"
    )
    assert str(Report((1.5e-7,), calls=10)) == (
        "150 ns (min 150 ns, max 150 ns, spread 0 %, 1 samples of 10 calls)"
    )


def test_on_the_host() -> None:
    calls: list[int] = []
    report = benchmark(lambda: (calls.append(1), time.sleep(1e-3)), warmup=2, min_seconds=0.02)
    assert report.min >= 1e-3
    assert len(report.times) >= 5
    assert len(calls) >= 2 + len(report.times) * report.calls


def test_on_a_context() -> None:
    with DeviceContext(api="cpu") as ctx:
        ran: list[int] = []

        def work() -> None:
            ctx.enqueue_host_call(lambda: (ran.append(1), time.sleep(1e-3)))

        report = benchmark(work, context=ctx, warmup=0, min_seconds=0.01)
        assert report.min >= 1e-3
        buffer = ctx.enqueue_create_buffer(Float32, 1 << 10)
        report = benchmark(lambda: buffer.enqueue_fill(1), context=ctx, min_seconds=0.01, bytes=buffer.nbytes)
        assert report.bytes_per_second > 0


def test_refusals() -> None:
    with pytest.raises(LaunchError, match="min_seconds=-1"):
        benchmark(lambda: None, min_seconds=-1)
