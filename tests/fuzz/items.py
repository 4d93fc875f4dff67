"""Random statements about items: of lists of a known length, of vectors and arrays that are assigned to."""

from __future__ import annotations

from tests.fuzz.expressions import argument, condition, expression, index, vector
from tests.fuzz.kinds import BOOL, INT
from tests.fuzz.scope import Many, Scope

__all__ = ["listed", "parts"]


def parts(s: Scope, indent: str) -> list[str]:
    """A vector or an array of the function's own, items of which are assigned."""
    kind, lanes = s.kind(), s.pick([2, 4])
    if s.chance(2):
        name = s.fresh("u")
        made = f"copy.copy({vector(s, kind, lanes, 1)})"
    else:
        name = s.fresh("l")
        made = argument(s, Many(kind, lanes, False), 2, False)
    lines, mark = [f"{indent}{name} = {made}"], s.mark()
    inner, before = indent, s.pick(["", "", f"if {condition(s)}:", "for"])
    if before.startswith("for"):
        i = s.fresh("i")
        before = f"for {i} in range({expression(s, INT, 1)} & 3):"
        s.fixed.append((i, INT))
    if before:
        lines, inner = [*lines, f"{indent}{before}"], indent + "    "
    s.fixed.append((f"{name}[{s.number(0, lanes - 1)}]", kind))
    closed, s.closed = s.closed, True  # what is changed is named twice
    for _ in range(s.number(1, 2)):
        op = "" if kind is BOOL else s.pick(["", "", "+", "-"])
        value = expression(s, kind, 1, literals=True)
        lines.append(f"{inner}{name} = _part({name}, {index(s, lanes)}, '{op}', {value})")
    s.closed = closed
    s.back(mark)
    if name.startswith("u"):
        s.vectors.append((name, kind, lanes))
    s.fixed += [(f"{name}[{n}]", kind) for n in range(lanes)]
    return lines


def listed(s: Scope, indent: str) -> list[str]:
    """A list of numbers of run time, whose length is known; what is made of it, as it is no value itself."""
    kind, name = s.kind(), s.fresh("l")
    size = s.number(1, 3)
    lines = [f"{indent}{name} = [{', '.join(expression(s, kind, 1) for _ in range(size))}]"]
    if s.chance(2):
        lines.append(f"{indent}{name}.append({expression(s, kind, 1)})")
        size += 1
    if s.chance(3):
        lines.append(f"{indent}{name}[{s.number(0, size - 1)}] = {expression(s, kind, 1)}")
    if s.chance(3):
        k, unrolled, mark = s.fresh("k"), s.chance(2), s.mark()
        if unrolled:
            s.constants.append(k)
        else:
            s.fixed.append((k, kind))
        closed, s.closed = s.closed, True
        made = f"[{expression(s, kind, 1)} for {k} in {'unroll(range(3))' if unrolled else name}]"
        s.closed = closed
        s.back(mark)
        lines.append(f"{indent}{name} = {made}")
        size = 3 if unrolled else size
    found = s.fresh("v")
    forms = [f"{name}[{s.number(-size, size - 1)}]"]
    forms += [f"{how}({name})" for how in ("min", "max", "sum") if kind is not BOOL]
    lines.append(f"{indent}{found} = {s.pick(forms)}")
    s.names.append((found, kind))
    if s.chance(2):
        item = s.fresh("x")
        lines += [
            f"{indent}for {item} in {s.pick(['{}', 'reversed({})', '{}[::-1]', '{}[1:]']).format(name)}:"
        ]
        lines += [f"{indent}    {found} = {item if kind is BOOL else f'{found} - {item}'}"]
    kept = s.fresh("l")
    if s.chance(2):
        lines.append(f"{indent}{kept} = tuple({name})")
    else:
        first = s.fresh("v")
        size -= 1
        rest = s.fresh("l")
        lines.append(f"{indent}{first}, *{rest} = {name}")
        lines.append(f"{indent}{kept} = tuple({rest})")
        s.names.append((first, kind))
    s.fixed += [(f"{kept}[{n}]", kind) for n in range(size)]
    if kind is not BOOL and size:
        s.fixed += [(f"{how}({kept})", kind) for how in ("min", "max", "sum")]
    return lines
