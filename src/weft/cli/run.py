"""``weft run``: run a file, and show weft's errors as diagnostics."""

from __future__ import annotations

import contextlib
import faulthandler
import sys
from collections.abc import Sequence

from weft.cli.program import compiled, execute, guarded


def run(file: str, args: Sequence[str]) -> int:
    """Run a Python file as ``python FILE ARGS`` would; a crash of native code says where Python was."""
    with contextlib.suppress(ValueError, OSError, AttributeError, RuntimeError):  # stderr is no file
        faulthandler.enable()
    code = compiled(file)

    def act() -> int:
        sys.argv = [file, *args]
        execute(code, "__main__")
        return 0

    return guarded(act)
