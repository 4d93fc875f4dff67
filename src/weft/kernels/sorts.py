"""Sorting along an axis: by the digits of keys (``weft.algorithm.onesweep``), short rows of GPUs by lanes of
warps (``weft.kernels.short_sorts``), most rows of CPUs by a thread each (``weft.kernels.sorts_in_turn``).
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft.algorithm.elements import Memory
from weft.algorithm.onesweep import sort_rows
from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError, a_
from weft.dtype import DType
from weft.kernels.along_axis import take_along
from weft.kernels.copies import copy
from weft.kernels.operands import Operand, Operands
from weft.kernels.places import row_major
from weft.kernels.scalars import as_index
from weft.kernels.selection import LONG, SHARE, select_rows
from weft.kernels.short_sorts import is_short, sort_short_rows
from weft.kernels.sorts_in_turn import KEPT, MOST, keep_in_turn, sort_in_turn

A = TypeVar("A")
B = TypeVar("B")


@planned_but("out")
def sort(x: A, axis: int = -1, *, descending: bool = False, out: Any = None) -> A:
    """The elements of each row along an axis in order, as ``np.sort``; equals keep theirs.

    Args:
        x: numbers or bools, of any shape and strides.
        axis: along which.
        descending: whether the greatest comes first. Nan comes last anyway.
        out: where the result goes: of the shape and type of ``x``, which it may be.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import sort
        >>> sort(np.array([3.0, np.nan, -1.0, 2.0]))
        array([-1.,  2.,  3., nan])
    """
    op = Operands("sort", x=x)
    source = op["x"].of("number or bool")
    along = op.axis(axis)
    target = op.result(source.shape, source.dtype, out, same=[source])
    _sorted(op, source, target, along, descending)
    return op.give(target)


@planned_but("out")
def argsort(x: Any, axis: int = -1, *, descending: bool = False, out: Any = None) -> Any:
    """Where the elements of each sorted row come from, as ``np.argsort(x, stable=True)``: Int64.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import argsort
        >>> argsort(np.array([3, -1, 2, 3]), descending=True)
        array([0, 3, 2, 1])
    """
    op = Operands("argsort", x=x)
    source = op["x"].of("number or bool")
    along = op.axis(axis)
    places = op.result(source.shape, DType.int64, out)
    _sorted(op, source, None, along, descending, None, places)
    return op.give(places)


@planned_but("out")
def sort_by_key(
    keys: A, values: B, axis: int = -1, *, descending: bool = False, out: tuple[Any, Any] | None = None
) -> tuple[A, B]:
    """Keys in order as by ``sort``, and the values that go with them. Thrust: ``sort_by_key``.

    Args:
        keys: as ``sort`` takes them.
        values: of the same shape, with elements of 1, 2, 4, 8 or 16 bytes.
        axis: along which.
        descending: as for ``sort``.
        out: where both go; the first may be ``keys``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import sort_by_key
        >>> sort_by_key(np.array([3, 1, 2]), np.array([0.5, 1.5, 2.5]))
        (array([1, 2, 3]), array([1.5, 2.5, 0.5]))
    """
    first, second = _both("sort_by_key", out)
    op = Operands("sort_by_key", keys=keys, values=values)
    source = op["keys"].of("number or bool")
    others = op["values"].shaped(source.shape, "that of keys is")
    along = op.axis(axis)
    target = op.result(source.shape, source.dtype, first, same=[source])
    moved = op.result(source.shape, others.dtype, second)
    if others.dtype.kind == "element":  # which kernels that sort do not know
        _ = others.halved().bits  # by which they are moved, or refused
        places = op.scratch(source.size, DType.int64).seen(source.shape, row_major(source.shape))
        _sorted(op, source, target, along, descending, None, places)
        if source.size:
            take_along(op, others, places, moved, along)
    else:
        _sorted(op, source, target, along, descending, others, moved)
    return op.give(target), op.give(moved)


@planned_but("out")
def topk(
    x: A, k: int, axis: int = -1, *, largest: bool = True, out: tuple[Any, Any] | None = None
) -> tuple[A, A]:
    """The ``k`` greatest elements of each row along an axis, and their places, as ``torch.topk`` has them.

    The greatest comes first, of equal ones the first, and nan last. Long rows are selected from
    (``weft.kernels.selection``), others sorted.

    Args:
        x: numbers, of any shape and strides.
        k: how many, up to the row's length.
        axis: along which.
        largest: whether the greatest are meant, or the least.
        out: where both go.

    Returns:
        the elements, and Int64 that count from the row's first.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import topk
        >>> topk(np.array([3, -1, 4, 3]), 2)
        (array([4, 3]), array([2, 0]))
    """
    first, second = _both("topk", out)
    op = Operands("topk", x=x)
    source = op["x"].of("number or bool")
    along = op.axis(axis)
    n = source.shape[along]
    k = as_index("topk", "k", k, 1, 0, n)
    shape = tuple(k if number == along else extent for number, extent in enumerate(source.shape))
    values = op.result(shape, source.dtype, first)
    places = op.result(shape, DType.int64, second)
    few = op.threads_are_loops and k <= KEPT and 4 * k <= n
    long = n >= LONG or not (op.threads_are_loops or is_short(source.dtype, n))
    if values.size and (few or (long and k * SHARE <= n)):
        kept, where = _room(op, values, along), _room(op, values, along, DType.int64)
        (keep_in_turn if few else select_rows)(
            op, _side_by_side(op, source, along, False), n, k, largest, kept, where
        )
        if few:
            copy(op, kept, values)
            copy(op, where, places)
        else:
            _sorted(op, kept, values, along, largest, where, places)
    elif values.size:
        made, order = _room(op, source, along), _room(op, source, along, DType.int64)
        _sorted(op, source, made, along, largest, None, order)
        for whole, target in ((made, values), (order, places)):
            copy(op, whole.seen(shape, whole.strides), target)
    return op.give(values), op.give(places)


def _both(operation: str, out: Any) -> tuple[Any, Any]:
    """The two arrays of an ``out``, or none."""
    if out is None:
        return None, None
    if type(out) not in (tuple, list) or len(out) != 2:
        message = f"{operation}: out is {a_(type(out).__name__)}, and there are two results"
        hint = "pass a pair of arrays: out=(first, second)"
        raise LaunchError.here("argument-type", message, hint, at=("out", 0))
    first, second = out
    return first, second


def _sorted(
    op: Operands,
    source: Operand,
    target: Operand | None,
    along: int,
    descending: bool,
    others: Operand | None = None,
    moved: Operand | None = None,
) -> None:
    """Sort rows of ``source`` into ``target``; ``moved`` has places then, or ``others`` in that order."""
    if not source.size:
        return
    size, dtype, n = source.size, source.dtype, source.shape[along]
    loops = op.threads_are_loops
    short = n <= MOST if loops else is_short(dtype, n)
    same = target is not None and target.address == source.address
    begun = _side_by_side(op, source, along, not short and same and dtype.itemsize % 2 == 1)
    taken = None if others is None else _side_by_side(op, others, along, False)
    ended, made = target, moved
    if target is None or not _is_side_by_side(target, along):
        ended = None if short and target is None else _room(op, source, along)
    if moved is not None and not _is_side_by_side(moved, along):
        made = _room(op, moved, along)
    if short:
        memory = [None if o is None else Memory(o.memory) for o in (ended, taken, made)]
        (sort_in_turn if loops else sort_short_rows)(op, begun, n, descending, memory)
    else:
        spare = op.scratch(size if dtype.itemsize > 1 else 1, dtype)
        values = None if moved is None else (taken, made, op.scratch(size, moved.dtype))
        sort_rows(
            op.launch,
            op.scratch,
            loops,
            (size // n, n),
            (begun, ended, spare),
            values,
            dtype=dtype,
            value_dtype=None if moved is None else moved.dtype,
            descending=descending,
        )
    for one, other in ((ended, target), (made, moved)):
        if one is not other and one is not None and other is not None:
            copy(op, one, other)


def _is_side_by_side(operand: Operand, along: int) -> bool:
    return operand.is_whole and along == len(operand.shape) - 1


def _side_by_side(op: Operands, operand: Operand, along: int, copied: bool) -> Operand:
    """The operand's rows side by side; in other memory, if they have to be."""
    if not copied and _is_side_by_side(operand, along):
        return operand
    made = _room(op, operand, along)
    copy(op, operand, made)
    return made


def _room(op: Operands, like: Operand, along: int, dtype: DType | None = None) -> Operand:
    """Memory where rows lie side by side."""
    order = [*(k for k in range(len(like.shape)) if k != along), along]
    steps = dict(zip(order, row_major([like.shape[k] for k in order]), strict=True))
    made = op.scratch(like.size, dtype or like.dtype)
    return made.seen(like.shape, tuple(steps[k] for k in range(len(order))))
