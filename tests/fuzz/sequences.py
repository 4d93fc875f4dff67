"""Random expressions of what a range or a tensor gives, item by item: generators in sums and their like."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.kinds import BOOL, INT, Kind
from tests.fuzz.leaves import literal
from tests.fuzz.scope import Scope

__all__ = ["asked", "folded", "generator"]

Made = Callable[[Kind, int], str]
"""What makes an expression of a kind, so deep."""


def generator(s: Scope, made: Made, kind: Kind, few: bool = False) -> str:
    """``E for x in items if C``; ``few``: of at least one item, and without a condition."""
    mark = s.mark()
    closed, s.closed = s.closed, True  # what stands in a generator assigns nothing
    rows = [(t, k) for t, k, extents in s.tensors if len(extents) == 1]
    if rows and s.chance(3):
        items, held = s.pick(rows)
        name = s.fresh("each")
        s.fixed.append((name, held))
    else:
        items = f"range({made(INT, 1)} & 7)"
        if few:
            items = s.pick([f"range(({made(INT, 1)} & 3) + 1)", "range(-2, 3, 2)", "range(4, 0, -1)"])
        elif s.chance(3):
            items = s.pick([f"range(-2, {made(INT, 1)} & 7, 3)", f"reversed(range({made(INT, 0)} & 3))"])
        name = s.fresh("each")
        s.fixed.append((name, INT))
    found = f"{made(kind, 1)} for {name} in {items}"
    if not few and s.chance(3):
        found += f" if {made(BOOL, 1)}"
    s.back(mark)
    s.closed = closed
    return found


def asked(s: Scope, made: Made) -> str:
    """Whether any or all of them."""
    return f"_Bool({s.pick(['any', 'all'])}({generator(s, made, BOOL)}))"


def folded(s: Scope, kind: Kind, made: Made) -> str:
    """Their sum, or the least or greatest of them."""
    how = s.pick(["sum", "sum", "start", "few", "default", "key" if kind is INT else "sum"])
    if how == "sum":
        return f"{kind.name}(sum({generator(s, made, kind)}))"  # of nothing, as may be known, it is a literal
    if how == "start":
        return f"sum(({generator(s, made, kind)}), {kind.name}({literal(s, kind)}))"
    least = s.pick(["min", "max"])
    if how == "few":
        return f"{kind.name}({least}({generator(s, made, kind, few=True)}))"
    if how == "default":
        return f"{least}(({generator(s, made, kind)}), default={kind.name}({literal(s, kind)}))"
    mark, name = s.mark(), s.fresh("each")
    items = f"range(({made(INT, 1)} & 7) + 1)"
    closed, s.closed = s.closed, True
    s.fixed.append((name, INT))
    by = made(s.kind(), 1)
    s.back(mark)
    s.closed = closed
    return f"Int64({least}({items}, key=lambda {name}: {by}))"
