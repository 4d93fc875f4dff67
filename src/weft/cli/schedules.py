"""``weft run --explore N``: a program in N orders of blocks and threads, whose output must be the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import zip_longest

from weft.config import environment


def in_orders(options: Sequence[str], file: str, args: Sequence[str], many: int) -> int:
    """Run a file as usual and by so many seeds, each in a process of its own, with the same options.

    Returns:
        the exit status: 1 where one run's output or status is not that of the first.
    """
    words = *options, file, *args
    first = _run(words, None)
    sys.stdout.write(first.stdout)
    sys.stderr.write(first.stderr)
    for seed in range(1, many + 1):
        run = _run(words, seed)
        difference = _difference(first, run)
        if difference:
            print(f"weft: with --schedule-seed {seed} {difference}", file=sys.stderr)
            return 1
    print(f"weft: the same output in {many + 1} orders", file=sys.stderr)
    return first.returncode


def _run(words: Sequence[str], seed: int | None) -> subprocess.CompletedProcess[str]:
    order = [] if seed is None else ["--schedule-seed", str(seed)]
    command = [sys.executable, "-m", "weft", "run", *order, *words]
    env = {name: value for name, value in environment().items() if name != "WEFT_SCHEDULE"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def _difference(one: subprocess.CompletedProcess[str], other: subprocess.CompletedProcess[str]) -> str:
    """What of a run is not as in the first, in words; nothing where all is."""
    for name, a, b in (("output", one.stdout, other.stdout), ("errors", one.stderr, other.stderr)):
        lines = zip_longest(a.splitlines(), b.splitlines())
        for number, (line, found) in enumerate(lines, 1):
            if line != found:
                lines = f"\n  usually {_quoted(line)}\n  now     {_quoted(found)}"
                return f"line {number} of the {name} is another:{lines}"
    if one.returncode != other.returncode:
        return f"the exit status is {other.returncode}, usually {one.returncode}"
    return ""


def _quoted(line: str | None) -> str:
    return "there is none" if line is None else repr(line)
