"""Loops by a function of the index, after Mojo's ``algorithm.functional``."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, cast, overload

from weft.algorithm import kernels
from weft.algorithm.elements import check_parameters, function_of
from weft.algorithm.places import RunsOn, as_count, as_shape
from weft.calls.planned import planned
from weft.diagnostics import refuse
from weft.lang import Comptime, Int, func

if TYPE_CHECKING:
    from weft.gpu.host import DeviceContext

__all__ = ["elementwise", "map", "parallelize", "tile", "vectorize"]


@overload
def elementwise(func: Callable[[Int], object], shape: int, context: DeviceContext | None = None) -> None: ...
@overload
def elementwise(
    func: Callable[[Int, Int], object], shape: tuple[int, int], context: DeviceContext | None = None
) -> None: ...
@overload
def elementwise(
    func: Callable[[Int, Int, Int], object], shape: tuple[int, int, int], context: DeviceContext | None = None
) -> None: ...
@overload
def elementwise(
    func: Callable[..., object],
    shape: int | tuple[int, ...],
    context: DeviceContext | None = None,
    *,
    simd_width: int,
) -> None: ...
@overload
def elementwise(
    func: Callable[..., object], shape: tuple[int, ...], context: DeviceContext | None = None
) -> None: ...
@planned
def elementwise(
    func: Callable[..., object],
    shape: int | tuple[int, ...],
    context: DeviceContext | None = None,
    *,
    simd_width: int | None = None,
) -> None:
    """Call ``func(i)``, ``func(i, j)``, ... for every index of a shape, each in a thread of its own.

    Args:
        func: what is done for one index; it has as many parameters as ``shape`` has extents. What it
            captures becomes arguments: see ``weft.algorithm``.
        shape: the extents. Let the last be the direction in which memory is contiguous.
        context: where it runs, after what that holds already. Without it, the context of the first buffer or
            tensor that ``func`` captures; on the CPU, and waited for, where there is none.
        simd_width: how many elements along the last extent a call does. ``func`` is then called with
            ``width=simd_width`` too, which is known at compile time, and with ``width=1`` for each of
            those that are left at the end.

    Raises:
        LaunchError: an argument is wrong, or ``func`` captures what no kernel can be given.
        CompileError: ``func`` cannot be compiled.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, Int
        >>> from weft.algorithm import elementwise
        >>> x = np.arange(6, dtype=np.float32)
        >>> y = np.zeros((2, 3), np.float32)
        >>> def body(i: Int, j: Int) -> None:
        ...     y[i, j] = x[3 * i + j] ** 2 if j > 0 else -1.0
        >>> elementwise(body, (2, 3))
        >>> y
        array([[-1.,  1.,  4.],
               [-1., 16., 25.]], dtype=float32)
    """
    extents = as_shape(shape, "shape", 1)
    width = 1 if simd_width is None else as_count(simd_width, "simd_width", 3, 1)
    func = function_of(func)
    with RunsOn(func, context=context) as place:
        place.launch_over(
            kernels.elementwise,
            over_of(extents, width),
            func=func,
            extents=extents,
            simd_width=simd_width,
        )


def over_of(extents: tuple[int, ...], width: int = 1) -> tuple[int, ...]:
    """The range of a launch over extents, of whose last ``width`` are one: three at most."""
    lead, last = extents[:-1], extents[-1] if extents else 1
    over = prod(lead[: len(lead) - 1]), *lead[-1:], -(-last // width)
    return over[-max(1, min(len(extents), kernels.RANK)) :]


@planned
def parallelize(
    func: Callable[[Int], None],
    num_work_items: int,
    num_workers: int | None = None,
    context: DeviceContext | None = None,
) -> None:
    """Call ``func(i)`` for ``i`` from 0 to ``num_work_items - 1``, in parallel.

    It is for few items that are much work each: on a CPU each is a task of its own, where ``elementwise``
    gives many to a thread.

    Args:
        func: what is done for one item. What it captures becomes arguments.
        num_work_items: how many there are.
        num_workers: how many workers share them, each of which takes every so many; by default each item
            has one.
        context: where it runs; see ``elementwise``.

    Example:
        >>> import numpy as np
        >>> from weft import Int
        >>> from weft.algorithm import parallelize
        >>> rows, total = np.arange(12).reshape(3, 4), np.zeros(3, np.int64)
        >>> def sum_row(i: Int) -> None:
        ...     for k in range(4):
        ...         total[i] += rows[i, k]
        >>> parallelize(sum_row, 3)
        >>> total
        array([ 6, 22, 38])
    """
    count = as_count(num_work_items, "num_work_items", 1)
    workers = count if num_workers is None else min(count, as_count(num_workers, "num_workers", 2, 1))
    func = function_of(func)
    with RunsOn(func, context=context) as place:
        blocks = place.threads_are_loops
        named: dict[str, Any] = {"func": func, "count": count, "workers": workers, "blocks": blocks}
        if workers and blocks:
            place.launch(kernels.parallelize, workers, 1, **named)
        elif workers:
            place.launch_over(kernels.parallelize, workers, **named)


@func
def map(func: Callable[[Int], Any], size: Int) -> None:
    """Call ``func(i)`` for ``i`` from 0 to ``size - 1``, one after the other.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, Int
        >>> from weft.algorithm import map
        >>> x = np.ones(5, np.float32)
        >>> def add_to_next(i: Int) -> None:
        ...     x[i + 1] += x[i]
        >>> map(add_to_next, 4)
        >>> x
        array([1., 2., 3., 4., 5.], dtype=float32)
    """
    check_parameters(func, 1, "map", "an index")
    for i in range(size):
        func(Int(i))


@func
def vectorize(func: Callable[..., Any], size: Int, *, simd_width: Comptime[int]) -> None:
    """Call ``func(i, width=simd_width)`` for ``simd_width`` elements at a time, then for each left.

    Args:
        func: what is done for ``width`` elements from ``i`` on; ``width`` is known at compile time, and 1
            for those at the end that are less than ``simd_width``.
        size: the number of elements; of fewer than none, nothing is done.
        simd_width: how many are done at once, a power of two.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, Int, Pointer, func
        >>> from weft.algorithm import vectorize
        >>> @func
        ... def scale(x: Pointer[Float32], n: Int, by: Float32) -> None:
        ...     def body(i: Int, width: int) -> None:
        ...         x.store(i, by * x.load(i, width=width))
        ...     vectorize(body, n, simd_width=4)
        >>> x = np.arange(6, dtype=np.float32)
        >>> scale(x, 6, 2.0)
        >>> x
        array([ 0.,  2.,  4.,  6.,  8., 10.], dtype=float32)
    """
    whole = max(size, 0) // simd_width * simd_width
    for i in range(0, whole, simd_width):
        func(i, width=simd_width)
    for i in range(whole, size):
        func(i, width=1)


@func
def tile(
    func: Callable[..., Any], offset: Int, upperbound: Int, *, tile_sizes: Comptime[tuple[int, ...]]
) -> None:
    """Call ``func(i, width=size)`` from ``offset`` on: for the first size as often as it fits, then the next.

    Args:
        func: what is done for ``width`` elements from ``i`` on; ``width`` is known at compile time.
        offset: the first element.
        upperbound: where the elements end.
        tile_sizes: the sizes, the largest first; what the last leaves over is done one by one.

    Example:
        >>> import numpy as np
        >>> from weft import Int
        >>> from weft.algorithm import tile
        >>> done_by = np.zeros(14, np.int64)
        >>> def body(i: Int, width: int) -> None:
        ...     for k in range(width):
        ...         done_by[i + k] = width
        >>> tile(body, 0, 14, tile_sizes=(8, 4))
        >>> done_by
        array([8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 1, 1])
    """
    _check_sizes(tile_sizes)
    done = offset
    for width in tile_sizes if tile_sizes[-1] == 1 else (*tile_sizes, 1):
        end = done + (upperbound - done) // width * width
        for i in range(done, end, width):
            func(i, width=width)
        done = max(done, end)


def _check_sizes(sizes: Any) -> None:
    given = cast("tuple[Any, ...]", sizes if isinstance(sizes, tuple) else ())
    if not given or not all(type(size) is int and size > 0 for size in given):
        message = f"tile_sizes={sizes!r} are no sizes"
        refuse("argument-type", message, hint="write them in a tuple, the largest first: (16, 4)")
