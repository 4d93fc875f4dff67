"""What the statement being made may use, and where its choices come from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tests.fuzz.kinds import FLOATS, INT, INTEGERS, KINDS, Kind

__all__ = ["Choice", "Function", "Many", "Memory", "Part", "Record", "Scope", "Seeded"]

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
class Many:
    """Several numbers of a kind in a field: the lanes of a vector, or an array in a row."""

    kind: Kind
    count: int
    lanes: bool

    @property
    def name(self) -> str:
        return f"{'SIMD' if self.lanes else 'InlineArray'}[{self.kind.name}, {self.count}]"


@dataclass(frozen=True)
class Record:
    """A ``struct``, a ``named`` tuple, a dataclass (``data``) or a ``tuple``; or an ``enum``."""

    name: str
    fields: tuple[tuple[str, Part], ...]
    """Of an enum, its members."""
    methods: tuple[tuple[str, Kind, Kind], ...] = ()
    """Name, parameter and result of the methods that give a number."""
    changes: tuple[tuple[str, Kind], ...] = ()
    """Of those that give the changed struct."""
    form: str = "struct"
    pack: int = 0
    align: int = 0
    algebra: str = ""
    """Of the library's structs, a ``vector`` or a ``complex`` number."""
    number: bool = False
    """Of an enum, whether its members are numbers, which ``is`` does not compare at run time."""

    def made(self, parts: Sequence[str]) -> str:
        """One of these parts."""
        return f"({', '.join(parts)},)" if self.form == "tuple" else f"{self.name}({', '.join(parts)})"

    def changed(self, value: str, field: str, part: str) -> str:
        """One that differs in a field; structs are assigned to."""
        if self.form == "tuple":
            return self.made([part if name == field else f"{value}{name}" for name, _ in self.fields])
        return (
            f"{value}._replace({field}={part})"
            if self.form == "named"
            else f"dataclasses.replace({value}, {field}={part})"
        )

    def parts(self, prefix: str) -> list[tuple[str, Kind | Many]]:
        """What is in it, however deep, and how it is written behind the prefix."""
        found: list[tuple[str, Kind | Many]] = []
        for name, kind in self.fields if self.form != "enum" else ():
            where = f"{prefix}{name}" if self.form == "tuple" else f"{prefix}.{name}"
            found += kind.parts(where) if isinstance(kind, Record) else [(where, kind)]
        return found

    def places(self, prefix: str) -> list[tuple[str, Kind]]:
        """The numbers in it."""
        return [(where, kind) for where, kind in self.parts(prefix) if isinstance(kind, Kind)]

    def reads(self, prefix: str) -> list[tuple[str, Kind]]:
        """The numbers that it has, those in vectors and arrays too."""
        if self.form == "enum":
            return [(f"Int64({prefix}.value)", INT)]
        found = self.places(prefix)
        for where, kind in self.parts(prefix):
            if isinstance(kind, Many):
                found += [(f"{where}[{n}]", kind.kind) for n in range(kind.count)]
        return found

    def flat(self) -> bool:
        """Whether it has numbers alone, so that a pattern can name them."""
        return (
            self.name.isidentifier()
            and self.form != "enum"
            and not self.algebra
            and all(isinstance(k, Kind) for _, k in self.fields)
        )

    def exact(self) -> bool:
        """Whether ``==`` asks for no floats: a nan in a tuple equals itself in Python."""
        return self.form == "struct" or not any(k.is_float for _, k in self.reads(""))


Part = Kind | Record | Many


@dataclass(frozen=True)
class Function:
    """A function that may be called: ``form`` holds where the arguments go."""

    form: str
    takes: tuple[Part, ...]
    gives: Part
    weak: bool = True
    """Whether a literal may be an argument."""

    def call(self, args: list[str]) -> str:
        """A call; the form has a place for each argument, or one for all."""
        return self.form.format(*(args if "{1}" in self.form else [", ".join(args)]))


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
    holders: list[tuple[str, Record, int, bool]] = field(default_factory=list[tuple[str, Record, int, bool]])
    """Memory of records: where the index goes, of what, how many there are, and whether it may be written."""
    vectors: list[tuple[str, Kind, int]] = field(default_factory=list[tuple[str, Kind, int]])
    memories: list[Memory] = field(default_factory=list[Memory])
    tables: list[tuple[str, Kind, int]] = field(default_factory=list[tuple[str, Kind, int]])
    """Tables of literals: where the index goes, of what kind, how many."""
    tensors: list[tuple[str, Kind, list[int]]] = field(default_factory=list[tuple[str, Kind, list[int]]])
    """What loops may go through, and its extents."""
    functions: list[Function] = field(default_factory=list[Function])
    types: list[Record] = field(default_factory=list[Record])
    lanewise: list[tuple[str, Kind, int]] = field(default_factory=list[tuple[str, Kind, int]])
    """Functions of a vector that give one: ``form`` holds where it goes."""
    counters: list[tuple[str, Kind, str]] = field(default_factory=list[tuple[str, Kind, str]])
    """What is changed by an atomic operation, which is always the same: an address, a kind, the operation."""
    returns: str = ""
    """What a return gives: empty where none may stand."""
    gives: Part | None = None
    kernel: bool = False
    closed: bool = False
    """Whether nothing may be assigned in expressions: they stand in a lambda."""
    count: int = 0
    budget: int = 24
    favourites: list[Kind] = field(default_factory=list[Kind])
    liked: tuple[str, ...] = ()
    """Forms of statements that this program has more of, as in A. Groce et al., Swarm testing (2012)."""
    given: str = ""
    """Likewise, of what threads of a group give each other."""

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
            found += [n for n, k in record.reads(name) if k is kind]
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
            self.holders,
            self.vectors,
            self.memories,
            self.tensors,
            self.functions,
            self.counters,
        )
        return lists  # pyright: ignore[reportReturnType]
