"""A kernel in two versions, of which a launch takes the one that a condition of its numbers says.

``weft.if`` with ``versions`` around all of a kernel's body has them. Where threads are the machine's each of
them asks; where they are loops the kernel's entry does, once.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.terms import Terms
from weft.compiler.ir.types import F64, I1
from weft.compiler.passes.proofs import All, Atom, Condition, Leaf, Some
from weft.record import replace

_HOISTED = frozenset({"weft.slot", "llvm.alloca"})
_EXACT = float(1 << 52)
"""Sums of integers whose magnitudes make no more than this are exact in 64 bits of a float."""


def in_versions(kernel: Function, condition: Condition, usual: Region, other: Region) -> None:
    """Let a kernel do what is ``usual`` where a condition holds, and else the other."""
    b = Builder()
    b.loc = kernel.line, 0
    with b.into(Region()) as body:
        holds = _Asked(b).holds(condition)
        made = b.emit("weft.if", (holds,), (), {"versions": True}, (usual, other))
    last = usual.ops.pop()
    other.ops.pop()
    hoisted = [op for region in made.regions for op in region.ops if op.name in _HOISTED]
    for region in made.regions:
        region.ops[:] = [op for op in region.ops if op.name not in _HOISTED]
    kernel.body = body
    body.ops[:0] = hoisted
    body.ops.append(last)


class Versions(NamedTuple):
    """What a kernel's condition is computed by, that, and its versions as functions of their own."""

    ops: list[Op]
    condition: Value
    usual: Function
    other: Function


def versions_of(kernel: Function) -> Versions | None:
    """Those of a kernel that has them."""
    *ops, last = kernel.body.ops
    if not ops or "versions" not in ops[-1].attrs:
        return None
    *ops, branch = ops
    made: list[Function] = []
    for region, name in zip(branch.regions, (f"{kernel.name}.proved", kernel.name), strict=True):
        used = {v for op in region.walk() for v in op.operands}
        own = [op for op in ops if op.name in _HOISTED and op.result in used]
        ends = Op(last.spec, (), {}, (), (), last.loc)
        made.append(replace(kernel, name=name, body=Region([], [*own, *region.ops, ends])))
    ops = [op for op in ops if op.name not in _HOISTED]
    return Versions(ops, branch.operands[0], *made)


class _Asked:
    """Emits conditions: polynomials are computed in floats, and do not hold where these are not exact."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.copies: dict[Value, Value] = {}
        self.numbers: dict[Atom, tuple[Value, Value]] = {}
        self.exact: list[Condition] = []
        """Of quotients, what their numbers are."""

    def holds(self, condition: Condition) -> Value:
        """Whether a condition holds."""
        found = self.asked(condition)
        while self.exact:
            found = self.b.arith("andi", found, self.asked(self.exact.pop()))
        return found

    def asked(self, condition: Condition) -> Value:
        b = self.b
        if isinstance(condition, bool):
            return b.constant(condition, I1)
        if isinstance(condition, Leaf):
            return self.leaf(dict(condition.terms))
        first, *others = map(self.asked, condition.parts)
        for other in others:
            first = b.arith("andi" if isinstance(condition, All) else "ori", first, other)
        return first

    def leaf(self, terms: Terms) -> Value:
        """Whether terms are not negative."""
        b = self.b
        value, size = self.sum(terms)
        positive = b.value("arith.cmpf", (value, self.float(0)), I1, {"predicate": "oge"})
        near = b.value("arith.cmpf", (size, self.float(_EXACT)), I1, {"predicate": "ole"})
        return b.arith("andi", positive, near)

    def sum(self, terms: Terms) -> tuple[Value, Value]:
        """Terms, and the sum of the magnitudes of what is summed."""
        value = size = self.float(0)
        for product, count in sorted(terms.items(), key=_order):
            one, other = self.float(count), self.float(abs(count))
            for atom in sorted(product, key=_number):
                assert isinstance(atom, Atom)
                number = self.number(atom)
                one, other = self.of("mul", one, number[0]), self.of("mul", other, number[1])
            value, size = self.of("add", value, one), self.of("add", size, other)
        return value, size

    def number(self, atom: Atom) -> tuple[Value, Value]:
        """An atom and its magnitude."""
        if atom not in self.numbers:
            b = self.b
            if atom.quotient is not None:
                of, by = atom.quotient
                self.exact.append(Some((Leaf(frozenset(of.items())), Leaf(frozenset(_negated(of).items())))))
                whole = self.of("div", self.sum(of)[0], self.float(by))
                value = b.value("math.floor", (whole,), F64)
            else:
                assert atom.value is not None
                value = b.value("arith.sitofp", (self.copy(atom.value),), F64)
            self.numbers[atom] = value, b.value("math.absf", (value,), F64)
        return self.numbers[atom]

    def copy(self, v: Value) -> Value:
        """A value of the launch, where the condition is computed."""
        owner = v.owner
        if not isinstance(owner, Op):
            return v
        if v not in self.copies:
            for operand in owner.operands:
                self.copy(operand)
            self.b.region.ops.append(clone_op(owner, self.copies))
        return self.copies[v]

    def of(self, name: str, x: Value, y: Value) -> Value:
        return self.b.value(f"arith.{name}f", (x, y), F64)

    def float(self, n: float) -> Value:
        return self.b.constant(float(n), F64)


def _negated(terms: Terms) -> Terms:
    return {product: -count for product, count in terms.items()}


def _number(atom: object) -> int:
    assert isinstance(atom, Atom)
    return atom.number


def _order(term: tuple[tuple[object, ...], int]) -> list[int]:
    return sorted(map(_number, term[0]))
