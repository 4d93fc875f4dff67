"""Products of tiles: by tensor cores where types and extents allow, else by each thread its sums.

The sums of a product are distributed as the warps' tensor cores have them (``sums_of``): each warp has rows
of its own, 16 at a time, so that rows reduce within a warp, and sums become the left operand of the next
product without leaving their registers (Dao, "FlashAttention-2", 2023).
"""

from __future__ import annotations

from typing import Any, Literal, cast

from weft.diagnostics import a_, refuse
from weft.dtype import DType
from weft.lang.intrinsics import Feature, current_target
from weft.lang.machine import threads_are_loops
from weft.lang.number import number_class
from weft.lang.scalars import Float32, Int, Int32
from weft.layout import LayoutTensor
from weft.tile.cores import by_warpgroups, by_warps
from weft.tile.distribution import Distribution, sums_of
from weft.tile.lanes import by_lanes
from weft.tile.making import block_threads
from weft.tile.memory import load
from weft.tile.staged import LINE, Staged, staged
from weft.tile.tile import Tile

__all__ = ["checked_pair", "dot", "sums_type", "takes_warpgroups"]

Operand = Tile[Any] | Staged[Any] | LayoutTensor[Any]
_HALVES = ("float16", "bfloat16")
_DEEP = 64
"""Elements of 16 bits along k that ``wgmma`` takes at once."""


def dot(
    a: Operand,
    b: Operand,
    acc: Tile[Any] | None = None,
    *,
    precision: Literal["exact", "tf32"] = "exact",
) -> Tile[Any]:
    """The product of two matrices, ``a @ b``, added to ``acc``.

    Float16 and BFloat16 go to tensor cores: by ``wgmma`` on sm_90 where both are in shared memory (``a`` may
    be in registers) and there are whole warpgroups, by ``mma.sync`` elsewhere. Their products are exact, and
    their sums Float32. Float32 is exact too unless ``precision="tf32"``, which rounds factors to 11 bits.
    Integers of up to 32 bits have sums of Int32, Float64 of Float64.

    Args:
        a: an m x k tile, what ``pipeline`` gave, or a tensor that is a tile.
        b: k x n, likewise. ``b.T`` of what lies as n x k costs nothing.
        acc: m x n sums, such as ``zeros((m, n))``.
        precision: of Float32.

    Returns:
        the sums, held as ``acc`` is, or as ``zeros((m, n))`` would be.

    Raises:
        CompileError: extents do not go together, or types differ.
    """
    left, right = _operand(a), _operand(b)
    m, n = checked_pair(left, right)
    kind = sums_type(left.dtype)
    if acc is not None and (acc.shape != (m, n) or acc.dtype != kind):
        refuse(
            "tile-shape",
            f"sums of {acc.shape} {acc.dtype} are not those of this product",
            hint=f"write tile.zeros(({m}, {n}), {number_class(kind).__name__})",
        )
    to = sums_of((m, n), block_threads(), kind.itemsize)
    sums = number_class(kind, to.count)(0) if acc is None else acc.distributed(to).values
    made = Tile[Any](to, _multiplied(left, right, sums, to, precision))
    return made if acc is None or acc.distribution == to else made.distributed(acc)


def checked_pair(left: Any, right: Any) -> tuple[int, int]:
    """Rows and columns of the product.

    Raises:
        CompileError: extents do not go together, or types differ.
    """
    (m, k), (deep, n) = left.shape, right.shape
    if k != deep:
        refuse(
            "tile-shape",
            f"a {m} x {k} tile has no product with one of {deep} x {n}",
            hint="the columns of a are the rows of b; b.T turns it",
        )
    if left.dtype != right.dtype:
        refuse(
            "mixed-types",
            f"a product of {left.dtype} and {right.dtype}",
            hint="give both one type: t.cast(Float16), say, of a tile in registers",
        )
    return m, n


def sums_type(dtype: DType) -> DType:
    """The type of the sums."""
    if dtype.is_float:
        return dtype if dtype.bits == 64 else Float32.dtype
    return Int32.dtype if dtype.bits <= 32 else Int.dtype


def _operand(x: Operand) -> Any:
    found = load(x) if isinstance(x, LayoutTensor) else x
    if not isinstance(found, (Tile, Staged)) or len(found.shape) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        what = f"a tile of {len(found.shape)} axes" if isinstance(found, Tile) else a_(type(found).__name__)
        refuse("operand", f"tile.dot() multiplies matrices, not {what}", hint="load tiles of two axes")
    return cast("Any", found)


def _multiplied(left: Any, right: Any, sums: Any, to: Distribution, precision: str) -> Any:
    (m, n), k, name = to.shape, left.shape[1], left.dtype.name
    slab = 16 if name in _HALVES else 8
    cores = name in _HALVES or (name == "float32" and precision == "tf32")
    if not (cores and m >= 16 and n >= 16 and k >= slab and _have_cores()):
        return by_lanes(_in_memory(left), _in_memory(right), sums, to)
    if isinstance(right, Tile):
        right = staged(cast("Tile[Any]", right))
    if takes_warpgroups(left, right, to):
        return by_warpgroups(left, right, sums, to)
    return by_warps(left, right, sums, to)


def _have_cores() -> bool:
    return threads_are_loops() or current_target().supports(Feature.MMA)


def _in_memory(x: Any) -> Staged[Any]:
    return staged(cast("Tile[Any]", x)) if isinstance(x, Tile) else x


def takes_warpgroups(left: Any, right: Any, to: Distribution) -> bool:
    """Whether ``wgmma`` multiplies these."""
    if threads_are_loops() or not current_target().supports(Feature.WGMMA) or left.dtype.name not in _HALVES:
        return False
    (m, n), k = to.shape, left.shape[1]
    across = [found for found in to.threads if found is None or (found[0] == 1 and found[1] > 2)]
    if m < 64 or len(to.threads) < 7 or n > 256 or across:
        return False
    if isinstance(left, Tile):
        return right.turned is False or k % _DEEP == 0
    fits = k % _DEEP == 0 and (not left.turned or k == _DEEP)
    wide = right.rows[1] * right.dtype.itemsize >= LINE
    return fits and wide and (right.turned or k == _DEEP)
