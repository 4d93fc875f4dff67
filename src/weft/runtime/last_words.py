"""What failed and nobody asked for: it is shown, and the process does not end with status 0."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Any = Any
else:
    _Any = object

_known = False


def last_words(error: object, *, at_exit: bool) -> None:
    """Show an error on ``sys.stderr``.

    Python has ended the program by then, so no exception can say more. As with text that cannot be
    written at the end, its own status for what fails there is taken: 120.
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
    sys.stderr = _FailsAtEnd(sys.stderr)


class _FailsAtEnd(_Any):
    """``sys.stderr``, whose last flush, which Python makes at its very end, fails."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def flush(self) -> None:
        """Flush; at the very end say that the process has failed, which Python takes to its status."""
        self._stream.flush()
        if sys.is_finalizing():
            raise RuntimeError("work that was queued has failed")
