"""Copies between planes and elements side by side: a picture's channels, parts of complex numbers, points.

A thread has a vector of each plane, which it writes as vectors one after the other, or the other way round:
all of memory goes by whole vectors, and nothing through shared memory.
"""

from __future__ import annotations

from math import prod
from typing import Any

from weft.gpu import block_idx, thread_idx
from weft.kernels.operands import Operand, Operands
from weft.kernels.row_memory import begin
from weft.lang import SIMD, Comptime, Int, Pointer, kernel, unroll
from weft.math import min as least

MOST = 8
"""Planes at most, whose vectors a thread has in its registers."""
_THREADS, _CHUNK = 256, 1 << 13
"""Threads of a block, and places that a task of a CPU has."""


def planes_of(extents: Any, here: Any, there: Any) -> tuple[int, int] | None:
    """Which axis of a copy counts planes, and which places; None where no few lie side by side on one end.

    ``here`` are the strides of the source, ``there`` those of the result.
    """
    for axis in range(len(extents)):
        count = extents[axis]
        for dense, apart in ((there, here), (here, there)):
            places = next((n for n, step in enumerate(apart) if step == 1 and n != axis), None)
            if places is not None and 1 < count <= MOST and dense[axis] == 1 and dense[places] == count:
                return axis, places
    return None


def interleave(
    op: Operands,
    x: Operand,
    out: Operand,
    extents: Any,
    here: Any,
    there: Any,
    bits: Any,
    axes: tuple[int, int],
) -> None:
    """Launch it: ``axes`` are what ``planes_of`` has found."""
    axis, places = axes
    rest = [n for n in range(len(extents)) if n not in axes]
    count, n, together = extents[axis], extents[places], there[axis] == 1
    apart, lines = (
        (here if together else there),
        [tuple(steps[k] for k in rest) or (0,) for steps in (here, there)],
    )
    width = min(o.lanes(n, apart[axis], *own) for o, own in zip((x, out), lines, strict=True))
    chunk, threads = (_CHUNK, 1) if op.threads_are_loops else (_THREADS * width, _THREADS)
    others = tuple(extents[k] for k in rest) or (1,)
    chunks = -(-n // chunk)
    op.launch(
        interleaved,
        prod(others) * chunks,
        threads,
        *(x.memory, lines[0], out.memory, lines[1], apart[axis], n, others, chunks),
        bits=bits,
        count=count,
        width=1 if op.threads_are_loops else width,
        threads=threads,
        chunk=chunk,
        together=together,
    )


@kernel
def interleaved(
    x: Pointer[Any],
    x_steps: Any,
    out: Pointer[Any],
    out_steps: Any,
    plane: Int,
    n: Int,
    extents: Any,
    chunks: Int,
    *,
    bits: Comptime[Any],
    count: Comptime[int],
    width: Comptime[int],
    threads: Comptime[int],
    chunk: Comptime[int],
    together: Comptime[bool],
):
    """``count`` planes, ``plane`` apart, that come ``together``, or come from elements that are."""
    row, first = block_idx.x // chunks, block_idx.x % chunks * chunk
    source = begin(x, x_steps, row, extents).bitcast(bits)
    target = begin(out, out_steps, row, extents).bitcast(bits)
    for at in range(first + thread_idx.x * width, least(first + chunk, n), threads * width):
        beside = [at * count + k * width for k in unroll(range(count))]
        planes = [at + k * plane for k in unroll(range(count))]
        froms, to = (planes, beside) if together else (beside, planes)
        aligned = width * bits.dtype.itemsize
        values = [source.load(place, width=width, alignment=aligned) for place in froms]
        for k, value in enumerate(_turned(values, count, width, together, bits)):
            target.store(to[k], value, alignment=aligned)


def _turned(values: Any, count: int, width: int, together: bool, bits: Any) -> Any:
    """Vectors of planes as those of elements side by side, or back."""
    if width == 1:
        return values
    if together:
        lanes = [values[k][i] for i in range(width) for k in range(count)]
    else:
        flat = [value[i] for value in values for i in range(width)]
        lanes = [flat[i * count + k] for k in range(count) for i in range(width)]
    vector: Any = SIMD[bits, width]
    return [vector(*lanes[k : k + width]) for k in range(0, len(lanes), width)]
