"""Sums, means, products, counts, extremes and where they lie, along axes.

Threads take vectors of a row in turns, in an order that depends on the shape alone; what lanes, threads and
blocks have found is joined as a tree (Hillis, Steele: "Data Parallel Algorithms", CACM 1986). Nothing is
added by atomics, so results are the same bit for bit each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import nan
from typing import Any, Generic, TypeVar

from weft.calls.planned import planned_but
from weft.dtype import DType, as_dtype
from weft.kernels.copies import contiguous, copy
from weft.kernels.operands import DTYPE_KINDS, Operand, Operands, accumulator, end_of
from weft.kernels.places import merged, row_major
from weft.kernels.row_memory import by_pairs, masked, places_of
from weft.kernels.rows import reduce
from weft.lang import Int, struct

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "sum"]

A = TypeVar("A")
P = TypeVar("P")
T = TypeVar("T")
LAST = 2**63 - 1
"""The place of what is not there."""
Axis = int | Sequence[int] | None


class Sum:
    """What ``rows`` asks of an operation."""

    state: Any = None
    each, short = 4, 4
    """How many vectors of a thread are on their way together, and of a thread whose warp has whole rows."""
    threads = 512
    """The most that a row has where there are many rows."""

    @classmethod
    def empty(cls, kind: Any, lanes: int) -> Any:
        """The sum of nothing."""
        return kind.splat(lanes, 0)

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """The sum of vectors, two by two."""
        return by_pairs(cls.merge, masked(values, there, 0)), values

    @classmethod
    def merge(cls, a: Any, b: Any) -> Any:
        """The sum of two."""
        return a + b

    @classmethod
    def result(cls, all: Any, n: Any, given: Any) -> Any:
        """The sum itself."""
        return all


class Mean(Sum):
    """A sum, divided."""

    @classmethod
    def result(cls, all: Any, n: Any, given: Any) -> Any:
        """The sum by the number of elements; nan of none."""
        return all / type(all)(n) if not isinstance(n, int) else type(all)(nan)


class Count(Sum):
    """How many elements are not 0."""

    @classmethod
    def empty(cls, kind: Any, lanes: int) -> Any:
        """None."""
        return Int.splat(lanes, 0)

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """Those of vectors, two by two."""
        counts = [(value != 0).cast(Int) for value in masked(values, there, 0)]
        return by_pairs(cls.merge, counts), values


class Some(Count):
    """Whether an element is not 0."""

    @classmethod
    def result(cls, all: Any, n: Any, given: Any) -> Any:
        """Of nothing none is."""
        return all > 0


class Every(Count):
    """Whether no element is 0."""

    @classmethod
    def result(cls, all: Any, n: Any, given: Any) -> Any:
        """Of nothing none is."""
        return all == n


class Product(Sum):
    """Products."""

    @classmethod
    def empty(cls, kind: Any, lanes: int) -> Any:
        """The product of nothing."""
        return kind.splat(lanes, 1)

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """The product of vectors, two by two."""
        return by_pairs(cls.merge, masked(values, there, 1)), values

    @classmethod
    def merge(cls, a: Any, b: Any) -> Any:
        """The product of two."""
        return a * b


class Max(Sum):
    """The greatest element; a nan where there is one."""

    sign = 1

    @classmethod
    def empty(cls, kind: Any, lanes: int) -> Any:
        """What every element is as great as."""
        return kind.splat(lanes, end_of(kind.dtype, -cls.sign))

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """The greatest of vectors."""
        end = end_of(values[0].dtype, -cls.sign)
        return by_pairs(cls.merge, masked(values, there, end)), values

    @classmethod
    def merge(cls, a: Any, b: Any) -> Any:
        """The greater of two."""
        further = a > b if cls.sign > 0 else a < b
        return ((a != a) | further).select(a, b)


class Min(Max):
    """The least element; a nan where there is one."""

    sign = -1


@struct
class Found(Generic[T, P]):
    """An element, and its place in the row."""

    value: T
    place: P


class ArgMax(Max):
    """The place of the first of the greatest elements, or of the first nan."""

    state, extreme = Found, Max
    """``extreme`` finds the element whose place is asked for."""
    each, short, threads = 2, 8, 256  # since merging takes long

    @classmethod
    def empty(cls, kind: Any, lanes: int) -> Any:
        """Of nothing, which is behind everything."""
        return Found(kind.splat(lanes, end_of(kind.dtype, -cls.sign)), Int.splat(lanes, LAST))

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """Of vectors that begin at these places."""
        values = masked(values, there, end_of(values[0].dtype, -cls.sign))
        lanes = values[0].lanes
        places = [places_of(at, lanes) for at in ats]
        places = masked(places, there, LAST)
        pairs = [Found(value, place) for value, place in zip(values, places, strict=True)]
        return by_pairs(cls.later, pairs), values

    @classmethod
    def merge(cls, a: Any, b: Any) -> Any:
        """That of the greater, or the first of equal ones."""
        further = a.value > b.value if cls.sign > 0 else a.value < b.value
        strange, other = a.value != a.value, b.value != b.value
        alike = (a.value == b.value) | (strange & other)
        first = (further & ~other) | (strange & ~other) | (alike & (a.place < b.place))
        return Found(first.select(a.value, b.value), first.select(a.place, b.place))

    @classmethod
    def later(cls, a: Any, b: Any) -> Any:
        """That of ``a`` unless ``b``, all of which lies behind, has a further one or the first nan.

        What every element is as far as stays nowhere, which ``result`` knows.
        """
        stays = (a.value != a.value) | (a.value >= b.value if cls.sign > 0 else a.value <= b.value)
        return Found(stays.select(a.value, b.value), stays.select(a.place, b.place))

    @classmethod
    def result(cls, all: Any, n: Any, given: Any) -> Any:
        """The place: the first where none is further than what is behind everything."""
        return (all.place == LAST).select(Int(0), all.place)


class ArgMin(ArgMax):
    """The place of the first of the least elements, or of the first nan."""

    sign, extreme = -1, Min


@planned_but("out")
def sum(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """The sums along axes: of all elements, without ``axis``.

    Integers are summed up as Int or UInt, as NumPy does, bools as Int, and floats to their own type, short
    ones by Float32.

    Args:
        x: numbers or bools, of any shape and strides.
        axis: an axis or several; None for all.
        keepdims: whether the axes stay, with one element.
        out: where the result goes.

    Returns:
        An array of the library of ``x``, of no axis if all are summed up; a buffer of as many elements if
        ``x`` is one.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import sum
        >>> sum(np.arange(6).reshape(2, 3), axis=1)
        array([ 3, 12])
    """
    return _reduced("sum", Sum, x, axis, keepdims, out, accumulator, _sum_type)


@planned_but("out")
def mean(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """The means along axes; of integers and bools as Float64, nan of nothing. See ``sum``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import mean
        >>> mean(np.arange(6).reshape(2, 3), axis=0)
        array([1.5, 2.5, 3.5])
    """
    return _reduced("mean", Mean, x, axis, keepdims, out, _mean_kind, _mean_type)


@planned_but("out")
def prod(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """The products along axes, in the types of ``sum``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import prod
        >>> int(prod(np.arange(1, 6)))
        120
    """
    return _reduced("prod", Product, x, axis, keepdims, out, accumulator, _sum_type)


@planned_but("out")
def count_nonzero(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """How many elements along axes are not 0; Int64. A nan is not. See ``sum``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import count_nonzero
        >>> count_nonzero(np.array([[0.5, 0.0], [np.nan, -1.0]]), axis=1)
        array([1, 2])
    """
    return _reduced("count_nonzero", Count, x, axis, keepdims, out, _compared, _place_type)


@planned_but("out")
def any(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """Whether an element along axes is True, or not 0; Bool. See ``sum``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import all, any
        >>> x = np.array([[True, False], [True, True], [False, False]])
        >>> any(x, axis=1), all(x, axis=1)
        (array([ True,  True, False]), array([False,  True, False]))
    """
    return _reduced("any", Some, x, axis, keepdims, out, _compared, _truth_type)


@planned_but("out")
def all(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """Whether all elements along axes are True, or not 0; Bool. See ``any``."""
    return _reduced("all", Every, x, axis, keepdims, out, _compared, _truth_type)


@planned_but("out")
def max(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """The greatest elements along axes; a nan where there is one, as in NumPy. See ``sum``.

    Raises:
        LaunchError: an argument is wrong, or there is no element.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import max, min
        >>> x = np.array([[3, 1, 2], [0, 5, 4]])
        >>> max(x, axis=1), min(x, axis=0)
        (array([3, 5]), array([0, 1, 2]))
    """
    return _reduced("max", Max, x, axis, keepdims, out, _compared, _same)


@planned_but("out")
def min(x: A, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> A:
    """The least elements along axes; a nan where there is one. See ``max``."""
    return _reduced("min", Min, x, axis, keepdims, out, _compared, _same)


@planned_but("out")
def argmax(x: A, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> A:
    """Where the first of the greatest elements along an axis lies, or the first nan; Int64.

    Args:
        x: numbers or bools, of any shape and strides.
        axis: one axis; None for all elements in row-major order.
        keepdims: whether the axis stays, with one element.
        out: where the result goes.

    Raises:
        LaunchError: an argument is wrong, or there is no element.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import argmax, argmin
        >>> x = np.array([3.0, 1.0, 3.0, 1.0])
        >>> int(argmax(x)), int(argmin(x))
        (0, 1)
    """
    return _reduced("argmax", ArgMax, x, axis, keepdims, out, _compared, _place_type)


@planned_but("out")
def argmin(x: A, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> A:
    """Where the first of the least elements along an axis lies. See ``argmax``."""
    return _reduced("argmin", ArgMin, x, axis, keepdims, out, _compared, _place_type)


_OF_ONE = (Sum, Mean, Product, Max, Min)
"""What gives of one element that itself."""


def _same(dtype: DType) -> DType:
    return dtype


def _compared(dtype: DType) -> DType:
    """The type in which elements are compared."""
    if dtype.kind == "bool":
        return as_dtype("uint8")
    return accumulator(dtype) if dtype.kind in DTYPE_KINDS["float"] else dtype


def _place_type(dtype: DType) -> DType:
    return as_dtype("int64")


def _truth_type(dtype: DType) -> DType:
    return as_dtype("bool")


def _sum_type(dtype: DType) -> DType:
    return dtype if dtype.kind in DTYPE_KINDS["float"] else accumulator(dtype)


def _mean_kind(dtype: DType) -> DType:
    return accumulator(dtype) if dtype.kind in DTYPE_KINDS["float"] else as_dtype("float64")


def _mean_type(dtype: DType) -> DType:
    return dtype if dtype.kind in DTYPE_KINDS["float"] else as_dtype("float64")


def _reduced(
    name: str,
    operation: Any,
    x: Any,
    axis: Any,
    keepdims: bool,
    out: Any,
    computed: Callable[[DType], DType],
    made: Callable[[DType], DType],
) -> Any:
    op = Operands(name, x=x)
    source = op["x"].of("number or bool")
    rank = len(source.shape)
    axes = tuple(range(rank))
    if axis is not None:
        axes = (op.axis(axis),) if issubclass(operation, ArgMax) else op.axes(axis)
    rest = [n for n in range(rank) if n not in axes]
    extents = tuple(source.shape[n] for n in rest)
    shape = tuple(1 if n in axes else source.shape[n] for n in range(rank)) if keepdims else extents
    target = op.result(shape, made(source.dtype), out)
    steps = [target.strides[n] for n in rest] if keepdims else target.strides
    row, operation = _together(op, operation, source, rest, axes, computed, made)
    if issubclass(operation, Max) and not row.shape[-1]:
        source.refuse(
            f"of shape {source.shape}: there is nothing to choose from", "pass an array with elements"
        )
    if row.shape[-1] == 1 and row.dtype == target.dtype and operation in _OF_ONE:
        copy(op, row.seen(extents, row.strides[:-1]), target.seen(extents, tuple(steps)))
    else:
        reduce(op, operation, row, target.seen((*extents, 1), (*steps, 0)), len(rest), computed(row.dtype))
    return op.give(target)


def _together(
    op: Operands,
    operation: Any,
    x: Operand,
    rest: Sequence[int],
    axes: Sequence[int],
    computed: Callable[[DType], DType],
    made: Callable[[DType], DType],
) -> tuple[Operand, Any]:
    """The elements with one axis behind the others in place of several, and what is to be known along it.

    Where several are not one in memory the longest is reduced before. Places count elements in their order,
    so for these they are copied.
    """
    if not issubclass(operation, ArgMax):
        axes = sorted(axes, key=lambda n: -x.strides[n])
    extents, steps = (tuple(of[n] for n in rest) for of in (x.shape, x.strides))
    length = math.prod(x.shape[n] for n in axes)
    shape, (along,) = merged(tuple(x.shape[n] for n in axes), tuple(x.strides[n] for n in axes))
    if len(shape) == 1:
        return x.seen((*extents, length), (*steps, along[0])), operation
    if issubclass(operation, ArgMax) or not x.size:
        places = [*rest, *axes]
        x = contiguous(op, x.seen(tuple(x.shape[n] for n in places), tuple(x.strides[n] for n in places)))
        return x.seen((*extents, length), row_major((*extents, length))), operation
    longest = shape.index(sorted(shape)[-1])
    others = [n for n in range(len(shape)) if n != longest]
    kept, apart = (*extents, *[shape[n] for n in others]), (*steps, *[along[n] for n in others])
    counted = issubclass(operation, Count)
    part = op.scratch(math.prod(kept), made(x.dtype) if counted else computed(x.dtype))
    part = part.seen(kept, row_major(kept))
    row = x.seen((*kept, shape[longest]), (*apart, along[longest]))
    reduce(op, operation, row, part.seen((*kept, 1), (*part.strides, 0)), len(kept), computed(x.dtype))
    operation = Sum if operation is Count else operation
    return _together(op, operation, part, range(len(rest)), range(len(rest), len(kept)), computed, made)
