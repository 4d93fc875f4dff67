"""A program's kernels compiled: in forks where that can be, else by threads and LLVM's workers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from weft.abi.artifact import Artifact
from weft.build.outcome import Outcome, Told, outcome_of
from weft.build.plan import Item
from weft.compiler.cache.program import Pending, Together
from weft.diagnostics import CompileError
from weft.diagnostics.timed import Span, noted
from weft.targets import Target

FEW = 8
"""So many kernels for each process at least: below, starting it takes longer than it saves."""


def compiled(items: Sequence[Item], jobs: int, told: Told, *, forks: bool = True) -> list[Outcome]:
    """Compile each, so many at once; the outcomes in the order of the items.

    ``forks``: whether this process may be forked. It is only where it is no more than this thread: then
    elaboration is spread over the cores too.
    """
    jobs = min(jobs, max(1, len(items)))
    alone = sys.platform == "linux" and threading.active_count() == 1
    if forks and alone and jobs > 1 and len(items) >= FEW:
        from weft.build.forked import forked  # here, since few kernels are not worth it

        return forked(items, jobs, told)
    return _by_threads(items, jobs, told)


def _by_threads(items: Sequence[Item], jobs: int, told: Told) -> list[Outcome]:
    made: dict[Target, Together[Artifact]] = {}
    begun: list[tuple[Item, Pending[Artifact] | CompileError, list[Span]]] = []
    outcomes: list[Outcome] = []

    def finish(*, all: bool) -> None:
        """Tell of those whose turn it is, as far as they are done."""
        while len(outcomes) < len(begun):
            item, pending, spans = begun[len(outcomes)]
            if not all and isinstance(pending, Pending) and not pending.done:
                return
            failed = isinstance(pending, CompileError)
            outcomes.append(Outcome(item, None, pending) if failed else outcome_of(item, pending, spans))
            told(outcomes[-1])

    try:
        for item in items:
            together = made.setdefault(item.target, Together(item.target, jobs, lambda artifact: artifact))
            with noted() as spans:
                try:
                    begun.append((item, together.begin(item.instance), spans))
                except CompileError as error:
                    begun.append((item, error, spans))
            finish(all=False)
    finally:
        for together in made.values():
            together.__exit__()
    finish(all=True)
    return outcomes
