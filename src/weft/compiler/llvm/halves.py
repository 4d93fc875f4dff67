"""Conversions to and from 16-bit floats, for processors that have no instruction for them.

LLVM calls these by the names that C's runtime library gives them; a JIT has no such library, and an
object file should not need it, so a module that computes with such floats brings its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op
from weft.compiler.ir.types import F32

if TYPE_CHECKING:
    from weft.compiler.llvm.lower import Lowering

__all__ = ["WIDENED", "definitions", "lower_widened"]

WIDENED = frozenset({f"arith.{n}" for n in ("addf", "subf", "mulf", "divf", "truncf")})
"""Operations on bfloat16 that a CPU does in single precision."""


def lower_widened(lw: Lowering, op: Op, binary: str | None) -> None:
    """One of ``WIDENED`` with a bfloat16 result, rounded by integer arithmetic.

    LLVM would call a function for each lane, or take an instruction that knows no subnormals.
    """
    lanes = op.result.type.lanes

    def typed(element: str) -> str:
        return element if lanes == 1 else f"<{lanes} x {element}>"

    def number(value: int) -> str:
        return str(value) if lanes == 1 else f"splat (i32 {value})"

    def step(text: str) -> str:
        name = lw.new()
        lw.put(f"{name} = {text}")
        return name

    single, word = typed("float"), typed("i32")
    if binary is None:
        source = op.operands[0]
        if source.type.scalar is not F32:
            lw.set(op, f"fptrunc {lw.typed(source)} to {op.result.type.llvm}")
            return
        wide = lw.ref(source)
    else:
        a, c = [step(f"fpext {lw.typed(v)} to {single}") for v in op.operands]
        wide = step(f"{binary} {single} {a}, {c}")
    bits = step(f"bitcast {single} {wide} to {word}")
    high = step(f"lshr {word} {bits}, {number(16)}")
    odd = step(f"and {word} {high}, {number(1)}")
    half = step(f"add {word} {bits}, {number(0x7FFF)}")
    rounded = step(f"lshr {word} {step(f'add {word} {half}, {odd}')}, {number(16)}")
    isnan = step(f"fcmp uno {single} {wide}, {wide}")
    quiet = step(f"or {word} {high}, {number(0x40)}")
    chosen = step(f"select {typed('i1')} {isnan}, {word} {quiet}, {word} {rounded}")
    narrow = step(f"trunc {word} {chosen} to {typed('i16')}")
    lw.set(op, f"bitcast {typed('i16')} {narrow} to {op.result.type.llvm}")


# From a double: round the mantissa to nearest even in the integer that holds it, rebias the exponent,
# clamp at infinity. Below the normal range, adding 2**52 makes the processor round to a multiple of
# the smallest number. nan stays nan.
_NARROW = """
define weak_odr hidden {type} @{name}({source} %x) nounwind {{
  %d = {widen}
  %bits = bitcast double %d to i64
  %high = lshr i64 %bits, 48
  %sign = and i64 %high, 32768
  %mag = and i64 %bits, 9223372036854775807
  %a = bitcast i64 %mag to double
  %shifted = lshr i64 %mag, {shift}
  %odd = and i64 %shifted, 1
  %b0 = add i64 %mag, {below_half}
  %b1 = add i64 %b0, %odd
  %b2 = lshr i64 %b1, {shift}
  %b3 = sub i64 %b2, {rebias}
  %over = icmp ugt i64 %b3, {infinity}
  %normal = select i1 %over, i64 {infinity}, i64 %b3
  %s0 = fmul double %a, {scale}
  %s1 = fadd double %s0, 0x4330000000000000
  %s2 = bitcast double %s1 to i64
  %small = and i64 %s2, 65535
  %tiny = fcmp olt double %a, {least}
  %r0 = select i1 %tiny, i64 %small, i64 %normal
  %isnan = fcmp uno double %a, %a
  %r1 = select i1 %isnan, i64 {nan}, i64 %r0
  %r2 = or i64 %r1, %sign
  %r3 = trunc i64 %r2 to i16
  %r = bitcast i16 %r3 to {type}
  ret {type} %r
}}
"""

_WIDEN_HALF = """
define weak_odr hidden float @__extendhfsf2(half %x) nounwind {
  %h = bitcast half %x to i16
  %bits = zext i16 %h to i32
  %s0 = and i32 %bits, 32768
  %sign = shl i32 %s0, 16
  %mag = and i32 %bits, 32767
  %m = shl i32 %mag, 13
  %special = icmp uge i32 %mag, 31744
  %inf = or i32 %m, 2139095040
  %f0 = bitcast i32 %m to float
  %f1 = fmul float %f0, 0x46F0000000000000
  %f2 = bitcast float %f1 to i32
  %f3 = select i1 %special, i32 %inf, i32 %f2
  %f4 = or i32 %f3, %sign
  %r = bitcast i32 %f4 to float
  ret float %r
}
"""

_HALF = {
    "type": "half",
    "shift": "42",
    "below_half": str((1 << 41) - 1),
    "rebias": str((1023 - 15) << 10),
    "infinity": str(0x7C00),
    "scale": "0x4170000000000000",  # 2**24
    "least": "0x3F10000000000000",  # 2**-14
    "nan": str(0x7E00),
}
_BFLOAT = {
    "type": "bfloat",
    "shift": "45",
    "below_half": str((1 << 44) - 1),
    "rebias": str((1023 - 127) << 7),
    "infinity": str(0x7F80),
    "scale": "0x4840000000000000",  # 2**133
    "least": "0x3810000000000000",  # 2**-126
    "nan": str(0x7FC0),
}
_FROM = {
    "sf": {"source": "float", "widen": "fpext float %x to double"},
    "df": {"source": "double", "widen": "fadd double %x, 0x8000000000000000"},
}


def definitions(text: str) -> str:
    """What a module with this text needs."""
    out: list[str] = []
    for fields, short in ((_HALF, "hf"), (_BFLOAT, "bf")):
        if fields["type"] in text:
            out += [_NARROW.format(name=f"__trunc{s}{short}2", **fields, **_FROM[s]) for s in _FROM]
    if "half" in text:
        out.append(_WIDEN_HALF)
    return "".join(out)
