"""Operands of integers, which say places in others or count them."""

from __future__ import annotations

from inspect import signature

from weft import kernels
from weft.kernels.operands import DTYPE_KINDS, Operand, Operands
from weft.lang.number import type_name


def integers(op: Operands, name: str, *more: Operand) -> Operand:
    """An operand whose elements are integers, which a caller may have swapped with another, or with ``more``.

    Raises:
        LaunchError: it has other elements.
    """
    found, others = op[name], [*op.given.values(), *more]
    whole = [other for other in others if other.dtype.kind in DTYPE_KINDS["integer"]]
    if not whole or found in whole:
        return found.of("integer")
    given = {other.name for other in others}
    order = ", ".join([p for p in signature(getattr(kernels, op.operation)).parameters if p in given])
    kind, other = type_name(found.dtype), f"{whole[0].name} of {type_name(whole[0].dtype)}"
    hint = f"if the two are swapped, write {op.operation}({order}); else convert {name} to Int64"
    found.refuse(f"of {kind}, which is no integer, and {other}", hint)
