"""``weft tune``: run a file, measure each class of launches of its tuned kernels, and tell of it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from weft.cli.run import run
from weft.diagnostics import CompileError
from weft.tuning import Choice, sessions, write_table
from weft.tuning.candidates import Candidate
from weft.tuning.classes import Class
from weft.tuning.search import Timing
from weft.tuning.show import Search, line, page, svg, table


def tune(words: argparse.Namespace) -> int:
    """Run a Python file with its tuned kernels measured, whatever is known of them.

    Raises:
        CompileError: a file that is to be written cannot be.
    """
    for option, file in (("--write", words.write), ("--picture", words.picture)):
        _check(option, file, words.file)
    session = _Session(terminal=sys.stderr.isatty())
    sessions.current = session
    try:
        status = run(words.file, words.args)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sessions.current = None
        session.clear()
        _write(words, session)
    if not session.searches and status == 0:  # a program that failed has said why
        print(f"weft tune: {words.file} has launched no kernel under @autotune", file=sys.stderr)
    return status or int(not session.choices)


def _write(words: argparse.Namespace, session: _Session) -> None:
    """Write what was found, even if the program has failed behind it."""
    with _told("--write", words.write):
        if words.write and session.choices:
            write_table(words.write, session.choices)
    with _told("--picture", words.picture):
        if words.picture and session.searches:
            made = (svg if words.picture.endswith(".svg") else page)(session.searches)
            with open(words.picture, "w", encoding="utf-8", newline="\n") as file:
                file.write(made)


@contextlib.contextmanager
def _told(option: str, file: str):
    try:
        yield
    except (OSError, ValueError) as error:
        message = f"cannot write {file}: {getattr(error, 'strerror', None) or error}"
        raise CompileError.at("output", message, None, hints=(f"give {option} another name",)) from None


def _check(option: str, file: str | None, program: str) -> None:
    """Whether a file that is to be written is not the program, and a picture is of a known format."""
    if file is None:
        return
    message = hint = ""
    if os.path.exists(file) and os.path.exists(program) and os.path.samefile(file, program):
        message, hint = f"{option} {file} would write over the program", "give it another name"
    elif option == "--picture" and not file.endswith((".svg", ".html")):
        message, hint = f"{option} {file}: its name says no format", "end it with .svg or .html"
    if message:
        raise CompileError.at("output", message, None, hints=(hint,))


class _Session:
    """All searches of a program, told on standard error: as they go on, where that is a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal
        self.searches: list[Search] = []
        self.choices: list[Choice] = []

    def begin(self, kernel: str, of: Class, count: int) -> _Run:
        """A search begins."""
        return _Run(self, kernel, of, count)

    def keep(self, choice: Choice) -> None:
        """This was chosen."""
        self.choices.append(choice)

    def say(self, text: str) -> None:
        """Show how far it is, in place of what was shown before."""
        if self.terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else 80
            print(f"\r\x1b[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Show nothing of that any more."""
        self.say("")

    def show(self, search: Search) -> None:
        """Tell what a search has found: a table on a terminal, else a line."""
        self.clear()
        self.searches.append(search)
        if not self.terminal:
            print(line(search), file=sys.stderr)
            return
        for text in table(search).splitlines():
            print(f"\x1b[1;32m{text}\x1b[0m" if text.startswith("*") else text, file=sys.stderr)
        print(line(search), end="\n\n", file=sys.stderr, flush=True)


class _Run:
    """One search."""

    def __init__(self, session: _Session, kernel: str, of: Class, count: int) -> None:
        self._session = session
        self._kernel, self._of, self._count = kernel, of, count
        self._compiled = self._left_out = 0
        self._samples: dict[int, Timing] = {}

    def prepared(self, candidate: Candidate) -> None:
        """A candidate was compiled, or left out."""
        self._compiled += 1
        self._left_out += bool(candidate.left_out)
        self._say(f"compiled {self._compiled} of {self._count}, {self._left_out} left out")

    def sampled(self, candidate: Candidate, timing: Timing) -> None:
        """There is one more sample."""
        self._samples[id(candidate)] = timing
        rounds = max(len(timing.samples) for timing in self._samples.values())
        fastest = min(timing.seconds for timing in self._samples.values())
        self._say(f"round {rounds}, {len(self._samples)} measured, the best {fastest * 1e6:.3g} µs")

    def end(self, candidates: Sequence[Candidate], timings: Sequence[Timing]) -> None:
        """All is known."""
        self._session.show(Search(self._kernel, self._of, candidates, timings))

    def _say(self, text: str) -> None:
        self._session.say(f"{self._kernel.rpartition('.')[2]}, {self._of}: {text}")
