"""Sorting by a comparison of the program's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from weft.algorithm.elements import Memory, at, check_parameters, flat, function_of, kind_of, put, size_of
from weft.algorithm.places import RunsOn
from weft.calls.planned import planned
from weft.diagnostics import LaunchError, a_, refuse
from weft.dtype import DType
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.lang import Comptime, Int, Pointer, func, kernel
from weft.lang.generic import describe_annotation
from weft.lang.number import Number
from weft.lang.spec import spec_of
from weft.lang.type_variables import type_of
from weft.layout import LayoutTensor
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

if TYPE_CHECKING:
    import numpy as np

    from weft.gpu.host import DeviceBuffer, DeviceContext, DeviceStream
    from weft.lang import UInt8
    from weft.runtime.buffers import Buffer

__all__ = ["sort"]

A = TypeVar("A")
N = TypeVar("N", bound="np.number[Any] | np.bool")
_NO_ORDER = vars(object)["__lt__"]


@overload
def sort(
    src: Buffer[A],
    less: Callable[[A, A], Any] | None = None,
    *,
    key: Callable[[A], Any] | None = None,
    context: DeviceContext | None = None,
    stream: DeviceStream | None = None,
    scratch: DeviceBuffer[UInt8] | None = None,
) -> None: ...
@overload
def sort(
    src: np.ndarray[Any, np.dtype[N]],
    less: Callable[[N, N], Any] | None = None,
    *,
    key: Callable[[N], Any] | None = None,
    context: DeviceContext | None = None,
    stream: DeviceStream | None = None,
    scratch: DeviceBuffer[UInt8] | None = None,
) -> None: ...
@overload
def sort(
    src: Any,
    less: Callable[[Any, Any], Any] | None = None,
    *,
    key: Callable[[Any], Any] | None = None,
    context: DeviceContext | None = None,
    stream: DeviceStream | None = None,
    scratch: DeviceBuffer[UInt8] | None = None,
) -> None: ...
@planned
def sort(
    src: Any,
    less: Callable[[Any, Any], Any] | None = None,
    *,
    key: Callable[[Any], Any] | None = None,
    context: DeviceContext | None = None,
    stream: DeviceStream | None = None,
    scratch: DeviceBuffer[UInt8] | None = None,
) -> None:
    """Sort elements in place; what is equal keeps its order, as for Python's ``list.sort``.

    They are merged; from 131,072 on a GPU sorts numbers by their digits, without ``less`` and ``key``.

    Args:
        src: a buffer, or a tensor or array of one dimension, of numbers or structs.
        less: whether its first argument has to stand before its second. Without it, whether that is less, by
            ``<``; nan comes last then, as for NumPy. What it captures becomes arguments of the launches.
        key: what is compared in place of an element.
        context: where it runs; without it, where ``src`` lies.
        stream: another stream of the context than its own.
        scratch: memory to sort with, instead of new one, so that the call may be part of a capture: as large
            as ``src``, and 4 KiB. Then elements are merged.

    Raises:
        LaunchError: an argument is wrong.
        CompileError: ``less`` or ``key`` cannot be compiled, or there is no ``<``.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import sort
        >>> x = np.array([3, -1, 2, -3])
        >>> sort(x, key=lambda v: v * v)
        >>> x
        array([-1,  2,  3, -3])
        >>> order = np.arange(4)
        >>> sort(order, lambda i, j: x[i] > x[j])
        >>> x[order]
        array([ 3,  2, -1, -3])
    """
    if len(getattr(src, "shape", (0,))) != 1:
        message = f"sort takes elements of one dimension, and src has {len(src.shape)}"
        raise LaunchError.here("argument-type", message, "sort a flat view of it", at=("src", 0))
    n, kind = size_of(src), kind_of(src, writes=True)
    less = None if less is None else function_of(less, "less", 1)
    key = None if key is None else function_of(key, "key", 2)
    with RunsOn(src, less, key, context=context, stream=stream, scratch=scratch) as place:
        if (
            less is None
            and key is None
            and scratch is None
            and place.has_digits(kind, n)
            and _sort_by_digits(place, src, kind, n)
        ):
            return
        threads, each, run, piece = place.sorting_tile(kind)
        tile, here = threads * each, flat(src)
        widths = [tile << k for k in range(((n - 1) // tile).bit_length())] if n else []
        spare: Any = place.make(kind, n) if widths else here
        into, other = (spare, here) if len(widths) % 2 else (here, spare)
        if n > 1:
            like = place.make(kind, 1)
            tiles = {"src": here, "dst": into, "like": like, "n": n, "less": less, "key": key}
            place.launch(sort_tiles, -(-n // tile), threads, **tiles, threads=threads, each=each, run=run)
        for width in widths:
            blocks = -(-n // (threads * piece))
            runs = {"src": into, "dst": other, "n": n, "width": width, "less": less, "key": key}
            place.launch(merge_runs, blocks, threads, **runs, piece=piece)
            into, other = other, into


def _sort_by_digits(place: RunsOn, src: Any, kind: Any, n: int) -> bool:
    """Sort numbers of an even count of digits; whether they lie side by side, as has to be."""
    from weft.algorithm.onesweep import sort_rows

    here = flat(src)
    if isinstance(here, LayoutTensor):
        return False
    keys: Any = here.start if isinstance(here, Memory) else here
    spare: Any = place.make(kind, n)

    def scratch(size: int, dtype: DType) -> Any:
        return place.make(dtype, size)

    whole, moved = (1, n), (keys, keys, spare)
    sort_rows(place.launch, scratch, place.threads_are_loops, whole, moved, dtype=kind.dtype)
    return True


def precedes(order: Any, a: Any, b: Any) -> Any:
    """Whether ``a`` has to stand before ``b``."""
    less, key = order
    if key is not None:
        check_parameters(key, 1, "sort", "an element, as its key")
        a, b = key(a), key(b)
    if less is not None:
        check_parameters(less, 2, "sort", "two elements, as less: (a, b)")
        result = less(a, b)
        if not isinstance(result, bool) and not (isinstance(result, Number) and result.dtype is DType.bool):
            found = describe_annotation(type_of(spec_of(result)))
            hint = "return a condition: a < b"
            refuse(
                "argument-type", f"less gives {a_(found)}, and not whether `a` stands before `b`", hint=hint
            )
        return result
    kind = cast("type[Any]", type(a))
    if not isinstance(a, Number) and kind.__lt__ is _NO_ORDER:
        message = f"the elements are of {kind.__name__}, which has no `<`"
        refuse("argument-type", message, hint="give less= or key=, or define __lt__")
    if isinstance(a, Number) and a.dtype.is_float:
        return (a < b) | ((a == a) & (b != b))
    return a < b


@kernel
def sort_tiles(
    src: Any,
    dst: Any,
    like: Pointer[A],
    n: Int,
    less: Any,
    key: Any,
    *,
    threads: Comptime[int],
    each: Comptime[int],
    run: Comptime[int],
):
    """Sort tiles of ``threads * each`` elements, a block each: runs by insertion, which are then merged."""
    tile, order = threads * each, (less, key)
    start = block_idx.x * tile
    count, first = least(n - start, tile), thread_idx.x * each
    here = stack_allocation(like.element_type, tile, address_space=AddressSpace.SHARED)
    there = stack_allocation(like.element_type, tile, address_space=AddressSpace.SHARED)
    for i in range(thread_idx.x, count, threads):
        here[i] = at(src, start + i)
    barrier()
    for begin in range(first, least(first + each, count), run):
        insert(here, begin, least(begin + run, count), order)
    width = Int(run)
    while width < tile:
        barrier()
        span = least(2 * width, each)
        for begin in range(first, least(first + each, count), span):
            merge(here, there, width, begin, least(begin + span, count), count, order)
        here, there = there, here
        width *= 2
    barrier()
    for i in range(thread_idx.x, count, threads):
        put(dst, start + i, here[i])


@func
def insert(x: Any, first: Int, end: Int, order: Any) -> None:
    """Sort a short stretch by insertion."""
    for i in range(first + 1, end):
        value = x[i]
        j = Int(i)
        while j > first and precedes(order, value, x[j - 1]):
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


@kernel
def merge_runs(src: Any, dst: Any, n: Int, width: Int, less: Any, key: Any, *, piece: Comptime[int]):
    """Merge neighbouring runs of ``width`` sorted elements; each thread writes ``piece`` of them."""
    first = global_idx.x * piece
    span = least(2 * width, piece)
    for begin in range(first, least(first + piece, n), span):
        merge(src, dst, width, begin, least(begin + span, n), n, (less, key))


@func
def merge(src: Any, dst: Any, width: Int, first: Int, end: Int, n: Int, order: Any) -> None:
    """Elements ``first`` to ``end`` of what two runs of ``width`` become.

    How many of those before come from the left run, is found by bisection along a diagonal of the two (Green,
    McColl, Bader: "GPU Merge Path", ICS 2012).
    """
    left = first // (2 * width) * (2 * width)
    right, stop = least(left + width, n), least(left + 2 * width, n)
    before = first - left
    low, high = before - least(before, stop - right), least(before, right - left)
    while low < high:
        middle = (low + high) // 2
        if precedes(order, at(src, right + before - 1 - middle), at(src, left + middle)):
            high = middle
        else:
            low = middle + 1
    i, j = left + low, right + before - low
    for k in range(first, end):
        if i < right and (j >= stop or not precedes(order, at(src, j), at(src, i))):
            put(dst, k, at(src, i))
            i += 1
        else:
            put(dst, k, at(src, j))
            j += 1
