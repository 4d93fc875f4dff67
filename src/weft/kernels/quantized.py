"""Products of a matrix of 4 or 8-bit integers with scales, and a vector.

On tensor cores a warp has 16 rows. Numbers of 4 bits become BFloat16 by putting them into the low bits of
128.0, where they are exact; the vector is the sum of one, two or three BFloat16 (as short floats or Float32
need), each of which takes columns of the right matrix that a product with one vector leaves idle. These
columns also keep apart four segments of 32, so that groups may have scales of their own. Elsewhere a lane
converts each number.
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft.dtype import DType
from weft.gpu import barrier, block_idx, global_idx, lane_id, launch_bounds, thread_idx, warp, warp_id
from weft.gpu.mma import mma
from weft.kernels.calls.planned import planned
from weft.kernels.copies import contiguous, copy
from weft.kernels.gemvs import launch_rows
from weft.kernels.operands import Operand, Operands
from weft.lang import (
    SIMD,
    BFloat16,
    Comptime,
    Float32,
    Int,
    Pointer,
    UInt8,
    UInt32,
    func,
    inline_asm,
    kernel,
    unroll,
)
from weft.lang.intrinsics import Feature
from weft.lang.machine import threads_are_loops
from weft.math import fma
from weft.math import min as least
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.targets import find_target

A = TypeVar("A")
_THREADS, _WARPS = 256, 8
_FLAT, _TALL = (1, 2, 4), (2, 1, 2)
"""Of few rows and of many: 16 rows of a warp, steps that it reads ahead, and blocks of a multiprocessor."""
_SHARED = 96 * 1024
"""Bytes of shared memory that the parts of a vector take at most."""

ROWS, COLUMNS, WORD = 16, 128, 8
"""Rows of a product; columns that a warp has at once; numbers in 32 bits."""
NONE = 48
"""Zeros behind the vector's parts: the last 32 are read where others read numbers, from other banks."""
_LOW, _BASE = 0x000F000F, 0x43004300
PARTS = {"bfloat16": 1, "float16": 2, "float32": 3}
"""How many BFloat16 have the sum that a number is."""
MIDDLE = 8
"""What stands for 0 where there are no zero points."""


@kernel
def by_tensor_cores(
    packed: Pointer[UInt8],
    scales: Pointer[Any],
    zeros: Pointer[UInt8],
    x: Pointer[Any],
    y: Pointer[Any],
    m: Int,
    n: Int,
    *,
    group: Comptime[int],
    shifted: Comptime[bool],
    warps: Comptime[int],
    ahead: Comptime[int],
    tall: Comptime[int],
    resident: Comptime[int],
):
    """``tall`` times 16 rows by a block; warps take 128 columns in turn; ``group`` have a scale."""
    launch_bounds(warps * warp.WARP_SIZE, resident)
    parts: int = PARTS[x.dtype.name]
    values, lane, high = dynamic_shared_memory(BFloat16), lane_id(), 2 * tall
    t, g = lane % 4, lane // 4
    rows = tuple([least(block_idx.x * (tall * ROWS) + g + of * WORD, m - 1) for of in range(high)])
    steps, groups = n // COLUMNS, n // group
    lines = tuple([packed.bitcast(UInt32) + (t * 4 + row * (n // WORD)) for row in rows])
    factors = tuple([scales + row * groups for row in rows])
    shifts = tuple([zeros + row * groups for row in rows])
    words, given = (
        stack_allocation(UInt32, 4 * high * ahead),
        stack_allocation(scales.element_type, 2 * high * ahead),
    )
    minus = stack_allocation(BFloat16, high * ahead)

    def fetch(u: int, step: Any) -> None:
        """Begin to read a step's words, scales and zeros of a lane's rows."""
        step = least(step, steps - 1)
        for r in unroll(range(high)):
            found = lines[r].load(step * ROWS, width=4, alignment=16, invariant=True)
            pair = _factors(factors[r], step, t, group)
            shift = BFloat16(MIDDLE)
            if shifted:
                shift = shifts[r][(step * COLUMNS + t * 32) // group].cast(BFloat16)
            minus[high * u + r] = shift
            for k in unroll(range(4)):
                words[4 * (high * u + r) + k] = found[k]
            for j in unroll(range(2)):
                given[2 * (high * u + r) + j] = pair[j]

    for u in unroll(range(ahead)):
        fetch(u, warp_id() + u * warps)
    _begin([words[i] for i in range(4 * high * ahead)])
    _bring(values, x, n, parts=parts, threads=warps * warp.WARP_SIZE)
    barrier()
    places, totals = _places(t, g, n, parts), tuple([Float32(0)] * high)
    for start in range(warp_id(), steps, warps * ahead):
        for u in unroll(range(ahead)):
            step = start + u * warps
            if step < steps:
                own = [words[4 * high * u + k] for k in range(4 * high)]
                less = [minus[high * u + r] + BFloat16(128.0) for r in range(high)]
                sums = _product(own, less, values, places, step)
                scale = [given[2 * high * u + k].cast(Float32) for k in range(2 * high)]
                totals = tuple(
                    [
                        fma(scale[2 * r + 1], sums[2 * r + 1], fma(scale[2 * r], sums[2 * r], totals[r]))
                        for r in range(high)
                    ]
                )
                fetch(u, step + ahead * warps)  # into the same registers, which a copy would wait for
    _finish(y, tuple([warp.sum(total, width=4) for total in totals]), m, warps=warps)


def _begin(loaded: list[Any]) -> None:
    """Have loads begin here: compilers would move them behind what follows, to where they are used."""
    if not threads_are_loops():
        for word in loaded:
            inline_asm("// $0 is on its way", None, word, constraints="r", effects="write")


def _factors(line: Any, step: Any, t: Any, group: int) -> list[Any]:
    """The scales of both segments of a step whose sums a lane gets."""
    first = step * COLUMNS + t % 2 * 64
    if group == 32:
        pair = line.load(first // 32, width=2, alignment=2 * line.dtype.itemsize, invariant=True)
        return [pair[0], pair[1]]
    one = line.load(first // group, invariant=True)
    return [one, one if group % 64 == 0 else line.load((first + 32) // group, invariant=True)]


def _places(t: Any, g: Any, n: Any, parts: int) -> tuple[tuple[Any, Any], ...]:
    """Where a lane's part of the right matrix begins, and what it goes on by each step: numbers, or zeros."""
    found = list[tuple[Any, Any]]()
    for turn in range((parts + 1) // 2):
        part = 2 * turn + g // 4
        there = (g % 4 == t) & (part < parts)
        at = there.select(part * n + t * 32, parts * n + NONE - 32)
        found.append((at.cast(UInt32), there.select(Int(COLUMNS), Int(0)).cast(UInt32)))
    return tuple(found)


def _product(own: list[Any], less: list[Any], values: Any, places: Any, step: Any) -> list[Any]:
    """Sums of a lane's rows and a step's columns: those of a segment in a column of the result."""
    sums = [Float32.splat(4, 0.0) for _ in less[::2]]
    minus = [BFloat16.splat(2, x) for x in less]
    for k in range(4):
        numbers = [_numbers(own[4 * r + k], x) for r, x in enumerate(minus)]
        for at, go in places:
            right = values.load(at + step.cast(UInt32) * go + UInt32(k * WORD), width=8, alignment=16)
            for i, (top, low) in enumerate(zip(numbers[::2], numbers[1::2], strict=True)):
                for h in range(2):
                    left = _joined([top[2 * h], low[2 * h], top[2 * h + 1], low[2 * h + 1]])
                    sums[i] = mma(left, _joined([right], 4 * h, 4), sums[i])
    return [result[j] for result in sums for j in range(4)]


@func
def _finish(y: Any, found: Any, m: Int, *, warps: Comptime[int]) -> None:
    """Add up what a block's warps have of each row, and write it."""
    high = len(found) * WORD
    totals = stack_allocation(Float32, warps * high, address_space=AddressSpace.SHARED)
    t, g = lane_id() % 4, lane_id() // 4
    if t == 0:
        for r in unroll(range(len(found))):
            totals[warp_id() * high + r * WORD + g] = found[r]
    barrier()
    row = block_idx.x * high + thread_idx.x
    if thread_idx.x < high and row < m:
        total = totals[thread_idx.x]
        for w in unroll(range(1, warps)):
            total += totals[w * high + thread_idx.x]
        y[row] = total.cast(y.element_type)


@func
def _bring(
    values: Pointer[BFloat16], x: Pointer[Any], n: Int, *, parts: Comptime[int], threads: Comptime[int]
) -> None:
    """The vector in shared memory, each number as a sum of BFloat16, and zeros behind it."""
    words = n // WORD
    for first in range(thread_idx.x, words, 4 * threads):
        places = [least(first + k * threads, words - 1) * WORD for k in range(4)]  # all at once
        held = [x.load(place, width=WORD, alignment=16) for place in places]
        for k in unroll(range(4)):
            if first + k * threads < words:
                _prepare(values, held[k].cast(Float32), first + k * threads, n, parts=parts)
    if thread_idx.x < NONE:
        values[parts * n + thread_idx.x] = 0


@func
def _prepare(shared: Pointer[BFloat16], values: Any, word: Int, n: Int, *, parts: Comptime[int]) -> None:
    """Eight numbers of the vector as sums of BFloat16, in the order of a word of the matrix."""
    order = [values[k] for k in (0, 4, 1, 5, 2, 6, 3, 7)]
    rest = Float32.simd(*order)
    for p in unroll(range(parts)):
        rounded = rest.cast(BFloat16)
        shared.store(p * n + word * WORD, rounded, alignment=16)
        rest -= rounded.cast(Float32)


def _numbers(word: Any, minus: Any) -> list[Any]:
    """The eight numbers of a word less ``minus``, in pairs: 0 and 4, 1 and 5, 2 and 6, 3 and 7."""
    return [_low_bits(word >> (4 * k)).bitcast(SIMD[BFloat16, 2]) - minus for k in range(4)]


def _low_bits(word: Any) -> Any:
    """The low bits of each half put into those of 128.0, in one instruction where there is one."""
    if threads_are_loops():
        return word & _LOW | _BASE
    return inline_asm(
        f"lop3.b32 $0, $1, {_LOW}, $2, 0xEA;", UInt32, word, UInt32(_BASE), constraints="=r,r,r"
    )


def _joined(vectors: list[Any], first: int = 0, count: int = 2) -> Any:
    """``count`` numbers of each of some vectors, from ``first`` on, side by side."""
    return BFloat16.simd(*[vector[first + k] for vector in vectors for k in range(count)])


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
    """A row by ``span`` threads: for targets without such tensor cores, and other numbers of columns."""
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
def pack(q: Pointer[UInt8], packed: Pointer[UInt8], count: Int):
    """Two numbers to a byte."""
    i = global_idx.x
    if i < count:
        packed[i] = q[2 * i] & 15 | q[2 * i + 1] << 4


@kernel
def unpack(packed: Pointer[UInt8], q: Pointer[UInt8], count: Int):
    """Two numbers from a byte."""
    i = global_idx.x
    if i < count:
        q[2 * i] = packed[i] & 15
        q[2 * i + 1] = packed[i] >> 4


@planned
def pack_int4(q: A, *, out: Any = None) -> A:
    """Numbers from 0 to 15, two to a byte: of column ``2 * k`` in the low bits of byte ``k``, the next above
    it.

    Args:
        q: UInt8, (m, n), n even.
        out: where the result goes: UInt8, (m, n / 2), side by side.

    Raises:
        LaunchError: an argument is wrong.

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


@planned
def unpack_int4(packed: A, *, out: Any = None) -> A:
    """The numbers that ``pack_int4`` has packed: UInt8, (m, 2 * n) of (m, n)."""
    op = Operands("unpack_int4", packed=packed)
    source = _matrix(op["packed"].of(DType.uint8))
    target = _whole(op.result((source.shape[0], 2 * source.shape[1]), DType.uint8, out))
    if source.size:
        op.launch(unpack, -(-source.size // _THREADS), _THREADS, contiguous(op, source), target, source.size)
    return op.give(target)


@planned
def gemv_int4(packed: Any, scales: Any, x: A, *, zeros: Any = None, out: Any = None) -> A:
    """The product of a matrix of 4-bit numbers and a vector; each group of columns of a row has a scale.

    Element ``(i, j)`` of the matrix is ``(q[i, j] - zeros[i, j // group]) * scales[i, j // group]``, where
    ``q`` are the numbers that ``pack_int4`` packs. Products are added up as Float32, exactly as far as that
    has digits.

    Args:
        packed: UInt8, (m, n / 2).
        scales: floating, (m, n / group): groups are of an even number of columns. On tensor cores go those
            that 32 divides, if 128 divides ``n``.
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
    matrix, factors = _matrix(op["packed"].of(DType.uint8)), _matrix(op["scales"].of("floating"))
    vector, shifts = op["x"].of("floating"), op.get("zeros")
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


@planned
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
    matrix, vector = _matrix(op["w"].of(DType.int8)), op["x"].of("floating")
    m, n = matrix.shape
    vector.shaped((n,), "w has columns for")
    factors = op["scales"].of("floating").shaped((m,), "w has rows for")
    target = op.result((m,), vector.dtype, out)
    if m:
        launch_rows(op, matrix, vector, target, contiguous(op, factors))
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
    """On tensor cores, or number by number: the matrix, its scales and zeros, the vector, and the result."""
    matrix, _, _, vector, _ = arrays
    has_cores = not op.threads_are_loops and find_target(op.context.target).supports(Feature.MMA)
    parts = PARTS.get(vector.dtype.name, 0)
    fits = (
        n > 0
        and n % COLUMNS == 0
        and group % 32 == 0
        and matrix.lanes() == vector.lanes() * vector.dtype.itemsize == 16
    )
    if has_cores and parts and fits and 2 * n * parts <= _SHARED:
        tall, ahead, resident = _FLAT if m < 2 * ROWS * op.context.info.multiprocessors else _TALL
        threads = _WARPS * warp.WARP_SIZE
        options: dict[str, Any] = {"group": group, "warps": _WARPS, "ahead": ahead, "tall": tall}
        options |= {"resident": resident, "shared_mem_bytes": 2 * (n * parts + NONE)}
        op.launch(by_tensor_cores, -(-m // (tall * ROWS)), threads, *arrays, m, n, shifted=shifted, **options)
    else:
        span, warps = (1, 1) if op.threads_are_loops else (warp.WARP_SIZE, _WARPS)
        op.launch(
            by_words,
            -(-m // warps),
            span * warps,
            *arrays,
            m,
            n,
            group,
            shifted=shifted,
            span=span,
            warps=warps,
        )
