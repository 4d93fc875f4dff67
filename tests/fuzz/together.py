"""The body of a kernel whose threads work together: shared memory, barriers and atomic operations."""

from __future__ import annotations

from typing import Any

from tests.fuzz.expressions import condition, expression, index
from tests.fuzz.kinds import INT, KINDS, Kind
from tests.fuzz.scope import Memory, Scope
from tests.fuzz.statements import block, simple

__all__ = ["SWAPPED", "together"]

SWAPPED = [
    "@func",
    "def swapped(part, at):",
    "    barrier()",
    "    found = part[at % block_dim.x]",
    "    barrier()",
    "    return found",
    "",
]
COUNTERS = ["Int32", "UInt32", "Int64", "UInt64"]


def together(s: Scope, launch: dict[str, Any]) -> list[str]:
    """Statements for each thread, and others that all do: waiting, and what they decide alike."""
    indent = "    "
    alike = Scope(s.choice, fixed=[("n", INT), *[(n, k) for n, k in s.fixed if n[0] == "c"]])
    out: list[str] = []
    shared: list[tuple[str, Kind]] = []
    for _ in range(s.number(1, 2)):
        kind, name = s.pick([*s.favourites, INT]), s.fresh("part")
        shared.append((name, kind))
        out += _allocated(s, name, kind, launch)
        out.append(f"{indent}{name}[thread_idx.x] = {expression(s, kind, 1, literals=True)}")
        s.memories.append(Memory(f"{name}[thread_idx.x + {{0}}]", kind, 1, True))
    for kind in s.favourites:
        name = s.fresh("v")
        out.append(f"{indent}{name} = {expression(s, kind, 1)}")
        s.names.append((name, kind))
    counter = _counter(s) if s.chance(2) else None
    if counter is not None:
        out += counter[0]
        s.counters.append(counter[1:])
    for _ in range(s.number(2, 4)):
        out += _phase(s, alike, shared, counter, indent, 2)
    if counter is not None:
        kind = counter[2]
        name = s.fresh("v")
        out += [f"{indent}barrier()", f"{indent}{name} = {counter[1]}[{index(s, 4, 0)}]"]
        s.names.append((name, kind))
    return out


def _allocated(s: Scope, name: str, kind: Kind, launch: dict[str, Any]) -> list[str]:
    if "shared_mem_bytes" not in launch and s.chance(3):
        launch["shared_mem_bytes"] = 32 * 8
        return [f"    {name} = dynamic_shared_memory({kind.name})"]
    space = "address_space=AddressSpace.SHARED"
    if s.chance(2):
        return [f"    {name} = stack_allocation({kind.name}, Layout.row_major(32), {space})"]
    return [f"    {name} = stack_allocation({kind.name}, 32, {space})"]


def _counter(s: Scope) -> tuple[list[str], str, Kind, str]:
    """Counters of the block: an operation whose order does not matter."""
    kind, name = KINDS[s.pick(COUNTERS)], s.fresh("count")
    how = s.pick("add min max and or xor".split())
    lines = [
        f"    {name} = stack_allocation({kind.name}, 4, address_space=AddressSpace.SHARED)",
        "    if thread_idx.x == 0:",
        "        for i in range(4):",
        f"            {name}[i] = {s.number(0, 100)}",
        "    barrier()",
    ]
    return lines, name, kind, how


def _phase(
    s: Scope,
    alike: Scope,
    shared: list[tuple[str, Kind]],
    counter: tuple[list[str], str, Kind, str] | None,
    indent: str,
    depth: int,
) -> list[str]:
    form = s.pick("own own exchange exchange count if for while".split())
    inner = indent + "    "
    if form == "count" and counter is not None:
        _, name, kind, how = counter
        value = expression(s, kind, 1, literals=True)
        return [f'{indent}Atomic.fetch_{how}({name} + {index(s, 4)}, {value}, scope="block")']
    if form == "exchange":
        name, kind = s.pick(shared)
        target = s.pick([n for n, k in s.names if k is kind] or [""])
        other = f"{name}[(thread_idx.x + {s.number(0, 40)}) % block_dim.x]"
        if not target:
            target = s.fresh("v")
            if indent == "    ":
                s.names.append((target, kind))
        if s.chance(3):
            return [f"{indent}{target} = swapped({name}, thread_idx.x + {s.number(0, 40)})"]
        return [f"{indent}barrier()", f"{indent}{target} = {other}", f"{indent}barrier()"]
    if form in ("own", "count") or depth == 0:
        if s.chance(2):
            return simple(s, indent)
        s.budget = 8
        return [f"{indent}if {condition(s)}:", *block(s, inner, 1, None)]
    mark = s.mark()
    if form == "if":
        out = [f"{indent}if {condition(alike)}:", *_phases(s, alike, shared, counter, inner, depth)]
        s.back(mark)
        if s.chance(2):
            out += [f"{indent}else:", *_phases(s, alike, shared, counter, inner, depth)]
            s.back(mark)
        return out
    i = s.fresh("i")
    if form == "for":
        out = [f"{indent}for {i} in range({s.pick(['n & 3', '2', '3', '(n & 1) + 1'])}):"]
    else:
        out = [f"{indent}{i} = Int(0)", f"{indent}while {i} < {s.number(1, 3)}:", f"{inner}{i} += 1"]
    alike.fixed.append((i, INT))
    s.fixed.append((i, INT))
    out += _phases(s, alike, shared, counter, inner, depth)
    alike.fixed.pop()
    s.back(mark)
    return out


def _phases(
    s: Scope,
    alike: Scope,
    shared: list[tuple[str, Kind]],
    counter: tuple[list[str], str, Kind, str] | None,
    indent: str,
    depth: int,
) -> list[str]:
    out: list[str] = []
    for _ in range(s.number(1, 3)):
        out += _phase(s, alike, shared, counter, indent, depth - 1)
    return out
