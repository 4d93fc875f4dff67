"""An assertion that fails ends its thread, also where it stands in a function that was called.

``weft.assert`` becomes a branch that reports and ends the thread. A function in which a thread may end
says so by one more result, and who calls it ends the thread then. Inlined, that is a jump.
"""

from __future__ import annotations

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I1


def branch_at_assertions(module: Module) -> None:
    """Have every assertion that fails go to ``weft.exit_thread``."""
    for f in module.functions:
        _branch(f.body)


def _branch(region: Region) -> None:
    for n, op in enumerate(region.ops):
        for inner in op.regions:
            _branch(inner)
        if op.name == "weft.assert":
            b = Builder()
            b.loc = op.loc
            condition, *values = op.operands
            with b.into(Region()) as fails:
                b.emit("weft.failed", tuple(values), (), {"site": op.attrs["site"]})
                b.emit("weft.exit_thread")
            with b.into(Region()) as made:
                b.branch(condition, Region(), fails)
            region.ops[n] = made.ops[0]


def return_ends(module: Module) -> None:
    """Hand the end of a thread on to the kernel, which it returns from."""
    ending = _ending(module)
    for f in module.functions:
        if f.name in ending:
            _Returning(f, ending).run()


def _ending(module: Module) -> set[str]:
    """The functions in which a thread may end, by an assertion or by what they call."""
    return module.reaching(
        {f.name for f in module.functions if any(op.name == "weft.exit_thread" for op in f.body.walk())}
    )


class _Returning:
    """The body of one function, in which the end of a thread becomes a return."""

    def __init__(self, function: Function, ending: set[str]) -> None:
        self.function = function
        self.ending = ending
        self.results = function.results
        self.slots: list[Op] = []
        self.b = Builder()

    def run(self) -> None:
        f = self.function
        if not f.kernel:
            f.results = (*f.results, I1)
        self.region(f.body)
        f.body.ops[:0] = self.slots

    def region(self, region: Region) -> None:
        ops, region.ops[:] = region.ops[:], []
        b = self.b
        with b.into(region):
            for op in ops:
                for inner in op.regions:
                    self.region(inner)
                b.live, b.loc = True, op.loc
                if op.name == "weft.exit_thread":
                    self.end()
                elif op.name == "weft.return" and not self.function.kernel:
                    b.emit("weft.return", (*op.operands, b.constant(False, I1)))
                elif op.name == "func.call" and op.attrs["callee"] in self.ending:
                    self.call(op)
                else:
                    region.ops.append(op)

    def end(self) -> None:
        """Return, and say that the thread has ended; what else is returned nobody uses."""
        b = self.b
        if self.function.kernel:
            b.emit("weft.return")
            return
        nothing: list[Value] = []
        for kind in self.results:
            nothing.append(b.get(b.slot(kind, "nothing", self.slots), kind))
        b.emit("weft.return", (*nothing, b.constant(True, I1)))

    def call(self, op: Op) -> None:
        """A call, after which the thread may have ended."""
        b = self.b
        types = (*(r.type for r in op.results), I1)
        made = b.emit("func.call", op.operands, types, op.attrs)
        ended = made.results[-1]
        made.results = (*op.results, ended)
        for result in op.results:
            result.owner = made
        with b.into(Region()) as leave:
            self.end()
        b.branch(ended, leave)
