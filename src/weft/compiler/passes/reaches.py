"""On which conditions the accesses of a kernel are within their memory in all of a launch.

The kernel is gone through once, as if by all threads: what its integers are made of is noted as polynomials,
what its variables hold, and what holds where an access is made, by the branches around it. A variable that a
loop changes is taken to stay on the side of its first value that it looks to, which is then shown of whatever
it is given. What ``passes/proofs.py`` shows of all that is the condition of an access.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from weft.compiler.ir.core import Function, Global, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.terms import Terms, added, constant, difference, multiplied, number, symbols
from weft.compiler.ir.types import I1, I64, IntType, PointerType
from weft.compiler.passes.guard_bounds import parts_of
from weft.compiler.passes.indices import is_positive
from weft.compiler.passes.origins import VERBS, accessed, bytes_of, size_of
from weft.compiler.passes.proofs import (
    Atom,
    Bound,
    Case,
    Condition,
    all_of,
    proved,
    reach,
    within,
)
from weft.compiler.passes.supposed import Supposed, range_of, supposed

_TERMS, _DEGREE = 16, 5
"""Polynomials of more terms, or of products of more atoms, are not followed."""
_ACCESSES = 400
"""So many accesses are looked at, those in loops more than once."""
_EXTENT = 1, (1 << 31) - 1
_INDEX = 0, (1 << 31) - 2
_MACHINE = frozenset({"gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim"})
_PARTS: dict[str, bool] = {
    **dict.fromkeys(("arith.divsi", "arith.divui", "arith.shrsi", "arith.shrui"), True),
    **dict.fromkeys(("arith.remsi", "arith.remui", "arith.andi"), False),
}
"""Operations that give a quotient, or what is left of one."""
_SIGNED = {"slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle"}
_NOT = {
    **_SIGNED,
    **{"u" + name[1:]: "u" + other[1:] for name, other in _SIGNED.items()},
    "eq": "ne",
    "ne": "eq",
}


class Pointed(NamedTuple):
    """Where a pointer points: bytes behind its origin, around which there is memory from low to high."""

    at: Terms
    low: Terms
    high: Terms


class Flag(NamedTuple):
    """What is never negative where a condition holds, and where it does not; None where that cannot be.

    ``source`` is the condition, if it is one by itself.
    """

    yes: tuple[Terms, ...] | None
    no: tuple[Terms, ...] | None
    source: Value | None = None


Held = Terms | Pointed | Flag
"""What a variable holds."""


class _Given(NamedTuple):
    """A variable is given a number, where facts hold."""

    slot: Value
    terms: Terms
    facts: tuple[Terms, ...]


class Reaches:
    """The accesses of one kernel, into which all that it calls has been put.

    ``ends`` are where the memory of its pointers begins and ends, in bytes from where they point, and
    ``dynamic`` how much shared memory the launch gives: arguments. ``loops``: threads are loops.
    """

    def __init__(
        self,
        kernel: Function,
        memory: Mapping[str, Global],
        ends: Mapping[Value, tuple[Value, Value]],
        dynamic: Value,
        *,
        loops: bool,
    ) -> None:
        self.memory = memory
        self.conditions: list[Condition] = []
        """What has to hold whatever is accessed."""
        self.accesses: dict[Op, Condition] = {}
        """Under which conditions each is within its memory, or a branch tells nothing; False for none."""
        self._dynamic = self._launch(dynamic)
        self._left = _ACCESSES
        self._facts: tuple[Terms, ...] = ()
        self._known: dict[Value, Terms] = {}
        self._exact: dict[Value, Terms] = {}
        self._computed: dict[Value, bool] = {}
        self._places: dict[Value, Pointed] = {}
        self._flags: dict[Value, Flag] = {}
        self._variables: dict[Value, Held] = {}
        self._given: list[_Given] = []
        self._of_machine: dict[tuple[str, str], Atom] = {}
        self._wholes: dict[tuple[object, object], Atom] = {}
        ops = list(kernel.body.walk())
        uses = {v for op in ops if op.name not in ("weft.get", "weft.set") for v in op.operands}
        uses.update(op.operands[1] for op in ops if op.name == "weft.set")
        self._elsewhere = {v for v in uses if isinstance(v.owner, Op) and v.owner.name == "weft.slot"}
        """Variables that others may change."""
        for pointer, (low, high) in ends.items():
            self._places[pointer] = Pointed({}, self._launch(low), self._launch(high))
        for axis in "xyz"[: kernel.over_rank if loops else 0]:
            self._end_at_extent(axis)
        self._region(kernel.body)

    # -- numbers ------------------------------------------------------------------------------
    def _launch(self, v: Value) -> Terms:
        return Atom(*_range(v), value=v).terms

    def _end_at_extent(self, axis: str) -> None:
        """Threads beyond the extent of a launch over a range do nothing."""
        index, block, size = (self._machine(f"gpu.{n}", axis) for n in ("thread_id", "block_id", "block_dim"))
        element = added(index.terms, multiplied(block.terms, size.terms))
        beyond = difference(self._machine("gpu.over", axis).terms, element)
        self._facts = (*self._facts, added(beyond, number(-1)))

    def _machine(self, name: str, axis: str) -> Atom:
        """What ``gpu.NAME`` gives."""
        found = self._of_machine.get((name, axis))
        if found is None:
            if name in ("gpu.block_dim", "gpu.grid_dim", "gpu.over"):
                made = Op(SPECS[name], (), {"dimension": axis}, (), (I64,), (0, 0)).result
                found = Atom(*_EXTENT, value=made)
            else:
                extent = {"gpu.thread_id": "gpu.block_dim", "gpu.block_id": "gpu.grid_dim"}[name]
                found = Atom(*_INDEX)
                found.lows.append((Case({}),))
                last = added(self._machine(extent, axis).terms, number(-1))
                found.highs.append((Case(last),))
            self._of_machine[name, axis] = found
        return found

    def terms(self, v: Value) -> Terms:
        """An integer, but for multiples of 2 to the power of its width."""
        if v not in self._known:
            found = self._terms(v)
            long = len(found) > _TERMS or any(len(product) > _DEGREE for product in found)
            self._known[v] = _any(v) if long else found
        return self._known[v]

    def _terms(self, v: Value) -> Terms:
        op = v.owner
        if op is None:
            return self._launch(v)
        if isinstance(op, Region):
            return _any(v)
        name = op.name
        if name == "arith.constant":
            return number(int(op.number_attr("value")))
        if name in _MACHINE:
            return self._machine(name, str(op.attrs["dimension"])).terms
        if name in ("arith.addi", "arith.subi"):
            left, right = map(self.terms, op.operands)
            return added(left, right, 1 if name == "arith.addi" else -1)
        if name == "arith.muli":
            left, right = map(self.terms, op.operands)
            return multiplied(left, right)
        if name == "arith.shli":
            by = constant(self.terms(op.operands[1]))
            return _any(v) if by is None else multiplied(self.terms(op.operands[0]), number(1 << by))
        if name == "arith.trunci":
            return self.terms(op.operands[0])
        if name in ("arith.extsi", "arith.extui") and op.operands[0].type is not I1:
            return self._widened(op)
        if name == "arith.select":
            return self._selected(op)
        if name in _PARTS:
            return self._part(op)
        made = Atom(*_range(v))
        if self._of_launch(v):
            made.value = v
        return made.terms

    def _of_launch(self, v: Value) -> bool:
        """Whether all it is made of is known when the launch begins: ``i - i`` is 0, but made of ``i``."""
        if v not in self._computed:
            self._computed[v] = isinstance(v.type, IntType) and self._made_of_launch(v.owner)
        return self._computed[v]

    def _made_of_launch(self, op: Op | Region | None) -> bool:
        if not isinstance(op, Op):
            return op is None
        if op.name in _MACHINE:
            return self._machine(op.name, str(op.attrs["dimension"])).of_launch
        known = op.name == "arith.constant" or bool(op.operands)
        divides = "div" in op.name or "rem" in op.name
        fails = divides and (constant(self.terms(op.operands[1])) or 0) <= 0
        return known and op.spec.pure and not fails and all(map(self._of_launch, op.operands))

    def exact(self, v: Value) -> Terms:
        """An integer, signed; what has to hold for that is noted."""
        if v not in self._exact:
            found = self._fitting(self.terms(v), *_range(v))
            self._exact[v] = _any(v) if found is None else found
        return self._exact[v]

    def _fitting(self, terms: Terms, least: int, greatest: int) -> Terms | None:
        """Terms, if they can be shown to be between these; what has to hold for that is noted."""
        fits = within(terms, least, greatest)
        if fits is False:
            return None
        self._suppose(fits)
        return terms

    def _suppose(self, condition: Condition) -> None:
        if condition is not True and condition not in self.conditions:
            self.conditions.append(condition)

    def _widened(self, op: Op) -> Terms:
        inner, bits = op.operands[0], op.operands[0].type.bits
        if op.name == "arith.extsi":
            return self.exact(inner)
        found = self._fitting(self.terms(inner), 0, (1 << bits) - 1)
        return Atom(0, (1 << bits) - 1).terms if found is None else found

    def _selected(self, op: Op) -> Terms:
        condition, *sides = op.operands
        facts = [self._facts_of(condition, truth=truth) for truth in (True, False)]
        never = [any(proved(difference(number(-1), f)) is True for f in found) for found in facts]
        if True in never:
            return self.terms(sides[never[0] is True])
        cases = tuple([Case(self.exact(v), tuple(f)) for v, f in zip(sides, facts, strict=True)])
        return _one_of(cases, *_range(op.result))

    def _part(self, op: Op) -> Terms:
        """A quotient, a remainder or some bits of a number that is not negative."""
        of, by = self.exact(op.operands[0]), self.exact(op.operands[1])
        if op.name.startswith("arith.shr"):
            by = number(1 << (constant(by) or 0))
        elif op.name == "arith.andi":
            mask = constant(by) or 0
            if mask <= 0 or mask & (mask + 1):
                return Atom(0, mask).terms if mask > 0 else _any(op.result)
            by = number(mask + 1)
        fits = all_of((proved(of), proved(added(by, number(-1)))))
        if fits is False:
            most = (constant(by) or 0) - 1
            return Atom(-most, most).terms if op.name == "arith.remsi" and most >= 0 else _any(op.result)
        self._suppose(fits)
        whole = self._whole(of, by)
        if _PARTS[op.name]:
            return whole.terms
        if constant(by) is not None:
            return difference(of, multiplied(whole.terms, by))
        made = Atom(*_range(op.result))
        made.lows.append((Case({}),))
        made.highs += [(Case(added(by, number(-1))),), (Case(of),)]
        return made.terms

    def _whole(self, of: Terms, by: Terms) -> Atom:
        """The quotient of a number that is not negative, one for all that ask for it."""
        key = frozenset(of.items()), frozenset(by.items())
        if key not in self._wholes:
            made = self._wholes[key] = Atom(0)
            made.highs.append((Case(of),))
            known = constant(by)
            if known is not None:
                made.greatest = max(0, reach(of)[1] // known)
                rest = difference(of, multiplied(made.terms, by))
                made.facts += [rest, added(difference(by, rest), number(-1))]
                if _is_of_launch(of):
                    made.quotient = of, known
        return self._wholes[key]

    # -- what holds ---------------------------------------------------------------------------
    def _facts_of(self, condition: Value, *, truth: bool) -> list[Terms]:
        """What is not negative where a condition holds, or does not."""
        op = condition.owner
        if not isinstance(op, Op):
            return []
        if condition in self._flags:
            flag = self._flags[condition]
            return list((flag.yes if truth else flag.no) or ())
        if op.name == ("arith.andi" if truth else "arith.ori"):
            return [f for part in parts_of(condition, not truth) for f in self._facts_of(part, truth=truth)]
        if op.name == "arith.xori":
            other = op.operands[1].owner
            flips = isinstance(other, Op) and other.name == "arith.constant" and bool(other.attrs["value"])
            return self._facts_of(op.operands[0], truth=not truth) if flips else []
        if op.name != "arith.cmpi" or op.operands[0].type is I1 or op.operands[0].type.lanes > 1:
            return []
        predicate = str(op.attrs["predicate"])
        predicate = predicate if truth else _NOT.get(predicate, "")
        left, right = map(self.exact, op.operands)
        if predicate in ("sgt", "sge", "ugt", "uge"):
            left, right, predicate = right, left, predicate.replace("g", "l")
        gap = difference(right, left)
        if predicate == "eq":
            return [gap, difference(left, right)]
        if predicate[:1] == "u":
            if reach(right)[0] < 0:
                return []
            return [added(gap, number(-1 if predicate == "ult" else 0)), left]
        return [added(gap, number(-1)) if predicate == "slt" else gap] if predicate in ("slt", "sle") else []

    def _flag(self, condition: Value) -> Flag:
        """A condition as a variable holds it."""
        if condition in self._flags:
            return self._flags[condition]
        yes, no = (tuple(self._facts_of(condition, truth=truth)) for truth in (True, False))
        op = condition.owner
        if isinstance(op, Op) and op.name == "arith.constant":
            return Flag(yes, None) if op.attrs["value"] else Flag(None, no)
        return Flag(yes, no, condition)

    # -- control flow -------------------------------------------------------------------------
    def _region(self, region: Region) -> None:
        before = self._facts
        for op in region.ops:
            self._visit(op)
        self._facts = before

    def _visit(self, op: Op) -> None:
        if op.name == "weft.if":
            self._branch(op)
        elif op.name in ("weft.for", "weft.while"):
            self._loop(op)
        elif op.name == "weft.set":
            self._set(*op.operands)
        elif op.name in VERBS:
            place = self._places.get(op.operands[0])
            self.accesses[op] = place is not None and self._within(place, accessed(op))
        elif len(op.results) == 1 and isinstance(op.result.type, PointerType):
            place = self._place(op)
            if place is not None:
                self._places[op.result] = place
        elif op.name == "weft.get" and isinstance(op.result.type, IntType):
            held = self._variables.get(op.operands[0])
            if isinstance(held, dict):
                self._known[op.result] = held
            elif isinstance(held, Flag):
                self._flags[op.result] = held

    def _within(self, place: Pointed, size: int) -> Condition:
        self._left -= 1
        if self._left < 0:
            return False
        behind = difference(difference(place.high, place.at), number(size))
        begins = proved(difference(place.at, place.low), self._facts)
        return begins is not False and all_of((begins, proved(behind, self._facts)))

    def _place(self, op: Op) -> Pointed | None:
        """Where the pointer points that an operation gives."""
        if op.name == "weft.get":
            held = self._variables.get(op.operands[0])
            return held if isinstance(held, Pointed) else None
        if op.name == "llvm.alloca" and not op.operands:
            return Pointed({}, {}, number(op.int_attr("count") * size_of(op.type_attr("elem_type").bits)))
        if op.name == "llvm.mlir.addressof":
            found = self.memory[str(op.attrs["global_name"])]
            return Pointed({}, {}, self._dynamic if found.external else number(bytes_of(op, found)))
        if op.name == "gpu.dynamic_shared_memory":
            return Pointed({}, {}, self._dynamic)
        base = self._places.get(op.operands[0]) if op.operands else None
        if base is None or op.name == "llvm.addrspacecast":
            return base
        if op.name != "llvm.getelementptr":
            return None
        index = op.operands[1]
        by = self.terms(index) if index.type.bits == 64 else self.exact(index)
        return base._replace(at=added(base.at, by, size_of(op.type_attr("elem_type").bits)))

    def _set(self, slot: Value, v: Value) -> None:
        self._variables.pop(slot, None)
        if slot in self._elsewhere:
            return
        if isinstance(v.type, IntType) and v.type is not I1:
            terms = self.terms(v)
            self._variables[slot] = terms
            self._given.append(_Given(slot, terms, self._facts))
        elif v.type is I1:
            self._variables[slot] = self._flag(v)
        elif v in self._places:
            self._variables[slot] = self._places[v]

    def _branch(self, op: Op) -> None:
        if any("every" in inner.attrs for inner in op.regions[0].ops):
            self._tells(op)
            return
        facts, variables = self._facts, dict(self._variables)
        found: list[tuple[bool, tuple[Terms, ...], dict[Value, Held]]] = []
        for region, truth in zip(op.regions, (True, False), strict=True):
            here = (*facts, *self._facts_of(op.operands[0], truth=truth))
            self._facts, self._variables = here, dict(variables)
            self._region(region)
            ends = bool(region.ops) and region.ops[-1].spec.terminator
            found.append((ends, here, self._variables))
        self._facts = facts
        (ends, yes, after), (other_ends, no, beside) = found
        if ends or other_ends:  # only the other side goes on
            self._facts, self._variables = (no, beside) if ends else (yes, after)
            return
        self._variables = {}
        for slot, one in after.items():
            other = beside.get(slot)
            if one == other:
                self._variables[slot] = one
            elif isinstance(one, Flag) and isinstance(other, Flag):
                self._variables[slot] = _either(op.operands[0], one, yes, other, no)
            elif isinstance(one, dict) and isinstance(other, dict):
                least, greatest = range_of(slot)
                fitting = [self._fitting(terms, least, greatest) for terms in (one, other)]
                if fitting[0] is not None and fitting[1] is not None:
                    cases = Case(fitting[0], yes), Case(fitting[1], no)
                    self._variables[slot] = _one_of(cases, least, greatest)

    def _tells(self, op: Op) -> None:
        """A branch that tells of an index that is not within its extent."""
        asked = op.operands[0].owner
        if isinstance(asked, Op) and asked.name == "arith.cmpi" and asked.attrs["predicate"] == "uge":
            index, extent = map(self.exact, asked.operands)
            behind = added(difference(extent, index), number(-1))
            self.accesses[op] = all_of((proved(index, self._facts), proved(behind, self._facts)))

    def _loop(self, op: Op) -> None:
        """A loop: what is supposed of its variables is shown of what it gives them, or no longer supposed."""
        given = [o for region in op.regions for o in region.walk() if o.name == "weft.set"]
        changed = dict.fromkeys(o.operands[0] for o in given)
        before, facts = dict(self._variables), self._facts
        looks: dict[Value, Supposed] = {}
        for slot in changed:
            first = before.get(slot)
            look = supposed(slot, first, given) if isinstance(first, dict) else None
            if look is not None:
                looks[slot] = look
        while True:
            kept = dict(self._known), dict(self._exact), dict(self._places), dict(self._flags)
            noted = list(self.conditions), list(self._given)
            begun, heads = len(self._given), self._enter(before, changed, looks)
            self._rounds(op)
            self._facts = facts
            wrong = {
                one.slot
                for one in self._given[begun:]
                if one.slot in heads and not self._stays(one, looks[one.slot])
            }
            if not wrong:
                break
            self._known, self._exact, self._places, self._flags = kept
            self.conditions, self._given = noted
            looks = {slot: look for slot, look in looks.items() if slot not in wrong}
        self._enter(before, changed, looks)

    def _enter(
        self, before: dict[Value, Held], changed: dict[Value, None], looks: dict[Value, Supposed]
    ) -> dict[Value, Atom]:
        """Let variables hold what they do in any round; gives those of which something is supposed."""
        heads = {slot: look.head() for slot, look in looks.items()}
        self._variables = {slot: held for slot, held in before.items() if slot not in changed}
        self._variables |= {slot: atom.terms for slot, atom in heads.items()}
        return heads

    def _rounds(self, op: Op) -> None:
        if op.name == "weft.for":
            index = self._index(*op.operands)
            self._known[op.regions[0].args[0]] = index.terms
            self._region(op.regions[0])
            return
        condition, body = op.regions
        self._region(condition)
        asked = condition.ops[-1].operands[0]
        self._facts = (*self._facts, *self._facts_of(asked, truth=True))
        self._region(body)

    def _index(self, lower: Value, upper: Value, step: Value) -> Atom:
        """The index of a loop."""
        made, by = Atom(*_range(lower)), constant(self.terms(step))
        first, end = self.exact(lower), self.exact(upper)
        if by is not None and by < 0:
            made.lows.append((Case(added(end, number(1))),))
            made.highs.append((Case(first),))
        elif by is not None or is_positive(step):
            last = added(end, number(-1))
            made.lows.append((Case(first),))
            known = self._of_launch(lower) and self._of_launch(upper)
            if by is not None and by > 1 and known and _is_of_launch(difference(last, first)):
                last = added(first, self._rounded(difference(last, first), by), by)
            made.highs.append((Case(last),))
        made.least = max([made.least, *(min(reach(c.terms)[0] for c in bound) for bound in made.lows)])
        made.greatest = min([made.greatest, *(max(reach(c.terms)[1] for c in bound) for bound in made.highs)])
        return made

    def _rounded(self, terms: Terms, by: int) -> Terms:
        """How often ``by`` goes into a number of the launch."""
        known = constant(terms)
        return Atom(0, quotient=(terms, by)).terms if known is None else number(max(0, known // by))

    def _stays(self, given: _Given, look: Supposed) -> bool:
        """Whether what a variable is given is as was supposed; what has to hold for that is noted."""
        holds = look.holds_of(given.terms, given.facts)
        if holds is not False:
            self._suppose(holds)
        return holds is not False


def _either(condition: Value, one: Flag, yes: tuple[Terms, ...], other: Flag, no: tuple[Terms, ...]) -> Flag:
    """What a variable holds behind a branch whose sides give it these, where such facts hold."""
    one = one._replace(no=None) if one.source is condition else one
    other = other._replace(yes=None) if other.source is condition else other
    made: list[tuple[Terms, ...] | None] = []
    for left, right in ((one.yes, other.yes), (one.no, other.no)):
        ways = [(*here, *there) for here, there in ((yes, left), (no, right)) if there is not None]
        made.append(None if not ways else ways[0] if len(ways) == 1 else ())
    return Flag(made[0], made[1])


def _range(v: Value) -> tuple[int, int]:
    return -(1 << v.type.bits - 1), (1 << v.type.bits - 1) - 1


def _any(v: Value) -> Terms:
    return Atom(*_range(v)).terms


def _one_of(cases: Bound, least: int, greatest: int) -> Terms:
    made = Atom(least, greatest)
    reaches = [reach(case.terms) for case in cases]
    made.least = max(least, min(low for low, _ in reaches))
    made.greatest = min(greatest, max(high for _, high in reaches))
    made.lows.append(cases)
    made.highs.append(cases)
    return made.terms


def _is_of_launch(terms: Terms) -> bool:
    """Whether a launch knows all that terms are made of: an integer may be one, and no atom of it."""
    return all(isinstance(atom, Atom) and atom.of_launch for atom in symbols(terms))
