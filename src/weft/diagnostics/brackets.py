"""Methods of the host that Mojo calls with brackets: Python would say that a method is not subscriptable.

``ctx.enqueue_function[kernel](...)`` is how a Mojo program launches. A method that is ``bracketed`` says what
to write instead; to take one costs 0.2 µs more, and launches by the native stub nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, NoReturn, TypeVar, cast

from weft.diagnostics.diagnostic import INDEX, OBJECT
from weft.diagnostics.errors import refuse
from weft.diagnostics.unfit import told_of

F = TypeVar("F", bound=Callable[..., Any])


class _Bound(functools.partial[Any]):
    # what a method is of an object; it has that method's docstring

    __slots__ = ()

    @property
    def __doc__(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.func.__doc__

    def __getitem__(self, item: object) -> NoReturn:
        refuse(
            "index",
            f"a method cannot be indexed: what Mojo has in the brackets of {self.func.__name__} "
            "is its first argument",
            hint=f"write {OBJECT}({INDEX}, ...)",
        )

    def __getattr__(self, name: str) -> Any:
        if name not in ("__self__", "__func__", "__name__", "__qualname__", "__module__"):
            raise AttributeError(name)
        return getattr(MethodType(self.func, self.args[0]), name)

    def __repr__(self) -> str:
        return repr(MethodType(self.func, self.args[0]))


class _Bracketed:
    """A method in its class."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.__wrapped__ = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: object, owner: Any = None) -> Any:
        return self.__wrapped__ if instance is None else _Bound(self.__wrapped__, instance)


def bracketed(method: F) -> F:
    """The method, which says what to write where it is indexed."""
    return cast("F", _Bracketed(told_of(method)))
