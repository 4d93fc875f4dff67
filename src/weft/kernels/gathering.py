"""Elements by their places: taken from an axis, put or added there.

What is written to one place more than once is settled by integers alone, so that results do not depend on
which thread comes first: where elements are put the last one stays, found by an atomic maximum of their
numbers; where floats are added the places are sorted with the numbers of the elements, and the elements of a
place are added in their order by one thread. On a CPU one thread does all of a row, in order, and columns
that its cache holds are walked down.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

from weft.atomic import Atomic
from weft.calls.planned import planned_but
from weft.dtype import as_dtype
from weft.gpu import block_idx, thread_idx
from weft.kernels.along_axis import fixed, take_along
from weft.kernels.by_places import (
    WIDE,
    Places,
    inside,
    put_by_parts,
    put_in_order,
    take_by_loops,
)
from weft.kernels.copies import contiguous, copy
from weft.kernels.early import begin_early
from weft.kernels.integers import integers
from weft.kernels.operands import DTYPE_KINDS, Operand, Operands, accumulator
from weft.kernels.places import merged, row_major
from weft.kernels.row_memory import begin
from weft.kernels.sorts import sort
from weft.lang import Comptime, Int, Int32, Int64, Pointer, kernel, unroll
from weft.lang.generic import written
from weft.lang.number import type_name
from weft.math import min as least

A = TypeVar("A")
THREADS, TAKING, EACH = 256, 64, 8
"""A block's threads, and of those that take; vectors of a thread that are on their way together."""
FREE = -1
"""The number of what nobody writes."""


def _places(x: Operand, axis: int) -> Places | None:
    """An operand, cut before and behind an axis; None where these parts are not one axis each in memory."""
    before, (first,) = merged(x.shape[:axis], x.strides[:axis])
    behind, (last,) = merged(x.shape[axis + 1 :], x.strides[axis + 1 :])
    if len(before) > 1 or len(behind) > 1:
        return None
    return Places(prod(before), x.shape[axis], prod(behind), (first[0], x.strides[axis], last[0]))


@planned_but("out")
def take(x: A, indices: Any, axis: int | None = None, *, out: Any = None) -> A:
    """Elements of an axis by their places, as ``numpy.take``: ``x[..., indices, ...]``.

    Args:
        x: an array of elements of 1, 2, 4, 8 or 16 bytes, of any shape and strides.
        indices: integers, of any shape; below 0 they count from the end. One outside stops the kernel, as a
            failed ``assert`` does.
        axis: the axis; None for all elements in row-major order.
        out: where the result goes.

    Returns:
        An array with the axes of ``indices`` in place of the axis.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import take
        >>> take(np.array([[1, 2], [3, 4], [5, 6]]), np.array([2, 0, -1]), axis=0)
        array([[5, 6],
               [1, 2],
               [5, 6]])
    """
    op = Operands("take", x=x, indices=indices)
    return _take(op, op["x"], integers(op, "indices"), axis, out)


@planned_but("out")
def embedding(indices: Any, weight: A, *, out: Any = None) -> A:
    """Rows of ``weight`` by their numbers: ``take(weight, indices, 0)``, torch's ``functional.embedding``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import embedding
        >>> embedding(np.array([1, 1]), np.float32([[1, 2], [3, 4]]))
        array([[3., 4.],
               [3., 4.]], dtype=float32)
    """
    op = Operands("embedding", weight=weight, indices=indices)
    return _take(op, op["weight"], integers(op, "indices"), 0, out)


def _take(op: Operands, x: Operand, indices: Operand, axis: int | None, out: Any) -> Any:
    numbers = contiguous(op, indices)
    if axis is None:
        x = contiguous(op, x)
        x, along = x.seen((x.size,), (1,)), 0
    else:
        along = op.axis(axis)
    target = op.result((*x.shape[:along], *indices.shape, *x.shape[along + 1 :]), x.dtype, out)
    if not target.size:
        return op.give(target)
    if not x.shape[along]:
        x.refuse(f"of shape {x.shape}: there is nothing to take", "pass an array with elements")
    made = target if target.is_whole else op.scratch(target.size, x.dtype)
    x, results = x.halved(), made.halved()
    source = _places(x, along)
    if source is None:
        x = contiguous(op, x)
        source = _places(x, along)
    assert source is not None  # of what is contiguous
    rows, bits = indices.size, x.bits
    if op.threads_are_loops:
        take_by_loops(op, x, numbers, made, source, rows)
        return _given(op, made, target)
    width = _width(source, x, results)
    inner = source.inner // width
    across = min(TAKING, 1 << (inner - 1).bit_length())
    deep, each = TAKING // across, min(EACH, -(-inner // across))
    known = {"across": across, "deep": deep, "each": each, "width": width}
    arguments = x, numbers, made, source.outer * rows, rows, inner, source.n, source.steps
    op.launch(
        taken, -(-source.outer * rows // deep), (across, deep), *arguments, bits=bits, early=True, **known
    )
    return _given(op, made, target)


def _given(op: Operands, made: Operand, target: Operand) -> Any:
    if made is not target:
        copy(op, made.seen(target.shape, row_major(target.shape)), target)
    return op.give(target)


@planned_but("out")
def take_along_axis(x: A, indices: Any, axis: int | None = -1, *, out: Any = None) -> A:
    """Elements of each row along an axis by their places there, as ``numpy.take_along_axis``.

    Args:
        x: an array of elements of 1, 2, 4, 8 or 16 bytes, of any shape and strides.
        indices: integers, with as many axes as ``x``; of the others either may have one element for all of
            the other's. Below 0 they count from the end. One outside stops the kernel.
        axis: the axis; None for all elements in row-major order, by indices on one axis.
        out: where the result goes.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import argsort, take_along_axis
        >>> x = np.array([[3, 1, 2], [4, 6, 5]])
        >>> take_along_axis(x, argsort(x))
        array([[1, 2, 3],
               [4, 5, 6]])
    """
    op = Operands("take_along_axis", x=x, indices=indices)
    source, numbers, along = _row_by_row(op, op["x"], integers(op, "indices"), axis)
    target = op.result(numbers.shape, source.dtype, out)
    if target.size:
        take_along(op, source, numbers, target, along)
    return op.give(target)


def _threads(op: Operands) -> int:
    return 1 if op.threads_are_loops else THREADS


def _row_by_row(op: Operands, x: Operand, indices: Operand, axis: int | None) -> tuple[Operand, Operand, int]:
    """An array and indices of places along an axis, of one shape but for that; and the axis."""
    if axis is None:
        x, axis = contiguous(op, x), 0
        x = x.seen((x.size,), (1,))
    along = op.axis(axis, x)
    if len(indices.shape) != len(x.shape):
        hint = f"give it as many axes: {len(x.shape)}"
        indices.refuse(f"of shape {indices.shape}, and x's is {x.shape}", hint)
    if indices.size and not x.shape[along]:
        x.refuse(f"of shape {x.shape}: there is nothing to take", "pass an array with elements")
    pairs = enumerate(zip(x.shape, indices.shape, strict=True))
    shape = [own if number != along and other == 1 else other for number, (own, other) in pairs]
    indices = _spread(indices, shape)
    shape[along] = x.shape[along]
    return _spread(x, shape), indices, along


def _spread(x: Operand, shape: Sequence[int]) -> Operand:
    """An operand as one of the shape of indices, where it has one element for all along an axis."""
    more = len(shape) - len(x.shape)
    own, steps = (*[1] * more, *x.shape), (*[0] * more, *x.strides)
    if more < 0 or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        hint = f"pass one of shape {(*shape,)}, or with 1 in place of some of these numbers"
        x.refuse(f"of shape {x.shape}, and indices ask for {(*shape,)}", hint)
    return x.seen((*shape,), tuple([0 if a != b else s for a, b, s in zip(own, shape, steps, strict=True)]))


def _width(places: Places, *operands: Operand) -> int:
    """How many elements of the inner part an access has."""
    if places.steps[2] != 1 and places.inner > 1:
        return 1
    return min(o.lanes(places.inner, *places.steps[:2]) for o in operands)


@kernel
def taken(
    x: Pointer[Any],
    indices: Pointer[Any],
    out: Pointer[Any],
    number: Int,
    rows: Int,
    inner: Int,
    n: Int,
    steps: Any,
    *,
    bits: Comptime[Any],
    width: Comptime[int],
    across: Comptime[int],
    deep: Comptime[int],
    each: Comptime[int],
):
    """``across`` threads copy the inner part of a place, ``each`` so many vectors at a time."""
    begin_early()
    row = block_idx.x * deep + thread_idx.y
    if row < number:
        place = inside(indices[row % rows], n)
        source = x.bitcast(bits) + (row // rows * steps[0] + place * steps[1])
        target = out.bitcast(bits) + row * inner * width
        aligned, step = bits.dtype.itemsize * width, steps[2] * width
        for first in range(thread_idx.x, inner, across * each):
            ats = [least(first + i * across, inner - 1) for i in unroll(range(each))]
            values = [source.load(at * step, width=width, alignment=aligned) for at in ats]
            for i in unroll(range(each)):
                if first + i * across < inner:
                    target.store((first + i * across) * width, values[i], alignment=aligned)


@planned_but("x")
def put(
    x: A, indices: Any, values: Any, axis: int = 0, *, add: bool = False, deterministic: bool = True
) -> A:
    """Write elements to places of an axis: ``x[..., indices, ...] = values``, or add them there.

    Of elements that are put to one place the last one stays. Those that are added to one place are added up
    in their order, short floats in Float32, and rounded once.

    Args:
        x: the array that is written, of any shape and strides.
        indices: integers on one axis; below 0 they count from the end. One outside stops the kernel.
        values: of the type of ``x`` and its shape, with as many places as there are indices.
        axis: the axis of both.
        add: whether elements are added.
        deterministic: False for threads that write or add as they come: floats are rounded otherwise each
            time, and which of several elements stays is not known. That is faster.

    Returns:
        ``x``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import put
        >>> x = np.zeros(3, np.float32)
        >>> put(x, np.array([2, 0, 2]), np.float32([1, 2, 3]))
        array([2., 0., 3.], dtype=float32)
        >>> put(x, np.array([2, 2]), np.float32([10, 20]), add=True)
        array([ 2.,  0., 33.], dtype=float32)
    """
    op = Operands("put", indices=indices, values=values)
    numbers, given, target = _written(op, x, add)
    along = op.axis(axis, target)
    numbers.shaped((numbers.size,), "indices are on one axis, so it is")
    shape = tuple(numbers.size if n == along else extent for n, extent in enumerate(target.shape))
    given.shaped(shape, "that of x with a place for each index is")
    if not given.size:
        return op.give(target)
    numbers, given = contiguous(op, numbers), contiguous(op, given).halved()
    made, places = target, _places(target.halved(), along)
    if places is None:
        made = contiguous(op, target)
        places = _places(made.halved(), along)
    assert places is not None  # of what is contiguous
    _put(op, places, numbers, given, made, add=add, deterministic=deterministic)
    if made is not target:
        copy(op, made, target)
    return op.give(target)


@planned_but("x")
def put_along_axis(
    x: A, indices: Any, values: Any, axis: int | None, *, add: bool = False, deterministic: bool = True
) -> A:
    """Write elements to places of each row along an axis, as ``numpy.put_along_axis``, or add them there.

    Args:
        x: the array that is written, of any shape and strides.
        indices: integers as ``take_along_axis`` has them.
        values: of the type of ``x``, and the shape of ``indices``; or one that NumPy makes that of.
        axis: the axis; None for all elements of ``x`` in row-major order.
        add: whether elements are added.
        deterministic: as for ``put``, which also says what stays of several elements.

    Returns:
        ``x``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import argmax, put_along_axis
        >>> x = np.array([[3, 1, 2], [4, 6, 5]])
        >>> put_along_axis(x, argmax(x, 1, keepdims=True), np.array([[0]]), 1)
        array([[0, 1, 2],
               [4, 0, 5]])
    """
    op = Operands("put_along_axis", indices=indices, values=values)
    _, given, target = _written(op, x, add)
    whole = target.seen(target.shape, row_major(target.shape))
    rows, numbers, along = _row_by_row(op, whole, op["indices"], axis)
    given = _spread(given, numbers.shape)
    own = [*target.shape[:along], rows.shape[along], *target.shape[along + 1 :]]
    if given.size and axis is not None and own == [*rows.shape] and _in_order(op, target, add):
        if given.dtype.itemsize == 16:
            rows, given = rows.halved(), given.halved()
            numbers = numbers.seen(given.shape, (*numbers.strides, 0))
        lines = rows.shape, target.halved().strides, numbers.strides, given.strides
        extents, steps = merged(*[(*line[:along], *line[along + 1 :]) for line in lines])
        each = tuple([line[along] for line in lines[1:]])
        counts = numbers.shape[along], rows.shape[along], extents
        known = {"kind": given.kind if add else given.bits, "add": add}
        op.launch(put_in_order, prod(extents), 1, target, numbers, given, steps, each, *counts, **known)
    elif given.size:
        made, given = contiguous(op, target), contiguous(op, given)
        places, threads = op.scratch(numbers.size, as_dtype("int64")), _threads(op)
        extents, steps = merged(numbers.shape, fixed(rows, along), numbers.strides)
        counts = steps[0], rows.strides[along], numbers.size, rows.shape[along], extents
        grid = -(-numbers.size // threads)
        op.launch(flattened, grid, threads, numbers, steps[1], places, *counts, threads=threads)
        halves = 2 if given.dtype.itemsize == 16 else 1
        flat, given = Places(1, made.size, halves, (0, halves, halves - 1)), given.halved()
        _put(op, flat, places, given, made, add=add, deterministic=deterministic)
        if made is not target:
            copy(op, made, target)
    return op.give(target)


def _in_order(op: Operands, x: Operand, add: bool) -> bool:
    """Whether one thread puts what goes to a row, one after the other: on a CPU, where atomics cost more."""
    return op.threads_are_loops and not (add and x.dtype.is_float and x.dtype.bits < 32)


@kernel
def flattened(
    indices: Pointer[Any],
    steps: Any,
    places: Pointer[Int64],
    x_steps: Any,
    x_step: Int,
    number: Int,
    n: Int,
    extents: Any,
    *,
    threads: Comptime[int],
):
    """Places along an axis as those of all elements."""
    unit = block_idx.x * threads + thread_idx.x
    if unit < number:
        place = inside(begin(indices, steps, unit, extents)[0], n)
        places[unit] = begin(Int(0), x_steps, unit, extents) + place * x_step


def _written(op: Operands, x: Any, add: bool) -> tuple[Operand, Operand, Operand]:
    """The indices, what is put or added, and where: an array of the same type."""
    given, into = op["values"], Operand(op.operation, "x", x)
    numbers = integers(op, "indices", into)
    if add:
        given.of("number")
    elif given.dtype.kind == "element":
        _ = given.halved().bits  # by which they are moved, or refused
    if given.dtype != into.dtype:
        found = f"of {type_name(given.dtype)}, and x is of {type_name(into.dtype)}"
        given.refuse(found, f"convert it to {type_name(into.dtype)}")
    op.first = given
    return numbers, given, op.result(into.shape, given.dtype, x, name="x")


def _put(
    op: Operands,
    places: Places,
    numbers: Operand,
    given: Operand,
    x: Operand,
    *,
    add: bool,
    deterministic: bool,
) -> None:
    rows, inner, kind = numbers.size, places.inner, given.kind if add else given.bits
    if _in_order(op, x, add):
        parts = -(-inner // WIDE)
        arguments = numbers, given, x, rows, inner, parts, places.n, places.steps
        op.launch(put_by_parts, places.outer * parts, 1, *arguments, kind=kind, add=add)
        return
    number: Any = Int32 if given.size < 1 << 31 else Int
    known: dict[str, Any] = {"threads": _threads(op), "number": number}
    moved = {**known, "kind": kind}
    settled = not deterministic or (add and given.dtype.kind in DTYPE_KINDS["integer"])
    threads = _threads(op)
    grid, of_rows = -(-given.size // threads), -(-rows // threads)
    shape = rows, inner, places.outer, places.n, places.steps
    if settled:
        arguments = numbers, given, x, numbers, *shape
        op.launch(scattered, grid, threads, *arguments, add=add, owned=False, **moved)
    elif not add:
        owners = op.scratch(places.n, as_dtype("int64"))
        op.launch(freed, -(-places.n // threads), threads, owners, places.n, threads=threads)
        op.launch(claimed, of_rows, threads, numbers, owners, rows, places.n, threads=threads)
        arguments = numbers, given, x, owners, *shape
        op.launch(scattered, grid, threads, *arguments, add=False, owned=True, **moved)
    else:
        if places.n >> 31 or rows >> 32:
            x.refuse(f"of {places.n} places, too many to sort {rows} by", "pass deterministic=False")
        order = op.scratch(rows, as_dtype("int64"))
        op.launch(numbered, of_rows, threads, numbers, order, rows, places.n, threads=threads)
        sort(order.given, out=order.given)
        kind = written(accumulator(given.dtype))
        op.launch(added, grid, threads, order, given, x, *shape, kind=kind, **known)


@kernel
def freed(owners: Pointer[Int64], n: Int, *, threads: Comptime[int]):
    """Nobody writes to any place."""
    at = block_idx.x * threads + thread_idx.x
    if at < n:
        owners[at] = FREE


@kernel
def claimed(indices: Pointer[Any], owners: Pointer[Int64], rows: Int, n: Int, *, threads: Comptime[int]):
    """The last that writes to each place."""
    row = block_idx.x * threads + thread_idx.x
    if row < rows:
        Atomic.fetch_max(owners + inside(indices[row], n), row, ordering="relaxed")


def parts_of(unit: Any, inner: Any, rows: Any, number: Any) -> tuple[Any, Any, Any]:
    """Where an element lies within a row, which row that is, and of what; divided as numbers of a type."""
    whole, inner, rows = number(unit), number(inner), number(rows)
    return Int(whole % inner), Int(whole // inner % rows), Int(whole // inner // rows)


@kernel
def scattered(
    indices: Pointer[Any],
    values: Pointer[Any],
    x: Pointer[Any],
    owners: Pointer[Any],
    rows: Int,
    inner: Int,
    outer: Int,
    n: Int,
    steps: Any,
    *,
    kind: Comptime[Any],
    add: Comptime[bool],
    owned: Comptime[bool],
    threads: Comptime[int],
    number: Comptime[Any],
):
    """An element a thread: added by an atomic, or put, if places are ``owned`` by the owner of its place."""
    unit = block_idx.x * threads + thread_idx.x
    if unit < rows * inner * outer:
        part, row, before = parts_of(unit, inner, rows, number)
        place = inside(indices[row], n)
        to = x.bitcast(kind) + (before * steps[0] + place * steps[1] + part * steps[2])
        if add:
            Atomic.fetch_add(to, values.bitcast(kind)[unit], ordering="relaxed")
        elif not owned or owners[place] == row:
            to[0] = values.bitcast(kind)[unit]


@kernel
def numbered(indices: Pointer[Any], order: Pointer[Int64], rows: Int, n: Int, *, threads: Comptime[int]):
    """Places, and behind each the number of its element."""
    row = block_idx.x * threads + thread_idx.x
    if row < rows:
        order[row] = inside(indices[row], n) << 32 | row


@kernel
def added(
    order: Pointer[Int64],
    values: Pointer[Any],
    x: Pointer[Any],
    rows: Int,
    inner: Int,
    outer: Int,
    n: Int,
    steps: Any,
    *,
    kind: Comptime[Any],
    threads: Comptime[int],
    number: Comptime[Any],
):
    """The thread of the first element of a place adds all of it."""
    unit = block_idx.x * threads + thread_idx.x
    if unit < rows * inner * outer:
        part, first, before = parts_of(unit, inner, rows, number)
        place = order[first] >> 32
        if first == 0 or order[first - 1] >> 32 != place:
            at = before * steps[0] + place * steps[1] + part * steps[2]
            total, k = x[at].cast(kind), first
            while k < rows and order[least(k, rows - 1)] >> 32 == place:
                row = order[k] & 0xFFFFFFFF
                total += values[(before * rows + row) * inner + part].cast(kind)
                k += 1
            x[at] = total.cast(x.element_type)
