"""Ranges that count an unsigned number down from one below another, which may be 0."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.frontend.draft import Draft
from weft.compiler.ir.constants import constant
from weft.compiler.ir.core import Op, Value
from weft.diagnostics import Diagnostic


def countdowns(draft: Draft) -> Iterator[Diagnostic]:
    """Those where a function does not compare that other number with a constant: who does knows of 0."""
    noted = [doubt for doubt in draft.doubts if doubt.diagnostic.code == "countdown"]
    if not noted:
        return
    compared: set[Value] = set()
    for op in draft.function.body.walk():
        if op.name == "arith.cmpi" and any(constant(v) is not None for v in op.operands):
            compared.update(map(_held, op.operands))
    for doubt in noted:
        if doubt.value is not None and _held(doubt.value) not in compared:
            yield doubt.diagnostic


def _held(value: Value) -> Value:
    """The variable that a number was read from, and what it was before it was widened."""
    made = value.owner
    while isinstance(made, Op) and made.name in ("weft.get", "arith.extui"):
        value = made.operands[0]
        made = value.owner
    return value
