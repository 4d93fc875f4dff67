"""LLVM's functions of the bits of integers: as code, or at once where the numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from weft.compiler.ir.core import Value
from weft.lang.fold import lanewise
from weft.lang.intrinsics import llvm_intrinsic
from weft.lang.number import Number
from weft.lang.scalars import Bool


def is_known(*numbers: Number) -> bool:
    """Whether all are constants."""
    return not any(isinstance(number.value, Value) for number in numbers)


def of_bits(name: str, x: Number, *others: Any) -> Any:
    """``llvm.ctpop`` and its kin of the type of ``x``; the other numbers but Bools become of that type."""
    cls: Any = type(x)
    args = [other if isinstance(other, Bool) else cls(other) for other in others]
    if is_known(x, *args):
        return cls(lanewise(partial(_FOLDS[name], cls.dtype.bits), x.value, *[a.value for a in args]))
    lanes = "" if cls.lanes == 1 else f"v{cls.lanes}"
    return llvm_intrinsic(f"llvm.{name}.{lanes}i{cls.dtype.bits}", cls, x, *args, effects="none")


def _ctpop(bits: int, x: int) -> int:
    return (x % 2**bits).bit_count()


def _ctlz(bits: int, x: int, _: bool) -> int:
    return bits - (x % 2**bits).bit_length()


def _cttz(bits: int, x: int, _: bool) -> int:
    return (x & -x).bit_length() - 1 if x else bits


def _bswap(bits: int, x: int) -> int:
    return int.from_bytes((x % 2**bits).to_bytes(bits // 8, "little"), "big")


def _bitreverse(bits: int, x: int) -> int:
    return int(f"{x % 2**bits:0{bits}b}"[::-1], 2)


def _fshl(bits: int, high: int, low: int, count: int) -> int:
    return (high % 2**bits << bits | low % 2**bits) << count % bits >> bits


def _fshr(bits: int, high: int, low: int, count: int) -> int:
    return (high % 2**bits << bits | low % 2**bits) >> count % bits


_FOLDS: dict[str, Callable[..., int]] = {
    "ctpop": _ctpop,
    "ctlz": _ctlz,
    "cttz": _cttz,
    "bswap": _bswap,
    "bitreverse": _bitreverse,
    "fshl": _fshl,
    "fshr": _fshr,
}
"""On integers of so many bits; the type wraps what they give."""
