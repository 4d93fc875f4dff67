"""Which kernel attends, in what tiles, and to how many parts of the keys at once."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

from weft.kernels.copies import contiguous
from weft.kernels.flash import decoding, hopper, lanes, warps
from weft.kernels.flash.tiles import ACROSS, DOWN, attention_tiles, combine
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.places import row_major
from weft.lang import Int32
from weft.layout import LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle
from weft.record import record
from weft.targets import Feature, find_target

_SHAPES = ((4, 8), (2, 4), (1, 4), (1, 2), (1, 1))
"""Rows and columns of scores that a thread has."""
_ROWS = 1, 4, 32
"""Rows that a thread of a CPU has."""
_PART = 512
"""Keys of a part at least."""
_WAVES = 2
"""Blocks for each multiprocessor, for which keys are parted; of ``decoding_hopper`` one keeps it busy."""
_CLUSTER = 8
"""Parts that the blocks of a cluster join, at most: more are not in every GPU's reach."""
_LEAST, _LONG = 128, 8192
"""Keys of a block of a cluster at least; and from how many on another kernel may join what clusters made."""
_FAR = 1 << 30
"""More keys than there are."""
_CACHED = 32 << 20
"""Bytes of keys and values of the heads that blocks do side by side."""
_JOINING, _AT_ONCE = 128, 16
"""Threads that join the parts of a row, and how many parts at once."""


def multiplies_by_warpgroups(target: str) -> bool:
    """Whether a target has what the kernels for Hopper are for; others run them too, slowly."""
    return find_target(target).supports(Feature.WGMMA)


@record
class Attending:
    """A call by its arrays: (batch, head, row, feature), where heads that share keys may be rows."""

    op: Operands
    q: Operand
    out: Operand
    lse: Operand
    k: Operand
    v: Operand
    lengths: Operand | None
    table: Operand | None
    scale: float
    diagonal: int | None

    def launch(self) -> None:
        """Queue the kernels."""
        _, heads, rows, _ = self.q.shape
        cores = self._has_tensor_cores()
        if cores and rows <= hopper.ROWS and heads == self.k.shape[1] and self.diagonal is None:
            self._by_decoding()
        elif cores and self.table is None and self.lengths is None:
            self._by_hopper()
        elif self.op.threads_are_loops:
            self._by_lanes()
        else:
            self._by_tiles()

    @property
    def keys(self) -> int:
        """Of a sequence, at most."""
        return self.k.shape[2] * (self.table.shape[1] if self.table is not None else 1)

    def _has_tensor_cores(self) -> bool:
        """Whether the kernels for Hopper take these: what the hardware copies lies as it wants it."""
        q, dtype = self.q, self.q.dtype
        width, eight = q.shape[3], 16 // dtype.itemsize
        if not multiplies_by_warpgroups(self.op.context.target) or dtype.itemsize != 2:
            return False
        page = self.k.shape[2] if self.table is not None else hopper.ROWS
        if width % 8 or self.scale <= 0 or not self.keys or page % 8:
            return False
        all_ = q, self.k, self.v, self.out
        near = all(x.strides[3] == 1 and x.lanes(*x.strides[:3]) == eight for x in all_)
        return near and self.keys < _FAR

    def _by_hopper(self) -> None:
        batch, heads, rows, features = self.q.shape
        width = hopper.filled(features)
        units = self.op.context.info.multiprocessors
        share = -(-rows // (2 * hopper.ROWS)) * heads * batch / units
        groups = hopper.warpgroups(self.keys, width, share)
        down = -(-rows // (hopper.ROWS * groups))
        count = down * heads * batch
        bn = hopper.keys_at_once(self.keys, width, groups, share)
        diagonal = self.keys if self.diagonal is None else max(-_FAR, min(self.diagonal, _FAR))
        read = 2 * self.keys * width * self.q.dtype.itemsize * self.k.shape[1] // heads  # for a head
        band = min(max(1, _CACHED // read), heads * batch)
        sizes = count, down, heads * batch, heads, heads // self.k.shape[1], self.keys, band
        tiles = hopper.Tiles(*(Int32(x) for x in sizes))
        self.op.launch(
            hopper.attention_hopper,
            min(count, units * (3 - groups)),
            128 * (groups + 1),
            *(self._tiled(self.q, hopper.ROWS), *(self._tiled(x, bn) for x in (self.k, self.v))),
            *(self.out.tensor(), self.lse.tensor(), self.scale, diagonal, tiles),
            features=features,
            bn=bn,
            groups=groups,
            shared_mem_bytes=hopper.shared_bytes(width, bn, groups),
            early=True,
        )

    def _by_decoding(self) -> None:
        batch, heads, lines, features = self.q.shape
        width = hopper.filled(features)
        rows = gcd(self.k.shape[2], decoding.KEYS) if self.table is not None else decoding.KEYS
        known: dict[str, Any] = {"width": width}
        if lines <= warps.ROWS and width <= warps.WIDEST:
            kernel, threads, nbytes = warps.decoding_warps, warps.THREADS, warps.shared_bytes(width)
            blocks, parts, part = self.clusters(heads * batch)
            known |= {"blocks": blocks} | ({"cluster_dim": blocks} if blocks > 1 else {})
        else:
            kernel, threads, nbytes = decoding.decoding_hopper, 256, decoding.shared_bytes(width)
            blocks, (parts, part) = 1, self.parts(heads * batch, decoding.KEYS, waves=1)
        out, lse = self._targets(parts)
        self.op.launch(
            kernel,
            (parts * blocks, heads, batch),
            threads,
            *(self.q.tensor(), self._tiled(self.k, rows), self._tiled(self.v, rows)),
            *(out.tensor(), lse.tensor()),
            *(*self._cache(), self.scale, self.keys, part),
            **known,
            shared_mem_bytes=nbytes,
        )
        self._join(parts, out, lse)

    def clusters(self, pairs: int) -> tuple[int, int, int]:
        """How many blocks a cluster has, how many clusters share the keys, and how many keys a block has.

        Clusters of two find room on all multiprocessors, of others some of these are left over.
        """
        processors = self.op.context.info.multiprocessors
        room = max(processors * 4 // 5 // pairs, 2 if 2 * pairs <= processors else 1)
        blocks = min(_CLUSTER, room, -(-self.keys // _LEAST))
        step = decoding.KEYS * blocks
        each = -(-self.keys // (step * (room // blocks if self.keys >= _LONG else 1)))
        return blocks, -(-self.keys // (step * each)), each * decoding.KEYS

    def _by_lanes(self) -> None:
        """By the threads of a CPU."""
        batch, heads, rows, width = self.q.shape
        high = next(n for n in _ROWS if n >= rows or n == _ROWS[-1])
        down = -(-rows // high)
        parts, part = self.parts(down * heads * batch, lanes.KEYS)
        out, lse = self._targets(parts)
        near = [x if x.strides[3] == 1 else contiguous(self.op, x) for x in (self.q, self.k, self.v)]
        memory = [one for x in near for one in (x.memory, x.strides[:3])]
        memory += [one for x in (out, lse) for one in (x.memory, x.strides)]
        self.op.launch(
            lanes.attention_lanes,
            (down, heads, batch * parts),
            1,
            *(*memory, self.k.shape[::2][:2], *self._cache()),
            *((batch, rows, heads // self.k.shape[1]), self.scale),
            *(self.keys if self.diagonal is None else self.diagonal, self.keys, part),
            rows=high,
            width=width,
        )
        self._join(parts, out, lse)

    def _by_tiles(self) -> None:
        batch, heads, rows, width = self.q.shape
        each = 16 // self.q.dtype.itemsize
        line = -(-width // (ACROSS * each)) * ACROSS * each
        high, wide = self._shape(rows, line, each)
        down = -(-rows // (DOWN * high))
        parts, part = self.parts(down * heads * batch, ACROSS * wide)
        out, lse = self._targets(parts)
        self.op.launch(
            attention_tiles,
            (down, heads, batch * parts),
            ACROSS * DOWN,
            *(*(x.tensor() for x in (self.q, self.k, self.v, out, lse)), *self._cache()),
            *(self.scale, self.keys if self.diagonal is None else self.diagonal, self.keys, part),
            rows=high,
            cols=wide,
            width=line,
            shared_mem_bytes=self._shared(high, wide, line, each),
        )
        self._join(parts, out, lse)

    def _cache(self) -> list[LayoutTensor[Any] | None]:
        return [x and x.tensor() for x in (self.lengths, self.table)]

    def _tiled(self, x: Operand, rows: int) -> Any:
        box = (1, 1, rows, hopper.LINE)
        return self.op.context.create_tma_tile(x.tensor(), box, swizzle=TensorMapSwizzle.SWIZZLE_128B)

    def parts(self, blocks: int, step: int, waves: int = _WAVES) -> tuple[int, int]:
        """In how many parts the keys are done, and how many each has: all, if there are blocks enough."""
        wanted = self.op.context.info.multiprocessors * waves
        parts = min(max(1, wanted // blocks), max(1, self.keys // _PART))
        part = max(1, -(-self.keys // (parts * step))) * step
        return max(1, -(-self.keys // part)), part

    def _targets(self, parts: int) -> tuple[Operand, Operand]:
        """Where results of the parts and their logarithms go."""
        if parts == 1:
            return self.out, self.lse
        found: list[Operand] = []
        for axes in (4, 3):
            shape = (parts * self.q.shape[0], *self.q.shape[1:axes])
            found.append(self.op.scratch(prod(shape), accumulator(self.q.dtype)))
            found[-1].shape, found[-1].strides = shape, row_major(shape)
        return found[0], found[1]

    def _join(self, parts: int, out: Operand, lse: Operand) -> None:
        if parts > 1:
            batch, heads, rows, _ = self.q.shape
            nbytes = parts * accumulator(self.q.dtype).itemsize
            args = [x.tensor() for x in (out, lse, self.out, self.lse)]
            grid = rows, heads, batch
            self.op.launch(combine, grid, _JOINING, *args, each=_AT_ONCE, shared_mem_bytes=nbytes, pdl=True)

    def _shape(self, rows: int, line: int, each: int) -> tuple[int, int]:
        """What a thread has: as much as there is room for, but not much more than there are rows."""
        most = self.op.context.info.max_shared_bytes
        shapes = [s for s in _SHAPES if self._shared(*s, line, each) <= most]
        return next((s for s in shapes if DOWN * s[0] < 2 * rows), shapes[-1])

    def _shared(self, rows: int, cols: int, line: int, each: int) -> int:
        bm, bn = DOWN * rows, ACROSS * cols
        weights = bm * (bn + 1) * accumulator(self.q.dtype).itemsize
        return (bm + 2 * bn) * (line + each) * self.q.dtype.itemsize + weights
