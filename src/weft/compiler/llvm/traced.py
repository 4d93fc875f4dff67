"""What LLVM's passes do to a module and take, and what LLVM remarks about it, read from what it prints.

It works in a process of its own, whose options say that it prints: what is compiled to run never asks.
"""

from __future__ import annotations

import importlib.util
import marshal
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from weft.compiler.llvm import worker
from weft.compiler.llvm.emit import job_of, vectors_of
from weft.compiler.llvm.worker.markers import BEFORE, TIMES
from weft.config import settings
from weft.diagnostics import CompileError, caller_location
from weft.record import record
from weft.targets import Target


@record
class Changed:
    """What a pass made of a function that it changed: its lines before and after, without places.

    ``before`` is None where the function comes in another form, such as machine instructions.
    """

    step: str
    function: str
    before: list[str] | None
    after: list[str]


@record
class Traced:
    """The passes that changed something, in their order, and the milliseconds of each by its name."""

    changes: list[Changed]
    times: dict[str, float]


class Remark(NamedTuple):
    """What LLVM says of a line of the source; ``file`` is a name without a folder."""

    file: str
    line: int
    text: str


def traced(text: str, target: Target) -> Traced:
    """What each pass makes of a module's text on the way to assembly.

    Raises:
        CompileError: LLVM fails on it.
    """
    shown = _asked("passes", text, target)
    given, _, rest = shown.partition(f"{BEFORE}\n")[2].partition("\n*** IR Dump After ")
    dumps, _, times = f"*** IR Dump After {rest}".partition(f"{TIMES}\n")
    return Traced(list(_changes(given, dumps if rest else "")), _times(times))


def remarks(text: str, target: Target) -> list[Remark]:
    """What LLVM remarks about a module's text.

    Raises:
        CompileError: LLVM fails on it.
    """
    found = _REMARK.finditer(_asked("remarks", text, target))
    return [Remark(m[1], int(m[2]), m[3]) for m in found]


_REMARK = re.compile(r"^remark: ([^:\n]+):(\d+):\d+: (.+)$", re.MULTILINE)
_DUMP = re.compile(r"^(?:; |# )?\*\*\* IR Dump After (.+?) \*\*\*:?$", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:define [^\n]*?@(\"[^\"]*\"|[\w$.]+)\(|# Machine code for function (\S+):)")
_PLACE = re.compile(r", !dbg !\d+|,? ?debug-location !\d+|; [\w./-]+\.py:\d+:\d+.*$")
_TIME = re.compile(r"([\d.]+) \(\s*[\d.]+%\)  (\S.*)$", re.MULTILINE)


def _asked(what: Literal["passes", "remarks"], text: str, target: Target) -> str:
    """What LLVM prints when it compiles a module with an eye on itself."""
    job = job_of(text, target, "asm", target.level, vectors=vectors_of(target), passes=target.level > 0)
    found = importlib.util.find_spec("llvmlite")
    folders = [str(Path(worker.__file__).parent)]
    folders += [str(Path(found.origin).parents[1])] if found is not None and found.origin else []
    code = f"import sys; sys.path[:0] = {folders!r}; import trace_passes; trace_passes.main()"
    line = [sys.executable, "-I", "-S", "-c", code]
    try:
        done = subprocess.run(
            line,
            input=marshal.dumps((what, job)),
            capture_output=True,
            check=False,
            timeout=settings().compile_limit,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(f"{error}") from None
    shown = done.stderr.decode(errors="replace")
    if done.returncode:
        raise _failed(shown.strip()[-300:])
    return shown


def _failed(reason: str) -> CompileError:
    hint = "weft inspect --emit asm shows whether it compiles at all"
    return CompileError.at(
        "llvm", "LLVM does not show its passes", caller_location(), notes=(reason,), hints=(hint,)
    )


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """The functions of a module's text, LLVM IR or machine instructions, by name."""
    name, lines = "", list[str]()
    for line in text.splitlines():
        if found := _FUNCTION.match(line):
            machine = found[2] is not None
            name, lines = (found[2] or found[1]).strip('"') + (" (machine)" if machine else ""), []
        if name:
            lines.append(_PLACE.sub("", line).rstrip())
            if line == "}" or line.startswith("# End machine code"):
                yield name, lines
                name = ""


def _changes(given: str, dumps: str) -> Iterator[Changed]:
    now = dict(_functions(given))
    parts = _DUMP.split(dumps)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        step = title.partition(" on ")[0]
        for name, lines in _functions(text):
            if lines != now.get(name):
                yield Changed(step, name, now.get(name), lines)
                now[name] = lines


def _times(report: str) -> dict[str, float]:
    """The milliseconds of each pass and analysis in LLVM's report, the longest first; it has some twice."""
    found: dict[str, float] = {}
    for seconds, name in _TIME.findall(report):
        plain = re.sub(r" #\d+$", "", name)
        if plain != "Total":
            found[plain] = max(found.get(plain, 0.0), float(seconds) * 1e3)
    return dict(sorted(found.items(), key=lambda item: -item[1]))
