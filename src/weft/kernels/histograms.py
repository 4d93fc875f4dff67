"""How many elements lie in each of some ranges.

Each block counts in its shared memory, the warps of a block in several copies, so that fewer threads meet at
one number (Podlozhnyuk: "Histogram calculation in CUDA", 2007); then blocks add up what they have. Of very
many bins they count in global memory. Only integers are added by atomics, whose order is no matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isfinite, isinf
from math import floor as floor_of
from typing import Any, TypeVar, cast

from weft.atomic import Atomic
from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError
from weft.dtype import as_dtype
from weft.gpu import barrier, block_idx, grid_dim, thread_idx, warp_id
from weft.kernels import reductions
from weft.kernels.copies import contiguous, copy
from weft.kernels.operands import DTYPE_KINDS, Operands, end_of
from weft.kernels.scalars import as_index, as_number
from weft.lang import Comptime, Float64, Int, Int64, Pointer, UInt32, func, kernel, no_contraction, unroll
from weft.lang.number import type_name
from weft.math import floor
from weft.math import max as most
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

A = TypeVar("A")
THREADS, SHARED, COPIES = 1024, 8192, 8
"""A block's threads; how many numbers its shared memory has at most; how many copies of the bins at most."""
CHUNK = 1 << 16
"""Elements that a task of a CPU counts."""
_MOST = 1 << 31
"""Bins."""


def histogram(x: A, bins: int = 10, range: tuple[float, float] | None = None, *, out: Any = None) -> A:
    """How many elements lie in each of ``bins`` equal parts of a range; Int64.

    A part has its lower end and not its upper one, but the last part has both; elements outside and nan are
    not counted. The parts' ends are those of ``np.histogram``: ``low + i * ((high - low) / bins)`` in
    Float64, rounded to the type of ``x`` if that is a float; or in that type, if the range is its own.

    Args:
        x: numbers, of any shape and strides.
        bins: how many parts.
        range: the lower end and the upper one: ``(0, 256)`` with 256 bins counts bytes. Without it the least
            and the greatest element, for which the host waits, of none 0 and 1; of equals half less and more.
        out: where the result goes, (bins,).

    Raises:
        LaunchError: an argument is wrong; an element is nan or infinite, and there is no range.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import histogram
        >>> histogram(np.array([0.1, 0.2, 0.9, 1.0, 7.0]), 4, (0, 1))
        array([2, 0, 0, 2])
        >>> histogram(np.array([0.1, 0.2, 0.9, 1.0, 7.0]), 4)
        array([4, 0, 0, 1])
    """
    if range is not None:
        return _within(x, bins, range, out=out)
    # each call has ends of its own, for which no plan is to be kept
    return cast("Any", _within).__wrapped__(x, bins, _ends_of_data(x), out=out, own=True)


@planned_but("out")
def _within(x: Any, bins: Any, range: Any, *, out: Any = None, own: bool = False) -> Any:
    op = Operands("histogram", x=x)
    source = op["x"].of("number")
    bins, (low, high) = as_index("histogram", "bins", bins, 1, 1, _MOST), _ends(range)
    if not low < high or isinf(high - low):
        message = f"histogram: range is from {low} to {high}"
        raise LaunchError.here("argument-type", message, "write the less of both first", at=("range", 2))
    kind = source.kind if source.dtype.is_float else Float64
    far, more = max(low, high, key=abs), (high - low) / bins * 0.500001  # than half of what is beside far
    if float(kind(far)) == float(kind(far - more if far > 0 else far + more)):
        message = f"histogram: from {low} to {high} {type_name(kind.dtype)} has no {bins} parts"
        raise LaunchError.here("argument-type", message, "ask for fewer bins", at=("bins", 1))
    target = op.result((bins,), as_dtype("int64"), out)
    source = contiguous(op, source)
    counts = target if target.is_whole else op.scratch(bins, target.dtype)
    unit = 1 if op.threads_are_loops else THREADS
    op.launch(cleared, -(-bins // unit), unit, counts, bins, threads=unit)
    if source.size:
        _count(op, source, counts, bins, low, high, kind if own else Float64)
    if counts is not target:
        copy(op, counts, target)
    return op.give(target)


def _ends(given: Any) -> tuple[float, float]:
    ends: tuple[float, ...] = ()
    if isinstance(given, Iterable):
        ends = tuple([as_number("histogram", "range", end, 2) for end in cast("Iterable[Any]", given)])
    if len(ends) != 2 or not all(map(isfinite, ends)):
        message = f"histogram: range= takes two finite numbers, not {given!r}"
        hint = "write range=(low, high), or leave it out: then it is from x.min() to x.max()"
        raise LaunchError.here("argument-type", message, hint, at=("range", 2))
    low, high = ends
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _ends_of_data(x: Any) -> tuple[float, float]:
    op = Operands("histogram", x=x)
    source, ends = op["x"].of("number"), [0.0, 1.0]
    if source.size:
        for n, find in enumerate((reductions.min, reductions.max)):
            found = op.context.enqueue_create_buffer(source.dtype, 1)
            find(x, out=found)
            with found.map_to_host() as host:
                ends[n] = float(host[0])
    low, high = ends
    if not (isfinite(low) and isfinite(high)):
        hint = "write range=(low, high): what is outside is not counted"
        source.refuse(f"from {low} to {high}, which is no range", hint)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _count(op: Operands, x: Any, counts: Any, bins: int, low: float, high: float, ends_in: Any) -> None:
    n = x.size
    whole = x.dtype.kind in DTYPE_KINDS["integer"] and high - low == bins and low == int(low)
    width = 1 if op.threads_are_loops else x.lanes()
    threads = 1 if op.threads_are_loops else THREADS
    blocks = -(-n // CHUNK) if op.threads_are_loops else 2 * op.context.info.multiprocessors
    blocks = max(1, min(blocks, -(-n // (threads * width))))
    room = 1 << (bins - 1).bit_length() if bins <= SHARED else 0
    copies = 1 if op.threads_are_loops or not room else max(1, min(COPIES, SHARED // room))
    sure = whole and low <= end_of(x.dtype, -1) and end_of(x.dtype, 1) < high
    if not whole and op.threads_are_loops and (values := _values(x, low, high)):
        _count_values(op, x, counts, bins, (low, high), values)
        return
    known = {"whole": whole, "sure": sure, "width": width, "threads": threads, "room": room, "copies": copies}
    known["ends_in"] = ends_in
    ends = (int(low) if whole else _about(x, bins, low, high, ends_in),)
    op.launch(counted, blocks, threads, x, counts, n, bins, *ends, **known)


def _about(x: Any, bins: int, low: float, high: float, ends_in: Any) -> tuple[Float64, ...]:
    """What ``_bin`` finds bins by."""
    kind = x.kind if x.dtype.is_float else Float64
    step = float((ends_in(high) - ends_in(low)) / ends_in(bins))
    about = float(kind(low)), float(kind(high)), low, bins / (high - low), step
    return tuple(map(Float64, about))


def _values(x: Any, low: float, high: float) -> range:
    """The integers from one end to the other, where these are few to the elements, else none."""
    if x.dtype.kind not in DTYPE_KINDS["integer"]:
        return range(0)
    first, last = max(ceil(low), end_of(x.dtype, -1)), min(floor_of(high), end_of(x.dtype, 1))
    return range(first, last + 1) if last - first < min(SHARED - 1, x.size // 4) else range(0)


def _count_values(
    op: Operands, x: Any, counts: Any, bins: int, ends: tuple[float, float], values: range
) -> None:
    """Count integers one by one, and then which bins they lie in."""
    size = len(values) + 1  # whose last has what is behind the greatest
    each = op.scratch(size, counts.dtype)
    op.launch(cleared, size, 1, each, size, threads=1)
    _count(op, x, each, size, values.start, values.start + size, Float64)
    about = _about(x, bins, *ends, Float64)
    op.launch(gathered, 1, 1, each, counts, len(values), values.start, bins, about, kind=x.kind)


@kernel
def gathered(
    each: Pointer[Int64],
    counts: Pointer[Int64],
    size: Int,
    first: Int,
    bins: Int,
    about: Any,
    *,
    kind: Comptime[Any],
):
    """Counts of integers from the first on, added to those of their bins."""
    for i in range(size):
        place = _bin(kind(first + i), about, bins, whole=False, sure=False, ends_in=Float64)
        if place >= 0:
            counts[place] += each[i]


@kernel
def cleared(counts: Pointer[Int64], bins: Int, *, threads: Comptime[int]):
    """Zeros."""
    at = block_idx.x * threads + thread_idx.x
    if at < bins:
        counts[at] = 0


@func
def _bin(
    x: Any,
    about: Any,
    count: Int,
    *,
    whole: Comptime[bool],
    sure: Comptime[bool],
    ends_in: Comptime[Any],
) -> Int:
    """The number of an element's bin; -1 of one that is in none, if not ``sure`` that there is none such."""
    if whole:
        place = x.cast(Int) - about
        if sure:
            return place
        return least(place, count - 1) if 0 <= place <= count else Int(-1)
    first, last, low, scale, step = about
    value = x.cast(Float64)
    place = most(least(floor((value - low) * scale).cast(Int), count - 1), Int(0))
    if place > 0 and value < _end(x, place, low, step, ends_in):
        place -= 1
    if place + 1 < count and value >= _end(x, place + 1, low, step, ends_in):
        place += 1
    return place if first <= value <= last else Int(-1)


@func
def _end(x: Any, place: Int, low: Float64, step: Float64, kind: Any) -> Float64:
    """Where a part begins, in the precision of an element."""
    with no_contraction():  # as NumPy
        end = low.cast(kind) + place.cast(kind) * step.cast(kind)
    return end.cast(x.dtype).cast(Float64) if x.dtype.is_float else end


@kernel
def counted(
    x: Pointer[Any],
    counts: Pointer[Int64],
    n: Int,
    bins: Int,
    about: Any,
    *,
    whole: Comptime[bool],
    sure: Comptime[bool],
    ends_in: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    room: Comptime[int],
    copies: Comptime[int],
):
    """Counts of the elements that a block meets on the grid's way, added to those of the others."""
    own: Any = counts
    held: Any = None
    how = {"whole": whole, "sure": sure, "ends_in": ends_in}
    if room:
        held = stack_allocation(UInt32, room * copies, address_space=AddressSpace.SHARED)
        for i in range(thread_idx.x, room * copies, threads):
            held[i] = 0
        barrier()
        own = held + (warp_id() % copies * room if copies > 1 else 0)
    thread, all = block_idx.x * threads + thread_idx.x, grid_dim.x * threads
    end = n // width * width
    for at in range(thread * width, end, all * width):
        some = x.load(at, width=width, alignment=width * x.dtype.itemsize)
        for k in unroll(range(width)):
            place = _bin(some if width == 1 else some[k], about, bins, **how)
            if sure or place >= 0:
                Atomic.fetch_add(own + place, 1, ordering="relaxed", scope="block" if room else "device")
    for at in range(end + thread, n, all):
        place = _bin(x[at], about, bins, **how)
        if sure or place >= 0:
            Atomic.fetch_add(counts + place, 1, ordering="relaxed")
    if room:
        barrier()
        for bin in range(thread_idx.x, bins, threads):
            total = held[bin]
            for k in unroll(range(1, copies)):
                total += held[k * room + bin]
            if total > 0:
                Atomic.fetch_add(counts + bin, total.cast(Int), ordering="relaxed")
