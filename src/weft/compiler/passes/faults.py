"""What a checked kernel does where something is wrong: it tells the host of it, and goes on.

The first time at each place the host is told; later ones are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.abi.artifact import FaultSite
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Loc, Module, Op, Region, Value
from weft.diagnostics import is_internal
from weft.diagnostics.parted import SourcePlace
from weft.dtype import DType

NewSite = Callable[[FaultSite], int]
"""What gives a site of the kernel at hand its number."""


def places_of(kernel: Function, at: Loc) -> tuple[list[SourcePlace], bool]:
    """Where in the user's code an operation comes from, innermost first; whether it is there itself."""
    files: list[SourcePlace] = []
    loc: Loc | None = at
    while loc is not None:
        files.append(((kernel.file if len(loc) == 2 else loc[2].file), loc[0], loc[1]))
        loc = loc[3] if len(loc) > 2 else None
    users = [place for place in files if not is_internal(place[0])] or files[-1:]
    return users, users[0] is files[0]


def site_at(kernel: Function, op: Op, kind: str, pieces: tuple[DType, ...], **more: Any) -> FaultSite:
    """A site at the user's expression that an operation comes from; ``more`` are its other fields."""
    users, own = places_of(kernel, op.loc)
    (file, line, column), end = users[0], (0, 0)
    span = op.attrs.get("span")
    if own and isinstance(span, tuple):
        line, column, *at = span
        end = at[0], at[1]
    callers = tuple([place[:2] for place in users[1:]])
    return FaultSite(kind, pieces, file, line, column, end, callers, **more)


def tell(b: Builder, site: int, values: tuple[Value, ...]) -> None:
    """Tell of a fault at the site of that number, where ``b`` stands."""
    b.emit("weft.failed", values, (), {"site": site, "every": True})


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
