"""What a function does to memory: through which of its arguments it writes, whether threads meet.

Each operation declares what it does (``weft.compiler.ir.ops``), and the library what an
intrinsic or assembly does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from weft.compiler.ir.core import Function, Module, Op, Region, Sync, Value
from weft.compiler.ir.types import PointerType


class Effects(NamedTuple):
    """The positions of a function's arguments, by what happens through them."""

    written: frozenset[int]
    """There is a write."""
    touched: frozenset[int]
    """There may be one: these, and those that go where they are not followed."""
    read: frozenset[int] = frozenset()
    """There may be a read."""


_NOTHING: frozenset[int] = frozenset()
_READ_NOTHING = frozenset({"llvm.store", "weft.get", "weft.set", "weft.give_memory", "func.call"})
"""Operations that read nothing through their operands, or of which it is said elsewhere."""
EXCHANGES = frozenset({"gpu.shuffle", "gpu.ballot", "gpu.warp_call"})
"""Where lanes of a warp hand each other values."""
NAMED = "gpu.named_barrier"
BARRIERS = frozenset({"gpu.barrier", "gpu.meet", NAMED}) | EXCHANGES
"""Where all threads of a block wait for each other, or those of another group."""


def group_of(op: Op) -> str:
    """Who meets at such an operation."""
    if op.name == NAMED:
        return "named"
    return "warp" if op.name in EXCHANGES else str(op.attrs.get("group", "block"))


def meets_in_warp(op: Op) -> bool:
    """Whether lanes of a warp wait for each other there."""
    return group_of(op) == "warp"


def is_pure(op: Op) -> bool:
    """Whether it only computes: it may be moved, repeated and dropped."""
    return op.spec.pure or op.attrs.get("effects") == "none"


def unused(body: Region) -> set[Op]:
    """The operations of a function that only compute, and nobody uses what."""
    used: set[Value] = set()
    found: set[Op] = set()

    def visit(region: Region) -> None:
        for op in reversed(region.ops):
            if op.spec.pure and used.isdisjoint(op.results):
                found.add(op)
                continue
            used.update(op.operands)
            for inner in reversed(op.regions):
                visit(inner)

    visit(body)
    return found


def alone(module: Module, function: Function, effects: Effects) -> frozenset[int]:
    """The arguments of which LLVM may think that nobody else reaches their memory, where they share none.

    It thinks so whatever the threads wait for. So where threads of the launch wait for each other it must
    not think so of what they write; and where they may wait for others (a kernel of another stream or of
    another GPU, the host), of nothing.
    """
    every = frozenset(range(len(function.args)))
    ops = [op for f in module.reached(function) for op in f.body.walk()]
    met = Sync.ALL if any(map(finds_memory, ops)) else _most(ops)
    return _NOTHING if met is Sync.ALL else every - effects.touched if met is Sync.BLOCK else every


def may_wait(module: Module, function: Function) -> bool:
    """Whether a thread of it may go on only when another kernel, or the host, has done something.

    It calls functions from elsewhere, or has a loop, and reads what others may write meanwhile.
    """
    ops = [op for f in module.reached(function) for op in f.body.walk()]
    if any(op.name == "llvm.call" for op in ops):
        return True
    if not any(op.name in ("weft.for", "weft.while") for op in ops):
        return False
    asked = {value for op in ops for value in op.operands}
    return any(reads_anew(op) and not asked.isdisjoint(op.results) for op in ops)


def reads_anew(op: Op) -> bool:
    """Whether it reads what others may have written since the last time."""
    if op.name == "llvm.load":
        return bool(op.attrs["volatile"]) or "ordering" in op.attrs
    return op.name in ("llvm.cmpxchg", "llvm.atomicrmw", "llvm.inline_asm")


def finds_memory(op: Op) -> bool:
    """Whether it gives an address that comes from no argument: it may be that of any memory."""
    return op.name == "llvm.inttoptr" or (op.name == "llvm.load" and isinstance(op.result.type, PointerType))


def _most(ops: Iterable[Op]) -> Sync:
    """The threads that any of these waits for."""
    found = Sync.NONE
    for op in ops:
        sync = op.spec.sync
        if sync is not None and (of := sync(op)) > found:
            found = of
    return found


def effects_of(module: Module, function: Function) -> Effects:
    """The effects of a function with those of the functions that it calls."""
    functions = {f.name: f for f in module.functions}
    known: dict[str, Effects] = {}

    def of(name: str) -> Effects:
        if name not in known:
            known[name] = visit(functions[name])
        return known[name]

    def visit(fn: Function) -> Effects:
        origins = {a: frozenset((n,)) for n, a in enumerate(fn.args) if isinstance(a.type, PointerType)}
        written, touched, read = _NOTHING, _NOTHING, _NOTHING
        ops = [op for op in fn.body.walk() if op.operands]
        size = -1
        while size != sum(map(len, origins.values())):  # a loop may carry a pointer round
            size = sum(map(len, origins.values()))
            for op in ops:
                if origins.keys().isdisjoint(op.operands):
                    continue
                spec, given = op.spec, [origins.get(operand, _NOTHING) for operand in op.operands]
                if op.name == "weft.set":
                    slot = op.operands[0]
                    origins[slot] = origins.get(slot, _NOTHING) | given[1]
                elif op.name == "func.call":
                    through = of(str(op.attrs["callee"]))
                    written = written.union(*(given[n] for n in through.written))
                    touched = touched.union(*(given[n] for n in through.touched))
                    read = read.union(*(given[n] for n in through.read))
                elif spec.writes:
                    written |= given[0]
                    touched = touched.union(*given[1:])
                elif (spec.lets_go and not _only_reads(op)) or (spec.sync is not None and spec.sync(op)):
                    touched = touched.union(*given)
                if op.name not in _READ_NOTHING and (not is_pure(op) or spec.lets_go):
                    read = read.union(*given)
                if spec.derives:
                    for result in op.results:
                        if isinstance(result.type, PointerType):
                            origins[result] = origins.get(result, _NOTHING).union(*given)
        return Effects(written, written | touched, read)

    return visit(function)


def _only_reads(op: Op) -> bool:
    return op.attrs.get("effects") in ("none", "read")
