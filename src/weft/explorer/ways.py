"""The ways of threads on the explorer's page: a program runs in Python, and some threads are followed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.explorer.stages import Explored
from weft.record import replace
from weft.runtime.driver import Extents
from weft.runtime.interpreter import debugging
from weft.runtime.interpreter.following import Followed, Follower, Way

Ways = dict[str, dict[str, Any]]
"""By the names of kernels what the page's script reads: grid, block and ways."""


@contextmanager
def follow(block: Extents | None = None, thread: Extents | None = None) -> Generator[Ways]:
    """Follow threads of the launches of ``DeviceContext(api="interpreter")`` within: of each kernel's first.

    Args:
        block: the block whose threads are followed; by default the first and the last.
        thread: which thread of the block; by default the first and the last sixteen.

    Returns:
        what ``explore(ways=...)`` takes; it is complete at the end of the ``with``.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, Pointer, kernel
        >>> from weft.gpu import thread_idx
        >>> from weft.gpu.host import DeviceContext
        >>> @kernel
        ... def double(x: Pointer[Float32]):
        ...     i = thread_idx.x
        ...     x[i] = x[i] * 2.0
        >>> x = np.array([1, 2, 3], np.float32)
        >>> with follow(thread=(2, 0, 0)) as ways:
        ...     DeviceContext(api="interpreter").enqueue_function(double, x, grid_dim=1, block_dim=3)
        >>> [step[4:] for step in ways["double"]["ways"][0]["steps"]]
        [[{'i': '2'}, []], [{}, ['reads x[2] = 3.0', 'writes x[2] = 6.0']]]
    """
    found = Ways()
    with followed_into(found, block, thread):
        yield found


@contextmanager
def followed_into(found: Ways, block: Extents | None, thread: Extents | None) -> Generator[None]:
    """Likewise, into what is there already, which is complete even where the program fails."""
    follower, before = Follower(block, thread), debugging.session
    debugging.session = follower
    try:
        yield
    finally:
        debugging.session = before
        follower.end()
        found |= {name: _as_data(each) for name, each in follower.found.items()}


def _as_data(found: Followed) -> dict[str, Any]:
    return {"grid": found.grid, "block": found.size, "ways": [_way(way) for way in found.ways]}


def _way(way: Way) -> dict[str, Any]:
    steps = [[(s.file, s.line), s.depth, s.enters, s.given, s.changes, s.notes] for s in way.steps]
    return {"block": way.block, "thread": way.thread, "steps": steps, "cut": bool(way.cut)}


def ways_of(
    file: str, args: Sequence[str], block: Extents | None, thread: Extents | None
) -> tuple[Ways, int]:
    """Those of a program, and how it ended; it runs in a process, and prints to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "ways.json"
        asked = json.dumps({"file": file, "args": [*args], "block": block, "thread": thread})
        command = [sys.executable, "-m", "weft.explorer", str(output), asked]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=False).returncode
        status = ended if ended >= 0 else 128 - ended  # as shells have it of a signal
        with suppress(OSError):
            return json.loads(output.read_text(encoding="utf-8")), status
    return {}, status


def with_ways(kernel: Explored, ways: Mapping[str, Mapping[str, Any]]) -> Explored:
    """A kernel with the ways of its threads, where it was launched."""
    found = ways.get(kernel.name)
    return kernel if found is None else replace(kernel, ways=found)
