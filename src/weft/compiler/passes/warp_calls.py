"""Functions that a warp runs once for all its lanes (``gpu.warp_call``), on the memory of their values.

Nothing is computed by lanes there, and such a function reads and writes nothing else. So a call may wait: it
stands behind all that its lanes do that needs nothing of it, which then is one loop over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.passes.warps import is_exchange

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody


def is_call(op: Op) -> bool:
    """Whether a warp does it as one."""
    return op.name == "gpu.warp_call"


def handed(op: Op) -> tuple[Value, ...]:
    """What others take of a lane's values from its place in memory."""
    if is_call(op):
        return op.operands[1:]
    return op.operands[:1] if op.name == "gpu.shuffle" and not is_exchange(op) else ()


def needed(op: Op) -> tuple[Value, ...]:
    """What an operation takes of a lane's values: a mask has the lanes, and a function is a constant."""
    return op.operands[:1] if is_exchange(op) else op.operands[1:] if is_call(op) else op.operands


def read_in_place(kernel: Function) -> dict[Value, Value]:
    """What is read of a variable for such calls alone, which are made before it is given anything else.

    Each with the variable: the calls take it from where that lies.
    """
    if not any(map(is_call, kernel.body.walk())):
        return {}
    found = dict[Value, Value]()
    _read_in_place(kernel.body, found)
    used = {v for op in kernel.body.walk() if not is_call(op) for v in op.operands}
    return {v: slot for v, slot in found.items() if slot is not v and v not in used}


def _read_in_place(region: Region, found: dict[Value, Value]) -> None:
    held = dict[Value, Value]()
    for op in region.ops:
        for v in op.operands if is_call(op) else ():
            if v in held:
                found.setdefault(v, held[v])
            else:
                found[v] = v  # given another value since, or no variable at all
        if op.name == "weft.get":
            held[op.result] = op.operands[0]
        given = {inner.operands[0] for inner in Region([], [op]).walk() if inner.name == "weft.set"}
        for v in [v for v, slot in held.items() if slot in given]:
            del held[v]
        for inner in op.regions:
            _read_in_place(inner, found)


class Waiting:
    """Calls of a straight line that are still to be made; ``in_place`` are operands that lie in variables."""

    def __init__(self, in_place: dict[Value, Value]) -> None:
        self._in_place = in_place
        self._calls: list[Op] = []
        self._made: set[Value] = set()
        self._read: set[Value] = set()

    def add(self, call: Op) -> None:
        """One more."""
        self._calls.append(call)
        self._made.update(call.results)
        self._read.update(self._in_place[v] for v in call.operands if v in self._in_place)

    def are_before(self, op: Op) -> bool:
        """Whether an operation comes behind them: it needs what they make, or changes what they take."""
        if not self._calls or is_call(op):
            return False
        for inner in Region([], [op]).walk():
            if not self._made.isdisjoint(inner.operands):
                return True
            if inner.name == "weft.set" and inner.operands[0] in self._read:
                return True
        return False

    def taken(self) -> list[Op]:
        """All of them; none are left."""
        calls, self._calls = self._calls, []
        self._made.clear()
        self._read.clear()
        return calls


def call_by_warp(body: BarrierBody, op: Op) -> None:
    """Make the call for the warp at hand, with where its first lane keeps each value."""
    b, first = body.b, body.warp
    assert first is not None
    b.loc = op.loc
    places = [body.uniform_value(op.operands[0])]
    for v in (*op.operands[1:], op.result):
        kept = body.arrays.get(body.in_place.get(v, v))
        array = body.array(v.type) if kept is None else kept[0]
        if kept is None and v is not op.result:  # the same in all lanes
            same = body.uniform_value(v)
            body.threads(lambda s, same=same, array=array: b.set(s.at(array, same.type), same))
        places.append(b.at(array, first, v.type))
    b.emit("llvm.call", tuple(places), (), {"effects": "all"})
