"""What was compiled, told apart by what it was compiled for and by what its code read of the program.

A kernel's global that is rebound makes a new variant, and the one before stays for when it is rebound back.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from weft.compiler.source.definition import Definition
from weft.lang.captured import read_while
from weft.lang.host_closures import known
from weft.lang.reads import Reads
from weft.lang.spec import Spec

T = TypeVar("T")
_MOST = 8
"""Variants for one key: those that a launch found last."""


class Variants(Generic[T]):
    """What was made for each key; a key begins with the function that it is about."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], list[tuple[Reads, T]]] = {}
        _all.add(self)

    def find(self, key: tuple[Any, ...]) -> tuple[Reads, T] | None:
        """What was made while the program was as it is now, and what it read."""
        made = self._made.get(key, ())
        for n, found in enumerate(made):
            if found[0].hold():
                if n:
                    self._made[key] = [found, *(one for one in made if one is not found)]
                return found
        return None

    def make(self, key: tuple[Any, ...], specs: Iterable[Spec], make: Callable[[], T]) -> tuple[Reads, T]:
        """Make what was not found, for a function and for the values that specs hold."""
        made, reads = made_for(key, specs, make)
        self.keep(key, reads, made)
        return reads, made

    def keep(self, key: tuple[Any, ...], reads: Reads, made: T) -> None:
        """Have what was made for a function, which read this of the program."""
        self._made[key] = [(reads, made), *self._made.get(key, ())][:_MOST]

    def __len__(self) -> int:
        return sum(map(len, self._made.values()))

    def forget(self, function: Definition) -> list[T]:
        """Drop what was made for a function, or of its code."""
        gone: list[T] = []
        for key, variants in list(self._made.items()):
            left = [one for one in variants if key[0] is not function and not one[0].reaches(function)]
            gone += [made for reads, made in variants if (reads, made) not in left]
            if left:
                self._made[key] = left
            else:
                self._made.pop(key, None)
        return gone


def made_for(key: tuple[Any, ...], specs: Iterable[Spec], make: Callable[[], T]) -> tuple[T, Reads]:
    """What is made for a function and for the values that specs hold, and what that read of the program."""
    values = [value for spec in specs for value in known(spec)]
    return read_while((key[0], *values), make)


_all: weakref.WeakSet[Variants[Any]] = weakref.WeakSet()


def forget_variants(function: Definition) -> list[Any]:
    """Drop all that was made for a function, or of its code; what that was."""
    return [made for variants in list(_all) for made in variants.forget(function)]
