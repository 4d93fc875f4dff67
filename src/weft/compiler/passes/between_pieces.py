"""How every value of a block's threads gets from the piece where it is made to those that use it.

It is made again where that is cheap, kept for every thread in an array, or a variable of the block where all
threads have the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import IntType
from weft.compiler.passes.given_first import kept_before
from weft.compiler.passes.in_turn import in_turn
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.uniformity import OWN
from weft.compiler.passes.vectors import made_anew
from weft.compiler.passes.warp_calls import handed

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody

_CHEAP = 8
"""Operations that are rather made again than kept for every thread."""
_FEW_TIMES = 64
"""And for one thread along x."""


def allocate(body: BarrierBody, nodes: list[Piece]) -> None:
    """Decide for every value how it gets from where it is made to where it is used."""
    for v in _asked(nodes):
        body.met[v] = body.variable(v.type, "some"), body.variable(v.type, "all")
    for v in _uniform_uses(body, nodes):
        if v in body.home and not _again(body, v, True):
            body.cells[v] = body.variable(v.type, v.name)
            if isinstance(v.type, IntType):  # where no thread is left to say it
                body.b.set(body.cells[v], body.b.constant(0, v.type))
    taken = {v for op in body.kernel.body.walk() for v in handed(op) if not body.together.once(v)}
    every = set[Piece]().union(*body.used_in.values())
    kept = {v for user in every for v in kept_before(user.ops)}.union(body.in_place.values())
    made: dict[Piece, list[Value]] = {}
    for v, home in list(body.home.items()):
        owner = v.owner
        users = body.used_in.get(v, set())
        if isinstance(owner, Op) and owner.name == "llvm.alloca":  # its address may be anywhere
            kind, alignment = owner.type_attr("elem_type"), owner.int_attr("alignment")
            count = _padded(owner.int_attr("count"), max(1, kind.bits // 8), alignment)
            body.arrays[v] = (body.array(kind, count, alignment, home), kind, count)
        elif isinstance(owner, Op) and owner.name == "weft.slot":
            kind = owner.type_attr("elem_type")
            if v in body.together.variables:
                body.uniform[v] = body.variable(kind, str(owner.attrs["name"]))
            elif v in kept and (len(users) > 1 or any(u.in_loop for u in users)):
                body.arrays[v] = (body.array(kind, home=home), kind, 1)
            else:
                body.scalars[v] = body.hoisted(owner.name, (), v.type, owner.attrs)
        elif v in taken or (users - {home} and not body.together.once(v) and not _anew(body, v, users)):
            if _again(body, v, False) or body.wide:  # also by what is made of it elsewhere
                body.arrays[v] = (body.array(v.type, home=home), v.type, 1)
            else:
                made.setdefault(home, []).append(v)
    for v, array in in_turn(nodes, made, body.used_in, body.array, {}):
        body.arrays[v] = (array, v.type, 1)


def _asked(nodes: list[Piece]) -> list[Value]:
    """What threads are asked for anywhere."""
    return [v for n in nodes for v in (*n.asked, *(v for part in n.parts for v in _asked(part)))]


def _uniform_uses(body: BarrierBody, nodes: list[Piece]) -> list[Value]:
    """The values that control flow outside the segments needs."""
    out: list[Value] = []
    for node in nodes:
        if node.op is not None:
            wanted = body.together.decides(node.op)
            out.extend(v for v in wanted if v not in node.asked and not body.together.once(v))
        for part in node.parts:
            out.extend(_uniform_uses(body, part))
    return out


def _again(body: BarrierBody, v: Value, uniform: bool, most: int = _CHEAP) -> bool:
    """Whether ``v`` is cheaper computed anew than kept: pure, from indices and arguments."""
    return _cost(body, v, uniform, most) <= most


def _anew(body: BarrierBody, v: Value, users: set[Piece]) -> bool:
    """Whether it is by all that use it, of which lanes compute with numbers alone."""
    lanes = any(user.laned for user in users)
    few = all(user.single or user is body.home.get(v) for user in users)
    return _again(body, v, False, _FEW_TIMES if few else _CHEAP) and (
        not lanes or made_anew(v, body.together.once)
    )


def _cost(body: BarrierBody, v: Value, uniform: bool, room: int) -> int:
    """Operations that it takes; more than ``room`` is not counted, as squares of squares are many."""
    owner = v.owner
    if body.together.once(v):
        return 0
    if not isinstance(owner, Op):
        return 0 if v not in body.home else 100
    if owner.name == "llvm.alloca":
        return 4
    if not owner.spec.pure or owner.regions or (uniform and owner.name in OWN):
        return 100
    total = 1
    for operand in owner.operands:
        total += _cost(body, operand, uniform, room - total)
        if total > room:
            break
    return total


def _padded(count: int, size: int, alignment: int) -> int:
    """So many elements that what follows them is aligned too."""
    while count * size % alignment:
        count += 1
    return count
