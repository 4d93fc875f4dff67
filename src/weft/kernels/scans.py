"""Running results along an axis: a single pass over memory with decoupled look-back.

That is ``weft.algorithm.lookback``. A block reads a tile of a row into registers and joins neighbours within
its lanes, its warps, and behind what the tiles before it have, always in the same order. Rows whose elements
are not side by side, and short ones, have a thread each. On a CPU a tile is one thread's, which reads it a
second time from its cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from weft.algorithm.lookback import WHOLE, clear, counter, peek, post, posts_of, words
from weft.algorithm.reduction import first_of
from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError
from weft.dtype import DType
from weft.gpu import block_idx, global_idx, warp
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.places import merged
from weft.kernels.row_memory import begin
from weft.kernels.scan_tiles import HELPERS, SLOTS, WIDE, element, scan_tiles
from weft.lang import Bool, Comptime, Int, Pointer, UInt32, UInt64, func, kernel
from weft.lang.number import number_class
from weft.math import min as least

A = TypeVar("A")
Word = Literal["add", "mul", "min", "max"]
_THREADS, _RESIDENT, _EACH = 512, 640, 128
"""Threads of a block that scan, and of all blocks of a multiprocessor; bytes that each has of a tile."""
_SHORT = 64
"""Elements of rows up to which a thread has one."""
_MANY = 4096
"""Rows that lie across each other from which on a thread has one."""
_CPU_TILE = 1 << 13


@kernel
def scan_stretches(
    function: Callable[..., Any],
    src: Pointer[Any],
    src_steps: Any,
    src_step: Int,
    dst: Pointer[Any],
    dst_steps: Any,
    dst_step: Int,
    scratch: Pointer[Any],
    n: Int,
    tiles: Int,
    extents: Any,
    init: Any,
    *,
    kind: Comptime[Any],
    exclusive: Comptime[bool],
    several: Comptime[bool],
    each: Comptime[int],
):
    """A tile of a row by one thread: joined, then scanned behind what the tile before has posted."""

    def join(a: Any, b: Any) -> Any:
        return element(kind, function(a, b))

    number = counter(scratch) if several else block_idx.x
    row, tile = number // tiles, number % tiles
    posts = scratch.bitcast(UInt64) + (1 + row * (tiles * words(kind)))
    source, target = begin(src, src_steps, row, extents), begin(dst, dst_steps, row, extents)
    first, end = tile * each, least((tile + 1) * each, n)
    head, has = source[first * src_step].cast(kind), Bool(False)
    if init is not None:
        head, has = kind(init), Bool(True)
    if several:
        own = _joined(join, source, first, end, src_step, kind=kind)
        if tile > 0:
            before, state = peek(posts, tile - 1, kind)
            while state == 0:
                before, state = peek(posts, tile - 1, kind)
            head, has = before, Bool(True)
        if tile + 1 < tiles:
            post(posts, tile, has.select(join(head, own), own), UInt32(WHOLE))
    _run(join, source, target, first, end, src_step, dst_step, head, has, exclusive=exclusive)


@kernel
def scan_threads(
    function: Callable[..., Any],
    src: Pointer[Any],
    src_steps: Any,
    src_step: Int,
    dst: Pointer[Any],
    dst_steps: Any,
    dst_step: Int,
    rows: Int,
    n: Int,
    extents: Any,
    init: Any,
    *,
    kind: Comptime[Any],
    exclusive: Comptime[bool],
):
    """A row by a thread."""

    def join(a: Any, b: Any) -> Any:
        return element(kind, function(a, b))

    row = global_idx.x
    if row < rows:
        source, target = begin(src, src_steps, row, extents), begin(dst, dst_steps, row, extents)
        head, has = source[0].cast(kind), Bool(False)
        if init is not None:
            head, has = kind(init), Bool(True)
        _run(join, source, target, Int(0), n, src_step, dst_step, head, has, exclusive=exclusive)


@func
def _joined(function: Any, source: Any, first: Int, end: Int, step: Int, *, kind: Comptime[Any]) -> Any:
    """Some elements as one, in four stretches at a time: one result would wait for the other."""
    length = (end - first) // 4
    total, begin = source[first * step].cast(kind), first + 1
    if length > 1:
        parts = tuple([source[(first + k * length) * step].cast(kind) for k in range(4)])
        for i in range(first + 1, first + length):
            values = tuple([source[(i + k * length) * step].cast(kind) for k in range(4)])
            parts = tuple([function(part, value) for part, value in zip(parts, values, strict=True)])
        total, begin = parts[0], first + 4 * length
        for part in parts[1:]:
            total = function(total, part)
    for i in range(begin, end):
        total = function(total, source[i * step].cast(kind))
    return total


@func
def _run(
    function: Any,
    source: Any,
    target: Any,
    first: Int,
    end: Int,
    src_step: Int,
    dst_step: Int,
    head: Any,
    has: Bool,
    *,
    exclusive: Comptime[bool],
) -> None:
    """Running results from ``first`` to ``end`` behind ``head``; without one that is the first element."""
    total, begin = head, first
    if not has:
        target[first * dst_step] = total.cast(target.element_type)
        begin = first + 1
    for i in range(begin, end):
        if exclusive:
            value = source[i * src_step].cast(type(total))
            target[i * dst_step] = total.cast(target.element_type)
            total = function(total, value)
        else:
            total = function(total, source[i * src_step].cast(type(total)))
            target[i * dst_step] = total.cast(target.element_type)


def _add(a: Any, b: Any) -> Any:
    return a + b


def _mul(a: Any, b: Any) -> Any:
    return a * b


def _min(a: Any, b: Any) -> Any:
    return ((a < b) | (a != a)).select(a, b)


def _max(a: Any, b: Any) -> Any:
    return ((a > b) | (a != a)).select(a, b)


_WORDS = {"add": _add, "mul": _mul, "min": _min, "max": _max}


@planned_but("out")
def cumsum(x: A, axis: int = -1, *, exclusive: bool = False, out: Any = None) -> A:
    """Running sums along an axis, as ``np.cumsum``.

    Integers and bools are summed up as 64 bits, which the result has; short floats as Float32, and the result
    has their own type. Sums of floats are joined in an order that the shape alone decides, so they are the
    same each time.

    Args:
        x: numbers or bools, of any shape and strides.
        axis: along which.
        exclusive: whether each result is the sum of the elements before, without its own.
        out: where the result goes; it may be ``x``, if it has the result's type.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import cumsum
        >>> cumsum(np.array([[1, 2, 3], [4, 5, 6]]), axis=0)
        array([[1, 2, 3],
               [5, 7, 9]])
    """
    return _scan("cumsum", x, _add, axis, 0 if exclusive else None, exclusive, out, True)


@planned_but("out")
def cumprod(x: A, axis: int = -1, *, exclusive: bool = False, out: Any = None) -> A:
    """Running products along an axis, as ``np.cumprod``; else as ``cumsum``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import cumprod
        >>> cumprod(np.float32([2, 3, 4]), exclusive=True)
        array([1., 2., 6.], dtype=float32)
    """
    return _scan("cumprod", x, _mul, axis, 1 if exclusive else None, exclusive, out, True)


@planned_but("out")
def scan(
    x: A,
    function: Word | Callable[[Any, Any], Any],
    axis: int = -1,
    *,
    init: float | None = None,
    exclusive: bool = False,
    out: Any = None,
) -> A:
    """Running results of an associative function along an axis.

    Args:
        x: numbers, of any shape and strides, or bools for a word. 16-bit floats are joined as Float32.
        function: of what was accumulated and what comes next, both of the type of ``x``, which is also the
            result's; it need not commute, and may branch. What it captures becomes arguments, as for
            ``weft.algorithm``. Or ``"add"``, ``"mul"``, ``"min"``, ``"max"``, which are
            ``np.add.accumulate`` and its kin: of ``"add"`` and ``"mul"`` integers become 64 bits, unless
            ``out`` has their type; of ``"min"`` and ``"max"`` nan is the result from where it occurs.
        axis: along which.
        init: what stands before the first element.
        exclusive: whether each result is that of the elements before, without its own: ``init`` comes first.
        out: where the result goes, of the shape of ``x``; it may be ``x``, if it has the result's type.

    Raises:
        LaunchError: an argument is wrong, ``init`` does not fit, or ``exclusive`` is without it.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import scan
        >>> scan(np.array([3, 1, 4, 1, 5]), "max")
        array([3, 3, 4, 4, 5])
        >>> scan(np.array([1, 2, 3]), lambda a, b: a * b, init=10, exclusive=True)
        array([10, 10, 20])
    """
    if type(function).__name__ == "ufunc" and not isinstance(function, str):
        words: dict[str, Word] = {"maximum": "max", "minimum": "min"}  # which do what NumPy's functions do
        function = words.get(function.__name__, function)
    known: Any = _WORDS.get(function) if isinstance(function, str) else function
    if not _takes_two(known):
        given = f"`{getattr(function, '__name__', function)}`" if callable(known) else repr(function)
        message = f"scan: function is {given}, which does not take two numbers"
        hint = f"write one of {', '.join(_WORDS)}, or a function of two numbers"
        raise LaunchError.here("argument-type", message, hint, at=("function", 1))
    if exclusive and init is None:
        message = "scan: an exclusive scan begins with init, which is not given"
        raise LaunchError.here("argument-type", message, "give init=, 0 for sums")
    widens = function in ("add", "mul") and (out is None or Operand("scan", "out", out).dtype.bits == 64)
    return _scan("scan", x, known, axis, init, exclusive, out, widens)


def _takes_two(function: Any) -> bool:
    """Whether it can be called with two arguments, as far as Python knows."""
    from inspect import signature

    if type(function).__name__ == "ufunc":  # to which Python could give memory for the result too
        return function.nin == 2
    try:
        signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # of what has none, as functions of C
        return True
    return True


def _scan(
    name: str, x: Any, function: Any, axis: Any, init: Any, exclusive: bool, out: Any, widens: bool
) -> Any:
    op = Operands(name, x=x)
    source = op["x"].of("number or bool" if function in _WORDS.values() else "number")
    along, wide = op.axis(axis), accumulator(source.dtype)
    dtype = source.dtype if not widens or source.dtype.kind not in ("int", "uint", "bool") else wide
    target = op.result(source.shape, dtype, out, same=[source])
    kind: Any = number_class(dtype if dtype.bits >= 32 or dtype.kind in ("int", "uint") else wide)
    if source.size:
        first = first_of("init", init, kind)
        _launch(op, source, target, along, function, first, {"kind": kind, "exclusive": exclusive})
    return op.give(target)


def _launch(
    op: Operands,
    source: Operand,
    target: Operand,
    along: int,
    function: Callable[..., Any],
    init: Any,
    named: dict[str, Any],
) -> None:
    """Choose how rows are spread over threads."""
    n, order = source.shape[along], [k for k in range(len(source.shape)) if k != along]
    steps = [tuple(o.strides[k] for k in order) for o in (source, target)]
    extents, steps = merged(tuple(source.shape[k] for k in order), *steps)
    number, ends = math.prod(extents), (source, target)
    lines = [part for o, own in zip(ends, steps, strict=True) for part in (o.memory, own, o.strides[along])]
    lines.insert(0, function)
    if n <= _SHORT or (source.strides[along] > 1 and number >= _MANY):
        op.launch(scan_threads, -(-number // _THREADS), _THREADS, *lines, number, n, extents, init, **named)
        return
    if op.threads_are_loops:
        threads, each = 1, _CPU_TILE
        tiles = -(-n // each)
        more: dict[str, Any] = {"each": each}
        counts: tuple[int, ...] = (n, tiles)
        grid, posted, found = number * tiles, tiles, cast("Any", scan_stretches)
    else:
        lanes = min(WIDE // source.dtype.itemsize, 8)
        threads, vectors = _THREADS, max(1, _EACH // (lanes * max(4, named["kind"].dtype.itemsize)))
        while threads > warp.WARP_SIZE and threads // 2 * vectors * lanes >= n:
            threads //= 2
        tiles = -(-n // (threads * vectors * lanes))
        wide = tuple(
            [
                o.strides[along] == 1 and o.lanes(*own) >= min(lanes, WIDE // o.dtype.itemsize)
                for o, own in zip(ends, steps, strict=True)
            ]
        )
        resident = _RESIDENT // (threads + HELPERS * warp.WARP_SIZE)
        more = {"threads": threads, "lanes": lanes, "vectors": vectors, "resident": resident, "wide": wide}
        posted, found = posts_of(tiles), cast("Any", scan_tiles)
        grid = min(number * tiles, op.context.info.multiprocessors * resident)
        counts = (n, tiles, number * tiles)
    several = tiles > 1
    size = 1 + number * posted * words(named["kind"]) if several else 1
    scratch = op.scratch(size, DType.int64)
    if several:
        op.launch(clear, min(-(-size // _THREADS), 1024), _THREADS, scratch, size)
    named |= {**more, "several": several}
    if not op.threads_are_loops:
        each = threads * more["lanes"] * more["vectors"]
        named["shared_mem_bytes"] = SLOTS * each * named["kind"].dtype.itemsize
        threads += HELPERS * warp.WARP_SIZE
    op.launch(found, grid, threads, *lines, scratch, *counts, extents, init, **named)
