"""Which number a value is, where that is known."""

from __future__ import annotations

from weft.compiler.ir.core import Op, Value


def constant(v: Value) -> bool | int | float | None:
    """The number that a value is, or that each lane of a vector is; None where that is not known."""
    owner = v.owner
    return owner.number_attr("value") if isinstance(owner, Op) and owner.name == "arith.constant" else None


def integer(v: Value) -> int | None:
    """The integer that a value is, where that is known."""
    found = constant(v)
    return int(found) if isinstance(found, int) else None
