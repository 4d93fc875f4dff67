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
from weft.compiler.passes.proofs import All, Atom, Condition, Leaf
from weft.record import replace

_HOISTED = frozenset({"weft.slot", "llvm.alloca"})
_MOST = 1 << 51
"""Sums of integers are exact in floats where products with their factors make no more; constants are less."""


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
    """Emits conditions: polynomials are computed in floats, and do not hold where these are not exact.

    They are exact where no product is large.
    """

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.copies: dict[Value, Value] = {}
        self.known: dict[Condition, Value] = {}
        self.products: dict[tuple[object, ...], Value] = {(): self.float(1)}
        self.sizes: list[Value] = []
        """The magnitudes of products, and the greatest sum of factors that they have."""
        self.factors = 1

    def holds(self, condition: Condition) -> Value:
        """Whether a condition holds."""
        b, found = self.b, self.asked(condition)
        near = self.float(_MOST // self.factors)
        for size in self.sizes:
            fits = b.value("arith.cmpf", (size, near), I1, {"predicate": "ole"})
            found = b.arith("andi", found, fits)
        return found

    def asked(self, condition: Condition) -> Value:
        if condition not in self.known:
            self.known[condition] = self.made(condition)
        return self.known[condition]

    def made(self, condition: Condition) -> Value:
        b = self.b
        if isinstance(condition, bool):
            return b.constant(condition, I1)
        if isinstance(condition, Leaf):
            value = self.sum(dict(condition.terms))
            return b.value("arith.cmpf", (value, self.float(0)), I1, {"predicate": "oge"})
        first, *others = map(self.asked, condition.parts)
        for other in others:
            first = b.arith("andi" if isinstance(condition, All) else "ori", first, other)
        return first

    def sum(self, terms: Terms) -> Value:
        """The value of terms."""
        factors = sum(abs(count) for product, count in terms.items() if product)
        self.factors = max(self.factors, factors)
        value = self.float(terms.get((), 0))
        for product, count in sorted(terms.items(), key=_order):
            if product:
                atoms = tuple(sorted(product, key=_number))
                value = self.of("add", value, self.of("mul", self.product(atoms), self.float(count)))
        return value

    def product(self, atoms: tuple[object, ...]) -> Value:
        """The product of atoms."""
        if atoms not in self.products:
            *others, last = atoms
            assert isinstance(last, Atom)
            number = self.number(last)
            value = self.of("mul", self.product(tuple(others)), number) if others else number
            self.sizes.append(self.b.value("math.absf", (value,), F64))
            self.products[atoms] = value
        return self.products[atoms]

    def number(self, atom: Atom) -> Value:
        b = self.b
        if atom.quotient is not None:
            of, by = atom.quotient
            return b.value("math.floor", (self.of("div", self.sum(of), self.float(by)),), F64)
        assert atom.value is not None
        return b.value("arith.sitofp", (self.copy(atom.value),), F64)

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


def _number(atom: object) -> int:
    assert isinstance(atom, Atom)
    return atom.number


def _order(term: tuple[tuple[object, ...], int]) -> list[int]:
    return sorted(map(_number, term[0]))
