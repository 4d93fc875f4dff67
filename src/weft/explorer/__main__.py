"""The process in which the explorer runs a program: ``python -m weft.explorer OUTPUT ASKED``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from weft.cli.run import run
from weft.explorer.ways import Ways, followed_into


def main(output: str, asked: str) -> int:
    """Run a program in Python, and write the ways of the threads that are asked for, as JSON."""
    words = json.loads(asked)
    block, thread = (None if words[each] is None else tuple(words[each]) for each in ("block", "thread"))
    ways = Ways()
    try:
        with followed_into(ways, block, thread):
            return run(words["file"], words["args"], interpret=True)
    finally:
        Path(output).write_text(json.dumps(ways), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
