"""What a launch makes of the ends of groups of rows, which the device alone knows."""

from __future__ import annotations

from typing import Any

from weft.dtype import DType
from weft.gpu import block_idx, grid_dim, thread_idx
from weft.kernels.operands import Operand
from weft.kernels.products.problem import Problem
from weft.lang import Bool, Comptime, Int, Int32, Pointer, kernel

THREADS = 256


@kernel
def list_tiles(
    ends: Pointer[Any],
    table: Pointer[Int32],
    groups: Int,
    count: Int,
    out: Pointer[Any],
    lines: Int,
    columns: Int,
    *,
    rows: Comptime[int],
    fresh: Comptime[bool],
):
    """What ``listed`` says, by the first block; the others clear the rows behind the last group."""
    total, begin, own, rising = Int(0), Int(0), thread_idx.x, Bool(True)
    for group in range(groups):
        given = Int(ends[group])
        end = min(max(begin, given), lines)
        rising &= end == given
        if block_idx.x == 0:
            if own == 0:
                table[3 * count + group] = end.cast(Int32)
            if rows > 0:
                tiles = -(-(end - begin) // rows)
                for i in range(own, tiles, THREADS):
                    place = 3 * (total + i)
                    table[place] = Int(group).cast(Int32)
                    table[place + 1] = (begin + i * rows).cast(Int32)
                    table[place + 2] = end.cast(Int32)
                total += tiles
        begin = end
    if block_idx.x == 0:
        for i in range(3 * total + own, 3 * count, THREADS):
            table[i] = 0
        if own == 0:
            assert rising, "grouped_matmul: ends fall, or go beyond the rows of a"
    elif fresh:
        first = begin * columns + (block_idx.x - 1) * THREADS + own
        for i in range(first, lines * columns, (grid_dim.x - 1) * THREADS):
            out[i] = out.element_type(0)


def listed(problem: Problem, groups: Operand, count: int = 0, rows: int = 0) -> Operand:
    """A table of at most ``count`` tiles of so many rows, and behind it where each group ends.

    Of a tile it has the group, the first row and the group's end; nothing behind the last one. Ends that fall
    or go beyond the rows are told by an assertion, and are those next to them that do not. Rows of a new
    result that are in no group become zero.
    """
    op, out = problem.op, problem.out
    _, lines, columns = out.shape
    table = op.scratch(3 * count + groups.size, DType.int32)
    fillers = min(-(-lines * columns // THREADS), 4 * op.context.info.multiprocessors) if problem.fresh else 0
    known: dict[str, Any] = {"rows": rows, "fresh": problem.fresh}
    whole = (groups, table, groups.size, count, out, lines, columns)
    op.launch(list_tiles, 1 + fillers, THREADS, *whole, **known)
    return table
