"""Operations on the lanes of a SIMD value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.abi.formats import wrap
from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I32, Type, of_dtype
from weft.diagnostics import INDEX, OBJECT, a_, refuse
from weft.dtype import DType
from weft.lang import arith
from weft.lang.elaboration import Elaboration, current
from weft.lang.fold import has_lanes, selected
from weft.lang.number import CLASSES, Number, constant, number_class, to_type, unify, value_of
from weft.lang.python_number import python_number
from weft.lang.weak import assumed_type

__all__ = ["extract", "insert", "iota", "reduce", "select", "shuffle", "vector_of"]


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


def _position(lane: Any, lanes: int) -> Value:
    b = current()
    if isinstance(lane, int) and not -lanes <= lane < lanes:
        refuse(
            "lane",
            f"there is no lane {lane}: the value has {lanes}",
            hint=f"lanes count from 0 to {lanes - 1}",
            part=INDEX,
        )
    if isinstance(lane, int):
        return b.constant(lane % lanes, I32)
    if not isinstance(lane, Number) or not lane.dtype.is_integer or lane.lanes > 1:
        refuse(
            "lane",
            f"a lane is an integer, not {a_(type(lane).__name__)}",
            hint=f"lanes count from 0 to {lanes - 1}",
            part=INDEX,
        )
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
    if not isinstance(v.value, Value) and isinstance(lane, int) and -v.lanes <= lane < v.lanes:
        return scalar(v.value[lane] if has_lanes(v.value) else v.value)
    b = current()
    args = (value_of(v, b), _position(lane, v.lanes))
    return scalar.of(b.value("vector.extractelement", args, of_dtype(v.dtype)))


def insert(v: Number, lane: Any, value: Any) -> Any:
    """The lanes with one replaced."""
    b = current()
    scalar = CLASSES[v.dtype.name, 1]
    args = (to_type(value, scalar, b), value_of(v, b), _position(lane, v.lanes))
    return type(v).of(b.value("vector.insertelement", args, of_dtype(v.dtype, v.lanes)))


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
    b = current()
    first = value_of(v, b)
    second = first if other is None else to_type(other, type(v), b)
    cls = number_class(v.dtype, len(lanes))
    if v.lanes == 1:  # no vector to LLVM
        picked = [(first, second)[lane] for lane in lanes]
        return cls.of(picked[0] if cls.lanes == 1 else vector_of(b, picked, of_dtype(v.dtype, cls.lanes)))
    if cls.lanes == 1:
        return extract(type(v).of((first, second)[lanes[0] // v.lanes]), lanes[0] % v.lanes)
    return cls.of(
        b.value("vector.shuffle", (first, second), of_dtype(v.dtype, len(lanes)), {"mask": tuple(lanes)})
    )


def vector_of(b: Elaboration, lanes: Sequence[Value], kind: Type) -> Value:
    """A vector of these lanes."""
    out = b.value("vector.splat", (lanes[0],), kind)
    for n, lane in enumerate(lanes[1:], 1):
        out = b.value("vector.insertelement", (lane, out, b.constant(n, I32)), kind)
    return out


def iota(cls: type[Any], lanes: int, start: Any = 0, step: Any = 1) -> Any:
    """``start, start + step, ...`` in the lanes of a SIMD value; for kernels.

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
    b = current()
    wide = number_class(cls.dtype, lanes)
    value = wide(cls(0) if isinstance(start, Number) else cls(start))
    out = value_of(value, b)
    for lane in range(1, lanes):
        one = b.constant(wrap(cls.dtype, lane), of_dtype(cls.dtype))
        out = b.value("vector.insertelement", (one, out, b.constant(lane, I32)), out.type)
    counted = wide.of(out) if isinstance(step, int) and step == 1 else wide.of(out) * step
    return counted if not isinstance(start, Number) and start == 0 else counted + start


def reduce(v: Number, op: str) -> Any:
    """All lanes combined by ``op``; floats are added pairwise, halves first."""
    while v.lanes > 1:
        lanes = range(v.lanes)
        half = v.lanes // 2
        v = _combine(op, shuffle(v, tuple(lanes[:half]), None), shuffle(v, tuple(lanes[half:]), None))
    return v


def _combine(op: str, a: Any, c: Any) -> Any:
    if op == "add":
        return a + c
    if op == "mul":
        return a * c
    if op == "and":
        return a & c
    if op == "or":
        return a | c
    return select(a < c, a, c) if op == "min" else select(a > c, a, c)
