"""Reductions and scans along one axis of a tensor or array.

A thread joins a stretch along the axis, its neighbours those beside it; what they found is joined likewise
until there is one of each. So elements are joined in their order, in groups that the shape alone decides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Any, NamedTuple, cast

from weft.algorithm.elements import at, check_parameters, converted, flat, put
from weft.algorithm.kernels import RESULT, joined
from weft.algorithm.places import RunsOn
from weft.diagnostics import LaunchError, a_
from weft.dtype import as_dtype
from weft.gpu import global_idx
from weft.lang import Comptime, Int, Pointer, kernel
from weft.layout import Layout
from weft.math import min as least

_STRETCH, _CPU_STRETCH = 32, 1 << 12
"""Elements of a thread."""


class Axis(NamedTuple):
    """An axis of ``n`` places, and how many elements there are before and behind it, in row-major order."""

    outer: int
    n: int
    inner: int


def axis_of(src: Any, axis: Any) -> tuple[Axis, tuple[int, ...]]:
    """An axis of memory that has axes, and the extents of the others.

    Raises:
        LaunchError: there is no such axis.
    """
    shape: tuple[int, ...] = tuple(getattr(src, "shape", None) or (len(src),))
    rank, number = len(shape), None
    if not isinstance(axis, bool) and hasattr(axis, "__index__"):
        number = index(axis)
    if number is None or not -rank <= number < rank:
        shown = repr(axis) if isinstance(axis, (bool, int, float, str)) else a_(type(axis).__name__)
        message = f"axis is {shown}, and src has {rank} ax{'e' if rank != 1 else 'i'}s"
        raise LaunchError.here(
            "argument-type", message, f"write an int from {-rank} to {rank - 1}", at=("axis", 3)
        )
    number %= rank
    before, behind = shape[:number], shape[number + 1 :]
    return Axis(prod(before), shape[number], prod(behind)), (*before, *behind)


@kernel
def reduce_stretches(
    func: Callable[..., Any],
    src: Any,
    totals: Any,
    like: Pointer[Any],
    n: Int,
    inner: Int,
    parts: Int,
    each: Int,
    init: Any,
    *,
    ways: Comptime[int],
):
    """``each`` elements along an axis as one, behind ``init`` if there is any."""
    check_parameters(func, 2, "reduce", "what was accumulated, and what comes next: (a, b)")
    unit = global_idx.x
    first = unit // inner % parts * each
    end, begin = least(n, first + each), unit // inner // parts * n * inner + unit % inner

    def element(i: Int) -> Any:
        return at(src, begin + i * inner)

    if init is None:
        put(totals, unit, joined(func, element, like, first, end, ways=ways))
    elif first < end:
        found = joined(func, element, like, first, end, ways=ways)
        put(totals, unit, converted(func(init, found), like, RESULT))
    else:
        put(totals, unit, init)


@kernel
def scan_stretches(
    func: Callable[..., Any],
    src: Any,
    dst: Any,
    totals: Any,
    like: Pointer[Any],
    n: Int,
    inner: Int,
    parts: Int,
    each: Int,
    init: Any,
    *,
    exclusive: Comptime[bool],
):
    """Running results of ``each`` elements along an axis; ``totals`` has those of the stretches before."""
    check_parameters(func, 2, "scan", "what was accumulated, and what comes next: (a, b)")
    unit = global_idx.x
    part = unit // inner % parts
    first = part * each
    end, begin = least(n, first + each), unit // inner // parts * n * inner + unit % inner
    head = begin + first * inner
    total = converted(at(src, head), like, "an element is") if init is None else init
    if part > 0:
        total = at(totals, unit - inner)
    elif init is None:
        put(dst, head, total)
        first += 1
    for i in range(first, end):
        place = begin + i * inner
        value = converted(at(src, place), like, "an element is")
        if exclusive:
            put(dst, place, total)
        total = converted(func(total, value), like, RESULT)
        if not exclusive:
            put(dst, place, total)


def _parts(place: RunsOn, n: int) -> tuple[int, int]:
    """In how many stretches an axis is done, and of how many elements."""
    each = _CPU_STRETCH if place.threads_are_loops else _STRETCH
    return max(1, -(-n // each)), each


def reduce_axis(place: RunsOn, func: Any, src: Any, axis: Axis, kind: Any, init: Any, into: Any) -> None:
    """Launch what makes an element of ``into`` of each row of ``src`` along an axis."""
    (outer, n, inner), last = axis, False
    like: Any = place.make(kind, 1)
    while not last:
        parts, each = _parts(place, n)
        last, units = parts == 1, outer * parts * inner
        totals = into if last else place.make(kind, units)
        if units:
            spread: dict[str, Any] = {"func": func, "src": src, "totals": flat(totals), "like": like}
            spread |= {"n": n, "inner": inner, "parts": parts, "each": each, "init": init if last else None}
            ways = 4 if place.threads_are_loops and inner == 1 else 1
            place.launch_over(reduce_stretches, units, ways=ways, **spread)
        src, n = totals, parts


def scan_axis(
    place: RunsOn, func: Any, src: Any, dst: Any, axis: Axis, kind: Any, init: Any, exclusive: bool
) -> None:
    """Launch what makes running results of each row of ``src`` along an axis."""
    outer, n, inner = axis
    parts, each = _parts(place, n)
    units, like = outer * parts * inner, place.make(kind, 1)
    totals: Any = place.make(kind, units) if parts > 1 else like
    if not outer * n * inner:
        return
    spread: dict[str, Any] = {"func": func, "src": src, "n": n, "inner": inner, "parts": parts, "each": each}
    spread |= {"like": like, "totals": totals}
    if parts > 1:
        place.launch_over(reduce_stretches, units, init=None, ways=1, **spread)
        scan_axis(place, func, totals, totals, Axis(outer, parts, inner), kind, init, False)
    named: dict[str, Any] = {"dst": dst, "init": init, "exclusive": exclusive}
    place.launch_over(scan_stretches, units, **spread, **named)


def result_like(src: Any, kind: Any, shape: tuple[int, ...], place: RunsOn) -> Any:
    """An array of NumPy's for one of those, a ``Tensor`` for one, and a tensor over a buffer for one."""
    dtype = as_dtype(kind)
    if type(src).__module__ == "numpy" and dtype.in_numpy and dtype.is_number:
        import numpy as np

        place.waits = True
        return place.result(lambda context: np.empty(shape, dtype.numpy))
    if hasattr(src, "to_layout_tensor") and dtype.is_number:

        def tensor(context: Any) -> Any:
            made = cast("Any", type(src))(dtype, shape, context)
            made.storage.lend(context)  # so that who reads it waits, whoever launches
            return made

        return place.result(tensor)
    if type(src).__module__.partition(".")[0] == "weft":
        size, layout = max(1, prod(shape)), Layout.row_major(shape)
        return place.result(lambda context: context.enqueue_create_buffer(kind, size).tensor(layout))
    found = f"of {a_(type(src).__name__)} there are no results of {dtype}"
    raise LaunchError.here("argument-type", found, "give out=, an array for the results")
