"""Products by Hopper's tensor cores: tiles that the hardware copies, and warps with tasks of their own.

A persistent grid, as CUTLASS 3 has it (``sm90_gemm_tma_warpspecialized_cooperative``): one thread of the
first warpgroup has tiles copied into a ring of stages, two warpgroups multiply what has come, and what they
have made is copied out of shared memory while they go on with the next tile. Blocks take tiles in bands of
rows, so that what they read at the same time lies in the cache. Both sides may lie along k or, of 16 bits,
across it. Where tiles do not fill all multiprocessors k is split, of all tiles or of the last: ``joining``
adds up the parts in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from weft import Bool, Comptime, Float32, Int, Int32, UInt64, func, kernel, unroll
from weft.gpu import block_idx, grid_dim, lane_id, launch_bounds, thread_idx, warp, warp_id, wgmma
from weft.gpu.cluster import block_rank_in_cluster, cluster_sync
from weft.gpu.pipeline import Pipeline
from weft.kernels.early import begin_early
from weft.kernels.products.clusters import gathered, open_meetings
from weft.kernels.products.finish import Ways, finished, unchanged
from weft.kernels.products.joining import FOUR, counters, joined
from weft.kernels.products.schedule import Form, Schedule
from weft.kernels.row_memory import Line
from weft.lang.generic import written
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.memory import AddressSpace, Pointer, dynamic_shared_memory, stack_allocation

LINE = 128
"""Bytes of a row of a stage."""
ROWS = 64
"""Rows that a warpgroup multiplies at once."""
PANEL = 64
"""Rows and columns of a piece of what lies across k."""
PAIRED = 160
"""The most columns of one warpgroup's tile with which two blocks have registers for both at once."""


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
    whole: Int,
    parts: Any,
    table: Any,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    form: Comptime[Form],
    ways: Comptime[Any],
):
    """As ``multiply``, with whatever is to become of the sums."""
    sizes, ends = (m, n, k, batches, splits, whole), (alpha, terms, epilogue)
    if parts:
        parts = parts[0].start, parts[1].start, parts[2]
    multiply(a, b, out, sizes, parts, table, ends, form=form, ways=ways)


@kernel
def bare(
    a: Pointer[Any],
    b: Pointer[Any],
    out: Pointer[Any],
    of_a: Int,
    of_b: Int,
    of_out: Int,
    kept: Pointer[Any],
    counts: Pointer[Any],
    token: UInt64,
    m: Int,
    n: Int,
    k: Int,
    batches: Int,
    splits: Int,
    whole: Int,
    a_lead: Int,
    a_step: Int,
    b_lead: Int,
    b_step: Int,
    out_lead: Int,
    out_step: Int,
    *,
    form: Comptime[Any],
    boxes: Comptime[Any],
    ways: Comptime[Any],
):
    """As ``multiply``, where nothing becomes of the sums: with plain arguments, which are launched quickly.

    ``of_a``, ``of_b`` and ``of_out`` are where the tiles of ``boxes`` are described. ``form`` and ``ways``
    are plain tuples, since native launches take no other.
    """
    made, (box_a, box_b, box_out), one = Form(*form), boxes, Int(1)
    lead_a, lead_b = (one if shared else batches for shared in made.shared)
    tile_a = tiles(a, of_a, box_a, (lead_a, m, k), (a_lead, a_step), made.majors[0])
    tile_b = tiles(b, of_b, box_b, (lead_b, n, k), (b_lead, b_step), made.majors[1])
    into: Any = Line(out, (out_lead, out_step), one)
    if made.along == 1:
        into = tiles(out, of_out, box_out, (batches, m, n), (out_lead, out_step), "k")
    sizes, ends, parts = (
        (m, n, k, batches, splits, whole),
        (Float32(1), (), unchanged),
        (kept, counts.bitcast(UInt64), token),
    )
    multiply(tile_a, tile_b, (into,), sizes, parts, (), ends, form=made, ways=Ways(*ways))


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
    parts: Any,
    table: Any,
    ends: Any,
    *,
    form: Comptime[Form],
    ways: Comptime[Any],
) -> None:
    """``out[z] = a[z] @ b[z].T``, in tiles by ``Schedule``.

    ``out`` has tiles of the result, its memory, or both: the hardware then stores where all rows of a piece
    are of one matrix. Sums of split tiles are joined in ``parts``: memory for them, counters, and what stands
    beside counts.
    Where there is a ``table`` it has of each of ``m`` rows of tiles the matrix of ``b``, the first row and
    the end of the rows, as ``groups`` makes it.
    """
    m, n, k, batches, splits, whole = sizes
    (bm, bn), bk, stages, cluster = form.tile, LINE // a.dtype.itemsize, form.stages, form.cluster
    launch_bounds(128 * (1 + form.groups), 2 if form.groups == 1 and bn <= PAIRED else 1)
    tiles_a = cast("Any", dynamic_shared_memory)(a.dtype, alignment=1024)
    tiles_b = (tiles_a + stages * bm * bk).bitcast(written(b.dtype))
    words = stack_allocation(UInt64, 2 * stages + 2, address_space=AddressSpace.SHARED)
    pipe = Pipeline[stages](words)
    if form.along > 1:
        open_meetings(words + 2 * stages, 4 * form.groups, form.along)
    pipe.init(consumers=form.groups * cluster)
    begin_early()
    number = Int(0)
    if form.blocks > 1:
        number = block_rank_in_cluster()
        cluster_sync()  # no block brings anything before the others' barriers are there
    down, across = m if table else -(-m // (bm * cluster)), -(-n // bn)
    rest = down * across * batches - whole
    work = Schedule(m, down, across, -(-k // bk), splits, whole, rest, number % cluster, number // cluster)
    if thread_idx.x < 128:
        if form.groups > 1:
            wgmma.set_max_registers(40, more=False)
        if thread_idx.x == 0:
            produce(a, b, out, (tiles_a, tiles_b), pipe, work, table, form=form)
    else:
        if form.groups > 1:
            wgmma.set_max_registers(232, more=True)
        consume((tiles_a, tiles_b), pipe, work, out, n, parts, table, ends, form=form, ways=ways)
    if form.blocks > 1:
        cluster_sync()  # no block ends while another brings it something, or reads its sums


@func
def produce(
    a: Any, b: Any, out: Any, memory: Any, pipe: Any, work: Any, table: Any, *, form: Comptime[Form]
) -> None:
    """Have stages copied, one after the other."""
    for x in (a, b, out[0]):
        if isinstance(x, TMATensorTile):
            x.prefetch_descriptor()
    (bm, bn), cluster, bk = form.tile, form.cluster, LINE // a.dtype.itemsize
    own, held, round = bn // cluster, form.held, Int(0)
    for unit in range(block_idx.x // form.blocks, work.units, grid_dim.x // form.blocks):
        z, row, col, _, first, last = work.found(unit, table, form)
        of_a, of_b = (Int(0) if shared else z for shared in form.shared)
        for step in range(first, last):
            stage, full = pipe.producer_acquire(round), pipe.full(round)
            full.expect_bytes((bm + held) * LINE)
            here_a, here_b = memory[0] + stage * (bm * bk), memory[1] + (stage * held + work.rank * own) * bk
            fetch(a, here_a, full, (of_a, row, step * bk), bm, form.majors[0])
            fetch(b, here_b, full, (of_b, col + work.rank * own, step * bk), own, form.majors[1], cluster)
            round += 1


@func
def consume(
    memory: Any,
    pipe: Any,
    work: Any,
    out: Any,
    n: Int,
    parts: Any,
    table: Any,
    ends: Any,
    *,
    form: Comptime[Form],
    ways: Comptime[Any],
) -> None:
    """Multiply what has come, and write the sums."""
    (tiles_a, tiles_b), (bm, bn), cluster = memory, form.tile, form.cluster
    group = (
        Int(warp.broadcast(Int32(thread_idx.x) // 128)) - 1
    )  # of which the assembler knows that it is one's
    bk, round = LINE // tiles_a.dtype.itemsize, Int(0)
    high, wide = bm * form.beside // form.groups, bn // form.beside
    rows, columns = group // form.beside * high, group % form.beside * wide
    kind = Int32 if tiles_a.dtype.is_integer else Float32
    area = (tiles_b + form.stages * form.held * bk).bitcast(ways.type) + group * (2 * ROWS * ways.piece)
    for unit in range(block_idx.x // form.blocks, work.units, grid_dim.x // form.blocks):
        z, row, col, end, first, last = work.found(unit, table, form)
        sums = tuple([wgmma.warpgroup_zero(wide, kind) for _ in range(high // ROWS)])
        for step in range(first, last):
            stage = pipe.consumer_wait(round)
            here = tiles_a + (stage * bm + rows) * bk, tiles_b + (stage * form.held + columns) * bk
            sums = multiplied(sums, here, bk, form.majors)
            if step > first:
                release(pipe, round - 1, cluster=cluster)  # of which the product has ended
            round += 1
        sums = tuple([wgmma.wgmma_wait(some) for some in sums])
        if last > first:
            release(pipe, round - 1, cluster=cluster)
        if form.along > 1:
            sums = gathered(sums, tiles_a.bitcast(kind), pipe.words + 2 * form.stages, work.share, form.along)
            columns += work.share * (wide // form.along)
        writes = Bool(True)
        if form.split:
            if unit >= work.whole:
                sums, writes = join(sums, parts, work, unit, form)
        if writes:
            for i in unroll(range(high // ROWS)):
                at = Int(0) if table else z, row + rows + i * ROWS, col + columns
                write(sums[i], area, out, at, (end, n), ends, ways=ways)
    if isinstance(out[0], TMATensorTile) and lane_id() == 0:
        out[0].wait_group()


def multiplied(sums: Any, here: Any, bk: int, majors: Any) -> Any:
    """A warpgroup's sums with a stage's products, which go on; those of the stage before have ended."""
    major_a, major_b = majors
    return tuple(
        [
            wgmma.wgmma_async(
                here[0] + i * ROWS * bk, here[1], some, wait=len(sums), a_major=major_a, b_major=major_b
            )
            for i, some in enumerate(sums)
        ]
    )


@func
def release(pipe: Any, round: Int, *, cluster: Comptime[int]) -> None:
    """Say to whoever brings something into a round's stage that this warpgroup has used it."""
    if thread_idx.x % 128 == 0:
        if cluster == 1:
            pipe.consumer_release(round)
        else:
            for other in unroll(range(cluster)):
                pipe.free(round).arrive_cluster(other)


def join(sums: Any, parts: Any, work: Any, unit: Any, form: Form) -> Any:
    """All sums of a tile and whether they are there, in the last of the warps that have parts of it."""
    (kept, counts, token), (tile, part) = parts, work.part(unit)
    tile, size = tile * form.blocks + work.rank + work.share, form.tile[0] * form.tile[1] // form.along
    number, warps = warp_id() - 4, 4 * form.groups
    own = kept + (tile * work.splits * size + number * (size // warps) + lane_id() * FOUR)
    mine = counts + (tile * warps + number) * counters(work.splits)
    return joined(sums, own, part, work.splits, Int(size), mine, token)


def fetch(x: Any, into: Any, full: Any, at: Any, extent: int, major: str, cluster: int = 1) -> None:
    """Begin to copy rows of a stage, to all of a cluster: in one piece along k, in panels across it."""
    z, row, k = at
    pieces = 1 if major == "k" else -(-extent // PANEL)
    for i in range(pieces):
        place = (z, row, k) if major == "k" else (z, k, row + i * PANEL)
        if cluster == 1:
            x.async_copy(into + i * PANEL * PANEL, full, place)
        else:
            x.async_multicast_load(into + i * PANEL * PANEL, full, place, 2**cluster - 1)


@func
def write(sums: Any, area: Any, out: Any, at: Any, extents: Any, ends: Any, *, ways: Comptime[Any]) -> None:
    """Write a warpgroup's sums: tiles by the hardware, or each thread its own."""
    if not isinstance(out[0], TMATensorTile):
        by_threads(sums, out[0], at, extents, ends, ways=ways)
    elif len(out) == 1 or at[1] + (warp_id() % 4 + 1) * 16 <= extents[0]:
        by_hardware(sums, area, out[0], at, extents, ends, ways=ways)
    else:
        by_threads(sums, out[1], at, extents, ends, ways=ways)


@func
def by_hardware(
    sums: Any, area: Any, out: Any, at: Any, extents: Any, ends: Any, *, ways: Comptime[Any]
) -> None:
    """Write a warpgroup's sums by copies of pieces, one of which goes on while the next is put together."""
    (z, row, col), piece, kind = at, ways.piece, ways.type
    first = warp_id() % 4 * 16
    last = 2 * len(sums) - piece  # where the last piece begins, which may lie over the one before
    starts = [*range(0, last, piece), last]
    for c, start in unroll(enumerate(starts)):
        half = area + c % 2 * (ROWS * piece)
        if lane_id() == 0:  # the copy before the last has been read; of odd ones the last too
            out.wait_group(int(c > 0 or len(starts) % 2 == 0), read=True)
        warp.syncwarp()
        some = sums[start // 2 : (start + piece) // 2]
        places = wgmma.warpgroup_places(piece)
        for i in unroll(range(0, len(some), 2)):
            r, x = places[i]
            pair = finished(some[i : i + 2], (z, row + r, col + start + x), extents, ends, ways=ways)
            half.store(wgmma.swizzled(kind, r, x), pair.cast(kind), alignment=2 * kind.dtype.itemsize)
        wgmma.async_proxy_fence()
        warp.syncwarp()
        if lane_id() == 0:
            out.async_store(half + first * piece, (z, row + first, col + start))
            out.commit_group()


@func
def by_threads(sums: Any, out: Any, at: Any, extents: Any, ends: Any, *, ways: Comptime[Any]) -> None:
    """Write a warpgroup's sums, each thread its own, in pairs if ``paired``."""
    (z, row, col), kind, places = at, ways.type, wgmma.warpgroup_places(2 * len(sums))
    for i in unroll(range(0, len(sums), 2)):
        r, x = row + places[i][0], col + places[i][1]
        if r < extents[0] and x < extents[1]:
            pair = finished(sums[i : i + 2], (z, r, x), extents, ends, ways=ways).cast(kind)
            there = out.start + (z * out.steps[0] + r * out.steps[1] + x * out.step)
            if ways.paired:
                there.store(0, pair, alignment=2 * kind.dtype.itemsize)
            else:
                there[0] = pair[0]
                if x + 1 < extents[1]:
                    there[out.step] = pair[1]
