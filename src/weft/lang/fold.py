"""Arithmetic on constants, outside of any kernel: Python's own, then cut to the type."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from weft.dtype import DType

__all__ = ["compare", "fold", "has_lanes", "lanewise"]

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


def fold(op: str, dtype: DType, a: Any, c: Any) -> Any:
    """``a op c`` computed by Python; the caller wraps it to ``dtype``. Tuples are lanes."""
    if has_lanes(a) or has_lanes(c):
        return lanewise(functools.partial(fold, op, dtype), a, c)
    if op == "<<" and c >= dtype.bits:
        return 0
    return _FOLDS[op](a, c)


def has_lanes(value: object) -> bool:
    """Whether a number's payload is one of lanes that differ."""
    return isinstance(value, tuple)


def lanewise(f: Callable[..., Any], *values: Any) -> Any:
    """``f`` of numbers, or lane by lane where one of them is a tuple of lanes.

    >>> lanewise(max, (1, 5), 3), lanewise(max, 1, 3)
    ((3, 5), 3)
    """
    lanes = [len(v) for v in values if has_lanes(v)]
    if not lanes:
        return f(*values)
    wide: list[tuple[Any, ...]] = [v if has_lanes(v) else (v,) * lanes[0] for v in values]
    return tuple([f(*each) for each in zip(*wide, strict=True)])


def compare(op: str, a: Any, c: Any) -> Any:
    """``a op c`` computed by Python. Tuples are lanes."""
    if has_lanes(a) or has_lanes(c):
        return lanewise(_COMPARES[op], a, c)
    return _COMPARES[op](a, c)
