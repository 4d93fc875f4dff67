"""Arithmetic on constants, on the host and while compiling: the same bits as run-time code gives.

Operands and results are numbers as ``weft.abi.formats.wrap`` holds them. A float operation is done in double
precision and rounded, which for ``+ - * /`` and square roots of shorter formats is the same as rounding once.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from weft.abi import folds
from weft.abi.formats import rounded, wrap
from weft.compiler.ir.ops import SPECS
from weft.dtype import DType
from weft.lang.operators import ARITHMETIC, BITWISE, SIGNS, function_of

_FOLDS = {SIGNS[name]: function_of(name) for name in {*ARITHMETIC, *BITWISE} - {"truediv", "pow"}}
_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    n: getattr(operator, n) for n in ("eq", "ne", "lt", "le", "gt", "ge")
}


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


def against(op: str, d: DType, number: float) -> bool | int:
    """For ``x op number`` of an integer ``x`` of the format ``d``: the integer to take, or the answer.

    >>> against("lt", DType.int8, 2.5), against("eq", DType.int8, 2.5), against("ge", DType.uint8, -1e9)
    (3, False, True)
    """
    if not d.least <= number <= d.greatest or (op in ("eq", "ne") and not number.is_integer()):
        return _COMPARES[op](d.least, number)
    return math.ceil(number) if op in ("lt", "ge") else math.floor(number)


def selected(mask: Any, true: Any, false: Any) -> Any:
    """``true`` where the mask holds, else ``false``. Tuples are lanes."""

    def one(m: bool, x: Any, y: Any) -> Any:
        return x if m else y

    return lanewise(one, mask, true, false)


def fold(op: str, d: DType, a: Any, c: Any) -> Any:
    """``a op c`` of two numbers of the format ``d``. Tuples are lanes."""
    if has_lanes(a) or has_lanes(c):
        return lanewise(functools.partial(fold, op, d), a, c)
    if d.is_float:
        return _of_floats(op, d, a, c)
    if op in ("//", "%") and c == 0:
        return wrap(d, 0)
    if op in ("<<", ">>") and not 0 <= c < d.bits:
        return wrap(d, -1 if op == ">>" and a < 0 else 0)
    if op == "**":
        return wrap(d, pow(a, c, 1 << d.bits))
    return wrap(d, _FOLDS[op](a, c))


def _of_floats(op: str, d: DType, a: float, c: float) -> bool | int | float:
    if op == "/":
        return wrap(d, _quotient(a, c))
    if op in ("//", "%"):
        wide = DType.float32 if d.bits == 16 else d
        quotient, rest = _divmod(wide, a, c)
        return wrap(d, quotient if op == "//" else rest)
    return wrap(d, _FOLDS[op](a, c))


def _quotient(a: float, c: float) -> float:
    if c != 0:
        return a / c
    return math.nan if a == 0 or a != a else math.inf * math.copysign(1.0, a) * math.copysign(1.0, c)


def _divmod(d: DType, a: float, c: float) -> tuple[float, float]:
    """CPython's float_divmod in the format ``d``, as ``weft.lang.arith`` emits it."""

    def cut(value: float) -> float:
        return float(wrap(d, value))

    ratio = cut(_quotient(a, c))
    rest = math.nan if c == 0 or math.isinf(a) else math.fmod(a, c)
    if c == 0:
        return ratio, rest
    whole = cut(_quotient(cut(a - rest), c))
    if rest != 0:
        if (c < 0) != (rest < 0):
            rest, whole = cut(rest + c), cut(whole - 1.0)
    else:
        rest = math.copysign(0.0, c)
    if whole == 0:
        return math.copysign(0.0, ratio), rest
    floor = folds.floor(whole)
    return (cut(floor + 1.0) if cut(whole - floor) > 0.5 else floor), rest


def fold_function(name: str, d: DType, *args: Any) -> Any:
    """What a function of floats such as ``math.fma`` gives for constants. Tuples are lanes."""
    if any(map(has_lanes, args)):
        return lanewise(functools.partial(fold_function, name, d), *args)
    found = exact_function(name)(*args)
    return float(wrap(d, found)) if isinstance(found, float) else rounded(d, found)


def exact_function(name: str) -> Callable[..., Any]:
    """A function of floats on Python's numbers; a fraction is yet to be rounded."""
    fold = SPECS[name].fold
    assert fold is not None
    return fold
