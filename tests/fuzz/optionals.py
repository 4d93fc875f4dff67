"""Random values that are None on some paths: what a loop finds, what a function may not give."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.expressions import condition, expression
from tests.fuzz.kinds import BOOL, INT, Kind
from tests.fuzz.scope import Scope

__all__ = ["optional"]

_ORDER = "< <= > >= == !=".split()


def optional(s: Scope, indent: str) -> list[str]:
    """A variable that may be None, and a number that is made of it where it is not."""
    kind = s.kind()
    if kind is BOOL:
        kind = INT
    name, found = s.fresh("v"), s.fresh("o")
    lines = s.pick([_best, _last, _given])(s, indent, found, kind)
    other = expression(s, kind, 1)
    form = s.pick(["else", "is", "assigned", "or", "early"])
    if form == "else":
        lines.append(f"{indent}{name} = {found} if {found} is not None else {other}")
    elif form == "is":
        lines.append(f"{indent}{name} = {other} if {found} is None or {condition(s, 0)} else {found}")
    elif form == "or" and kind.is_integer:
        lines.append(f"{indent}{name} = {found} or {other}")
    elif form == "assigned":
        lines += [f"{indent}if {found} is None:", f"{indent}    {found} = {other}"]
        lines.append(f"{indent}{name} = {found}")
    else:
        lines += [f"{indent}{name} = {other}", f"{indent}if {found} is not None and {condition(s, 0)}:"]
        lines.append(f"{indent}    {name} = {found}")
    s.names.append((name, kind))
    return lines


def _best(s: Scope, indent: str, found: str, kind: Kind) -> list[str]:
    """The least of what a loop computes, or the like; now and then forgotten."""
    i, each, inner = s.fresh("i"), s.fresh("v"), indent + "    "
    lines = [f"{indent}{found} = None", f"{indent}for {i} in range({expression(s, INT, 0)} & 7):"]
    s.fixed.append((i, INT))
    lines.append(f"{inner}{each} = {expression(s, kind, 1)}")
    better = f"({found} is None or {each} {s.pick(_ORDER)} {found})"
    test = s.pick(
        [better, f"{condition(s, 0)} and {better}", f"not ({found} is not None) or {condition(s, 0)}"]
    )
    lines += [f"{inner}if {test}:", f"{inner}    {found} = {each}"]
    if s.chance(3):
        lines += [f"{inner}elif {condition(s, 0)}:", f"{inner}    {found} = None"]
    if s.chance(4):
        lines += [f"{inner}if {found} is None:", f"{inner}    {found} = {each}"]
    s.fixed.pop()
    return lines


def _last(s: Scope, indent: str, found: str, kind: Kind) -> list[str]:
    """One of two values, or None."""
    test, value = condition(s, 1), expression(s, kind, 1)
    if s.chance(2):
        return [
            f"{indent}{found} = {s.pick([f'{value} if {test} else None', f'None if {test} else {value}'])}"
        ]
    lines = [f"{indent}{found} = {s.pick(['None', value])}", f"{indent}if {test}:"]
    lines.append(f"{indent}    {found} = {s.pick(['None', expression(s, kind, 1)])}")
    return lines


def _given(s: Scope, indent: str, found: str, kind: Kind) -> list[str]:
    """What a function returns, which may be nothing."""
    name, parameter = s.fresh("g"), s.fresh("x")
    body = replace(s, names=[], fixed=[*s.fixed, *s.names, (parameter, INT)], counters=[], kernel=False)
    body.memories = [m for m in s.memories if not m.writable]
    lines = [f"{indent}@func", f"{indent}def {name}({parameter}: Int):"]
    lines += [f"{indent}    if {condition(body, 1)}:", f"{indent}        return None"]
    lines.append(f"{indent}    return {expression(body, kind, 1)}")
    s.count = body.count
    return [*lines, f"{indent}{found} = {name}({expression(s, INT, 0)})"]
