"""Reports and tables of benchmarks, and that what is measured is what was asked for."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from benchmarks import untuned

from weft import Float32, Int32
from weft.benchmark import Bench, BenchConfig, Bencher, BenchId, BenchMetric, Report, ThroughputMeasure, run
from weft.diagnostics import LaunchError, is_internal
from weft.gpu.host import DeviceContext

QUICK = BenchConfig(min_runtime_secs=0.005)


def test_report() -> None:
    done = [ThroughputMeasure(BenchMetric.bytes, 6_000_000), ThroughputMeasure("flops", 3 * 10**9)]
    report = Report((4e-3, 1e-3, 2e-3, 3e-3, 5e-3), measures=done)
    assert (report.median, report.min, report.max, report.iters) == (3e-3, 1e-3, 5e-3, 5)
    assert report.mean == pytest.approx(3e-3)
    assert report.duration == pytest.approx(15e-3)
    assert report.spread == pytest.approx(2 / 3)
    assert report.rates == {"GB/s": pytest.approx(2), "GFLOP/s": pytest.approx(1000)}
    assert str(report) == (
        "3 ms (min 1 ms, max 5 ms, spread 66.7 %, 5 samples of 1 call), 2 GB/s, 1000 GFLOP/s"
    )
    assert str(Report((1.5e-7,), 10)) == (
        "150 ns (min 150 ns, max 150 ns, spread 0 %, 1 samples of 10 calls)"
    )


def test_on_the_host() -> None:
    calls: list[int] = []
    config = BenchConfig(num_warmup_iters=2, min_runtime_secs=0.02)
    report = run(lambda: (calls.append(1), time.sleep(1e-3)), config=config)
    assert report.min >= 1e-3
    assert len(report.times) >= 5
    assert len(calls) >= 2 + report.iters


def test_on_a_context() -> None:
    with DeviceContext(api="cpu") as ctx:
        given: list[DeviceContext] = []

        def work(own: DeviceContext) -> None:
            given.append(own)
            own.enqueue_host_call(lambda: time.sleep(1e-3))

        report = run(work, ctx, config=BenchConfig(num_warmup_iters=0, min_runtime_secs=0.01))
        assert report.min >= 1e-3
        assert set(map(id, given)) == {id(ctx)}
        buffer = ctx.enqueue_create_buffer(Float32, 1 << 10)
        moved = [ThroughputMeasure("bytes", buffer.nbytes)]
        report = run(lambda _: buffer.enqueue_fill(1), ctx, config=QUICK, measures=moved)
        assert report.rates["GB/s"] == pytest.approx(buffer.nbytes / report.median / 1e9)


def test_limits() -> None:
    calls: list[int] = []
    report = run(lambda: calls.append(1), config=BenchConfig(num_warmup_iters=4, max_iters=100))
    assert len(calls) <= 4 + 100 + sum(2**n for n in range(5))  # with what finds out the size of a batch
    assert (report.iters, report.batch_size) == (100, 20)
    slow = BenchConfig(min_runtime_secs=100, max_runtime_secs=0.004, num_warmup_iters=0)
    report = run(lambda: time.sleep(1e-3), config=slow)
    assert 1 <= len(report.times) <= 4
    assert run(lambda: None, config=BenchConfig(min_runtime_secs=0, max_batch_size=1)).iters == 5


def test_the_preparation_does_not_count() -> None:
    bench = Bench(QUICK)
    prepared: list[int] = []

    def function(b: Bencher) -> None:
        b.iter_preproc(prepared.pop, lambda: (prepared.append(1), time.sleep(2e-4)))

    bench.bench_function(function)
    assert bench.reports[0].median < 1e-4
    assert not prepared


def test_what_is_waited_for_counts() -> None:
    bench, order = Bench(BenchConfig(min_runtime_secs=0, num_warmup_iters=0, max_batch_size=1)), list[str]()

    def wait() -> None:
        order.append("wait")
        time.sleep(1e-3)

    bench.bench_function(lambda b: b.iter(lambda: order.append("call"), wait=wait), "queued")
    assert order == ["wait", "call", "wait"] * 5
    assert bench.reports[0].min >= 1e-3


def test_a_sweep() -> None:
    bench, seen = Bench(QUICK), list[tuple[int, Any]]()
    each = (measure for measure in [ThroughputMeasure(BenchMetric("rows", "GRows/s"), 1)])

    def making(b: Bencher, n: int, dtype: Any, more: int = 3) -> None:
        seen.append((n, dtype))
        b.measure("elements", n)
        b.iter(lambda: [dtype] * (n + more))

    bench.bench_function(making, params={"n": [1, 20], "dtype": (Float32, Int32)}, measures=each)
    assert seen == [(1, Float32), (1, Int32), (20, Float32), (20, Int32)]
    assert [(r.params["n"], r.params["dtype"]) for r in bench.reports] == seen
    bench.bench_with_input(lambda b, x: b.iter(lambda: sorted(x)), BenchId("sorted", "three"), [3, 1, 2])
    lines = str(bench).splitlines()
    assert lines[0].split() == "name n dtype median min max spread samples GRows/s GElems/s".split()
    assert [line.split()[:3] for line in lines[2:5]] == [
        ["making", "1", "Float32"],
        ["making", "1", "Int32"],
        ["making", "20", "Float32"],
    ]
    assert lines[-1].startswith("sorted/three  ")
    assert {len(line) for line in lines[:-1]} == {len(lines[0])}


def test_what_programs_read(tmp_path: Path) -> None:
    bench = Bench()
    measures = [ThroughputMeasure("elements", 4e6)]
    bench.reports = [
        Report((1e-3, 2e-3, 4e-3), 7, measures, "first", {"n": 4, "dtype": Float32}),
        Report((0.5,), 1, (), "a,b", {"k": "x"}),
    ]
    bench.dump_report(tmp_path / "out.json")
    one, two = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert one["params"] == {"n": 4, "dtype": "Float32"}
    assert (one["name"], one["times"], one["median"]) == ("first", [1e-3, 2e-3, 4e-3], 2e-3)
    assert one["rates"] == {"GElems/s": pytest.approx(2)}
    assert two["rates"] == {}
    bench.dump_report(tmp_path / "out.csv")
    first, second = csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8")))
    assert (first["n"], first["dtype"], first["k"], float(first["min"])) == ("4", "Float32", "", 1e-3)
    assert (second["name"], second["k"], second["GElems/s"]) == ("a,b", "x", "")
    bench.dump_report(tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == f"{bench}\n"
    assert f"{bench:csv}\n" == (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_in_turns() -> None:
    bench, order = Bench(QUICK), list[str]()

    def case(name: str) -> Any:
        def measured(b: Bencher) -> None:
            order.append(name)
            b.iter(lambda: None)

        return measured

    with bench.in_turns(num_repetitions=3):
        bench.bench_function(case("A"), "A")
        bench.bench_function(case("B"), "B")
        assert not order
    assert order == list("ABABAB")
    assert [report.name for report in bench.reports] == ["A", "B"]
    assert all(len(report.times) >= 6 for report in bench.reports)
    bench.bench_function(case("C"), "C")
    assert order[6:] == ["C"]


def test_repetitions_share_the_time() -> None:
    def sleeping(b: Bencher) -> None:
        b.measure("elements", 1)
        b.iter(lambda: time.sleep(1e-3))

    bench = Bench(BenchConfig(min_runtime_secs=0.02, num_repetitions=4))
    bench.bench_function(sleeping)
    (report,) = bench.reports
    assert 8 <= report.iters <= 20, "a call takes a millisecond or more"
    assert len(report.measures) == 1


def test_errors_of_the_function_come_through() -> None:
    empty: list[int] = []

    def wrong(b: Bencher, n: int) -> None:
        b.iter(lambda: empty[n])

    bench = Bench(QUICK)
    with pytest.raises(IndexError) as caught:
        bench.bench_function(wrong, params={"n": [1]})
    assert caught.value.__notes__ == ["in the benchmark wrong with n=1"]
    own = [entry for entry in caught.traceback if is_internal(str(entry.path))]
    assert len(own) <= 2, "the calls within weft say nothing to a user"
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 % 0)
    with pytest.raises(ZeroDivisionError), bench.in_turns():
        raise ZeroDivisionError
    with bench.in_turns(num_repetitions=1):  # and another block can begin
        pass
    assert not bench.reports


def test_refusals() -> None:
    with pytest.raises(LaunchError, match="min_runtime_secs=-1"):
        BenchConfig(min_runtime_secs=-1)
    with pytest.raises(LaunchError, match=r"max_iters=0 of a benchmark is below 1"):
        BenchConfig(max_iters=0)
    bench = Bench(QUICK)
    with bench.in_turns(num_repetitions=1):
        with pytest.raises(LaunchError, match="under way"), bench.in_turns():
            pass
    with pytest.raises(LaunchError, match="no format 'html'"):
        format(bench, "html")


def test_constants_of_ready_kernels_are_varied_and_set_back(capsys: pytest.CaptureFixture[str]) -> None:
    arrays = untuned.Arrays(DeviceContext(api="cpu"), 32)
    cases = [*untuned.cases(arrays)]
    owners = {path: untuned.owner_of(path) for case in cases for path in case.space}
    usual = {path: getattr(*owner) for path, owner in owners.items()}
    (rope,) = [case for case in cases if case.name == "rope"]
    settings = [*untuned.settings(rope, rope.make(arrays))]
    assert len(settings) == 9
    assert len({untuned.text(setting) for setting in settings}) == 9
    with untuned.changed(settings[1]):
        assert {path: getattr(*owners[path]) for path in settings[1]} == settings[1]
    assert {path: getattr(*owner) for path, owner in owners.items()} == usual
    assert untuned.compared(arrays.ctx, rope, arrays, 1) >= 1
    assert "| rope |" in capsys.readouterr().out
