"""Random definitions that are asked what they are: structs for their truth or length, numbers for theirs."""

from __future__ import annotations

from tests.fuzz.expressions import condition, expression
from tests.fuzz.generic import inner
from tests.fuzz.kinds import BOOL, INT, Kind
from tests.fuzz.scope import Function, Scope

__all__ = ["by_type", "measured"]


def measured(s: Scope, name: str) -> list[str]:
    """A struct that is made of two numbers, has a third of them, and is true or has a length."""
    kinds = [s.kind() for _ in range(3)]
    body = inner(s, 3)
    body.fixed += [("self.x", kinds[0]), ("self.y", kinds[1])]
    lines = ["@struct", f"class {name}:", f"    x: {kinds[0].name}", f"    y: {kinds[1].name}"]
    lines += [f"    z: {kinds[2].name} = {kinds[2].name}(0)", "", "    def __post_init__(self):"]
    parts = [f"{kinds[2].name}(self.{field})" for field in "xy"]  # made at compile time: it decides nothing
    lines += [f"        self.z = {s.pick([*parts, '{0} + {1}', '{1} - {0}', '-{0}']).format(*parts)}", ""]
    if s.chance(3):
        lines[-1:] = [f"        self.x = {kinds[0].name}(self.y)", ""]
    body.fixed.append(("self.z", kinds[2]))
    takes = tuple(kinds[:2])
    if s.chance(2):
        lines += ["    def __len__(self) -> Int:", f"        return {expression(body, INT, 2)} & 3", ""]
        s.functions.append(Function(f"Int64(len({name}({{0}})))", takes, INT))
    else:
        lines += ["    def __bool__(self) -> Bool:", f"        return Bool({condition(body, 2)})", ""]
    s.functions += [
        Function(f"{name}({{0}}).{field}", takes, kind) for field, kind in zip("xyz", kinds, strict=True)
    ]
    s.functions.append(Function(f"Int64(1 if {name}({{0}}) else 0)", takes, INT))
    return lines


def by_type(s: Scope, name: str) -> list[str]:
    """A function that does another thing for another type of its first number."""
    given = [k for k in dict.fromkeys(s.kind() for _ in range(3)) if k is not BOOL]
    takes, gives = s.kind(), s.kind()
    lines = ["@func", f"def {name}(x, y: {takes.name}) -> {gives.name}:"]

    def found(known: Kind | None) -> str:
        body = inner(s, 2)
        body.fixed += [("y", takes), *([("x", known)] if known else [])]
        return expression(body, gives, 2, literals=True)

    tests: list[tuple[str, Kind | None]] = [("int", None), ("float", None)]
    tests += [(kind.name, kind) for kind in given]
    if len(given) > 1:
        tests.append((f"({given[0].name}, {given[1].name})", None))
    for _ in range(s.number(1, 3)):
        kind, known = s.pick(tests)
        lines += [f"    if isinstance(x, {kind}):", f"        return {found(known)}"]
    lines += [f"    return {found(None)}", ""]
    s.functions += [Function(f"{name}({{0}})", (kind, takes), gives, False) for kind in given]
    return lines
