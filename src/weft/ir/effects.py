"""What a function does to memory: through which of its arguments it writes, whether threads meet."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.core import Function, Module, Op
from weft.ir.types import PointerType

__all__ = ["Effects", "alone", "effects_of"]

_WRITES = ("llvm.store", "llvm.atomicrmw", "llvm.cmpxchg")
"""Operations whose first operand is the address that they write to."""
_FENCES = ("fence", "membar")
"""Parts of the names of intrinsics that order memory, for which threads their names do not say alike."""
_ACQUIRES = ("acquire", "acq_rel", "seq_cst")
_HARMLESS = (
    "llvm.getelementptr",
    "llvm.addrspacecast",
    "llvm.load",
    "arith.select",
    "arith.cmpi",
    "weft.slot",
    "weft.get",
    "weft.return",
)
"""Operations that write through no operand, and whose result, if it is a pointer, is made of these."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The positions of a function's arguments, by what happens through them."""

    written: frozenset[int]
    """There is a write."""
    touched: frozenset[int]
    """There may be one: these, and those that go where they are not followed."""


_NOTHING: frozenset[int] = frozenset()


def alone(module: Module, function: Function) -> frozenset[int]:
    """The arguments of which LLVM may think that nobody else reaches their memory, where they share none.

    It thinks so whatever the threads wait for. So where threads of the launch wait for each other it must
    not think so of what they write; and where they may wait for others (a kernel of another stream or of
    another GPU, the host), of nothing.
    """
    ops = [op for f in module.functions for op in f.body.walk()]
    if any(map(_hears_others, ops)):
        return _NOTHING
    every = frozenset(range(len(function.args)))
    return every - effects_of(module, function).touched if any(map(_meets, ops)) else every


def _meets(op: Op) -> bool:
    """Whether it may order what one thread writes with what another reads."""
    return (
        op.name == "gpu.barrier"
        or (op.name == "llvm.call_intrinsic" and not op.attrs["pure"])
        or (op.name == "llvm.inline_asm" and bool(op.attrs["has_side_effects"]))
        or _is_shared(op)
    )


def _is_shared(op: Op) -> bool:
    """Whether it is an access or a fence of memory that others change meanwhile."""
    return "ordering" in op.attrs or bool(op.attrs.get("volatile"))


def _hears_others(op: Op) -> bool:
    """Whether what it has seen orders what threads outside of its block have written."""
    if op.name == "llvm.inline_asm":
        return bool(op.attrs["has_side_effects"]) and "{memory}" in str(op.attrs["constraints"])
    if op.name == "llvm.call_intrinsic":
        return any(word in str(op.attrs["intrin"]) for word in _FENCES)
    return op.attrs.get("ordering") in _ACQUIRES and op.attrs.get("syncscope") != "block"


def effects_of(module: Module, function: Function) -> Effects:
    """The effects of a function with those of the functions that it calls."""
    functions = {f.name: f for f in module.functions}
    known: dict[str, Effects] = {}

    def of(name: str) -> Effects:
        if name not in known:
            known[name] = Effects(_NOTHING, _NOTHING)  # a function that calls itself
            known[name] = visit(functions[name])
        return known[name]

    def visit(fn: Function) -> Effects:
        origins = {a: frozenset((n,)) for n, a in enumerate(fn.args) if isinstance(a.type, PointerType)}
        written, touched = _NOTHING, _NOTHING
        ops = [op for op in fn.body.walk() if op.operands]
        size = -1
        while size != sum(map(len, origins.values())):  # a loop may carry a pointer round
            size = sum(map(len, origins.values()))
            for op in ops:
                if origins.keys().isdisjoint(op.operands):
                    continue
                given = [origins.get(operand, _NOTHING) for operand in op.operands]
                if op.name in _WRITES:
                    written |= given[0]
                    touched = touched.union(*given[1:])
                elif op.name == "weft.set":
                    slot = op.operands[0]
                    origins[slot] = origins.get(slot, _NOTHING) | given[1]
                elif op.name == "func.call" and op.attrs["callee"] in functions:
                    through = of(str(op.attrs["callee"]))
                    written = written.union(*(given[n] for n in through.written))
                    touched = touched.union(*(given[n] for n in through.touched))
                elif op.name not in _HARMLESS or _is_shared(op):
                    touched = touched.union(*given)
                if op.name != "llvm.load":
                    for result in op.results:
                        if isinstance(result.type, PointerType):
                            origins[result] = origins.get(result, _NOTHING).union(*given)
        return Effects(written, written | touched)

    return visit(function)
