"""What is found out of a function's parameters and result, kept while what these depend on is the same."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from weft.compiler.source.definition import Definition

if TYPE_CHECKING:
    from weft.lang.reads import Reads

T = TypeVar("T")
P = ParamSpec("P")

_MOST = 4096
"""So many results of one function are kept."""


class Remembered(Generic[P, T]):
    """What is found out of a function, the first argument."""

    def __init__(self, make: Callable[P, T]) -> None:
        functools.update_wrapper(self, make)
        self._make = make
        self._known: dict[tuple[object, ...], tuple[T, Reads]] = {}
        _memories.append(cast("dict[tuple[object, ...], Any]", self._known))

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        """What is found out, anew where the signature depends on something that has changed."""
        key = *args, *named.values()
        found = self._known.get(key)
        if found is not None and found[1].hold():
            return found[0]
        from weft.lang.captured import reads_of_signature  # not for who only imports weft

        reads = reads_of_signature(cast("Definition", args[0]))
        result = self._make(*args, **named)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = result, reads
        return result

    def last(self, *args: P.args, **named: P.kwargs) -> T:
        """What was found out last, whether it still holds or not."""
        found = self._known.get((*args, *named.values()))
        return self(*args, **named) if found is None else found[0]


def remembered(make: Callable[P, T]) -> Remembered[P, T]:
    """A decorator: what is found out of a function, the first argument, stays while its signature does."""
    return Remembered(make)


_memories: list[dict[tuple[object, ...], Any]] = []


def forget(fn: Definition) -> None:
    """Forget what was found out of a function."""
    for known in _memories:
        for key in [key for key in known if key[0] is fn]:
            known.pop(key, None)
