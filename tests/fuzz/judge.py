"""What becomes of a program: judged in a worker, so that a crash or a hang is a verdict like others."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import IO, Any

from tests.fuzz.program import Program

__all__ = ["FINE", "Judge", "Verdict", "serve"]

FINE = "same"
_RESTART = 100
"""After how many programs a worker is replaced: to look for garbage would take longer than a new one does."""
_MODEL, _PATIENCE = "model", 4
"""What the worker is asked first, and how much longer than weft it may take."""


@dataclass
class Verdict:
    """``same``, ``different``, ``refused``, ``raised``, ``model``, ``crash`` or ``hang``; why; the way."""

    name: str
    detail: str = ""
    way: str = ""

    @property
    def fine(self) -> bool:
        return self.name == FINE

    def like(self, other: Verdict) -> bool:
        """Whether both are of one kind: what is refused is refused for one reason."""
        if (other.name, other.way) != (self.name, self.way):
            return False
        told = self.name in ("refused", "raised", "model")
        return not told or other.detail[:60] == self.detail[:60]


def assembles(assembler: Any, program: Program) -> Verdict:
    """Whether NVIDIA's assembler takes a program."""
    from weft import WeftError

    try:
        said = assembler.says(program)
    except WeftError as error:
        return Verdict("refused", str(error))
    except Exception:
        return Verdict("raised", _last())
    return Verdict("different", said) if said else Verdict(FINE)


def modelled(wanted: Callable[[], Any]) -> Verdict:
    """Whether the model comes to an end."""
    try:
        wanted()
    except Exception:
        return Verdict("model", _last())
    return Verdict(FINE)


@cache
def _device(way: str) -> Any:
    from tests.fuzz.weft_run import Device

    return Device(way)


def judge(program: Program, wanted: Callable[[], Any], way: str, before: dict[str, Any]) -> Verdict:
    """Run a program by weft in one way, beside what the model says of it and the ways before have given."""
    from tests.fuzz.compare import difference

    from weft import DeviceError, WeftError

    if not (verdict := modelled(wanted)).fine:
        return verdict
    outcome = wanted()
    try:
        got = _device(way).run(program)
    except DeviceError:
        return Verdict("raised", _last())
    except WeftError as error:
        return Verdict("refused", str(error))
    except Exception:
        return Verdict("raised", _last())
    found = difference(program, outcome, got)
    for other, given in before.items():
        if not found and (found := difference(program, given, got, exact=True)):
            found = found.replace("in the model", f"on {other}")
    before[way] = got
    return Verdict("different", found) if found else Verdict(FINE)


def _last() -> str:
    lines = traceback.format_exc().strip().splitlines()
    return "\n".join([lines[-1], *lines[-9:-1]])


def serve(out: IO[str]) -> None:
    """The worker: a way and a seed or a program come in on a line, the verdict goes out."""
    from tests.fuzz.generate import generate
    from tests.fuzz.machine import run_model

    faulthandler.enable()
    gc.disable()
    last, program, wanted, before = "", None, None, dict[str, Any]()
    for line in sys.stdin:
        way, _, text = line.strip().partition(" ")
        if text != last or program is None or wanted is None:  # the model runs once for all ways
            last, program = text, generate(int(text)) if text.isdigit() else Program.from_json(text)
            wanted, before = cache(partial(run_model, program)), dict[str, Any]()
        if way == _MODEL:
            verdict = modelled(wanted)
        elif way.startswith("sm_"):
            verdict = assembles(_assembler(way), program)
        else:
            verdict = judge(program, wanted, way, before)
        print(json.dumps([verdict.name, verdict.detail]), file=out, flush=True)


@cache
def _assembler(arch: str) -> Any:
    from tests.fuzz.assemble import Assembler

    return Assembler(arch)


class Judge:
    """A worker and the way to it, until the end of ``with``."""

    def __init__(self, ways: Sequence[str], timeout: float) -> None:
        self.ways = ways
        """How programs are run, one way after the other: see ``weft_run.WAYS``."""
        self.timeout = timeout
        self.process: subprocess.Popen[str] | None = None
        self.count = 0
        self.cache = tempfile.TemporaryDirectory(prefix="weft-fuzz-cache-")

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.errors = tempfile.TemporaryFile("w+")
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz", "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                env={**os.environ, "WEFT_CACHE_DIR": self.cache.name},
            )
        return self.process

    def ask(self, program: int | Program, way: str = "") -> Verdict:
        """What becomes of a program, or of that of a seed, in one way; or in the first in which it fails."""
        verdict = Verdict(FINE)
        self.count += 1
        if self.count % _RESTART == 0:
            self._end()
        asked = [way] if way else [*self.ways]
        if any(not each.startswith("sm_") for each in asked):  # a slow model is no kernel that hangs
            asked = [_MODEL, *asked]
        for each in asked:
            verdict = self._ask(program, each, self.timeout * (_PATIENCE if each == _MODEL else 1))
            if not verdict.fine:
                return replace(verdict, way=each)
        return verdict

    def _ask(self, program: int | Program, way: str, limit: float) -> Verdict:
        worker = self._started()
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            text = program if isinstance(program, int) else program.to_json()
            worker.stdin.write(f"{way} {text}\n")
            worker.stdin.flush()
            ready, _, _ = select.select([worker.stdout], [], [], limit)
            line = worker.stdout.readline() if ready else None
        except BrokenPipeError:
            line = ""
        if line:
            verdict = Verdict(*json.loads(line))
            if verdict.name == "raised":  # a device that failed may fail from then on
                self._end()
            return verdict
        if line is None:
            self._end()
            return Verdict("hang", f"no end in {limit:g} seconds")
        status = worker.wait()
        self.errors.seek(0)
        said = "\n".join(self.errors.read().strip().splitlines()[-60:])
        self._end()
        return Verdict("crash", f"the process ended with status {status}\n{said}")

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self.cache.cleanup()

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.errors.close()
            self.process = None
