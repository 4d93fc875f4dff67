"""What elaboration has found out of the types of literals, kept while a function is elaborated again."""

from __future__ import annotations

from weft.dtype import DType
from weft.lang.promote import promote

__all__ = ["Facts", "Mark", "Restart"]

Mark = object
"""What tells apart the literals of one function: a number, or what is derived from one."""


class Restart(BaseException):
    """A literal's type became known after code was emitted for its assumed one."""

    def __init__(self, key: object) -> None:
        self.key = key


class _Fact:
    __slots__ = ("dtype", "met", "settled")

    def __init__(self, dtype: DType, met: bool = True, settled: bool = False) -> None:
        self.dtype, self.met, self.settled = dtype, met, settled


class Facts:
    """The types of literals by function and mark.

    A mark takes the first type that it meets, and with others the widest. A value of a type that is
    stored into a literal's variable settles it: the variable is of that type then, as any other.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[object, Mark], _Fact] = {}

    def type_of(self, key: object, mark: Mark, assumed: DType) -> DType:
        """The type to elaborate with."""
        fact = self._found.get((key, mark))
        return assumed if fact is None else fact.dtype

    def open(self, key: object, mark: Mark) -> bool:
        """Whether no value of a type has been stored into the variable."""
        fact = self._found.get((key, mark))
        return fact is None or not fact.settled

    def met(self, key: object, mark: Mark) -> bool:
        """Whether anything gave it a type."""
        fact = self._found.get((key, mark))
        return fact is not None and fact.met

    def meet(self, key: object, mark: Mark, dtype: DType, have: DType) -> None:
        """Note a type that the mark meets; ``have`` is what it was elaborated with.

        Raises:
            Restart: that was another.
        """
        fact = self._found.get((key, mark))
        if fact is None or not fact.met:
            self._set(key, mark, _Fact(dtype), have)
        elif not fact.settled and fact.dtype is not dtype:
            self._set(key, mark, _Fact(_wider(fact.dtype, dtype)), fact.dtype)

    def assume(self, key: object, mark: Mark, dtype: DType, have: DType) -> None:
        """Elaborate with another type, which is only assumed too: an int literal's variable holds floats."""
        self._set(key, mark, _Fact(dtype, met=False), have)

    def settle(self, key: object, mark: Mark, dtype: DType, have: DType) -> None:
        """A value of a type is stored into the mark's variable.

        Raises:
            Restart: the variable was of another.
        """
        fact = self._found.get((key, mark))
        if fact is not None and fact.settled:
            dtype = promote(fact.dtype, dtype) or fact.dtype
        self._set(key, mark, _Fact(dtype, settled=True), have)

    def _set(self, key: object, mark: Mark, fact: _Fact, have: DType) -> None:
        self._found[key, mark] = fact
        if fact.dtype is not have:
            raise Restart(key)


def _wider(a: DType, c: DType) -> DType:
    """The type from which a literal becomes either without loss."""
    if a.is_float != c.is_float:
        return a if a.is_float else c
    return DType.float64 if a.is_float else promote(a, c) or DType.int64
