"""Tiles for the kernels to which the hardware copies them: which, by what a product takes, and the launch."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, cast

from weft.dtype import DType
from weft.kernels.operands import Operand, Operands
from weft.kernels.products import joining, lanes, warpgroups
from weft.kernels.products.choice import (
    ACROSS,
    FEW,
    LANES,
    NARROW,
    WARPGROUPS,
    Shape,
    Way,
    choose,
    cost,
    turns,
)
from weft.kernels.products.groups import listed
from weft.kernels.products.parts import MOST, in_parts, join
from weft.kernels.products.problem import Problem, aligned, line, turned
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
    op, width = problem.op, problem.a.dtype.itemsize
    depth = warpgroups.LINE // width
    a, b = (aligned(op, x, 16 // width, across=width == 2) for x in (problem.a, problem.b))
    if shape is None:
        (shape, splits, whole), other = chosen(problem, depth, (_lines(a), _lines(b)))
        if other:
            problem, a, b = problem.turned(), b, a
    (rows, columns), (m, n, k, z), groups = shape.tile, problem.extents, problem.groups
    table: tuple[Any, ...] = ()
    if groups is not None:
        band = max(4, min(band, m // (groups.size * rows)))  # of one matrix, as far as is known here
        shape, m, z = shape._replace(cluster=1), m // rows + groups.size, 1
        table = (listed(problem, groups, m, rows).memory,)
    left, right = _tiled(a, rows, depth, "m"), _tiled(b, columns // shape.cluster, depth, "n")
    majors, shared = (left.major, right.major), (True, False) if table else problem.shared
    panels = shape.cluster == 1 or majors[1] == "k" or columns // shape.cluster % warpgroups.PANEL == 0
    assert panels, "blocks of a cluster bring whole panels of what lies across k, or all wait for more"
    split, along = splits > 1, shape.along
    form = Form(
        shape.tile, shape.each, shape.stages, band, shape.cluster, majors, shared, split, along, shape.groups
    )
    tiles = (m if table else -(-m // (rows * shape.cluster))) * -(-n // columns) * z
    whole = whole if split else tiles
    units = whole + (tiles - whole) * splits
    parts = _joining(problem, (tiles - whole) * form.blocks, splits, rows * columns // along, 4 * form.groups)
    most = units if along > 1 else op.context.info.multiprocessors // shape.cluster * shape.blocks
    sides = left, right, _stored(problem.out, columns // shape.each)
    _launch(problem, form, sides, (m, n, k, z, splits, whole), parts, table, min(units, most))


def chosen(problem: Problem, depth: int, lines: tuple[int, int]) -> tuple[Way, bool]:
    """The cheapest way, and whether it is one to the transposed result: few rows fill a tile as columns."""
    m, n, k, z = problem.extents
    single, width = problem.groups is None, problem.a.dtype.itemsize
    extents = (m if single else -(-m // z)), n, k, z
    given = depth, width, problem.op.context.info.multiprocessors
    way = choose(NARROW if n <= FEW else WARPGROUPS, extents, *given, 64 if single else 1, lines)
    if single and m <= FEW < n and problem.ends.epilogue is None:
        other, around = (n, m, k, z), (lines[1], lines[0])
        found = choose(NARROW, other, *given, 64, around)
        if cost(found, other, *given, around) < cost(way, extents, *given, lines):
            return found, True
    return way, False


def _launch(
    problem: Problem,
    form: Form,
    sides: tuple[Side, Side, Side | None],
    sizes: tuple[int, ...],
    parts: tuple[Any, ...],
    table: tuple[Any, ...],
    units: int,
) -> None:
    """Launch one of the kernels of ``warpgroups``, for so many units at once."""
    op, out, ends, kind = problem.op, problem.out, problem.ends, problem.out.dtype
    rows, (left, right, into) = form.tile[0], sides
    ways = problem.ways._replace(piece=warpgroups.LINE // kind.itemsize)
    nbytes = (form.stages * (rows + form.held) + 2 * form.groups * warpgroups.ROWS) * warpgroups.LINE
    how: dict[str, Any] = {"cluster_dim": form.blocks} if form.blocks > 1 else {}
    how["shared_mem_bytes"] = nbytes
    grid, block = units * form.blocks, 128 * (1 + form.groups)
    if into is None or table or ways.terms or ways.scaled or ways.epilogue:
        function = _bound(warpgroups.product, form=form, ways=ways)
        end = () if into is None or form.along > 1 else (_tile(op, into),)
        end = end if end and not table else (*end, line(out))
        joins = (*[Line(x.memory, (0,), cast("Any", 1)) for x in parts[:2]], *parts[2:])
        given = _tile(op, left), _tile(op, right), end, *sizes, joins, table, *ends.given(problem.sums)
        op.launch(function, grid, block, *given, early=True, **how)
    else:
        all_sides = left, right, into
        boxes = tuple([side.tiled.box for side in all_sides])
        function = _bound(warpgroups.bare, form=tuple(form), ways=tuple(ways), boxes=boxes)
        memory = [side.operand.memory for side in all_sides]
        places = [_descriptor(op, side).address for side in all_sides]
        steps = [step // side.operand.dtype.itemsize for side in all_sides for step in side.tiled.strides[:2]]
        given = *memory, *places, *(parts or (out, left.operand, 0)), *sizes, *steps
        op.launch(function, grid, block, *given, early=True, **how)


def _lines(x: Operand) -> int:
    """How many lines of the cache a row of a stage is in."""
    return 1 if max(x.strides[1:]) * x.dtype.itemsize % warpgroups.LINE == 0 else 2


def _joining(problem: Problem, tiles: int, splits: int, size: int, warps: int) -> tuple[Any, ...]:
    """What kernels join the parts of so many tiles in."""
    if splits == 1:
        return ()
    kept = problem.op.scratch(tiles * splits * size, problem.sums)
    counts = problem.op.scratch(tiles * warps * joining.counters(splits), DType.uint64)
    return kept, counts, UInt64(joining.TOKEN)


def by_lanes(
    problem: Problem, shape: Shape | None = None, splits: int = 1, band: int = 8, turn: bool | None = None
) -> None:
    """Queue the product without tensor cores, likewise; sides along k are copied across it, if ``turn``."""
    op, width = problem.op, problem.a.dtype.itemsize
    if turn is None:
        turn = _turns(problem)
    a, b = (aligned(op, x, 16 // width, across=True, along=not turn) for x in (problem.a, problem.b))
    if shape is None:
        most = 64 if prod(problem.out.shape) < MOST else 1
        units, shapes = op.context.info.multiprocessors, ACROSS if _along(a, b) == 0 else LANES
        shape, splits, _ = choose(shapes, problem.extents, lanes.DEEP, width, units, most, hybrid=False)
    rows, columns = shape.tile
    parts = in_parts(problem, splits)
    out, ends, kind = parts.out, parts.ends, parts.out.dtype
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


def _along(*sides: Operand) -> int:
    """How many elements those sides have that lie along k."""
    return sum(prod(x.shape) for x in sides if x.strides[1] != 1)


def _turns(problem: Problem) -> bool:
    """Whether it pays to copy the sides that lie along k."""
    units, along = problem.op.context.info.multiprocessors, _along(problem.a, problem.b)
    return turns(problem.extents, along, problem.a.dtype.itemsize, units)


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


def _stored(out: Operand, wide: int) -> Side | None:
    """Tiles of the result, where the hardware can store them, of which a warpgroup has so many columns."""
    piece, chunk = (size // out.dtype.itemsize for size in (warpgroups.LINE, 16))
    fits = chunk in (4, 8) and wide >= piece and out.strides[2] == 1 and out.address % 16 == 0
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
