"""Random statements in which blocks of a cluster or of a grid meet, or some warps of a block do."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.expressions import expression
from tests.fuzz.groups import alone, noted
from tests.fuzz.kinds import KINDS, Kind
from tests.fuzz.scope import Scope

__all__ = ["among_blocks", "among_grid", "named"]

Target = Callable[[Kind], str]
"""What finds a variable for what is read."""
Shared = list[tuple[str, Kind]]


def _met(s: Scope, alike: Scope, indent: str) -> list[str]:
    """All threads of the cluster meet, perhaps with something done in between."""
    if s.chance(2):
        return [f"{indent}cluster_sync()"]
    kind, name = s.kind(), s.fresh("v")
    meanwhile = f"{indent}{name} = {expression(alike, kind, 1)}"
    if indent == "    ":
        s.names.append((name, kind))
    return [f"{indent}cluster_arrive()", meanwhile, f"{indent}cluster_wait()"]


def among_blocks(
    s: Scope, alike: Scope, blocks: int, threads: int, own: str, shared: Shared, target: Target, indent: str
) -> list[str]:
    """Shared memory of another block is read or written, between two meetings of the cluster."""
    (name, kind), place = s.pick(shared), s.fresh("p")
    shifted = s.pick(["(block_rank_in_cluster() + {0}) % cluster_dim.x", "block_rank_in_cluster() ^ {1}"])
    shifted = shifted.format(s.number(1, blocks), s.number(1, blocks - 1))
    at = f"({own} + {s.number(0, 40)}) % {threads}"
    if s.chance(2):
        given = s.fresh("v")  # before they meet: it may read what another block changes
        before = [f"{indent}{given} = {kind.name}({expression(s, kind, 1, literals=True)})"]
        change = f"{place}[{at}] = {given}"
        seen = f"{name}[{own}]"
    else:
        anyone = f"{expression(s, KINDS['Int32'], 1)} & {blocks - 1}"
        shifted = s.pick(
            [shifted, anyone, f"block_id_in_cluster.x ^ {blocks - 1}", str(s.number(0, blocks - 1))]
        )
        before, seen = [], target(kind)  # which the number above must not read
        change = f"{seen} = {place}[{at}]"
    lines = [f"{indent}{place} = map_shared_rank({name}, {shifted})", indent + change]
    met = [*_met(s, alike, indent), *lines, *_met(s, alike, indent)]
    return [*before, *met, indent + noted(seen, kind)]


def among_grid(s: Scope, own: str, area: tuple[str, Kind, int], target: Target, indent: str) -> list[str]:
    """What another block of the grid has written to memory is read, between two meetings of all."""
    text, kind, size = area
    other = f"(block_idx.x + {s.number(0, 3)}) % grid_dim.x"
    read = text.replace("block_idx.x", f"({other})") + f"({own} + {s.number(0, 40)}) % {size}]"
    first = f"{indent}    {text}{own}] = {expression(s, kind, 1, literals=True)}"
    found = target(kind)
    lines = [f"{indent}grid_sync()", f"{indent}{found} = {read}", f"{indent}grid_sync()"]
    return [f"{indent}if {own} < {size}:", first, *lines, indent + noted(found, kind)]


def named(s: Scope, own: str, threads: int, shared: Shared, indent: str) -> list[str]:
    """Some warps meet at a named barrier while others go on, or say there that they have written."""
    (name, kind), inner, number = s.pick(shared), indent + "    ", s.number(1, 15)
    some, found = s.number(1, threads // 32 - 1), s.fresh("v")
    who = s.pick(["warp.warp_id() < {0}", "{1} < {2}", "not {1} // 32 >= {0}"]).format(some, own, 32 * some)
    write = f"{inner}{name}[{own}] = {expression(s, kind, 1, literals=True)}"
    read = [f"{inner}{found} = {name}[({own} + {s.number(0, 40)}) % {32 * some}]", inner + noted(found, kind)]
    others = [f"{indent}else:", *alone(s, inner)]
    if s.chance(2):  # those that are told are the others
        meet = f"named_barrier{{}}({number}, {threads})"
        body = [f"{indent}if {who}:", write, inner + meet.format("_arrive")]
        body += [*(alone(s, inner) if s.chance(2) else []), f"{indent}else:"]
        body += [inner + meet.format(""), *read]
    else:
        meet = f"{inner}named_barrier({number}, {32 * some})"
        body = [f"{indent}if {who}:", write, meet, *read, meet]
        body += [inner + f"{name}[{own}] = {expression(s, kind, 0)}"] if s.chance(2) else []
        body += others if s.chance(2) else []
    return [f"{indent}barrier()", *body, f"{indent}barrier()"]
