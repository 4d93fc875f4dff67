"""A program's kernels compiled by forks of this process, each of which takes the next that nobody has.

A fork has all that the program has imported and staged. It elaborates, and LLVM works in it; what it has
compiled goes into the cache and back here. Where LLVM ends a fork, or does not come to an end, that kernel is
compiled here as any other is, with a worker that may end, and another fork goes on.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from weft.abi.artifact import Artifact
from weft.build.outcome import Outcome, Told, outcome_of
from weft.build.plan import Item
from weft.compiler.cache import key_of
from weft.compiler.cache.disk import load
from weft.compiler.cache.program import Together
from weft.compiler.llvm.emit import have_here
from weft.compiler.llvm.worker.serve import keep_memory, quietly
from weft.config import scope, settings
from weft.diagnostics import CompileError
from weft.diagnostics.timed import noted
from weft.diagnostics.warned import told as warn
from weft.targets import Target

_HEAD = 8
_REFUSED = b"?"
"""The answer where there is no code."""
_SLACK = 60.0
"""Seconds that Python may take for a kernel, beside those that LLVM may."""


class _Compiler:
    """Compiles items one by one, in this process, LLVM's part included."""

    def __init__(self) -> None:
        self._made: dict[Target, Together[Artifact]] = {}

    def _together(self, target: Target) -> Together[Artifact]:
        together = self._made.get(target)
        if together is None:
            together = self._made[target] = Together(target, 1, lambda artifact: artifact)
        return together

    def prepare(self, item: Item) -> None:
        """Load what all items need; LLVM, if this one is not in the cache."""
        with suppress(CompileError):  # which is found again, and told
            made = self._together(item.target).program.elaborate(item.instance)
            key = key_of(made)
            if item.target.format != "python" and (key is None or load(key) is None):
                have_here()

    def outcome(self, item: Item) -> Outcome:
        """What becomes of an item."""
        with noted() as spans:
            try:
                pending = self._together(item.target).begin(item.instance)
            except CompileError as error:
                return Outcome(item, None, error)
        return outcome_of(item, pending, spans)


class _Fork:
    """One fork, and what it is at."""

    def __init__(self, items: Sequence[Item], compiler: _Compiler, others: Sequence[_Fork]) -> None:
        theirs, self.asks = os.pipe()
        self.answers, ours = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 counts threads of libraries too. A fork has none, and asks none of these libraries.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            for fd in (self.asks, self.answers, *(fd for o in others for fd in (o.asks, o.answers))):
                os.close(fd)
            _serve(items, compiler, theirs, ours)
        os.close(theirs)
        os.close(ours)
        self.item = -1
        """Its number; -1: none."""
        self.since = 0.0
        self._buffer = b""

    def give(self, number: int) -> None:
        """Have it compile an item."""
        self.item, self.since = number, time.monotonic()
        os.write(self.asks, number.to_bytes(_HEAD, "little"))

    def read(self) -> bytes | None:
        """The answer, if all of it has come; what is empty says that it has ended."""
        part = os.read(self.answers, 1 << 20)
        self._buffer += part
        size = _HEAD + int.from_bytes(self._buffer[:_HEAD], "little")
        if part and len(self._buffer) < max(size, _HEAD + 1):
            return None
        data, self._buffer = self._buffer[_HEAD:size] if part else b"", b""
        return data

    def end(self) -> None:
        """End it, whatever it is at."""
        os.close(self.asks)
        os.close(self.answers)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def forked(items: Sequence[Item], jobs: int, told: Told) -> list[Outcome]:
    """Compile each by so many forks; the outcomes in the order of the items."""
    compiler = _Compiler()
    compiler.prepare(items[0])
    outcomes: dict[int, Outcome] = {}
    waiting = list(range(len(items) - 1, -1, -1))
    forks: list[_Fork] = []
    gc.freeze()  # or each fork would copy what it looks at for garbage
    try:
        while waiting or any(fork.item >= 0 for fork in forks):
            while waiting and len(forks) < jobs:
                forks.append(_Fork(items, compiler, forks))
                forks[-1].give(waiting.pop())  # before the next is there
            for fork in forks:
                if fork.item < 0 and waiting:
                    fork.give(waiting.pop())
            for fork, answer in _answers(forks):
                number, fork.item = fork.item, -1
                if not answer:  # it has ended, or is too late
                    forks.remove(fork)
                    fork.end()
                if number >= 0:
                    outcomes[number] = _received(items[number], answer)
                    told(outcomes[number])
    finally:
        gc.unfreeze()
        for fork in forks:
            fork.end()
    return [outcomes[n] for n in range(len(items))]


def _answers(forks: Sequence[_Fork]) -> list[tuple[_Fork, bytes]]:
    """Of those that have answered, or will not, the answers."""
    poll = select.poll()
    for fork in forks:
        poll.register(fork.answers, select.POLLIN)
    limit = settings().compile_limit + _SLACK
    ready = {fd for fd, _ in poll.poll(1000)}
    found: list[tuple[_Fork, bytes]] = []
    for fork in forks:
        if fork.answers in ready and (answer := fork.read()) is not None:
            found.append((fork, answer))
        elif fork.item >= 0 and time.monotonic() - fork.since > limit:
            found.append((fork, b""))
    return found


def _received(item: Item, answer: bytes) -> Outcome:
    """What a fork has said, or what is found out here where it has not."""
    if not answer or answer == _REFUSED:
        return _Compiler().outcome(item)
    artifact, key, found, spans, process, doubts = pickle.loads(answer)
    try:
        warn(doubts)
    except CompileError as error:  # by a filter of the program's
        return Outcome(item, None, error, spans=spans, process=process)
    return Outcome(item, artifact, None, key, found, spans, process, doubts)


def _serve(items: Sequence[Item], compiler: _Compiler, asked: int, out: int) -> NoReturn:
    """A fork's life: numbers of items come in, what became of them goes out."""
    status = 1
    try:
        quietly()
        keep_memory()
        with warnings.catch_warnings(), scope(compile="in-process"):
            warnings.simplefilter("ignore")  # the parent gives them
            while number := os.read(asked, _HEAD):
                _say(out, _answer(compiler, items[int.from_bytes(number, "little")]))
        status = 0
    finally:
        os._exit(status)


def _answer(compiler: _Compiler, item: Item) -> bytes:
    try:
        made = compiler.outcome(item)
    except Exception:  # the parent finds the same, and tells of it
        return _REFUSED
    if made.error is not None:
        return _REFUSED
    parts: tuple[Any, ...] = (made.artifact, made.key, made.found, made.spans, made.process, made.doubts)
    return pickle.dumps(parts)


def _say(out: int, data: bytes) -> None:
    data = len(data).to_bytes(_HEAD, "little") + data
    while data:
        data = data[os.write(out, data) :]
