"""Elements of what algorithms take, and what functions make of them, as far as is known at compile time."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn, cast

from weft.diagnostics import LaunchError, a_, refuse
from weft.dtype import DType, as_dtype
from weft.foreign.read import Unreadable, array_of
from weft.lang.elaboration import current
from weft.lang.generic import describe_annotation, written
from weft.lang.host_closures import steady
from weft.lang.number import Number, to_type
from weft.lang.pointer import Pointer
from weft.lang.promote import promote
from weft.lang.python_number import python_number
from weft.lang.signature import MISSING, describe_parameters, parameters
from weft.lang.spec import spec_of
from weft.lang.structs import struct
from weft.lang.type_variables import type_of
from weft.layout import Layout, LayoutTensor

WIDE = 16
"""Bytes of the widest access."""


def check_parameters(func: Any, count: int, algorithm: str, what: str, *, named: str = "") -> None:
    """Refuse a function that cannot be called with so many arguments, ``what``, and a ``named`` one."""
    whatever: object = func
    if not callable(whatever):
        kind = describe_annotation(type_of(spec_of(func)))
        refuse("argument-type", f"{algorithm} calls {a_(kind)}, which is no function", hint="pass a function")
    definition = getattr(func, "definition", None)
    if definition is None:
        return
    given = {named, *func.bound}
    taken = [p for p in parameters(definition) if not p.keyword_only and p.name not in given]
    needed = [p for p in taken if p.default is MISSING]
    if len(needed) <= count <= len(taken):
        return
    calls = f"{algorithm} calls {func.__name__} with {count} argument{'s' * (count != 1)}"
    refuse(
        "argument-count",
        f"{calls}, but it takes {len(taken)}",
        notes=(f"{func.__name__}{describe_parameters(definition)}",),
        hint=f"give it {what}",
    )


@struct
class Memory:
    """Elements side by side, however many: so code for arrays does not depend on their shapes."""

    start: Pointer[Any]


def flat(value: Any) -> Any:
    """Memory as an argument: without its shape, where it is contiguous."""
    found: Any = value.to_layout_tensor() if hasattr(value, "to_layout_tensor") else value
    if isinstance(found, LayoutTensor):
        tensor = cast("LayoutTensor[Any]", found)
        layout = tensor.layout
        whole = tensor.element is None and layout.is_static and layout == Layout.row_major(layout.shape)
        return tensor.storage if whole and not tensor.masked else tensor
    flags = getattr(value, "flags", None)
    return Memory(value) if getattr(flags, "c_contiguous", False) else value


def readable(src: Any) -> Any:
    """Memory that is read alone: a copy of an array that is reversed, which no launch takes."""
    reversed = type(src).__module__ == "numpy" and min(src.strides, default=0) < 0
    return src.copy() if reversed else src


def at(src: Any, i: Any) -> Any:
    """Element ``i`` of memory, in row-major order of a tensor; of a function its value."""
    if isinstance(src, (Pointer, Memory, LayoutTensor)):
        memory, index = _place(src, i)
        return memory[index]
    return src(i)


def is_aligned(memory: Any) -> bool:
    """Whether memory of the host API is known to begin where an access of 16 bytes may."""
    address: object = getattr(memory, "address", None)
    return isinstance(address, int) and address % WIDE == 0


def wide_lanes(memory: Any, count: int) -> int:
    """How many of ``count`` elements an access of 16 bytes has; 1 where there is none such."""
    if not isinstance(memory, Pointer):
        return 1
    dtype: DType = cast("Any", memory).dtype
    lanes: int = WIDE // dtype.itemsize if dtype.is_number and dtype.kind != "bool" else 1
    return 1 if count % lanes else lanes


def put(dst: Any, i: Any, value: Any) -> None:
    """Write element ``i``."""
    memory, index = _place(dst, i)
    memory[index] = value


def _place(memory: Any, i: Any) -> tuple[Any, Any]:
    if isinstance(memory, Memory):
        start: Any = memory.start
        return start, i
    if getattr(memory, "rank", 1) == 1:  # of a pointer or a tensor
        return memory, i
    return memory, unravelled(i, memory.shape)


def size_of(src: Any) -> int:
    """How many elements there are.

    Raises:
        LaunchError: this is no memory.
    """
    shape: Any = getattr(src, "shape", None)
    try:
        return prod(int(extent) for extent in shape) if shape is not None else len(src)
    except TypeError:
        hint = "pass a buffer, a tensor or an array"
        raise LaunchError.here("argument-type", f"{a_(type(src).__name__)} has no elements", hint) from None


def kind_of(memory: Any, name: str = "src", place: int = 0, *, writes: bool = False) -> Any:
    """The class of the elements of memory.

    Args:
        memory: an argument.
        name: its name.
        place: its place among those of the call.
        writes: whether it is written to.

    Raises:
        LaunchError: it is no memory, has no elements of weft's types, or is read-only.
    """
    try:
        kind = written(as_dtype(memory.dtype))
    except (AttributeError, TypeError, ValueError):
        found, hint = _unfit(memory)
        raise LaunchError.here("array-type", f"{name} is {found}", hint, at=(name, place)) from None
    if writes and getattr(getattr(memory, "flags", None), "writeable", True) is False:
        message, hint = f"{name} is an array that is read-only", "pass an array that may be written to"
        raise LaunchError.here("array-readonly", message, hint, at=(name, place))
    return kind


def _unfit(memory: Any) -> tuple[str, str]:
    """What it is that algorithms cannot take as memory, and what to do."""
    if callable(memory) and not hasattr(memory, "dtype"):
        return a_(type(memory).__name__), "the function comes first, then the memory"
    try:
        dtype = array_of(memory).dtype
    except Unreadable as wrong:
        return wrong.found, wrong.hint
    if getattr(getattr(memory, "dtype", None), "names", None):
        hint = "copy it into a buffer of that: ctx.enqueue_create_buffer(S, n)"
        return "an array whose records do not say which @struct they are", hint
    return f"an array of {dtype}", "pass its parts, as `x.real`, or a view as numbers with one more axis"


def function_of(value: Any, name: str = "func", place: int = 0) -> Any:
    """A function among the arguments of a call, the same for all that are made of its code.

    Raises:
        LaunchError: it is none.
    """
    if not callable(value):
        hint = "pass a function, a @func or a lambda"
        message = f"{name} is {a_(type(value).__name__)}, where a function is needed"
        raise LaunchError.here("argument-type", message, hint, at=(name, place))
    return steady(value)


def unravelled(number: Any, extents: Any) -> tuple[Any, ...]:
    """The indices of an element, of which the last counts fastest."""
    found: list[Any] = []
    for extent in reversed(extents):
        found.insert(0, number % extent)
        number = number // extent
    return tuple(found)


def converted(value: Any, like: Pointer[Any], whose: str) -> Any:
    """A value as an element of ``like``, where that loses nothing; ``whose`` says in a message what it is."""
    return converted_to(like.element_type, value, whose)


def converted_to(kind: Any, value: Any, whose: str = "the function's result is", *, cure: str = "") -> Any:
    """A value as one of a class, where that loses nothing; ``cure`` says in a message what to do."""
    value = python_number(value)
    if not issubclass(kind, Number):
        return value if isinstance(value, kind) else _refuse(value, kind, whose, cure)
    known = isinstance(value, (bool, int, float))
    if not known and not (isinstance(value, Number) and value.lanes == 1):
        _refuse(value, kind, whose, cure)
    if not known and value.weak is None and promote(value.dtype, kind.dtype) is not kind.dtype:
        _refuse(value, kind, whose, cure)
    return kind.of(to_type(value, kind, current()))


def _refuse(value: Any, kind: type[Any], whose: str, cure: str) -> NoReturn:
    found = describe_annotation(type_of(spec_of(value)))
    message = f"{whose} {a_(found)}, which is not {a_(kind.__name__)} without losing something"
    cure = cure or f"convert it, or give init= or the destination the type {found}"
    if not isinstance(value, Number):
        cure = f"return {a_(kind.__name__)}" if "result" in whose else cure
    if not issubclass(kind, Number) or not isinstance(value, Number):
        message = f"{whose} {a_(found)}, where {a_(kind.__name__)} is needed"
    refuse("argument-type", message, hint=cure)
