"""The text of a file as it was when a function in it was defined.

A file may be edited between its import and a kernel's first launch. What Python runs is the old text
by then, and so must weft: a decorated function keeps the text that stood there at that time.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

from weft.diagnostics import is_internal

_Stamp = tuple[int, int, int, int]
_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell it from what is written next."""

_TEXTS = 8
"""So many texts of one file are remembered."""

_files: dict[str, tuple[_Stamp, list[bytes]]] = {}
_kept: weakref.WeakKeyDictionary[Callable[..., Any], bytes] = weakref.WeakKeyDictionary()
_of_code: dict[int, tuple[weakref.ref[CodeType], bytes]] = {}
"""By a code's number what its file held when the first function was made of it."""


def keep_text(fn: Callable[..., Any]) -> None:
    """Keep what the file of a function holds now, as the function, or the first of its code, is defined."""
    code = fn.__code__
    known = _of_code.get(id(code))
    if known is not None and known[0]() is code:
        _kept[fn] = known[1]
        return
    file = code.co_filename
    if file[:1] == "<" or is_internal(file):
        return
    try:
        status = os.stat(file)
        stamp = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)
        found = _files.get(file)
        if found is None or found[0] != stamp or time.time_ns() - max(stamp[1], stamp[3]) < _SETTLED:
            with open(file, "rb") as opened:
                data = opened.read()
            before = [] if found is None else found[1]
            texts = before if before[:1] == [data] else [data, *(t for t in before if t != data)][:_TEXTS]
            found = _files[file] = (stamp, texts)
        _kept[fn] = found[1][0]
        gone = partial(_of_code.pop, id(code), None)
        _of_code[id(code)] = weakref.ref(code, lambda _: gone()), found[1][0]
    except (OSError, ValueError):
        return  # no file, as in a notebook


def share_text(made: Callable[..., Any], fn: Callable[..., Any]) -> None:
    """A function that was made of another has its text."""
    if fn in _kept:
        _kept[made] = _kept[fn]


def give_text(fn: Callable[..., Any], text: str) -> None:
    """Say what the file of a function of another process holds; messages quote from that."""
    import linecache

    file = fn.__code__.co_filename
    _kept[fn] = text.encode()
    if not linecache.getlines(file):
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def texts_kept(fn: Callable[..., Any]) -> list[bytes]:
    """What the file of a function held as the function was defined, then what it held at other times."""
    own = _kept.get(fn)
    known = _files.get(fn.__code__.co_filename)
    others = [text for text in (known[1] if known else ()) if text != own]
    return others if own is None else [own, *others]
