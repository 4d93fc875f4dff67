"""The IR's specification, as a check: what a module must be for lowering to be right.

What each operation is like by itself its declaration says (``weft.compiler.ir.ops``); here is how they stand
together: every value is defined once, before its uses and where these see it; regions end as they must;
jumps are where they lead somewhere; names name something, and one thing.
"""

from __future__ import annotations

from typing import NoReturn

from weft.compiler.ir.core import Function, Global, Module, Op, Region, Value
from weft.compiler.ir.types import PointerType


class InvalidIR(AssertionError):
    """The compiler made IR that breaks its own rules: a defect of weft, not of the program.

    But for a value used where nothing defines it, ``escaped``: a program may keep one of another kernel.
    """

    op: Op | None = None
    """The operation that does."""
    escaped: bool = False


def verify_module(module: Module) -> None:
    """Check the module, its memory, and every function.

    Raises:
        InvalidIR: a rule is broken; the message names function, operation and rule.
    """
    functions = {f.name: f for f in module.functions}
    memory = {g.name: g for g in module.globals}
    names = [f.name for f in module.functions] + [g.name for g in module.globals]
    if len(functions) + len(memory) != len(names) or functions.keys() & memory.keys():
        raise InvalidIR(f"two things have the name {next(n for n in names if names.count(n) > 1)!r}")
    for g in module.globals:
        if not g.name or g.align < 1 or g.align & (g.align - 1) or g.count < 0:
            raise InvalidIR(f"memory {g.name!r} of {g.count} elements cannot be aligned to {g.align} bytes")
    calls: dict[str, set[str]] = {}
    for function in module.functions:
        calls[function.name] = _Verifier(function, functions, memory).run()
    _no_recursion(calls)


def _no_recursion(calls: dict[str, set[str]]) -> None:
    """No function calls itself, also not through others."""
    ends = set[str]()
    while len(ends) < len(calls):
        more = {name for name, callees in calls.items() if name not in ends and callees <= ends}
        if not more:
            raise InvalidIR(f"{' and '.join(sorted(calls.keys() - ends))} call themselves")
        ends |= more


_NAMING = frozenset({"func.call", "func.constant", "llvm.mlir.addressof"})


class _Verifier:
    def __init__(self, function: Function, functions: dict[str, Function], memory: dict[str, Global]) -> None:
        self.function = function
        self.functions = functions
        self.memory = memory
        self.calls: set[str] = set()
        self.visible: set[Value] = set(function.args)
        self.defined: list[Value] = list(function.args)
        self.results = tuple(function.results)

    def fail(self, op: Op, text: str, escaped: bool = False) -> NoReturn:
        error = InvalidIR(f"{self.function.name}, line {op.loc[0]}: {op.name}: {text}")
        error.op, error.escaped = op, escaped
        raise error

    def run(self) -> set[str]:
        """Check it; gives the names of the functions that it calls."""
        f, ops = self.function, self.function.body.ops
        if f.body.args or (f.kernel and f.results) or any(a.owner for a in f.args):
            raise InvalidIR(f"{f.name!r}: a function has arguments of its own, and a kernel no results")
        self.region(f.body, loop=False, end="")
        if not ops or ops[-1].name not in ("weft.return", "llvm.unreachable"):
            raise InvalidIR(f"{f.name}: the body ends neither in weft.return nor in llvm.unreachable")
        if len(set(self.defined)) != len(self.defined):
            raise InvalidIR(f"{f.name}: a value is defined twice")
        return self.calls

    def region(self, region: Region, *, loop: bool, end: str) -> None:
        visible, inside = self.visible, list(region.args)
        visible.update(inside)
        if any(arg.owner is not region for arg in inside):
            raise InvalidIR(f"{self.function.name}: an argument of a region belongs to something else")
        last = len(region.ops) - 1
        for n, op in enumerate(region.ops):
            spec, given, results, attrs = op.spec, op.operands, op.results, op.attrs
            if not visible.issuperset(given):
                self.undefined(op)
            signature, wrong = spec.signature, None
            if (len(given), *[v.type for v in given + results]) not in signature.known:
                wrong = signature.wrong(tuple([v.type for v in given]), tuple([r.type for r in results]))
            if wrong is None and (attrs or spec.attributes.needed):
                wrong = spec.attributes.wrong(attrs)
            if wrong is None and spec.verify is not None:
                wrong = spec.verify(op)
            if wrong is None and spec.terminator:
                wrong = self.terminator(op, n == last, loop, end)
            if wrong is not None:
                self.fail(op, wrong)
            if op.regions or spec.regions:
                self.inner(op, loop)
            elif spec.name in _NAMING:
                self.names(op)
            for r in results:
                if r.owner is not op:
                    self.fail(op, f"gives {r!r}, which belongs to something else")
            visible.update(results)
            inside += results
        if end and (last < 0 or region.ops[-1].name != end):
            raise InvalidIR(f"{self.function.name}: a region does not end in {end}")
        visible.difference_update(inside)
        self.defined += inside

    def undefined(self, op: Op) -> NoReturn:
        v = next(v for v in op.operands if v not in self.visible)
        inner = any(v in o.results for o in self.function.body.walk())
        self.fail(op, f"uses {v!r} before its definition", escaped=not inner)

    def names(self, op: Op) -> None:
        """What an operation names is in the module."""
        if op.name == "func.call":
            self.call(op)
        elif op.name == "func.constant":
            self.callee(op)
        else:
            self.address(op)

    def terminator(self, op: Op, at_end: bool, loop: bool, end: str) -> str | None:
        """What is wrong with the place of an operation that leaves its region."""
        name = op.name
        if not at_end:
            return "stands before the end of its region"
        if (end and name != end) or (name == "weft.condition" and not end):
            return f"cannot end this region{f', which ends in {end}' if end else ''}"
        if name in ("weft.break", "weft.continue") and not loop:
            return "stands outside a loop"
        if name == "weft.return" and tuple([v.type for v in op.operands]) != self.results:
            return f"returns {[v.type for v in op.operands]}, the function gives {self.results}"
        return None

    def inner(self, op: Op, loop: bool) -> None:
        """The regions of an operation."""
        name = op.name
        if len(op.regions) != len(op.spec.regions):
            self.fail(op, f"has {len(op.regions)} regions, declared {len(op.spec.regions)}")
        for region, sort in zip(op.regions, op.spec.regions, strict=True):
            kinds = [op.operands[op.spec.signature.names.index(sort.argument)].type] if sort.argument else []
            if [a.type for a in region.args] != kinds:
                self.fail(op, f"the region {sort.name} has the arguments {region.args}, not of {kinds}")
            in_loop = not sort.end and (loop or name in ("weft.for", "weft.while"))
            self.region(region, loop=in_loop, end=sort.end)

    def callee(self, op: Op) -> Function:
        name = str(op.attrs["callee"])
        callee = self.functions.get(name)
        if callee is None or callee.kernel:
            self.fail(op, f"calls {name}, which is no helper of the module")
        self.calls.add(name)
        return callee

    def call(self, op: Op) -> None:
        callee, name = self.callee(op), op.attrs["callee"]
        if [v.type for v in op.operands] != [a.type for a in callee.args]:
            self.fail(op, f"passes {[v.type for v in op.operands]} to {name}")
        if [r.type for r in op.results] != list(callee.results):
            self.fail(op, f"{name} gives {callee.results}")

    def address(self, op: Op) -> None:
        memory, kind = self.memory.get(str(op.attrs["global_name"])), op.result.type
        if memory is None:
            self.fail(op, f"there is no memory {op.attrs['global_name']} in the module")
        if not isinstance(kind, PointerType) or kind.space != memory.space:
            self.fail(op, f"gives {kind} for memory of the space {memory.space}")
