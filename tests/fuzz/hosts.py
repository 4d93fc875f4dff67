"""Programs of the host: functions given to ``weft.algorithm``, with what they capture."""

from __future__ import annotations

from tests.fuzz.expressions import expression
from tests.fuzz.kinds import INT, INTEGERS, KINDS, Kind
from tests.fuzz.launches import Launched
from tests.fuzz.leaves import literal
from tests.fuzz.program import Argument
from tests.fuzz.scope import Scope

__all__ = ["hosted"]

JOINING = ["a + b", "max(a, b)", "min(b, a)", "a ^ b", "a | b", "a & b", "b if b > 3 else a", "a * b"]
"""Functions that are associative; one is not commutative."""


def hosted(s: Scope, made: Launched, arguments: list[Argument], body: list[str]) -> list[str]:
    """A function that calls the body for each index, and then what goes through whole arrays."""
    extents: list[int] = made.launch["host"]
    names = [f"at_{n}" for n in range(len(extents))]
    for argument in arguments:  # a captured array is a tensor, and arrays of fields are not captured
        argument.host, argument.form = False, "pointer" if argument.form == "soa" else argument.form
    fixed = [a.name for a in arguments if a.form == "comptime"]
    given = [a.name for a in arguments if a.form != "comptime"] + (["*", *fixed] if fixed else [])
    size = str(extents[0]) if len(extents) == 1 and s.chance(2) else f"({', '.join(map(str, extents))},)"
    how = s.pick(["elementwise({0}, {1}, ctx)", "elementwise({0}, {1}, context=ctx)"])
    if len(extents) == 1 and s.chance(3):
        how = f"parallelize({{0}}, {extents[0]}, context=ctx)"
    out = [f"def program(ctx, {', '.join(given)}):"]
    out += [f"    def each({', '.join(f'{name}: Int' for name in names)}) -> None:"]
    out += [f"        row = {made.where}", *("    " + line for line in body)]
    out += ["", "    " + how.format("each", size)]
    for _ in range(s.number(1, 3)):
        out += _whole(s, arguments)
    return [*out, ""]


def _whole(s: Scope, arguments: list[Argument]) -> list[str]:
    integers = [k.name for k in INTEGERS]
    found = [a for a in arguments if a.form == "pointer" and a.kind in integers and a.record is None]
    if not found:
        return ["    pass"]
    argument = s.pick(found)
    name, kind, join = argument.name, KINDS[argument.kind], f"lambda a, b: {s.pick(JOINING)}"
    start = f"{kind.name}({literal(s, kind)})"
    form = s.pick("reduce reduce generated scan scan sort sort".split())
    if form == "reduce":
        return [f"    print(int(reduce({join}, {name}{s.pick(['', ', ' + start])})))"]
    if form == "generated":
        of = f"lambda i: {_of_index(s, kind, arguments)}"
        return [f"    print(int(map_reduce({of}, {join}, {s.number(1, 99)}, {start})))"]
    if form == "scan":
        more = s.pick(["", "", f", {start}", f", {start}, exclusive=True"])
        return [f"    scan({join}, {name}, {name}{more})"]
    less = s.pick(["", ", lambda a, b: a > b", ", lambda a, b: (a & 7) < (b & 7)", ", key=lambda a: a ^ 5"])
    return [f"    sort({name}{less})"]


def _of_index(s: Scope, kind: Kind, arguments: list[Argument]) -> str:
    arrays = [f"{argument.name}[{{0}}]" for argument in arguments]
    memories = [m for m in s.memories if m.form in arrays]
    body = Scope(s.choice, fixed=[("i", INT)], memories=memories, closed=True, favourites=s.favourites)
    return f"{kind.name}({expression(body, kind, 2)})"
