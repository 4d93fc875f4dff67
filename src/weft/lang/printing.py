"""``print`` and ``assert`` in kernels: values travel to the host, text stays there."""

from __future__ import annotations

import re
from typing import Any

from weft.artifact import Piece, PrintSite
from weft.dtype import DType
from weft.ir.builder import current
from weft.ir.core import Value
from weft.lang.errors import refuse
from weft.lang.number import Number, value_of

__all__ = ["format_number", "kernel_assert", "kernel_print"]

_TOKEN = re.compile("\x00(\\d+)\x01")


def format_number(number: Number, spec: str) -> str:
    """``format(number, spec)``: inside a kernel a mark that :func:`kernel_print` resolves."""
    if not isinstance(number.value, Value):
        return format(number.value, spec)
    held: list[tuple[Number, str]] = current().elaborator.formatted
    held.append((number, spec))
    return f"\x00{len(held) - 1}\x01"


def _pieces(argument: Any, pieces: list[Piece], values: list[Value], spec: str = "") -> None:
    b = current()
    if isinstance(argument, Number) and isinstance(argument.value, Value):
        if argument.lanes > 1:
            pieces.append("[")
            for lane in range(argument.lanes):
                if lane:
                    pieces.append(", ")
                _pieces(argument[lane], pieces, values, spec)
            pieces.append("]")
            return
        values.append(value_of(argument, b))
        pieces.append((argument.dtype, spec) if spec else argument.dtype)
    elif isinstance(argument, str):
        start = 0
        for found in _TOKEN.finditer(argument):
            pieces.append(argument[start : found.start()])
            number, spec = b.elaborator.formatted[int(found.group(1))]
            _pieces(number, pieces, values, spec)
            start = found.end()
        pieces.append(argument[start:])
    elif isinstance(argument, tuple):
        items: tuple[Any, ...] = argument
        for n, item in enumerate(items):
            pieces.append(", " if n else "(")
            _pieces(item, pieces, values)
        pieces.append(",)" if len(items) == 1 else ")")
    elif hasattr(argument, "__weft_print__"):
        argument.__weft_print__(lambda item: _pieces(item, pieces, values))
    elif hasattr(argument, "__weft_leaves__"):
        refuse("print", f"cannot print a {type(argument).__name__} from a kernel", hint="print its elements")
    else:
        pieces.append(str(argument))


def kernel_print(*args: Any, sep: str = " ", end: str = "\n") -> None:
    """Python's print, from a kernel: one record per thread, formatted by the host."""
    pieces: list[Piece] = []
    values: list[Value] = []
    for n, argument in enumerate(args):
        if n:
            pieces.append(sep)
        _pieces(argument, pieces, values)
    pieces.append(end)
    merged: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif piece != "":
            merged.append(piece)
    b = current()
    site = b.elaborator.print_site(PrintSite(tuple(merged)))
    b.emit("weft.print", tuple(values), (), {"site": site})


def kernel_assert(condition: Any, message: str) -> None:
    """Python's assert, from a kernel: the first failure reaches the host at its next wait."""
    b = current()
    if not isinstance(condition, Number) or not isinstance(condition.value, Value):
        if not condition:
            refuse("assert", f"this assertion is false at compile time{': ' + message if message else ''}")
        return
    if condition.dtype is not DType.bool:
        condition = condition != 0
    site = b.elaborator.assert_site(message)
    b.emit("weft.assert", (value_of(condition, b),), (), {"site": site})
