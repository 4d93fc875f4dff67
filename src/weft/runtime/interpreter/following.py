"""The ways of threads through a kernel: the lines that they take, and what each gives, reads and writes.

Python's trace functions tell of each line, as they tell a debugger; the arrays that are the interpreter's
memory are replaced, while threads are followed, by such as tell of each access.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from weft.diagnostics import Diagnostic
from weft.record import field, record
from weft.runtime.driver import Extents
from weft.runtime.interpreter.cells import Touched, of_kernel, shown, told_cells
from weft.runtime.interpreter.machine import At

_ENDS = 16
"""Without a choice the first and the last so many threads of the first and the last block are followed."""
MOST_STEPS = 4000
"""Lines of one thread that are kept."""
_MOST = 60_000
"""Lines of all threads of a launch."""


@record
class Step:
    """A line that a thread takes: ``changes`` are the variables that it gives values, as text."""

    file: str
    line: int
    depth: int
    """Calls around it within the kernel."""
    enters: str
    """The function's name, at its first line."""
    given: dict[str, str]
    """Its parameters then."""
    changes: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])
    """What it reads and writes, gives back and waits for."""


@record
class Way:
    """The lines of one thread; ``cut``: there were more."""

    block: Extents
    thread: Extents
    steps: list[Step] = field(default_factory=list[Step])
    cut: list[bool] = field(default_factory=list[bool])


@record
class Followed:
    """The first launch of a kernel: its blocks, the threads of a block, and the ways of some."""

    grid: Extents
    size: Extents
    ways: list[Way] = field(default_factory=list[Way])


class Follower:
    """Follows threads of each kernel's first launch: those asked for, or some at both ends.

    It is a session of ``debugging.session``, in place of pdb.
    """

    def __init__(self, block: Extents | None = None, thread: Extents | None = None) -> None:
        self.found: dict[str, Followed] = {}
        """By the names of kernels."""
        self._wanted = block, thread
        self._launches: dict[str, Any] = {}
        self._ways: dict[Any, _Walk | None] = {}
        self._cells: list[tuple[dict[str, Any], Mapping[str, Any]]] = []
        self._seen: set[int] = set()
        self._touched = Touched()
        self._left = dict[str, int]()

    def begins(self, kernel: str, block: Extents, thread: Extents) -> None:
        """A thread is about to begin."""
        if sys.gettrace() is None:
            sys.settrace(self._trace)

    def failed(self, frame: FrameType, said: Diagnostic) -> None:
        """An assertion of a kernel has failed in this frame."""
        walk = self._ways.get(frame.f_locals.get("__t"))
        if walk is not None and walk.way.steps:
            walk.way.steps[-1].notes.append(said.message)

    def end(self) -> None:
        """Follow no more."""
        if sys.gettrace() == self._trace:
            sys.settrace(None)
        for names, before in self._cells:
            names.update(before)
        self._cells.clear()

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if not of_kernel(frame.f_code):
            return None
        walk = self._walk(frame.f_locals["__t"])
        if walk is None:
            self._touched.step = None
            return None
        if id(frame.f_globals) not in self._seen:
            self._seen.add(id(frame.f_globals))
            told = told_cells(frame.f_globals, self._touched)
            self._cells.append((frame.f_globals, {name: frame.f_globals[name] for name in told}))
            frame.f_globals.update(told)
        walk.goes_on(frame)
        return walk.trace

    def _walk(self, thread: Any) -> _Walk | None:
        if thread in self._ways:
            return self._ways[thread]
        launch, name = thread.launch, thread.launch.kernel.signature.name
        walk = None
        if self._launches.setdefault(name, launch) is launch and self._follows(thread):
            queued = launch.queued
            found = self.found.setdefault(name, Followed(queued.grid, queued.block))
            walk = _Walk(Way(thread.block, thread.thread), self._touched, self._room(name))
            found.ways.append(walk.way)
        self._ways[thread] = walk
        return walk

    def _room(self, name: str) -> int:
        left = self._left.get(name, _MOST)
        self._left[name] = left - MOST_STEPS // 4
        return max(0, min(MOST_STEPS, left))

    def _follows(self, thread: Any) -> bool:
        block, own = self._wanted
        if block is not None or own is not None:
            return block in (None, thread.block) and own in (None, thread.thread)
        last = tuple([n - 1 for n in thread.launch.queued.grid])
        if thread.block not in ((0, 0, 0), last):
            return False
        return thread.number < _ENDS or thread.number >= thread.count - _ENDS


class _Walk:
    """One thread on its way."""

    def __init__(self, way: Way, touched: Touched, room: int) -> None:
        self.way = way
        self._touched = touched
        self._room = room
        self._at: dict[FrameType, Step] = {}
        """The line at which each frame is."""
        self._held: dict[FrameType, dict[str, tuple[object, str]]] = {}

    def goes_on(self, frame: FrameType) -> None:
        """A function begins, or goes on behind a wait."""
        self._held.setdefault(frame, {})
        self._touch(frame)

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        """What Python tells of a frame of this thread."""
        if event == "line":
            changes = self._changed(frame)
            before = self._at.get(frame)
            if before is not None:
                before.changes.update(changes)
            self._take(frame, changes if before is None else {})
        elif event == "return":
            self._leaves(frame, arg)
        return self.trace

    def _leaves(self, frame: FrameType, arg: object) -> None:
        step = self._at.get(frame)
        if type(arg) is At:
            if step is not None and arg.group != "turn":
                step.notes.append(f"waits for the {arg.group}")
            self._touched.step = None
            return
        changes = self._changed(frame)
        if step is not None:
            step.changes.update(changes)
            if arg is not None:
                step.notes.append(f"gives {shown(arg)}")
        self._at.pop(frame, None)
        self._held.pop(frame, None)
        if frame.f_back is not None:
            self._touch(frame.f_back)

    def _take(self, frame: FrameType, given: dict[str, str]) -> None:
        """The frame is about to do what its line says."""
        if len(self.way.steps) >= self._room:
            self.way.cut[:] = [True]
            self._at.pop(frame, None)
            self._touched.step = None
            return
        code, depth = frame.f_code, -1
        around: FrameType | None = frame
        while around is not None and of_kernel(around.f_code):
            around, depth = around.f_back, depth + 1
        enters = "" if frame in self._at else code.co_name
        step = self._at[frame] = Step(code.co_filename, frame.f_lineno, depth, enters, given)
        self.way.steps.append(step)
        self._touch(frame)

    def _touch(self, frame: FrameType) -> None:
        """What is accessed from now on belongs to this frame's line."""
        step = self._at.get(frame)
        self._touched.step = None if step is None else step.notes
        self._touched.frame = frame

    def _changed(self, frame: FrameType) -> dict[str, str]:
        """The variables that have other values than when this was asked before, as text."""
        held, found = self._held.setdefault(frame, {}), dict[str, str]()
        for name, value in frame.f_locals.items():
            before = held.get(name)
            if name[:2] == "__" or (before is not None and before[0] is value):
                continue
            text = shown(value)
            held[name] = value, text
            if before is None or before[1] != text:
                found[name] = text
        return found
