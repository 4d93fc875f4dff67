"""Helpers put into the kernels that call them: those with barriers, where these are split, or all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_region
from weft.compiler.ir.core import Function, Loc, Module, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS, meets_in_warp
from weft.compiler.ir.types import I1
from weft.compiler.passes.first_threads import differs
from weft.compiler.passes.group_cut import has_meeting
from weft.diagnostics import CompileError

_BRIEF = 32
"""Operations of a function that is put into those that call it."""
_HOISTED = frozenset({"weft.slot", "llvm.alloca"})
_LOOPS = frozenset({"weft.for", "weft.while"})


def has_barrier(region: Region) -> bool:
    """Whether threads wait for each other in the region itself."""
    return any(op.name in BARRIERS for op in region.walk())


def _returns(ops: list[Op]) -> bool:
    return any(op.name == "weft.return" for op in Region([], ops).walk())


def inline_barriers(module: Module) -> None:
    """Inline all helpers with barriers, innermost first, and drop them.

    So are those that compute a few numbers where lanes of warps meet, who then are lanes of vectors. A thread
    of a kernel that has returned is not waited for by its block, but it is by the grid.
    """
    inline(module, lambda f: has_barrier(f.body))
    ops = [op for f in module.functions for op in f.body.walk()]
    if any(map(meets_in_warp, ops)):
        named = {op.attrs["callee"] for op in ops if op.name != "func.call" and "callee" in op.attrs}
        inline(module, lambda f: f.name not in named and _is_brief(f.body.ops))
    for kernel in [f for f in module.functions if f.kernel and has_meeting(f.body, "grid")]:
        if not _returns_before_grid(kernel.body, meets=False):
            continue
        leaving, ops = _Leaving((kernel.line, 0), (), kernel), kernel.body.ops
        made = leaving.body([op for op in ops if op.name not in _HOISTED])
        kernel.body.ops = [*(op for op in ops if op.name in _HOISTED), *leaving.slots, *made]
        with leaving.b.into(kernel.body):
            leaving.b.emit("weft.return")


def _is_brief(ops: list[Op]) -> bool:
    """Whether a function computes numbers, in one line of not many operations."""
    known = [op.spec.pure and op.name.startswith(("arith.", "math.")) for op in ops[:-1]]
    return all(known) and len(known) <= _BRIEF and ops[-1].name == "weft.return"


def _returns_before_grid(region: Region, *, meets: bool) -> bool:
    """Whether a thread may return before the grid meets; ``meets``: it may do so behind the region."""
    for op in reversed(region.ops):
        own = has_meeting(Region([], [op]), "grid")
        if op.name == "weft.return" and meets:
            return True
        if any(_returns_before_grid(r, meets=meets or (own and op.name in _LOOPS)) for r in op.regions):
            return True
        meets = meets or own
    return False


def inline(module: Module, chosen: Callable[[Function], bool]) -> None:
    """Inline all helpers of which ``chosen`` says so, innermost first, and drop them."""
    functions = {f.name: f for f in module.functions}
    while True:
        waiting = {f.name for f in module.functions if not f.kernel and chosen(f)}
        changed = [_Inliner(f, functions, waiting).run() for f in module.functions]
        if not any(changed):
            module.functions = [f for f in module.functions if f.name not in waiting]
            return


def called_from(loc: Loc, call: Op, callee: Function) -> Loc:
    """A place in a function, for its code where it was called."""
    if len(loc) == 2:
        return loc[0], loc[1], callee, call.loc
    return loc[0], loc[1], loc[2], called_from(loc[3], call, callee)


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
        mapping: dict[Value, Value] = dict(zip(callee.args, call.operands, strict=True))
        made = clone_region(callee.body, mapping)
        for op in made.walk():
            op.loc = called_from(op.loc, call, callee)
        self.head.extend(op for op in made.ops if op.name in _HOISTED)
        ops = [op for op in made.ops if op.name not in _HOISTED]
        last = ops[-1]
        if _returns(ops[:-1]):
            leaving = _Leaving(call.loc, call.results, callee)
            out = leaving.body(ops)
            self.head.extend(leaving.slots)
            self.results.update(zip(call.results, leaving.results, strict=True))
            return out
        self.results.update(zip(call.results, last.operands, strict=True))
        return ops[:-1]


class _Leaving:
    """A body that returns from within, as one that runs to its end.

    What it returns is kept in slots, and flags say that it has returned: loops are left by them, and what
    follows is skipped. Each operation that may return has its own, so that what is the same for all
    threads is told from what is not. All threads skip a barrier or none does, as the language has it.
    """

    def __init__(self, loc: Loc, results: Sequence[Value], callee: Function) -> None:
        self.callee = callee
        self.b = Builder()
        self.b.loc = loc
        self.slots: list[Op] = []
        self.kept = [(self.slot(r), r.type) for r in results]
        self.flags: list[Value] = []
        """Of the operations around that ask for them."""
        self.results: list[Value] = []

    def slot(self, like: Value) -> Value:
        """A slot for values of this type."""
        return self.b.slot(like.type, like.name, self.slots)

    def body(self, ops: list[Op]) -> list[Op]:
        """The operations, and after them the values that were returned."""
        b = self.b
        with b.into(Region()) as made:
            self.sequence(ops, in_loop=False, waits=False)
            self.results = [b.get(*each) for each in self.kept]
        return made.ops

    def sequence(self, ops: list[Op], *, in_loop: bool, waits: bool) -> None:
        """Emit operations of which some return; in a loop a return has left it.

        ``waits``: whether a barrier may follow them.
        """
        b = self.b
        for n, op in enumerate(ops):
            b.loc = op.loc
            if op.name == "weft.return":
                for (slot, _), value in zip(self.kept, op.operands, strict=True):
                    b.set(slot, value)
                for flag in self.flags:
                    b.set(flag, b.constant(True, I1))
                if in_loop:
                    b.emit("weft.break")
                return
            if op.name == "llvm.unreachable":  # behind the last return
                return
            if not _returns([op]):
                b.region.ops.append(op)
                continue
            flag = self.slot(Value(I1, None, "returned"))
            b.set(flag, b.constant(False, I1))
            b.region.ops.append(op)
            self.flags.append(flag)
            is_loop, rest = op.name in _LOOPS, Region([], ops[n + 1 :])
            still = waits or has_barrier(rest)
            if still and not is_loop and differs(op.operands[0], lambda _: False):
                self.refuse(op)
            for region in op.regions:
                inner = region.ops[:]
                region.ops.clear()
                with b.into(region):
                    waiting = still or (is_loop and has_barrier(Region([], [op])))
                    self.sequence(inner, in_loop=in_loop or is_loop, waits=waiting)
            self.flags.pop()
            b.loc = op.loc
            if is_loop and in_loop:
                with b.into(Region()) as leave:
                    b.emit("weft.break")
                b.branch(b.get(flag, I1), leave)
            elif not in_loop:
                self.unless_returned(flag, rest, waits, op.loc)
                return

    def unless_returned(self, flag: Value, rest: Region, waits: bool, loc: Loc) -> None:
        """Emit what follows an operation, at that place, that may have returned."""
        b = self.b
        with b.into(Region()) as following:
            self.sequence(rest.ops, in_loop=False, waits=waits)
        b.loc = loc
        if following.ops:
            gone = b.get(flag, I1)
            b.branch(gone, Region(), following)

    def refuse(self, branch: Op) -> None:
        """The threads that return would not come to the barrier that others wait at."""
        from weft.diagnostics.wrote import statement_place

        kernel = self.callee.kernel
        name = self.callee.source_name
        raise CompileError.at(
            "barrier-return",
            f"{name} returns here for some threads, and others wait at its barrier",
            statement_place(self.callee.file, branch.loc[0], branch.loc[1]),
            notes=(f"all threads of {'the grid' if kernel else 'a block'} reach a barrier, or none",),
            hints=(
                "wait before you return, or leave out what these threads are not to do: `if i < n:`"
                if kernel
                else "wait before you return, or return from the kernel itself",
            ),
        )
