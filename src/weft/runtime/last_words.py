"""What failed and nobody asked for: it is shown, and the process does not end with status 0."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Any = Any
else:
    _Any = object

_known = False


def last_words(error: object, *, at_exit: bool) -> None:
    """Show an error on ``sys.stderr``, and have the process end with status 1, or 120 where C cannot do that.

    Python has ended the program by then, so no exception can say more.
    """
    global _known
    if sys.stderr is None:
        return
    print(f"weft: after the last synchronize():\n{error}", file=sys.stderr)
    if _known:
        return
    _known = True
    if at_exit:
        _fail_at_end()
    else:
        atexit.register(_fail_at_end)


def _fail_at_end() -> None:
    if not _exit_with_1():
        sys.stderr = _FailsAtEnd(sys.stderr)


def _exit_with_1() -> bool:
    """Have C's ``exit`` called again, with 1, as the first of what it calls at the end; whether that is done.

    Python has ended by then as it always does, with files written and all handlers run. glibc provides for
    a second call: it goes on with the handlers that are left, and takes the last status. C leaves it open,
    so elsewhere, and where Python is a part of another program, this is not tried.
    """
    try:
        glibc = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):
        return False
    if not glibc or not any(sys.orig_argv):
        return False
    import ctypes

    c = ctypes.CDLL(None)
    pointer = ctypes.c_void_p
    return c["__cxa_atexit"](ctypes.cast(c["exit"], pointer), pointer(1), None) == 0


class _FailsAtEnd(_Any):
    """``sys.stderr`` whose last flush, made at the very end, fails: Python's status is 120 then."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def flush(self) -> None:
        """Flush; at the very end say that the process has failed, which Python takes to its status."""
        self._stream.flush()
        if sys.is_finalizing():
            raise RuntimeError("work that was queued has failed")
