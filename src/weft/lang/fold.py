"""Arithmetic on constants, outside of any kernel: Python's own, then cut to the type."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from weft.dtype import DType

__all__ = ["compare", "fold"]

_NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "&": "and_",
    "|": "or_",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
    "**": "pow",
}
_FOLDS: dict[str, Callable[[Any, Any], Any]] = {op: getattr(operator, n) for op, n in _NAMES.items()}
_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    n: getattr(operator, n) for n in ("eq", "ne", "lt", "le", "gt", "ge")
}


def fold(op: str, dtype: DType, a: Any, c: Any) -> bool | int | float:
    """``a op c`` computed by Python; the caller wraps it to ``dtype``."""
    if op == "<<" and c >= dtype.bits:
        return 0
    return _FOLDS[op](a, c)


def compare(op: str, a: Any, c: Any) -> bool:
    """``a op c`` computed by Python."""
    return _COMPARES[op](a, c)
