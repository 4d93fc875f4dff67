"""The IR's specification, as a check: what a module must be for lowering to be right."""

from __future__ import annotations

from weft.ir.core import Function, Module, Op, Region, Value

__all__ = ["InvalidIR", "verify_module"]


class InvalidIR(AssertionError):
    """The compiler made IR that breaks its own rules: a defect of weft, not of the program."""

    op: Op | None = None
    """The operation that does."""


def verify_module(module: Module) -> None:
    """Check every function: declared operand counts, types, definitions before uses, terminators.

    Raises:
        InvalidIR: a rule is broken; the message names function, operation and rule.
    """
    names = {f.name: f for f in module.functions}
    for function in module.functions:
        _Verifier(function, names).run()


class _Verifier:
    def __init__(self, function: Function, names: dict[str, Function]) -> None:
        self.function = function
        self.names = names
        self.defined: set[Value] = set(function.args)

    def fail(self, op: Op, text: str) -> None:
        error = InvalidIR(f"{self.function.name}, line {op.loc[0]}: {op.name}: {text}")
        error.op = op
        raise error

    def run(self) -> None:
        self.region(self.function.body, in_loop=False)
        ops = self.function.body.ops
        if not ops or ops[-1].name not in ("weft.return", "llvm.unreachable"):
            raise InvalidIR(
                f"{self.function.name}: the body ends neither in weft.return nor in llvm.unreachable"
            )

    def region(self, region: Region, in_loop: bool) -> None:
        inside: list[Value] = list(region.args)
        self.defined.update(region.args)
        last = len(region.ops) - 1
        for n, op in enumerate(region.ops):
            spec = op.spec
            if spec.terminator and n != last:
                self.fail(op, "stands before the end of its region")
            self.operands(op)
            if spec.results >= 0 and len(op.results) != spec.results:
                self.fail(op, f"has {len(op.results)} results, declared {spec.results}")
            if spec.verify is not None:
                wrong = spec.verify(op)
                if wrong is not None:
                    self.fail(op, wrong)
            if not in_loop and spec.name in ("weft.break", "weft.continue"):
                self.fail(op, "stands outside a loop")
            if spec.name == "weft.return":
                types = tuple(v.type for v in op.operands)
                if types != self.function.results:
                    self.fail(op, f"returns {types}, the function gives {self.function.results}")
            elif spec.name == "func.call":
                self.call(op)
            inner = in_loop or spec.name in ("weft.for", "weft.while")
            for r in op.regions:
                self.region(r, inner)
            if spec.name == "weft.while":
                ops = op.regions[0].ops
                if not ops or ops[-1].name != "weft.condition":
                    self.fail(op, "the condition does not end in weft.condition")
            self.defined.update(op.results)
            inside.extend(op.results)
        self.defined.difference_update(inside)

    def operands(self, op: Op) -> None:
        declared = op.spec.operands
        variadic = bool(declared) and declared[-1].startswith("*")
        if not variadic and len(op.operands) != len(declared):
            self.fail(op, f"has {len(op.operands)} operands, declared {declared}")
        if len(op.regions) != len(op.spec.regions):
            self.fail(op, f"has {len(op.regions)} regions, declared {op.spec.regions}")
        for v in op.operands:
            if v not in self.defined:
                self.fail(op, f"uses {v!r} before its definition")

    def call(self, op: Op) -> None:
        callee = self.names.get(str(op.attrs["callee"]))
        if callee is None:
            self.fail(op, f"calls {op.attrs['callee']}, which is not in the module")
            return
        if tuple(v.type for v in op.operands) != tuple(a.type for a in callee.args):
            self.fail(op, f"passes {[v.type for v in op.operands]} to {callee.name}")
        if tuple(r.type for r in op.results) != callee.results:
            self.fail(op, f"{callee.name} gives {callee.results}")
