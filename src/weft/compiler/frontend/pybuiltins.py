"""Python's builtins on run-time values."""

from __future__ import annotations

import functools
import operator
import string
from collections.abc import Callable
from typing import Any, NoReturn, cast

from weft.compiler.frontend.by_value import by_key, meant
from weft.compiler.frontend.countdowns import range_of
from weft.compiler.frontend.iteration import items_of
from weft.compiler.frontend.ranges import Range
from weft.compiler.frontend.state import FunctionState
from weft.compiler.ir.core import Value
from weft.diagnostics import VALUE, a_, refuse
from weft.dtype import DType
from weft.lang.as_python import FUNCTIONS, check_classes, name_of, numpys, stands_for
from weft.lang.decorators import Compiled
from weft.lang.elaboration import current
from weft.lang.hints import kind_of
from weft.lang.maybe import Maybe
from weft.lang.number import Number, number_class
from weft.lang.printing import kernel_print, text_of
from weft.lang.products import class_of, compared_parts, is_dataclass, parts_of
from weft.lang.python_number import python_number
from weft.lang.spec import is_composite
from weft.lang.text import RunTimeText, marked

__all__ = ["COMPARISONS", "Builtins", "late"]


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


_BY_ITEM = {list, dict}
"""What is equal where its items are."""
_METHODS = {"==": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def late(value: Any) -> bool:
    """Whether a value is one of the language's, or has such in it."""
    if isinstance(value, dict):
        return any(map(late, cast("dict[Any, Any]", value).values()))
    if isinstance(value, list):
        return any(map(late, cast("list[Any]", value)))
    if isinstance(value, Range):
        return value.is_open()
    parts = parts_of(value)
    return any(map(late, parts)) if parts is not None else isinstance(value, Number) or is_composite(value)


def _runtime(values: tuple[Any, ...]) -> bool:
    return any(isinstance(v, Number) and isinstance(v.value, Value) for v in values)


def _has_length(value: object) -> bool:
    return hasattr(type(value), "__len__")


def refuse_digits(dtype: DType, digits: Any) -> NoReturn:
    """Say what to write for ``round(x, digits)``."""
    known = isinstance(digits, int) and 0 < abs(digits) < 16
    scale, down = f"{10 ** abs(digits)}" if known else "scale", known and digits < 0
    if not dtype.is_float:
        hint = f"write Int(weft.math.round(Float64({VALUE}) / {scale})) * {scale}"
        hint = hint if down or not known else "leave the digits out: an integer has none"
    elif down:
        hint = f"scale, round and scale back: weft.math.round({VALUE} / {scale}.0) * {scale}.0"
    else:
        scale = f"{scale}.0" if known else scale
        hint = f"scale, round and scale back: weft.math.round({VALUE} * {scale}) / {scale}"
    refuse("builtin", "round(x, digits) has no meaning in compiled code", hint=hint)


class _Formatter(string.Formatter):
    """``str.format``, whose conversions know run-time numbers."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """``{x!r}``, and ``{x}``."""
        return text_of(value, ord(conversion) if conversion else -1)


class _AtHand:
    """Whoever elaborates when it is asked."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # as inspect asks of whatever it meets
            raise AttributeError(name)
        return getattr(current(), name)


_at_hand = _AtHand()


class Asked:
    """A builtin that is handed on, which whoever elaborates where it is called answers."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        return getattr(_at_hand, f"py_{self.name}")(*args, **named)

    def __repr__(self) -> str:
        return f"<built-in function {self.name}>"


class Builtins(FunctionState):
    """Python's builtins as ``py_*``."""

    py_range = staticmethod(range_of)
    is_late = staticmethod(late)
    asked = staticmethod(functools.cache(Asked))
    meant = staticmethod(functools.partial(meant, _at_hand))
    by_key = staticmethod(by_key)
    name_of = staticmethod(name_of)
    py_print = staticmethod(kernel_print)
    text = staticmethod(text_of)
    marked = staticmethod(marked)

    def py_str(self, value: Any = "", *args: Any) -> Any:
        """``str``: of what holds run-time numbers, text that can be printed."""
        return str(value, *args) if args else self.py_format(value)

    def py_repr(self, value: Any) -> Any:
        """``repr``: likewise."""
        return marked(format(text_of(value, ord("r"))))

    py_ascii = py_repr

    def py_format(self, value: Any, spec: str = "") -> Any:
        """``format``: likewise."""
        return marked(format(text_of(value, -1 if spec else ord("s")), spec))

    def format_text(self, text: str, *args: Any, **named: Any) -> Any:
        """``"...".format(...)`` of a literal."""
        return marked(_Formatter().vformat(text, args, named))

    def py_hex(self, value: Any) -> Any:
        """``hex``, and the others: likewise."""
        return self._digits(hex, value, "#x")

    def py_bin(self, value: Any) -> Any:
        """``bin``."""
        return self._digits(bin, value, "#b")

    def py_oct(self, value: Any) -> Any:
        """``oct``."""
        return self._digits(oct, value, "#o")

    def py_chr(self, value: Any) -> Any:
        """``chr``."""
        return self._digits(chr, value, "c")

    def _digits(self, function: Callable[[Any], str], value: Any, spec: str) -> Any:
        """One of Python's functions that make a text of an integer."""
        late = _runtime((value,)) and not value.dtype.is_float
        return self.py_format(value, spec) if late else function(value)

    def join_text(self, text: str, items: Any) -> Any:
        """``"...".join(items)`` of a literal."""
        parts = [item.text if isinstance(item, RunTimeText) else item for item in items]
        return marked(text.join(parts))

    def uncalled(self, value: Any) -> Any:
        """What a number of the text is compared with: no function, of which the parentheses are missing."""
        if type(value) in FUNCTIONS or isinstance(value, Compiled):
            check_classes(value, 0)
        return value

    def compared(self, op: str, a: Any, c: Any) -> Any:
        """A comparison; of tuples and lists item by item, as far as they differ."""
        check_classes(a, c)
        if not (late(a) or late(c)):
            return COMPARISONS[op](a, c)
        logic = cast("Any", self)
        equality = op in ("==", "!=")
        both = class_of(a) is class_of(c) and class_of(a) in (_BY_ITEM if equality else {list})
        sides = cast("Any", (a, c)) if both else compared_parts(a, c, _METHODS["==" if equality else op])
        own_other = op == "!=" and class_of(a).__ne__ is not object.__ne__
        if sides is None and (not equality or own_other or not (is_dataclass(a) or is_dataclass(c))):
            plain = op != "!=" or own_other
            return COMPARISONS[op](a, c) if plain else logic.not_(a == c)
        if equality:
            return logic.not_(logic.same(a, c)) if op == "!=" else logic.same(a, c)
        items, others = cast("tuple[Any, Any]", sides)
        found: Any = COMPARISONS[op](len(items), len(others))
        for one, other in reversed([*zip(items, others, strict=False)]):
            decided = logic.truth(self.compared(op, one, other))
            found = logic.if_exp(logic.same(one, other), lambda found=found: found, lambda d=decided: d)
        return found

    def py_isinstance(self, value: Any, kinds: Any) -> bool:
        """``isinstance``: Python's, but that ``typing.Union`` asks for the class by ``type``."""
        value = python_number(value) if isinstance(value, Maybe) else value
        if isinstance(value, Maybe):
            of_value, of_none = self.py_isinstance(value.weft_held, kinds), isinstance(None, kinds)
            logic = cast("Any", self)
            return of_value if of_value == of_none else value.flag() if of_value else logic.not_(value.flag())
        return isinstance(value, kinds) or self.py_issubclass(cast("type[Any]", type(value)), kinds)

    def py_issubclass(self, cls: type[Any], kinds: Any) -> bool:
        """``issubclass``: the class of a number is also those of Python's and NumPy's that it stands for."""
        others = (stands_for(cls), numpys(cls))
        return issubclass(cls, kinds) or any(o is not None and issubclass(o, kinds) for o in others)

    def py_len(self, value: Any) -> Any:
        """``len``: of a SIMD value its lanes; of a range, a tensor and its tiles what ``for`` runs over.

        A struct says it, maybe at run time, which Python's own ``len`` would not have.
        """
        items = items_of(value)
        if items is not None:
            return items.length
        if not isinstance(value, Number) and not _has_length(value):
            message = f"{a_(type(value).__name__)} has no length"
            refuse("builtin", message, hint="pass the number of elements to the kernel beside it", part=VALUE)
        return value.lanes if isinstance(value, Number) else class_of(value).__len__(value)

    def py_int(self, value: Any = 0, *args: Any) -> Any:
        """``int``: of a run-time number, Int."""
        if args and _runtime((value,)):
            refuse(
                "builtin", "int(text, base) reads a text, and this is a number", hint=f"write int({VALUE})"
            )
        return number_class(DType.int64, value.lanes)(value) if _runtime((value,)) else int(value, *args)

    def py_float(self, value: Any = 0.0) -> Any:
        """``float``: refused at run time, because it does not say which."""
        if _runtime((value,)):
            refuse(
                "float",
                "float(...) of a run-time number does not say how wide",
                hint=f"write Float32({VALUE}) or Float64({VALUE})",
            )
        return float(value)

    def py_complex(self, *parts: Any, **named: Any) -> Any:
        """``complex``."""
        if _runtime((*parts, *named.values())):
            hint = "write ComplexFloat32(re, im) or ComplexFloat64(re, im), from weft.complex"
            refuse("float", "complex(...) of run-time numbers does not say how wide", hint=hint)
        return complex(*parts, **named)

    def py_bool(self, value: Any = False) -> Any:
        """``bool``."""
        if not _runtime((value,)):
            return cast("Any", self).truth(value)
        return value if value.dtype.kind == "bool" else value != 0

    def py_round(self, value: Any, *digits: Any) -> Any:
        """``round``: of a float, to the nearest integer, ties to even, as Int."""
        if not isinstance(value, Number):
            if not hasattr(value, "__round__"):
                hint = f"write round({VALUE}), with round of weft.math, which goes number by number"
                refuse("builtin", f"Python's round takes a number, not {kind_of(value)}", hint=hint)
            return round(value, *digits)
        if digits:
            refuse_digits(value.dtype, digits[0])
        if not isinstance(value.value, Value):
            return round(value)
        if not value.dtype.is_float:
            return value
        rounded = self.value("math.roundeven", (value.value,), value.value.type)
        return number_class(DType.int64, value.lanes)(number_class(value.dtype, value.lanes).of(rounded))

    def py_pow(self, base: Any, exponent: Any, *mod: Any) -> Any:
        """``pow``."""
        if not mod:
            return base**exponent
        if _runtime((base, exponent, *mod)):
            hint = "write the loop of squares, taking the remainder each time"
            refuse("builtin", "pow(base, exponent, modulus) has no meaning in compiled code", hint=hint)
        return cast("Any", pow)(base, exponent, *mod)

    def py_divmod(self, a: Any, c: Any) -> Any:
        """``divmod``."""
        return (a // c, a % c)

    def py_breakpoint(self) -> None:
        """``breakpoint``: refused, but where Python runs the code (``frontend/stepping.py``)."""
        refuse(
            "host-only",
            "`breakpoint()` stops kernels where Python runs them, and this is compiled",
            hint="run the program by `weft debug FILE`, or make the context DeviceContext(api='interpreter')",
        )
