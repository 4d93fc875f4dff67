"""What kernels, contexts, buffers, tensors, streams and graphs are asked for by names of other libraries.

A method of Mojo's, CuPy's, Numba's, PyCUDA's or PyTorch's is told weft's, and so is what is misspelt.
"""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from weft.diagnostics.diagnostic import OBJECT, Diagnostic
from weft.diagnostics.errors import a_, elaborating, nearest
from weft.diagnostics.instead import OF_CLASS, ON_HOST
from weft.diagnostics.location import caller_location, is_internal
from weft.diagnostics.modules import UnknownAttribute
from weft.diagnostics.unfit import tell_of_methods


class _SpeltClass(type):
    """What says the same of a class's own line: ``Tensor.zeros``."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if _is_asked_by_weft(name):
                raise AttributeError(
                    f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls
                )
            raise _unknown(cls, name)


class Spelt(metaclass=_SpeltClass):
    """What says, of a program's own line, what an attribute is called, and what a method takes."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("weft."):
            tell_of_methods(cls)

    def __dir__(self) -> list[str]:
        own = [vars(kind).get("__weft_inside__", "") for kind in type(self).__mro__]
        inside = {name for names in own for name in names.split()}
        return [name for name in super().__dir__() if name not in inside]

    if not TYPE_CHECKING:  # else every name would be one that it has

        def __getattr__(self, name: str) -> Any:
            if _is_asked_by_weft(name):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                )
            raise _unknown(self, name)


def _is_asked_by_weft(name: str) -> bool:
    """Whether no line of a program's own asks for the attribute, or Python does."""
    caller = sys._getframe(2).f_code.co_filename  # pyright: ignore[reportPrivateUsage]
    return name.startswith("_") or elaborating.now or is_internal(caller)


def _unknown(held: object, name: str) -> UnknownAttribute:
    from weft.diagnostics.wrote import resolved

    of_class = isinstance(held, type)
    what = "the class" if of_class else a_(getattr(held, "called", type(held).__name__))
    known = [n for n in dir(held) if n[0] != "_" and _has(held, n)]
    texts: dict[str, str] = getattr(held, OF_CLASS, {}) if of_class else getattr(type(held), ON_HOST, {})
    guess = name if name in texts else nearest(name, [*known, *texts])
    listed = f"it has {', '.join(known)}" if known else f"make one: {OBJECT}(...)"
    hint = texts.get(guess or "") or (f"write {OBJECT}.{guess}" if guess else listed)
    found = Diagnostic("unknown-attribute", f"`{OBJECT}` ({what}) has no attribute `{name}`", hints=(hint,))
    return UnknownAttribute(resolved(found, caller_location()))


def asked_of(name: str) -> str:
    """What to write for a method of contexts, where a module was asked for it."""
    waiting: list[type] = [Spelt]
    while waiting:
        kind = waiting.pop()
        if kind.__name__.endswith("Context") and name in vars(kind):
            return f"write ctx.{name}(...), with ctx = DeviceContext() of weft.gpu.host"
        waiting += kind.__subclasses__()
    return ""


def _has(held: object, name: str) -> bool:
    """Whether it is a method or a property with a text for users, of a class one of the class's own."""
    if isinstance(held, type):
        return isinstance(getattr(held, name), MethodType)
    found = getattr(type(held), name, None)
    return isinstance(found, (FunctionType, property)) and bool(found.__doc__)
