"""The loops over the threads of a block."""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I64


def loop_nest(b: Builder, regions: list[Region], bounds: list[Value]) -> None:
    """Loops over z, y and x whose bodies are ``regions[2]``, ``[1]``, ``[0]``; x is the innermost."""
    zero, one = b.constant(0, I64), b.constant(1, I64)
    with b.into(regions[1]):
        b.live = True
        b.emit("weft.for", (zero, bounds[0], one), (), {"parallel": True}, (regions[0],))
    with b.into(regions[2]):
        b.live = True
        b.emit("weft.for", (zero, bounds[1], one), (), {"parallel": False}, (regions[1],))
    b.emit("weft.for", (zero, bounds[2], one), (), {"parallel": False}, (regions[2],))
