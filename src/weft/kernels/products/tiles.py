"""Tiles for the kernels to which the hardware copies them: which, by what a product takes, and the launch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from weft.dtype import DType
from weft.kernels.operands import Operand, Operands
from weft.kernels.products import lanes, warpgroups
from weft.kernels.products.groups import listed
from weft.kernels.products.parts import join
from weft.kernels.products.problem import Ends, Problem, aligned, line, turned
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.runtime.driver import Tiled


class Shape(NamedTuple):
    """What a kernel is compiled for."""

    tile: tuple[int, int]
    each: Any
    """Warpgroups beside each other; or a thread's rows and columns."""
    stages: int
    blocks: int
    """Blocks that a multiprocessor runs at once."""
    rate: float
    """Multiply-adds of a multiprocessor in a cycle, of 16 bits by tensor cores, as such tiles reach."""


WARPGROUPS = (
    Shape((128, 256), 1, 4, 1, 1900),
    Shape((256, 128), 1, 4, 1, 1900),
    Shape((128, 128), 1, 5, 1, 1700),
    Shape((128, 64), 1, 8, 1, 1000),
    Shape((64, 256), 2, 4, 1, 1500),
    Shape((64, 128), 2, 7, 1, 1100),
)
LANES = (
    Shape((128, 256), (8, 16), 3, 1, 95),
    Shape((128, 128), (8, 8), 3, 1, 90),
    Shape((64, 64), (8, 4), 3, 4, 75),
)
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
BESIDES, BYTES, WORKSPACE = 4000, 26, 1500
"""Cycles that a tile takes beside its products; bytes of memory in a cycle of a multiprocessor; bytes in a
cycle of all of them that the sums of parts take, written and read again."""
LAUNCH = 8000
"""Cycles until the parts' sum has begun."""


def cost(
    shape: Shape, splits: int, extents: tuple[int, int, int, int], depth: int, width: int, units: int
) -> float:
    """Cycles that a product takes, roughly.

    Args:
        shape: the tile.
        splits: parts of k.
        extents: of the product.
        depth: elements along k of a stage.
        width: bytes of an element.
        units: multiprocessors.
    """
    m, n, k, z = extents
    (bm, bn), stages = shape.tile, -(-k // depth)
    steps = -(-stages // splits)
    count = -(-m // bm) * -(-n // bn) * z * splits
    speed = shape.rate * 2 / width if depth * width == warpgroups.LINE and shape.rate > 1000 else shape.rate
    own = steps * depth * max(bm * bn / speed, (bm + bn) * width / 64) + BESIDES
    waves = -(-count // (units * shape.blocks)) * shape.blocks
    memory = (m * k + n * k) * z * width / (BYTES * units) / min(1, count / units)
    return max(waves * own, memory) + (splits > 1) * (LAUNCH + splits * m * n * z * 8 / WORKSPACE)


@lru_cache(4096)
def choose(
    shapes: tuple[Shape, ...],
    extents: tuple[int, int, int, int],
    depth: int,
    width: int,
    units: int,
    most: int = 32,
) -> tuple[Shape, int]:
    """The cheapest tile, and into how many parts k is split."""
    most = min(most, max(1, -(-extents[2] // depth) // 4))
    ways = [(shape, splits) for shape in shapes for splits in SPLITS if splits <= most]
    return min(ways, key=lambda way: cost(*way, extents, depth, width, units))


def by_warpgroups(
    problem: Problem,
    shape: Shape | None = None,
    splits: int = 1,
    band: int = 16,
) -> None:
    """Queue the product by tensor cores; the cheapest way unless one is given."""
    op, groups, width = problem.op, problem.groups, problem.a.dtype.itemsize
    depth, count = warpgroups.LINE // width, op.context.info.multiprocessors
    m, n, k, z = problem.extents
    if groups is not None:
        shape, splits = choose(WARPGROUPS, (-(-m // z), n, k, z), depth, width, count, most=1)
    elif shape is None:
        shape, splits = choose(WARPGROUPS, problem.extents, depth, width, count)
    a, b = (aligned(op, x, 16 // width, across=width == 2) for x in (problem.a, problem.b))
    rows, columns = shape.tile
    out, ends, kind = _parts(problem, splits)
    piece = warpgroups.LINE // kind.itemsize
    table: tuple[Any, ...] = ()
    if groups is not None:
        m, z = m // rows + groups.size, 1
        table = (listed(op, groups, m, rows).memory,)
    units = (m if table else -(-m // rows)) * -(-n // columns) * z * splits
    left, right = _tiled(a, rows, depth, "m"), _tiled(b, columns, depth, "n")
    into = None if table else _stored(out, piece, columns // shape.each)
    odd = out.address % (2 * kind.itemsize) or any(x % 2 for x in (n, *out.strides[:2]))
    paired = out.strides[2] == 1 and not odd
    ways = ends.ways(kind)._replace(piece=piece, paired=paired)
    known = shape.tile, shape.each, shape.stages, band, (left.major, right.major)
    known = (*known, (True, False) if table else problem.shared)
    sizes = m, n, k, z, splits
    grid, block = min(units, count), 128 * (1 + warpgroups.GROUPS)
    nbytes = (shape.stages * (rows + columns) + 4 * warpgroups.ROWS) * warpgroups.LINE
    if into is None or ways.terms or ways.scaled or ways.epilogue:
        function = _bound(warpgroups.product, known, ways)
        given = (
            _tile(op, left),
            _tile(op, right),
            line(out) if into is None else _tile(op, into),
        )
        op.launch(
            function, grid, block, *given, *sizes, table, *ends.given(problem.sums), shared_mem_bytes=nbytes
        )
    else:
        sides = left, right, into
        function = _bound(warpgroups.bare, known, tuple(ways), tuple([side.tiled.box for side in sides]))
        memory, places = [x.memory for x in (a, b, out)], [_descriptor(op, side).address for side in sides]
        steps = [step // side.operand.dtype.itemsize for side in sides for step in side.tiled.strides[:2]]
        op.launch(function, grid, block, *memory, *places, *sizes, *steps, shared_mem_bytes=nbytes)
    if splits > 1:
        join(problem, out, splits)


def by_lanes(problem: Problem, shape: Shape | None = None, splits: int = 1, band: int = 8) -> None:
    """Queue the product without tensor cores, likewise."""
    op, width = problem.op, problem.a.dtype.itemsize
    if shape is None:
        shape, splits = choose(LANES, problem.extents, lanes.DEEP, width, op.context.info.multiprocessors)
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
def _bound(kernel: Any, known: tuple[Any, ...], ways: tuple[Any, ...], boxes: Any = None) -> Any:
    """The kernel with what it knows at compile time: one object each time, whose launches are remembered."""
    names = "tile", "beside", "stages", "band", "majors", "shared"
    given = dict(zip(names, known, strict=True)) | {"ways": ways}
    return kernel.bind(**given, **({} if boxes is None else {"boxes": boxes}))
