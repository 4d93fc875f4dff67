"""``print`` and ``assert`` in kernels: values travel to the host, text stays there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, cast

from weft.abi.artifact import Piece, PrintSite
from weft.abi.number_text import format_value
from weft.compiler.ir.core import Value
from weft.diagnostics import a_, is_internal, refuse
from weft.dtype import DType, as_dtype
from weft.lang.elaboration import current, maybe_current
from weft.lang.enums import EnumValue
from weft.lang.fold import has_lanes
from weft.lang.host import host_object
from weft.lang.maybe import Maybe
from weft.lang.number import Number, value_of
from weft.lang.products import class_of, part_names, parts_of
from weft.lang.spec import is_composite
from weft.lang.structs import is_struct, struct_fields
from weft.lang.text import RunTimeText, mark, marked, token


def format_number(number: Number, spec: str, *, within: bool = False) -> str:
    """``format(number, spec)``: inside a kernel a mark that ``kernel_print`` resolves.

    ``within`` says that Python asks, which takes the mark for text: of a user's own code that is refused.
    """
    b = maybe_current()
    if not isinstance(number.value, Value) and number.lanes == 1:
        return format_value(number.dtype, number.value, spec)
    if b is None:
        value: Any = number.value
        lanes: tuple[Any, ...] = value if has_lanes(value) else (value,) * number.lanes
        return f"({', '.join([format_value(number.dtype, lane, spec) for lane in lanes])})"
    if within:
        refuse_text(number, sys._getframe(2))  # pyright: ignore[reportPrivateUsage]
    return mark(number, spec, 0.5 if number.dtype.is_float else 1, type(number).__name__)


def refuse_text(number: Number, caller: FrameType) -> None:
    """Refuse that a function of the program makes a text of a number that exists only at run time."""
    if is_internal(caller.f_code.co_filename):
        return
    refuse(
        "not-compile-time",
        f"ordinary Python makes a text of this {type(number).__name__}, which exists only at run time",
        hint="write the text where it is printed",
    )


def text_of(value: Any, conversion: int) -> Any:
    """A value in an f-string: what holds run-time numbers becomes text with their marks."""
    if isinstance(value, Maybe):
        value = None if value.known() is False else value.present()
    _check(value)
    if isinstance(value, Number):
        return Formatted(value) if conversion < 0 else marked(format_number(value, ""))
    if isinstance(value, RunTimeText):
        return repr(value) if conversion == ord("r") else value
    if conversion == ord("r") or _holds_numbers(value):
        return marked(_text(value))
    if hasattr(cast("type[Any]", type(value)), "__weft_leaves__"):
        _refuse(value)
    if conversion == ord("s"):
        return str(value)
    return ascii(value) if conversion == ord("a") else value


def _refuse(value: object) -> NoReturn:
    kind, hint = type(value), "print its elements"
    if isinstance(value, EnumValue):
        kind, hint = value.cls, "print its .value, where the members have numbers"
    refuse("print", f"cannot print {a_(kind.__name__)} from a kernel", hint=hint)


class Formatted:
    """A number in an f-string."""

    __slots__ = ("number",)

    def __init__(self, number: Number) -> None:
        self.number: Number = number

    def __format__(self, spec: str) -> str:
        return format_number(self.number, spec)

    def __str__(self) -> str:
        return format_number(self.number, "")


def _holds_numbers(value: Any) -> bool:
    kind = class_of(value)
    return kind in (tuple, list, dict) or _named_parts(value) is not None


_REPR = frozenset(("dataclasses", "reprlib", "collections"))
"""The modules whose functions are the ``__repr__`` of dataclasses and named tuples that define none."""


def _named_parts(value: Any) -> list[tuple[str, Any]] | None:
    """What the text of a struct, an array, a dataclass or a named tuple shows; None of all else."""
    kind = class_of(value)
    if is_struct(kind):
        return [(f"{name}=", getattr(value, name)) for name in struct_fields(kind)]
    if hasattr(kind, "__weft_items__"):
        return [("", item) for item in value]
    parts, names = parts_of(value), part_names(kind)
    own = getattr(kind.__repr__, "__globals__", {"__name__": ""})["__name__"] not in _REPR
    if parts is None or names is None or own or kind.__str__ is not object.__str__:
        return None
    fields: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
    return [
        (f"{n}=", part) for n, part in zip(names, parts, strict=True) if n not in fields or fields[n].repr
    ]


def _text(value: Any) -> str:
    """``repr(value)``, with marks for the numbers in what has several parts."""
    kind = class_of(value)
    if issubclass(kind, Number):
        return format_number(value, "")
    if kind is dict:
        return f"{{{', '.join([f'{key!r}: {_text(item)}' for key, item in value.items()])}}}"
    if kind is tuple or kind is list:
        items = ", ".join([_text(item) for item in value])
        return f"[{items}]" if kind is list else f"({items},)" if len(value) == 1 else f"({items})"
    parts = _named_parts(value)
    if parts is not None:
        return f"{kind.__name__}({', '.join([name + _text(part) for name, part in parts])})"
    return value.text if isinstance(value, RunTimeText) else repr(value)


def _check(value: object) -> None:
    if type(value).__name__ == "ndarray" and getattr(value, "dtype", None) == "object":
        hint = "print its elements, print(*x), or a list of them, print(x.tolist())"
        refuse("print", "an array of NumPy's makes no text of run-time numbers", hint=hint)
    if host_object(value):
        refuse(
            "host-only",
            f"{a_(type(value).__name__)} belongs to the host, and a kernel cannot print it",
            hint="print it on the host; pass memory as an argument and print its elements",
        )


def _word(number: Number) -> Value:
    """A number as a word of 64 bits; a float keeps its own bits in the low end."""
    if number.dtype.is_float:
        number = number.bitcast(as_dtype(f"uint{number.dtype.bits}"))
    return value_of(number.cast(DType.int64 if number.dtype.is_signed else DType.uint64), current())


def _pieces(argument: Any, pieces: list[Piece], values: list[Value], spec: str = "") -> None:
    b = current()
    if spec and isinstance(argument, str):
        within: list[Piece] = []
        _pieces(argument, within, values)
        pieces.append((tuple(within), spec))
    elif isinstance(argument, Number):
        if argument.lanes > 1:
            pieces.append("[")
            for lane in range(argument.lanes):
                if lane:
                    pieces.append(", ")
                _pieces(argument[lane], pieces, values, spec)
            pieces.append("]")
            return
        values.append(_word(argument))
        pieces.append((argument.dtype, spec) if spec else argument.dtype)
    elif isinstance(argument, Formatted):
        _pieces(argument.number, pieces, values)
    elif isinstance(argument, RunTimeText):
        _pieces(argument.text, pieces, values)
    elif isinstance(argument, str):
        start = 0
        for found in token().finditer(argument):
            pieces.append(argument[start : found.start()])
            held, spec = b.elaborator.formatted[int(found.group(1))]
            _pieces(held, pieces, values, spec)
            start = found.end()
        pieces.append(argument[start:])
    elif _holds_numbers(argument):
        _pieces(_text(argument), pieces, values)
    elif hasattr(argument, "__weft_leaves__"):
        _refuse(argument)
    else:
        _pieces(str(argument), pieces, values)


def text_pieces(*arguments: Any) -> tuple[tuple[Piece, ...], list[Value]]:
    """What stands there one after the other: texts and the types of values, and the values."""
    pieces: list[Piece] = []
    values: list[Value] = []
    for argument in arguments:
        _check(argument)
        _pieces(argument, pieces, values)
    merged: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif piece != "":
            merged.append(piece)
    return tuple(merged), values


def kernel_print(
    *args: Any, sep: str | None = None, end: str | None = None, file: Any = None, flush: bool = False
) -> None:
    """Python's print, from a kernel: one record per thread, formatted by the host.

    ``flush`` changes nothing: text is written, and flushed, when the host waits.
    """
    if file is not None:
        hint = "leave it out, and wait within contextlib.redirect_stdout on the host"
        refuse("print", "a kernel prints to the host's standard output, and knows no other file", hint=hint)
    sep, end = " " if sep is None else sep, "\n" if end is None else end
    apart = [item for argument in args for item in (sep, argument)][1:]
    pieces, values = text_pieces(*apart, end)
    b = current()
    b.elaborator.refer(b.emit("weft.print", tuple(values)), PrintSite(pieces))


def assertion(condition: Any, message: Callable[[], Any]) -> Value | None:
    """What Python's assert tests, in a kernel; None where it holds at compile time."""
    b = current()
    if not isinstance(condition, Number) and is_composite(condition):
        condition = b.truth(condition)
    if not isinstance(condition, Number) or not isinstance(condition.value, Value):
        if not condition:
            pieces, _ = text_pieces(text_of(message(), ord("s")))
            text = "".join(piece if isinstance(piece, str) else "…" for piece in pieces)
            refuse(
                "assert",
                f"this assertion is false at compile time{': ' + text if text else ''}",
                hint="change what it tests; whoever compiled the kernel chose these values",
            )
        return None
    if condition.dtype is not DType.bool:
        condition = condition != 0
    return value_of(condition, b)
