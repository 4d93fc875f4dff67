"""``weft build``: the kernels of programs, compiled ahead."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from types import ModuleType

from weft.build.assembled import assembled
from weft.build.compiled import compiled
from weft.build.outcome import Outcome
from weft.build.plan import Item, LeftOut, planned
from weft.cli.asked import asked, check_names, file_and_name, find_kernels, in_options
from weft.cli.program import compiled as code_of
from weft.cli.program import execute, guarded
from weft.compile import default_target
from weft.config import processors
from weft.diagnostics import CompileError, WeftError
from weft.targets import Target, find_target


def build(words: argparse.Namespace) -> int:
    """Compile what was asked for; 1 where a kernel cannot be.

    Raises:
        CompileError: there are no such files, kernels or targets.
    """
    start = time.perf_counter()
    targets = [find_target(name.strip()) for name in words.target.split(",") if name.strip()]
    targets = targets or [find_target(default_target())]
    items, left, wrong = _asked_for(words, targets)
    for each in left:
        said = "; ".join(in_options(d, each.kernel).message for d in each.error.diagnostics)
        print(f"weft: left out {each.name}: {said}", file=sys.stderr)
    if not items and not wrong:
        message = f"there is no kernel to compile in {' '.join(words.files)}"
        hint = "for those that a function makes, write the call: FILE:'kernels()'; types: --type T=Float32"
        raise CompileError.at("unknown-kernel", message, None, hints=(hint,))
    failed = [error for error in wrong if error is not None]
    if items:
        progress = _Progress(len(items), sys.stderr.isatty())
        outcomes = compiled(items, words.jobs or processors(), progress.tell)
        progress.clear()
        outcomes, keys = assembled(outcomes, words.jobs or processors())
        failed += [each.error for each in outcomes if each.error is not None]
        _tell(words, outcomes, keys, targets, time.perf_counter() - start)
    if failed:
        raise CompileError([d for error in failed for d in error.diagnostics])
    return int(bool(wrong))


def _asked_for(
    words: argparse.Namespace, targets: list[Target]
) -> tuple[list[Item], list[LeftOut], list[WeftError | None]]:
    """What is to be compiled, what is left open, and what went wrong with files; None where that was told."""
    items: list[Item] = []
    left: list[LeftOut] = []
    wrong: list[WeftError | None] = []
    for text in words.files:
        for file, name in _files(text):

            def add(file: str = file, name: str = name) -> int:
                more, open_ = _of_file(file, name, targets, words)
                items.extend(more)
                left.extend(open_)
                return 0

            try:
                if guarded(add):
                    wrong.append(None)
            except WeftError as error:
                wrong.append(error)
            except SystemExit:
                print(f"weft: {file} ends the program as it is imported", file=sys.stderr)
                wrong.append(None)
    if not wrong:
        check_names(words, [each.instance.kernel for each in items] + [each.kernel for each in left])
    return items, left, wrong


def _tell(
    words: argparse.Namespace,
    outcomes: list[Outcome],
    keys: list[str],
    targets: list[Target],
    seconds: float,
) -> None:
    for target in targets:
        own = [each for each in outcomes if each.item.target is target and each.artifact is not None]
        found = sum(each.found for each in own)
        made = len(own) - found
        print(f"{target.name}: {made} kernel{'s' * (made != 1)} compiled, {found} found in the cache")
    if words.output is not None:
        from weft.build.written import write

        print(write(words.output, outcomes, keys))
    if words.time_report or words.trace is not None:
        _tell_times(words, outcomes, seconds)


def _tell_times(words: argparse.Namespace, outcomes: list[Outcome], seconds: float) -> None:
    from weft.build.report import table, trace

    if words.time_report:
        print(table(outcomes, seconds))
    if words.trace is not None:
        try:
            Path(words.trace).write_text(trace(outcomes), encoding="utf-8")
        except OSError as error:
            message = f"cannot write {words.trace}: {error.strerror}"
            raise CompileError.at("output", message, None, hints=("give --trace another name",)) from None


def _files(text: str) -> list[tuple[str, str]]:
    """The files of an argument, each with what is wanted of it."""
    if os.path.isdir(text):
        return [(str(path), "") for path in sorted(Path(text).rglob("*.py"))]
    return [file_and_name(text)]


def _of_file(
    file: str, name: str, targets: list[Target], words: argparse.Namespace
) -> tuple[list[Item], list[LeftOut]]:
    module = execute(code_of(file), f"__built_{len(_modules)}__")
    _modules.append(module)
    given = asked(words, vars(module))
    return planned(find_kernels(file, name, module), targets, words.over, given, words.opt_level)


_modules: list[ModuleType] = []
"""Whose functions the kernels call."""


class _Progress:
    """How far it is, on one line of a terminal; nothing elsewhere."""

    def __init__(self, count: int, terminal: bool) -> None:
        self._count, self._terminal, self._done = count, terminal, 0

    def tell(self, outcome: Outcome) -> None:
        """One more is done."""
        self._done += 1
        if self._terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            bar = "━" * (24 * self._done // self._count)
            text = f"{bar:╌<24} {self._done}/{self._count} {outcome.item.name} ({outcome.item.target.name})"
            print(f"\r\x1b[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Show nothing of it any more."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
