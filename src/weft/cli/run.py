"""``weft run``: run a file, and show weft's errors as diagnostics."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from weft.cli.program import compiled, execute
from weft.diagnostics import WeftError
from weft.diagnostics.hook import pruned

__all__ = ["run"]


def run(file: str, args: Sequence[str]) -> int:
    """Run a Python file as ``python FILE ARGS`` would."""
    try:
        code = compiled(file)
        sys.argv = [file, *args]
        execute(code, "__main__")
    except WeftError:
        raise
    except Exception as error:
        sys.excepthook(type(error), error, pruned(error.__traceback__))
        return 1
    return 0
