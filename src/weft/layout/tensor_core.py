"""Tensor cores over tiles: a warp's part of a product of matrices, whatever the tiles' layouts.

Example:
    >>> from weft import Float16, Float32, kernel
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.layout import Layout, LayoutTensor
    >>> @kernel
    ... def product(a: LayoutTensor[Float16], b: LayoutTensor[Float16], out: LayoutTensor[Float32]):
    ...     core = TensorCore(Float32, Float16, (16, 8, 16))
    ...     d = core.mma_op(core.load_a(a), core.load_b(b), core.zero())
    ...     core.store_d(out, d)
    >>> ctx = DeviceContext(api="cpu")
    >>> a, b = (ctx.enqueue_create_buffer(Float16, n) for n in (256, 128))
    >>> a.enqueue_fill(0.5)
    >>> b.enqueue_fill(3.0)
    >>> out = ctx.enqueue_create_buffer(Float32, 128)
    >>> tiles = a.tensor(Layout.row_major(16, 16)), b.tensor(Layout.row_major(16, 8))
    >>> ctx.enqueue_function(product, *tiles, out.tensor(Layout.row_major(16, 8)), grid_dim=1, block_dim=32)
    >>> with out.map_to_host() as host:
    ...     print({float(x) for x in host})
    {24.0}
"""

from __future__ import annotations

from typing import Any, cast

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import DType, DTypeLike, as_dtype
from weft.gpu.lanes import LANES, lane_id
from weft.gpu.mma import SHAPES, ld_matrix, mma
from weft.lang.number import Number, number_class
from weft.lang.pointer import AddressSpace
from weft.layout.tensor.access import modes
from weft.layout.tensor.tensor import LayoutTensor

__all__ = ["TensorCore"]

_ROW = 16
"""Bytes of a row that ``ldmatrix`` loads."""
_WORD = 4


class TensorCore:
    """A product of an m x k and a k x n matrix by a warp, of tiles in any memory.

    Made in a kernel, at compile time. All lanes of a warp come to its methods together.

    Args:
        out_type: the type of the sums.
        in_type: of the elements of both matrices: Float16, BFloat16, Float32 (as tf32), Float64, Int8, UInt8,
            Float8_e4m3fn or Float8_e5m2.
        shape: ``(m, n, k)``, as ``weft.gpu.mma.mma`` has them: (16, 8, 16) of 16 bits, (16, 8, 8) of tf32,
            (16, 8, 32) of 8 bits, (8, 8, 4) and (16, 8, 16) of 64.
        transpose_b: the right matrix lies transposed, as n x k.

    Raises:
        CompileError: there is no such product.
    """

    def __init__(
        self, out_type: DTypeLike, in_type: DTypeLike, shape: tuple[int, int, int], transpose_b: bool = False
    ) -> None:
        self.out_type: DType = as_dtype(out_type)
        self.in_type: DType = as_dtype(in_type)
        self.transpose_b: bool = transpose_b
        self.shape = m, n, k = shape
        name = self.in_type.name
        found = SHAPES.get((name, name, m * k // LANES, self.out_type.name))
        if found is None or (found.m, found.n, found.k) != (m, n, k):
            have = [
                f"({s.m}, {s.n}, {s.k})"
                for key, s in SHAPES.items()
                if key[0] == key[1] == name and key[3] == self.out_type.name
            ]
            refuse(
                "mma",
                f"tensor cores have no product of shape {shape} of {name} with sums of {self.out_type.name}",
                hint=f"its shapes are {', '.join(have)}" if have else "see weft.gpu.mma for those there are",
            )
        self._each = max(1, _WORD // self.in_type.itemsize)

    def zero(self) -> Any:
        """Sums to begin with."""
        m, n, _ = self.shape
        return number_class(self.out_type, m * n // LANES)(0)

    def mma_op(self, a: Any, b: Any, c: Any) -> Any:
        """``a @ b + c``, of what the loads gave."""
        return mma(a, b, c)

    def load_a(self, a: LayoutTensor[Any]) -> Any:
        """This lane's part of the left matrix.

        Args:
            a: m x k, in any memory; of a masked tile what is not there is its default. From shared memory
                with rows at multiples of 16 bytes, swizzled ones too, it is one ``ldmatrix``.

        Raises:
            CompileError: the tile has another shape or another type.
        """
        m, _, k = self.shape
        self._check("a", a, (m, k), self.in_type)
        each, halves = self._each, m // 8
        registers = m * k // LANES // each
        if registers > 1 and self._by_rows(a):
            lane = lane_id()
            row = lane % 8 + 8 * (lane // 8 % halves)
            return self._matrices(a, row, lane // (8 * halves) % max(1, registers // halves), registers)
        g, t = lane_id() >> 2, lane_id() & 3
        return self._picked(
            a[g + 8 * (r % halves), each * t + i + 4 * each * (r // halves)]
            for r in range(registers)
            for i in range(each)
        )

    def load_b(self, b: LayoutTensor[Any]) -> Any:
        """This lane's part of the right matrix: k x n, or n x k if ``transpose_b``. As ``load_a``."""
        _, n, k = self.shape
        self._check("b", b, (n, k) if self.transpose_b else (k, n), self.in_type)
        each = self._each
        registers = k * n // LANES // each
        lane = lane_id()
        if self._by_rows(b) and (self.transpose_b or self.in_type.bits == 16):
            if self.transpose_b:
                return self._matrices(b, lane % 8, lane // 8 % registers, registers)
            return ld_matrix(b.address(lane % (8 * registers), 0), each * registers, transpose=True)
        g, t = lane >> 2, lane & 3
        places = [each * t + i + 4 * each * r for r in range(registers) for i in range(each)]
        return self._picked(b[g, row] if self.transpose_b else b[row, g] for row in places)

    def load_c(self, c: LayoutTensor[Any]) -> Any:
        """This lane's part of the sums, from an m x n tile."""
        m, n, _ = self.shape
        self._check("c", c, (m, n), self.out_type)
        return self._picked(c[place] for place in self._places())

    def store_d(self, d: LayoutTensor[Any], sums: Any) -> None:
        """Write this lane's part of the sums to an m x n tile; of a masked one, what there is.

        Neighbours in a row are written together where the layout and the alignment allow.
        """
        m, n, _ = self.shape
        self._check("d", d, (m, n), self.out_type)
        places = self._places()
        plain = not d.masked and d.swizzled is None
        pairs = plain and d.layout.rank == 2 and _strides(d)[1] == 1
        for k in range(0, len(places), 2):
            offset, alignment = d.place_in(d.layout, places[k])
            if pairs and alignment % self.out_type.itemsize == 0:
                both = number_class(self.out_type, 2)(sums[k], sums[k + 1])
                d.ptr.store(offset, both, alignment=min(alignment, 2 * self.out_type.itemsize))
            else:
                d[places[k]] = sums[k]
                d[places[k + 1]] = sums[k + 1]

    def _places(self) -> list[tuple[Any, Any]]:
        g, t = lane_id() >> 2, lane_id() & 3
        return [(g + 8 * half, 2 * t + i) for half in range(self.shape[0] // 8) for i in range(2)]

    def _matrices(self, tile: LayoutTensor[Any], row: Any, along: Any, count: int) -> Any:
        """By ``ldmatrix``: matrices of rows of 16 bytes, the ``along``-th of them this lane's."""
        column = along * (_ROW // self.in_type.itemsize)
        return ld_matrix(tile.address(row, column), self._each * count)

    def _by_rows(self, tile: LayoutTensor[Any]) -> bool:
        """Whether rows of 16 bytes lie in shared memory as ``ldmatrix`` wants them."""
        if tile.address_space != AddressSpace.SHARED or tile.masked or self.in_type.bits > 32:
            return False
        if tile.layout.rank != 2 or tile.alignment % _ROW:
            return False
        if tile.swizzle is not None and (self.in_type.itemsize << tile.swizzle.base) % _ROW:
            return False
        step, along = _strides(tile)
        return along == 1 and isinstance(step, int) and step * self.in_type.itemsize % _ROW == 0

    def _picked(self, numbers: Any) -> Any:
        found: list[Number] = list(numbers)
        return number_class(found[0].dtype, len(found))(*found) if len(found) > 1 else found[0]

    def _check(self, name: str, tile: object, shape: tuple[int, int], dtype: Any) -> None:
        if not isinstance(tile, LayoutTensor) or tile.element is not None:
            refuse("mma", f"{name} is no tensor of numbers: {tile!r}", hint="give a tile of a LayoutTensor")
        found = cast("LayoutTensor[Any]", tile)
        if found.layout.shape != shape or found.dtype != dtype:
            extents = " x ".join(str(extent) for extent, _ in modes(found.layout))
            refuse(
                "mma",
                f"{name} is {shape[0]} x {shape[1]} of {dtype.name} here, not {extents} of {found.dtype}",
                hint=f"give tile[{shape[0]}, {shape[1]}](i, j) of a tensor of {dtype.name}",
            )


def _strides(tile: LayoutTensor[Any]) -> list[Any]:
    return [stride for _, stride in modes(tile.layout)]


present(globals())
