"""Accesses lane by lane, written in weft: where a mask holds, at offsets that differ, in strides."""

from __future__ import annotations

from typing import Any

from weft.diagnostics import INDEX, refuse
from weft.dtype import DType
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import func
from weft.lang.elaboration import current
from weft.lang.hints import kind_of
from weft.lang.lanes import iota
from weft.lang.number import Number, number_class, to_type
from weft.lang.python_number import python_number


@func
def _gather(p: Any, offsets: Any, mask: Any, default: Any) -> Any:
    v = default
    for n in unroll(range(mask.lanes)):
        if mask[n]:
            v = v.insert(n, p[offsets[n]])
    return v


@func
def _scatter(p: Any, offsets: Any, value: Any, mask: Any) -> None:
    for n in unroll(range(mask.lanes)):
        if mask[n]:
            p[offsets[n]] = value[n]


@func
def _load(p: Any, first: Any, mask: Any, default: Any, *, options: Comptime[Any]) -> Any:
    v = default
    if mask.lanes == 1:
        if mask:
            v = p.load(first, **options)
        return v
    if mask.all():
        return p.load(first, width=mask.lanes, **options)
    for n in unroll(range(mask.lanes)):
        if mask[n]:
            v = v.insert(n, p[first + n])
    return v


@func
def _store(p: Any, first: Any, value: Any, mask: Any, *, options: Comptime[Any]) -> None:
    if mask.all():
        p.store(first, value, **options)
    elif mask.lanes > 1:
        for n in unroll(range(mask.lanes)):
            if mask[n]:
                p[first + n] = value[n]


def gather(p: Any, offsets: Any, mask: Any, default: Any) -> Any:
    """``p[offsets[n]]`` in the lanes where the mask holds; of ``default`` the others."""
    where = _offsets(p, offsets)
    return _gather(p, where, _mask(mask, where.lanes), _typed(p, default, where.lanes))


def scatter(p: Any, offsets: Any, value: Any, mask: Any) -> None:
    """``p[offsets[n]] = value[n]`` where the mask holds, in the order of the lanes."""
    where = _offsets(p, offsets)
    _scatter(p, where, _typed(p, value, where.lanes), _mask(mask, where.lanes))


def masked_load(p: Any, first: Any, width: int, mask: Any, default: Any, **options: Any) -> Any:
    """Lanes from ``first`` on where the mask holds: at once where all do."""
    _numbers_only(p)
    return _load(p, first, _mask(mask, width), _typed(p, default, width), options=options)


def masked_store(p: Any, first: Any, value: Any, mask: Any, **options: Any) -> None:
    """Likewise written."""
    _numbers_only(p)
    width = max([v.lanes for v in (mask, value) if isinstance(v, Number)], default=1)
    _store(p, first, _typed(p, value, width), _mask(mask, width), options=options)


def steps(stride: Any, width: int) -> Any:
    """``0, stride, 2 * stride, ...`` as offsets."""
    return iota(number_class(DType.int64), width, 0, stride)


def _numbers_only(p: Any) -> None:
    if not p.dtype.is_number:
        kind = p.__weft_spec__().describe()
        refuse("element", f"an access of {kind} has no lanes", hint="write p[i], for each element")


def _offsets(p: Any, offsets: Any) -> Number:
    """Offsets of several lanes."""
    _numbers_only(p)
    if isinstance(offsets, Number) and offsets.dtype.is_integer and offsets.lanes > 1:
        return offsets
    refuse(
        "index",
        f"the offsets are lanes of integers, not {kind_of(python_number(offsets))}",
        hint="give one for each lane: SIMD[Int, 4](0, 2, 4, 6), say",
        part=INDEX,
    )


def _mask(mask: Any, lanes: int) -> Number:
    """A Bool, or one for each lane, as so many."""
    if not isinstance(mask, bool) and not (isinstance(mask, Number) and mask.dtype.kind == "bool"):
        refuse(
            "operand",
            f"a mask is lanes of Bool, not {kind_of(mask)}",
            hint="compare: mask=iota(Int, 4, i) < n, say",
        )
    if isinstance(mask, Number) and mask.lanes not in (1, lanes):
        refuse(
            "lanes",
            f"a mask of {mask.lanes} lanes is given for {lanes}",
            hint=f"give one Bool for all, or {lanes} of them",
        )
    return number_class(DType.bool, lanes)(mask)


def _typed(p: Any, value: Any, lanes: int) -> Number:
    """A value for all lanes, or one for each."""
    cls = number_class(p.dtype, lanes)
    return cls.of(to_type(value, cls, current()))
