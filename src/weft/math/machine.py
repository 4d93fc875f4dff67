"""Exponentials by the machine's own ``2**x``: a few ulp less exact than ``weft.math``'s, and far cheaper.

NVIDIA GPUs have it for Float32 (``ex2.approx``); elsewhere, and of other types, these are ``weft.math``'s.
Results below the least normal number are 0.
"""

from __future__ import annotations

from typing import Any, cast

from weft.dtype import DType
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.number import Number, number_class
from weft.math import transcendental
from weft.math.basic import fma
from weft.math.dispatch import by_elements
from weft.math.typing import FloatT

__all__ = ["exp", "exp2", "has_exp2", "log2"]

exact: Any = transcendental
_LOG2E, _LN2 = 1.4426950408889634, 0.6931471805599453


def exp2(x: FloatT) -> FloatT:
    """``2**x``, within 2 ulp for what is normal. Of tiles element by element."""
    if not isinstance(x, Number):
        made = by_elements(exp2, (x,))
        return exact.exp2(x) if made is None else made
    return _by_machine(x) if has_exp2(x) else exact.exp2(x)


def exp(x: FloatT) -> FloatT:
    """``e**x``, within 3 ulp for what is normal. Of tiles element by element."""
    if not isinstance(x, Number):
        made = by_elements(exp, (x,))
        return exact.exp(x) if made is None else made
    if not has_exp2(x):
        return exact.exp(x)
    high = x * _LOG2E
    low = fma(x, _LOG2E, -high) * _LN2
    found = _by_machine(high)
    return (abs(high) < 128.0).select(fma(found, low, found), found)  # infinities have no low part


def log2(x: FloatT) -> FloatT:
    """The logarithm to base 2, within 2**-22 between 0.5 and 2, elsewhere within 2 ulp; of numbers alone."""
    if not has_exp2(cast("Any", x)):
        return exact.log2(x)
    return _by_machine(x, "lg2.approx.ftz.f")


def has_exp2(x: Number) -> bool:
    """Whether the machine has ``2**x`` of this type, and logarithms."""
    return x.dtype is DType.float32 and current_target().supports(Feature.NVVM)


def _by_machine(x: Any, word: str = "ex2.approx.ftz.f32") -> Any:
    kind = number_class(DType.float32)
    lanes = [x] if x.lanes == 1 else [x[i] for i in range(x.lanes)]
    found = [llvm_intrinsic(f"llvm.nvvm.{word}", kind, lane, effects="none") for lane in lanes]
    return found[0] if x.lanes == 1 else number_class(DType.float32, x.lanes)(*found)
