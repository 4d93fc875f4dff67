"""``**`` with Python's meaning."""

from __future__ import annotations

from typing import Any

from weft.compiler.ir.core import Region
from weft.compiler.ir.types import SLOT
from weft.diagnostics import LEFT, RIGHT, refuse
from weft.lang import arith
from weft.lang.above import above
from weft.lang.elaboration import current
from weft.lang.fold import fold
from weft.lang.number import Number, constant, to_type, unify
from weft.lang.python_number import python_number


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent``: by squaring where the exponent is a known or an integer, else weft.math.pow.

    An integer to a negative power is a float in Python; as a run-time exponent it gives 0, save for
    the bases 1 and -1, like the truncated quotient.
    """
    base, exponent = python_number(base), python_number(exponent)
    if not isinstance(base, (Number, bool, int, float)) or not isinstance(
        exponent, (Number, bool, int, float)
    ):
        return NotImplemented
    if isinstance(base, Number) and isinstance(exponent, int):
        if exponent >= 0:
            return _squaring(base, exponent)
        if not base.dtype.is_float:
            refuse(
                "int-power",
                f"an integer to the power {exponent} is a float",
                hint=f"write Float32({LEFT}) ** {RIGHT}",
            )
        if exponent >= -64:
            return 1.0 / _squaring(base, -exponent)
    cls, mark = unify("**", base, exponent)
    left, right = constant(base, cls), constant(exponent, cls)
    if cls.dtype.is_float:
        numbers = [
            cls(known) if known is not None and mark is None else cls.of(to_type(x, cls, current()), mark)
            for x, known in ((base, left), (exponent, right))
        ]
        return above().pow(*numbers)
    if left is not None and right is not None:
        return cls(fold("**", cls.dtype, left, right))
    return _integer_loop(base, exponent, cls)


def _squaring(base: Number, exponent: int) -> Any:
    result: Any = None
    square: Any = base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return type(base)(1) if result is None else result


def _integer_loop(base: Any, exponent: Any, cls: type[Number]) -> Any:
    b = current()
    start, left = to_type(base, cls, b), to_type(exponent, cls, b)
    kind, d = start.type, cls.dtype
    if kind.lanes != 1:
        refuse("simd-power", "`**` with a run-time exponent takes one lane", hint="use a literal exponent")
    one, zero = b.constant(1, kind), b.constant(0, kind)
    slots = [
        b.prologue("weft.slot", SLOT, {"elem_type": kind, "name": n}) for n in ("power", "square", "left")
    ]
    result = one
    if d.is_signed:  # a negative exponent: 1 and -1 stay, all else becomes 0
        negative = arith.compare(b, "lt", d, left, zero)
        ones = [arith.compare(b, "eq", d, start, b.constant(n, kind)) for n in (1, -1)]
        unit = b.value("arith.ori", (ones[0], ones[1]), ones[0].type)
        odd = b.value("arith.andi", (left, one), kind)
        signed = arith.select(b, arith.compare(b, "eq", d, odd, one), start, one)
        result = arith.select(b, negative, arith.select(b, unit, signed, zero), one)
        left = arith.select(b, negative, zero, left)
    for slot, value in zip(slots, (result, start, left), strict=True):
        b.emit("weft.set", (slot, value))
    condition, body = Region(), Region()
    with b.into(condition):
        now = b.value("weft.get", (slots[2],), kind)
        b.emit("weft.condition", (arith.compare(b, "ne", d, now, zero),))
    with b.into(body):
        acc, square, now = (b.value("weft.get", (s,), kind) for s in slots)
        odd = b.value("arith.andi", (now, one), kind)
        factor = arith.select(b, arith.compare(b, "ne", d, odd, zero), square, one)
        b.emit("weft.set", (slots[0], b.value("arith.muli", (acc, factor), kind)))
        b.emit("weft.set", (slots[1], b.value("arith.muli", (square, square), kind)))
        b.emit("weft.set", (slots[2], b.value("arith.shrui", (now, one), kind)))
    b.emit("weft.while", (), (), {}, (condition, body))
    return cls.of(b.value("weft.get", (slots[0],), kind))
