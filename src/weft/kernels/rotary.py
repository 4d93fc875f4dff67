"""Rotary position embeddings (Su, Lu, Pan, Murtadha, Wen, Liu: "RoFormer", 2021)."""

from __future__ import annotations

from math import prod
from typing import Any, TypeVar

from weft.calls.planned import planned_but
from weft.gpu import block_idx, thread_idx
from weft.kernels.copies import contiguous
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.places import merged
from weft.kernels.row_memory import begin, load, store
from weft.lang import Comptime, Int, Int32, Int64, Pointer, func, kernel, unroll
from weft.lang.generic import written
from weft.math import min as least

A = TypeVar("A")
THREADS, EACH = 256, 2
LANES, TASK = 16, 1 << 13
"""Pairs of a CPU's vectors, and elements that a task of it has."""


@planned_but("out")
def rope(x: A, cos: Any, sin: Any, *, axis: int = -2, interleaved: bool = False, out: Any = None) -> A:
    """Turn pairs of features by angles that depend on the position, as of queries and keys before attention.

    Of ``cos`` and ``sin`` of k features each, the first 2 k features of ``x`` are turned: feature i with
    feature k + i, or with its neighbour if ``interleaved``. The others stay.

    Args:
        x: floating; the last axis has the features.
        cos: floating, (positions, k), where ``x`` has that many positions along ``axis``.
        sin: likewise.
        axis: the axis that counts the positions.
        interleaved: whether pairs are neighbours, as in GPT-J, and not halves, as in Llama.
        out: where the result goes; it may be ``x``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import rope
        >>> angles = np.pi / 2 * np.arange(3)[:, None]
        >>> rope(np.tile([1.0, 2.0], (3, 1)), np.cos(angles), np.sin(angles)).round()
        array([[ 1.,  2.],
               [-2.,  1.],
               [-1., -2.]])
    """
    op = Operands("rope", x=x, cos=cos, sin=sin)
    source, angles = op["x"].of("float"), [op[name].of("float") for name in ("cos", "sin")]
    along, rank = op.axis(axis), len(source.shape)
    if along == rank - 1:
        source.refuse(f"of shape {source.shape}, whose last axis counts positions", "pass another axis=")
    positions, most = source.shape[along], source.shape[-1] // 2
    for operand in angles:
        if len(operand.shape) != 2:
            found = f"of shape {operand.shape}, and takes two axes: positions and angles"
            operand.refuse(found, f"pass one of shape ({positions}, k), with 1 to {most} angles for all of x")
    half = angles[0].shape[1]
    for operand in angles:
        operand.shaped((positions, half), "for the positions of x it is")
    if not 0 < 2 * half <= source.shape[-1]:
        angles[0].refuse(f"of {half} angles a position", f"pass 1 to {most} for x's features")
    target = op.result(source.shape, source.dtype, out, same=[source])
    if source.size:
        _rotate(op, source, target, [contiguous(op, each) for each in angles], along, half, interleaved)
    return op.give(target)


def _rotate(
    op: Operands, x: Operand, out: Operand, angles: list[Operand], axis: int, half: int, interleaved: bool
) -> None:
    extents, (here, there) = merged(x.shape[:-1], x.strides[:-1], out.strides[:-1])
    steps, features = (x.strides[-1], out.strides[-1]), x.shape[-1]
    after = prod(x.shape[axis + 1 : -1])
    lines = (x.memory, here, steps[0], out.memory, there, steps[1])
    if op.threads_are_loops:
        rows, width = prod(extents), 1 if steps != (1, 1) else min(LANES, 1 << half.bit_length() - 1)
        each = max(1, TASK // features)
        arguments = *lines, *angles, rows, each, extents, features, half, x.shape[axis], after
        known: dict[str, Any] = {"kind": written(accumulator(x.dtype)), "width": width}
        op.launch(rotated_rows, -(-rows // each), 1, *arguments, **known, interleaved=interleaved)
        return
    width = 1
    if steps == (1, 1) and not interleaved:
        width = min(
            o.lanes(half, features, *far) for o, far in ((x, here), (out, there), *((a, ()) for a in angles))
        )
    units = prod(extents) * -(-(features - half) // width)
    known = {"kind": written(accumulator(x.dtype)), "width": width, "threads": THREADS, "each": EACH}
    known |= {"number": Int32 if units < 1 << 31 else Int64, "interleaved": interleaved}
    arguments = *lines, *angles, units, extents, features, half, x.shape[axis], after
    op.launch(rotated, -(-units // (THREADS * EACH)), THREADS, *arguments, **known)


@kernel
def rotated(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    cos: Pointer[Any],
    sin: Pointer[Any],
    units: Int,
    extents: Any,
    features: Int,
    half: Int,
    positions: Int,
    after: Int,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    number: Comptime[Any],
    threads: Comptime[int],
    each: Comptime[int],
    interleaved: Comptime[bool],
):
    """``each`` so many vectors of pairs a thread, or of features that stay, which come behind the pairs."""
    first = number(block_idx.x) * (threads * each) + number(thread_idx.x)
    strips = number((features - half) // width)
    for i in unroll(range(each)):
        unit = first + i * threads
        if unit < number(units):
            line, at = unit // strips, Int(unit % strips) * width
            row = Int(line)
            source, target = begin(x, x_steps, row, extents), begin(out, out_steps, row, extents)
            if at < half:
                place = Int(line // number(after) % number(positions)) * half
                lines, turns = (source, target, x_step, out_step), (cos + place, sin + place)
                _turn(lines, turns, at, half, kind=kind, width=width, interleaved=interleaved)
            else:
                store(target, at + half, out_step, load(source, at + half, x_step, width, kind))


@kernel
def rotated_rows(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    cos: Pointer[Any],
    sin: Pointer[Any],
    rows: Int,
    each: Int,
    extents: Any,
    features: Int,
    half: Int,
    positions: Int,
    after: Int,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    interleaved: Comptime[bool],
):
    """``each`` so many rows of a CPU's thread."""
    whole = half // width * width
    for row in range(block_idx.x * each, least((block_idx.x + 1) * each, rows)):
        lines = begin(x, x_steps, row, extents), begin(out, out_steps, row, extents), x_step, out_step
        place = row // after % positions * half
        turns = cos + place, sin + place
        for at in range(0, whole, width):
            _turn(lines, turns, at, half, kind=kind, width=width, interleaved=interleaved)
        for at in range(whole, half):
            _turn(lines, turns, at, half, kind=kind, width=1, interleaved=interleaved)
        for at in range(2 * half, features):
            lines[1][at * out_step] = lines[0][at * x_step]


@func
def _turn(
    lines: Any,
    turns: Any,
    at: Any,
    half: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    interleaved: Comptime[bool],
) -> None:
    """Turn pairs, which are ``half`` apart, or neighbours."""
    source, target, step, to = lines
    c, s = [load(line, at, 1, width, kind) for line in turns]
    if interleaved and width > 1:
        a, b = load(source, 2 * at, 1, 2 * width, kind).deinterleave()
        store(target, 2 * at, 1, (a * c - b * s).interleave(b * c + a * s))
    else:
        one, other = (2 * at, 2 * at + 1) if interleaved else (at, half + at)
        a, b = load(source, one, step, width, kind), load(source, other, step, width, kind)
        store(target, one, to, a * c - b * s)
        store(target, other, to, b * c + a * s)
