"""The turns that the model's threads take: from where they wait for others to where they do again."""

from __future__ import annotations

import collections
import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.lanes import Vector
from tests.fuzz.meetings import WARP, Meeting, met

__all__ = ["copied", "run_together"]

Met = list[tuple[list[int], list[Any]]]
"""Threads that go on, and what they are given."""


def copied(x: Any) -> Any:
    """A copy: lanes change, other values of several parts do not."""
    return copy.copy(x) if isinstance(x, Vector) else x


def run_together(kernel: Any, args: dict[str, Any], blocks: Sequence[list[Callable[[], None]]]) -> bool:
    """Whether a thread failed; the blocks, of one size, may wait for each other."""
    threads = [thread for block in blocks for thread in block]
    turns = _Turns(len(blocks[0]), threads)
    for n, place in enumerate(threads):
        place()
        try:
            made = kernel(**{name: copied(value) for name, value in args.items()})
        except AssertionError:
            turns.failed = True
            continue
        if inspect.isgenerator(made):
            turns.started[n] = made
            turns.go(n, None)
    while turns.comes:
        for members, found in turns.meetings():
            for n, given in zip(members, found, strict=True):
                turns.go(n, given)
    return turns.failed


class _Turns:
    def __init__(self, size: int, threads: list[Callable[[], None]]) -> None:
        self.size = size
        """Threads of a block."""
        self.threads = threads
        self.started: dict[int, Any] = {}
        self.comes: dict[int, Any] = {}
        """What each thread waits for: a ``Meeting``, or None, which is the barrier of its block."""
        self.arrived: collections.Counter[tuple[int, int]] = collections.Counter()
        """Of a block, at a named barrier: how many are there and have gone on."""
        self.failed = False

    def go(self, n: int, given: Any) -> None:
        """Let a thread go on to where it waits next."""
        self.threads[n]()
        self.comes.pop(n, None)
        try:
            found = self.started[n].send(given)
            while isinstance(found, Meeting) and found.name == "named_barrier_arrive":
                self.arrived[n // self.size, found.args[0]] += 1
                found = self.started[n].send(None)
            self.comes[n] = found
        except StopIteration:
            pass
        except AssertionError:
            self.failed = True

    def meetings(self) -> Met:
        """Those who go on: whole warps, else those at named barriers, else blocks, else all."""
        comes, size = self.comes, self.size
        blocks = [range(n, n + size) for n in range(0, len(self.threads), size)]
        warps = [list(block[n : n + WARP]) for block in blocks for n in range(0, size - WARP + 1, WARP)]
        there: Met = [(w, met([comes[n] for n in w])) for w in warps if all(self._in("warp", n) for n in w)]
        if not there:
            there = [found for number, block in enumerate(blocks) for found in self._named(number, block)]
        if there:
            return there
        for block in blocks:
            if all(n in comes and comes[n] is None for n in block):
                there.append((list(block), [None] * size))
            elif all(self._in("block", n) for n in block):
                there.append((list(block), met([comes[n] for n in block])))
        if not there:
            every = all(self._in("all", n) for n in range(len(self.threads)))
            assert every, "some threads wait, and others have ended"
            assert len({comes[n].name for n in comes}) == 1, "threads meet for different things"
            there.append((sorted(comes), [None] * len(comes)))
        return there

    def _in(self, room: str, n: int) -> bool:
        return isinstance(found := self.comes.get(n), Meeting) and found.room == room

    def _named(self, number: int, block: range) -> Met:
        """At each named barrier of a block: all who wait there, if as many have come as are to."""
        waiting: dict[tuple[int, int], list[int]] = {}
        for n in block:
            if self._in("named", n):
                barrier, count = self.comes[n].args
                waiting.setdefault((barrier, count), []).append(n)
        out: Met = []
        for (barrier, count), members in waiting.items():
            if len(members) + self.arrived[number, barrier] == count:
                self.arrived[number, barrier] = 0
                out.append((members, [None] * len(members)))
        return out
