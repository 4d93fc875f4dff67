"""``weft run``: run a file, and show weft's errors as diagnostics."""

from __future__ import annotations

import contextlib
import faulthandler
import sys
from collections.abc import Sequence

from weft.cli.program import compiled, execute
from weft.diagnostics import WeftError
from weft.diagnostics.location import is_internal


def run(file: str, args: Sequence[str]) -> int:
    """Run a Python file as ``python FILE ARGS`` would; a crash of native code says where Python was."""
    with contextlib.suppress(ValueError, OSError, AttributeError, RuntimeError):  # stderr is no file
        faulthandler.enable()
    try:
        code = compiled(file)
        sys.argv = [file, *args]
        execute(code, "__main__")
    except WeftError:
        raise
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and is_internal(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next  # this command's own frames
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0
