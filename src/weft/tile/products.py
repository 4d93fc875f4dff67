"""Products of tiles: by tensor cores where types and extents allow, else by each thread its sums.

The sums of a product are distributed as the warps' tensor cores have them (``sums_of``): each warp has rows
of its own, 16 at a time, so that rows reduce within a warp, and sums become the left operand of the next
product without leaving their registers (Dao, "FlashAttention-2", 2023).
"""

from __future__ import annotations

from typing import Any, Literal, cast

from weft.diagnostics import a_, refuse
from weft.dtype import DType
from weft.lang.generic import K
from weft.lang.intrinsics import Feature, current_target
from weft.lang.machine import threads_are_loops
from weft.lang.number import number_class
from weft.lang.scalars import Float32, Int, Int32
from weft.layout import LayoutTensor
from weft.tile.cores import STEP, by_warpgroups, by_warps
from weft.tile.distribution import Distribution, sums_of
from weft.tile.lanes import by_lanes
from weft.tile.making import block_threads
from weft.tile.memory import load
from weft.tile.running import Running
from weft.tile.staged import LINE, Staged, staged
from weft.tile.tile import Tile

__all__ = ["checked_pair", "dot", "sums_type", "takes_warpgroups"]

Operand = Tile[Any] | Staged[Any] | LayoutTensor[Any]
_HALVES = ("float16", "bfloat16")
_EIGHTS = ("int8", "uint8", "float8_e4m3fn", "float8_e5m2")


def dot(
    a: Operand,
    b: Operand,
    acc: Tile[K] | None = None,
    *,
    precision: Literal["exact", "tf32"] = "exact",
) -> Tile[K]:
    """The product of two matrices, ``a @ b``, added to ``acc``.

    Numbers of 16 and 8 bits go to tensor cores: by ``wgmma`` on sm_90 where both are in shared memory (``a``
    may be in registers) and there are whole warpgroups, by ``mma.sync`` elsewhere. Numbers of 8 bits, and
    tf32, do so by ``wgmma`` where both lie along k: ``b`` as n x k, turned by ``.T``. Floats of 16 and 8 bits
    have exact products and sums of Float32. Float32 is exact too unless ``precision="tf32"``, which takes 11
    bits of each factor. Integers of up to 32 bits have sums of Int32, Float64 of Float64.

    A product by ``wgmma`` runs on beside what follows, until its result is read: the code between is
    computed meanwhile. A variable that a loop carries is read where it is assigned.

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
            f"this product has sums of {(m, n)} {kind}, not of {acc.shape} {acc.dtype}",
            hint=f"write tile.zeros(({m}, {n}), {number_class(kind).__name__})",
        )
    to = sums_of((m, n), block_threads(), kind.itemsize)
    if acc is None:
        sums = number_class(kind, to.count)(0)
    elif acc.running is not None and acc.distribution == to:
        sums = acc.running.further()
    else:
        sums = acc.distributed(to).values
    made: Tile[Any] = Tile(to, _multiplied(left, right, sums, to, precision))
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
    if not isinstance(found, (Tile, Staged)) or len(found.shape) != 2:
        what = f"a tile of {len(found.shape)} axes" if isinstance(found, Tile) else a_(type(found).__name__)
        refuse("operand", f"tile.dot() multiplies matrices, not {what}", hint="load tiles of two axes")
    return cast("Any", found)


def _multiplied(left: Any, right: Any, sums: Any, to: Distribution, precision: str) -> Any:
    (m, n), k = to.shape, left.shape[1]
    have = _have_cores(left.dtype, precision)
    if not (have and m >= 16 and n >= 16 and k >= STEP // left.dtype.itemsize):
        return by_lanes(_in_memory(left), _in_memory(right), sums, to)
    if isinstance(right, Tile):
        right = staged(cast("Tile[Any]", right))
    if takes_warpgroups(left, right, to, precision):
        made, groups = by_warpgroups(left, right, sums, to)
        return Running(made, n, groups, {getattr(left, "ring", 0), right.ring})
    return by_warps(left, right, sums, to)


def _have_cores(dtype: DType, precision: str) -> bool:
    """Whether tensor cores multiply numbers of a type."""
    known = (
        dtype.name in _HALVES or dtype.name in _EIGHTS or (dtype.name == "float32" and precision == "tf32")
    )
    feature = Feature.MMA_FP8 if dtype.bits == 8 and dtype.is_float else Feature.MMA
    return known and (threads_are_loops() or current_target().supports(feature))


def _in_memory(x: Any) -> Staged[Any]:
    return staged(cast("Tile[Any]", x)) if isinstance(x, Tile) else x


def takes_warpgroups(left: Any, right: Any, to: Distribution, precision: str) -> bool:
    """Whether ``wgmma`` multiplies these: other types than of 16 bits where both lie along k."""
    target, size = current_target(), left.dtype.itemsize
    if threads_are_loops() or not target.supports(Feature.WGMMA) or not _have_cores(left.dtype, precision):
        return False
    (m, n), k, deep = to.shape, left.shape[1], LINE // size
    across = [found for found in to.threads if found is None or (found[0] == 1 and found[1] > 2)]
    if m < 64 or len(to.threads) < 7 or n > 256 or across:
        return False
    held = isinstance(left, Tile)
    if size != 2 and not (right.turned and k % deep == 0 and (held or not left.turned)):
        return False
    if right.rows[1] * size < LINE:  # what it reads has whole lines
        return False
    if held:
        return right.turned is False or k % deep == 0
    return k % deep == 0 and (not left.turned or k == deep) and (right.turned or k == deep)
