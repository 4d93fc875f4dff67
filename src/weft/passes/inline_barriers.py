"""Helpers that wait at barriers, put into the kernels that call them: these are split there."""

from __future__ import annotations

from weft.diagnostics import CompileError, Location
from weft.ir.clone import clone_op
from weft.ir.core import Function, Module, Op, Region, Value

__all__ = ["has_barrier", "inline_barriers"]

_HOISTED = frozenset({"weft.slot", "llvm.alloca"})


def has_barrier(region: Region) -> bool:
    """Whether threads wait for each other in the region itself."""
    return any(op.name == "gpu.barrier" for op in region.walk())


def inline_barriers(module: Module) -> None:
    """Inline all helpers with barriers, innermost first, and drop them."""
    functions = {f.name: f for f in module.functions}
    while True:
        waiting = {f.name for f in module.functions if not f.kernel and has_barrier(f.body)}
        changed = [_Inliner(f, functions, waiting).run() for f in module.functions]
        if not any(changed):
            module.functions = [f for f in module.functions if f.name not in waiting]
            return


class _Inliner:
    """The calls in one function's body."""

    def __init__(self, function: Function, functions: dict[str, Function], waiting: set[str]) -> None:
        self.body = function.body
        self.functions = functions
        self.waiting = waiting
        self.head: list[Op] = []
        self.results: dict[Value, Value] = {}

    def run(self) -> bool:
        """Whether there was any."""
        changed = self.region(self.body)
        if changed:
            for op in self.body.walk():
                op.operands = tuple([self.resolved(v) for v in op.operands])
            self.body.ops[:0] = self.head
        return changed

    def resolved(self, v: Value) -> Value:
        """What stands for a value, through chains of calls that hand it on."""
        while v in self.results:
            v = self.results[v]
        return v

    def region(self, region: Region) -> bool:
        changed = False
        out: list[Op] = []
        for op in region.ops:
            for inner in op.regions:
                changed |= self.region(inner)
            if op.name == "func.call" and op.attrs["callee"] in self.waiting:
                out.extend(self.inlined(op, self.functions[str(op.attrs["callee"])]))
                changed = True
            else:
                out.append(op)
        region.ops[:] = out
        return changed

    def inlined(self, call: Op, callee: Function) -> list[Op]:
        """The callee's operations in place of a call of it."""
        last = callee.body.ops[-1]
        if [op for op in callee.body.walk() if op.name == "weft.return"] != [last]:
            raise CompileError.at(
                "barrier-return",
                f"{callee.source_name} waits at a barrier and returns early, "
                "which cannot be compiled for a CPU",
                Location(callee.file, callee.line),
                hints=("return once, at the end",),
            )
        mapping: dict[Value, Value] = dict(zip(callee.args, call.operands, strict=True))
        out: list[Op] = []
        for op in callee.body.ops[:-1]:
            made = clone_op(op, mapping)
            (self.head if op.name in _HOISTED else out).append(made)
        for old, new in zip(call.results, last.operands, strict=True):
            self.results[old] = mapping.get(new, new)
        return out
