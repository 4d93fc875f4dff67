"""What a product of matrices is asked for: arrays as batches of matrices, and what becomes of the sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from weft import math
from weft.dtype import DType, as_dtype
from weft.kernels.copies import copy
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.places import Shape, merged, row_major
from weft.kernels.products.finish import Ways, unchanged
from weft.kernels.row_memory import Line
from weft.lang import Float32, Float64, Int
from weft.lang.generic import written


@dataclass(slots=True)
class Ends:
    """What becomes of sums."""

    alpha: float
    terms: list[tuple[str, Operand]]
    """``*`` or ``+``, and by what."""
    epilogue: Callable[..., Any] | None
    places: int = 2
    """How many numbers the epilogue takes that say where an element lies, as ``Ways`` has them."""

    def given(self, sums: DType) -> tuple[Any, ...]:
        """The arguments of kernels that sum in this type."""
        alpha = (Float64 if sums.bits == 64 else Float32)(self.alpha)
        return alpha, tuple([line(x) for _, x in self.terms]), self.epilogue or unchanged

    def ways(self, dtype: DType) -> Ways:
        """What kernels that write ``dtype`` know of it at compile time."""
        terms = tuple([way for way, _ in self.terms])
        return Ways(written(dtype), terms, self.alpha != 1, self.epilogue is not None, self.places)


@dataclass(slots=True)
class Problem:
    """``out[z] = a[z] @ b[z].T``: ``b`` has a row for each column of ``out``."""

    op: Operands
    a: Operand
    b: Operand
    out: Operand
    ends: Ends
    groups: Operand | None = None
    """Where the rows of ``a`` end that each matrix of ``b`` is for; there is one ``a`` then."""
    fresh: bool = False
    """Whether ``out`` is new: rows that are in no group become zero."""

    @property
    def grouping(self) -> tuple[Any, ...]:
        """The argument of kernels."""
        return () if self.groups is None else (self.groups.memory,)

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Rows and columns of the result, what is summed over, and how many matrices there are."""
        z, m, n = self.out.shape
        z = z if self.groups is None else self.groups.size
        return m, n, self.a.shape[2], z

    def tiles_of(self, tile: tuple[int, int]) -> int:
        """How many tiles of so many rows and columns the result has."""
        m, n, _, z = self.extents
        return -(-m // tile[0]) * -(-n // tile[1]) * z

    @property
    def shared(self) -> tuple[bool, bool]:
        """Which sides all matrices of the result have in common."""
        return self.a.strides[0] == 0, self.b.strides[0] == 0

    @property
    def sums(self) -> DType:
        """The type in which is summed, which loses nothing that a wider result could hold."""
        own, result = self.a.dtype, self.out.dtype
        short = summed(own)
        if own.is_float or not (result.is_float or result.bits > short.bits):
            return short
        greatest = 1 << 2 * (own.bits - (own.kind == "int"))  # of products
        return short if own.bits == 8 and greatest * self.a.shape[2] < 1 << 31 else accumulator(own)

    @property
    def ways(self) -> Ways:
        """What becomes of sums, for kernels whose threads have neighbours of a row."""
        out, size = self.out, 2 * self.out.dtype.itemsize
        odd = out.address % size or any(x % 2 for x in (out.shape[2], *out.strides[:2]))
        return self.ends.ways(out.dtype)._replace(paired=out.strides[2] == 1 and not odd)

    def turned(self) -> Problem:
        """The same to the transposed result, for which there is no epilogue."""
        terms = [(way, turned(x)) for way, x in self.ends.terms]
        ends = Ends(self.ends.alpha, terms, None)
        return Problem(self.op, self.b, self.a, turned(self.out), ends)

    def launch(
        self, kernel: Any, grid: Any, block: Any, a: Operand, b: Operand, *more: Any, **known: Any
    ) -> None:
        """Queue a kernel of the sides, as they are or copied, the result, their extents and strides."""
        strides, ends = (a.strides, b.strides, self.out.strides), self.ends
        given = a.memory, b.memory, self.out.memory, *self.extents[:3], strides, *more
        known.setdefault("ways", ends.ways(self.out.dtype))
        self.op.launch(kernel, grid, block, *given, *ends.given(self.sums), **known)


def rows_of(group: Any, ends: Any, rows: Any) -> tuple[Any, Any]:
    """The first row of a group and the end of its rows, in a kernel; all where there are no groups."""
    if not ends:
        return Int(0), rows
    return (group > 0).select(Int(ends[0][math.max(group - 1, Int(0))]), Int(0)), Int(ends[0][group])


def summed(dtype: DType) -> DType:
    """The type in which is summed: Float32 for shorter floats, Int32 for bytes, else the elements' own."""
    if dtype.is_float:
        return dtype if dtype.bits > 32 else as_dtype("float32")
    return as_dtype("int32") if dtype.bits == 8 else dtype


def as_side(op: Operands, x: Operand, batch: Shape, matrix: Shape, *, fill: bool = True) -> Operand:
    """An array as the batch of matrices to which it is broadcast.

    Where no one stride leads through it that is another: a copy, or one that is not yet filled.
    """
    shape = (*batch, *matrix)
    steps = (0,) * (len(shape) - len(x.shape)) + tuple(
        0 if extent == 1 else step for extent, step in zip(x.shape, x.strides, strict=True)
    )
    count = prod(batch)
    leading, [lead] = merged(batch, steps[:-2]) if count > 1 else ((1,), [(0,)])
    if len(leading) == 1:
        return x.seen((count, *matrix), (lead[0], *steps[-2:]))
    made = op.scratch(count * prod(matrix), x.dtype)
    if fill:
        copy(op, x.seen(shape, steps), made.seen(shape, row_major(shape)))
    return made.seen((count, *matrix), (prod(matrix), matrix[1], 1))


def line(x: Operand) -> Line:
    """The memory and steps of matrices, as kernels take them."""
    return Line(x.memory, x.strides[:2], cast("Any", x.strides[2]))


def turned(x: Operand) -> Operand:
    """The transposed matrices."""
    (z, i, j), (sz, si, sj) = x.shape, x.strides
    return x.seen((z, j, i), (sz, sj, si))


def aligned(op: Operands, x: Operand, line: int, *, across: bool, along: bool = True) -> Operand:
    """The matrices as the hardware copies them: neighbours beside each other, rows at multiples of 16 bytes.

    Args:
        op: the operation.
        x: the matrices; they are given back if they lie so.
        line: elements that are 16 bytes.
        across: whether those of a column may be neighbours instead.
        along: whether those of a row may be neighbours.
    """
    (z, i, j), (sz, si, sj) = x.shape, x.strides
    placed = x.address % 16 == 0 and (sz % line == 0 or z == 1)
    if placed and along and sj == 1 and (i == 1 or si % line == 0 < si):
        return x
    down = across and i > 1 and (si == 1 or not along)
    if placed and down and si == 1 and (j == 1 or sj % line == 0 < sj):
        return x
    matrices = z if sz else 1
    pitch = -(-(i if down else j) // line) * line
    steps = (pitch * j, 1, pitch) if down else (pitch * i, pitch, 1)
    made = op.scratch(matrices * steps[0], x.dtype)
    copy(op, x.seen((matrices, i, j), x.strides), made.seen((matrices, i, j), steps))
    return made.seen(x.shape, (steps[0] if sz else 0, *steps[1:]))
