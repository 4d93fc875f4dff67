"""Numbers as text, the same wherever they are printed.

A float prints with the fewest digits that give it back in its own width, in Python's notation:

>>> from weft.dtype import DType
>>> format_value(DType.float32, 0.10000000149011612), format_value(DType.float32, 10.0)
('0.1', '10.0')
"""

from __future__ import annotations

import math
import re

from weft.abi.formats import wrap
from weft.dtype import DType

_PRECISION = re.compile(r"\.\d")
_DIGITS = {"float8_e4m3fn": 3, "float8_e5m2": 2, "float16": 5, "bfloat16": 4, "float32": 9}


def format_value(dtype: DType, value: float, spec: str = "") -> str:
    """One value as Python would write it, or format it where a specification is given."""
    if spec:
        return _specified(dtype, value, spec)
    if not dtype.is_number:
        return str(value)
    if dtype.kind == "bool":
        return str(bool(value))
    if not dtype.is_float:
        return str(int(value))
    value = float(value)
    digits = _DIGITS.get(dtype.name)
    if digits is None or not math.isfinite(value):
        return repr(value)
    for precision in range(1, digits + 1):
        candidate = float(f"{value:.{precision}g}")
        if wrap(dtype, candidate) == value:
            return repr(candidate)
    return repr(value)


def _specified(dtype: DType, value: float, spec: str) -> str:
    if dtype.is_float and spec[-1] not in "eEfFgGn%" and _PRECISION.search(spec) is None:
        value = float(format_value(dtype, value))  # so that width and alignment add no digits
    try:
        return format(value, spec)
    except (ValueError, OverflowError):  # the latter of no character's number
        return format_value(dtype, value)
