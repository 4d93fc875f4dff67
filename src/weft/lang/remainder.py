"""The exact remainder of a division of floats, for targets whose own is an approximation.

``x - trunc(x / y) * y`` is wrong as soon as the quotient has more digits than the format. Here the
quotient is taken in steps of 20 bits: each ``fma`` subtracts a multiple of ``y`` that leaves a
remainder the format holds, so nothing is ever rounded. One step does for quotients below 2**22
(Float32) and 2**51 (Float64), which is to say almost always.
"""

from __future__ import annotations

from weft.compiler.ir.core import Attribute, Region, Value
from weft.compiler.ir.types import I1, I32, I64, SLOT
from weft.dtype import DType
from weft.lang import arith
from weft.lang.elaboration import Elaboration

_INF, _NAN = float("inf"), float("nan")


def remainder(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    """``fmod(x, y)`` lane by lane: the sign of ``x``, smaller than ``y``, exact; nan where undefined.

    Args:
        b: where the code goes.
        d: Float32 or Float64.
        x: the dividend.
        y: the divisor.
    """
    kind = x.type
    if kind.lanes > 1:
        out = x
        for lane in range(kind.lanes):
            at = b.constant(lane, I32)
            one, other = (b.value("vector.extractelement", (v, at), kind.scalar) for v in (x, y))
            out = b.value("vector.insertelement", (remainder(b, d, one, other), out, at), kind)
        return out
    return _scalar(b, d, x, y)


def _scalar(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    kind = x.type
    bits, significand, far = (I32, 23, 2.0**100) if d.bits == 32 else (I64, 52, 2.0**1000)
    small = 2.0 ** (significand - 1)
    exact: dict[str, Attribute] = {"fastmath": "none"}

    def number(value: float) -> Value:
        return b.constant(value, kind)

    def compare(op: str, one: Value, other: Value) -> Value:
        return arith.compare(b, op, d, one, other)

    def binary(op: str, one: Value, other: Value) -> Value:
        return b.value(f"arith.{op}", (one, other), kind, exact)

    size, by = (b.value("math.absf", (v,), kind) for v in (x, y))
    valid = b.value("arith.andi", (compare("gt", by, number(0.0)), compare("lt", size, number(_INF))), I1)
    left = b.prologue("weft.slot", SLOT, {"elem_type": kind, "name": "remainder"})
    b.emit("weft.set", (left, arith.select(b, valid, size, number(0.0))))
    condition, body = Region(), Region()
    with b.into(condition):
        now = b.value("weft.get", (left,), kind)
        more = b.value("arith.andi", (compare("ge", now, by), compare("gt", by, number(0.0))), I1)
        b.emit("weft.condition", (more,))
    with b.into(body):
        now = b.value("weft.get", (left,), kind)
        base = binary("mulf", binary("mulf", by, number(far)), number(far))
        for nearer in (binary("mulf", by, number(far)), by):  # the nearest whose quotient is finite
            finite = compare("lt", binary("divf", now, nearer), number(_INF))
            base = arith.select(b, finite, nearer, base)
        quotient = binary("divf", now, base)
        # 2**k, with k the quotient's exponent less 20, from the bits of the quotient
        raw = b.value("arith.bitcast", (quotient,), bits)
        shift = b.constant(significand, bits)
        exponent = b.value("arith.shrui", (raw, shift), bits)
        lower = b.value("arith.subi", (exponent, b.constant(20, bits)), bits)
        power = b.value("arith.bitcast", (b.value("arith.shli", (lower, shift), bits),), kind)
        scale = arith.select(b, compare("lt", quotient, number(small)), number(1.0), power)
        count = b.value("math.trunc", (binary("divf", quotient, scale),), kind)
        times = b.value("arith.negf", (binary("mulf", count, scale),), kind)
        rest = b.value("math.fma", (times, base, now), kind)
        step = binary("mulf", base, scale)
        rest = arith.select(b, compare("lt", rest, number(0.0)), binary("addf", rest, step), rest)
        rest = arith.select(b, compare("ge", rest, step), binary("subf", rest, step), rest)
        b.emit("weft.set", (left, rest))
    b.emit("weft.while", (), (), {}, (condition, body))
    found = b.value("math.copysign", (b.value("weft.get", (left,), kind), x), kind)
    both = b.value("arith.cmpf", (x, y), I1, {"predicate": "ord"})
    return arith.select(b, b.value("arith.andi", (valid, both), I1), found, number(_NAN))
