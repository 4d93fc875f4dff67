"""Threads that wait for what none of them does any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.diagnostics.parted import SourcePlace, decision_place
from weft.diagnostics.reports import Indices, Report

_WAITS = {
    "loop": "go round a loop",
    "named": "wait at a named barrier",
    "warp": "wait for their warp",
    "block": "wait for their block",
    "cluster": "wait for their cluster",
    "grid": "wait for the grid",
}


class Waiting(NamedTuple):
    """A thread that waits: block, thread, in what way (a key of ``_WAITS``), and where."""

    block: Indices
    thread: Indices
    way: str
    place: SourcePlace


def endless_wait(kernel: str, waiting: Sequence[Waiting], cures: Sequence[str] = ()) -> Report:
    """What is said of a launch in which so many are left, and nobody else: those in loops first."""
    ways = [*_WAITS]
    found = sorted(waiting, key=lambda each: (ways.index(each.way), each.place != waiting[0].place))
    first = found[0]
    same = [each for each in found if each.way == first.way]
    what = _WAITS[first.way]
    one, _, rest = what.partition(" ")
    who = (
        f"{len(same)} threads {what}"
        if len(same) > 1
        else f"a thread {_alone(one)} {rest.replace('their', 'its')}"
    )
    others: dict[tuple[str, int], None] = {}
    for each in found:
        if each.place[:2] != first.place[:2]:
            others.setdefault((each.way, each.place[1]))
    hints = (
        *(
            f"others do so at line {line}" if way == first.way else f"others {_WAITS[way]} at line {line}"
            for way, line in others
        ),
        "what is waited for is written by no thread that runs: by one that waits for these, perhaps",
        *cures,
    )
    return Report(
        "endless-wait",
        f"kernel {kernel!r} never ends: {who}, and nothing changes any more",
        decision_place(first.place),
        kernel,
        first.block,
        first.thread,
        hints=hints,
    )


def _alone(verb: str) -> str:
    return "goes" if verb == "go" else f"{verb}s"
