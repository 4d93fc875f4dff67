"""A matrix of 4-bit integers by a vector, by products of bytes.

A lane has 32 neighbours of the vector as integers with a power of two in common, three or four digits of 8
bits, which stay in its registers while it goes down the rows. Of these a warp copies 512 bytes at once to
shared memory, where each lane waits for its own alone. The numbers of a word become bytes by a mask and a
shift, three instructions for eight of them, and are multiplied by each digit, four at a time. These sums are
exact, less what stands for 0 as well.
"""

from __future__ import annotations

from typing import Any

from weft.bit import byte_permute
from weft.gpu import barrier, block_idx, lane_id, launch_bounds, thread_idx, warp, warp_id
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_all, async_copy_wait_group
from weft.kernels.early import begin_early
from weft.lang import (
    SIMD,
    Comptime,
    Float32,
    Int,
    Int8,
    Int32,
    Pointer,
    UInt8,
    UInt32,
    func,
    kernel,
    unroll,
)
from weft.lang.intrinsics import current_target, llvm_intrinsic
from weft.math import fma
from weft.math import min as least
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

OWN, WORD = 32, 8
"""Columns of a lane; numbers in 32 bits."""
SPAN = OWN * 32
"""Columns of a warp."""
MIDDLE = 8
"""What stands for 0 where there are no zero points."""
DIGITS = {"bfloat16": 3, "float16": 3, "float32": 4}
"""By the type of the vector."""
TURN = 8
"""Rows that a warp has on their way."""
_WARPS, _MOST = 16, 256
"""Warps of a block, and rows that it has at most."""
_ALL, _NIBBLES, _SIGNS, _ONES = 0xFFFFFFFF, 0x0F0F0F0F, 0x80808080, 0x01010101
_MAGIC, _MAGIC_BITS = 12582912.0, 0x4B400000
"""1.5 * 2**23: with it added, a Float32 below 2**22 has its integer in the low bits."""
_LEAST, _LARGE = 30, 255
"""Exponents of the least number that may be the greatest of a lane, and of those that are not finite."""


def shape_of(m: int, n: int, multiprocessors: int) -> dict[str, int]:
    """How rows and columns are spread over warps and blocks, of which a multiprocessor has one."""
    across = min(_WARPS, -(-n // SPAN))
    down = _WARPS // across
    each = min(-(-m // multiprocessors), _MOST)
    return {"across": across, "down": down, "each": -(-each // (TURN * down)) * (TURN * down)}


def shared_bytes(across: int, down: int) -> int:
    """Of the rows that are on their way."""
    return across * down * TURN * SPAN // 2


@kernel
def by_digits(
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
    across: Comptime[int],
    down: Comptime[int],
    each: Comptime[int],
):
    """``each`` rows by a block: ``across`` warps side by side, ``down`` below each other."""
    launch_bounds(across * down * warp.WARP_SIZE, 1)
    begin_early()
    sums = stack_allocation(Float32, each * across, address_space=AddressSpace.SHARED)
    own, first = warp_id() % across, block_idx.x * each
    matrix = packed, scales, zeros
    for span in range(own, (n + SPAN - 1) // SPAN, across):
        to = sums + own, across, span == own
        places = span * SPAN, first, warp_id() // across * TURN
        _down(matrix, x, to, (m, n), places, each=each, down=down, group=group, shifted=shifted)
    barrier()
    for row in range(thread_idx.x, each, across * down * warp.WARP_SIZE):
        if first + row < m:
            total = sums[row * across]
            for w in unroll(range(1, across)):
                total += sums[row * across + w]
            y[first + row] = total.cast(y.element_type)


@func
def _down(
    matrix: Any,
    x: Any,
    to: Any,
    sizes: Any,
    places: Any,
    *,
    group: Comptime[int],
    shifted: Comptime[bool],
    each: Comptime[int],
    down: Comptime[int],
) -> None:
    """What a warp has of its rows, in its columns.

    ``places`` are the first of these, the block's first row, and the number in the block of the warp's first;
    ``to`` says where a row's sum goes, how far rows lie apart there, and whether there is nothing yet.
    """
    (packed, scales, zeros), (m, n), (start, first, begins), lane = matrix, sizes, places, lane_id()
    there, column = start + lane * OWN < n, least(start + lane * OWN, n - OWN)
    groups, size = n // group, scales.dtype.itemsize
    line, shifts = packed + column // 2, zeros + column // group
    factors = scales.bitcast(UInt8) + column // group * size
    given, minus = stack_allocation(scales.element_type, TURN), stack_allocation(UInt8, TURN)
    ring = dynamic_shared_memory(UInt32) + (warp_id() * (TURN * warp.WARP_SIZE) + lane) * 4

    def place(row: Any) -> Any:
        """A row of the block, or the last one behind it."""
        return least((first + row).cast(UInt32), (m - 1).cast(UInt32))

    def fetch(u: int, row: Any) -> None:
        """Begin to copy what the lane has of a row, and to read the row's scale and zero."""
        row = place(row)
        async_copy((line + _wide(row, n // 2)).bitcast(UInt32), ring + u * (4 * warp.WARP_SIZE))
        async_copy_commit_group()
        given[u] = (factors + _wide(row, groups * size)).bitcast(scales.element_type).load()
        if shifted:
            minus[u] = (shifts + _wide(row, groups)).load()

    def arrived(u: int) -> tuple[Any, ...]:
        """What has been copied of the oldest row."""
        async_copy_wait_group(TURN - 1)
        words = (ring + u * (4 * warp.WARP_SIZE)).load(width=4, alignment=16)
        return tuple([words[k] for k in range(4)])

    def middle(u: int) -> Any:
        return minus[u].cast(Int32) if shifted else Int32(MIDDLE)

    for u in unroll(range(TURN)):
        fetch(u, begins + u)
    planes, unit, fits = _digits(x + column, there)
    whole = tuple([_sum_of(plane) for plane in zip(*planes, strict=True)])
    if warp.ballot(fits) == _ALL:
        for row in range(begins, each, down * TURN):
            results = list[Any]()
            for u in unroll(range(TURN)):
                words = arrived(u)
                found = _by_bytes(words, planes, [-middle(u) * b for b in whole])
                total = _joined(found) * unit * given[u].cast(Float32)
                results.append(there.select(total, Float32(0)))
                fetch(u, row + u + down * TURN)
            _keep(to, row + lane, _by_rows(results), lane < TURN)
    else:
        for row in range(begins // TURN, each, down):
            async_copy_wait_all()  # of what goes to the same place: two copies have no order
            fetch(0, row)
            async_copy_wait_all()
            total = _plainly(arrived(0), x + column, there, middle(0))
            _keep(to, row, warp.sum(there.select(total * given[0].cast(Float32), Float32(0))), lane == 0)
    async_copy_wait_all()


@func
def _keep(to: Any, row: Any, found: Any, leads: Any) -> None:
    """Have a lane add what the warp has of a row to what it had of it before."""
    sums, pace, first = to
    if leads:
        if first:
            sums[row * pace] = found
        else:
            sums[row * pace] += found


def _dot(numbers: Any, digits: Any, total: Any) -> Any:
    """Four numbers by four digits, added to a sum."""
    if current_target().has_intrinsic("llvm.nvvm.idp4a.u.s"):
        return llvm_intrinsic("llvm.nvvm.idp4a.u.s", Int32, numbers, digits, total, effects="none")
    one, other = numbers.bitcast(SIMD[UInt8, 4]).cast(Int32), digits.bitcast(SIMD[Int8, 4]).cast(Int32)
    return total + (one * other).reduce_add()


def _wide(row: Any, step: Any) -> Any:
    """How far a row lies from the first: the product of two numbers of 32 bits, in one instruction."""
    return row.cast(Int) * step.cast(UInt32).cast(Int)


def _sum_of(words: Any) -> Any:
    """The sum of all digits of some words."""
    total = Int32(0)
    for word in words:
        total = _dot(UInt32(_ONES), word, total)
    return total


def _by_bytes(words: Any, planes: Any, sums: list[Any]) -> list[Any]:
    """The sums of a lane's numbers multiplied by each digit of the vector, added to these."""
    for k, word in enumerate(words):
        for odd in range(2):
            numbers, plane = (word >> (4 * odd)) & _NIBBLES, planes[2 * k + odd]
            sums = [_dot(numbers, digit, total) for digit, total in zip(plane, sums, strict=True)]
    return sums


def _joined(sums: list[Any]) -> Any:
    """What the sums of three or four digits are together."""
    low = (sums[0] + 256 * sums[1]).cast(Float32)
    high = (sums[2] + 256 * sums[3] if len(sums) == 4 else sums[2]).cast(Float32)
    return fma(high, Float32(65536.0), low)


def _plainly(words: Any, x: Any, there: Any, middle: Any) -> Any:
    """The sum of a lane's products where the vector is no such integers: has infinities, or is tiny."""
    total = Float32(0)
    for i in unroll(range(OWN)):
        number = ((words[i // WORD] >> (4 * (i % WORD))) & 15).cast(Int32) - middle
        total = fma(number.cast(Float32), there.select(x[i].cast(Float32), Float32(0)), total)
    return total


def _by_rows(values: list[Any]) -> Any:
    """Of some values the sum over all lanes of that whose number is the lane's modulo their count."""
    lane, count = lane_id(), len(values)
    step = count
    while step > 1:
        step //= 2
        far = lane & step != 0
        kept = [far.select(values[i + step], values[i]) for i in range(step)]
        sent = [far.select(values[i], values[i + step]) for i in range(step)]
        values = [one + warp.shuffle_xor(other, step) for one, other in zip(kept, sent, strict=True)]
    return warp.sum(values[0], width=warp.WARP_SIZE // count, stride=count)


def _digits(x: Any, there: Any) -> Any:
    """A lane's part of the vector: by halves of words the digits of four numbers each, what they are
    multiples of, and whether these hold it.
    """
    digits = DIGITS[x.dtype.name]
    held = [x.load(i * WORD, width=WORD, alignment=16).cast(Float32) for i in range(OWN // WORD)]
    held = [there.select(values, Float32.splat(WORD, 0.0)) for values in held]
    most = UInt32(0)
    for values in held:
        bits = (values.bitcast(SIMD[UInt32, WORD]) & 0x7FFFFFFF).reduce_max()
        most = (bits > most).select(bits, most)
    exponent = most >> 23
    fits = (exponent < _LARGE) & ((most == 0) | (exponent >= _LEAST))
    field = least(UInt32(251 + 8 * digits) - exponent, UInt32(254))
    factor, unit = (field << 23).bitcast(Float32), ((254 - field) << 23).bitcast(Float32)
    planes = list[Any]()
    for values in held:
        if digits == 3:
            whole = fma(values, Float32.splat(WORD, factor), Float32.splat(WORD, _MAGIC))
            numbers = whole.bitcast(SIMD[UInt32, WORD]) - _MAGIC_BITS + _SIGNS
        else:
            numbers = (values * factor).cast(Int32).bitcast(SIMD[UInt32, WORD]) + _SIGNS
        planes += [_planes([numbers[odd + 2 * i] for i in range(4)])[:digits] for odd in range(2)]
    return tuple(planes), unit, fits


def _planes(numbers: list[Any]) -> tuple[Any, ...]:
    """Of four numbers the first digits in one, the second ones in one, and so on."""
    a, b, c, d = numbers
    halves = [(byte_permute(a, b, s), byte_permute(c, d, s)) for s in (0x5140, 0x7362)]
    return tuple([byte_permute(*half, s) ^ _SIGNS for half in halves for s in (0x5410, 0x7632)])
