"""Which kernel attends, in what tiles, and to how many parts of the keys at once."""

from __future__ import annotations

from math import prod
from typing import Any

from weft.kernels.flash.tiles import ACROSS, DOWN, attention_tiles, combine
from weft.kernels.operands import Operands, accumulator, row_major
from weft.layout import LayoutTensor
from weft.record import record

_SHAPES = ((4, 8), (2, 4), (1, 4), (1, 2), (1, 1))
"""Rows and columns of scores that a thread has."""
_PART = 512
"""Keys of a part at least."""
_WAVES = 2
"""Blocks for each multiprocessor, for which keys are parted."""
_JOINING = 128


@record
class Attending:
    """A call by its tensors: (batch, head, row, feature), where heads that share keys may be rows."""

    op: Operands
    q: LayoutTensor[Any]
    out: LayoutTensor[Any]
    lse: LayoutTensor[Any]
    k: Any
    v: Any
    lengths: Any
    table: Any
    scale: float
    diagonal: int | None

    def launch(self) -> None:
        """Queue the kernels."""
        batch, heads, rows, width = self.q.shape
        keys = self.k.shape[2] * (self.table.shape[1] if self.table is not None else 1)
        each = 16 // self.q.dtype.itemsize
        line = -(-width // (ACROSS * each)) * ACROSS * each
        high, wide = self._shape(rows, line, each)
        bm, bn = DOWN * high, ACROSS * wide
        grid = -(-rows // bm), heads, batch
        part = self._part(keys, grid[0] * heads * batch, bn)
        parts = max(1, -(-keys // part))
        out, lse = self.out, self.lse
        if parts > 1:
            out, lse = (self._scratch(parts * batch, *self.q.shape[1:n]) for n in (4, 3))
        self.op.launch(
            attention_tiles,
            (grid[0], heads, batch * parts),
            ACROSS * DOWN,
            *(self.q, self.k, self.v, out, lse, self.lengths, self.table),
            *(self.scale, keys if self.diagonal is None else self.diagonal, keys, part),
            rows=high,
            cols=wide,
            width=line,
            shared_mem_bytes=self._shared(high, wide, line, each),
        )
        if parts > 1:
            self.op.launch(combine, (rows, heads, batch), _JOINING, out, lse, self.out, self.lse)

    def _scratch(self, *shape: int) -> LayoutTensor[Any]:
        found = self.op.scratch(prod(shape), accumulator(self.q.dtype))
        found.shape, found.strides = shape, row_major(shape)
        return found.tensor()

    def _part(self, keys: int, blocks: int, step: int) -> int:
        """How many keys a block goes through: all, if there are blocks enough."""
        wanted = self.op.context.info.multiprocessors * _WAVES
        parts = min(max(1, wanted // blocks), max(1, keys // _PART))
        return max(1, -(-keys // (parts * step))) * step

    def _shape(self, rows: int, line: int, each: int) -> tuple[int, int]:
        """What a thread has: as much as there is room for, but not much more than there are rows."""
        most = self.op.context.info.max_shared_bytes
        shapes = [s for s in _SHAPES if self._shared(*s, line, each) <= most]
        if self.op.threads_are_loops:
            shapes = [s for s in shapes if s[0] == 1]
        return next((s for s in shapes if DOWN * s[0] < 2 * rows), shapes[-1])

    def _shared(self, rows: int, cols: int, line: int, each: int) -> int:
        bm, bn = DOWN * rows, ACROSS * cols
        weights = bm * (bn + 1) * accumulator(self.q.dtype).itemsize
        return (bm + 2 * bn) * (line + each) * self.q.dtype.itemsize + weights
