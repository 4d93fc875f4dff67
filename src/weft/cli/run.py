"""``weft run``: run a file, and show weft's errors as diagnostics."""

from __future__ import annotations

import contextlib
import faulthandler
import sys
from collections.abc import Sequence

from weft.cli.program import compiled, execute, guarded
from weft.config import check_all


def run(file: str, args: Sequence[str], *, check: bool = False) -> int:
    """Run a Python file as ``python FILE ARGS`` would; a crash of native code says where Python was.

    With ``check``, as with ``WEFT_CHECK=1``, kernels check what memory they access.
    """
    if check:
        check_all()
    with contextlib.suppress(ValueError, OSError, AttributeError, RuntimeError):  # stderr is no file
        faulthandler.enable()
    code = compiled(file)

    def act() -> int:
        sys.argv = [file, *args]
        execute(code, "__main__")
        _wait_for_work()
        return 0

    return guarded(act)


def _wait_for_work() -> None:
    """Have what is queued end, and fail where nobody has asked for it: the status then says so.

    Raises:
        DeviceError: work failed.
    """
    launches = sys.modules.get("weft.launch.context")
    for context in () if launches is None else tuple(launches.open_contexts):
        if not context.closed and context.recording is None:
            context.synchronize()
