"""What ends a loop, or a round of it."""

from __future__ import annotations

from weft.compiler.ir.core import Region

JUMPS = frozenset({"weft.break", "weft.continue"})


def leaves(region: Region) -> bool:
    """Whether a region ends the loop around it, or a round of it."""
    return any(
        op.name in JUMPS or (op.name == "weft.if" and any(leaves(r) for r in op.regions)) for op in region.ops
    )
