"""Operations on the lanes of a SIMD value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from weft.abi.formats import wrap
from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I32, Type, of_dtype
from weft.diagnostics import INDEX, OBJECT, STORED, a_, refuse
from weft.dtype import DType
from weft.lang import arith
from weft.lang.elaboration import Elaboration, current, note_index
from weft.lang.fold import fold_function, has_lanes, selected
from weft.lang.generic import K, type_meant
from weft.lang.hints import kind_of
from weft.lang.number import (
    CLASSES,
    Number,
    NumberLike,
    constant,
    number_class,
    to_type,
    unify,
    value_of,
)
from weft.lang.python_number import python_number
from weft.lang.weak import assumed_type


def select(mask: Number, true: Any, false: Any) -> Any:
    """``true`` where the Bool ``mask`` holds, else ``false``, lane by lane."""
    if mask.dtype.kind != "bool":
        refuse(
            "select",
            f"select chooses by a Bool, not by {a_(type(mask).__name__)}",
            hint=f"compare it first: ({OBJECT} != 0).select(...)",
        )
    true, false = python_number(true), python_number(false)
    late = isinstance(mask.value, Value)
    typed = isinstance(true, Number) or isinstance(false, Number)
    numbers = all(isinstance(v, (Number, bool, int, float)) for v in (true, false))
    if not late and not has_lanes(mask.value) and not (numbers and typed):
        return true if mask.value else false
    mark: object = None
    if not isinstance(true, Number) and not isinstance(false, Number) and numbers:
        dtype = assumed_type(true, false)
        if dtype.kind != "bool":
            mark = current().new_mark()
            dtype = current().met.get(mark, dtype)
        cls = number_class(dtype, mask.lanes)
    else:
        cls, mark = unify("select", true, false)
        if mask.lanes > 1 and cls.lanes == 1:
            cls = number_class(cls.dtype, mask.lanes)
    if mask.lanes not in (1, cls.lanes):
        refuse(
            "lanes",
            f"a mask of {mask.lanes} lanes cannot choose between values of type {cls.__name__}",
            hint=f"make the values {mask.lanes} lanes wide, or compare what has {cls.lanes}",
        )
    if not late and mark is None:
        known = constant(true, cls), constant(false, cls)
        if None not in known:
            return cls(selected(mask.value, *known))
    b = current()
    if not late and not has_lanes(mask.value):
        return cls.of(to_type(true if mask.value else false, cls, b), mark)
    return cls.of(arith.select(b, value_of(mask, b), to_type(true, cls, b), to_type(false, cls, b)), mark)


def _in_range(lane: int, lanes: int) -> int:
    """A lane known at compile time, counted from the first."""
    if not -lanes <= lane < lanes:
        refuse(
            "lane",
            f"there is no lane {lane}: the value has {lanes}",
            hint=f"lanes count from 0 to {lanes - 1}",
            part=INDEX,
        )
    return lane % lanes


def _position(lane: Any, lanes: int) -> Value:
    b = current()
    if isinstance(lane, int):
        return b.constant(_in_range(lane, lanes), I32)
    if not isinstance(lane, Number) or not lane.dtype.is_integer or lane.lanes > 1:
        refuse(
            "lane",
            f"a lane is an integer, not {a_(type(lane).__name__)}",
            hint=f"lanes count from 0 to {lanes - 1}",
            part=INDEX,
        )
    note_index(lane, lanes)
    return arith.cast(b, value_of(lane, b), lane.dtype, DType.int32)


def extract(v: Number, lane: Any) -> Any:
    """One lane."""
    scalar = CLASSES[v.dtype.name, 1]
    if v.lanes == 1:
        refuse(
            "lane",
            f"{a_(type(v).__name__)} is one number and cannot be indexed",
            hint=f"leave out the index: write {OBJECT}",
        )
    lane = python_number(lane)
    if not isinstance(v.value, Value) and isinstance(lane, int):
        return scalar(known_lanes(v)[_in_range(lane, v.lanes)])
    b = current()
    args = (value_of(v, b), _position(lane, v.lanes))
    return scalar.of(b.value("vector.extractelement", args, of_dtype(v.dtype)))


def insert(v: Number, lane: Any, value: Any) -> Any:
    """The lanes with one replaced, or some from one on."""
    lane, value = python_number(lane), python_number(value)
    if isinstance(value, Number) and value.lanes > 1:
        if not isinstance(lane, int) or not 0 <= lane <= v.lanes - value.lanes:
            refuse(
                "lane",
                f"{value.lanes} lanes are put from a lane on that is known at compile time, "
                f"from 0 to {v.lanes - value.lanes}",
                hint="give that lane as a literal, or put one lane",
                part=INDEX,
            )
        whole = shuffle(value, tuple([n % value.lanes for n in range(v.lanes)]), None)
        picks = [n + v.lanes * (lane <= n < lane + value.lanes) for n in range(v.lanes)]
        return shuffle(v, tuple(picks), whole.rotate_right(lane))
    scalar = CLASSES[v.dtype.name, 1]
    known = constant(value, scalar) if isinstance(value, (Number, bool, int, float)) else None
    if known is not None and isinstance(lane, int) and not isinstance(v.value, Value):
        lanes = list(known_lanes(v))
        lanes[_in_range(lane, v.lanes)] = known
        return wide(v, v.lanes)(tuple(lanes))
    b = current()
    args = (to_type(value, scalar, b), value_of(v, b), _position(lane, v.lanes))
    return type(v).of(b.value("vector.insertelement", args, of_dtype(v.dtype, v.lanes)))


def with_lanes(v: Number, part: Any, value: Any) -> Any:
    """The lanes with those of an index or of a slice replaced, which ``v[part] = value`` gives a variable."""
    if isinstance(part, str):
        from weft.lang.structs import check_field  # structs have vectors in them

        check_field(v, part)
    if not isinstance(part, slice):
        return insert(v, part, value)
    taken = sliced(iota(number_class(DType.int64), v.lanes), cast("Any", part))
    places = known_lanes(taken)
    lanes = getattr(value, "lanes", 1)
    if lanes not in (1, len(places)):
        message = f"{len(places)} lanes are set here, to a value of {lanes}"
        refuse("lane", message, hint="give as many, or one number for all", part=STORED)
    for n, place in enumerate(places):
        v = insert(v, place, value[n] if lanes > 1 else value)
    return v


def sliced(v: Number, part: slice) -> Any:
    """``v[1:3]``: lanes by a slice that is known at compile time."""
    ends = [python_number(end) for end in (part.start, part.stop, part.step)]
    for end in ends:
        if end is not None and (not isinstance(end, int) or isinstance(end, bool)):
            refuse(
                "lane",
                "the ends of a slice of lanes are integers known at compile time",
                hint=f"write {OBJECT}[0:2], say; {OBJECT}[i] takes one lane of a run-time number",
                part=INDEX,
            )
    lanes = range(v.lanes)[slice(*ends)]
    return shuffle(v, tuple(lanes), None)


def shuffle(v: Number, lanes: tuple[int, ...], other: Any) -> Any:
    """The lanes picked by number."""
    reach = v.lanes * (1 if other is None else 2)
    for lane in lanes:
        if type(lane) is not int:
            hint = "pick lanes known at compile time; v[i] takes one of a run-time number"
            if type(lane) is bool:
                hint = f"write their numbers: {OBJECT}.shuffle(1, 0), say"
            refuse("lane", f"shuffle picks lanes by integers, not by {a_(type(lane).__name__)}", hint=hint)
        if not 0 <= lane < reach:
            refuse(
                "lane",
                f"there is no lane {lane} to pick: lanes count from 0 to {reach - 1}",
                hint="give other=... to pick from a second vector" if other is None else "pick from these",
                part=lane,
            )
    cls = wide(v, len(lanes))
    numbers = other is None or isinstance(python_number(other), (Number, bool, int, float))
    if not isinstance(v.value, Value) and numbers:
        second = v.value if other is None else constant(python_number(other), type(v))
        if second is not None:
            both = (*known_lanes(v), *(second if has_lanes(second) else (second,) * v.lanes))
            picked = tuple([both[lane] for lane in lanes])
            return cls(picked if cls.lanes > 1 else picked[0])
    b = current()
    first = value_of(v, b)
    second = first if other is None else to_type(other, type(v), b)
    if v.lanes == 1:  # no vector to LLVM
        picked = [(first, second)[lane] for lane in lanes]
        return cls.of(picked[0] if cls.lanes == 1 else vector_of(b, picked, of_dtype(v.dtype, cls.lanes)))
    if cls.lanes == 1:
        return extract(type(v).of((first, second)[lanes[0] // v.lanes]), lanes[0] % v.lanes)
    return cls.of(
        b.value("vector.shuffle", (first, second), of_dtype(v.dtype, len(lanes)), {"mask": tuple(lanes)})
    )


def wide(cls: Any, lanes: int) -> Any:
    """``SIMD[cls, lanes]``."""
    return number_class(cls.dtype, lanes)


def of_format(dtype: DType, lanes: int) -> Any:
    """Likewise of a number format."""
    return number_class(dtype, lanes)


def known_lanes(v: Number) -> tuple[Any, ...]:
    """The lanes of a constant."""
    return v.value if has_lanes(v.value) else (v.value,) * v.lanes


def vector_of(b: Elaboration, lanes: Sequence[Value], kind: Type) -> Value:
    """A vector of these lanes."""
    out = b.value("vector.splat", (lanes[0],), kind)
    for n, lane in enumerate(lanes[1:], 1):
        out = b.value("vector.insertelement", (lane, out, b.constant(n, I32)), kind)
    return out


def iota(cls: type[K] | DType, lanes: int, start: NumberLike = 0, step: NumberLike = 1) -> K:
    """``start, start + step, ...`` in the lanes of a SIMD value.

    Args:
        cls: the type of a lane, such as ``Int32``.
        lanes: how many: a power of two, known at compile time.
        start: the first lane.
        step: from each lane to the next.

    Example:
        >>> from weft import Int, Int32, func
        >>> @func
        ... def sum_of_four(start: Int32) -> Int32:
        ...     return iota(Int32, 4, start, step=10).reduce_add()
        >>> sum_of_four(1)  # 1 + 11 + 21 + 31
        64
    """
    kind: Any = type_meant(cls)
    if Number not in getattr(kind, "__mro__", ()):
        meant = {"int": "Int", "float": "Float32"}.get(getattr(kind, "__name__", ""), "Int32")
        hint = f"write iota({meant}, 4)"
        if not isinstance(cls, type):  # Mojo's, of a pointer
            hint += " for a vector; memory of the host is filled by `buffer[:] = range(n)`"
        refuse("argument-type", f"iota takes a type of numbers, not {kind_of(cls)}", hint)
    whole: Any = wide(kind, lanes)
    counted = whole(tuple([wrap(kind.dtype, lane) for lane in range(lanes)]) if lanes > 1 else 0)
    if not isinstance(step, int) or step != 1:
        counted = counted * step
    return counted if not isinstance(start, Number) and start == 0 else counted + start


def payload(cls: type[Number], lanes: tuple[Any, ...]) -> Any:
    """The payload of a vector of numbers, each of them converted."""
    if len(lanes) != cls.lanes:
        refuse(
            "lanes",
            f"{a_(cls.__name__)} is made of one number or of {cls.lanes}, not of {len(lanes)}"
            if cls.lanes > 1
            else f"{a_(cls.__name__)} is one number, not {len(lanes)}",
            hint=f"write SIMD[{number_class(cls.dtype).__name__}, {len(lanes)}](...) for so many lanes"
            if not len(lanes) & (len(lanes) - 1)
            else "write as many lanes as it has",
        )
    each = [number_class(cls.dtype)(lane) for lane in lanes]
    if not any(isinstance(lane.value, Value) for lane in each):
        return tuple([lane.value for lane in each])
    b = current()
    return vector_of(b, [value_of(lane, b) for lane in each], of_dtype(cls.dtype, cls.lanes))


def fma(x: Number, by: Any, plus: Any) -> Any:
    """``x * by + plus``, rounded once."""
    cls = type(x)
    if not x.dtype.is_float:
        hint = f"write {OBJECT} * a + b"
        refuse("operator", f"fma is of floats, not of {a_(cls.__name__)}", hint=hint)
    known = [constant(part, cls) for part in (x, by, plus)]
    if None not in known:
        return cls(fold_function("math.fma", x.dtype, *known))
    b = current()
    args = (value_of(x, b), to_type(by, cls, b), to_type(plus, cls, b))
    return cls.of(arith.fma(b, x.dtype, *args))
