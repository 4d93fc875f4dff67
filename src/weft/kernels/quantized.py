"""Products of a matrix of 4 or 8-bit integers with scales, and a vector.

Four-bit ones go by products of bytes on GPUs (``weft.kernels.int4_digits``), elsewhere and in odd groups
number by number.
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft.calls.planned import planned_but
from weft.dtype import DType
from weft.gpu import block_idx, global_idx, thread_idx, warp
from weft.kernels.copies import contiguous, copy
from weft.kernels.gemvs import launch_rows, single
from weft.kernels.int4_digits import DIGITS, MIDDLE, OWN, by_digits, shape_of, shared_bytes
from weft.kernels.operands import Operand, Operands
from weft.lang import Comptime, Float32, Int, Pointer, UInt8, kernel
from weft.math import fma
from weft.math import min as least

A = TypeVar("A")
_THREADS, _WARPS = 256, 8
_LEAST, _LANES = 4, 16
"""Bytes of a vector on a CPU."""
_TASK, _TASKS = 1 << 15, 64
"""Elements that a thread of a CPU takes at least, and how many threads there are at most."""


@kernel
def by_words(
    packed: Pointer[UInt8],
    scales: Pointer[Any],
    zeros: Pointer[UInt8],
    x: Pointer[Any],
    y: Pointer[Any],
    m: Int,
    n: Int,
    group: Int,
    *,
    shifted: Comptime[bool],
    span: Comptime[int],
    warps: Comptime[int],
):
    """A row by ``span`` threads: for CPUs, and groups of other numbers of columns."""
    row, lane = block_idx.x * warps + thread_idx.x // span, thread_idx.x % span
    if row < m:
        total = Float32(0)
        for byte in range(lane, n // 2, span):
            place, both = row * (n // group) + 2 * byte // group, packed[row * (n // 2) + byte]
            minus = zeros[place].cast(Float32) if shifted else Float32(MIDDLE)
            low, high = (both & 15).cast(Float32) - minus, (both >> 4).cast(Float32) - minus
            part = fma(low, x[2 * byte].cast(Float32), high * x[2 * byte + 1].cast(Float32))
            total = fma(scales[place].cast(Float32), part, total)
        if span > 1:
            total = warp.sum(total)
        if lane == 0:
            y[row] = total.cast(y.element_type)


@kernel
def halved(x: Pointer[Any], halves: Pointer[Float32], count: Int):
    """Of pairs the first, and behind these the second of each."""
    i = global_idx.x
    if i < count:
        halves[i], halves[count + i] = x[2 * i].cast(Float32), x[2 * i + 1].cast(Float32)


@kernel
def by_vectors(
    packed: Pointer[UInt8],
    scales: Pointer[Any],
    zeros: Pointer[UInt8],
    halves: Pointer[Float32],
    y: Pointer[Any],
    m: Int,
    n: Int,
    group: Int,
    each: Int,
    *,
    shifted: Comptime[bool],
    lanes: Comptime[int],
):
    """``each`` so many rows of a thread of a CPU; ``halves`` has the vector as ``halved`` leaves it."""
    groups, pairs, apart = n // group, group // 2, n // 2
    for row in range(block_idx.x * each, least((block_idx.x + 1) * each, m)):
        total = Float32.splat(lanes, 0)
        for g in range(groups):
            place = row * groups + g
            minus = zeros[place].cast(Float32) if shifted else Float32(MIDDLE)
            part = Float32.splat(lanes, 0)
            for at in range(g * pairs, (g + 1) * pairs, lanes):
                both = packed.load(row * apart + at, width=lanes)
                low, high = (both & 15).cast(Float32) - minus, (both >> 4).cast(Float32) - minus
                part = fma(low, halves.load(at, width=lanes), part)
                part = fma(high, halves.load(apart + at, width=lanes), part)
            total = fma(part, Float32.splat(lanes, scales[place].cast(Float32)), total)
        y[row] = total.reduce_add().cast(y.element_type)


@kernel
def pack(q: Pointer[UInt8], packed: Pointer[UInt8], count: Int):
    """Two numbers to a byte."""
    i = global_idx.x
    if i < count:
        low, high = q[2 * i], q[2 * i + 1]
        assert (low | high) < 16, "4 bits hold 0 to 15"
        packed[i] = low | high << 4


@kernel
def unpack(packed: Pointer[UInt8], q: Pointer[UInt8], count: Int):
    """Two numbers from a byte."""
    i = global_idx.x
    if i < count:
        q[2 * i] = packed[i] & 15
        q[2 * i + 1] = packed[i] >> 4


@planned_but("out")
def pack_int4(q: A, *, out: Any = None) -> A:
    """Numbers from 0 to 15, two to a byte: of column ``2 * k`` in the low bits of byte ``k``, the next above
    it.

    Args:
        q: UInt8, (m, n), n even.
        out: where the result goes: UInt8, (m, n / 2), side by side.

    Raises:
        LaunchError: an argument is wrong.
        DeviceError: a number is above 15; it is raised where the program waits for the device next.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import pack_int4, unpack_int4
        >>> pack_int4(np.uint8([[1, 2, 3, 15]]))
        array([[ 33, 243]], dtype=uint8)
        >>> unpack_int4(np.uint8([[33, 243]]))
        array([[ 1,  2,  3, 15]], dtype=uint8)
    """
    op = Operands("pack_int4", q=q)
    source = _matrix(op["q"].of(DType.uint8))
    m, n = source.shape
    if n % 2:
        source.refuse(f"of {n} columns", "pass an even number: add a column of zeros")
    target = _whole(op.result((m, n // 2), DType.uint8, out))
    if target.size:
        op.launch(pack, -(-target.size // _THREADS), _THREADS, contiguous(op, source), target, target.size)
    return op.give(target)


@planned_but("out")
def unpack_int4(packed: A, *, out: Any = None) -> A:
    """The numbers that ``pack_int4`` has packed: UInt8, (m, 2 * n) of (m, n)."""
    op = Operands("unpack_int4", packed=packed)
    source = _matrix(op["packed"].of(DType.uint8))
    target = _whole(op.result((source.shape[0], 2 * source.shape[1]), DType.uint8, out))
    if source.size:
        op.launch(unpack, -(-source.size // _THREADS), _THREADS, contiguous(op, source), target, source.size)
    return op.give(target)


@planned_but("out")
def gemv_int4(packed: Any, scales: Any, x: A, *, zeros: Any = None, out: Any = None) -> A:
    """The product of a matrix of 4-bit numbers and a vector; each group of columns of a row has a scale.

    Element ``(i, j)`` of the matrix is ``(q[i, j] - zeros[i, j // group]) * scales[i, j // group]``, where
    ``q`` are the numbers that ``pack_int4`` packs. Products are added up as Float32, exactly as far as that
    has digits; each 32 neighbours of ``x`` are taken as multiples of their greatest times 2**-22, of Float32
    2**-30.

    Args:
        packed: UInt8, (m, n / 2).
        scales: floating, (m, n / group): groups are of an even number of columns; fast are multiples of 32 on
            a GPU.
        x: floating, (n,).
        zeros: UInt8, of the shape of ``scales``, up to 15; without them 8 stands for 0.
        out: where the result goes: (m,), of the type of ``x``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import gemv_int4, pack_int4
        >>> packed = pack_int4(np.uint8([[8, 9, 10, 0], [15, 8, 8, 8]]))
        >>> gemv_int4(packed, np.float32([[1, 0.5], [2, 1]]), np.ones(4, np.float32))
        array([-2., 14.], dtype=float32)
    """
    given = {"x": x, "packed": packed, "scales": scales, "zeros": zeros}
    op = Operands("gemv_int4", **given)
    matrix, factors = _matrix(op["packed"].of(DType.uint8)), _matrix(op["scales"].of("float"))
    vector, shifts = op["x"].of("float"), op.get("zeros")
    m, n = matrix.shape[0], 2 * matrix.shape[1]
    vector.shaped((n,), "packed has columns for")
    groups = factors.shape[1]
    if factors.shape[0] != m or (n and (not groups or n % (2 * groups))):
        factors.refuse(
            f"of shape {factors.shape}", f"pass ({m}, {n} / group), with an even number of columns a group"
        )
    if shifts is not None:
        shifts.of(DType.uint8).shaped(factors.shape, "scales has")
    target = op.result((m,), vector.dtype, out)
    if m:
        others = tuple([contiguous(op, o) for o in (matrix, factors, shifts or matrix, vector)])
        made = target if target.is_whole else op.scratch(m, vector.dtype)
        _launch(op, (*others, made), m, n, n // groups if groups else 1, shifts is not None)
        if made is not target:
            copy(op, made, target)
    return op.give(target)


@planned_but("out")
def gemv_int8(w: Any, scales: Any, x: A, *, out: Any = None) -> A:
    """The product of a matrix of Int8, each row of which has a scale, and a vector: ``scales * (w @ x)``.

    Args:
        w: Int8, (m, n), of any strides.
        scales: floating, (m,).
        x: floating, (n,).
        out: where the result goes: (m,), of the type of ``x``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import gemv_int8
        >>> gemv_int8(np.int8([[1, 2], [-3, 4]]), np.float32([1, 0.5]), np.float32([10, 1]))
        array([ 12., -13.], dtype=float32)
    """
    op = Operands("gemv_int8", x=x, w=w, scales=scales)
    matrix, vector = _matrix(op["w"].of(DType.int8)), op["x"].of("float")
    m, n = matrix.shape
    vector.shaped((n,), "w has columns for")
    factors = op["scales"].of("float").shaped((m,), "w has rows for")
    target = op.result((m,), vector.dtype, out)
    if m:
        launch_rows(op, single(matrix), single(vector), single(target), contiguous(op, factors))
    return op.give(target)


def _matrix(operand: Operand) -> Operand:
    if len(operand.shape) != 2:
        operand.refuse(f"of {len(operand.shape)} axes", "pass a matrix")
    return operand


def _whole(operand: Operand) -> Operand:
    if not operand.is_whole:
        operand.refuse("an array with gaps", "pass one whose elements lie side by side")
    return operand


def _launch(op: Operands, arrays: tuple[Operand, ...], m: int, n: int, group: int, shifted: bool) -> None:
    """By products of bytes, or number by number: the matrix, its scales and zeros, the vector, the result."""
    matrix, _, _, vector, _ = arrays
    fits = n > 0 and group % OWN == 0 and matrix.lanes() == vector.lanes() * vector.dtype.itemsize == 16
    if vector.dtype.name in DIGITS and fits and not op.threads_are_loops:
        known: dict[str, Any] = {"group": group, "shifted": shifted}
        known |= shape_of(m, n, op.context.info.multiprocessors)
        threads = known["across"] * known["down"] * warp.WARP_SIZE
        known["shared_mem_bytes"] = shared_bytes(known["across"], known["down"])
        op.launch(by_digits, -(-m // known["each"]), threads, *arrays, m, n, early=True, **known)
    elif op.threads_are_loops and n and group % (2 * _LEAST) == 0:
        halves, lanes = op.scratch(n, DType.float32), min(_LANES, group // 2 & -(group // 2))
        each = max(1, -(-_TASK // n), -(-m // _TASKS))
        op.launch(halved, -(-n // 2 // _THREADS), _THREADS, vector, halves, n // 2)
        sizes = *arrays[:3], halves, arrays[4], m, n, group, each
        op.launch(by_vectors, -(-m // each), 1, *sizes, shifted=shifted, lanes=lanes)
    else:
        span, warps = (1, 1) if op.threads_are_loops else (warp.WARP_SIZE, _WARPS)
        known = {"shifted": shifted, "span": span, "warps": warps}
        op.launch(by_words, -(-m // warps), span * warps, *arrays, m, n, group, **known)
