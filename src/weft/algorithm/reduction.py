"""Reductions and scans by a function that joins two, after Mojo's ``algorithm.reduction``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, cast

from weft.algorithm import kernels
from weft.algorithm.axes import Axis, axis_of, reduce_axis, result_like, scan_axis
from weft.algorithm.elements import at, flat, function_of, is_aligned, kind_of, readable, size_of
from weft.algorithm.moments import Moments, join
from weft.algorithm.places import RunsOn, Where, are_same, as_count, overlap
from weft.calls.planned import planned, planned_but
from weft.diagnostics import LaunchError
from weft.diagnostics.flags import as_flag
from weft.dtype import DType, as_dtype
from weft.lang import Int
from weft.lang.above import above
from weft.lang.accept import Mismatch, accept_as, literal_type
from weft.lang.generic import written
from weft.lang.host_closures import steady
from weft.lang.number import Number, number_class
from weft.lang.structs import is_struct
from weft.math import max as greater
from weft.math import min as lesser

if TYPE_CHECKING:
    from weft.gpu.host import DeviceBuffer, DeviceContext, DeviceStream
    from weft.lang import UInt8

__all__ = ["cumsum", "map_reduce", "max", "mean", "min", "product", "reduce", "scan", "sum", "variance"]


def reduce(
    func: Callable[[Any, Any], Any],
    src: Any,
    init: Any = None,
    *,
    axis: int | None = None,
    out: Any = None,
    context: DeviceContext | None = None,
    stream: DeviceStream | None = None,
    scratch: DeviceBuffer[UInt8] | None = None,
) -> Any:
    """All elements joined to one, as ``functools.reduce`` joins them: ``func(func(init, x[0]), x[1])``, ...

    They are joined in order but in any groups, always the same on one device: ``func`` has to be associative,
    and need not be commutative. Sums of floats are rounded otherwise than from left to right, mostly less.

    Args:
        func: of what was accumulated and what comes next, both of the type that accumulates. What it captures
            becomes arguments of the launch.
        src: a buffer, tensor or array of numbers or structs, of a tensor in row-major order.
        init: what stands before the first element. A number of weft's or NumPy's, or a struct, is of the type
            that accumulates; otherwise that is the elements', or ``out``'s.
        axis: the axis along which elements are joined, as for NumPy; all are without it.
        out: a buffer or array whose first element becomes the result, or with ``axis`` memory of the results'
            shape; then nothing is waited for.
        context: where it runs; without it, where ``src`` lies.
        stream: another stream of the context than its own.
        scratch: memory for what is found on the way, instead of new one, so that the call with ``out`` may
            be part of a capture. It is enough for an eighth of the elements as the type that accumulates,
            and 4 KiB.

    Returns:
        The result as a number of Python or a struct, once it is there; with ``axis`` an array or tensor as
        ``src`` is, without that axis; None where ``out`` takes it.

    Raises:
        LaunchError: an argument is wrong, or there is no element and no ``init``.
        CompileError: ``func`` cannot be compiled, or its result is of another type.

    Example:
        >>> import numpy as np
        >>> from weft import Int64
        >>> from weft.algorithm import reduce
        >>> x = np.array([3, 1, 4, 1, 5], np.int32)
        >>> reduce(lambda a, b: a if a > b else b, x)
        5
        >>> reduce(lambda a, b: 10 * a + b if b > 1 else a, x[:1], Int64(2))
        23
        >>> reduce(lambda a, b: a * b, np.array([[1, 2, 3], [4, 5, 6]]), axis=0)
        array([ 4, 10, 18])
    """
    where = Where(context=context, stream=stream, scratch=scratch)
    found = _reduced(func, src, init, axis=axis, out=out, **where)
    return found if found is None or axis is not None else _element(found)


@planned_but("out")
def _reduced(func: Any, src: Any, init: Any, *, axis: Any, out: Any, **where: Any) -> Any:
    src = readable(src)
    kind = _accumulates(src, init, out)
    if axis is not None:
        return _reduce_axis("reduce", func, src, axis, init, kind, out, where)
    return _reduce("reduce", func, src, size_of(src), init, kind, out, where)


def map_reduce(
    generator: Callable[[Int], Any],
    func: Callable[[Any, Any], Any],
    size: int,
    init: Any,
    *,
    out: Any = None,
    context: DeviceContext | None = None,
) -> Any:
    """What ``generator`` gives for 0, 1, ..., ``size - 1``, joined to one by ``func`` as in ``reduce``.

    ``init`` says the type that accumulates: Python's ints and floats are Int and Float64.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import map_reduce
        >>> x, y = np.arange(4.0), np.ones(4)
        >>> map_reduce(lambda i: x[i] * y[i], lambda a, b: a + b, 4, 0.0)
        6.0
    """
    found = _map_reduced(generator, func, as_count(size, "size", 2), init, out, context)
    return None if found is None else _element(found)


@planned
def _map_reduced(generator: Any, func: Any, size: int, init: Any, out: Any, context: Any) -> Any:
    if init is None and out is None:
        hint = "give what stands before the first: 0 or 0.0 for sums, Float32(0) of that type"
        raise LaunchError.here(
            "argument-type", "map_reduce: init is None, and says the type", hint, at=("init", 3)
        )
    kind, generator = _accumulates(None, init, out), function_of(generator, "generator")
    return _reduce("map_reduce", func, generator, size, init, kind, out, {"context": context})


@planned_but("dst", "scratch")
def scan(
    func: Callable[[Any, Any], Any],
    src: Any,
    dst: Any,
    init: Any = None,
    *,
    axis: int | None = None,
    exclusive: bool = False,
    context: DeviceContext | None = None,
    stream: DeviceStream | None = None,
    scratch: DeviceBuffer[UInt8] | None = None,
) -> None:
    """Running results: ``dst[i]`` is the elements up to ``src[i]`` joined, as by ``itertools.accumulate``.

    Args:
        func: an associative function of what was accumulated and what comes next.
        src: the elements, as for ``reduce``; or a function of the index that gives them.
        dst: as many elements, which may be the same memory. Their type is the one that accumulates.
        init: what stands before the first element.
        axis: the axis along which each row has its own, as for NumPy; all elements are one without it.
        exclusive: whether ``dst[i]`` is that up to, and without, ``src[i]``; ``dst[0]`` is ``init`` then.
        context: where it runs; without it, where the memory lies.
        stream: another stream of the context than its own.
        scratch: as for ``reduce``.

    Raises:
        LaunchError: an argument is wrong, or ``exclusive`` without ``init``.
        CompileError: ``func`` cannot be compiled, or its result is of another type.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import scan
        >>> x = np.array([3, 1, 4, 1, 5])
        >>> scan(lambda a, b: a + b, x, x)
        >>> x
        array([ 3,  4,  8,  9, 14])
        >>> y = np.array([[1, 2, 3], [4, 5, 6]])
        >>> scan(lambda a, b: a + b, y, y, axis=0)
        >>> y
        array([[1, 2, 3],
               [5, 7, 9]])
    """
    kind, exclusive = kind_of(dst, "dst", 2, writes=True), as_flag("scan", "exclusive", exclusive)
    n = size_of(dst)
    if not callable(src):
        kind_of(src, "src", 1)
    if not callable(src) and size_of(src) != n:
        message = f"dst has {n} elements, and src {size_of(src)}"
        raise LaunchError.here("argument-type", message, "give as many", at=("dst", 2))
    if exclusive and init is None:
        message = "an exclusive scan begins with init, which is not given"
        raise LaunchError.here("argument-type", message, "give init=, 0 for sums")
    along = None if axis is None else axis_of(dst, axis)[0]
    if along is not None and not callable(src) and tuple(src.shape) != tuple(dst.shape):
        message = f"dst is of shape {tuple(dst.shape)}, and src of {tuple(src.shape)}"
        raise LaunchError.here("argument-type", message, "give one shape to both", at=("dst", 2))
    first, func, src = first_of("init", init, kind), function_of(func), readable(src)
    if n and not callable(src) and overlap(src, dst) and not are_same(src, dst):
        message = "dst has elements of src in other places, which are still to be read"
        raise LaunchError.here(
            "argument-type", message, "write to src itself, or to other memory", at=("dst", 2)
        )
    with RunsOn(src, dst, func, context=context, stream=stream, scratch=scratch) as place:
        if along is not None:
            scan_axis(place, func, flat(src), flat(dst), along, kind, first, exclusive)
            return
        _scan(place, func, flat(src), flat(dst), kind, n, first, exclusive)


def _scan(
    place: RunsOn, func: Any, src: Any, dst: Any, kind: Any, n: int, init: Any, exclusive: bool
) -> None:
    threads, each = place.tile(kind)
    blocks = -(-n // (threads * each))
    totals: Any = place.make(kind, blocks if blocks > 1 else 1)
    tiles = {"func": func, "src": src, "totals": totals, "n": n, "threads": threads, "each": each}
    tiles["wide"] = is_aligned(src) and is_aligned(dst)
    if blocks > 1:
        place.launch(kernels.reduce, blocks, threads, init=None, rounds=1, **tiles)
        _scan(place, func, totals, totals, kind, blocks, init, False)
    if blocks:
        place.launch(kernels.scan, blocks, threads, dst=dst, init=init, exclusive=exclusive, **tiles)


def _reduce(
    name: str, func: Any, src: Any, n: int, init: Any, kind: Any, out: Any, where: Mapping[str, Any]
) -> Any:
    first, func, src = first_of("init", init, kind), function_of(func), steady(src)
    if out is not None and not size_of(out):
        hint = "pass memory for one: its first becomes the result"
        raise LaunchError.here("argument-type", "out has no element", hint, at=("out", 4))
    if not n and first is None:
        message = f"{name} has no element, and no init"
        raise LaunchError.here("argument-type", message, "give init=, which is the result then")
    with RunsOn(src, func, out, **where) as place:
        src = flat(src)
        threads, each = place.tile(kind)
        while True:
            rounds = place.rounds(kind, threads, each, n)
            blocks = -(-n // (threads * each * rounds))
            last = blocks <= 1
            result = place.one(kind) if last and out is None else out
            into: Any = result if last else place.make(kind, blocks)
            if not n:
                place.launch(kernels.store, 1, 1, dst=into, value=first)
                break
            tiles = {"func": func, "src": src, "totals": into, "n": n, "threads": threads, "each": each}
            tiles |= {"rounds": rounds, "wide": is_aligned(src)}
            place.launch(kernels.reduce, blocks, threads, init=first if last else None, **tiles)
            if last:
                break
            src, n = into, blocks
        if out is not None:
            return None
        if place.stream is not None:
            place.wait()
        return into


def _reduce_axis(
    name: str, func: Any, src: Any, axis: Any, init: Any, kind: Any, out: Any, where: Mapping[str, Any]
) -> Any:
    along, shape = axis_of(src, axis)
    first, func = first_of("init", init, kind), function_of(func)
    if not along.n and first is None:
        message = f"{name} has no element along axis {axis}, and no init"
        raise LaunchError.here("argument-type", message, "give init=, which is the result then")
    if out is not None and size_of(out) != prod(shape):
        message = f"out has {size_of(out)} elements, and the result is of shape {shape}"
        raise LaunchError.here("argument-type", message, "give as many", at=("out", 4))
    with RunsOn(src, func, out, **where) as place:
        into = result_like(src, kind, shape, place) if out is None else out
        reduce_axis(place, func, flat(src), along, kind, first, into)
    return into if out is None else None


def _element(buffer: Any) -> Any:
    """The first element of a buffer or an array, as Python has it."""
    if not hasattr(buffer, "map_to_host"):
        return buffer.item()
    with buffer.map_to_host() as host:
        return above().call(kernels.first, (host,), {}) if not buffer.dtype.is_number else _plain(host[0])


def _plain(number: Any) -> Any:
    return number.item() if hasattr(number, "item") else number


def _accumulates(src: Any, init: Any, out: Any) -> Any:
    """The class of what accumulates."""
    if out is not None:
        return kind_of(out, "out", 4, writes=True)
    own = cast("type[Any]", type(init))
    if isinstance(init, Number) or is_struct(own):
        return own
    dtype = literal_type(init)
    if dtype is not None and (src is None or hasattr(init, "dtype")):
        return number_class(dtype)
    return kind_of(src, "src", 1)


def first_of(name: str, init: Any, kind: Any) -> Any:
    """``init`` as what accumulates; None without it.

    Raises:
        LaunchError: it is no such value.
    """
    if init is None:
        return None
    try:
        accept_as(kind, init)
    except Mismatch as wrong:
        message = f"{name} takes {wrong.allowed}, not {wrong.found}"
        raise LaunchError.here(
            "argument-type", message, wrong.hint or "pass a number", at=(name, 2)
        ) from None
    return kind(init) if issubclass(kind, Number) else init


def _wide(src: Any) -> Any:
    """The class in which sums and products of elements accumulate: NumPy's, and Float32 for short floats."""
    dtype = as_dtype(kind_of(src))
    if dtype.is_float:
        return written(dtype) if dtype.bits >= 32 else number_class(DType.float32)
    return number_class(DType.uint64 if dtype.kind == "uint" else DType.int64)


def sum(src: Any, *, axis: int | None = None, context: DeviceContext | None = None) -> Any:
    """The sum of all elements, or of those along an axis.

    Integers and Bools are summed up as Int or UInt, short floats as Float32, others in their own type.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import sum
        >>> sum(np.full(1000, 100, np.int8))
        100000
        >>> sum(np.array([[1, 2], [3, 4]]), axis=1)
        array([3, 7])
    """
    return reduce(_add, src, _wide(src)(0), axis=axis, context=context)


def product(src: Any, *, axis: int | None = None, context: DeviceContext | None = None) -> Any:
    """The product of all elements, or of those along an axis, in the types of ``sum``."""
    return reduce(_multiply, src, _wide(src)(1), axis=axis, context=context)


def mean(src: Any, *, axis: int | None = None, context: DeviceContext | None = None) -> Any:
    """The mean of all elements, or of those along an axis.

    Of integers it is summed up as Float64, of floats as by ``sum``.

    Raises:
        LaunchError: there is no element.
    """
    count = _some("mean", src, axis)
    if axis is None:
        return reduce(_add, src, _floating(src)(0), context=context) / count
    return _means(src, axis, context, count)


@planned_but()
def _means(src: Any, axis: Any, context: Any, count: int) -> Any:
    src, kind = readable(src), _floating(src)
    along, shape = axis_of(src, axis)
    with RunsOn(src, context=context) as place:
        into = result_like(src, kind, shape, place)
        reduce_axis(place, _add, flat(src), along, kind, kind(0), into)
        place.launch_over(kernels.divide, prod(shape), flat(into), count)
    return into


def variance(
    src: Any, *, correction: int = 1, axis: int | None = None, context: DeviceContext | None = None
) -> Any:
    """The variance of all elements, or of those along an axis, in the types of ``mean``.

    Elements far from 0 lose no digits (``weft.algorithm.moments``).

    Args:
        src: as for ``reduce``, of numbers.
        correction: what is taken off the number of elements by which their squared deviations are divided: 1
            for a sample, as Mojo has it, 0 for all there are, as ``numpy.var`` has it by default.
        axis: the axis along which; all elements without it.
        context: where it runs; without it, where ``src`` lies.

    Raises:
        LaunchError: there are no more elements than ``correction``.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import variance
        >>> x = np.array([[1.0, 2.0, 3.0, 6.0], [5.0, 5.0, 5.0, 5.0]])
        >>> variance(x[0]), variance(x, axis=1, correction=0)
        (4.666666666666667, array([3.5, 0. ]))
    """
    count = _some("variance", src, axis) - correction
    if count <= 0:
        message = f"variance: correction is {correction}, and there are {count + correction} elements"
        raise LaunchError.here(
            "argument-type", message, "give it less, or more elements", at=("correction", 1)
        )
    found = _variances(src, axis, context, count)
    return found if axis is not None else _element(found)


@planned_but()
def _variances(src: Any, axis: Any, context: Any, count: int) -> Any:
    src, kind = readable(src), _floating(src)
    along, shape = axis_of(src, axis) if axis is not None else (Axis(1, size_of(src), 1), ())
    none, moments = Moments(kind(0), kind(0), kind(0)), partial(_moments, flat(src), kind(0))
    with RunsOn(src, context=context) as place:
        found = place.make(type(none), prod(shape))
        if axis is None:
            here = {"context": place.context}
            _reduce("variance", join, moments, along.n, none, type(none), found, here)
        else:
            reduce_axis(place, join, moments, along, type(none), None, found)
        into = place.one(kind) if axis is None else result_like(src, kind, shape, place)
        place.launch_over(kernels.variances, prod(shape), found, flat(into), count)
    return into


def max(src: Any, *, axis: int | None = None, context: DeviceContext | None = None) -> Any:
    """The greatest element, or those along an axis.

    A nan counts only where there is nothing else, as for ``weft.math.max``.

    Raises:
        LaunchError: there is no element.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import max, min
        >>> x = np.array([2.0, np.nan, 3.0])
        >>> min(x), max(x)
        (2.0, 3.0)
    """
    _some("max", src, axis)
    return reduce(greater, src, axis=axis, context=context)


def min(src: Any, *, axis: int | None = None, context: DeviceContext | None = None) -> Any:
    """The least element, or those along an axis; see ``max``."""
    _some("min", src, axis)
    return reduce(lesser, src, axis=axis, context=context)


def cumsum(dst: Any, src: Any, *, context: DeviceContext | None = None) -> None:
    """Running sums, in the type of ``dst``: ``dst[i]`` is the sum of the elements up to ``src[i]``.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import cumsum
        >>> sums = np.zeros(4, np.int64)
        >>> cumsum(sums, np.array([100, 100, 100, 100], np.int8))
        >>> sums
        array([100, 200, 300, 400])
    """
    scan(_add, src, dst, context=context)


def _some(name: str, src: Any, axis: int | None) -> int:
    """How many elements there are, or along an axis; none are refused."""
    count = size_of(src) if axis is None else axis_of(src, axis)[0].n
    if not count:
        hint = "ask for it only where there is one: `if len(x) > 0: ...`"
        raise LaunchError.here("argument-type", f"{name} has no element", hint)
    return count


def _floating(src: Any) -> Any:
    """The class in which means are taken."""
    wide = _wide(src)
    return wide if wide.dtype.is_float else number_class(DType.float64)


def _moments(memory: Any, zero: Any, i: Any) -> Any:
    """Those of an element."""
    return Moments(zero + 1, at(memory, i).cast(type(zero)), zero)


def _add(a: Any, b: Any) -> Any:
    return a + b


def _multiply(a: Any, b: Any) -> Any:
    return a * b
