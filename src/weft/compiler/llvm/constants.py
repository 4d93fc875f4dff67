"""How LLVM writes numbers, strings and scopes."""

from __future__ import annotations

from weft.abi.formats import bits_of, wrap
from weft.compiler.ir.types import FloatType, Type
from weft.dtype import DType


def number_text(value: bool | int | float, type: Type) -> str:
    """A constant as LLVM writes it: floats by their bits, so that nothing is lost."""
    scalar = type.scalar
    if isinstance(scalar, FloatType):
        if scalar.bits == 16:
            bfloat = scalar.mlir == "bf16"
            bits = bits_of(DType.bfloat16 if bfloat else DType.float16, value)
            return f"0x{'R' if bfloat else 'H'}{bits:04X}"
        number = wrap(DType.float32 if scalar.bits == 32 else DType.float64, value)
        return f"0x{bits_of(DType.float64, number):016X}"
    if scalar.bits == 1:
        return "true" if value else "false"
    return str(int(value))


def string_text(data: bytes) -> str:
    """Bytes as a string constant, in quotes."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data) + '"'


def scope_text(scope: str) -> str:
    """The words before an ordering that name a scope, which has none where it is the whole system's."""
    return f'syncscope("{scope}") ' if scope else ""
