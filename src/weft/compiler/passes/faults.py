"""What a checked kernel does where something is wrong: it tells the host of it, and goes on.

The first time at each place the host is told; later ones are counted.
"""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Module, Region, Value
from weft.compiler.ir.types import I64


def tell(b: Builder, site: int, values: tuple[Value, ...]) -> None:
    """Tell of a fault at the site of that number, where ``b`` stands."""
    before = b.value("weft.count_fault", (), I64, {"site": site})
    is_first = b.compare("eq", before, b.constant(0, I64))
    with b.into(Region()) as first:
        b.emit("weft.failed", values, (), {"site": site, "every": True})
    b.branch(is_first, first)


def count_assertions(module: Module) -> None:
    """Have assertions that fail be counted as faults are; they end their threads even so."""
    for f in module.functions:
        _count(f.body)


def _count(region: Region) -> None:
    b = Builder()
    ops, region.ops[:] = region.ops[:], []
    with b.into(region):
        for op in ops:
            for inner in op.regions:
                _count(inner)
            b.live, b.loc = True, op.loc
            if op.name != "weft.assert":
                region.ops.append(op)
                continue
            holds, *words = op.operands
            with b.into(Region()) as fails:
                tell(b, op.int_attr("site"), tuple(words))
                b.emit("weft.exit_thread")
            b.branch(holds, Region(), fails)
