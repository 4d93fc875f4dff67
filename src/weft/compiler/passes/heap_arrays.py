"""Memory of threads that is too large for a CPU's stack, taken from the heap instead.

A worker runs all threads of a block, so what a kernel keeps per thread is there as many times as the
block has threads. Small arrays stay on the stack, which costs nothing. Functions are put into those
that call them, with their arrays; so what all of it takes is known before it runs, and is less than
the stacks have of the threads that run it.
"""

from __future__ import annotations

from weft.abi.cpu_limits import MOST_NEIGHBOURS, MOST_THREADS
from weft.compiler.ir.core import Function, Module, Op, Region
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import Type
from weft.diagnostics import CompileError, Location

_STACK = 1 << 20
"""The arrays of a block's threads stay on the stack if they have at most this many bytes together."""
_OWN = 1 << 18
"""Likewise those of one thread at a time; helpers, which come into their callers, have theirs beside."""
_SMALL = 1 << 12
"""Arrays of fewer bytes stay there, unless there are very many."""
_WHOLE = 4 << 20
"""What a kernel may take with all that it calls; the rest of a stack is for what LLVM puts there."""


def heap_arrays(module: Module) -> None:
    """Move the large arrays of every function; of a kernel that takes too much, those of all that it calls.

    Raises:
        CompileError: the variables alone of a kernel take too much.
    """
    for f in module.functions:
        sizes = [_bytes(op) for op in _arrays(f)]
        if sum(sizes) > (_STACK if any(op.operands for op in _arrays(f)) else _OWN):
            _move(f, _SMALL)
    needed = _needs(module)
    for kernel in [f for f in module.functions if f.kernel]:
        for smallest in (_SMALL, 1):
            if needed[kernel.name] > _WHOLE:
                for f in module.reached(kernel):
                    _move(f, smallest)
                needed = _needs(module)
        if needed[kernel.name] > _WHOLE:
            _refuse(kernel, needed[kernel.name])


def _arrays(f: Function) -> list[Op]:
    return [op for op in f.body.ops if op.name == "llvm.alloca"]


def _needs(module: Module) -> dict[str, int]:
    """Bytes of stack that each function takes with all that it calls, one after the other."""
    functions = {f.name: f for f in module.functions}
    known: dict[str, int] = {}

    def need(name: str) -> int:
        if name not in known:
            known[name] = 0
            ops = functions[name].body.walk()
            known[name] = sum(
                need(str(op.attrs["callee"]))
                if op.name in ("func.call", "func.constant")
                else _bytes(op)
                if op.name in ("llvm.alloca", "weft.slot")
                else 0
                for op in ops
            )
        return known[name]

    for f in module.functions:
        need(f.name)
    return known


def _refuse(kernel: Function, nbytes: int) -> None:
    raise CompileError.at(
        "stack",
        f"{kernel.source_name or kernel.name} takes {nbytes} bytes of stack on a CPU, "
        f"with the functions that it calls; there are {_WHOLE}",
        Location(kernel.file, kernel.line),
        hints=("call fewer functions, or loop over one call",),
    )


def _bytes(op: Op) -> int:
    """The most memory that the operation takes; that of a block's shared memory is limited elsewhere."""
    kind: Type = op.type_attr("elem_type")
    count = op.int_attr("count") if op.name == "llvm.alloca" else 1
    threads = MOST_NEIGHBOURS if "wide" in op.attrs else MOST_THREADS
    return count * max(1, kind.bits // 8) * (threads if op.operands else 1)


def _move(f: Function, smallest: int) -> None:
    """Move the arrays of at least so many bytes."""
    taken: dict[Op, Op] = {}
    for op in _arrays(f):
        if _bytes(op) < smallest:
            continue
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
