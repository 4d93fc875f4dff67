"""Numbers: what ``Float32``, ``Int`` and ``SIMD[Float32, 4]`` have in common.

Inside a kernel a number stands for an IR value and its operators emit code. On the host it is a
constant of its type, good as an argument and for small computations.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast

from weft.abi.formats import wrap
from weft.compiler.ir.core import Value
from weft.compiler.ir.types import of_dtype
from weft.diagnostics import LEFT, RIGHT, STORED, VALUE, CompileError, a_, refuse
from weft.dtype import DType
from weft.lang import arith, weak
from weft.lang.as_python import AsPython
from weft.lang.conversions import Conversions
from weft.lang.elaboration import Elaboration, current, maybe_current
from weft.lang.fold import against, compare, exact_function, fold, has_lanes, lanewise
from weft.lang.hints import (
    conversion_hint,
    incomparable,
    kind_of,
    meeting_hint,
    operand_hint,
    refuse_quotient,
    too_long,
)
from weft.lang.known import Known
from weft.lang.maybe import present
from weft.lang.promote import as_mask, comparable, fits, promote
from weft.lang.python_number import python_number

if TYPE_CHECKING:
    from typing import Protocol

    class HasAddress(Protocol):
        """A pointer, to memory or to a function."""

        def __weft_address__(self) -> Value: ...


__all__ = ["Number", "NumberLike", "number_class", "to_type", "type_name", "value_of"]

_BITWISE = frozenset("&|^")
_SHIFTS = frozenset({"<<", ">>"})
_BITS = "convert with Int(...), or read the bits by x.bitcast(...)"
_OF_FLOATS = {
    "&": (_BITS, "of conditions write `and`, or brackets: (a < b) & (c < d)"),
    "|": (_BITS, "of conditions write `or`, or brackets: (a < b) | (c < d)"),
    "^": (_BITS, "for a power write x ** n"),
    "<<": "multiply by a power of two",
    ">>": "divide by a power of two",
}
"""What to write for an operator of bits between floats."""
MOST_LANES = 4096
"""More would be a loop, which LLVM would write out."""
CLASSES: dict[tuple[str, int], type[Number]] = {}
"""The class of every (element type, lanes) met so far; ``weft.lang.scalars`` enters the scalars."""


def number_class(dtype: DType, lanes: int = 1) -> type[Number]:
    """The value class of ``lanes`` elements of ``dtype``."""
    found = CLASSES.get((dtype.name, lanes))
    if found is None:
        if not dtype.is_number:
            refuse("element", f"a number is needed here, and {dtype} is none", hint="take a field of it")
        if lanes > MOST_LANES:
            message = f"a SIMD value has at most {MOST_LANES} lanes, not {lanes}"
            refuse("simd", message, hint="loop over parts of so many lanes")
        if lanes < 1 or lanes & (lanes - 1):
            message = f"a SIMD value has a power of two as its number of lanes, not {lanes}"
            refuse("simd", message, hint="take more lanes, and leave some of them unused")
        name = f"SIMD[{CLASSES[dtype.name, 1].__name__}, {lanes}]"
        members = {
            "dtype": dtype,
            "lanes": lanes,
            "__slots__": (),
            "__weft_element__": staticmethod(_lanes_type),
        }
        found = cast("type[Number]", type(name, CLASSES[dtype.name, 1].__bases__, members))
        CLASSES[dtype.name, lanes] = found
    return found


def type_name(dtype: DType) -> str:
    """How a message names elements: as their class is named."""
    return number_class(dtype).__name__ if dtype.is_number else dtype.name


def _lanes_type(annotation: Any) -> DType:
    from weft.lang.elements import element_type

    return element_type(annotation)


def __getattr__(name: str) -> type[Number]:
    """``SIMD[Float32, 4]`` by its name, for pickles."""
    kind, _, lanes = name.removeprefix("SIMD[").removesuffix("]").partition(", ")
    for one in [*CLASSES.values()] if lanes.isdecimal() else ():
        if one.lanes == 1 and one.__name__ == kind:
            return number_class(one.dtype, int(lanes))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _NoFormat:
    """In place of the format of ``Floating`` and its kin, which have none."""

    def __get__(self, number: Number | None, cls: type[Number]) -> NoReturn:
        if number is None:
            raise AttributeError(name="dtype", obj=cls)
        hint = "write Float32(...), say, or T(...) of a type variable"
        refuse("conversion", f"{cls.__name__} stands for several types, and is none", hint=hint)


class Number(Known, Conversions, AsPython):
    """One or more lanes of one number format.

    Calling the class converts: ``Float32(x)`` of another number, ``Int(x)`` truncates a float. The
    operators are Python's; ``v[2]`` is a lane.

    Example:
        >>> from weft import SIMD, Float32, Int32, func
        >>> Int32(2**31), Int32(-7) // 2, Float32(0.1)
        (Int32(-2147483648), Int32(-4), Float32(0.1))
        >>> @func
        ... def largest_of_positive(v: SIMD[Float32, 4]) -> Float32:
        ...     return (v > 0.0).select(v, 0.0).reduce_max()
    """

    __slots__ = ("value", "weak")
    dtype: ClassVar[DType]
    if not TYPE_CHECKING:
        dtype = _NoFormat()

        def __class_getitem__(cls, item):
            """Refused: what Numba writes for an array, and others for lanes."""
            name = cls.__name__
            hint = f"write SIMD[{name}, {item}] for lanes, InlineArray[{name}, {item}] for an array"
            if not isinstance(item, int):
                hint = f"write Pointer[{name}] for an array, LayoutTensor[{name}] for one with extents"
            refuse("annotation", f"{name} is one number, which takes no brackets", hint=hint)

    lanes: ClassVar[int] = 1
    value: Any
    weak: object

    def __init__(self, value: Number | int | float | HasAddress = 0, *more: NumberLike) -> None:
        self.weak = None
        if more:
            from weft.lang.lanes import payload

            self.value = payload(type(self), (cast("NumberLike", value), *more))
            return
        value = present(value)
        if isinstance(value, Number):
            if value.lanes not in (1, self.lanes):
                refuse(
                    "lanes",
                    f"{a_(type(value).__name__)} cannot become {a_(type(self).__name__)}: the lanes differ",
                    hint="take some lanes by shuffle(...), or one by [i]",
                    part=VALUE,
                )
            if self.dtype.is_float and value.weak is not None:  # an Int stays one, and is cut
                weak.meet(value, self.dtype)
            self.value = _converted(value, type(self))
        elif has_lanes(value) and len(lanes := cast("tuple[Any, ...]", value)) == self.lanes > 1:
            self.value = tuple([CLASSES[self.dtype.name, 1](lane).value for lane in lanes])
        elif isinstance(value := python_number(value), (bool, int, float)):
            if self.dtype.is_integer and isinstance(value, float):
                if not math.isfinite(value):
                    refuse(
                        "conversion",
                        f"{value} is not an integer",
                        hint="test it before, by math.isfinite(...)",
                        part=VALUE,
                    )
            self.value = wrap(self.dtype, value)
        elif hasattr(type(value), "__weft_address__") and self.dtype.bits == 64 and self.dtype.is_integer:
            self.value = cast("HasAddress", value).__weft_address__()
        else:
            refuse(
                "conversion",
                f"{type(self).__name__}(...) takes a number, not {kind_of(value)}",
                hint=conversion_hint(value, type(self).__name__),
                part=VALUE,
            )

    @classmethod
    def of(cls, value: Value, weak: object = None) -> Self:
        """The number that an IR value is; of what is not typed yet with its mark."""
        self = object.__new__(cls)
        self.value = value
        self.weak = weak
        return self

    if TYPE_CHECKING:
        # A struct's field, to type checkers: takes Python's numbers too, and gives its own type.
        def __get__(self, instance: object, owner: Any = None) -> Self: ...

        def __set__(self, instance: object, value: Self | int | float) -> None: ...

    # -- operators ----------------------------------------------------------------------------
    if not TYPE_CHECKING:

        def __pow__(self, other, modulus=None):
            from weft.lang.power import power, power_modulo

            return power(self, other) if modulus is None else power_modulo(self, other, modulus)

        def __rpow__(self, other):
            from weft.lang.power import power

            return power(other, self)

    def __neg__(self) -> Self:
        if self.dtype.kind == "bool":
            refuse(
                "bool-arithmetic",
                "`-` takes a number, not a Bool",
                hint=f"write not {VALUE}, or -Int({VALUE}) for 0 and -1",
            )
        return self._unary(arith.negate, operator.neg)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._unary(arith.absolute, abs)

    if not TYPE_CHECKING:  # `scalars.pyi` says which numbers have it

        def __invert__(self):
            if self.dtype.is_float:
                refuse(
                    "operator",
                    f"`~` takes integers and Bool, not {a_(type(self).__name__)}",
                    hint=f"convert it: ~Int({VALUE}), or read its bits by {VALUE}.bitcast(...)",
                )
            return self ^ (True if self.dtype.kind == "bool" else wrap(self.dtype, -1))

    def _unary(self, emit: Callable[[Elaboration, DType, Value], Value], fold: Callable[[Any], Any]) -> Self:
        _check_computes("-" if fold is operator.neg else "abs", type(self))
        if isinstance(self.value, Value):
            b = current()
            result = emit(b, self.dtype, self.value)
            b.computed(emit.__name__, self.dtype, self.dtype, self.value, result)
            return type(self).of(result, self.weak)
        return type(self)(lanewise(fold, self.value))

    def _binary(self, op: str, a: object, c: object) -> Any:
        a, c = python_number(a), python_number(c)
        if not isinstance(a, (Number, bool, int, float)) or not isinstance(c, (Number, bool, int, float)):
            return NotImplemented
        cls, mark = unify(op, a, c)
        d = cls.dtype
        if d.is_float:
            if op in "&|^<<>>":
                refuse("operator", f"`{op}` takes integers, not {a_(cls.__name__)}", hint=_OF_FLOATS[op])
        elif op == "/":
            several = (LEFT if isinstance(a, Number) else RIGHT) if cls.lanes > 1 else ""
            refuse_quotient(cls.__name__, several)
        elif d.kind == "bool" and op not in _BITWISE:
            cls, d = number_class(DType.int64, cls.lanes), DType.int64
        if op in _BITWISE:
            a, c = as_mask(a, d), as_mask(c, d)
        left, right = constant(a, cls), constant(c, cls)
        if left is not None and right is not None and mark is None:
            return cls(fold(op, d, left, right))
        if type(right) is int and (right == 0 or op in _SHIFTS):
            from weft.lang.doubts import doubt_operand

            doubt_operand(op, d, right)
        b = current()
        left, right = to_type(a, cls, b), to_type(c, cls, b)
        result = arith.BINARY[op](b, d, left, right)
        if op in ("//", "%") and d.is_integer and cls.lanes == 1:
            from weft.lang.doubts import doubt_division

            doubt_division(d, result, right)
        b.computed(op, d, d, left, right, result)
        return cls.of(result, mark)

    def _compare(self, op: str, other: object) -> Any:
        a: Number = self
        c = python_number(other)
        if not isinstance(c, (Number, bool, int, float)):
            if op in ("eq", "ne") and (maybe_current() is None or not isinstance(a.value, Value)):
                return NotImplemented
            return incomparable(op, type(a).__name__, c)
        if isinstance(c, float) and not a.dtype.is_float:  # exactly, as Python compares them
            a = number_class(DType.int64, a.lanes)(a) if a.dtype.kind == "bool" else a
            c = against(op, a.dtype, c)
            if isinstance(c, bool):
                return number_class(DType.bool, a.lanes)(c)
        if isinstance(c, int) and isinstance(a.value, Value) and a.weak is None:
            comparable(op, c, type(a))
        signs = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        b = maybe_current()
        try:
            cls, _ = unify(signs[op], a, c)
            left, right = constant(a, cls), constant(c, cls)
        except CompileError:
            left, right = a.value, c.value if isinstance(c, Number) else c
            wide = c if isinstance(c, Number) and c.lanes > a.lanes else a
            if b is not None or isinstance(left, Value) or isinstance(right, Value):
                raise
            if isinstance(c, Number) and wide.lanes not in (min(a.lanes, c.lanes), a.lanes * c.lanes):
                raise
            cls = type(wide)  # of the host's numbers, what does not meet is compared exactly, as by Python
        mask = number_class(DType.bool, cls.lanes)
        if left is not None and right is not None:
            return mask(compare(op, left, right))
        if right == 0 or right != right or left != left:
            from weft.lang.doubts import doubt_comparison

            doubt_comparison(op, cls.dtype, left, right)
        b = current()
        return mask.of(arith.compare(b, op, cls.dtype, to_type(a, cls, b), to_type(c, cls, b)))

    __iter__ = None  # else Python would try v[0], v[1], ... without end

    def __contains__(self, value: object) -> bool:
        refuse(
            "operand",
            f"`in` searches a tuple, list, set, dict or range, but this is {a_(type(self).__name__)}",
            hint="write (v == x).reduce_or()" if self.lanes > 1 else "write v == x",
        )

    if not TYPE_CHECKING:

        def __round__(self, ndigits=None):
            value = self._known("round(...)", "call round in a @func", lanes=True)
            if ndigits is not None:
                return type(self)(lanewise(lambda one: round(one, ndigits), value))
            wide: Any = number_class(DType.int64, self.lanes)
            if not self.dtype.is_float:
                return self
            even = lanewise(exact_function("math.roundeven"), value)
            return wide(lanewise(functools.partial(wrap, wide.dtype), even))


NumberLike = Number | int | float


def value_of(number: Number, b: Elaboration) -> Value:
    """The IR value of a number; a constant is put into the code."""
    value = number.value
    if isinstance(value, Value):
        return value
    if has_lanes(value):
        from weft.lang.lanes import vector_of

        lanes = [arith.literal(b, number.dtype, lane) for lane in value]
        return vector_of(b, lanes, of_dtype(number.dtype, number.lanes))
    return arith.literal(b, number.dtype, value, number.lanes)


def _refuse_escaped(number: Number) -> NoReturn:
    refuse(
        "escaped",
        f"this {type(number).__name__} belongs to a kernel that was compiled before",
        hint="write it to memory in that kernel; nothing else leaves one",
    )


def _converted(number: Number, to: type[Number]) -> Any:
    """The payload of ``number`` as ``to``: an IR value while compiling, else a Python number."""
    b = maybe_current()
    if b is None or not isinstance(number.value, Value):
        if isinstance(number.value, Value):
            _refuse_escaped(number)
        return lanewise(functools.partial(wrap, to.dtype), number.value)
    if number.dtype.is_float and to.dtype.is_integer:
        from weft.lang.doubts import doubt_quotient

        doubt_quotient(number.value)
    value = arith.cast(b, number.value, number.dtype, to.dtype)
    b.computed("cast", number.dtype, to.dtype, number.value, value)
    if number.lanes != to.lanes:
        value = b.value("vector.splat", (value,), of_dtype(to.dtype, to.lanes))
    return value


def of_integers(value: Any) -> bool:
    """Whether a value, or what it has many of, is an integer or a Bool."""
    dtype: DType | None = getattr(value, "dtype", None)
    return not isinstance(python_number(value), float) if dtype is None else not dtype.is_float


def constant(x: Any, cls: type[Number]) -> Any:
    """What a constant is as ``cls``, which takes it; None of what exists only at run time."""
    if not isinstance(x, Number):
        fits(x, cls)
        return wrap(cls.dtype, x)
    if not isinstance(x.value, Value):
        return lanewise(functools.partial(wrap, cls.dtype), x.value)
    if maybe_current() is None:
        _refuse_escaped(x)
    return None


def to_type(x: object, cls: type[Number], b: Elaboration, of: str = "") -> Value:
    """``x`` as an IR value of ``cls``, where that loses nothing; a literal takes the type.

    ``of`` names what is of this class, where the user's text does not show it.
    """
    x = present(x)
    if not isinstance(x, Number):
        if isinstance(x := python_number(x), (bool, int, float)):
            fits(x, cls)
            return arith.literal(b, cls.dtype, wrap(cls.dtype, x), cls.lanes)
        refuse(
            "operand",
            f"{a_(cls.__name__)} is needed here, not {kind_of(x)}",
            hint=operand_hint(x),
            part=STORED,
            about=x,
        )
    weak.meet(x, cls.dtype)
    if type(x) is cls:
        return value_of(x, b)
    narrows = x.dtype is not cls.dtype and promote(x.dtype, cls.dtype) is not cls.dtype
    if narrows and not weak.became(x, cls.dtype):
        scalar = CLASSES[cls.dtype.name, 1].__name__
        wanted, given = a_(cls.__name__), a_(type(x).__name__)
        refuse(
            "narrowing",
            f"{of} is {wanted}, and {given} does not become one by itself: that may lose bits"
            if of
            else f"{given} does not become {wanted} by itself: that may lose bits",
            hint=f"write {scalar}({STORED})" if cls.lanes == 1 else f"write {STORED}.cast({scalar})",
            part=STORED,
            about=x,
        )
    if x.lanes not in (1, cls.lanes):
        refuse(
            "lanes",
            f"{a_(cls.__name__)} is needed here, not {a_(type(x).__name__)}: the lanes differ",
            hint="store vectors by p.store(i, v), or take one lane: v[0]" if cls.lanes == 1 else "",
            part=STORED,
            about=x,
        )
    made = value_of(cls(x), b)
    if cls.dtype is DType.float64 and x.dtype.is_float and b.target.threads != "loops":
        from weft.lang.doubts import doubt_widening

        doubt_widening(made)
    return made


def unify(op: str, a: object, c: object) -> tuple[type[Number], object]:
    """The class in which two operands meet, and the mark of its type, if that is not settled."""
    if not isinstance(a, Number):
        return _meet_literal(op, c, a)  # pyright: ignore[reportArgumentType]
    if not isinstance(c, Number):
        return _meet_literal(op, a, c)
    lanes = max(a.lanes, c.lanes)
    if a.lanes != c.lanes and 1 not in (a.lanes, c.lanes):
        refuse(
            "lanes",
            f"`{op}` meets {type(a).__name__} and {type(c).__name__}: the lanes differ",
            hint="take some lanes of the longer by shuffle(...), or make both of one width",
        )
    met, mark = weak.meeting(a, c)
    if met is None:
        refuse(
            "mixed-types",
            f"`{op}` meets {type(a).__name__} and {type(c).__name__}, "
            "and neither holds all values of the other",
            hint=meeting_hint(op, type(a), type(c)),
        )
    _check_computes(op, number_class(met, lanes))
    return number_class(met, lanes), mark


def _check_computes(op: str, cls: type[Number]) -> None:
    """Refuse to compute with floats of 8 bits."""
    if cls.dtype.kind != "float8" or op in ("select", "if/else"):
        return
    what = VALUE if op.isidentifier() else "..."  # of an operator either side may be it
    refuse(
        "operator",
        f"`{op}` does not take {cls.__name__}, which only stores numbers",
        hint=f"convert it: Float32({what}), or Float16({what}), which both hold every one of them"
        if cls.lanes == 1
        else f"convert it: {'v' if what == '...' else what}.cast(Float32)",
    )


def _meet_literal(op: str, number: Number, literal: object) -> tuple[type[Number], object]:
    if not isinstance(literal := python_number(literal), (bool, int, float)):
        refuse(
            "operand",
            f"`{op}` cannot combine {a_(type(number).__name__)} with {kind_of(literal)}",
            hint=operand_hint(literal),
        )
    if isinstance(literal, float) and not number.dtype.is_float:
        return _meet_float(op, number, literal)
    _check_computes(op, type(number))
    if number.dtype.kind == "bool" and not isinstance(literal, bool):
        return number_class(DType.int64, number.lanes), None
    if number.weak is not None:
        weak.outgrow(number.weak, literal, number.dtype)
    return type(number), number.weak


def _meet_float(op: str, number: Number, literal: float) -> tuple[type[Number], object]:
    """An integer meets a float literal: it becomes a float, if no bits of it are known to be lost."""
    if op in "&|^<<>>":
        name = type(number).__name__
        refuse(
            "operator",
            f"`{op}` takes integers, but meets {name} and the float {literal!r}",
            hint=f"write {int(literal)}" if literal.is_integer() else "multiply or divide by a power of two",
        )
    dtype, mark = (DType.float32, None) if maybe_current() is None else weak.floated(number)
    value = number.value
    for lane in () if isinstance(value, Value) else value if has_lanes(value) else (value,):
        if wrap(dtype, lane) != lane:
            too_long(f"`{op}` meets the float {literal!r}, but no {number_class(dtype).__name__} is {lane}")
            break
    return number_class(dtype, number.lanes), mark
