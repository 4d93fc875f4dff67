"""Indices that are made by dividing by a number of run time, where that weighs: see the design's notes."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.frontend.draft import Draft
from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.effects import is_pure
from weft.compiler.ir.types import IntType
from weft.diagnostics import LEFT, RIGHT, Diagnostic, Location

_DIVISIONS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"})
_FEW = 4
"""A loop of so many rounds is written out."""


def divided(draft: Draft) -> Iterator[Diagnostic]:
    """The divisions for indices in each round of a loop, or without loops two of the same; one a line."""
    noted = {
        doubt.value: doubt.diagnostic.location
        for doubt in draft.doubts
        if doubt.diagnostic.code == "index-division" and doubt.value is not None
    }
    if not noted:
        return
    code = _Code(draft.function.body)
    told: set[int] = set()
    pairs: dict[tuple[Value, Value], tuple[str, Location | None]] = {}
    for value in code.reached(noted):
        place, made = noted[value], code.division(value)
        if made is None or place is None or place.line in told:
            continue
        kind, n = made.name[6:9], code.divisor(made)
        if any(code.turns(operand, loop) for loop in code.loops[made] for operand in made.operands):
            told.add(place.line)
            yield _in_a_loop(place, kind)
        elif draft.function.kernel or draft.function.element:
            first = pairs.setdefault((made.operands[0], n), (kind, place))
            if first[0] != kind and not code.is_long:
                told.add(place.line)
                yield _both(place)


class _Code:
    """The operations of a function, and the loops of many rounds around each."""

    def __init__(self, body: Region) -> None:
        self.loops: dict[Op, tuple[Op, ...]] = {}
        self.is_long = False
        """It does more than a few operations a thread, as far as one can see."""
        self._indices: list[Value] = []
        self._given: dict[Value, list[Op]] = {}
        self._inside: dict[Op, set[Region]] = {}
        self._region(body, ())

    def _region(self, region: Region, loops: tuple[Op, ...]) -> None:
        for loop in loops:
            self._inside[loop].add(region)
        for op in region.ops:
            self.loops[op] = loops
            if op.name == "llvm.getelementptr":
                self._indices.append(op.operands[1])
            elif op.name == "weft.set":
                self._given.setdefault(op.operands[0], []).append(op)
            within = loops
            if op.name == "weft.while" or (op.name == "weft.for" and not _is_short(op)):
                within = (*loops, op)
                self._inside[op] = set()
            self.is_long |= within is not loops or op.name in ("func.call", "gpu.barrier")
            for inner in op.regions:
                self._region(inner, within)

    def reached(self, noted: dict[Value, Location | None]) -> list[Value]:
        """Those of which indices are made, in the order of the code."""
        pending, seen = list(self._indices), set[Value]()
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            op = v.owner
            if not isinstance(op, Op) or not isinstance(v.type, IntType):
                continue
            if op.name == "weft.get":
                pending += [given.operands[1] for given in self._given.get(op.operands[0], ())]
            elif is_pure(op):
                pending += op.operands
        return [value for value in noted if value in seen]

    def division(self, value: Value) -> Op | None:
        """Which it is of those that make a quotient that is rounded down."""
        op = value.owner
        while isinstance(op, Op) and op.name not in _DIVISIONS:
            op = op.operands[-1 if op.name == "arith.select" else 0].owner
        return op if isinstance(op, Op) else None

    def divisor(self, division: Op) -> Value:
        """By what a program divides: where that is 0, it is 1 here."""
        n = division.operands[1]
        guard = n.owner
        if isinstance(guard, Op) and guard.name == "arith.select" and _is_constant(guard.operands[1]):
            return guard.operands[2]
        return n

    def turns(self, v: Value, loop: Op) -> bool:
        """Whether it is another in each round of a loop."""
        op = v.owner
        if isinstance(op, Region):
            return op in self._inside[loop]
        if not isinstance(op, Op):
            return False
        if op.name == "weft.get":
            return any(loop in self.loops[given] for given in self._given.get(op.operands[0], ()))
        if loop not in self.loops[op]:
            return False
        return not is_pure(op) or any(self.turns(operand, loop) for operand in op.operands)


def _is_short(loop: Op) -> bool:
    known = [v.owner for v in loop.operands]
    if not all(isinstance(op, Op) and op.name == "arith.constant" for op in known):
        return False
    first, end, step = (int(op.number_attr("value")) for op in known if isinstance(op, Op))
    return len(range(first, end, step)) <= _FEW


def _is_constant(v: Value) -> bool:
    return isinstance(v.owner, Op) and v.owner.name == "arith.constant"


_NARROW = f"where both fit, divide UInt32 of them: UInt32({LEFT}) {{}} UInt32({RIGHT})"


def _in_a_loop(place: Location, kind: str) -> Diagnostic:
    sign = "//" if kind == "div" else "%"
    hints = [_NARROW.format(sign), f"let {RIGHT} be known when it is compiled: a Comptime[int]"]
    if sign == "%":
        hints.insert(0, f"where it wraps around at most once, compare: j - {RIGHT} if j >= {RIGHT} else j")
    return _at(
        place,
        "each round of a loop divides by a number of run time, for an index",
        "a GPU takes tens of instructions for it, and a CPU takes the rounds one by one",
        hints,
    )


def _both(place: Location) -> Diagnostic:
    return _at(
        place,
        "an index is made of a quotient and a remainder of the same two numbers of run time",
        "each division takes tens of instructions, more than the rest of a short kernel",
        [
            "launch over two dimensions: global_idx.y and global_idx.x are what the two are",
            f"divide once: q = {LEFT} // {RIGHT}, and {LEFT} - q * {RIGHT} is the remainder",
        ],
    )


def _at(place: Location, message: str, note: str, hints: list[str]) -> Diagnostic:
    from weft.diagnostics.wrote import resolved

    return resolved(Diagnostic("index-division", message, notes=(note,), hints=tuple(hints)), place)
