"""What the statement being made may use, and where its choices come from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tests.fuzz.kinds import FLOATS, INT, INTEGERS, KINDS, Kind

__all__ = ["Choice", "Function", "Memory", "Record", "Scope", "Seeded"]

T = TypeVar("T")


class Choice(Protocol):
    """Where choices come from: a seeded generator, or hypothesis."""

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        ...

    def below(self, n: int) -> int:
        """A number from 0 to ``n - 1``."""
        ...


class Seeded:
    """Choices that a number decides."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self.random.random() * len(items))]

    def below(self, n: int) -> int:
        return int(self.random.random() * n)


@dataclass(frozen=True)
class Memory:
    """Elements that may be read at any index below ``size``; ``form`` holds where the index goes."""

    form: str
    kind: Kind
    size: int
    writable: bool = False
    loads: str = ""
    """A pointer to at least ``size`` elements from which vectors are loaded."""


@dataclass(frozen=True)
class Record:
    """A struct: its fields, each of a kind or a struct, and the methods that give a number."""

    name: str
    fields: tuple[tuple[str, Kind | Record], ...]
    methods: tuple[tuple[str, Kind, Kind], ...] = ()
    """Name, parameter and result of the methods that give a number."""
    changes: tuple[tuple[str, Kind], ...] = ()
    """Of those that give the changed struct."""

    def places(self, prefix: str) -> list[tuple[str, Kind]]:
        """The numbers in it."""
        found: list[tuple[str, Kind]] = []
        for name, kind in self.fields:
            where = f"{prefix}.{name}"
            found += kind.places(where) if isinstance(kind, Record) else [(where, kind)]
        return found


@dataclass(frozen=True)
class Function:
    """A function that may be called: ``form`` holds where the arguments go."""

    form: str
    takes: tuple[Kind | Record, ...]
    gives: Kind | Record
    weak: bool = True
    """Whether a literal may be an argument."""


@dataclass
class Scope:
    """What is there on every path to here."""

    choice: Choice
    names: list[tuple[str, Kind]] = field(default_factory=list[tuple[str, Kind]])
    fixed: list[tuple[str, Kind]] = field(default_factory=list[tuple[str, Kind]])
    """Names that are read and never assigned."""
    constants: list[str] = field(default_factory=list[str])
    """Small integers known at compile time."""
    records: list[tuple[str, Record]] = field(default_factory=list[tuple[str, Record]])
    vectors: list[tuple[str, Kind, int]] = field(default_factory=list[tuple[str, Kind, int]])
    memories: list[Memory] = field(default_factory=list[Memory])
    functions: list[Function] = field(default_factory=list[Function])
    types: list[Record] = field(default_factory=list[Record])
    lanewise: list[tuple[str, Kind, int]] = field(default_factory=list[tuple[str, Kind, int]])
    """Functions of a vector that give one: ``form`` holds where it goes."""
    counters: list[tuple[str, Kind, str]] = field(default_factory=list[tuple[str, Kind, str]])
    """What is changed by an atomic operation, which is always the same: an address, a kind, the operation."""
    returns: str = ""
    """What a return gives: empty where none may stand."""
    gives: Kind | Record | None = None
    kernel: bool = False
    closed: bool = False
    """Whether nothing may be assigned in expressions: they stand in a lambda."""
    count: int = 0
    budget: int = 24
    favourites: list[Kind] = field(default_factory=list[Kind])

    def pick(self, items: Sequence[T]) -> T:
        return self.choice.pick(items)

    def chance(self, one_in: int) -> bool:
        return self.choice.below(one_in) == 0

    def number(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return low + self.choice.below(high - low + 1)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def kind(self) -> Kind:
        """Some format, mostly one of the program's favourites."""
        if self.favourites and not self.chance(4):
            return self.pick(self.favourites)
        return self.pick([*INTEGERS, *FLOATS, INT, KINDS["Float32"], KINDS["Int32"]])

    def of(self, kind: Kind) -> list[str]:
        """The numbers of a kind that are there."""
        found = [n for n, k in [*self.names, *self.fixed] if k is kind]
        for name, record in self.records:
            found += [n for n, k in record.places(name) if k is kind]
        return found

    def assignable(self) -> list[tuple[str, Kind]]:
        return self.names

    def mark(self) -> tuple[int, ...]:
        """Where the lists end now: what is made in a branch is unknown after it."""
        return tuple(map(len, self._lists()))

    def back(self, mark: tuple[int, ...]) -> None:
        for items, length in zip(self._lists(), mark, strict=True):
            del items[length:]

    def _lists(self) -> tuple[list[object], ...]:
        lists = (
            self.names,
            self.fixed,
            self.constants,
            self.records,
            self.vectors,
            self.memories,
            self.functions,
        )
        return lists  # pyright: ignore[reportReturnType]
