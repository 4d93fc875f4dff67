"""The kernels of ``weft.algorithm``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from weft.algorithm.elements import WIDE, at, check_parameters, converted, put, unravelled, wide_lanes
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.lang import SIMD, Comptime, Int, Pointer, func, kernel, unroll
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

A = TypeVar("A")
RANK = 3
"""Extents that a launch has."""
RESULT = "the function's result is"


def index_of(extents: Any) -> Any:
    """The indices of a thread of a range over such extents."""
    rank = len(extents)
    index: Any = (global_idx.z, global_idx.y, global_idx.x)[-rank:] if rank else ()
    if rank > RANK:  # the first of three counts all but the last two
        index = (*unravelled(index[0], extents[:-2]), *index[1:])
    return index


@kernel
def elementwise(func: Callable[..., object], extents: Any, *, simd_width: Comptime[Any]):
    """A function for each index of a range whose last extent counts stretches of ``simd_width``."""
    width = "" if simd_width is None else "width"
    check_parameters(func, len(extents), "elementwise", "an index for each extent of shape", named=width)
    index = index_of(extents)
    if simd_width is None:
        func(*index)
    else:
        _stretch(func, index[:-1], simd_width * index[-1], simd_width, extents[-1])


@func
def _stretch(func: Callable[..., object], lead: Any, first: Int, width: Any, end: Int):
    if first + width <= end:
        func(*lead, first, width=width)
    else:
        for i in range(first, end):
            func(*lead, i, width=1)


@kernel
def parallelize(func: Callable[[Int], None], count: Int, workers: Int, *, blocks: Comptime[bool]):
    """A worker's share of the items; a worker is a block, or a thread of a range."""
    check_parameters(func, 1, "parallelize", "the number of the item")
    for i in range(block_idx.x if blocks else global_idx.x, count, workers):
        func(Int(i))


@kernel
def reduce(
    func: Callable[..., Any],
    src: Any,
    totals: Pointer[A],
    n: Int,
    init: Any,
    *,
    threads: Comptime[int],
    each: Comptime[int],
    rounds: Comptime[int],
    wide: Comptime[bool],
):
    """A block's tile of ``rounds * threads * each`` elements as one, in order; behind ``init``, if any.

    In each round a thread joins elements that lie side by side. Those of the rounds are joined in their
    order, then neighbours in a tree (Hillis, Steele: "Data Parallel Algorithms", CACM 1986). So ``func`` need
    be no more than associative, and the same elements always have the same result. With one thread it is a
    loop.
    """
    check_parameters(func, 2, "reduce", "what was accumulated, and what comes next: (a, b)")
    start, tile = block_idx.x * threads * rounds * each, threads * rounds * each
    parts = stack_allocation(totals.element_type, threads * rounds, address_space=AddressSpace.SHARED)
    for r in range(rounds):
        part = r * threads + thread_idx.x
        first = start + part * each
        if threads > 1 and first + each <= n:
            parts[part] = whole(func, src, totals, first, each=each, wide=wide)
        elif first < n:
            end = least(n, first + each)
            parts[part] = joined(func, src, totals, first, end, ways=4 if threads == 1 else 1)
    if threads > 1:
        count = (least(n - start, tile) + each - 1) // each
        if rounds > 1:
            count = _by_rounds(func, parts, totals, count, threads=threads, rounds=rounds)
        step = Int(1)
        while step < threads:
            barrier()
            left = 2 * step * thread_idx.x
            if left + step < count:
                parts[left] = converted(func(parts[left], parts[left + step]), totals, RESULT)
            step *= 2
    if thread_idx.x == 0:
        total = parts[0]
        totals[block_idx.x] = total if init is None else converted(func(init, total), totals, RESULT)


@func
def _by_rounds(
    func: Callable[..., Any],
    parts: Pointer[A],
    like: Pointer[A],
    count: Int,
    *,
    threads: Comptime[int],
    rounds: Comptime[int],
) -> Int:
    """Join ``rounds`` neighbours of ``count`` parts, each thread some; there are so many afterwards."""
    barrier()
    first = thread_idx.x * rounds
    total = parts[least(first, count - 1)]
    for i in range(first + 1, least(first + rounds, count)):
        total = converted(func(total, parts[i]), like, RESULT)
    barrier()
    parts[thread_idx.x] = total
    return (count + rounds - 1) // rounds


def _share(n: Any, threads: int, each: int) -> tuple[Any, Any]:
    """The elements of a thread, from the first to behind the last."""
    first = (block_idx.x * threads + thread_idx.x) * each
    return first, least(n, first + each)


def _busy(n: Any, threads: int, each: int) -> Any:
    """How many threads of the block have elements."""
    return (least(n - block_idx.x * threads * each, threads * each) + each - 1) // each


@func
def side_by_side(src: Any, first: Int, *, count: Comptime[int], wide: Comptime[bool]) -> Any:
    """A tuple of ``count`` elements from ``first`` on, a multiple of that; ``wide``: of aligned memory."""
    lanes = wide_lanes(src, count) if wide else 1
    if lanes == 1:
        return tuple([at(src, first + k) for k in unroll(range(count))])
    starts = unroll(range(0, count, lanes))
    vectors = [src.load(first + k, width=lanes, alignment=WIDE) for k in starts]
    return tuple([vector[i] for vector in vectors for i in unroll(range(lanes))])


@func
def whole(
    func: Callable[..., Any],
    src: Any,
    like: Pointer[A],
    first: Int,
    *,
    each: Comptime[int],
    wide: Comptime[bool],
) -> Any:
    """``each`` elements from ``first`` on, joined."""
    values = side_by_side(src, first, count=each, wide=wide)
    total = converted(values[0], like, "an element is")
    for value in values[1:]:
        total = converted(func(total, converted(value, like, "an element is")), like, RESULT)
    return total


@func
def joined(
    func: Callable[..., Any], src: Any, like: Pointer[A], first: Int, end: Int, *, ways: Comptime[int]
) -> Any:
    """The elements from ``first`` to ``end``, of which there is one at least, joined from the left.

    Where there are many it is done in several stretches at once, as one result would wait for the other.
    """

    def element(i: Int) -> Any:
        return converted(at(src, i), like, "an element is")

    def join(a: Any, b: Any) -> Any:
        return converted(func(a, b), like, RESULT)

    length, begin, total = (end - first) // ways, first + 1, element(first)
    if ways > 1 and length > 1:
        parts = tuple([element(first + k * length) for k in unroll(range(ways))])
        for i in range(first + 1, first + length):
            parts = tuple([join(parts[k], element(i + k * length)) for k in unroll(range(ways))])
        total, begin = parts[0], first + ways * length
        for k in unroll(range(1, ways)):
            total = join(total, parts[k])
    for i in range(begin, end):
        total = join(total, element(Int(i)))
    return total


@kernel
def scan(
    func: Callable[..., Any],
    src: Any,
    dst: Any,
    totals: Pointer[A],
    n: Int,
    init: Any,
    *,
    exclusive: Comptime[bool],
    threads: Comptime[int],
    each: Comptime[int],
    wide: Comptime[bool],
):
    """A block's tile of running results; ``totals`` has those of the blocks before.

    The last of the three steps of reduce-then-scan (Sengupta, Harris, Zhang, Owens: "Scan Primitives for GPU
    Computing", 2007): tiles are reduced, the results scanned, and each tile scanned behind its own. Within a
    block what the threads have is scanned in log(threads) steps, as by Hillis and Steele.
    """
    check_parameters(func, 2, "scan", "what was accumulated, and what comes next: (a, b)")
    first, end = _share(n, threads, each)
    shared = stack_allocation(totals.element_type, threads, address_space=AddressSpace.SHARED)
    if threads > 1:
        count = _busy(n, threads, each)
        if first < end:
            shared[thread_idx.x] = joined(func, src, totals, first, end, ways=4 if threads == 1 else 1)
        step = Int(1)
        while step < threads:
            barrier()
            mine = shared[least(thread_idx.x, count - 1)]
            if step <= thread_idx.x < count:
                mine = converted(func(shared[thread_idx.x - step], mine), totals, RESULT)
            barrier()
            shared[thread_idx.x] = mine
            step *= 2
        barrier()
    if first < end:
        begin = first
        total = converted(at(src, first), totals, "an element is") if init is None else init
        if block_idx.x > 0:
            total = totals[block_idx.x - 1]
            if thread_idx.x > 0:
                total = converted(func(total, shared[thread_idx.x - 1]), totals, RESULT)
        elif thread_idx.x > 0:
            total = shared[thread_idx.x - 1]
            if init is not None:
                total = converted(func(init, total), totals, RESULT)
        elif init is None:
            put(dst, first, total)
            begin = first + 1
        if threads > 1 and begin + each <= n and begin == first:
            run_whole(func, src, dst, totals, total, first, each=each, exclusive=exclusive, wide=wide)
        else:
            for i in range(begin, end):
                value = converted(at(src, i), totals, "an element is")
                if exclusive:
                    put(dst, i, total)
                total = converted(func(total, value), totals, RESULT)
                if not exclusive:
                    put(dst, i, total)


@func
def run_whole(
    func: Callable[..., Any],
    src: Any,
    dst: Any,
    like: Pointer[A],
    total: Any,
    first: Int,
    *,
    each: Comptime[int],
    exclusive: Comptime[bool],
    wide: Comptime[bool],
):
    """Running results of ``each`` elements from ``first`` on, behind ``total``."""
    results = ()
    for value in side_by_side(src, first, count=each, wide=wide):
        after = converted(func(total, converted(value, like, "an element is")), like, RESULT)
        results = (*results, total if exclusive else after)
        total = after
    lanes = wide_lanes(dst, each) if wide else 1
    for k in unroll(range(0, each, lanes)):
        if lanes > 1:
            vector: Any = SIMD[like.element_type, lanes]
            dst.store(first + k, vector(*results[k : k + lanes]), alignment=WIDE)
        else:
            put(dst, first + k, results[k])


@kernel
def store(dst: Pointer[A], value: Any):
    """One element."""
    dst[0] = converted(value, dst, "the value is")


@kernel
def divide(x: Any, count: Int):
    """Sums as means."""
    total: Any = at(x, global_idx.x)
    put(x, global_idx.x, total / total.dtype(count))


@kernel
def variances(moments: Pointer[Any], dst: Any, count: Int):
    """Squared deviations as variances."""
    squares: Any = moments[global_idx.x].squares
    put(dst, global_idx.x, squares / squares.dtype(count))


@func
def first(src: Pointer[A]) -> A:
    """The first element."""
    return src[0]
