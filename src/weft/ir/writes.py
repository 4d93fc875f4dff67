"""Through which of its pointer arguments a function writes."""

from __future__ import annotations

from weft.ir.core import Function, Module
from weft.ir.types import PointerType

__all__ = ["written_arguments"]

_WRITES = ("llvm.store", "llvm.atomicrmw", "llvm.cmpxchg")
"""Operations whose first operand is the address that they write to."""


def written_arguments(module: Module, function: Function) -> frozenset[int]:
    """The positions of arguments through which the function, or one that it calls, certainly has a write.

    What is written through pointers in memory, by intrinsics or by assembly is not followed, so others
    may be written too.
    """
    functions = {f.name: f for f in module.functions}
    known: dict[str, frozenset[int]] = {}

    def of(name: str) -> frozenset[int]:
        if name not in known:
            known[name] = frozenset()  # a function that calls itself
            known[name] = visit(functions[name])
        return known[name]

    def visit(fn: Function) -> frozenset[int]:
        origins = {a: frozenset((n,)) for n, a in enumerate(fn.args) if isinstance(a.type, PointerType)}
        written: frozenset[int] = frozenset()
        none: frozenset[int] = frozenset()
        size = -1
        while size != sum(map(len, origins.values())):  # a loop may carry a pointer round
            size = sum(map(len, origins.values()))
            for op in fn.body.walk():
                given = [origins.get(operand, none) for operand in op.operands]
                if op.name in _WRITES:
                    written |= given[0]
                elif op.name == "weft.set":
                    slot = op.operands[0]
                    origins[slot] = origins.get(slot, none) | given[1]
                elif op.name == "func.call" and op.attrs["callee"] in functions:
                    through = of(str(op.attrs["callee"]))
                    written = written.union(*(given[n] for n in through))
                if op.name != "llvm.load":
                    for result in op.results:
                        if isinstance(result.type, PointerType):
                            origins[result] = origins.get(result, none).union(*given)
        return written

    return visit(function)
