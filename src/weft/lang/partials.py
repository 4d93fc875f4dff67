"""``functools.partial`` and bound methods as arguments: a function, and what is given to it beforehand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, cast

from weft.compiler.ir.core import Value
from weft.lang.decorators import Func
from weft.lang.objects import looking
from weft.lang.spec import Leaf, Spec, build_each, leaves_of, spec_of
from weft.record import record, replace


@record
class PartialSpec:
    """Of what kinds the function, its first arguments and its named ones are."""

    items: tuple[Spec, ...]
    names: tuple[str, ...]

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return [
            replace(leaf, suffix=f".{n}{leaf.suffix}")
            for n, item in enumerate(self.items)
            for leaf in item.leaves()
        ]

    def build(self, leaves: Sequence[Value]) -> Partial:
        """The value, from its leaves."""
        return Partial(build_each(self.items, leaves), self.names)

    def describe(self) -> str:
        """How a message names it."""
        return self.items[0].describe()


class Partial:
    """A function with some of its arguments, in a kernel that was given it."""

    __weft_nested__ = True

    def __init__(self, items: list[Any], names: tuple[str, ...]) -> None:
        self.items: list[Any] = items
        self.names: tuple[str, ...] = names
        self.__name__: str = getattr(items[0], "__name__", "the function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it from the code at hand."""
        function, *given = self.items
        first = len(given) - len(self.names)
        named = dict(zip(self.names, given[first:], strict=True))
        return function(*given[:first], *args, **{**named, **kwargs})

    def __weft_spec__(self) -> Spec:
        return PartialSpec(tuple(map(spec_of, self.items)), self.names)

    def __weft_leaves__(self) -> list[Value]:
        with looking(False):
            return [leaf for item in self.items for leaf in leaves_of(item)]


def taken_apart(value: Any) -> tuple[list[Any], tuple[str, ...]] | None:
    """The function and what it is given, the named arguments last; None of what is no such function."""
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__], ()
    if not isinstance(value, functools.partial):
        return None
    made = cast("functools.partial[Any]", value)
    function: Callable[..., Any] = made.func
    held: object = getattr(function, "__self__", None)
    if isinstance(held, Func):  # a method of a struct
        function = cast("Func[..., Any]", held)
    return [function, *made.args, *made.keywords.values()], tuple(made.keywords)
