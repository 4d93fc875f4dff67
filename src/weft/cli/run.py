"""``weft run``: run a file, and show weft's errors as diagnostics."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Literal, NoReturn, TextIO

from weft.cli.program import compiled, execute, guarded
from weft.config import check_all, interpret_all
from weft.diagnostics import Report, WeftError, hook
from weft.diagnostics.reports import keep_reports
from weft.record import record


@record
class Check:
    """What kernels are checked for, as ``WEFT_CHECK`` has it, and how that is told, in a file perhaps."""

    words: str
    format: Literal["text", "json", "sarif"] = "text"
    output: str | None = None


def run(file: str, args: Sequence[str], check: Check | None = None, *, interpret: bool = False) -> int:
    """Run a Python file as ``python FILE ARGS`` would; a crash of native code says where Python was.

    What checked kernels find does not stop the program: it is told at the end, and the exit status is 1 then.
    Where that goes to standard output, what the program prints goes to standard error.
    With ``interpret``, as with ``WEFT_INTERPRET=1``, Python runs the kernels.
    """
    if interpret:
        interpret_all()
    reports: list[Report] = []
    to: TextIO | None = None
    if check is not None:
        check_all(check.words)
        reports = keep_reports()
        if check.format != "text" and check.output is None:
            to = _alone()
    with contextlib.suppress(ValueError, OSError, AttributeError, RuntimeError):  # stderr is no file
        faulthandler.enable()
        hook.alone = True
    code = compiled(file)

    def act() -> int:
        sys.argv = [file, *args]
        execute(code, "__main__")
        _wait_for_work()
        return 0

    if check is None:
        return guarded(act)
    from weft.cli.reports import tell

    status: object = 0
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _Terminated.stop)
    try:
        status = guarded(act)
    except SystemExit as end:
        _wait_for_work()
        status = end.code
    except WeftError:
        tell(reports, check.format, check.output, to)
        raise
    except KeyboardInterrupt as stop:  # of a loop that never ends, perhaps, as it reads outside of memory
        tell([*reports, *_found_meanwhile()], check.format, check.output, to)
        if isinstance(stop, _Terminated):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        raise
    found = tell(reports, check.format, check.output, to)
    if status in (0, None):
        return found
    raise SystemExit(status)


class _Terminated(KeyboardInterrupt):
    """Somebody, such as CI whose patience has ended, ends the process."""

    @classmethod
    def stop(cls, *_: object) -> NoReturn:
        raise cls


def _alone() -> TextIO:
    """Standard output, to which from now on nothing else is written: programs read it."""
    given = sys.stdout
    try:
        given.flush()
        own = os.fdopen(os.dup(given.fileno()), "w", encoding="utf-8")
        os.dup2(2, given.fileno())
    except (AttributeError, OSError, ValueError):  # it is no file
        return given
    return own


def _found_meanwhile() -> list[Report]:
    """What the launches under way have found so far."""
    native = sys.modules.get("weft.runtime.cpu.native")
    return [] if native is None else native.found_meanwhile()


def _wait_for_work() -> None:
    """Have what is queued end, and fail where nobody has asked for it: the status then says so.

    Raises:
        DeviceError: work failed.
    """
    launches = sys.modules.get("weft.launch.contexts")
    for context in () if launches is None else tuple(launches.open_contexts):
        if not context.closed and context.recording is None:
            context.synchronize()
    queues = sys.modules.get("weft.runtime.cpu.queue")
    if queues is not None:  # a context does not wait for its further streams
        queues.synchronize_lanes()
