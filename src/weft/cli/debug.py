"""``weft debug``: run a file, and stop in a thread of a kernel."""

from __future__ import annotations

import argparse
import sys

from weft.cli.run import run
from weft.runtime.interpreter import debugging


def debug(words: argparse.Namespace) -> int:
    """Run a Python file as ``weft run --interpret`` does, with pdb where it was asked for.

    Without a kernel, a block, a thread and a line it stops at ``breakpoint()`` and where an assertion fails.
    """
    session = debugging.Session(words.kernel, words.block, words.thread, words.line)
    hook, sys.breakpointhook, debugging.session = sys.breakpointhook, session.stop, session
    try:
        status = run(words.file, words.args, interpret=True)
        if session.missed:
            print(f"weft debug: {session.missed}", file=sys.stderr)
        return status or int(bool(session.missed))
    finally:
        sys.breakpointhook, debugging.session = hook, None
