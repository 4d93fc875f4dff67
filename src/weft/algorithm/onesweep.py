"""Sorting rows of numbers by their digits: eight bits a pass from the lowest, read once and written once.

One pass over the numbers counts the digits of all passes. In each of these a block ranks the elements of a
tile, finds by look-back how many of each digit stand in tiles before it, and writes its elements where they
belong (Adinets, Merrill: "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022). Equals keep
their order. On a CPU a tile is one thread's, which waits for the tile before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.algorithm.lookback import PART, WHOLE, clear, counter
from weft.atomic import Atomic
from weft.bit import pop_count
from weft.dtype import DType
from weft.gpu import barrier, block, block_idx, grid_dim, lane_id, launch_bounds, thread_idx, warp, warp_id
from weft.gpu.sorting import ordered
from weft.lang import Bool, Comptime, Int, Pointer, UInt8, UInt32, UInt64, func, kernel, struct, unroll
from weft.math import max as most
from weft.math import min as least
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

BITS, DIGITS, STATES = 8, 256, 2
"""Bits of a digit; how many digits there are; bits of a posted word that say its state."""
_HEADER = 8
"""Words before all others, of which each pass has one to count its tiles."""
_THREADS, _EACH, _AHEAD, _BLOCKS, _RESIDENT = 512, 16, 4, 528, 1024
"""Threads of a block, and elements of each; tiles that are looked up at once; blocks that count; threads that
are on a multiprocessor at once."""
_CPU_TILE = 1 << 15
_FEW = 1 << 30
"""Elements from which on they are counted by words of 64 bits."""


@struct
class Digits:
    """What a pass over rows of ``n`` elements in ``tiles`` tiles knows, in words that begin as 0."""

    words: Pointer[Any]
    rows: Int
    n: Int
    tiles: Int
    number: Int
    passes: Int

    def counts(self, row: Int, number: Int) -> Pointer[Any]:
        """How often each digit is in a row; later where those of each begin."""
        return self.words + (_HEADER + (row * self.passes + number) * DIGITS)

    def posts(self, row: Int) -> Pointer[Any]:
        """What the tiles of a row post of each digit in this pass."""
        before = self.passes + self.number * self.tiles  # that many for each row
        return self.words + (_HEADER + (self.rows * before + row * self.tiles) * DIGITS)


def digit_bits(key: Any, descending: bool) -> Any:
    """The unsigned word by which a key is sorted: both zeros are one, and nan comes last."""
    if key.dtype.kind == "bool":
        key = key.cast(UInt8)
    if not key.dtype.is_float:
        return ordered(key, descending)
    bits: Any = ordered((key == 0.0).select(0.0, key), descending)
    return (key == key).select(bits, ~(bits ^ bits))


def digit_of(key: Any, shift: UInt32, descending: bool) -> UInt32:
    """The digit of a pass."""
    bits = digit_bits(key, descending)
    return (bits >> shift.cast(bits.dtype)).cast(UInt32) & (DIGITS - 1)


@kernel
def count_digits(
    src: Pointer[Any],
    scratch: Pointer[Any],
    rows: Int,
    n: Int,
    tiles: Int,
    number: Int,
    *,
    word: Comptime[Any],
    descending: Comptime[bool],
    threads: Comptime[int],
    each: Comptime[int],
):
    """How often each digit is in a row, for all passes."""
    passes: int = src.dtype.itemsize
    known = Digits(scratch.bitcast(word), rows, n, tiles, number, Int(passes))
    blocks = grid_dim.x // rows
    row, part = block_idx.x // blocks, block_idx.x % blocks
    here = stack_allocation(UInt32, passes * DIGITS, address_space=AddressSpace.SHARED)
    for k in range(thread_idx.x, passes * DIGITS, threads):
        here[k] = 0
    barrier()
    source = src + row * n
    for first in range(part * (threads * each), n, blocks * (threads * each)):
        if first + threads * each <= n:
            keys = tuple([source[first + thread_idx.x + k * threads] for k in unroll(range(each))])
            for key in keys:
                _count(here, key, descending)
        else:
            for i in range(first + thread_idx.x, n, threads):
                _count(here, source[i], descending)
    barrier()
    counts = known.counts(row, Int(0))
    for k in range(thread_idx.x, passes * DIGITS, threads):
        if here[k] > 0:
            Atomic.fetch_add(counts + k, here[k].cast(counts.element_type))


def _count(here: Any, key: Any, descending: bool) -> None:
    bits = digit_bits(key, descending)
    for n in range(key.dtype.itemsize):
        digit = (bits >> (BITS * n)).cast(UInt32) & (DIGITS - 1)
        Atomic.fetch_add(here + (DIGITS * n + Int(digit)), 1, scope="block")


@kernel
def sum_digits(scratch: Pointer[Any], *, word: Comptime[Any], threads: Comptime[int]):
    """Let the counts of each row and pass be the sums of those of lesser digits."""
    counts = scratch.bitcast(word) + (_HEADER + block_idx.x * DIGITS)
    if threads == DIGITS:
        counts[thread_idx.x] = block.prefix_sum(counts[thread_idx.x], exclusive=True)
    else:
        total = counts.element_type(0)
        for d in range(DIGITS):
            here = counts[d]
            counts[d] = total
            total += here


@struct
class Tile:
    """Where a thread's elements lie in their row of ``n``: those of a warp follow each other."""

    row: Int
    start: Int
    first: Int
    n: Int
    whole: Bool
    """Whether the row does not end before the tile."""

    def at(self, k: int) -> Any:
        """The thread's element of a number; behind the end the last."""
        place = self.first + k * warp.WARP_SIZE
        return place if self.whole else least(place, self.n - 1)


@kernel
def spread_digits(
    src: Pointer[Any],
    dst: Pointer[Any],
    src_values: Pointer[Any],
    dst_values: Pointer[Any],
    scratch: Pointer[Any],
    rows: Int,
    n: Int,
    tiles: Int,
    number: Int,
    *,
    word: Comptime[Any],
    descending: Comptime[bool],
    values: Comptime[str],
    threads: Comptime[int],
    each: Comptime[int],
    resident: Comptime[int],
):
    """Put the elements of a tile where those of their digits belong.

    ``values`` says what goes with them: nothing (""), what ``src_values`` has ("given"), or each element's
    place in its row ("places").
    """
    launch_bounds(threads, resident)
    warps = threads // warp.WARP_SIZE
    known = Digits(scratch.bitcast(word), rows, n, tiles, number, Int(src.dtype.itemsize))
    pool = dynamic_shared_memory(UInt32, shared_bytes(src.dtype, src_values.dtype, threads, each) // 4)
    masks, ranks = pool, pool + warps * DIGITS
    begins = stack_allocation(word, DIGITS, address_space=AddressSpace.SHARED)
    taken, thread, shift = counter(known.words + number), thread_idx.x, (BITS * number).cast(UInt32)
    row, number_in_row = taken // tiles, taken % tiles
    start, mine = number_in_row * (threads * each), ranks + warp_id() * DIGITS
    _clear(mine, masks + warp_id() * DIGITS)
    first = start + warp_id() * (warp.WARP_SIZE * each) + lane_id()
    tile = Tile(row * n, start, first, n, start + threads * each <= n)
    keys, places = stack_allocation(src.element_type, each), stack_allocation(UInt32, each)

    def digit(k: int) -> Any:
        """An element's digit; behind the end it is the greatest, which comes behind all there are."""
        found = digit_of(keys[k], shift, descending)
        return found if tile.whole else (first + k * warp.WARP_SIZE < n).select(found, UInt32(DIGITS - 1))

    for k in unroll(range(each)):
        keys[k] = src[tile.row + tile.at(k)]
    for k in unroll(range(each)):
        places[k] = _rank(mine, masks + warp_id() * DIGITS, digit(k))
    barrier()
    count, posts = UInt32(0), known.posts(row) + thread
    if thread < DIGITS:
        count = _of_warps(ranks + thread, warps=warps)
        if not tile.whole and thread == DIGITS - 1:  # of those behind the end nobody is told
            count -= (start + threads * each - n).cast(UInt32)
        if number_in_row > 0:
            Atomic.store(posts + number_in_row * DIGITS, count.cast(word) << STATES | word(PART))
    begin = block.prefix_sum(count, exclusive=True)
    if thread < DIGITS:
        for w in unroll(range(warps)):
            ranks[w * DIGITS + thread] += begin
    barrier()
    for k in unroll(range(each)):
        places[k] += mine[digit(k)]
    barrier()
    here = pool.bitcast(src.element_type)
    for k in unroll(range(each)):
        here[places[k]] = keys[k]
    if thread < DIGITS:
        before = known.counts(row, number)[thread] if number_in_row == 0 else _before(posts, number_in_row)
        Atomic.store(posts + number_in_row * DIGITS, (before + count.cast(word)) << STATES | word(WHOLE))
        begins[thread] = before - begin.cast(word)
    barrier()
    goes = stack_allocation(word, each if values else 1)
    for k in unroll(range(each)):
        i = thread + k * threads
        if tile.whole or start + i < n:
            place = begins[digit_of(here[i], shift, descending)] + i.cast(word)
            dst[tile.row + place.cast(Int)] = here[i]
            if values:
                goes[k] = place
    if values:
        given = None if values == "places" else src_values
        _spread_values(tile, given, dst_values, pool, places, goes, threads=threads, each=each)


def _clear(ranks: Any, masks: Any) -> None:
    """Let a warp have counted nothing."""
    for d in range(0, DIGITS, warp.WARP_SIZE):
        ranks[d + lane_id()] = 0
        masks[d + lane_id()] = 0
    warp.syncwarp()


@func
def _of_warps(counts: Pointer[UInt32], *, warps: Comptime[int]) -> UInt32:
    """How many elements all warps have of a digit; each is told how many those before it have."""
    count = UInt32(0)
    for w in unroll(range(warps)):
        of_warp = counts[w * DIGITS]
        counts[w * DIGITS] = count
        count += of_warp
    return count


@func
def _spread_values(
    tile: Tile,
    src: Any,
    dst: Any,
    pool: Any,
    places: Any,
    goes: Any,
    *,
    threads: Comptime[int],
    each: Comptime[int],
) -> None:
    """Bring what goes with a tile's keys, or their places in the row, to where these have gone."""
    there = pool.bitcast(dst.element_type)
    barrier()
    for k in unroll(range(each)):
        value = tile.at(k).cast(there.element_type) if src is None else src[tile.row + tile.at(k)]
        there[places[k]] = value
    barrier()
    for k in unroll(range(each)):
        i = thread_idx.x + k * threads
        if tile.whole or tile.start + i < tile.n:
            dst[tile.row + goes[k].cast(Int)] = there[i]


def shared_bytes(key: DType, value: DType, threads: int, each: int) -> int:
    """Of a tile: it takes the place of what its warps count."""
    return max(2 * threads // warp.WARP_SIZE * DIGITS * 4, threads * each * max(key.itemsize, value.itemsize))


@func
def _before(posts: Pointer[Any], tile: Int) -> Any:
    """Where a tile's elements of the thread's digit go: behind those of tiles before, asked some at once."""
    word: Any = posts.element_type
    behind, found, total = tile - 1, Bool(False), word(0)
    while not found:
        there = tuple([Atomic.load(posts + most(behind - k, 0) * DIGITS) for k in range(_AHEAD)])
        known = Bool(True)
        for posted in there:
            state = posted & ((1 << STATES) - 1)
            known &= (state != 0) & ~found
            total += known.select(posted >> STATES, word(0))
            behind -= Int(known)
            found |= known & (state == WHOLE)
    return total


@func
def _rank(row: Pointer[UInt32], mask: Pointer[UInt32], digit: UInt32) -> UInt32:
    """How many of the warp's elements before this have the same digit; it is counted for the next."""
    bit = UInt32(1) << lane_id().cast(UInt32)
    Atomic.fetch_or(mask + Int(digit), bit, scope="block")
    warp.syncwarp()
    alike, before = mask[digit], row[digit]
    earlier = pop_count(alike & (bit - 1))
    warp.syncwarp()
    if alike >> 1 < bit:  # the last of them
        row[digit] = before + earlier + 1
        mask[digit] = 0
    warp.syncwarp()
    return before + earlier


@kernel
def spread_stretches(
    src: Pointer[Any],
    dst: Pointer[Any],
    src_values: Pointer[Any],
    dst_values: Pointer[Any],
    scratch: Pointer[Any],
    rows: Int,
    n: Int,
    tiles: Int,
    number: Int,
    *,
    word: Comptime[Any],
    descending: Comptime[bool],
    values: Comptime[str],
    each: Comptime[int],
):
    """``spread_digits`` by one thread a tile, of ``each`` elements."""
    known = Digits(scratch.bitcast(word), rows, n, tiles, number, Int(src.dtype.itemsize))
    begins = stack_allocation(word, DIGITS)
    taken, shift = counter(known.words + number), (BITS * number).cast(UInt32)
    row, tile = taken // tiles, taken % tiles
    first, end = row * n + tile * each, row * n + least(tile * each + each, n)
    for d in range(DIGITS):
        begins[d] = 0
    for i in range(first, end):
        begins[digit_of(src[i], shift, descending)] += 1
    posts, counts = known.posts(row) + tile * DIGITS, known.counts(row, number)
    for d in range(DIGITS):
        before = counts[d]
        if tile > 0:
            posted = word(0)
            while posted == 0:
                posted = Atomic.load(posts + (d - DIGITS))
            before = posted >> STATES
        Atomic.store(posts + d, (before + begins[d]) << STATES | word(WHOLE))
        begins[d] = before
    for i in range(first, end):
        digit = digit_of(src[i], shift, descending)
        place = row * n + begins[digit].cast(Int)
        begins[digit] += 1
        dst[place] = src[i]
        if values:
            value = (i - row * n).cast(src_values.element_type) if values == "places" else src_values[i]
            dst_values[place] = value


def sort_rows(
    launch: Callable[..., None],
    scratch: Callable[[int, DType], Any],
    loops: bool,
    shape: tuple[int, int],
    keys: tuple[Any, Any, Any],
    values: tuple[Any, Any, Any] | None = None,
    *,
    dtype: DType,
    value_dtype: DType | None = None,
    descending: bool = False,
) -> None:
    """Sort rows that lie side by side.

    Args:
        launch: of a kernel: grid, block, arguments.
        scratch: makes memory of so many elements of a type.
        loops: whether threads of a block are a loop.
        shape: how many rows there are, of how many elements.
        keys: memory that has them, where the result goes, and some more. The first may be the second, where
            digits are an even number.
        values: likewise what goes with them; None as the first is each element's place in its row.
        dtype: the keys' type.
        value_dtype: the values' type.
        descending: whether the greatest comes first; nan comes last anyway.
    """
    rows, n = shape
    word, wide = (UInt32, DType.int32) if n < _FEW else (UInt64, DType.int64)
    widest = max(dtype.itemsize, value_dtype.itemsize if value_dtype is not None else 0)
    passes, threads, each = dtype.itemsize, _THREADS, _EACH // (widest // 4 or 1)
    if n <= 4 * DIGITS:
        threads, each = DIGITS, 4
    elif n <= DIGITS * each:
        threads = DIGITS
    tile = _CPU_TILE if loops else threads * each
    tiles = -(-n // tile)
    size = _HEADER + rows * passes * (1 + tiles) * DIGITS
    area = scratch(size, wide)
    launch(clear, min(-(-size // DIGITS), 1024), DIGITS, area, size)
    given, named = (area, rows, n, tiles), {"word": word, "descending": descending}
    counting = {"threads": 1, "each": 1} if loops else {"threads": DIGITS, "each": 16}
    blocks = min(-(-n // (1 << 15)), -(-_BLOCKS // rows))
    launch(count_digits, rows * blocks, counting["threads"], keys[0], *given, 0, **named, **counting)
    launch(sum_digits, rows * passes, 1 if loops else DIGITS, area, word=word, threads=1 if loops else DIGITS)
    spread: Any = spread_stretches
    options: dict[str, Any] = {"each": tile}
    launched: dict[str, Any] = {}
    if not loops:
        resident = _RESIDENT if values is None else _RESIDENT // 2
        spread, options = spread_digits, {"threads": threads, "each": each, "resident": resident // threads}
        launched = {"shared_mem_bytes": shared_bytes(dtype, value_dtype or dtype, threads, each)}
    source, taken = keys[0], None if values is None else values[0]
    for number in range(passes):
        last = (passes - number) % 2
        into, also = keys[2 - last], (keys if values is None else values)[2 - last]
        options["values"] = "" if values is None else "places" if taken is None else "given"
        moved = (source, into, also if taken is None else taken, also)
        launch(
            spread,
            rows * tiles,
            1 if loops else threads,
            *moved,
            *given,
            number,
            **named,
            **options,
            **launched,
        )
        source, taken = into, None if values is None else also
