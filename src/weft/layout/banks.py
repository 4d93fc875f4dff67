"""Bank conflicts of accesses to shared memory, counted before anything is compiled.

``weft.lang.banks`` has the model: 32 banks of 4 bytes, each of which gives one word in a cycle (a
*wavefront*), to lanes of 4 bytes or fewer together, of 8 bytes by halves of the warp, of 16 by quarters.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import DTypeLike, as_dtype
from weft.lang.banks import BANKS, wavefronts
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import ComposedLayout
from weft.layout.tensor.partition import distribute, vectorize
from weft.record import record

__all__ = ["Conflicts", "conflicts", "wavefronts"]

_WIDEST = 16


@record
class Conflicts:
    """What ``conflicts`` counts; ``print`` shows it in words."""

    size: int
    """Bytes that a lane accesses at once."""
    accesses: tuple[int, ...]
    """The wavefronts of each access, of one warp after the other."""
    least: int
    """How many wavefronts an access takes at best."""

    @property
    def wavefronts(self) -> int:
        """Those of all accesses together."""
        return sum(self.accesses)

    @property
    def ways(self) -> float:
        """How many times as long as at best the slowest access takes: 1 where nothing conflicts."""
        worst = max(self.accesses) / self.least
        return int(worst) if worst == int(worst) else worst

    def __str__(self) -> str:
        count = f"{len(self.accesses)} access{'es' * (len(self.accesses) > 1)} of {self.size} bytes a lane"
        found = "no bank conflicts" if self.ways == 1 else f"{self.ways:g}-way bank conflicts"
        return f"{found}: {count}, {self.wavefronts} wavefronts ({self.least * len(self.accesses)} at best)"


def conflicts(
    layout: Layout | ComposedLayout, threads: Layout, dtype: DTypeLike, *, vector: tuple[int, ...] = ()
) -> Conflicts:
    """The bank conflicts of all threads' ``tile.vectorize[vector]().distribute[threads](thread)``.

    Args:
        layout: of the tile in shared memory, which begins at a multiple of 128 bytes; static.
        threads: as ``LayoutTensor.distribute`` takes it.
        dtype: the type of the elements.
        vector: elements of a vector along each mode; by default single ones. Vectors whose elements do not
            lie side by side, or that the swizzle parts, are accessed element by element, as in kernels.

    Raises:
        CompileError: something is not static, or does not divide.

    Example:
        >>> from weft import Float32
        >>> from weft.layout import ComposedLayout, Layout, Swizzle, conflicts
        >>> column = Layout.row_major(32, 1)
        >>> print(conflicts(Layout.row_major(32, 32), column, Float32))
        32-way bank conflicts: 32 accesses of 4 bytes a lane, 1024 wavefronts (32 at best)
        >>> print(conflicts(ComposedLayout(Layout.row_major(32, 32), Swizzle(5, 0, 5)), column, Float32))
        no bank conflicts: 32 accesses of 4 bytes a lane, 32 wavefronts (32 at best)
    """
    plain = layout.layout if isinstance(layout, ComposedLayout) else layout
    if not plain.is_static:
        refuse("layout", f"{layout} is known at run time only", "count conflicts of a static layout")
    itemsize = as_dtype(dtype).itemsize
    vectors = vectorize(plain, *(vector or (1,) * plain.rank))
    lanes = prod(vector)
    whole = _stays(layout, vectors.layout, vectors.element, lanes)
    each = [0] if whole else [vectors.element(n) for n in range(lanes)]
    size = lanes * itemsize if whole else itemsize
    parts = [0] if size <= _WIDEST else list(range(0, size, _WIDEST))
    offsets = list(_offsets(vectors.layout, threads))
    found: list[int] = []
    for first in range(0, len(offsets), BANKS):
        warp = offsets[first : first + BANKS]
        for number in range(len(warp[0])):
            for lane in each:
                places = [_place(layout, of_thread[number] + lane) * itemsize for of_thread in warp]
                for part in parts:
                    found.append(wavefronts([place + part for place in places], min(size, _WIDEST)))
    least = wavefronts([n * min(size, _WIDEST) for n in range(min(BANKS, len(offsets)))], min(size, _WIDEST))
    return Conflicts(min(size, _WIDEST), tuple(found), least)


def _offsets(layout: Layout, threads: Layout) -> Iterator[list[int]]:
    """Of each thread where its elements lie, in the order in which it takes them."""
    for thread in range(threads.size()):
        part = distribute(layout, threads, thread)
        yield [part.offset + part.fragment(n) for n in range(part.fragment.size())]


def _place(layout: Layout | ComposedLayout, offset: int) -> int:
    return layout.swizzle(layout.offset + offset) if isinstance(layout, ComposedLayout) else offset


def _stays(layout: Layout | ComposedLayout, vectors: Layout, element: Layout, lanes: int) -> bool:
    """Whether the elements of all vectors lie side by side, aligned to a vector."""
    for n in range(vectors.size()):
        places = [_place(layout, vectors(n) + element(lane)) for lane in range(lanes)]
        if places[0] % lanes or places != list(range(places[0], places[0] + lanes)):
            return False
    return True


present(globals())
