"""Random loops by a function of the index: ``map``, ``vectorize`` and ``tile`` of ``weft.algorithm``."""

from __future__ import annotations

from tests.fuzz.expressions import expression
from tests.fuzz.kinds import INT, Kind
from tests.fuzz.leaves import COMPARISONS
from tests.fuzz.scope import Memory, Scope

__all__ = ["mapped"]


def mapped(s: Scope, indent: str) -> list[str]:
    """A function and a loop that calls it; nothing where there is no memory to write to."""
    found = [m for m in s.memories if m.writable and m.loads and m.size >= 4]
    if not s.kernel or not found or s.closed:
        return []
    m, name = s.pick(found), s.fresh("each")
    i, mark = s.fresh("i"), s.mark()
    ends = expression(s, INT, 1), f"min(({expression(s, INT, 1)} & 15) - 3, {m.size})"
    start, end = s.pick(["0", "1", f"({ends[0]} & 3)"]), s.pick([str(m.size), ends[1]])
    s.fixed.append((i, INT))
    s.closed = True  # what is assigned in the function would be its own
    lines = s.pick([_map, _vectorize, _vectorize, _tile])(s, m, name, i)
    s.closed = False
    s.back(mark)
    return [indent + line.replace("START", start).replace("END", end) for line in lines]


def _map(s: Scope, m: Memory, name: str, i: str) -> list[str]:
    how = s.pick(["=", "+=", "-="])
    body = f"    {m.form.format(i)} {how} {expression(s, m.kind, 2)}"
    return [f"def {name}({i}: Int) -> None:", body, f"map({name}, END)"]


def _vectorize(s: Scope, m: Memory, name: str, i: str) -> list[str]:
    lanes, wide = s.pick([2, 4, 8]), f"{m.loads}.load({i}, width=width)"
    others = [o for o in s.memories if o.kind is m.kind and o.loads and o.size >= m.size]
    other = f"{s.pick(others).loads}.load({i}, width=width)"
    value = s.pick([_joined, _joined, _selected])(s, m.kind, wide, other)
    head = f"def {name}({i}: Int, width: int) -> None:"
    return [head, f"    {m.loads}.store({i}, {value})", f"vectorize({name}, END, simd_width={lanes})"]


def _joined(s: Scope, kind: Kind, wide: str, other: str) -> str:
    number = expression(s, kind, 1)
    return s.pick(["({0} + {1})", "({1} - {0})", "({0} + {2})", "math.max({0}, {2})", "(-{0})"]).format(
        wide, other, number
    )


def _selected(s: Scope, kind: Kind, wide: str, other: str) -> str:
    return f"({wide} {s.pick(COMPARISONS)} {other}).select({wide}, {expression(s, kind, 1)})"


def _tile(s: Scope, m: Memory, name: str, i: str) -> list[str]:
    k = s.fresh("k")
    s.fixed.append((k, INT))
    sizes = s.pick(["(4, 2)", "(2,)", "(3,)", "(8, 4, 1)", "(5, 3)"])
    head = f"def {name}({i}: Int, width: int) -> None:"
    place = m.form.format(f"{i} + {k}")
    value = expression(s, m.kind, 2)
    body = [f"    for {k} in range(width):", f"        {place} {s.pick(['=', '+='])} {value}"]
    return [head, *body, f"tile({name}, START, END, tile_sizes={sizes})"]
