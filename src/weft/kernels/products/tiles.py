"""Tiles for the kernels to which the hardware copies them: which, by what a product takes, and the launch."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, cast

from weft.dtype import DType
from weft.kernels.operands import Operand, Operands
from weft.kernels.products import joining, lanes, warpgroups
from weft.kernels.products.choice import LANES, WARPGROUPS, Shape, choose
from weft.kernels.products.groups import listed
from weft.kernels.products.parts import MOST, join
from weft.kernels.products.problem import Ends, Problem, aligned, line, turned
from weft.kernels.products.schedule import Form
from weft.kernels.row_memory import Line
from weft.lang import UInt64
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.runtime.driver import Tiled


def by_warpgroups(
    problem: Problem,
    shape: Shape | None = None,
    splits: int = 1,
    whole: int = 0,
    band: int = 16,
) -> None:
    """Queue the product by tensor cores; the cheapest way unless one is given."""
    op, groups, width = problem.op, problem.groups, problem.a.dtype.itemsize
    depth, count = warpgroups.LINE // width, op.context.info.multiprocessors
    m, n, k, z = problem.extents
    a, b = (aligned(op, x, 16 // width, across=width == 2) for x in (problem.a, problem.b))
    lines = _lines(a), _lines(b)
    if groups is not None:
        extents = -(-m // z), n, k, z
        shape, splits, whole = choose(WARPGROUPS, extents, depth, width, count, 1, lines)
    elif shape is None:
        shape, splits, whole = choose(WARPGROUPS, problem.extents, depth, width, count, 64, lines)
    rows, columns = shape.tile
    out, ends, kind = problem.out, problem.ends, problem.out.dtype
    piece = warpgroups.LINE // kind.itemsize
    table: tuple[Any, ...] = ()
    if groups is not None:
        m, z = m // rows + groups.size, 1
        table = (listed(op, groups, m, rows).memory,)
    cluster = 1 if table else shape.cluster
    tiles = (m if table else -(-m // (rows * cluster))) * -(-n // columns) * z
    whole = tiles if splits == 1 else whole
    units = whole + (tiles - whole) * splits
    left, right = _tiled(a, rows, depth, "m"), _tiled(b, columns // cluster, depth, "n")
    into = None if table else _stored(out, piece, columns // shape.each)
    odd = out.address % (2 * kind.itemsize) or any(x % 2 for x in (n, *out.strides[:2]))
    paired = out.strides[2] == 1 and not odd
    ways = ends.ways(kind)._replace(piece=piece, paired=paired)
    majors, shared = (left.major, right.major), (True, False) if table else problem.shared
    form = Form(shape.tile, shape.each, shape.stages, band, cluster, majors, shared, splits > 1)
    sizes = m, n, k, z, splits, whole
    parts = _joining(problem, (tiles - whole) * cluster, splits, rows * columns)
    grid, block = min(units, count // cluster) * cluster, 128 * (1 + warpgroups.GROUPS)
    more = {"cluster_dim": cluster} if cluster > 1 else {}
    nbytes = (shape.stages * (rows + columns) + 4 * warpgroups.ROWS) * warpgroups.LINE
    if into is None or ways.terms or ways.scaled or ways.epilogue:
        function = _bound(warpgroups.product, form=form, ways=ways)
        lines = (*[Line(x.memory, (0,), cast("Any", 1)) for x in parts[:2]], *parts[2:])
        given = (
            _tile(op, left),
            _tile(op, right),
            line(out) if into is None else _tile(op, into),
        )
        op.launch(
            function,
            grid,
            block,
            *given,
            *sizes,
            lines,
            table,
            *ends.given(problem.sums),
            shared_mem_bytes=nbytes,
            **more,
        )
    else:
        sides = left, right, into
        boxes = tuple([side.tiled.box for side in sides])
        function = _bound(warpgroups.bare, form=tuple(form), ways=tuple(ways), boxes=boxes)
        memory, places = [x.memory for x in (a, b, out)], [_descriptor(op, side).address for side in sides]
        steps = [step // side.operand.dtype.itemsize for side in sides for step in side.tiled.strides[:2]]
        given = *memory, *places, *(parts or (out, a, 0))
        op.launch(function, grid, block, *given, *sizes, *steps, shared_mem_bytes=nbytes, **more)


def _lines(x: Operand) -> int:
    """How many lines of the cache a row of a stage is in."""
    return 1 if max(x.strides[1:]) * x.dtype.itemsize % warpgroups.LINE == 0 else 2


def _joining(problem: Problem, tiles: int, splits: int, size: int) -> tuple[Any, ...]:
    """What kernels join the parts of so many tiles in."""
    if splits == 1:
        return ()
    kept = problem.op.scratch(tiles * splits * size, problem.sums)
    counts = problem.op.scratch(tiles * 4 * warpgroups.GROUPS * joining.counters(splits), DType.uint64)
    return kept, counts, UInt64(joining.TOKEN)


def by_lanes(problem: Problem, shape: Shape | None = None, splits: int = 1, band: int = 8) -> None:
    """Queue the product without tensor cores, likewise."""
    op, width = problem.op, problem.a.dtype.itemsize
    if shape is None:
        most = 64 if prod(problem.out.shape) < MOST else 1
        units = op.context.info.multiprocessors
        shape, splits, _ = choose(LANES, problem.extents, lanes.DEEP, width, units, most, hybrid=False)
    a, b = (aligned(op, x, 16 // width, across=True) for x in (problem.a, problem.b))
    rows, columns = shape.tile
    out, ends, kind = _parts(problem, splits)
    left = _tiled(a, rows, lanes.DEEP, "m", panel=rows)
    right = _tiled(b, columns, lanes.DEEP, "n", panel=columns)
    m, n, k, z = problem.extents
    op.launch(
        lanes.product,
        -(-m // rows) * -(-n // columns) * z * splits,
        rows * columns // (shape.each[0] * shape.each[1]),
        _tile(op, left),
        _tile(op, right),
        line(out),
        m,
        n,
        k,
        z,
        splits,
        *ends.given(problem.sums),
        tile=shape.tile,
        each=shape.each,
        stages=shape.stages,
        band=band,
        majors=(left.major, right.major),
        shared=problem.shared,
        blocks=shape.blocks,
        ways=ends.ways(kind),
        shared_mem_bytes=shape.stages * (rows + columns) * lanes.DEEP * width,
    )
    if splits > 1:
        join(problem, out, splits)


def _parts(problem: Problem, splits: int) -> tuple[Operand, Ends, DType]:
    """Where sums go, what becomes of them before, and the type in which they are written."""
    if splits == 1:
        return problem.out, problem.ends, problem.out.dtype
    m, n, _, z = problem.extents
    pitch = -(-n // 4) * 4
    made = problem.op.scratch(splits * z * m * pitch, problem.sums)
    steps = m * pitch, pitch, 1
    out = made.seen((splits * z, m, n), steps)
    return out, Ends(1.0, [], None, False), problem.sums


class Side(NamedTuple):
    """An operand as the hardware is told of it."""

    operand: Operand
    tiled: Tiled
    major: str
    """Along what its rows lie."""


def _tiled(x: Operand, rows: int, depth: int, across: str, panel: int = warpgroups.PANEL) -> Side:
    """Tiles of a side."""
    if x.strides[2] == 1 or (x.shape[2] == 1 and x.strides[1] != 1):
        return Side(x, _described(x, (1, rows, depth)), "k")
    return Side(x, _described(turned(x), (1, depth, panel)), across)


def _stored(out: Operand, piece: int, wide: int) -> Side | None:
    """Tiles of the result, where the hardware can store them."""
    chunk = 16 // out.dtype.itemsize
    fits = chunk in (4, 8) and wide % piece == 0 and out.strides[2] == 1 and out.address % 16 == 0
    if not fits or any(out.strides[n] % chunk and out.shape[n] > 1 for n in (0, 1)):
        return None
    return Side(out, _described(out, (1, warpgroups.ROWS // 4, piece)), "k")


def _described(x: Operand, box: tuple[int, int, int]) -> Tiled:
    (z, rows, columns), size = x.shape, x.dtype.itemsize
    chunk = 16 // size
    step = x.strides[1] if rows > 1 else -(-columns // chunk) * chunk
    lead = x.strides[0] if z > 1 and x.strides[0] else rows * step
    swizzle = warpgroups.LINE if box[2] * size == warpgroups.LINE else 0
    extents = (1 if x.strides[0] == 0 else z, rows, columns)
    return Tiled(x.dtype.name, x.address, extents, (lead * size, step * size, size), box, swizzle)


def _descriptor(op: Operands, side: Side) -> Any:
    return op.context.descriptor_of(side.tiled)


def _tile(op: Operands, side: Side) -> TMATensorTile[Any]:
    """Tiles as kernels take them that are told of the operand's strides too."""
    x, (_, _, extents, strides, box, swizzle) = side.operand, side.tiled
    layout = Layout(extents, tuple([step // x.dtype.itemsize for step in strides])).dynamic()
    tensor = LayoutTensor[Any].of(x.array or x.memory, layout, 1)
    return TMATensorTile[Any](tensor, box, TensorMapSwizzle(swizzle), _descriptor(op, side))


@lru_cache(512)
def _bound(kernel: Any, **known: Any) -> Any:
    """The kernel with what it knows at compile time: one object each time, whose launches are remembered."""
    return kernel.bind(**known)
