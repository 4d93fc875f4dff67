"""What kernels print."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Sequence

from weft.abi.artifact import Access, AssertSite, Site
from weft.abi.formats import unpack
from weft.abi.number_text import format_value
from weft.diagnostics import Diagnostic, Label, Location
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
    return sum(not isinstance(piece, str) for piece in site.pieces)


def format_print(site: Site, slots: Sequence[int]) -> str:
    """The text of one ``print``, or of an assertion's message; ``slots`` are its values, 64 bits each."""
    text: list[str] = []
    values = iter(slots)
    for piece in site.pieces:
        if isinstance(piece, str):
            text.append(piece)
            continue
        dtype, spec = (piece, "") if isinstance(piece, DType) else piece
        text.append(format_value(dtype, unpack(dtype, next(values).to_bytes(8, "little")), spec))
    return "".join(text)


def assertion_failed(
    kernel: str, failed: AssertSite, block: Sequence[int], thread: Sequence[int], values: Sequence[int]
) -> Diagnostic:
    """What is said of an assertion that failed in a kernel, in the thread of these indices."""
    where = f"block ({block[0]}, {block[1]}, {block[2]}), thread ({thread[0]}, {thread[1]}, {thread[2]})"
    if failed.access is not None:
        return _out_of_bounds(kernel, failed, failed.access, where, values)
    message = format_print(failed, values)
    about = f": {message}" if message else ""
    return Diagnostic(
        "device-assert",
        f"assertion failed in kernel {kernel!r}{about}",
        (Label(_place(failed), f"failed in {where}"),),
    )


def _out_of_bounds(
    kernel: str, site: AssertSite, access: Access, where: str, values: Sequence[int]
) -> Diagnostic:
    at, begin, end = [unpack(DType.int64, value.to_bytes(8, "little")) for value in values]
    element, count = (at - begin) // access.size, (end - begin) // access.size
    name = f"`{access.name}`" if access.name else "an array of its own"
    what = f"{count} {'element' if count == 1 else 'elements'} of {access.size} bytes"
    return Diagnostic(
        "out-of-bounds",
        f"kernel {kernel!r} {access.verb} element {element} of {name}, which has {what}",
        (Label(_place(site), f"in {where}"),),
        hints=("leave out the threads that have no element: `if i < n:`, or launch with over=n",)
        if access.name
        else (),
    )


def _place(failed: AssertSite) -> Location:
    """Where an assertion or an access stands: all of the statement, where its source is as it was."""
    from weft.diagnostics.wrote import statement_place

    def whole(found: ast.stmt) -> ast.AST | None:
        return found if failed.access is not None or isinstance(found, ast.Assert) else None

    return statement_place(failed.file, failed.line, failed.column, whole)


class Console:
    """What the kernels of one stream print, in order of arrival, until it is written out."""

    _LIMIT = 1 << 16
    """Characters that are collected before they go out without being asked for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        """Add text, from any thread."""
        with self._lock:
            self._parts.append(text)
            self._size += len(text)
            if self._size > self._LIMIT:
                self.flush()

    def flush(self) -> None:
        """Write what was collected to what ``sys.stdout`` is now."""
        if not self._parts:
            return
        with self._lock:
            text, self._parts, self._size = "".join(self._parts), [], 0
            out = sys.stdout
            if text and out is not None:
                out.write(text)
                out.flush()
