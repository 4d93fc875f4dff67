"""The body of a kernel whose threads work together: shared memory, barriers and atomic operations."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.across import among_blocks, among_grid, named
from tests.fuzz.apart import ROUND, Ways, apart, decided, some_end
from tests.fuzz.expressions import condition, expression, index
from tests.fuzz.expressions import record as made_of
from tests.fuzz.groups import NOTES, grouped
from tests.fuzz.kinds import BOOL, INT, KINDS, Kind
from tests.fuzz.launches import Launched
from tests.fuzz.meetings import WARP
from tests.fuzz.program import Argument
from tests.fuzz.scope import Memory, Record, Scope
from tests.fuzz.statements import assigned, block, simple
from tests.fuzz.stores import hold
from tests.fuzz.values import numbers

__all__ = ["HELPERS", "areas", "together"]

SWAPPED = [
    "@func",
    "def swapped(part, at, size):",
    "    barrier()",
    "    found = part[at % size]",
    "    barrier()",
    "    return found",
    "",
]
HELPERS = {"swapped(": SWAPPED, "gone_round(": ROUND}
"""What is defined where it is called."""
COUNTERS = ["Int32", "UInt32", "Int64", "UInt64"]


@dataclass
class _Team:
    """What the threads of a block have together."""

    alike: Scope
    """What all of them know alike."""
    threads: int
    own: str
    """A thread's number in the block."""
    areas: list[tuple[str, Kind, int]]
    """Arrays through which they go in steps: the text before the index, the kind, how many elements."""
    shared: list[tuple[str, Kind]] = field(default_factory=list[tuple[str, Kind]])
    counter: tuple[str, Kind, str] | None = None
    records: list[tuple[str, Record]] = field(default_factory=list[tuple[str, Record]])
    cluster: int = 1
    """Blocks of a cluster."""
    grid: bool = False
    """Whether all blocks of the grid may wait for each other."""
    ways: Ways | None = None
    """What each warp decided, where blocks are whole warps."""


def areas(s: Scope, made: Launched, arguments: list[Argument]) -> list[tuple[str, Kind, int]]:
    """Arrays through which the threads of a block go in steps: one is read, the other written."""
    blocks, size = made.launch["grid_dim"][0], s.pick([5, 40, 64, 100])
    read, written = s.pick(s.favourites), s.pick(s.favourites)
    arguments.append(Argument("b", "pointer", read.name, numbers(s, read, size)))
    arguments.append(Argument("os", "pointer", written.name, numbers(s, written, size * blocks)))
    meets = "cluster_dim" in made.launch or "cooperative" in made.launch
    if meets or made.count // blocks % WARP == 0:
        arguments.append(Argument(NOTES, "pointer", "Int64", numbers(s, INT, made.count)))
    return [("b[", read, size), (f"os[block_idx.x * {size} + ", written, size)]


def together(s: Scope, made: Launched, areas: list[tuple[str, Kind, int]]) -> list[str]:
    """Statements for each thread, and others that all do: waiting, and what they decide alike."""
    indent, threads = "    ", made.launch["block_dim"]
    alike = Scope(s.choice, fixed=[("n", INT), *[(n, k) for n, k in s.fixed if n[0] == "c"]])
    own = made.where.partition(" + ")[2] if len(threads) > 1 else "thread_idx.x"
    size = made.count // made.launch["grid_dim"][0]
    team, out = _Team(alike, size, own, areas), list[str]()
    team.cluster = made.launch.get("cluster_dim", [1])[0]
    team.grid = "cooperative" in made.launch
    if len(threads) > 1 or s.chance(3):
        out, team.own = [f"    own = {own}"], "own"
    for _ in range(s.number(1, 2)):
        kind, name = s.pick([*s.favourites, INT]), s.fresh("part")
        team.shared.append((name, kind))
        out += _allocated(s, name, kind, made)
        out.append(f"{indent}{name}[{team.own}] = {expression(s, kind, 1, literals=True)}")
        s.memories.append(Memory(f"{name}[{team.own} + {{0}}]", kind, 1, True))
    held = [r for r in s.types if r.form == "struct"]
    if held and s.chance(2):
        record, name = s.pick(held), s.fresh("part")
        team.records.append((name, record))
        space = "address_space=AddressSpace.SHARED"
        out.append(f"{indent}{name} = stack_allocation({record.name}, {max(32, size)}, {space})")
        out.append(f"{indent}{name}[{team.own}] = {made_of(s, record, 2)}")
        hold(s, f"{name}[{team.own} + {{0}}]", record, 1, True)
    for kind in s.favourites:
        name = s.fresh("v")
        out.append(f"{indent}{name} = {expression(s, kind, 1)}")
        s.names.append((name, kind))
    if s.chance(2):
        out += _counter(s, team)
    if size % WARP == 0:
        team.ways = Ways(team.own)
        out += decided(s, team.ways, indent)
    for _ in range(s.number(1, 3) if made.wide else s.number(2, 4)):
        out += _phase(s, team, indent, 2)
    if team.counter is not None:
        at, kind, _ = team.counter
        name = s.fresh("v")
        out += [f"{indent}barrier()", f"{indent}{name} = {at}[{index(s, 4, 0)}]"]
        s.names.append((name, kind))
    elif team.ways is not None and s.chance(3):
        out += some_end(s, team.ways)
    return out


def _allocated(s: Scope, name: str, kind: Kind, made: Launched) -> list[str]:
    size = max(32, made.count // made.launch["grid_dim"][0])
    if "shared_mem_bytes" not in made.launch and s.chance(3):
        made.launch["shared_mem_bytes"] = size * 8
        return [f"    {name} = dynamic_shared_memory({kind.name})"]
    space = "address_space=AddressSpace.SHARED"
    if s.chance(2):
        return [f"    {name} = stack_allocation({kind.name}, Layout.row_major({size}), {space})"]
    return [f"    {name} = stack_allocation({kind.name}, {size}, {space})"]


def _counter(s: Scope, team: _Team) -> list[str]:
    """Counters of the block: an operation whose order does not matter."""
    kind, name = KINDS[s.pick(COUNTERS)], s.fresh("count")
    team.counter = (name, kind, s.pick("add min max and or xor".split()))
    s.counters.append(team.counter)
    return [
        f"    {name} = stack_allocation({kind.name}, 4, address_space=AddressSpace.SHARED)",
        f"    if {team.own} == 0:",
        "        for i in range(4):",
        f"            {name}[i] = {s.number(0, 100)}",
        "    barrier()",
    ]


def _phase(s: Scope, team: _Team, indent: str, depth: int) -> list[str]:
    forms = "own own exchange exchange count if for while strided strided rounds fold scan"
    more = " group group group group group apart apart apart apart decide" if team.ways is not None else ""
    if team.cluster > 1 or team.grid:  # where races are not looked for beside named barriers
        if team.ways is None or indent == "    ":  # see docs/design/next.md for those in branches
            more += " cluster" * 6 * (team.cluster > 1) + " grid" * 4 * team.grid
    elif team.ways is not None and team.threads >= 64:
        more += " named" * 3
    form = s.pick((forms + more).split())
    inner = indent + "    "
    if form == "count" and team.counter is not None:
        name, kind, how = team.counter
        value = expression(s, kind, 1, literals=True)
        return [f'{indent}Atomic.fetch_{how}({name} + {index(s, 4)}, {value}, scope="block")']
    if form in _TOGETHER:
        return _TOGETHER[form](s, team, indent)
    if form in ("own", "count") or depth == 0:
        if s.chance(2):
            return simple(s, indent)
        s.budget = 8
        return [f"{indent}if {condition(s)}:", *block(s, inner, 1, None)]
    mark = s.mark()
    if form == "if":
        out = [f"{indent}if {condition(team.alike)}:", *_phases(s, team, inner, depth)]
        s.back(mark)
        if s.chance(2):
            out += [f"{indent}else:", *_phases(s, team, inner, depth)]
            s.back(mark)
        return out
    i = s.fresh("i")
    if form == "for":
        out = [f"{indent}for {i} in range({s.pick(['n & 3', '2', '3', '(n & 1) + 1'])}):"]
    else:
        out = [f"{indent}{i} = Int(0)", f"{indent}while {i} < {s.number(1, 3)}:", f"{inner}{i} += 1"]
    team.alike.fixed.append((i, INT))
    s.fixed.append((i, INT))
    out += _phases(s, team, inner, depth)
    team.alike.fixed.pop()
    s.back(mark)
    return out


def _phases(s: Scope, team: _Team, indent: str, depth: int) -> list[str]:
    return [line for _ in range(s.number(1, 3)) for line in _phase(s, team, indent, depth - 1)]


def _target(s: Scope, kind: Kind, indent: str) -> str:
    """A variable for what comes from shared memory."""
    known = [n for n, k in s.names if k is kind]
    if known:
        return s.pick(known)
    name = s.fresh("v")
    if indent == "    ":
        s.names.append((name, kind))
    return name


def _exchange(s: Scope, team: _Team, indent: str) -> list[str]:
    if team.records and s.chance(2):
        name, record = s.pick(team.records)
        target = s.pick([n for n, r in s.records if r is record] or [""])
        if not target:
            target = s.fresh("s")
            if indent == "    ":
                s.records.append((target, record))
        at = f"{name}[({team.own} + {s.number(0, 40)}) % {team.threads}]"
        return [f"{indent}barrier()", f"{indent}{target} = {at}", f"{indent}barrier()"]
    name, kind = s.pick(team.shared)
    target, size = _target(s, kind, indent), s.pick(["block_dim.x", str(team.threads)])
    size = size if team.own == "thread_idx.x" else str(team.threads)
    at = f"{team.own} + {s.number(0, 40)}"
    if s.chance(3):
        return [f"{indent}{target} = swapped({name}, {at}, {size})"]
    return [f"{indent}barrier()", f"{indent}{target} = {name}[({at}) % {size}]", f"{indent}barrier()"]


def _strided(s: Scope, team: _Team, indent: str) -> list[str]:
    """A loop in which each thread takes every so manieth element, beginning at its own."""
    (read, kind, size), (write, other, _) = team.areas
    i, mark, inner = s.fresh("i"), s.mark(), indent + "    "
    end = s.pick([str(size), str(size), f"{size} - (n & 3)", f"min(n & 127, {size})"])
    step = s.pick([str(team.threads), "block_dim.x" if team.own == "thread_idx.x" else str(team.threads)])
    out, last = [f"{indent}for {i} in range({team.own}, {end}, {step}):"], list[str]()
    counts = s.chance(2)
    if counts:
        test = s.pick([f"{i} < {end}", f"{end} > {i}", f"{i} <= {end} - 1", "True"])
        out = [f"{indent}{i} = Int({team.own})", f"{indent}while {test}:"]
        out += [f"{inner}if {i} >= {end}:", f"{inner}    break"] if test == "True" else []
        last = [f"{inner}{i} {s.pick(['+=', f'= {i} +'])} {step}"]
        leaves = [f"{inner}if {condition(s, 1)}:", f"{inner}    break"] if s.chance(4) else []
        last = [*leaves, *last] if s.chance(2) else [*last, *leaves]
    s.fixed += [(i, INT), (f"{read}{i}]", kind)]
    s.memories.append(Memory(f"{write}{i} + {{0}}]", other, 1, True))
    lines = list[str]()
    if s.chance(3):
        s.budget = 3
        lines += [f"{inner}if {condition(s)}:", *block(s, inner + "    ", 1, None)]
    lines += [line for _ in range(s.number(0, 2)) for line in assigned(s, inner)]
    numbers = [n for n, k in s.names if k is kind and k is not BOOL]
    if numbers and s.chance(2):
        name = s.pick(numbers)
        lines.append(
            f"{inner}{s.pick(['{0} += {1}', '{0} = max({0}, {1})', '{0} -= {1}'])}".format(
                name, f"{read}{i}]"
            )
        )
    else:
        lines.append(f"{inner}{write}{i}] = {expression(s, other, 2, literals=True)}")
    s.back(mark)
    if counts and s.chance(2):
        s.fixed.append((i, INT))
    return [*out, *lines, *last]


def _rounds(s: Scope, team: _Team, indent: str) -> list[str]:
    """A loop of which all threads make the same rounds."""
    read, kind, size = team.areas[0]
    i, mark, inner = s.fresh("i"), s.mark(), indent + "    "
    end = s.pick([f"n & {1 << (size.bit_length() - 1)} - 1", str(size), f"min(n & 63, {size})"])
    s.fixed += [(i, INT), (f"{read}{i}]", kind), (f"{read}({i} + {team.own}) % {size}]", kind)]
    lines = [line for _ in range(s.number(1, 2)) for line in assigned(s, inner)]
    if s.chance(3):
        s.budget = 2
        lines += [f"{inner}if {condition(s)}:", *block(s, inner + "    ", 1, None)]
    s.back(mark)
    return [f"{indent}for {i} in range({end}):", *lines]


JOINED = ["{0} + {1}", "max({0}, {1})", "min({0}, {1})", "{1} - {0}"]


def _fold(s: Scope, team: _Team, indent: str) -> list[str]:
    """The threads' numbers made one, half of them after the other."""
    name, kind = s.pick(team.shared)
    half, k, inner = 1 << max((team.threads - 1).bit_length() - 1, 0), s.fresh("k"), indent + "    "
    test = f"{team.own} < {k}" + (
        f" and {team.own} + {k} < {team.threads}" if 2 * half != team.threads else ""
    )
    both = s.pick(JOINED).format(f"{name}[{team.own}]", f"{name}[{team.own} + {k}]")
    step = [f"{inner}if {test}:", f"{inner}    {name}[{team.own}] = {kind.name}({both})", f"{inner}barrier()"]
    if s.chance(3):
        powers = [str(half >> n) for n in range(half.bit_length())]
        head = [f"{indent}for {k} in ({', '.join(powers)},):"]
    else:
        head = [f"{indent}{k} = Int({half})", f"{indent}while {k} > 0:"]
        step.append(f"{inner}{k} {s.pick(['//= 2', '>>= 1'])}")
    found = _target(s, kind, indent)
    return [f"{indent}barrier()", *head, *step, f"{indent}{found} = {name}[0]", f"{indent}barrier()"]


def _scan(s: Scope, team: _Team, indent: str) -> list[str]:
    """To each thread's number what those before it have, at doubled distances."""
    name, kind = s.pick(team.shared)
    d, x, inner = s.fresh("d"), s.fresh("x"), indent + "    "
    both = s.pick(JOINED).format(x, f"{name}[{team.own} - {d}]")
    return [
        f"{indent}barrier()",
        f"{indent}{d} = Int(1)",
        f"{indent}while {d} < {team.threads}:",
        f"{inner}{x} = {name}[{team.own}]",
        f"{inner}if {team.own} >= {d}:",
        f"{inner}    {x} = {kind.name}({both})",
        f"{inner}barrier()",
        f"{inner}{name}[{team.own}] = {x}",
        f"{inner}barrier()",
        f"{inner}{d} *= 2",
    ]


def _group(s: Scope, team: _Team, indent: str) -> list[str]:
    return grouped(s, team.threads, indent)


def _apart(s: Scope, team: _Team, indent: str) -> list[str]:
    assert team.ways is not None
    mark = s.mark()
    out = apart(s, team.ways, [(name, kind.name) for name, kind in team.shared], indent)
    s.back(mark)
    return out


def _decide(s: Scope, team: _Team, indent: str) -> list[str]:
    """More that a warp decides, where all that comes behind knows it."""
    assert team.ways is not None
    return decided(s, team.ways, indent) if indent == "    " else _apart(s, team, indent)


def _cluster(s: Scope, team: _Team, indent: str) -> list[str]:
    given = team.alike, team.cluster, team.threads, team.own, team.shared
    return among_blocks(s, *given, lambda kind: _target(s, kind, indent), indent)


def _grid(s: Scope, team: _Team, indent: str) -> list[str]:
    return among_grid(s, team.own, team.areas[1], lambda kind: _target(s, kind, indent), indent)


def _named(s: Scope, team: _Team, indent: str) -> list[str]:
    return named(s, team.own, team.threads, team.shared, indent)


_TOGETHER = {
    "cluster": _cluster,
    "grid": _grid,
    "named": _named,
    "group": _group,
    "apart": _apart,
    "decide": _decide,
    "exchange": _exchange,
    "strided": _strided,
    "rounds": _rounds,
    "fold": _fold,
    "scan": _scan,
}
