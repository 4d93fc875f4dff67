"""Kernels in which lanes hand each other values: a whole warp returns from them, or none of its lanes.

What a lane that has returned would hand to others is undefined, on a GPU as well. So where some lanes of a
warp may return before such an operation, they meet first: this is a decision about an operation of the warp,
like one with a shuffle in a branch, and whoever runs it tells of lanes that disagree. It is the same with all
threads of a block and what the library does for them together (``weft.gpu.block``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Loc, Module, Op, Region, Value
from weft.compiler.ir.effects import EXCHANGES
from weft.compiler.ir.types import I1
from weft.compiler.passes.inline_barriers import called_from
from weft.compiler.passes.uniformity import LOOPS, Uniformity, branches_that_jump
from weft.compiler.passes.unwritten import unwritten_loads

_Place = tuple[Region, Op]
"""An operation, and the region that it is in."""


class _Return(NamedTuple):
    """A return from within, what it is in from without, who is to come to what is behind it, and where."""

    around: tuple[_Place, ...]
    place: _Place
    group: str
    behind: Loc


def whole_warps(module: Module) -> None:
    """Have lanes and threads that return before such operations agree on it."""
    meetings = _Meetings(module)
    if not meetings.functions["warp"]:
        return
    for f in module.functions:
        if f.kernel and f.name in meetings.functions["warp"]:
            _agree(f, meetings)


class _Meetings:
    """Where lanes of a warp hand each other values in a module, and where all threads of a block do."""

    def __init__(self, module: Module) -> None:
        self.by_name = {f.name: f for f in module.functions}
        self.functions: dict[str, set[str]] = {"warp": set(), "block": set()}
        """Of a group, the functions in which it meets so."""
        for group in self.functions:
            self.functions[group] = module.reaching(
                {f.name for f in module.functions if any(self.meets(op, group) for op in f.body.walk())}
            )

    def meets(self, op: Op, group: str) -> bool:
        """Whether they do so in an operation. What a block does together, its warps do as well."""
        if op.name == "func.call":
            return op.attrs["callee"] in self.functions[group]
        whole = op.name == "gpu.barrier" and bool(op.attrs.get("whole"))
        return whole or (group == "warp" and op.name in EXCHANGES)

    def place(self, op: Op, group: str) -> Loc:
        """Where: in the function that is called for it."""
        if op.name != "func.call":
            return op.loc
        callee = self.by_name[str(op.attrs["callee"])]
        inner = next(inner for inner in callee.body.walk() if self.meets(inner, group))
        return called_from(self.place(inner, group), op, callee)


def _agree(kernel: Function, meetings: _Meetings) -> None:
    returns = list(_returns(kernel, meetings))
    if not returns:
        return
    given = kernel, meetings.by_name
    unwritten = unwritten_loads(*given)
    alike = {
        "warp": Uniformity.of_warps(*given, unwritten),
        "block": Uniformity(*given, unwritten=unwritten),
    }
    slots: list[Op] = []
    done: set[Op] = set()
    for one in returns:
        uniformity = alike[one.group]
        parting = next((place for place in one.around if not _together(place[1], uniformity)), None)
        if parting is None or parting[1] in done:
            continue
        if parting == one.around[-1] and parting[1].name not in LOOPS:
            _meet_before(*one.place, one)
            continue
        done.add(parting[1])
        _leave(*parting, one, slots)
    kernel.body.ops[:0] = slots


def _returns(kernel: Function, meetings: _Meetings) -> Iterator[_Return]:
    """The returns from within behind which they do so."""
    met: dict[Op, int] = {}
    returns: list[tuple[int, tuple[_Place, ...], _Place]] = []

    def visit(region: Region, around: tuple[_Place, ...]) -> None:
        for op in region.ops:
            if meetings.meets(op, "warp"):
                met[op] = len(met)
            elif op.name == "weft.return" and around:
                returns.append((len(met), around, (region, op)))
            for inner in op.regions:
                visit(inner, (*around, (region, op)))

    visit(kernel.body, ())
    for before, around, place in returns:
        loop = next((op for _, op in around if op.name in LOOPS), None)
        again = [] if loop is None else [op for r in loop.regions for op in r.walk() if op in met]
        behind = [*list(met)[before:], *again]
        for group in ("block", "warp"):
            found = next((op for op in behind if meetings.meets(op, group)), None)
            if found is not None:
                yield _Return(around, place, group, meetings.place(found, group))
                break


def _together(op: Op, uniformity: Uniformity) -> bool:
    """Whether all of them decide alike."""
    values = [*op.operands, *(op.regions[0].ops[-1].operands if op.name == "weft.while" else ())]
    if op.name in LOOPS:
        values += [v for branch in branches_that_jump(op.regions[-1]) for v in branch.operands]
    return all(map(uniformity.same, values))


def _meet_before(region: Region, leaving: Op, one: _Return) -> None:
    """They wait for each other before they return, as if they came to what others do then."""
    b = Builder()
    b.loc = one.behind
    with b.into(Region()) as made:
        if one.group == "block":
            b.emit("gpu.barrier")
        else:
            b.emit("gpu.meet", (), (), {"group": "warp"})
    at = region.ops.index(leaving)
    region.ops[at:at] = made.ops


def _leave(region: Region, op: Op, one: _Return, slots: list[Op]) -> None:
    """Returns within an operation end it, and who has come to one returns behind it."""
    b = Builder()
    b.loc = one.place[1].loc
    gone = b.slot(I1, "gone", slots)
    at = region.ops.index(op)
    with b.into(Region()) as made:
        b.set(gone, b.constant(False, I1))
        if op.name in LOOPS:
            made.ops.append(op)
            _jump(op.regions[-1], gone)
        else:
            with b.into(Region()) as condition:
                b.emit("weft.condition", (b.constant(True, I1),))
            body = Region([], [op])
            _jump(body, gone)
            with b.into(body):
                b.emit("weft.break")
            b.emit("weft.while", (), (), {}, (condition, body))
        with b.into(Region()) as leave:
            b.emit("weft.return")
        b.branch(b.get(gone, I1), leave)
    region.ops[at : at + 1] = made.ops
    _meet_before(leave, leave.ops[-1], one)


def _jump(region: Region, gone: Value) -> None:
    """Returns within a loop's region, and loops within, end that loop."""
    b, ops = Builder(), region.ops[:]
    region.ops.clear()
    with b.into(region):
        for op in ops:
            b.live, b.loc = True, op.loc
            if op.name == "weft.return":
                b.set(gone, b.constant(True, I1))
                b.emit("weft.break")
                continue
            returns = any(inner.name == "weft.return" for r in op.regions for inner in r.walk())
            for inner in op.regions:
                _jump(inner, gone)
            region.ops.append(op)
            if returns and op.name in LOOPS:
                with b.into(Region()) as leave:
                    b.emit("weft.break")
                b.branch(b.get(gone, I1), leave)
