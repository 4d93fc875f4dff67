"""Memory of threads that is too large for a CPU's stack, taken from the heap instead.

A worker runs all threads of a block, so what a kernel keeps per thread is there as many times as the
block has threads. Small arrays stay on the stack, which costs nothing.
"""

from __future__ import annotations

from weft.ir.core import Function, Module, Op, Region
from weft.ir.ops import SPECS
from weft.ir.types import Type

__all__ = ["heap_arrays"]

_THREADS = 1024
"""The most threads of a block (``CpuFunction.max_threads_per_block``)."""
_STACK = 1 << 20
"""The arrays of a block's threads stay on the stack if they have at most this many bytes together."""
_OWN = 1 << 18
"""Likewise those of one thread at a time; helpers, which come into their callers, have theirs beside."""
_SMALL = 1 << 12
"""Arrays of fewer bytes stay there in any case."""


def heap_arrays(module: Module) -> None:
    """Move the large arrays of every function."""
    for f in module.functions:
        arrays = {op: _bytes(op) for op in f.body.ops if op.name == "llvm.alloca"}
        if sum(arrays.values()) > (_STACK if any(op.operands for op in arrays) else _OWN):
            _move(f, [op for op, size in arrays.items() if size >= _SMALL])


def _bytes(op: Op) -> int:
    """The most memory that the operation takes; that of a block's shared memory is limited elsewhere."""
    kind: Type = op.type_attr("elem_type")
    return op.int_attr("count") * max(1, kind.bits // 8) * (_THREADS if op.operands else 1)


def _move(f: Function, arrays: list[Op]) -> None:
    taken: dict[Op, Op] = {}
    for op in arrays:
        made = taken[op] = Op(SPECS["weft.take_memory"], op.operands, op.attrs, (), (), op.loc)
        made.results = op.results
        made.result.owner = made
    f.body.ops[:] = [taken.get(op, op) for op in f.body.ops]
    _give_back(f.body, list(taken.values()))


def _give_back(region: Region, taken: list[Op]) -> None:
    """Return the memory wherever the function returns."""
    out: list[Op] = []
    for op in region.ops:
        for inner in op.regions:
            _give_back(inner, taken)
        if op.name == "weft.return":
            out += [Op(SPECS["weft.give_memory"], (t.result,), {}, (), (), op.loc) for t in taken]
        out.append(op)
    region.ops[:] = out
