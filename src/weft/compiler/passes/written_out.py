"""Loops of a few known rounds in which lanes of a warp hand each other values, written out.

In ``while offset > 0: x += warp.shuffle_down(x, offset); offset //= 2`` each round has its own offset. Where
that is a number, so is the lane that each lane reads from, and a warp is one vector (``warps.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from weft.abi.warp import WARP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Module, Op, Region, Value
from weft.compiler.ir.types import I1, I64, VectorType
from weft.compiler.passes.loop_variables import Place, gets, given_before, sets, within
from weft.compiler.passes.uniformity import LOOPS
from weft.compiler.passes.warps import is_exchange

_ROUNDS = 8
"""At most so many, of which each is half of what was left: more are rarely for a warp."""
_OPS = 512
"""Operations written out at most."""
_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrsi": lambda a, b: a >> b,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}
_END = 1 << 62
"""What is computed of lanes and offsets is not followed beyond it."""


def written_out(module: Module) -> None:
    """Rewrite every function of the module, in place."""
    for f in module.functions:
        if any(_is_open(op) for op in f.body.walk()):
            _region(f.body, ())


def _is_open(op: Op) -> bool:
    """Whether lanes hand each other a number of lanes that are not known: vectors no warp has as one."""
    alone = op.name == "gpu.shuffle" and not isinstance(op.result.type, VectorType)
    return alone and not is_exchange(op)


def _region(region: Region, around: tuple[Place, ...]) -> None:
    """Rewrite the loops of a region, the inner ones first."""
    n = 0
    while n < len(region.ops):
        op, made = region.ops[n], list[Op]()
        for inner in op.regions:
            _region(inner, (Place(region.ops, n, op), *around))
        if op.name in LOOPS and any(map(_is_open, within(op))):
            made = _for(op) if op.name == "weft.for" else _while(op, (Place(region.ops, n, None), *around))
        if made:
            region.ops[n : n + 1] = made
        n += max(1, len(made))


def _for(loop: Op) -> list[Op]:
    """The rounds of a range, if these are few and known."""
    lower, upper, step = map(integer, loop.operands)
    if lower is None or upper is None or not step or not _is_small(loop, len(range(lower, upper, step))):
        return []
    body, b = loop.regions[0], Builder()
    for number in range(lower, upper, step):
        b.loc = loop.loc
        _round(b, body.ops, {body.args[0]: b.constant(number, I64)})
    return b.region.ops


def _while(loop: Op, place: tuple[Place, ...]) -> list[Op]:
    """The rounds of a loop that goes by one variable, if these are few and known."""
    (*asking, test), body, b = loop.regions[0].ops, loop.regions[1].ops, Builder()
    slots = {op.operands[0] for op in asking if op.name == "weft.get"}
    if len(slots) != 1 or loop.attrs or not all(op.spec.pure or op.name == "weft.get" for op in asking):
        return []
    slot = slots.pop()
    first, given = given_before(place, slot), [op for op in within(loop) if sets(op, slot)]
    if first is None or len(given) != 1 or given[0] not in body:
        return []
    now, rounds = integer(first.operands[1]), 0
    while now is not None and (goes_on := _computed(test.operands[0], slot, now)) is not None:
        if not goes_on:
            return b.region.ops
        rounds += 1
        if not _is_small(loop, rounds):
            break
        b.loc = loop.loc
        begins, now = b.constant(now, I64), _computed(given[0].operands[1], slot, now)
        if now is not None:
            at, ends = body.index(given[0]), b.constant(now, I64)
            _round(
                b,
                body,
                {op.result: ends if n > at else begins for n, op in enumerate(body) if gets(op, slot)},
            )
    return []


def _is_small(loop: Op, rounds: int) -> bool:
    ops = list(within(loop))
    leaves = any(op.spec.terminator and op.name != "weft.condition" for op in ops)
    return not leaves and rounds <= _ROUNDS and rounds * len(ops) <= _OPS


def _round(b: Builder, ops: list[Op], mapping: dict[Value, Value]) -> None:
    """Append one round, where some values are known."""
    for op in ops:
        if op.results and op.results[0] in mapping:
            continue
        made = clone_op(op, mapping)
        if _is_open(made):
            lanes = [_computed(made.operands[1], None, 0, lane) for lane in range(WARP)]
            known = tuple([lane % WARP for lane in lanes if lane is not None])
            if len(known) == WARP:
                made.attrs = {"mask": known}
        b.region.ops.append(made)


def _computed(v: Value, slot: Value | None, now: int, lane: int | None = None) -> int | None:
    """The number that a value is where a variable is ``now``, or in a lane; None where that is not known."""
    op, known = v.owner, integer(v)
    if not isinstance(op, Op) or v.type not in (I64, I1):
        return None
    if known is not None:
        return known if abs(known) < _END else None
    if slot is not None and gets(op, slot):
        return now
    if op.name == "gpu.lane_id":
        return lane
    numbers = [_computed(o, slot, now, lane) for o in op.operands]
    if None in numbers or not numbers:
        return None
    given = [n or 0 for n in numbers]
    if op.name == "arith.select":
        return given[1] if given[0] else given[2]
    if op.name == "arith.cmpi":
        predicate = str(op.attrs["predicate"])
        compare = _COMPARED.get(predicate.replace("u", "s") if min(given) >= 0 else predicate)
        return None if compare is None else compare(*given)
    compute = _COMPUTED.get(op.name)
    if compute is None or ("sh" in op.name and not 0 <= given[1] < 32):
        return None
    found = compute(*given)
    return found if abs(found) < _END else None
