"""Tiles for the kernels to which the hardware copies them: which, by what a product takes, and the launch."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.dtype import DType
from weft.kernels.operands import Operand
from weft.kernels.products import lanes, warpgroups
from weft.kernels.products.groups import listed
from weft.kernels.products.parts import join
from weft.kernels.products.problem import Ends, Problem, aligned, turned
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile


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
    Shape((64, 256), 2, 4, 1, 1500),
    Shape((64, 128), 2, 7, 1, 1100),
)
LANES = (Shape((128, 128), (8, 8), 3, 2, 105), Shape((64, 64), (8, 4), 3, 4, 75))
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


def choose(
    shapes: tuple[Shape, ...],
    problem: Problem,
    depth: int,
    extents: tuple[int, int, int, int],
    most: int = 32,
) -> tuple[Shape, int]:
    """The cheapest tile, and into how many parts k is split."""
    width, units = problem.a.dtype.itemsize, problem.op.context.info.multiprocessors
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
    depth = warpgroups.LINE // width
    m, n, k, z = problem.extents
    if groups is not None:
        shape, splits = choose(WARPGROUPS, problem, depth, (-(-m // z), n, k, z), most=1)
    elif shape is None:
        shape, splits = choose(WARPGROUPS, problem, depth, problem.extents)
    a, b = (aligned(op, x, 16 // width, across=width == 2) for x in (problem.a, problem.b))
    rows, columns = shape.tile
    out, ends, kind = _parts(problem, splits)
    tile_a, major_a = _tile(op, a, rows, depth, "m")
    tile_b, major_b = _tile(op, b, columns, depth, "n")
    piece = warpgroups.LINE // kind.itemsize
    table: tuple[Any, ...] = ()
    if groups is not None:
        m, z = m // rows + groups.size, 1
        table = (listed(op, groups, m, rows).memory,)
    units = (m if table else -(-m // rows)) * -(-n // columns) * z * splits
    paired = out.strides[2] == 1 and not any(
        x % 2 for x in (n, out.address // kind.itemsize, *out.strides[:2])
    )
    ways = ends.ways(kind) | {"piece": piece, "paired": paired}
    op.launch(
        warpgroups.product,
        min(units, op.context.info.multiprocessors),
        128 * (1 + warpgroups.GROUPS),
        tile_a,
        tile_b,
        (out.memory, out.strides) if table else _stored(op, out, piece, columns // shape.each),
        m,
        n,
        k,
        z,
        splits,
        table,
        *ends.given(problem.sums),
        tile=shape.tile,
        beside=shape.each,
        stages=shape.stages,
        band=band,
        majors=(major_a, major_b),
        shared=(True, False) if table else problem.shared,
        ways=ways,
        shared_mem_bytes=(shape.stages * (rows + columns) + 4 * warpgroups.ROWS) * warpgroups.LINE,
    )
    if splits > 1:
        join(problem, out, splits)


def by_lanes(problem: Problem, shape: Shape | None = None, splits: int = 1, band: int = 8) -> None:
    """Queue the product without tensor cores, likewise."""
    op, width = problem.op, problem.a.dtype.itemsize
    if shape is None:
        shape, splits = choose(LANES, problem, lanes.DEEP, problem.extents)
    a, b = (aligned(op, x, 16 // width, across=True) for x in (problem.a, problem.b))
    rows, columns = shape.tile
    out, ends, kind = _parts(problem, splits)
    tile_a, major_a = _tile(op, a, rows, lanes.DEEP, "m", panel=rows)
    tile_b, major_b = _tile(op, b, columns, lanes.DEEP, "n", panel=columns)
    m, n, k, z = problem.extents
    op.launch(
        lanes.product,
        -(-m // rows) * -(-n // columns) * z * splits,
        rows * columns // (shape.each[0] * shape.each[1]),
        tile_a,
        tile_b,
        (out.memory, out.strides),
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
        majors=(major_a, major_b),
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


def _tile(
    op: Any, x: Operand, rows: int, depth: int, across: str, panel: int = warpgroups.PANEL
) -> tuple[Any, str]:
    """Tiles of a side, and along what its rows lie."""
    swizzle = TensorMapSwizzle.SWIZZLE_128B
    if x.strides[2] == 1 or (x.shape[2] == 1 and x.strides[1] != 1):
        return _described(op, x, (1, rows, depth), swizzle), "k"
    wide = panel * x.dtype.itemsize
    return _described(
        op, turned(x), (1, depth, panel), swizzle if wide == 128 else TensorMapSwizzle.SWIZZLE_NONE
    ), across


def _stored(op: Any, out: Operand, piece: int, wide: int) -> Any:
    """Tiles of the result, where the hardware can store them; else its memory and steps."""
    line = 16 // out.dtype.itemsize if out.dtype.itemsize in (2, 4) else 0
    if line and wide % piece == 0 and out.strides[2] == 1 and out.address % 16 == 0:
        if (out.strides[1] % line == 0 or out.shape[1] == 1) and (
            out.strides[0] % line == 0 or out.shape[0] == 1
        ):
            return _described(op, out, (1, warpgroups.ROWS // 4, piece), TensorMapSwizzle.SWIZZLE_128B)
    return out.memory, out.strides


def _described(
    op: Any, x: Operand, box: tuple[int, int, int], swizzle: TensorMapSwizzle
) -> TMATensorTile[Any]:
    z, rows, columns = x.shape
    line = 16 // x.dtype.itemsize
    si = x.strides[1] if rows > 1 else -(-columns // line) * line
    sz = x.strides[0] if z > 1 and x.strides[0] else rows * si
    layout = Layout((1 if x.strides[0] == 0 else z, rows, columns), (sz, si, 1)).dynamic()
    tensor = LayoutTensor[Any].of(x.array or x.memory, layout, 1)
    return op.context.create_tma_tile(tensor, box, swizzle=swizzle)
