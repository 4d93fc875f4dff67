"""``weft layout``: a layout as a table or a picture, and the bank conflicts of threads that access it."""

from __future__ import annotations

import argparse
from typing import Any

import weft
from weft import layout as library
from weft.diagnostics import CompileError, WeftError
from weft.layout import ComposedLayout, Layout, conflicts, print_layout

_LAYOUT = "write Layout.row_major(8, 32), say, or ComposedLayout(Layout.row_major(8, 32), Swizzle(3, 2, 3))"


def layout(words: argparse.Namespace) -> int:
    """Show the layout of an expression.

    Raises:
        CompileError: it is none, or something does not fit.
    """
    shown = _value(words.layout, (Layout, ComposedLayout), _LAYOUT)
    threads = words.threads and _value(words.threads, Layout, "write Layout.row_major(4, 8), say")
    if words.vector and not words.conflicts:
        message = "--vector says of which vectors --conflicts counts the accesses, and it is not asked for"
        raise CompileError.at("layout", message, None, hints=("add --conflicts Float32, say",))
    if words.conflicts:
        if threads is None:
            message = "conflicts are those of threads, and none were given"
            raise CompileError.at("layout", message, None, hints=("add --threads 'Layout.row_major(4, 8)'",))
        of = _value(words.conflicts, type, "write Float32, say")
        print(conflicts(shown, threads, of, vector=words.vector))
    if words.svg or not words.conflicts:
        try:
            print_layout(shown, threads=threads, svg=words.svg)
        except OSError as error:
            message = f"cannot write {words.svg}: {error.strerror}"
            raise CompileError.at("output", message, None, hints=("give --svg another name",)) from None
    return 0


def _value(text: str, kind: Any, hint: str) -> Any:
    """What an expression of the names of weft and ``weft.layout`` gives."""
    names = {name: getattr(room, name) for room in (weft, library) for name in room.__all__}
    try:
        value: object = eval(text, {}, names)
    except WeftError:
        raise
    except Exception as error:
        message = f"`{text}` does not evaluate: {type(error).__name__}: {error}"
        raise CompileError.at("layout", message, None, hints=(hint,)) from None
    if not isinstance(value, kind):
        raise CompileError.at(
            "layout", f"`{text}` is {value!r}, which does not fit here", None, hints=(hint,)
        )
    return value
