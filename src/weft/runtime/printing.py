"""What kernels print."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence

from weft.abi.artifact import Piece, Site
from weft.abi.formats import unpack
from weft.abi.number_text import format_value
from weft.dtype import DType

_EDGE = 3
_ABBREVIATE_ABOVE = 1000


def format_sequence(dtype: DType, values: Sequence[float], length: int) -> str:
    """A list of values in brackets, of which more than 1000 show three at each end."""
    if length <= _ABBREVIATE_ABOVE:
        return f"[{', '.join(format_value(dtype, value) for value in values)}]"
    head = [format_value(dtype, value) for value in values[:_EDGE]]
    tail = [format_value(dtype, value) for value in values[-_EDGE:]]
    return f"[{', '.join([*head, '...', *tail])}]"


def value_count(site: Site) -> int:
    """How many slots one execution of a ``print`` or a failed ``assert`` delivers."""
    return _count(site.pieces)


def _count(pieces: Sequence[Piece]) -> int:
    return sum(
        _count(piece[0]) if isinstance(piece, tuple) and isinstance(piece[0], tuple) else 1
        for piece in pieces
        if not isinstance(piece, str)
    )


def format_print(site: Site, slots: Sequence[int]) -> str:
    """The text of one ``print``, or of an assertion's message; ``slots`` are its values, 64 bits each."""
    return _formatted(site.pieces, iter(slots))


def _formatted(pieces: Sequence[Piece], slots: Iterator[int]) -> str:
    text: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            text.append(piece)
            continue
        what, spec = (piece, "") if isinstance(piece, DType) else piece
        if isinstance(what, tuple):
            text.append(format(_formatted(what, slots), spec))
        else:
            text.append(format_value(what, unpack(what, next(slots).to_bytes(8, "little")), spec))
    return "".join(text)


class Console:
    """What the kernels of one stream print, in order of arrival, until it is written out.

    Args:
        told: Is called when there is text.
    """

    _LIMIT = 1 << 16
    """Characters that are collected before they go out without being asked for."""

    def __init__(self, told: Callable[[], object] = lambda: None) -> None:
        self._lock = threading.RLock()
        self._told = told
        self.parts: list[str] = []
        """What is there."""
        self._size = 0

    def write(self, text: str) -> None:
        """Add text, from any thread."""
        with self._lock:
            self.parts.append(text)
            self._size += len(text)
            self._told()  # behind the text: who waits looks for it once this is said
            if self._size > self._LIMIT:
                self.flush()

    def flush(self) -> None:
        """Write what was collected to what ``sys.stdout`` is now."""
        if not self.parts:
            return
        with self._lock:
            text, self.parts, self._size = "".join(self.parts), [], 0
            out = sys.stdout
            if text and out is not None:
                out.write(text)
                out.flush()
