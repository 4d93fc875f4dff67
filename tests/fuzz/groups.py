"""Random statements in which the lanes of a warp, or the threads of a block, hand each other values."""

from __future__ import annotations

import re

from tests.fuzz.expressions import condition, expression, vector
from tests.fuzz.expressions import record as made
from tests.fuzz.kinds import BOOL, INT, INTEGERS, KINDS, Kind
from tests.fuzz.scope import Scope

__all__ = ["GIVEN", "NOTES", "alone", "grouped", "noted"]

NOTES = "ow"
"""An array with an element for each thread, into which goes all that it was given."""

GIVEN = "number told vector items record histogram sort".split()
ANY = """warp.shuffle_idx({x}, {i}, width={w})
warp.shuffle_up({x}, {i}, width={w})
warp.shuffle_down({x}, {i}, width={w})
warp.shuffle_xor({x}, {i}, width={w})
warp.shuffle_xor({x}, {n})
warp.broadcast({x}, {n})
block.broadcast({x}, {t})
block.exchange({x}, {o}, most=256)""".splitlines()
"""Of any value ``{x}``: ``{i}`` is any lane, ``{n}`` a known one, ``{t}`` one thread for all, ``{o}`` any."""
SUMS = """warp.sum({x}, width={w})
warp.sum({x})
warp.min({x})
warp.max({x}, width={w})
warp.reduce({x}, lambda a, b: {f}, width={w})
warp.reduce({x}, lambda a, b: {f}, width=4, stride={s})
warp.sum({x}, width={s}, stride=4)
warp.max({x}, width=2, stride={s})
block.sum({x})
block.max({x})
block.min({x})
block.reduce({x}, lambda a, b: {f})""".splitlines()
ITEMS = [f"block.{name}({{x}}, most=256)" for name in ("blocked_to_striped", "striped_to_blocked")]
NUMBERS = """warp.prefix_sum({x})
warp.prefix_sum({x}, exclusive=True, width={w})
block.prefix_sum({x})
block.prefix_sum({x}, exclusive=True)""".splitlines()
JOINING = ["a + b", "b - a", "math.min(a, b) - b", "a + b - 1"]
TOLD = {
    "UInt32": ["warp.ballot({c})", "warp.match_any({m})"],
    "Int32": ["block.count({c})"],
    "Bool": [f"{name}({{c}})" for name in ("warp.any", "warp.all", "warp.uniform", "block.any", "block.all")],
}
TOLD["Bool"].append("warp.match_all({m})")


def _filled(s: Scope, form: str, value: str, threads: int) -> str:
    holes = {
        "x": lambda: value,
        "i": lambda: f"({expression(s, s.pick([INT, KINDS['Int32'], KINDS['UInt8']]), 1)} & 31)",
        "n": lambda: str(s.number(0, 31)),
        "w": lambda: str(s.pick([2, 4, 8, 16, 32, 32, 32])),
        "s": lambda: str(s.pick([1, 2, 4, 8])),
        "t": lambda: str(s.number(0, threads - 1)),
        "o": lambda: f"({expression(s, INT, 1)} & 1023) % {threads}",
        "f": lambda: s.pick(JOINING),
        "c": lambda: condition(s, 1),
        "m": lambda: expression(s, s.kind(), 1),
    }
    return re.sub(r"\{(\w)\}", lambda found: holes[found[1]](), form)


def noted(value: str, kind: Kind) -> str:
    """A number added to what a thread notes."""
    if kind.is_float:
        value = f"({value} if {value} == {value} else {kind.name}(1.5)).bitcast(Int{kind.bits})"
    return f"{NOTES}[row] = {NOTES}[row] * 31 + Int64({value})"


def grouped(s: Scope, threads: int, indent: str) -> list[str]:
    """A statement that all threads come to, and what they note of it; both are known behind it at the top."""
    how = s.given if s.given and s.chance(2) else s.pick([*GIVEN, "number", "number"])
    name, outside = s.fresh("v"), indent == "    "
    records = [r for _, r in s.records if r.form == "struct"]
    if how == "vector" and s.vectors:
        _, kind, lanes = s.pick(s.vectors)
        call = _filled(s, s.pick([*ANY, *SUMS]), vector(s, kind, lanes, 1), threads)
        if outside:
            s.vectors.append((name, kind, lanes))
        return [f"{indent}{name} = {call}", indent + noted(f"{name}[{s.number(0, lanes - 1)}]", kind)]
    if how == "items":
        kind, lanes = s.kind(), s.pick([2, 4])
        call = _filled(s, s.pick(ITEMS), vector(s, kind, lanes, 1), threads)
        if outside:
            s.vectors.append((name, kind, lanes))
        return [f"{indent}{name} = {call}", indent + noted(f"{name}[{s.number(0, lanes - 1)}]", kind)]
    if how == "record" and records:
        record = s.pick(records)
        call = _filled(s, s.pick(ANY), made(s, record, 1), threads)
        if outside:
            s.records.append((name, record))
        return [f"{indent}{name} = {call}", indent + noted(*s.pick(record.reads(name)))]
    if how == "histogram":
        return _histogram(s, name, indent)
    if how == "told":
        kind = KINDS[s.pick([*TOLD])]
        call = _filled(s, s.pick(TOLD[kind.name]), "", threads)
    elif how == "sort":
        kind = s.pick([k for k in INTEGERS if k.bits == 8])
        more = s.pick(["", ", descending=True"])
        if s.chance(2):
            return _sorted(s, kind, more, indent)
        call = f"block.radix_sort({kind.name}({expression(s, s.kind(), 1)}){more}, most=256)"
    else:
        kind = BOOL if s.chance(10) else s.kind()
        forms = ANY if kind is BOOL else [*ANY, *SUMS, *NUMBERS]
        call = _filled(s, s.pick(forms), f"{kind.name}({expression(s, kind, 1)})", threads)
    return _kept(s, kind, name, call, indent)


def _kept(s: Scope, kind: Kind, name: str, call: str, indent: str) -> list[str]:
    known = [n for n, k in s.names if k is kind]
    if known and s.chance(2):
        name = s.pick(known)
    elif indent == "    ":
        s.names.append((name, kind))
    return [f"{indent}{name} = {call}", indent + noted(name, kind)]


def _sorted(s: Scope, kind: Kind, more: str, indent: str) -> list[str]:
    """Keys in order, and what goes with them."""
    key, value, other = s.fresh("v"), s.fresh("v"), s.kind()
    given = f"{kind.name}({expression(s, s.kind(), 1)}), {other.name}({expression(s, other, 1)})"
    if indent == "    ":
        s.names += [(key, kind), (value, other)]
    call = f"block.radix_sort({given}{more}, most=256)"
    return [f"{indent}{key}, {value} = {call}", indent + noted(key, kind), indent + noted(value, other)]


def _histogram(s: Scope, name: str, indent: str) -> list[str]:
    """Counts in shared memory, read at once."""
    bins = s.pick([4, 8, 32])
    at = f"{s.number(-2, 2)} + ({expression(s, INT, 1)} & {2 * bins - 1})"
    lines = [f"{indent}{name} = block.histogram({at}, bins={bins})"]
    read = f"{name}[{expression(s, INT, 1)} & {bins - 1}]"
    return [*lines, *_kept(s, KINDS["UInt32"], s.fresh("v"), read, indent)]


def alone(s: Scope, indent: str) -> list[str]:
    """What lanes of a warp are given by each other, where other warps may not be."""
    if s.chance(3):
        kind = KINDS[s.pick([*TOLD])]
        form = s.pick([f for f in TOLD[kind.name] if f.startswith("warp.")] or ["warp.match_any({m})"])
        kind = kind if kind.name != "Int32" else KINDS["UInt32"]
        call = _filled(s, form, "", 32)
    else:
        kind = s.kind()
        forms = ANY if kind is BOOL else [*ANY, *SUMS, *NUMBERS]
        form = s.pick([f for f in forms if f.startswith("warp.")])
        call = _filled(s, form, f"{kind.name}({expression(s, kind, 1)})", 32)
    known = [n for n, k in s.names if k is kind]
    name = s.pick(known) if known and s.chance(2) else s.fresh("v")
    return [f"{indent}{name} = {call}", indent + noted(name, kind)]
