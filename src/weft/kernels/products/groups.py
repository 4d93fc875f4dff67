"""Tables of the tiles of groups of rows, whose ends the device alone knows: which ``warpgroups`` takes."""

from __future__ import annotations

from typing import Any

from weft.dtype import DType
from weft.gpu import thread_idx
from weft.kernels.operands import Operand, Operands
from weft.lang import Comptime, Int, Int32, Pointer, kernel

THREADS = 256


@kernel
def list_tiles(ends: Pointer[Any], table: Pointer[Int32], groups: Int, count: Int, *, rows: Comptime[int]):
    """Of each tile of so many rows its group, first row and the group's end; nothing behind the last one."""
    total, begin, own = Int(0), Int(0), thread_idx.x
    for group in range(groups):
        end = Int(ends[group])
        tiles = max(Int(0), -(-(end - begin) // rows))
        for i in range(own, tiles, THREADS):
            place = 3 * (total + i)
            table[place] = Int(group).cast(Int32)
            table[place + 1] = (begin + i * rows).cast(Int32)
            table[place + 2] = end.cast(Int32)
        total += tiles
        begin = end
    for i in range(3 * total + own, 3 * count, THREADS):
        table[i] = 0


def listed(op: Operands, ends: Operand, count: int, rows: int) -> Operand:
    """A table of at most ``count`` tiles."""
    table = op.scratch(3 * count, DType.int32)
    op.launch(list_tiles, 1, THREADS, ends.memory, table.memory, ends.size, count, rows=rows)
    return table
