"""Copies between arrays of one shape whose axes lie in memory in any order.

Where the fastest axis of both is the same, threads copy vectors of 16 bytes along it. Where it is not, tiles
go through shared memory (Ruetsch, Micikevicius: "Optimizing Matrix Transpose in CUDA", 2009), whose rows are
swizzled so that rows are written and columns are read 16 bytes a thread without bank conflicts; of short axes
many matrices at once. Few planes go through registers (``weft.kernels.interleaves``).
"""

from __future__ import annotations

from math import prod
from typing import Any

from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.memory import async_copy, async_copy_wait_all
from weft.kernels.early import begin_early
from weft.kernels.interleaves import interleave, planes_of
from weft.kernels.operands import Operand, Operands
from weft.kernels.places import merged, row_major
from weft.kernels.row_memory import begin
from weft.lang import SIMD, Comptime, Int, Int32, Pointer, kernel, unroll
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

THREADS, EACH = 256, 4
"""A block's threads, and how many vectors each of them copies."""
SHORT = 16
"""Axes that are shorter are copied without tiles."""
SINGLE, DEEP = 32, 8
"""The extents of a tile of single elements, and how many threads are one behind the other."""
BLOCK = 2048
"""Elements that a block has of matrices of short axes."""
CHUNK, LINES = 1 << 15, 8
"""Elements that a task of a CPU copies at most; lines of memory that are read by neighbours side by side."""


def contiguous(op: Operands, x: Operand) -> Operand:
    """The same elements in row-major order: a copy in memory of the operation's own."""
    if x.is_whole:
        return x
    made = op.scratch(x.size, x.dtype).seen(x.shape, row_major(x.shape))
    copy(op, x, made)
    return made


def copy(op: Operands, x: Operand, out: Operand) -> None:
    """Launch what copies the elements of an operand to another of the same shape and type."""
    if not x.size:
        return
    x, out = x.halved(), out.halved()
    order = sorted(range(len(x.shape)), key=lambda n: (-out.strides[n], -x.strides[n]))
    shape = tuple(x.shape[n] for n in order)
    extents, (here, there) = merged(shape, *[tuple(o.strides[n] for n in order) for o in (x, out)])
    bits = x.bits
    fast = next((n for n, step in enumerate(here[:-1]) if step == 1 and extents[n] >= SHORT), None)
    turned = there[-1] == 1 and here[-1] != 1 and extents[-1] >= SHORT
    planes = planes_of(extents, here, there)
    short = None if op.threads_are_loops else _short(extents, here, there)
    if planes is not None:
        interleave(op, x, out, extents, here, there, bits, planes)
    elif op.threads_are_loops:
        _copy_by_loops(op, x, out, extents, here, there, bits)
    elif short is not None:
        _copy_by_blocks(op, x, out, extents, here, there, bits, short)
    elif fast is not None and turned:
        _copy_by_tiles(op, x, out, extents, here, there, bits, fast)
    else:
        width = 1
        if here[-1] == there[-1] == 1:
            width = min(o.lanes(extents[-1], *steps[:-1]) for o, steps in ((x, here), (out, there)))
        extents = (*extents[:-1], extents[-1] // width)
        units = prod(extents)
        lines = [(o.memory, steps[:-1], steps[-1]) for o, steps in ((x, here), (out, there))]
        number = Int32 if units < 1 << 31 else Int
        grid = -(-units // (THREADS * EACH))
        known = {"bits": bits, "width": width, "number": number, "threads": THREADS, "each": EACH}
        op.launch(copied, grid, THREADS, *lines[0], *lines[1], units, extents, early=True, **known)


def _short(extents: Any, here: Any, there: Any) -> tuple[int, int] | None:
    """The source's fastest axis, where it and the result's are short, and the one that is next there."""
    fast = next((n for n, step in enumerate(here[:-1]) if step == 1), None)
    if fast is None or there[-1] != 1 or here[-1] == 1 or len(extents) < 3:
        return None
    columns, rows = extents[fast], extents[-1]
    middle = min((n for n in range(len(extents) - 1) if n != fast), key=lambda n: here[n])
    if max(columns, rows) > SINGLE or columns * rows * extents[middle] < THREADS:
        return None
    return fast, middle


def _copy_by_blocks(
    op: Operands, x: Operand, out: Operand, extents: Any, here: Any, there: Any, bits: Any, axes: Any
) -> None:
    fast, middle = axes
    rest = [n for n in range(len(extents) - 1) if n not in axes]
    others = tuple(extents[n] for n in rest) or (1,)
    lines = [
        (o.memory, tuple(steps[n] for n in rest) or (0,), (steps[middle], step))
        for o, steps, step in ((x, here, here[-1]), (out, there, there[fast]))
    ]
    shape = extents[-1], extents[fast]
    some = min(extents[middle], max(1, BLOCK // prod(shape)))
    grid = -(-extents[middle] // some) * prod(others)
    known = {"bits": bits, "shape": shape, "some": some, "threads": THREADS}
    op.launch(turned_short, grid, THREADS, *lines[0], *lines[1], extents[middle], others, early=True, **known)


def _copy_by_loops(
    op: Operands, x: Operand, out: Operand, extents: Any, here: Any, there: Any, bits: Any
) -> None:
    if len(extents) == 1:
        extents, here, there = (1, *extents), (0, *here), (0, *there)
    lines = [(o.memory, steps[:-2] or (0,), steps[-2:]) for o, steps in ((x, here), (out, there))]
    others, rows, n = extents[:-2] or (1,), extents[-2], extents[-1]
    each, width = max(1, CHUNK // n), 1
    if here[-1] == there[-1] == 1:
        width = min(64 // x.dtype.itemsize, 1 << n.bit_length() - 1)
    block = LINES if here[-2] == 1 and width == 1 else CHUNK
    groups, chunks = -(-rows // each), -(-n // CHUNK)
    sizes = rows, n, each, groups, chunks, others
    grid = prod(others) * groups * chunks
    op.launch(looped, grid, 1, *lines[0], *lines[1], *sizes, bits=bits, width=width, block=block)


def _held(rows: int, columns: int, tile: int) -> int:
    """Places of the tiles of a matrix, of which those beyond its end stay empty."""
    return -(-rows // tile) * -(-columns // tile) * tile * tile


def _copy_by_tiles(
    op: Operands, x: Operand, out: Operand, extents: Any, here: Any, there: Any, bits: Any, fast: int
) -> None:
    rest = [n for n in range(len(extents) - 1) if n != fast]
    others = tuple(extents[n] for n in rest) or (1,)
    lines = [
        (o.memory, tuple(steps[n] for n in rest) or (0,), step)
        for o, steps, step in ((x, here, here[-1]), (out, there, there[fast]))
    ]
    rows, columns = extents[-1], extents[fast]  # of the source, whose columns lie side by side
    width = min(x.lanes(columns, here[-1], *lines[0][1]), out.lanes(rows, there[fast], *lines[1][1]))
    tile = max(64, 8 * width)
    wide = width * x.dtype.itemsize == 16 and width > 1
    if wide and _held(rows, columns, tile) <= 2 * _held(rows, columns, SINGLE):
        threads = 512 if tile * tile // width >= 1024 else 256
        grid = -(-rows // tile) * -(-columns // tile) * prod(others)
        known = {"bits": bits, "width": width, "tile": tile, "threads": threads}
        op.launch(
            turned_wide, grid, threads, *lines[0], *lines[1], rows, columns, others, early=True, **known
        )
    else:
        grid = -(-rows // SINGLE) * -(-columns // SINGLE) * prod(others)
        op.launch(
            turned_single,
            grid,
            (SINGLE, DEEP),
            *lines[0],
            *lines[1],
            rows,
            columns,
            others,
            bits=bits,
            early=True,
        )


@kernel
def copied(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    units: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
    width: Comptime[int],
    number: Comptime[Any],
    threads: Comptime[int],
    each: Comptime[int],
):
    """``each`` so many vectors a thread, a block's width apart."""
    begin_early()
    first = number(block_idx.x) * (threads * each) + number(thread_idx.x)
    source, target = x.bitcast(bits), out.bitcast(bits)
    places: list[Any] = []
    for i in unroll(range(each)):
        rest, here, there = least(first + i * threads, number(units - 1)), Int(0), Int(0)
        for axis in unroll(range(len(extents) - 1, -1, -1)):
            extent = number(extents[axis])
            at = Int(rest % extent) if axis else Int(rest)
            last = axis == len(extents) - 1
            here += at * (x_step * width if last else x_steps[axis])
            there += at * (out_step * width if last else out_steps[axis])
            rest = rest // extent
        places.append((here, there))
    aligned = width * bits.dtype.itemsize
    values = [source.load(here, width=width, alignment=aligned) for here, _ in places]
    for i in unroll(range(each)):
        if first + i * threads < number(units):
            target.store(places[i][1], values[i], alignment=aligned)


@kernel
def looped(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Any,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Any,
    rows: Int,
    n: Int,
    each: Int,
    groups: Int,
    chunks: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
    width: Comptime[int],
    block: Comptime[int],
):
    """Some rows, or a part of a long one, by one thread: ``block`` of their elements at a time."""
    part, chunk = block_idx.x // chunks, block_idx.x % chunks * CHUNK
    batch, top = part // groups, part % groups * each
    source, target = (
        begin(x.bitcast(bits), x_steps, batch, extents),
        begin(out.bitcast(bits), out_steps, batch, extents),
    )
    itemsize = bits.dtype.itemsize
    for first in range(chunk, least(n, chunk + CHUNK), block):
        end = least(n, first + block)
        for row in range(top, least(rows, top + each)):
            line, to = source + row * x_step[0], target + row * out_step[0]
            if width == 1:
                for at in range(first, end):
                    to[at * out_step[1]] = line[at * x_step[1]]
            else:
                for at in range(first, end - width + 1, width):
                    to.store(at, line.load(at, width=width, alignment=itemsize), alignment=itemsize)
                last = end - width  # which may begin among those before
                to.store(last, line.load(last, width=width, alignment=itemsize), alignment=itemsize)


def _tile(down: Any, right: Any, tile: int) -> tuple[Any, Any, Any]:
    """Which matrix a block is at, and where its tile begins there.

    Blocks that run together write beside each other. A grid has less than 2**31 blocks.
    """
    block, rows = block_idx.x.cast(Int32), down.cast(Int32)
    strip, tiles = block // rows, right.cast(Int32)
    return Int(strip // tiles), Int(block % rows) * tile, Int(strip % tiles) * tile


@kernel
def turned_wide(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    rows: Int,
    columns: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
    width: Comptime[int],
    tile: Comptime[int],
    threads: Comptime[int],
):
    """A tile by vectors of 16 bytes, ``width`` elements."""
    begin_early()
    groups = tile // width
    held = stack_allocation(bits, tile * tile, address_space=AddressSpace.SHARED, alignment=16)
    down, right = (rows + tile - 1) // tile, (columns + tile - 1) // tile
    batch, top, left = _tile(down, right, tile)
    source, target = (
        begin(x.bitcast(bits), x_steps, batch, extents),
        begin(out.bitcast(bits), out_steps, batch, extents),
    )
    for k in unroll(range(tile * groups // threads)):
        place = thread_idx.x + k * threads
        row, group = place // groups, place % groups
        if top + row < rows and left + group * width < columns:
            to = held + (row * tile + (group ^ (row // width % 8)) * width)
            async_copy(source + ((top + row) * x_step + left + group * width), to)
    async_copy_wait_all()
    barrier()
    for k in unroll(range(tile * groups // threads)):
        place = thread_idx.x + k * threads
        within, strip = place % 32, place // 32
        column = strip // (groups // 8) * 4 + within // 8
        group = strip % (groups // 8) * 8 + within % 8  # of the rows of the source
        if left + column < columns and top + group * width < rows:
            swizzled = (column // width ^ (group % 8)) * width + column % width
            values = [held[(group * width + i) * tile + swizzled] for i in unroll(range(width))]
            vector: Any = SIMD[bits, width]
            place = (left + column) * out_step + top + group * width
            target.store(place, vector(*values), alignment=16)


@kernel
def turned_short(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Any,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Any,
    middles: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
    shape: Comptime[tuple[int, int]],
    some: Comptime[int],
    threads: Comptime[int],
):
    """Some small matrices at once, whose elements a third axis has side by side in the source."""
    begin_early()
    (rows, columns), chunks = shape, (middles + some - 1) // some
    pitch, count = some * columns + 1, rows * some * columns
    held = stack_allocation(bits, rows * pitch, address_space=AddressSpace.SHARED)
    batch, first = block_idx.x // chunks, block_idx.x % chunks * some
    source, target = (
        begin(x, x_steps, batch, extents).bitcast(bits),
        begin(out, out_steps, batch, extents).bitcast(bits),
    )
    places, found = [thread_idx.x + k * threads for k in range(-(-count // threads))], list[Any]()
    for i in places:
        at = least(i, count - 1)
        row, middle, column = at // (some * columns), at // columns % some, at % columns
        found.append(source[row * x_step[1] + least(first + middle, middles - 1) * x_step[0] + column])
    for i, value in zip(places, found, strict=True):
        if i < count:
            held[i // (some * columns) * pitch + i % (some * columns)] = value
    barrier()
    for i in places:
        row, middle, column = i % rows, i // rows % some, i // (rows * some)
        if i < count and first + middle < middles:
            at = column * out_step[1] + (first + middle) * out_step[0] + row
            target[at] = held[row * pitch + middle * columns + column]


@kernel
def turned_single(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    rows: Int,
    columns: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
):
    """A tile by single elements; shared rows are one element longer than needed, against bank conflicts."""
    begin_early()
    held = stack_allocation(bits, SINGLE * (SINGLE + 1), address_space=AddressSpace.SHARED)
    down, right = (rows + SINGLE - 1) // SINGLE, (columns + SINGLE - 1) // SINGLE
    batch, top, left = _tile(down, right, SINGLE)
    source, target = (
        begin(x.bitcast(bits), x_steps, batch, extents),
        begin(out.bitcast(bits), out_steps, batch, extents),
    )
    for k in unroll(range(0, SINGLE, DEEP)):
        row, column = thread_idx.y + k, thread_idx.x
        if top + row < rows and left + column < columns:
            held[row * (SINGLE + 1) + column] = source[(top + row) * x_step + left + column]
    barrier()
    for k in unroll(range(0, SINGLE, DEEP)):
        row, column = thread_idx.x, thread_idx.y + k
        if top + row < rows and left + column < columns:
            target[(left + column) * out_step + top + row] = held[row * (SINGLE + 1) + column]
