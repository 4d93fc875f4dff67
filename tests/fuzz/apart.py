"""Random statements of warps that go ways of their own, decided before the loops and barriers around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.expressions import condition, expression
from tests.fuzz.groups import alone, noted
from tests.fuzz.kinds import BOOL, INT, KINDS
from tests.fuzz.scope import Scope
from tests.fuzz.statements import assigned, block

__all__ = ["ROUND", "Ways", "apart", "decided", "some_end"]

ROUND = [
    "@func",
    "def gone_round(x, most):",
    "    for i in range(most):",
    "        x = warp.shuffle_up(x, 1)",
    "        if most > 2:",
    "            x = warp.shuffle_xor(x, 4)",
    "    return x",
    "",
]
"""What lanes hand on for as many rounds as their warp makes."""


@dataclass
class Ways:
    """What all lanes of a warp know alike, and each warp otherwise: names of Bool and of Int from 0 to 3."""

    own: str
    """A thread's number in its block."""
    flags: list[str] = field(default_factory=list[str])
    counts: list[str] = field(default_factory=list[str])


def decided(s: Scope, ways: Ways, indent: str) -> list[str]:
    """Decisions of each warp that stand in variables."""
    out: list[str] = []
    for _ in range(s.number(1, 2)):
        value, name = _test(s, ways, 1), s.fresh("f")
        out.append(f"{indent}{name} = {value}")
        ways.flags.append(name)
    if s.chance(2):
        value, name = _count(s, ways), s.fresh("m")
        out.append(f"{indent}{name} = {value}")
        ways.counts.append(name)
    return out


def _test(s: Scope, ways: Ways, depth: int) -> str:
    """A condition that is alike in all lanes of a warp."""
    forms = [
        f"warp.warp_id() & 1 == {s.number(0, 1)}",
        f"warp.warp_id() >= {s.number(0, 3)}",
        f"{ways.own} // 32 != {s.number(0, 3)}",
        f"warp.any({condition(s, 1)})",
        f"warp.all({condition(s, 1)})",
        f"warp.broadcast(Bool({condition(s, 1)}), {s.number(0, 31)})",
        f"{_count(s, ways)} > {s.number(0, 2)}",
    ]
    forms += ways.flags * 5
    if depth and ways.flags:
        joined = s.pick(["{0} and {1}", "{0} or {1}", "not ({1})", "{0} != ({1})"])
        forms += [f"Bool({joined.format(s.pick(ways.flags), _test(s, ways, depth - 1))})"] * 3
    return f"Bool({s.pick(forms)})"


def _count(s: Scope, ways: Ways) -> str:
    """A number from 0 to 3 that is alike in all lanes of a warp."""
    some = expression(s, KINDS["Int32"], 1)
    forms = [
        "warp.warp_id() & 3",
        f"({ways.own} // 32 + {s.number(0, 3)}) % 3",
        f"Int64(warp.broadcast(Int32({some}), {s.number(0, 31)}) & 3)",
        f"Int64(bit.pop_count(warp.ballot({condition(s, 1)})) & 3)",
    ]
    return s.pick([*forms, *ways.counts * 4])


def apart(s: Scope, ways: Ways, shared: list[tuple[str, str]], indent: str, depth: int = 3) -> list[str]:
    """A statement of some warps, all lanes of which come to it; ``shared`` has an element for each thread."""
    forms = "op op op swap own decide call"
    form = s.pick((forms if depth == 0 else forms + " if if if if for for while").split())
    inner = indent + "    "
    if form == "decide" and ways.flags:
        return [f"{indent}{s.pick(ways.flags)} = {_test(s, ways, 1)}"]
    if form == "swap" and shared:
        return _swapped(s, ways, shared, indent)
    if form == "call":
        return _called(s, ways, indent)
    if form == "own":
        s.budget = 2
        if s.chance(2):
            return [f"{indent}if {condition(s)}:", *block(s, inner, 1, None)]
        return assigned(s, indent)
    if form not in ("if", "for", "while"):
        return alone(s, indent)

    def body(jumps: bool = False) -> list[str]:
        mark = s.mark()
        lines = [line for _ in range(s.number(1, 2)) for line in apart(s, ways, shared, inner, depth - 1)]
        if jumps and s.chance(3):
            lines += [f"{inner}if {_test(s, ways, 0)}:", f"{inner}    {s.pick(['break', 'continue'])}"]
            lines += alone(s, inner)
        s.back(mark)
        return lines

    if form == "if":
        out = [f"{indent}if {_test(s, ways, 1)}:", *body()]
        if s.chance(3):
            out += [f"{indent}elif {_test(s, ways, 1)}:", *body()]
        return out + ([f"{indent}else:", *body()] if s.chance(2) else [])
    i, mark = s.fresh("i"), s.mark()
    if form == "for":
        head = [f"{indent}for {i} in range({_count(s, ways)}):"]
    else:
        test = f"{i} < {_count(s, ways)}"
        test = s.pick([test, f"{test} and {_test(s, ways, 0)}", f"{_test(s, ways, 0)} and {test}"])
        head = [f"{indent}{i} = Int(0)", f"{indent}while {test}:", f"{inner}{i} += 1"]
    s.fixed.append((i, INT))
    lines = body(jumps=True)
    s.back(mark)
    return [*head, *lines]


def _swapped(s: Scope, ways: Ways, shared: list[tuple[str, str]], indent: str) -> list[str]:
    """An element of another lane of the warp, from shared memory."""
    name, kind = s.pick(shared)
    found = s.fresh("v")
    at = s.pick(
        [f"{ways.own} ^ {s.number(1, 31)}", f"({ways.own} & -32) + ({ways.own} + {s.number(1, 31)} & 31)"]
    )
    lines = [f"{indent}warp.syncwarp()", f"{indent}{found} = {name}[{at}]", f"{indent}warp.syncwarp()"]
    return [*lines, indent + noted(found, KINDS[kind])]


def _called(s: Scope, ways: Ways, indent: str) -> list[str]:
    kind = s.kind()
    if kind is BOOL:
        return alone(s, indent)
    found = s.fresh("v")
    call = f"gone_round({kind.name}({expression(s, kind, 1)}), {_count(s, ways)})"
    return [f"{indent}{found} = {call}", indent + noted(found, kind)]


def some_end(s: Scope, ways: Ways) -> list[str]:
    """Whole warps end, and others go on among themselves."""
    ends = [f"    if {_test(s, ways, 1)}:", *(alone(s, "        ") if s.chance(2) else []), "        return"]
    return ends + [line for _ in range(s.number(1, 2)) for line in apart(s, ways, [], "    ", 2)]
