"""Who wants to know what is tuned: ``weft tune`` does, and keeps what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from weft.tuning.candidates import Candidate
from weft.tuning.classes import Class
from weft.tuning.known import Choice
from weft.tuning.search import Timing


class Run(Protocol):
    """Who is told of the search for one class."""

    def prepared(self, candidate: Candidate) -> None:
        """A candidate was compiled, or left out."""

    def sampled(self, candidate: Candidate, timing: Timing) -> None:
        """There is one more sample of it, or it has failed."""

    def end(self, candidates: Sequence[Candidate], timings: Sequence[Timing]) -> None:
        """All is known."""


class Session(Protocol):
    """Who is told of all searches, and wants what is known measured too."""

    def begin(self, kernel: str, of: Class, count: int) -> Run:
        """A search for a class begins, with so many configurations."""
        ...

    def keep(self, choice: Choice) -> None:
        """This was chosen."""


class _Quiet:
    def prepared(self, candidate: Candidate) -> None:
        pass

    def sampled(self, candidate: Candidate, timing: Timing) -> None:
        pass

    def end(self, candidates: Sequence[Candidate], timings: Sequence[Timing]) -> None:
        pass


current: Session | None = None


def begin(kernel: str, of: Class, count: int) -> Run:
    """Tell that a search begins."""
    return _Quiet() if current is None else current.begin(kernel, of, count)


def keep(choice: Choice) -> None:
    """Tell what was chosen."""
    if current is not None:
        current.keep(choice)
