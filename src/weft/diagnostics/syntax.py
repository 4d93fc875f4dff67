"""Python's syntax trees, from threads too."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=ast.AST)
_TRIES = 8


def parsed(text: str, parse: Callable[[str], T]) -> T:
    """The syntax tree that ``parse`` makes of a text.

    CPython up to 3.12 counts the depth of all threads' trees in one place, and raises a SystemError where
    another thread has parsed during a collection of garbage (CPython issue 106905): then it is parsed again.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: as ``ast.parse`` does.

    >>> ast.unparse(parsed("x=1", ast.parse))
    'x = 1'
    """
    for _ in range(_TRIES):
        try:
            return parse(text)
        except SystemError:
            continue
    return parse(text)
