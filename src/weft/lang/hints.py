"""What to write instead of what numbers do not do, and of a value that is no number where one is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

from weft.diagnostics import LEFT, RIGHT, VALUE, CompileError, a_, refuse
from weft.diagnostics.arithmetic import is_numpys
from weft.lang.elaboration import maybe_current

COMMA = "leave out the comma that makes a tuple of it"


def is_tuple_of_one(value: object) -> bool:
    """Whether it is what a comma behind a value makes."""
    return type(value) is tuple and len(cast("tuple[object, ...]", value)) == 1


def kind_of(value: object) -> str:
    """A few words for the value, to end ``not ...``."""
    if value is None:
        return "None"
    return a_(type(value).__name__) if not isinstance(value, type) else f"the class {value.__name__}"


def number_hint(value: object) -> str:
    """What a value that holds many numbers says where one is needed; nothing of all others."""
    tells = getattr(type(value), "__weft_number_hint__", None)
    return tells(value) if tells else ""


def refuse_lanes(what: str, name: str) -> NoReturn:
    """Refuse several lanes where Python asks for one value: a tuple of them would always be true.

    Raises:
        CompileError: always.
    """
    if what == "a condition":
        hint = "write (a == b).all() where all lanes decide, (a == b).any() where one does"
        refuse("condition", f"{what} is one Bool, not {a_(name)}", hint)
    refuse("lanes", f"{what} takes one number, not {a_(name)}", "take one lane: v[0], or reduce_add() of all")


def conversion_hint(value: object, name: str) -> str:
    """What to write instead of ``name(value)``."""
    if isinstance(value, type):
        return f"give it a value: {name}(...)"
    if isinstance(value, str):
        return f"write the number itself: {name}(1), or convert before: {name}(float({VALUE}))"
    if callable(value):
        return f"call it: {VALUE}()"
    if name.startswith("SIMD[") and hasattr(type(value), "__len__"):
        return f"give the lanes one by one: {name}(*{VALUE})"
    if told := number_hint(value):
        return told
    if hasattr(type(value), "__getitem__"):
        return f"convert one of its elements: {name}({VALUE}[i])"
    return "give it a number"


def operand_hint(value: object) -> str:
    """What to write where ``value`` met a number."""
    if isinstance(value, (str, bytes)):
        return "write a number"
    if isinstance(value, type):
        return f"make a value of it: {value.__name__}(...)"
    if callable(value):
        return f"call it: {VALUE}()"
    if value is None:
        return "a function without `return` gives None"
    if isinstance(getattr(type(value), "x", None), property):  # an index of weft.gpu
        return f"take one of its numbers: {VALUE}.x, say"
    if told := number_hint(value):
        return told
    if is_tuple_of_one(value):
        return COMMA
    if hasattr(type(value), "__getitem__"):
        return f"give one of its elements: {VALUE}[i]"
    return "give a number"


def comparison_hint(value: object) -> str:
    """What to write where ``value`` is compared with a number."""
    if isinstance(value, str):
        return "compare with a number; an IntEnum gives numbers names"
    if is_tuple_of_one(value):  # as the shape of a tensor
        return f"take its number: {VALUE}[0]"
    return operand_hint(value)


def meeting_hint(op: str, left: type[Any], right: type[Any], many: tuple[bool, bool] | None = None) -> str:
    """How to make two number types meet that do not by themselves; compared, in one that holds both.

    ``many`` says which of the two have several numbers, where it is not the lanes of their types.
    """
    wide = many or (left.lanes > 1, right.lanes > 1)
    bits = 2 * max(left.dtype.bits, right.dtype.bits)
    both = "Float32" if left.dtype.is_float else f"Int{bits}"
    first, second = map(_converted, (LEFT, RIGHT), wide)
    if left.dtype.is_float or (bits <= 64 and op in _COMPARISONS):
        return f"compute in {both}: write {first(both)} and {second(both)}"
    own, other = _short(left), _short(right)
    if op in ("<<", ">>"):
        return f"convert what it is shifted by: {second(own)}"
    return f"convert one of them: {second(own)} or {first(other)}" + (
        f", or both to {both}" if bits <= 64 else ""
    )


def _short(cls: type[Any]) -> str:
    return cls.__name__.removeprefix("SIMD[").partition(",")[0]


def _converted(side: str, many: bool) -> Callable[[str], str]:
    """How a number, or several, become of another type."""
    return lambda to: f"{side}.cast({to})" if many else f"{to}({side})"


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


OF_NUMBERS = {
    "bit_length": "write bit_width(abs({0})), from weft.bit",
    "bit_count": "write pop_count(abs({0})), from weft.bit",
    "is_integer": "write {0} == floor({0}), with floor from weft.math",
    "real": "leave it out: it is a real number",
    "conjugate": "leave it out: it is a real number",
    "imag": "write 0: it is a real number",
    **dict.fromkeys(("item", "tolist"), "leave it out: it is a number"),
    "to_bytes": "write {0}.bitcast(SIMD[UInt8, 4]), of as many bytes",
    "clip": "write clamp({0}, low, high), from weft.math",
    "clamp": "write clamp({0}, low, high), from weft.math",
}
"""What to write for methods that numbers of Python's and NumPy's have."""

ALIASES = {
    "reduce_sum": "reduce_add",
    "sum": "reduce_add",
    "prod": "reduce_mul",
    "min": "reduce_min",
    "max": "reduce_max",
    "any": "reduce_or",
    "all": "reduce_and",
    "astype": "cast",
    "to": "cast",
    "view": "bitcast",
}
"""Methods of numbers that other libraries call so."""


def incomparable(op: str, name: str, other: object) -> Any:
    """A number compared with what is none: refused, of None unless that proves to be a number later.

    What compares itself does: tiles, and NumPy's arrays on the host.
    """
    if hasattr(type(other), "__weft_compares__") or (maybe_current() is None and is_numpys(other)):
        return NotImplemented
    try:
        refuse(
            "operand",
            f"cannot compare {a_(name)} with {kind_of(other)}",
            hint="a number is never None: leave the test out" if other is None else comparison_hint(other),
            about=other,
        )
    except CompileError as error:
        b = maybe_current()
        if b is None or other is not None or op not in ("eq", "ne"):
            raise
        b.elaborator.postpone(error)
    return op == "ne"


def refuse_quotient(name: str, several: str = "") -> NoReturn:
    """Refuse ``/`` of integers; ``several`` is the side that has many, if one has."""
    floats = f"{several}.cast(Float32) first" if several else f"Float32({LEFT}) / Float32({RIGHT})"
    refuse(
        "int-division",
        f"`/` of integers (here {name}) is a float in Python, and weft does not choose which",
        hint=f"write {LEFT} // {RIGHT} for the integer quotient, or {floats}",
    )


def too_long(message: str) -> None:
    """A constant integer has more digits than a float, in code unless it meets a Float64 later."""
    try:
        refuse("literal", message, hint="compute in Float64: convert the integer by Float64(...)")
    except CompileError as error:
        if (b := maybe_current()) is None:
            raise
        b.elaborator.postpone(error)
