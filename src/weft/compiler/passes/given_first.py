"""Variables that a piece of code may read before it assigns them: their values are kept from before it."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.core import Op, Value


def kept_before(ops: Sequence[Op]) -> set[Value]:
    """The variables that operations, which run in this order, may read before they give them something."""
    found: set[Value] = set()
    _walk(ops, set(), found)
    return found


def _walk(ops: Sequence[Op], given: set[Value], found: set[Value]) -> set[Value]:
    """What is given something behind the operations on all ways; ``given`` is what was before."""
    for op in ops:
        if op.name == "weft.set":
            given.add(op.operands[0])
            found.update(v for v in op.operands[1:] if v not in given)
            continue
        found.update(v for v in op.operands if v not in given)
        if op.name == "weft.if":
            ends = [_walk(region.ops, set(given), found) for region in op.regions]
            lasts = [region.ops[-1].spec.terminator if region.ops else False for region in op.regions]
            ways = [end for end, last in zip(ends, lasts, strict=True) if not last]
            given = ways[0].intersection(*ways[1:]) if ways else ends[0]
        elif op.name == "weft.while":
            given = _walk(op.regions[0].ops, given, found)
            _walk(op.regions[1].ops, set(given), found)  # which may run no time
        else:
            for region in op.regions:
                _walk(region.ops, set(given), found)
    return given
