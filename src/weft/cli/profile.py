"""``weft profile``: run a file, and tell what its kernels took."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from weft.cli.run import run
from weft.diagnostics import CompileError
from weft.launch import profile as measured


def profile(words: argparse.Namespace) -> int:
    """Run the file as ``weft run`` would, and write the table to standard error at its end."""
    measured.start()
    try:
        return run(words.file, words.args)
    finally:
        print(table(measured.rows()), file=sys.stderr)
        if words.trace is not None:
            _write(words.trace)


def table(rows: list[measured.Row]) -> str:
    """The rows as text."""
    if not rows:
        return "weft profile: no kernel was launched but by graphs"
    whole, wide = sum(row.total for row in rows), max(6, *(len(row.name) for row in rows))
    lines = [f"{'kernel':<{wide}}  launches  total ms  share  median us  least us    GB/s  of peak"]
    for row in rows:
        peak = f"{row.rate / row.device.bandwidth:8.0%}" if row.device.bandwidth else ""
        numbers = f"{row.count:>10}{row.total * 1e3:>10.3f}{row.total / whole:>7.0%}"
        times = f"{row.median * 1e6:>11.1f}{row.least * 1e6:>10.1f}{row.rate / 1e9:>8.0f}"
        lines.append(f"{row.name:<{wide}}{numbers}{times} {peak}".rstrip())
    devices = ", ".join(dict.fromkeys(row.device.name for row in rows))
    note = "GB/s as if a launch read or wrote all of its arrays once; with some 2 us of the events around it"
    return "\n".join([*lines, f"on {devices}; {note}"])


def _write(file: str) -> None:
    try:
        Path(file).write_text(json.dumps({"traceEvents": measured.trace()}), encoding="utf-8")
    except OSError as error:
        message = f"cannot write {file}: {error.strerror}"
        raise CompileError.at("output", message, None, hints=("give --trace another name",)) from None
