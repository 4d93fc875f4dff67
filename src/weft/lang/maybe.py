"""A value that is None on some of the paths that lead to it: a flag beside the value.

It has parts as a dataclass has, so variables, arguments and results hold it as such. What tests say of the
flag (``x is None``) is noted as for members of enums; where they say that there is a value, it is that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin

from weft.compiler.ir.core import Value
from weft.diagnostics import VALUE, refuse
from weft.lang.elaboration import current, maybe_current
from weft.lang.operators import SIGNS, define_operators, function_of

_THERE, _BOTH = frozenset((1,)), 2


class Maybe:
    """A value or None. What is asked of it is asked of the value, where that is certain to be there."""

    __slots__ = ("weft_held", "weft_name", "weft_there")
    __dataclass_fields__ = dict.fromkeys(("weft_there", "weft_held"))
    __dataclass_params__ = SimpleNamespace(frozen=True)
    __weft_compares__ = True
    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, there: Any, held: Any) -> None:
        self.weft_there: Any = there
        self.weft_held: Any = held

    def known(self) -> bool | None:
        """Whether there is a value, as far as the tests behind which this stands say so."""
        if isinstance(self.weft_there, bool):
            return self.weft_there
        flag, b = self.weft_there.value, maybe_current()
        return None if b is None or not isinstance(flag, Value) else b.members.known(flag, 1, _BOTH)

    def flag(self) -> Any:
        """Whether there is a value, as a Bool of which tests are noted."""
        flag = getattr(self.weft_there, "value", None)
        if isinstance(flag, Value):
            current().members.tests_for(flag, flag, _THERE, _BOTH)
        return self.weft_there

    def narrowed(self) -> Any:
        """The value, or None, where it is known which; else itself."""
        known = self.known()
        return self if known is None else self.weft_held if known else None

    def present(self) -> Any:
        """The value.

        Raises:
            CompileError: it may be None here.
        """
        if not (known := self.known()):
            name = self.weft_name or VALUE
            refuse(
                "maybe-none",
                f"`{name}` {'may be' if known is None else 'is'} None here",
                notes=("only on some of the paths that lead here it has a value",),
                hint=f"test it before: if {name} is not None: ...",
            )
        return self.weft_held

    def __getattr__(self, name: str) -> Any:
        if name == "weft_name":
            return ""
        if name[:2] == "__":
            raise AttributeError(name=name, obj=self)
        return getattr(self.present(), name)

    def __eq__(self, other: object) -> Any:
        b: Any = current()
        return b.same(self, other)

    def __ne__(self, other: object) -> Any:
        b: Any = current()
        return b.not_(b.same(self, other))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the value."""
        return self.present()(*args, **kwargs)


def _forward(of: Callable[..., Any]) -> Callable[..., Any]:
    def asked(self: Maybe, *others: Any) -> Any:
        return of(self.present(), *others)

    return asked


def _backward(of: Callable[..., Any]) -> Callable[..., Any]:
    def asked(self: Maybe, other: Any) -> Any:
        return of(other, self.present())

    return asked


def _operator(name: str, swapped: bool) -> Callable[..., Any]:
    return (_backward if swapped else _forward)(function_of(name))


_OTHERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in "lt le gt ge getitem neg pos abs invert index".split()},
    **{of.__name__: of for of in (len, iter, bool, int, float, str, round)},
}
define_operators(Maybe, SIGNS, _operator)
for _name, _of in _OTHERS.items():
    setattr(Maybe, f"__{_name}__", _forward(_of))


def maybe(value: Any, blank: Any) -> Maybe:
    """A value, or None, for which ``blank`` stands, as what may be either."""
    if isinstance(value, Maybe):
        return value
    return Maybe(value is not None, blank if value is None else value)


def present(value: Any) -> Any:
    """A value itself; of what may be None the value.

    Raises:
        CompileError: it may be None here.
    """
    return value.present() if type(value) is Maybe else value


def without_none(annotation: Any) -> Any:
    """``T`` of the annotation ``T | None`` or ``Optional[T]``; None of all others."""
    if get_origin(annotation) not in (Union, UnionType):
        return None
    items = [item for item in get_args(annotation) if item is not type(None)]
    return items[0] if len(items) == 1 and len(get_args(annotation)) == 2 else None
