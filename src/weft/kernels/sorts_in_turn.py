"""Rows sorted, or selected from, by one thread each: what a CPU does with all but the longest.

Few elements are sorted by insertion, more by their digits from the lowest (a pass for each in which they
differ), and of a row that keeps few the least so far are known, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.algorithm.elements import Memory
from weft.algorithm.onesweep import BITS, DIGITS, digit_bits, digit_of
from weft.dtype import DType, as_dtype
from weft.gpu import block_idx
from weft.kernels.operands import Operand, Operands
from weft.kernels.row_memory import type_of
from weft.lang import Comptime, Int, Pointer, UInt8, UInt32, func, iota, kernel, unroll
from weft.lang.generic import written
from weft.math import min as least
from weft.memory import stack_allocation

MOST, KEPT = 1 << 15, 32
"""Elements of a row that one thread sorts, and how many at most it keeps of a row of any length."""
_INSERTED = 48
"""Elements that are inserted one after the other."""
BESIDE, EXCHANGED, HELD = 16, 512, 2048
"""Rows that are sorted together, and their elements and bytes at most, so that a core's cache holds all."""
_TASKS, _PART = 64, 1 << 16
"""Rows are shared by so many threads at most; elements of a long row that one has at least."""


@kernel
def insert_rows(
    src: Pointer[Any],
    out: Any,
    others: Any,
    moved: Any,
    rows: Int,
    n: Int,
    each: Int,
    *,
    descending: Comptime[bool],
):
    """``each`` so many rows of a thread, of few elements."""
    for row in range(block_idx.x * each, least((block_idx.x + 1) * each, rows)):
        _insert(src, out, others, moved, row, n, most=_INSERTED, descending=descending)


@func
def _insert(
    src: Any,
    out: Any,
    others: Any,
    moved: Any,
    row: Any,
    n: Any,
    *,
    most: Comptime[int],
    descending: Comptime[bool],
) -> None:
    keys = stack_allocation(src.element_type, most)
    words = stack_allocation(type_of(digit_bits(src.element_type(0), descending)), most)
    places = stack_allocation(UInt32, most)
    for i in range(n):
        key = src[row * n + i]
        bits, j = digit_bits(key, descending), Int(i)
        keys[i] = key
        while j > 0 and words[j - 1] > bits:
            words[j], places[j] = words[j - 1], places[j - 1]
            j -= 1
        words[j], places[j] = bits, UInt32(i)
    for i in range(n):
        place = Int(places[i])
        if out is not None:
            out.start[row * n + i] = keys[place]
        if moved is not None:
            _move(others, moved, row * n, i, place)


def _move(others: Any, moved: Any, first: Any, at: Any, place: Any) -> None:
    """Write what goes with the key that came from a place of its row."""
    moved.start[first + at] = (place if others is None else others.start[first + place]).cast(
        moved.start.element_type
    )


@kernel
def sort_rows_by_digits(
    src: Pointer[Any],
    out: Any,
    others: Any,
    moved: Any,
    rows: Int,
    n: Int,
    each: Int,
    spare: Pointer[Any],
    orders: Any,
    *,
    descending: Comptime[bool],
):
    """``each`` so many rows of a thread, which has room for two of them in ``spare`` and ``orders``."""
    room = spare + 2 * n * block_idx.x, None if moved is None else orders.start + 2 * n * block_idx.x
    for row in range(block_idx.x * each, least((block_idx.x + 1) * each, rows)):
        _by_digits(src, out, others, moved, row, n, room, descending=descending)


@func
def _by_digits(
    src: Any, out: Any, others: Any, moved: Any, row: Int, n: Int, room: Any, *, descending: Comptime[bool]
) -> None:
    """A row, in room for two of it."""
    passes: int = src.dtype.itemsize
    counts = stack_allocation(UInt32, passes * DIGITS)
    here, there = room[0], room[0] + n
    froms: Any = None
    tos: Any = None
    if moved is not None:
        froms, tos = room[1], room[1] + n
    for k in range(passes * DIGITS):
        counts[k] = 0
    for i in range(n):
        here[i] = src[row * n + i]
        if moved is not None:
            froms[i] = UInt32(i)
        for k in unroll(range(passes)):
            counts[DIGITS * k + Int(digit_of(here[i], UInt32(BITS * k), descending))] += 1
    for k in unroll(range(passes)):
        own = counts + DIGITS * k
        if Int(own[Int(digit_of(here[0], UInt32(BITS * k), descending))]) != n:
            _spread(here, there, froms, tos, own, n, shift=BITS * k, descending=descending)
            here, there, froms, tos = there, here, tos, froms
    for i in range(n):
        if out is not None:
            out.start[row * n + i] = here[i]
        if moved is not None:
            _move(others, moved, row * n, i, Int(froms[i]))


@func
def _spread(
    here: Any,
    there: Any,
    froms: Any,
    tos: Any,
    counts: Any,
    n: Int,
    *,
    shift: Comptime[int],
    descending: Comptime[bool],
) -> None:
    """Write elements, and where they come from, behind those of lesser digits and those before them."""
    total = UInt32(0)
    for d in range(DIGITS):
        counts[d], total = total, total + counts[d]
    for i in range(n):
        digit = Int(digit_of(here[i], UInt32(shift), descending))
        to = Int(counts[digit])
        counts[digit] += 1
        there[to] = here[i]
        if froms is not None:
            tos[to] = froms[i]


@kernel
def exchange_rows(
    src: Pointer[Any],
    out: Any,
    rows: Int,
    n: Int,
    each: Int,
    spare: Pointer[Any],
    *,
    word: Comptime[Any],
    most: Comptime[int],
    descending: Comptime[bool],
):
    """``each`` so many rows of a thread, of which a vector has an element each (Batcher's exchanges).

    Rows with both zeros or with nan go on their own, and those that are too few: so equals keep their order.
    """
    held = stack_allocation(type_of(word.splat(BESIDE, 0)), most)
    alone = stack_allocation(UInt8, BESIDE)
    words, sorted, floats = src.bitcast(word), out.start.bitcast(word), src.dtype.is_float
    steps = iota(Int, BESIDE) * n
    for first in range(block_idx.x * each, least((block_idx.x + 1) * each, rows), BESIDE):
        if first + BESIDE <= rows:
            odd = plus = minus = word.splat(BESIDE, 0) != 0
            for i in range(n):
                bits = words.gather(steps + (first * n + i))
                if floats:
                    value = bits.bitcast(src.element_type)
                    odd, zero = odd | (value != value), value == 0
                    plus, minus = plus | (zero & (bits >= 0)), minus | (zero & (bits < 0))
                held[i] = _ordered(bits) if floats else bits
            odd |= plus & minus
            alone.store(0, odd.cast(UInt8))
            if not odd.all():
                _exchange(held, n, descending=descending)
                for i in range(n):
                    bits = _ordered(held[i]) if floats else held[i]
                    sorted.scatter(steps + (first * n + i), bits, mask=~odd)
        for row in range(first, least(first + BESIDE, rows)):
            if first + BESIDE > rows or (floats and alone[row - first] != 0):
                if n <= _INSERTED:
                    _insert(src, out, None, None, row, n, most=_INSERTED, descending=descending)
                else:
                    room = spare + 2 * n * block_idx.x, None
                    _by_digits(src, out, None, None, row, n, room, descending=descending)


def _ordered(bits: Any) -> Any:
    """The bits of floats as integers of their order, and back."""
    wide = 8 * bits.dtype.itemsize - 1
    return bits ^ ((bits >> wide) & (2**wide - 1))


@func
def _exchange(held: Any, n: Int, *, descending: Comptime[bool]) -> None:
    """Sort lane by lane (Knuth, "The Art of Computer Programming", volume 3, algorithm 5.2.2M)."""
    shift = Int(1)
    while 1 << (shift - 1) < n:
        apart = Int(1) << (shift - 1)
        within = apart
        while apart > 0:
            for begin in range(apart % within, n - apart, 2 * apart):
                for i in range(begin, least(begin + apart, n - apart)):
                    if i >> shift == (i + apart) >> shift:
                        a, b = held[i], held[i + apart]
                        turned = a < b if descending else b < a
                        held[i], held[i + apart] = turned.select(b, a), turned.select(a, b)
            apart >>= 1
        shift += 1


def sort_in_turn(op: Operands, source: Operand, n: int, descending: bool, memory: Sequence[Any]) -> None:
    """Sort rows of ``n`` elements; arguments are those of ``sort_short_rows``."""
    rows = source.size // n
    each = -(-rows // _TASKS)
    most = min(EXCHANGED, HELD // source.dtype.itemsize)
    if memory[2] is None and n <= most and rows >= BESIDE:
        each = -(-each // BESIDE) * BESIDE
        kind, tasks = source.dtype.kind, -(-rows // each)
        word = as_dtype(f"{'uint' if kind in ('uint', 'bool') else 'int'}{8 * source.dtype.itemsize}")
        known = {"word": written(word), "most": most, "descending": descending}
        spare = op.scratch(2 * n * tasks, source.dtype)
        op.launch(exchange_rows, tasks, 1, source, memory[0], rows, n, each, spare, **known)
        return
    tasks, room = -(-rows // each), ()
    if n > _INSERTED:
        orders = None if memory[2] is None else Memory(op.scratch(2 * n * tasks, DType.uint32).memory)
        room = (op.scratch(2 * n * tasks, source.dtype), orders)
    work = sort_rows_by_digits if room else insert_rows
    op.launch(work, tasks, 1, source, *memory, rows, n, each, *room, descending=descending)


@kernel
def keep_least(
    src: Pointer[Any],
    sources: Any,
    keys: Pointer[Any],
    places: Pointer[Any],
    n: Int,
    k: Int,
    parts: Int,
    *,
    largest: Comptime[bool],
):
    """The ``k`` first of a part of a row, in order: their keys, and places, which ``sources`` may have."""
    row, part = block_idx.x // parts, block_idx.x % parts
    words = stack_allocation(type_of(digit_bits(src.element_type(0), largest)), KEPT)
    froms = stack_allocation(Int, KEPT)
    begin, end = row * n + n * part // parts, row * n + n * (part + 1) // parts
    count, last = Int(0), digit_bits(src[begin], largest)
    for i in range(begin, end):
        bits = digit_bits(src[i], largest)
        if bits < last or count < k:
            j = least(count, k - 1)
            while j > 0 and words[j - 1] > bits:
                words[j], froms[j] = words[j - 1], froms[j - 1]
                j -= 1
            words[j], froms[j] = bits, Int(i)
            count = least(count + 1, k)
            last = words[count - 1]
    for j in range(k):
        to = (row * parts + part) * k + j
        keys[to] = src[froms[j]]
        place = froms[j] - row * n if sources is None else sources.start[froms[j]]
        places[to] = place.cast(places.element_type)


def keep_in_turn(
    op: Operands, source: Operand, n: int, k: int, largest: bool, keys: Operand, places: Operand
) -> None:
    """The ``k`` first of each row, in order; arguments are those of ``select_rows``.

    Parts of long rows each keep as many, in the order of the row, of which the first are taken then.
    """
    rows = source.size // n
    parts = max(1, min(_TASKS // rows, n // _PART))
    if parts == 1:
        op.launch(keep_least, rows, 1, source, None, keys, places, n, k, 1, largest=largest)
        return
    found = op.scratch(rows * parts * k, source.dtype), op.scratch(rows * parts * k, places.dtype)
    op.launch(keep_least, rows * parts, 1, source, None, *found, n, k, parts, largest=largest)
    froms = Memory(found[1].memory)
    op.launch(keep_least, rows, 1, found[0], froms, keys, places, parts * k, k, 1, largest=largest)
