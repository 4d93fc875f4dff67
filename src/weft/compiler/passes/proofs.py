"""Proofs that an integer of a kernel is never negative, in all threads of a launch.

Integers are polynomials of ``Atom``s: numbers that are known when a launch begins, and those that differ from
thread to thread and round to round, of which bounds are known. To show that a polynomial is not negative, one
atom after another is replaced by the bound where the polynomial is least, as the sign of its coefficient
says; a guard that holds there (``i < n``) is a bound of each atom in it. What is left has only numbers of the
launch: a condition, to be asked for once when it begins. This is how loops are freed of range checks, for the
loops over a launch's threads and those of its kernel together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.compiler.ir.core import Value
from weft.compiler.ir.terms import Terms, added, along, difference, multiplied, number, symbols

_NODES = 80
"""So many steps a proof may take."""
_WAYS = 3
"""Bounds of one atom that are tried."""
_TERMS = 24
"""Of longer polynomials nothing is shown."""
FAR = 1 << 63
NEAR = 1 << 50
"""What is shown to be within 64 bits is shown to be within these, since conditions are computed in floats."""


class Case(NamedTuple):
    """A number that an atom may be, and what is never negative where it is that."""

    terms: Terms
    facts: tuple[Terms, ...] = ()


Bound = tuple[Case, ...]
"""One of these is not beyond the atom."""


class Atom:
    """An integer of a kernel, and what bounds it: ``lows`` and ``highs`` are so many ways to do so.

    Of the launch it has a ``value``, or is the whole part of a ``quotient`` of numbers of the launch.
    """

    __slots__ = ("facts", "greatest", "highs", "least", "lows", "number", "quotient", "value")
    _count = itertools.count()

    def __init__(
        self,
        least: int = -FAR,
        greatest: int = FAR - 1,
        value: Value | None = None,
        quotient: tuple[Terms, int] | None = None,
    ) -> None:
        self.number = next(self._count)
        self.least, self.greatest = least, greatest
        self.value = value
        self.quotient = quotient
        self.lows: list[Bound] = []
        self.highs: list[Bound] = []
        self.facts: list[Terms] = []
        """What is never negative, wherever it is."""

    @property
    def of_launch(self) -> bool:
        """Whether it is the same in all threads and rounds."""
        return self.value is not None or self.quotient is not None

    @property
    def terms(self) -> Terms:
        """It alone."""
        return {(self,): 1}


class Leaf(NamedTuple):
    """Terms of the launch's numbers are not negative."""

    terms: frozenset[tuple[tuple[object, ...], int]]


class All(NamedTuple):
    """All of these hold."""

    parts: tuple[Condition, ...]


class Some(NamedTuple):
    """One of these holds."""

    parts: tuple[Condition, ...]


Condition = bool | Leaf | All | Some
"""What a launch is asked for."""


def all_of(parts: Sequence[Condition]) -> Condition:
    """That all hold."""
    return _joined(parts, All, neutral=True)


def some_of(parts: Sequence[Condition]) -> Condition:
    """That one does."""
    return _joined(parts, Some, neutral=False)


def _joined(parts: Sequence[Condition], kind: type[All] | type[Some], *, neutral: bool) -> Condition:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    if any(part is (not neutral) for part in flat):
        return not neutral
    left = tuple(dict.fromkeys(part for part in flat if part is not neutral))
    return neutral if not left else left[0] if len(left) == 1 else kind(left)


def reach(terms: Terms) -> tuple[int, int]:
    """The least and the greatest that terms can be, by the atoms alone."""
    least = greatest = 0
    for product, count in terms.items():
        low = high = count
        for atom in product:
            assert isinstance(atom, Atom)
            ends = low * atom.least, low * atom.greatest, high * atom.least, high * atom.greatest
            low, high = min(ends), max(ends)
        least, greatest = least + low, greatest + high
    return least, greatest


def proved(terms: Terms, facts: Sequence[Terms] = ()) -> Condition:
    """On which condition terms are not negative wherever ``facts`` are not; False where that is not known."""
    return _Proof().shown(terms, tuple(facts), frozenset())


def within(terms: Terms, least: int, greatest: int, facts: Sequence[Terms] = ()) -> Condition:
    """On which condition terms are between these."""
    low, high = reach(terms)
    ends: list[Condition] = [True, True]
    if low < least:
        ends[0] = proved(added(terms, number(min(-least, NEAR))), facts)
    if high > greatest:
        ends[1] = proved(difference(number(min(greatest, NEAR)), terms), facts)
    return all_of(ends)


class _Proof:
    """One proof."""

    def __init__(self) -> None:
        self.left = _NODES
        self.known: dict[tuple[object, ...], Condition] = {}

    def shown(self, terms: Terms, facts: tuple[Terms, ...], gone: frozenset[Atom]) -> Condition:
        """``gone`` are atoms that have been replaced."""
        least, greatest = reach(terms)
        if least >= 0:
            return True
        if greatest < 0 or len(terms) > _TERMS:
            return False
        varying = [a for a in symbols(terms) if isinstance(a, Atom) and not a.of_launch]
        if not varying:
            return Leaf(frozenset(_smaller(terms).items()))
        key = frozenset(terms.items())
        known = key, gone, tuple(map(id, facts))
        if known not in self.known:
            self.left -= 1
            self.known[known] = False
            if self.left > 0:
                self.known[known] = self.without(terms, facts, gone, varying)
        return self.known[known]

    def without(
        self, terms: Terms, facts: tuple[Terms, ...], gone: frozenset[Atom], varying: list[Atom]
    ) -> Condition:
        """The same by way of the first atom that can be replaced: guards come first, then inner loops."""
        every = (*facts, *(fact for a in varying for fact in a.facts))
        order: list[tuple[bool, int, Atom, Condition, list[_Way]]] = []
        for atom in varying:
            slope = along(terms, atom)
            if atom in gone or atom in symbols(slope):
                continue
            rising = sum(slope.values()) > 0
            sign = self.signed(slope, facts, gone, rising=rising)
            if sign is False:
                rising = not rising
                sign = self.signed(slope, facts, gone, rising=rising)
            if sign is not False:
                guards = list(_guards(atom, every, rising=rising))
                own = [_Way(1, bound) for bound in (atom.lows if rising else atom.highs)]
                order.append((not guards, -atom.number, atom, sign, [*guards, *own]))
        for *_, atom, sign, ways in sorted(order, key=lambda found: found[:2]):
            found = some_of(list(self.replaced(terms, facts, gone | {atom}, atom, ways)))
            if found is not False:
                return all_of((sign, found))
        return False

    def signed(
        self, slope: Terms, facts: tuple[Terms, ...], gone: frozenset[Atom], *, rising: bool
    ) -> Condition:
        """That what is added for an atom is not negative, or not positive."""
        return self.shown(slope if rising else difference({}, slope), facts, gone)

    def replaced(
        self, terms: Terms, facts: tuple[Terms, ...], gone: frozenset[Atom], atom: Atom, ways: list[_Way]
    ) -> Iterator[Condition]:
        """The same with an atom replaced by bounds: of each, the condition."""
        slope = along(terms, atom)
        rest = difference(terms, multiplied(slope, atom.terms))
        tried = 0
        for times, bound in ways:
            if tried == _WAYS or any(symbols(case.terms) & gone for case in bound):
                continue
            tried += 1
            # ``times`` the terms are above -times where the terms themselves are not negative
            least = added(multiplied(rest, number(times)), number(times - 1))
            cases = [
                self.shown(added(least, multiplied(slope, case.terms)), (*facts, *case.facts), gone)
                for case in bound
            ]
            yield all_of(cases)


def _smaller(terms: Terms) -> Terms:
    """Terms of the same sign, without factors that all of them have."""
    first, *others = terms
    for atom in first:
        assert isinstance(atom, Atom)
        if atom.least >= 0 and all(atom in product for product in others):
            return _smaller(along(terms, atom))
    factor = math.gcd(*terms.values())
    return {product: count // factor for product, count in terms.items()}


class _Way(NamedTuple):
    """A bound of so many times an atom."""

    times: int
    bound: Bound


def _guards(atom: Atom, facts: Sequence[Terms], *, rising: bool) -> Iterator[_Way]:
    """What facts say of an atom from below, or from above."""
    for fact in facts:
        times = along(fact, atom).get((), 0)
        rest = difference(fact, {(atom,): times})
        if times and (times > 0) == rising and atom not in symbols(rest):
            yield _Way(abs(times), (Case(difference({}, rest) if rising else rest),))
