"""``python -m tests.fuzz --programs 20000``: random programs on a device, beside the model."""

from __future__ import annotations

import argparse
import collections
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.fuzz.generate import generate
from tests.fuzz.judge import Judge, Verdict, serve
from tests.fuzz.program import Program, model_text, weft_text
from tests.fuzz.shrink import shrunk


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first program's number (default 0)")
    parser.add_argument(
        "--device",
        default="cpu",
        help="cpu (default), threads, checked, shuffled, interpreter, cuda, newer-cuda, checked-cuda, or "
        "some of them; "
        "sm_90: only assemble",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds that a program may take")
    parser.add_argument(
        "--shrink", type=float, default=120.0, help="seconds to make a failing program smaller; 0: none"
    )
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="where failing programs go")
    parser.add_argument("--replay", type=Path, help="run a program that was written there instead")
    parser.add_argument("--show", action="store_true", help="print the text of --seed and end")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _judge(options: argparse.Namespace) -> Judge:
    return Judge(options.device.split(","), options.timeout)


def _report(program: Program, verdict: Verdict) -> str:
    detail = verdict.detail.replace("\n", "\n# ")
    return "\n".join(
        [
            f"# seed {program.seed} on {verdict.way}: {verdict.name}",
            f"# {detail}",
            f"# launch: {program.launch}",
            weft_text(program.text, brackets=program.brackets),
        ]
    )


class _Run:
    """The state that the threads of a run share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.seeds: Iterator[int] = iter(range(options.seed, options.seed + options.programs))
        self.counts: collections.Counter[str] = collections.Counter()
        self.start = time.monotonic()

    def work(self) -> None:
        """Take seeds until there are none."""
        with _judge(self.options) as judge:
            while (seed := self.next()) is not None:
                verdict = judge.ask(seed)
                if not verdict.fine:
                    verdict = self.failed(judge, seed, verdict)
                with self.lock:
                    self.counts[verdict.name] += 1
                    if self.counts.total() % 500 == 0:
                        self.say()

    def next(self) -> int | None:
        """The next seed."""
        with self.lock:
            return next(self.seeds, None)

    def failed(self, judge: Judge, seed: int, verdict: Verdict) -> Verdict:
        """Make it smaller, print it and write it down."""
        program = generate(seed)
        before = verdict
        if self.options.shrink:
            judge.timeout = (
                min(self.options.timeout, 10.0) if verdict.name == "hang" else self.options.timeout
            )
            program = shrunk(program, lambda p: before.like(judge.ask(p, before.way)), self.options.shrink)
            again = judge.ask(program, before.way)
            if again.fine:
                again = replace(before, detail=f"not every time: {before.detail}")
            verdict = again
            judge.timeout = self.options.timeout
        text = _report(program, verdict)
        folder: Path = self.options.out
        with self.lock:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{seed}.json").write_text(program.to_json(), encoding="utf-8")
            (folder / f"{seed}.py").write_text(text, encoding="utf-8")
            print(text, flush=True)
        return verdict

    def say(self) -> None:
        """How far it is."""
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        seconds = time.monotonic() - self.start
        print(f"{self.counts.total()} programs in {seconds:.0f} s: {counts}", flush=True)


def _replay(options: argparse.Namespace) -> int:
    program = Program.from_json(options.replay.read_text(encoding="utf-8"))
    with _judge(options) as judge:
        verdict = judge.ask(program)
    print(_report(program, verdict))
    return 0 if verdict.fine else 1


def main() -> int:
    """The command."""
    options = _options()
    if options.worker:
        out, sys.stdout = sys.stdout, sys.stderr
        serve(out)
        return 0
    if options.show:
        program = generate(options.seed)
        print(
            weft_text(program.text, brackets=program.brackets),
            f"\n# launch: {program.launch}\n\n# the model's:\n",
            model_text(program.text),
        )
        return 0
    if options.replay:
        return _replay(options)
    run = _Run(options)
    threads = [threading.Thread(target=run.work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.say()
    return 0 if run.counts["same"] == options.programs else 1


if __name__ == "__main__":
    raise SystemExit(main())
