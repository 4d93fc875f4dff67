"""What a program sees of the numbers of its kernels where it asks Python what they are."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from weft.diagnostics import (
    LEFT,
    OBJECT,
    RIGHT,
    Diagnostic,
    a_,
    caller_location,
    is_internal,
    nearest,
    refuse,
)
from weft.diagnostics.errors import advised
from weft.diagnostics.modules import UnknownAttribute
from weft.dtype import DType, dtype_elsewhere
from weft.lang.elaboration import maybe_current
from weft.lang.hints import ALIASES, OF_NUMBERS, kind_of

T = TypeVar("T")
FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, functools.partial)


def stands_for(cls: Any) -> Any:
    """The class of Python's whose numbers are of one of weft's types; None of all else."""
    dtype = vars(cls).get("dtype") if isinstance(cls, _Kind) else None
    if not isinstance(dtype, DType) or cast("Any", cls).lanes != 1:
        return None
    return bool if dtype is DType.bool else float if dtype.is_float else int


def drawn(items: Iterable[T]) -> Iterator[T]:
    """The items of the program's: what they are made by, it calls itself, as in ``map(isinstance, a, b)``."""
    yield from items


def is_asked_by_program() -> bool:
    """Whether code of the program, or of a library that it calls, asks this while it is elaborated.

    The members of an IntFlag do not: they leave an operator to the number, instead of making a member of it.
    """
    if maybe_current() is None:
        return False
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_globals.get("__name__") == "abc":  # it asks for another
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__"))
    return (name[:5] != "weft." and name not in ("weft", "enum")) or frame.f_code.co_name == "drawn"


def check_classes(a: Any, c: Any) -> None:
    """Refuse to compare the class of a number with the one of Python's that it stands for, or a function
    with a number: parentheses are missing then.
    """
    for cls, plain in ((a, c), (c, a)):
        if is_function(cls) and isinstance(plain, (AsPython, int, float)):
            message = f"cannot compare {kind_of(plain)} with {kind_of(cls)}"
            refuse("operand", message, hint=f"call it: {LEFT if cls is a else RIGHT}()")
        if any(plain is one for one in (bool, int, float)) and stands_for(cls) is not None:
            refuse(
                "operand",
                f"the class of this number is {cls.__name__}, which is never Python's {plain.__name__}",
                hint=f"write isinstance(x, {plain.__name__}), or compare with {cls.__name__}",
            )


def is_function(value: Any) -> bool:
    """Whether a value is a function, a method, or a ``@func``."""
    return isinstance(value, FUNCTIONS) or hasattr(cast("Any", type(value)), "__weft_compiled__")


def is_unasked(function: Any) -> bool:
    """Whether a function is one of weft's that is called without arguments, as ``lane_id``."""
    import inspect

    return str(function.__module__).startswith("weft.") and not inspect.signature(function).parameters


def is_one_type(cls: Any, other: Any) -> bool:
    """Whether a class of numbers is the type that another library's class, as ``np.float32``, means."""
    meant = None if isinstance(other, _Kind) or stands_for(cls) is None else dtype_elsewhere(other)
    return meant is not None and meant is cls.dtype


def numpys(cls: Any) -> Any:
    """NumPy's class of the same numbers; None where there is none, or no NumPy is used."""
    known = "numpy" in sys.modules and stands_for(cls) is not None and cls.dtype.in_numpy
    return cls.dtype.numpy.type if known else None


_PYTHONS = frozenset(("int", "float", "bool", "builtins", *map(repr, (int, float, bool))))
"""What Python's classes say of themselves."""


class _Name(str):
    """The name of a class of numbers, its module or its text: never those of Python's class."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and str.__str__(other) in _PYTHONS:
            refuse(
                "operand",
                f"the class of this number is {self}, which is never Python's {other}",
                hint=f"write isinstance(x, {other}), or compare with the name {str(self)!r}",
            )
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def name_of(cls: Any, which: str) -> Any:
    """``__qualname__`` or ``__module__`` of what may be a class of numbers."""
    found = getattr(cls, which)
    return found if stands_for(cls) is None else _Name(found)


def _named() -> Any:
    """``__name__`` of a class of numbers."""
    own: Any = type.__dict__["__name__"]

    def name(cls: type[Any]) -> str:
        return _Name(own.__get__(cls)) if is_asked_by_program() else own.__get__(cls)

    return property(name, own.__set__)


class _Kind(type):
    """The class of classes of numbers: a program does not compare these with Python's by mistake."""

    __hash__ = type.__hash__

    if not TYPE_CHECKING:
        __name__ = _named()

    def __repr__(cls) -> str:
        shown = type.__repr__(cls)
        return _Name(shown) if is_asked_by_program() and stands_for(cls) is not None else shown

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, type) and is_asked_by_program():
            check_classes(cls, other)
        return is_one_type(cls, other) or NotImplemented


_Kind.__name__ = "type"  # as Python's messages have it


def _missing(number: AsPython, name: str, caller: FrameType) -> AttributeError:
    """What an attribute that is not there raises: on the host a message, where a program asks."""
    if maybe_current() is not None or name[0] == "_" or is_internal(caller.f_code.co_filename):
        kind = type(number).__name__
        return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=number)
    from weft.diagnostics.wrote import resolved

    hint, method = OF_NUMBERS.get(name, "").format(OBJECT), ALIASES.get(name)
    if not hint and not method and not (hint := advised(name)):
        method = nearest(name, [known for known in dir(number) if known[0] != "_"])
    hint = hint or (f"write {OBJECT}.{method}(...)" if method else "look it up in the reference")
    message = f"`{OBJECT}` ({a_(type(number).__name__)}) has no attribute `{name}`"
    said = Diagnostic("unknown-attribute", message, hints=(hint,))
    return UnknownAttribute(resolved(said, caller_location()))


def beside_arrays(read: Callable[..., Any]) -> property:
    """``__array__`` of a class of numbers: what NumPy takes one for on the host.

    In compiled code there is none, so that arrays have these numbers as objects, known only at run time.
    """

    def made(number: Any) -> Any:
        if maybe_current() is not None:
            raise AttributeError("__array__")
        return functools.partial(read, number)

    return property(made)


def _as_array(number: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """A number as NumPy has those of its type, of a BFloat16 a float32; lanes as an array."""
    import numpy as np

    lanes = [number[i].value for i in range(number.lanes)] if number.lanes > 1 else number.value
    own = number.dtype.numpy if number.dtype.in_numpy else np.float32
    return np.array(lanes, own if dtype is None else dtype)


class AsPython(metaclass=type if TYPE_CHECKING else _Kind):
    """Numbers: to ``isinstance`` and all that goes by it what Python's are, wherever a program calls it.

    So ``match``, ``functools.singledispatch`` and the classes of ``numbers`` know them too, and
    attributes of Python's numbers are not found missing, but refused.
    """

    __slots__ = ()

    def __deepcopy__(self, _: object) -> Self:
        return self

    __array_priority__ = -1.0
    """To NumPy's numbers what stands on their right says what comes of both, to its arrays they do."""

    if TYPE_CHECKING:

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...

    if not TYPE_CHECKING:

        @property
        def __class__(self):
            kind = type(self)
            return (stands_for(kind) or kind) if is_asked_by_program() else kind

        __array__ = beside_arrays(_as_array)

        def __getattr__(self, name):
            plain = stands_for(type(self))
            if name[:2] == "__" or not hasattr(plain, name) or not is_asked_by_program():
                raise _missing(self, name, sys._getframe(1))
            hint = OF_NUMBERS.get(name, "look it up in the reference").format(OBJECT)
            refuse(
                "unknown-attribute",
                f"`{OBJECT}` ({a_(type(self).__name__)}) has no attribute `{name}`",
                hint=hint,
            )
