"""Random definitions over types and functions: type variables, overloads, functions as arguments, recursion.

A body over a type variable is written for a kind of its name that meets no other and holds what all the
types hold that it may stand for.
"""

from __future__ import annotations

from tests.fuzz.expressions import expression
from tests.fuzz.kinds import BOOL, FLOATS, INTEGERS, Kind
from tests.fuzz.leaves import literal, weak
from tests.fuzz.scope import Function, Many, Part, Record, Scope
from tests.fuzz.statements import block, returned

__all__ = ["applied", "generic", "inner", "overloaded", "record", "recursive"]

ANY = {"Integer": Kind("TI", 7, "uint"), "Floating": Kind("TF", 15, "float", 8, -24, 16)}
_FAMILIES = {"Integer": INTEGERS, "Floating": FLOATS}


def inner(s: Scope, budget: int) -> Scope:
    """The scope of a function's body."""
    return Scope(
        s.choice,
        functions=list(s.functions),
        types=list(s.types),
        constants=list(s.constants),
        fixed=list(s.fixed),
        lanewise=list(s.lanewise),
        memories=[m for m in s.memories if "TABLE" in m.form],
        tables=s.tables,
        budget=budget,
        favourites=s.favourites,
    )


def variable(s: Scope) -> tuple[Kind, list[Kind]]:
    """The kind of a type variable, and some kinds that it stands for."""
    bound = s.pick(["Integer", "Floating"])
    own = [k for k in s.favourites if k in _FAMILIES[bound]]
    kinds = list(dict.fromkeys([s.pick(own or _FAMILIES[bound]), s.pick(_FAMILIES[bound])]))
    return ANY[bound], kinds


def generic(s: Scope, name: str) -> list[str]:
    """A function over a type variable, for some types."""
    kind, kinds = variable(s)
    body = inner(s, 5)
    body.favourites = [kind]
    body.names.append(("x", kind))
    body.fixed.append(("y", kind))
    body.gives, body.returns = kind, "number"
    lanes = s.chance(3)
    if lanes:
        body.vectors.append(("z", kind, 4))
    lines = [
        "@func",
        f"def {name}(x: T, y: T{', z: SIMD[T, 4]' if lanes else ''}) -> T:".replace("T", kind.name),
    ]
    lines += [*block(body, "    ", 2, None), f"    return{returned(body)}", ""]
    for one in kinds:
        takes: tuple[Part, ...] = (one, Many(one, 4, True)) if lanes else (one,)
        rest = ", {1}" if lanes else ""
        weakly = f"{name}({{0}}, _{one.name}({literal(s, one)}){rest})"
        told = f"{name}[{one.name}](_{one.name}({literal(s, one)}), {{0}}{rest})"
        s.functions.append(Function(s.pick([weakly, told]), takes, one, False))
        s.functions.append(
            Function(f"{name}({{0}}, {{1}}{rest.replace('1', '2')})", (one, *takes), one, False)
        )
    return lines


def overloaded(s: Scope, name: str) -> list[str]:
    """One name, a function for each of two kinds."""
    first, second = s.kind(), s.kind()
    if first is second or BOOL in (first, second):
        return generic(s, name)
    apart = first.is_float != second.is_float and s.chance(2)
    said = ("Floating" if second.is_float else "Integer") if apart else second.name
    lines: list[str] = []
    for n, kind in enumerate((first, second)):
        body = inner(s, 3)
        body.names.append(("x", kind))
        body.gives, body.returns = s.kind(), "number"
        head = ["@func", f"def {name}(x) -> {body.gives.name}:"]
        if n:
            head = [f"@{name}.register", f"def _(x: {said}) -> {body.gives.name}:"]
        lines += [*head, *block(body, "    ", 2, None), f"    return{returned(body)}", ""]
        s.functions.append(Function(f"{name}({{0}})", (kind,), body.gives, False))
    return lines


def applied(s: Scope, name: str) -> list[str]:
    """A function of a function, which is a lambda or one that is there."""
    kind, body, of = s.kind(), inner(s, 4), inner(s, 0)
    body.functions.append(Function("f({0})", (kind,), kind, False))
    body.names.append(("x", kind))
    body.gives, body.returns = kind, "number"
    lines = ["@func", f"def {name}(f, x: {kind.name}) -> {kind.name}:", *block(body, "    ", 2, None)]
    lines += [f"    return f({expression(body, kind, 1)})", ""]
    of.fixed.append(("q", kind))
    of.closed = True
    there = [
        f.form[:-5] for f in s.functions if f.takes == (kind,) and f.gives is kind and f.form[-5:] == "({0})"
    ]
    given = s.pick(there) if there and s.chance(2) else f"lambda q: {kind.name}({expression(of, kind, 2)})"
    s.functions.append(Function(f"{name}({given}, {{0}})", (kind,), kind))
    return lines


def recursive(s: Scope, name: str) -> list[str]:
    """A function that calls itself as often as is known at compile time."""
    kind, body = s.kind(), inner(s, 4)
    body.names.append(("x", kind))
    body.constants.append("depth")
    end = expression(body, kind, 1)
    lines = [
        "@func",
        f"def {name}(x: {kind.name}, *, depth: Comptime[int]) -> {kind.name}:",
        "    if depth == 0:",
    ]
    lines += [f"        return {end}", f"    y = {name}({expression(body, kind, 1)}, depth=depth - 1)"]
    body.names.append(("y", kind))
    body.gives, body.returns = kind, "number"
    lines += [*block(body, "    ", 1, None), f"    return{returned(body)}", ""]
    s.functions += [Function(f"{name}({{0}}, depth={n})", (kind,), kind) for n in (0, 3)]
    return lines


def record(s: Scope, name: str) -> list[str]:
    """A struct over a type variable, for some types."""
    kind, kinds = variable(s)
    body = inner(s, 3)
    body.favourites = [kind]
    other = s.kind()
    body.fixed += [("self.x", kind), ("self.y", kind), ("self.z", other), ("x", kind)]
    t = kind.name
    lines = [
        "@struct",
        f"class {name}(Generic[{t}]):",
        f"    x: {t}",
        f"    y: {t}",
        f"    z: {other.name}",
        "",
    ]
    lines += [f"    def look(self, x: {t}) -> {t}:", f"        return {expression(body, kind, 2)}", ""]
    lines += [f"    def change(self, x: {t}):", f"        self.y = {expression(body, kind, 2)}"]
    lines += [f"        self.z = {weak(body, other)}", "        return self", ""]
    for one in kinds:
        fields = (("x", one), ("y", one), ("z", other))
        made = Record(f"{name}[{one.name}]", fields, (("look", one, one),), (("change", one),))
        s.types.append(made)
    return lines
