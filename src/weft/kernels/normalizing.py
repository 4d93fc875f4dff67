"""Results for each element of rows, which need what is known of their row as a whole."""

from __future__ import annotations

from typing import Any

from weft.algorithm.elements import Memory
from weft.kernels import row_kernels, row_reductions
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.row_memory import Line
from weft.kernels.rows import EACH, THREADS, WARPS, Plan, Rows, across, chunks_of, parts, rows_of
from weft.lang.generic import written
from weft.targets import Feature, find_target

HELD = 128
"""Bytes that a thread holds at most."""
VECTORS, SINGLE = 4, 8
"""Of short rows a lane holds so many at most, and elements of rows that are no vectors: joining what lanes
know takes more instructions than an element."""
CLUSTER = 8
"""Blocks of a cluster that hold a row together, at most: more are not in every GPU's reach."""
AHEAD = 8
"""Rows of 4-byte elements are asked for early by so many times fewer than there are blocks at once, and more
of shorter ones: on an H200 softmax of 16384² Float32 goes from 4126 to 4218 GB/s with 6 to 32, with 2 to
3890; layer norm of BFloat16 from 4080 with 24 to 4173 with 8."""
LONG = 256
"""Elements of rows that are worth an element more for each thread, so that the others lie in vectors."""
AT_ONCE = 8
"""Vectors that a CPU's thread joins before it joins them with those before."""
SHORT = 1 << 18
"""Elements of a row that a CPU's caches keep from the first reading to the second: no more tasks for it."""


def normalize(
    op: Operands,
    operation: Any,
    x: Operand,
    out: Operand,
    axis: int,
    *,
    more: Operand | None = None,
    total: Operand | None = None,
    weight: Operand | None = None,
    bias: Operand | None = None,
    given: Any = None,
) -> None:
    """Launch what makes rows of ``out`` of the rows of ``x``.

    Args:
        op: the call.
        operation: as ``weft.kernels.rows`` has it.
        x: what is read.
        out: what is written; it may be ``x``.
        axis: along which rows lie.
        more: what is added to ``x`` before.
        total: where the sum goes.
        weight: for the operation's writer, a number for each place of a row.
        bias: likewise.
        given: what else the operation is given.
    """
    if not x.size:
        return
    rows = rows_of(op, axis, x, out, more, total)
    if not op.threads_are_loops and not rows.beside:
        near = [o.lanes() for o in (weight, bias) if o is not None]
        rows = rows._replace(width=min([rows.width, *near]))
    operands = [o for o in (x, out, more, total) if o is not None]
    shifted = not op.threads_are_loops and not rows.beside and _are_shifted(rows, operands)
    source, target, *others = rows.lines
    added = [None if other is None else Line(*other) for other in others]
    vectors = [None if o is None else Memory(o.memory) for o in (weight, bias)]
    places = *source, *target, *added, *vectors, given, rows.number, rows.n, rows.extents
    size = accumulator(x.dtype).itemsize
    known: dict[str, Any] = {"operation": operation, "kind": written(accumulator(x.dtype))}
    form = None if rows.beside or op.threads_are_loops else _held(op, rows, size, x.dtype.itemsize, shifted)
    if form is not None:
        grid = -(-rows.number * form["blocks"] * form["lanes"] // form["threads"])
        how: dict[str, Any] = {"cluster_dim": form["blocks"]} if form["blocks"] > 1 else {}
        op.launch(row_kernels.held, grid, form["threads"], *places, early=True, **form, **known, **how)
        return
    plan, states = (across(op, rows, EACH) if rows.beside else _streamed(op, rows, size)), None
    if plan.chunks > 1:
        states = Memory(parts(op, operation, plan, rows, added[0], given, known))
    kernel, known = plan.kernel, known | plan.known
    if rows.beside:
        known["way"] = "rows"
    else:
        kernel = row_kernels.streamed
        del known["lanes"]
    op.launch(kernel, plan.grid, plan.block, *places, states, plan.chunks, early=not rows.beside, **known)


def _are_shifted(rows: Rows, operands: list[Operand]) -> bool:
    """Whether rows of neighbours begin between vectors, and alike in all operands."""
    x, line = operands[0], rows.lines[0]
    lines = [other for other in rows.lines if other is not None]
    alike = all(
        o.dtype.itemsize == x.dtype.itemsize and (o.address - x.address) % 16 == 0 and other[1:] == line[1:]
        for o, other in zip(operands, lines, strict=True)
    )
    return alike and line[2] == 1 and rows.n >= LONG and rows.width * x.dtype.itemsize < 16


def _held(op: Operands, rows: Rows, size: int, stored: int, shifted: bool) -> dict[str, Any] | None:
    """How threads hold rows: those of a warp, a block, or a cluster, of more blocks where rows are few.

    None where they cannot. ``size`` is that of a number in registers, ``stored`` in memory.
    """
    width = 16 // stored if shifted else rows.width
    units, each, processors = -(-rows.n // width), HELD // size // width, op.context.info.multiprocessors
    most = CLUSTER if find_target(op.context.target).supports(Feature.CLUSTERS) else 1
    if units > THREADS * each * most:
        return None
    few = SINGLE if width == 1 else VECTORS
    blocks, threads, lanes = 1, WARPS, 1 << min(5, (-(-units // few) - 1).bit_length())
    if units > THREADS * each:
        blocks = min(most, max(-(-units // (THREADS * each)), processors // rows.number))
    if units > 32 * each:
        threads = lanes = -(-units // (32 * each * blocks)) * 32
    each = -(-units // (lanes * blocks))
    there = processors * (row_kernels.RESIDENT // threads) // blocks
    return {
        "threads": threads,
        "lanes": lanes,
        "each": each,
        "whole": units == each * lanes * blocks and not shifted,
        "blocks": blocks,
        "ahead": there * 4 // (AHEAD * stored) if rows.width * stored % 16 == 0 else 0,
        "width": width,
        "shifted": shifted,
    }


def _streamed(op: Operands, rows: Rows, size: int) -> Plan:
    """Rows that are read twice, or their chunks; ``size`` is that of a number in registers."""
    wide = rows.width * size > 16 or size > 4
    threads = 1 if op.threads_are_loops else THREADS
    least = SHORT if op.threads_are_loops else 4 * threads * EACH * rows.width
    chunks = chunks_of(op, rows.number, rows.n, least) if rows.n >= least else 1
    if chunks == 1 and threads > 1 and not wide:
        threads *= 2
    each = EACH
    if op.threads_are_loops:  # whose vectors beyond go one by one
        each = min(AT_ONCE, 1 << max(1, rows.n // rows.width).bit_length() - 1)
    known = {"threads": threads, "lanes": threads, "each": each, "width": rows.width}
    return Plan(row_reductions.reduced, rows.number * chunks, threads, chunks, known)
