"""Products by Hopper's tensor cores: tiles that the hardware copies, and warps with tasks of their own.

A persistent grid, as CUTLASS 3 has it (``sm90_gemm_tma_warpspecialized_cooperative``): one thread of the
first warpgroup has tiles copied into a ring of stages, two warpgroups multiply what has come, and what they
have made is copied out of shared memory while they go on with the next tile. Blocks take tiles in bands of
rows, so that what they read at the same time lies in the cache. Both sides may lie along k or, of 16 bits,
across it. Where there are too few tiles for all multiprocessors k is split: ``parts`` sums the parts in a
fixed order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from weft import Comptime, Float32, Int, Int32, UInt64, func, kernel, unroll
from weft.gpu import block_idx, grid_dim, lane_id, launch_bounds, thread_idx, warp, warp_id, wgmma
from weft.gpu.pipeline import Pipeline
from weft.kernels.products.finish import Ways, finished, unchanged
from weft.lang.generic import written
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.memory import AddressSpace, Pointer, dynamic_shared_memory, stack_allocation

LINE = 128
"""Bytes of a row of a stage."""
ROWS = 64
"""Rows that a warpgroup multiplies at once."""
GROUPS = 2
"""Warpgroups that multiply."""
PANEL = 64
"""Rows and columns of a piece of what lies across k."""


@kernel
def product(
    a: TMATensorTile[Any],
    b: TMATensorTile[Any],
    out: Any,
    m: Int,
    n: Int,
    k: Int,
    batches: Int,
    splits: Int,
    table: Any,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    tile: Comptime[tuple[int, int]],
    beside: Comptime[int],
    stages: Comptime[int],
    band: Comptime[int],
    majors: Comptime[tuple[Any, Any]],
    shared: Comptime[tuple[bool, bool]],
    ways: Comptime[Any],
):
    """As ``multiply``, with whatever is to become of the sums."""
    known = {"tile": tile, "beside": beside, "stages": stages, "band": band, "majors": majors}
    sizes, ends = (m, n, k, batches, splits), (alpha, terms, epilogue)
    multiply(a, b, out, sizes, table, ends, shared=shared, ways=ways, **known)


@kernel
def bare(
    a: Pointer[Any],
    b: Pointer[Any],
    out: Pointer[Any],
    of_a: Int,
    of_b: Int,
    of_out: Int,
    m: Int,
    n: Int,
    k: Int,
    batches: Int,
    splits: Int,
    a_lead: Int,
    a_step: Int,
    b_lead: Int,
    b_step: Int,
    out_lead: Int,
    out_step: Int,
    *,
    tile: Comptime[tuple[int, int]],
    beside: Comptime[int],
    stages: Comptime[int],
    band: Comptime[int],
    majors: Comptime[tuple[Any, Any]],
    shared: Comptime[tuple[bool, bool]],
    boxes: Comptime[Any],
    ways: Comptime[Any],
):
    """As ``multiply``, where nothing becomes of the sums: with plain arguments, which are launched quickly.

    ``of_a``, ``of_b`` and ``of_out`` are where the tiles of ``boxes`` are described. ``ways`` is a plain
    tuple, since native launches take no other.
    """
    (box_a, box_b, box_out), one = boxes, Int(1)
    tile_a = tiles(a, of_a, box_a, (one if shared[0] else batches, m, k), (a_lead, a_step), majors[0])
    tile_b = tiles(b, of_b, box_b, (one if shared[1] else batches, n, k), (b_lead, b_step), majors[1])
    into = tiles(out, of_out, box_out, (batches * splits, m, n), (out_lead, out_step), "k")
    known = {"tile": tile, "beside": beside, "stages": stages, "band": band, "majors": majors}
    sizes, ends = (m, n, k, batches, splits), (Float32(1), (), unchanged)
    multiply(tile_a, tile_b, into, sizes, (), ends, shared=shared, ways=Ways(*ways), **known)


def tiles(memory: Any, descriptor: Any, box: Any, extents: Any, steps: Any, major: str) -> TMATensorTile[Any]:
    """Tiles of a side, of what a kernel is told of it."""
    z, rows, columns = extents
    layout = Layout((z, rows, columns) if major == "k" else (z, columns, rows), (*steps, 1))
    tensor = cast("Any", LayoutTensor)(memory, layout)
    return TMATensorTile[Any](
        tensor, box, TensorMapSwizzle.SWIZZLE_128B, Pointer.from_address(descriptor, UInt64)
    )


@func
def multiply(
    a: Any,
    b: Any,
    out: Any,
    sizes: Any,
    table: Any,
    ends: Any,
    *,
    tile: Comptime[tuple[int, int]],
    beside: Comptime[int],
    stages: Comptime[int],
    band: Comptime[int],
    majors: Comptime[tuple[Any, Any]],
    shared: Comptime[tuple[bool, bool]],
    ways: Comptime[Any],
) -> None:
    """``out[z] = a[z] @ b[z].T`` in tiles of ``tile``, for which ``beside`` groups go side by side.

    ``shared`` says which of the sides all batches have in common. Part s of ``splits`` goes to
    ``out[s * batches + z]``. Where there is a ``table`` it has of each of ``m`` rows of tiles the matrix of
    ``b``, the first row and the end of the rows, as ``groups`` makes it.
    """
    m, n, k, batches, splits = sizes
    (bm, bn), bk = tile, LINE // a.dtype.itemsize
    launch_bounds(128 * (1 + GROUPS))
    tiles_a = cast("Any", dynamic_shared_memory)(a.dtype, alignment=1024)
    tiles_b = (tiles_a + stages * bm * bk).bitcast(written(b.dtype))
    pipe = Pipeline[stages](stack_allocation(UInt64, 2 * stages, address_space=AddressSpace.SHARED))
    pipe.init(consumers=GROUPS)
    down, across = m if table else -(-m // bm), -(-n // bn)
    count, steps = down * across, -(-k // bk)
    each = -(-steps // splits)

    def found(unit: Any) -> Any:
        """The matrices and part of a unit, its first row and column, and the end of its rows."""
        row, col = place(unit % count, down, across, band)
        if table:
            z, first, end = (table[0][3 * row + i].cast(Int) for i in range(3))
            return z, Int(0), first, col * bn, end
        return unit // count % batches, unit // count // batches, row * bm, col * bn, m

    group, round = thread_idx.x // 128, Int(0)
    if group == 0:  # the producer
        wgmma.set_max_registers(40, more=False)
        if thread_idx.x == 0:
            for x in (a, b, out):
                if isinstance(x, TMATensorTile):
                    x.prefetch_descriptor()
            for unit in range(block_idx.x, count * batches * splits, grid_dim.x):
                z, part, row, col, end = found(unit)
                of_a, of_b = Int(0) if shared[0] else z, Int(0) if shared[1] else z
                for step in range(part * each, min(part * each + each, steps if row < end else Int(0))):
                    stage, full = pipe.producer_acquire(round), pipe.full(round)
                    full.expect_bytes((bm + bn) * LINE)
                    fetch(a, tiles_a + stage * (bm * bk), full, (of_a, row, step * bk), bm, majors[0])
                    fetch(b, tiles_b + stage * (bn * bk), full, (of_b, col, step * bk), bn, majors[1])
                    round += 1
    else:  # the consumers
        wgmma.set_max_registers(232, more=True)
        high, wide = bm * beside // GROUPS, bn // beside
        rows, columns = (group - 1) // beside * high, (group - 1) % beside * wide
        leads, kind = thread_idx.x % 128 == 0, Int32 if a.dtype.is_integer else Float32
        area = (tiles_b + stages * bn * bk).bitcast(ways.type) + (group - 1) * (2 * ROWS * ways.piece)
        for unit in range(block_idx.x, count * batches * splits, grid_dim.x):
            z, part, row, col, end = found(unit)
            sums = tuple([wgmma.warpgroup_zero(wide, kind) for _ in range(high // ROWS)])
            first = part * each
            last = min(first + each, steps if row < end else Int(0))
            for step in range(first, last):
                stage = pipe.consumer_wait(round)
                here_a = tiles_a + (stage * (bm * bk) + rows * bk)
                here_b = tiles_b + (stage * (bn * bk) + columns * bk)
                sums = tuple(
                    [
                        wgmma.wgmma_async(
                            here_a + i * ROWS * bk,
                            here_b,
                            sums[i],
                            wait=high // ROWS,
                            a_major=majors[0],
                            b_major=majors[1],
                        )
                        for i in unroll(range(high // ROWS))
                    ]
                )
                if leads and step > first:
                    pipe.consumer_release(round - 1)  # of which the product has ended
                round += 1
            sums = tuple([wgmma.wgmma_wait(sums[i]) for i in unroll(range(high // ROWS))])
            if leads and last > first:
                pipe.consumer_release(round - 1)
            depth = Int(0) if table else z + part * batches
            for i in unroll(range(high // ROWS)):
                at = depth, row + rows + i * ROWS, col + columns
                write(sums[i], area, out, at, (end, n), ends, ways=ways)
        if isinstance(out, TMATensorTile) and lane_id() == 0:
            out.wait_group()


def fetch(x: Any, into: Any, full: Any, at: Any, extent: int, major: str) -> None:
    """Begin to copy rows of a stage: in one piece along k, in panels across it."""
    z, row, k = at
    if major == "k":
        x.async_copy(into, full, (z, row, k))
    else:
        for i in range(extent // PANEL):
            x.async_copy(into + i * PANEL * PANEL, full, (z, k, row + i * PANEL))


@func
def place(tile: Int, down: Int, across: Int, band: Comptime[int]) -> tuple[Int, Int]:
    """Row and column of a tile of the result, counted in tiles: bands of rows, from left to right."""
    first = tile // (across * band) * band
    high = min(down - first, Int(band))
    return first + tile % (across * band) % high, tile % (across * band) // high


@func
def write(sums: Any, area: Any, out: Any, at: Any, extents: Any, ends: Any, *, ways: Comptime[Any]) -> None:
    """Write a warpgroup's sums: tiles by the hardware, or each thread its own, in pairs if ``paired``."""
    z, row, col = at
    piece, kind = ways.piece, ways.type
    if isinstance(out, TMATensorTile):
        out = cast("Any", out)
        first = warp_id() % 4 * 16
        for c in unroll(range(2 * len(sums) // piece)):
            half = area + c % 2 * (ROWS * piece)
            if lane_id() == 0:  # the copy before the last has been read
                out.wait_group(1, read=True)
            warp.syncwarp()
            some = sums[piece // 2 * c : piece // 2 * (c + 1)]
            places = wgmma.warpgroup_places(piece)
            for i in unroll(range(0, len(some), 2)):
                r, x = places[i]
                pair = finished(some[i : i + 2], (z, row + r, col + c * piece + x), extents, ends, ways=ways)
                half.store(wgmma.swizzled(kind, r, x), pair.cast(kind), alignment=2 * kind.dtype.itemsize)
            wgmma.async_proxy_fence()
            warp.syncwarp()
            if lane_id() == 0:
                out.async_store(half + first * piece, (z, row + first, col + c * piece))
                out.commit_group()
    else:
        places = wgmma.warpgroup_places(2 * len(sums))
        for i in unroll(range(0, len(sums), 2)):
            r, x = row + places[i][0], col + places[i][1]
            if r < extents[0] and x < extents[1]:
                pair = finished(sums[i : i + 2], (z, r, x), extents, ends, ways=ways)
                there, pair = (
                    out.start + (z * out.steps[0] + r * out.steps[1] + x * out.step),
                    pair.cast(kind),
                )
                if ways.paired:
                    there.store(0, pair, alignment=2 * kind.dtype.itemsize)
                else:
                    there[0] = pair[0]
                    if x + 1 < extents[1]:
                        there[out.step] = pair[1]
