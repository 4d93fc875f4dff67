"""Tiles of rows that warps scan, while one warp more finds what stands before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.algorithm.lookback import before_tile, of_lanes, posts_of, tell, words
from weft.atomic import Atomic
from weft.gpu import barrier, block_idx, grid_dim, lane_id, launch_bounds, thread_idx, warp, warp_id
from weft.kernels.row_memory import begin
from weft.lang import SIMD, Bool, Comptime, Int, Pointer, UInt32, UInt64, func, kernel, unroll
from weft.math import min as least
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

WIDE = 16
"""Bytes of the widest access."""
SLOTS = 3
"""Tiles of a block: one is scanned, the last is told of, of the first is found out what stands before it."""


@kernel
def scan_tiles(
    src: Pointer[Any],
    src_steps: Any,
    src_step: Int,
    dst: Pointer[Any],
    dst_steps: Any,
    dst_step: Int,
    scratch: Pointer[Any],
    n: Int,
    tiles: UInt32,
    all_tiles: UInt32,
    extents: Any,
    init: Any,
    *,
    function: Comptime[Callable[..., Any]],
    kind: Comptime[Any],
    exclusive: Comptime[bool],
    several: Comptime[bool],
    threads: Comptime[int],
    lanes: Comptime[int],
    vectors: Comptime[int],
    resident: Comptime[int],
    wide: Comptime[tuple[bool, bool]],
):
    """Tiles of rows of ``n`` elements, each of which has ``tiles``: a block takes one after the other.

    A warp's elements follow each other: ``vectors`` times its lanes read ``lanes`` each. A tile waits in
    shared memory until the last warp, which scans nothing, has found what stands before it; meanwhile the
    others scan the next one and have the one after that on its way. ``wide`` says of source and destination
    whether ``lanes`` elements are an aligned vector.
    """
    launch_bounds(threads + warp.WARP_SIZE, resident)
    count, each, warps = vectors * lanes, threads * vectors * lanes, threads // warp.WARP_SIZE
    looks, leads = warp_id() == warps, lane_id() == 0
    mine = dynamic_shared_memory(kind, SLOTS * each) + thread_idx.x
    start = warp_id() * (warp.WARP_SIZE * count) + lane_id() * lanes
    turns = stack_allocation(UInt32, 2, address_space=AddressSpace.SHARED)
    parts = stack_allocation(kind, SLOTS * warps, address_space=AddressSpace.SHARED)
    heads = stack_allocation(kind, 2 * warps, address_space=AddressSpace.SHARED)
    values, number = stack_allocation(kind, count), block_idx.x.cast(UInt32)

    def read(number: Any) -> None:
        """Begin to read a tile."""
        source, at = begin(src, src_steps, Int(number // tiles), extents), Int(number % tiles) * each
        _read(source, values, at, start, n, src_step, threads, vectors, lanes, wide[0])

    if several:
        if looks & leads:
            turns[0] = Atomic.fetch_add(scratch.bitcast(UInt32), 1)
        barrier()
        number = turns[0]
    if (number < all_tiles) & ~looks:
        read(number)
    waiting, slot, turn = (all_tiles,) * (SLOTS - 1), Int(0), Int(0)
    while least(number, *waiting) < all_tiles:
        last, older = waiting[0], waiting[-1]
        told, known, taken = (slot + (SLOTS - 1)) % SLOTS, (slot + 1) % SLOTS, UInt32(0)
        if looks:
            if several and leads:
                taken = Atomic.fetch_add(scratch.bitcast(UInt32), 1)
            if several and last < all_tiles:
                _tell(function, parts + told * warps, (scratch, last, tiles), init, warps=warps)
            if older < all_tiles:
                tile = scratch, older, tiles
                _look(function, parts + known * warps, heads + turn * warps, tile, init, several, warps=warps)
            if several and leads:
                turns[1 - turn] = taken
        if ~looks & (number < all_tiles):
            own, total = _of_warp(function, values, exclusive, vectors=vectors, lanes=lanes)
            for k in unroll(range(count)):
                mine[(slot * count + k) * threads] = own[k]
            if leads:
                parts[slot * warps + warp_id()] = total
        barrier()
        following = turns[1 - turn] if several else number + grid_dim.x.cast(UInt32)
        if number >= all_tiles:
            following = all_tiles
        if ~looks & (following < all_tiles):
            read(following)
        if ~looks & (older < all_tiles):
            kept = [mine[(known * count + k) * threads] for k in range(count)]
            tile = Int(older % tiles)
            has = Bool(True) if init is not None else (tile > 0) | (warp_id() > 0)
            made = _behind(function, kept, heads[turn * warps + warp_id()], has, exclusive)
            target = begin(dst, dst_steps, Int(older // tiles), extents)
            _write(target, made, tile * each, start, n, dst_step, threads=threads, lanes=lanes, wide=wide[1])
        waiting, number, slot, turn = (number, *waiting[:-1]), following, (slot + 1) % SLOTS, 1 - turn


def _posts(scratch: Any, number: Any, tiles: Any, kind: Any) -> tuple[Any, Any]:
    """Where the tiles of a tile's row post, and their groups."""
    posts = scratch.bitcast(UInt64) + (1 + Int(number // tiles) * (posts_of(Int(tiles)) * words(kind)))
    return posts, posts + Int(tiles) * words(kind)


def _whole(function: Any, parts: Any, first: Any, init: Any, warps: int) -> tuple[Any, Any]:
    """The parts of a tile's warps joined up to each lane's, and all of them."""
    through = of_lanes(function, parts[least(lane_id(), Int(warps - 1))])
    total = warp.shuffle_idx(through, warps - 1)
    if init is not None:
        total = first.select(function(type(total)(init), total), total)
    return through, total


@func
def _tell(function: Any, parts: Any, tile: Any, init: Any, *, warps: Comptime[int]) -> None:
    """Let others know what a tile has."""
    scratch, number, tiles = tile
    posts, groups = _posts(scratch, number, tiles, parts.element_type)
    _, total = _whole(function, parts, number % tiles == 0, init, warps)
    tell(function, total, Int(number % tiles), posts, groups)


@func
def _look(
    function: Any,
    parts: Any,
    heads: Any,
    tile: Any,
    init: Any,
    several: Comptime[bool],
    *,
    warps: Comptime[int],
) -> None:
    """What stands before each warp's part of a tile, by one warp."""
    scratch, number, tiles = tile
    lane, at, kind = lane_id(), Int(number % tiles), parts.element_type
    through, total = _whole(function, parts, at == 0, init, warps)
    head, has = kind(0) if init is None else kind(init), (at > 0) if init is None else Bool(True)
    if several and at > 0:
        posts, groups = _posts(scratch, number, tiles, kind)
        head = before_tile(function, total, at, posts, groups)
    before = warp.shuffle_up(through, 1)
    if lane < warps:
        heads[lane] = (lane == 0).select(head, has.select(function(head, before), before))


def _behind(function: Any, own: list[Any], head: Any, has: Any, exclusive: bool) -> tuple[Any, ...]:
    """A lane's results behind what stands before its warp's part, if anything does."""
    results = [has.select(function(head, value), value) for value in own]
    if exclusive:
        results[0] = (lane_id() == 0).select(head, results[0])
    return tuple(results)


def _of_warp(
    function: Any, values: Any, exclusive: bool, *, vectors: int, lanes: int
) -> tuple[list[Any], Any]:
    """A lane's results within its warp, and what that has in all; of exclusive ones the first is none."""
    lane, results = lane_id(), list[Any]()
    total: Any = None
    for v in range(vectors):
        run = [values[v * lanes]]
        for k in range(v * lanes + 1, (v + 1) * lanes):
            run.append(function(run[-1], values[k]))
        through = of_lanes(function, run[-1])
        before, last = warp.shuffle_up(through, 1), warp.shuffle_idx(through, warp.WARP_SIZE - 1)
        if total is None:
            made = [(lane > 0).select(function(before, value), value) for value in run]
        else:
            before = (lane > 0).select(function(total, before), total)
            made = [function(before, value) for value in run]
        results += [before, *made[:-1]] if exclusive else made
        total = last if total is None else function(total, last)
    return results, total


@func
def _write(
    target: Pointer[Any],
    results: Any,
    begin: Int,
    start: Int,
    n: Int,
    step: Int,
    *,
    threads: Comptime[int],
    lanes: Comptime[int],
    wide: Comptime[bool],
) -> None:
    """A lane's results in the tile at ``begin``, as far as the row goes."""
    vectors, span = len(results) // lanes, warp.WARP_SIZE * lanes
    if wide and begin + threads * len(results) <= n:
        kind: Any = SIMD[target.element_type, lanes]
        for v in unroll(range(vectors)):
            run = [x.cast(target.element_type) for x in results[v * lanes : (v + 1) * lanes]]
            value = kind(*run)
            width = min(WIDE, lanes * target.dtype.itemsize)
            target.store(begin + start + v * span, value, alignment=width)
    else:
        for v in unroll(range(vectors)):
            for k in unroll(range(lanes)):
                if begin + start + v * span + k < n:
                    target[(begin + start + v * span + k) * step] = results[v * lanes + k].cast(
                        target.element_type
                    )


@func
def _read(
    source: Pointer[Any],
    values: Any,
    begin: Int,
    start: Int,
    n: Int,
    step: Int,
    threads: Comptime[int],
    vectors: Comptime[int],
    lanes: Comptime[int],
    wide: Comptime[bool],
) -> None:
    """A lane's elements of the tile at ``begin``; behind the end of the row the last one, again."""
    kind: Any = values.element_type
    span = warp.WARP_SIZE * lanes
    if wide and begin + threads * vectors * lanes <= n:
        for v in unroll(range(vectors)):
            vector = source.load(
                begin + start + v * span, width=lanes, alignment=min(WIDE, lanes * source.dtype.itemsize)
            )
            for k in unroll(range(lanes)):
                values[v * lanes + k] = vector[k].cast(kind)
    else:
        for v in unroll(range(vectors)):
            for k in unroll(range(lanes)):
                values[v * lanes + k] = source[least(begin + start + v * span + k, n - 1) * step].cast(kind)
