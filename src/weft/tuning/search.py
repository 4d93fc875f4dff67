"""Which of several is the fastest: rounds in turns, in which those without hope are left out early.

Whatever slows the machine for a while slows all of a round alike, so each is judged by the median of what it
took in all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

ROUNDS = 9
_HOPE = (8.0, 3.0, 1.5, 1.25, 1.15, 1.1, 1.05)
"""After each round those go on that took, at their best, at most so many times what the fastest takes."""


class Failed(Exception):
    """A measurement came to nothing; the text is the reason."""


class Timing:
    """What was found of one: its samples in seconds, or why there are none."""

    __slots__ = ("left_out", "samples")

    def __init__(self) -> None:
        self.samples: list[float] = []
        self.left_out: str = ""
        """Why it has failed."""

    @property
    def seconds(self) -> float:
        """The median, infinite where it has failed."""
        return math.inf if self.left_out or not self.samples else median(self.samples)


def fastest(
    count: int,
    sample: Callable[[int], float],
    rounds: int = ROUNDS,
    told: Callable[[int, Timing], object] = lambda n, timing: None,
) -> Sequence[Timing]:
    """What each of ``count`` takes; ``sample`` gives seconds, or raises ``Failed``.

    Every second round goes backwards, so that nobody always follows the same neighbour.

    Example:
        >>> from weft.tuning.search import fastest
        >>> found = fastest(3, [9.0, 1.0, 1.01].__getitem__)
        >>> [(t.seconds, len(t.samples)) for t in found]
        [(9.0, 1), (1.0, 9), (1.01, 9)]
    """
    timings = [Timing() for _ in range(count)]
    alive = list(range(count))
    for done in range(rounds):
        for n in _in_turn(alive, done):
            try:
                timings[n].samples.append(sample(n))
            except Failed as reason:
                timings[n].left_out = str(reason)
            told(n, timings[n])
        best = min((timings[n].seconds for n in alive), default=math.inf)
        hope = _HOPE[min(done, len(_HOPE) - 1)] * best
        alive = [n for n in alive if not timings[n].left_out and min(timings[n].samples) <= hope]
        if len(alive) < 2:
            break
    return timings


def _in_turn(alive: Iterable[int], done: int) -> list[int]:
    return sorted(alive, reverse=done % 2 == 1)
