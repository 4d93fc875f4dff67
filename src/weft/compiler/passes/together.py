"""What the threads of a block do together, where they are loops on a CPU.

Control flow around a barrier runs once for all threads, of necessity. So does a loop of which all threads
make the same rounds, where it pays: each round then is a loop over the threads, innermost and parallel, of
which LLVM makes vectors. That is also so where each thread begins at its own place and all go on by the same
step (``range(thread_idx.x, n, BLOCK)``): together their rounds begin where the first thread's do, and the
last round has fewer threads.

What the threads share is computed once: values, and variables that all of them give the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS, meets_in_warp
from weft.compiler.ir.jumps import JUMPS, leaves
from weft.compiler.ir.types import FloatType, VectorType
from weft.compiler.passes.indices import IndexPlus, Ranges, Start, Strides, is_positive, thread_plus
from weft.compiler.passes.inline_barriers import has_barrier
from weft.compiler.passes.lanes import forgotten, takes
from weft.compiler.passes.uniformity import LOOPS, Uniformity, branches_that_jump, is_alike

KEPT = frozenset(
    """weft.return weft.exit_thread weft.print weft.failed weft.look llvm.inline_asm llvm.call""".split()
)
"""A loop with one of these is left to each thread: it must keep its place among what the thread does."""
_FEW = 32
"""LLVM unrolls a loop of so many rounds, known when it is compiled; then the threads' loop is innermost."""
_WRITTEN_OUT = 300
"""Accesses and computations that it writes out at most for that."""
_SHORT = 1 << 16
"""Steps with which a range takes 2^47 rounds from one end of the integers to the other, at least."""
_NEAR = 4
"""Elements so many places apart are loaded together and told apart."""


class Growing(NamedTuple):
    """The end of a range, which is a thread's index along x and what all share, and how far it may be."""

    end: IndexPlus
    least: int
    greatest: int


class Together:
    """The plan of one kernel, whose helpers with barriers are inlined; ``functions`` are its module's."""

    def __init__(
        self,
        kernel: Function,
        functions: Mapping[str, Function],
        uniformity: Uniformity,
        of_warps: Uniformity | None = None,
    ) -> None:
        self._kernel = kernel
        self._functions = functions
        self._uniformity = uniformity
        self._of_warps = of_warps or uniformity
        self.splits: set[Op] = set()
        """Barriers, and the control flow that runs once for all threads."""
        self.chosen: set[Op] = set()
        """Those loops of it that have no barrier."""
        self.strided: dict[Op, Start] = {}
        """Those of them that threads begin one behind the other, and where."""
        self.lane_rounds: dict[Op, Start] = {}
        """Those that lanes of a warp begin so, which a warp goes through by itself."""
        self.growing: dict[Op, Growing] = {}
        """Loops that threads leave one behind the other along x, and where the end is."""
        self.laned: dict[Op, frozenset[Value]] = {}
        """Loops that each thread leaves when it is done, as a lane of vectors; variables that end there."""
        self.singles: set[Op] = set()
        """Branches that one thread along x takes, which are pieces of their own."""
        self._whole: set[Op] = set()
        """Those whose body is one piece, in which a thread may go on to its next round."""
        self._known: dict[Value, bool] = {}
        self._level: set[Op] = set()
        """The operations of pieces, without those within others."""
        self.warps = any(map(meets_in_warp, kernel.body.walk()))
        """Whether lanes of warps meet: all of a block come by together only where it has barriers."""
        self._waits = any(op.name == "weft.while" and self._syncs(op.regions) for op in kernel.body.walk())
        self._visit(kernel.body.ops)
        self.variables = set[Value]()
        """Variables of the block: all threads give them the same where they come by together."""
        if self.splits and not self.warps:
            self._find_variables(kernel)

    # -- what is computed once ----------------------------------------------------------------
    def once(self, v: Value) -> bool:
        """Whether ``v`` is computed once for all threads."""
        found = self._known.get(v)
        if found is None:
            found = self._known[v] = self._once(v)
        return found

    def _once(self, v: Value) -> bool:
        owner = v.owner
        if not isinstance(owner, Op):
            return self._uniformity.same(v)
        if owner not in self._level or not self._uniformity.same(v):
            return False
        if owner.name == "weft.get":
            return owner.operands[0] in self.variables
        kept = owner.spec.pure or owner in self._uniformity.settled or is_alike(owner)
        return kept and all(map(self.once, owner.operands))

    def runs_once(self, op: Op) -> bool:
        """Whether an operation of a piece runs once for all threads, before what each of them does."""
        if op.name == "weft.set":
            return op.operands[0] in self.variables
        if is_alike(op):
            return op in self._level and all(map(self.once, op.operands))
        return bool(op.results) and all(map(self.once, op.results))

    def decides(self, op: Op) -> tuple[Value, ...]:
        """What control flow that runs once for all threads goes by."""
        if op in self.strided or op in self.lane_rounds:
            return (*self.begins(op).shared, *op.operands[1:])
        if op in self.growing:
            _, plus, minus = self.growing[op].end
            return (op.operands[0], *plus, *minus, op.operands[2])
        return (*op.operands, *(op.regions[0].ops[-1].operands if op.name == "weft.while" else ()))

    def begins(self, loop: Op) -> Start:
        """Where threads or lanes begin a loop one behind the other."""
        return self.strided.get(loop) or self.lane_rounds[loop]

    def _find_variables(self, kernel: Function) -> None:
        given: dict[Value, list[Op]] = {}
        for op in kernel.body.walk():
            if op.name == "weft.set":
                given.setdefault(op.operands[0], []).append(op)
        for slot, ops in given.items():
            if self._uniformity.steady(slot) and self._level.issuperset(ops):
                self.variables.add(slot)
        wrong = self.variables
        while wrong:
            self._known.clear()
            wrong = {s for s in self.variables if not all(self.once(op.operands[1]) for op in given[s])}
            self.variables -= wrong
        self._known.clear()

    # -- what runs once -----------------------------------------------------------------------
    def _visit(self, ops: list[Op], apart: bool = False) -> None:
        """Find what splits among operations that all threads come to together, or each warp ``apart``."""
        for op in ops:
            if op.name in BARRIERS or op.name in JUMPS:
                self.splits.add(op)
            elif self.warps:
                if op.regions and self._must_split(op):
                    self._split(op, apart or not any(map(_of_the_block, op.regions)))
                elif not apart and self._starts(op) is not None and self._chooses(op):
                    self._split(op)
                elif op.name == "weft.for" and self._chooses_for_lanes(op):
                    self._split(op, apart=True)
                elif not (op.regions or apart):
                    self._level.add(op)
            elif not op.regions:
                self._level.add(op)
            elif self._must_split(op) or (op.name in LOOPS and self._chooses(op)):
                self._split(op)
            elif op.name in LOOPS and takes(op):
                self.splits.add(op)
                self.laned[op] = forgotten(op, ops[: ops.index(op)], self._kernel.body)
            elif op.name == "weft.if" and self._uniformity.same(op.operands[0]):
                self._try(op)
            else:
                self._level.add(op)

    def _must_split(self, op: Op) -> bool:
        jumps = op.name == "weft.if" and any(map(leaves, op.regions))
        return jumps or any(has_barrier(region) for region in op.regions)

    def _split(self, op: Op, apart: bool = False) -> None:
        self.splits.add(op)
        for region in op.regions:
            if op in self._whole:
                self._level.update(region.ops)
            else:
                self._visit(region.ops, apart)

    def _try(self, branch: Op) -> None:
        """Split a branch where that lets a loop within it be split."""
        if not any(op.name in LOOPS for region in branch.regions for op in region.walk()):
            self._level.add(branch)
            return
        before, level = len(self.chosen) + len(self.laned), set(self._level)
        self._split(branch)
        if len(self.chosen) + len(self.laned) == before:
            self.splits.discard(branch)
            self._level = level | {branch}

    def _chooses(self, loop: Op) -> bool:
        """Whether a loop without barriers runs once for all threads."""
        start = self._starts(loop)
        behind = start is not None
        growing = None if behind or self._shares(loop) else self._grows(loop)
        if self._waits or not (behind or growing or self._shares(loop)) or not self._pays(loop, behind):
            return False
        if not self._jumps_together(loop, self._uniformity):
            return False
        self.chosen.add(loop)
        if start is not None:
            self.strided[loop] = start
        if growing is not None:
            self.growing[loop] = growing
        return True

    def _grows(self, loop: Op) -> Growing | None:
        """Where the end of a loop is that each thread along x leaves no earlier than those before it."""
        if loop.name != "weft.for" or self.warps:
            return None
        lower, upper, step = loop.operands
        same, ends = self._uniformity.same, Ranges().range(upper)
        if not (same(lower) and same(step) and is_positive(step)) or ends is None:
            return None
        if any(op.name in LOOPS or op.name in JUMPS for op in loop.regions[0].walk()):
            return None
        end = thread_plus(upper, lambda v, _: same(v))
        return Growing(end, *ends) if end is not None and end.name == "x" else None

    def _chooses_for_lanes(self, loop: Op) -> bool:
        """Whether a loop runs once for all lanes of a warp, which begin it one behind the other."""
        lower, upper, step = loop.operands
        same, by = self._of_warps.same, integer(step)
        if self._waits or by is None or by <= 0 or not same(upper) or not _begins_near(loop):
            return False
        start = Start.of_lanes(lower, same)
        if start is None or not self._pays(loop, True) or not self._jumps_together(loop, self._of_warps):
            return False
        self.chosen.add(loop)
        self.lane_rounds[loop] = start
        return True

    def _jumps_together(self, loop: Op, uniformity: Uniformity) -> bool:
        """Whether threads that go through a loop together can do so where some leave it or a round of it."""
        branches = branches_that_jump(loop.regions[-1])
        if not all(uniformity.same(op.operands[0]) for op in branches):
            inner = Region([], [op for op in loop.regions[-1].walk() if op.name in LOOPS])
            breaks = any(op.name == "weft.break" for op in loop.regions[-1].walk())
            if breaks or inner.ops or loop.name == "weft.while":
                return False
            self._whole.add(loop)
        return True

    def _shares(self, op: Op) -> bool:
        """Whether all threads make the same rounds of a loop, if it is one."""
        if op.name == "weft.while":
            return self._uniformity.same(op.regions[0].ops[-1].operands[0])
        return op.name == "weft.for" and all(map(self._uniformity.same, op.operands))

    def _starts(self, loop: Op) -> Start | None:
        """Where threads begin a loop, if they do so one behind the other."""
        if loop.name != "weft.for":
            return None
        lower, upper, step = loop.operands
        if not is_positive(step) or not self._uniformity.same(upper) or not _begins_near(loop):
            return None
        return Start.of(lower, self._uniformity.same)

    # -- whether it pays ----------------------------------------------------------------------
    def _pays(self, loop: Op, strided: bool) -> bool:
        """Whether rounds of threads are faster than threads with rounds."""
        ops = [op for region in loop.regions for op in region.walk()]
        if any(_is_apart(op) or any(map(_is_local, op.operands)) for op in ops):
            return False
        called = list(self._called(ops))
        if any(map(_is_apart, called)):
            return False
        if strided:
            return True  # neighbours touch neighbouring memory
        if _is_short(loop) or any(op.name in LOOPS for op in called) or self._syncs(loop.regions):
            return False
        if any(isinstance(v.type, VectorType) for op in ops for v in op.results):
            return False
        return self._in_vectors(loop) and all(map(self._suits, _own(loop)))

    def _suits(self, op: Op) -> bool:
        """Whether an operation may stand in such a loop: one that is a loop is to pay as well."""
        if op.name not in LOOPS or _is_short(op) or self._starts(op) is not None:
            return True
        if takes(op):
            return True
        return self._shares(op) and self._in_vectors(op) and all(map(self._suits, _own(op)))

    def _in_vectors(self, loop: Op) -> bool:
        """Whether vectors of threads suit how a loop's memory lies; else vectors of its rounds may."""
        ops = list(_own(loop))
        accesses = [op for op in ops if op.name in ("llvm.load", "llvm.store")]
        inside = {v for op in ops for v in op.results} | set(loop.regions[-1].args)
        along = Strides(lambda v: v in loop.regions[-1].args, lambda v: v not in inside)
        across = Strides(self._counts_threads, self._same_along_x)
        for op in accesses:
            size = max(1, (op.results[0] if op.results else op.operands[1]).type.bits // 8)
            address = op.operands[0]
            far, near = across.of(address), along.of(address)
            if (far is None or not 0 <= far <= _NEAR * size) and near is not None and 0 < abs(near) <= size:
                return False
        return True

    def _counts_threads(self, v: Value) -> bool:
        owner = v.owner
        if isinstance(owner, Region):
            return any(owner in loop.regions for loop, start in self.strided.items() if start.axis == 0)
        return owner is not None and owner.name == "gpu.thread_id" and owner.attrs["dimension"] == "x"

    def _same_along_x(self, v: Value) -> bool:
        owner = v.owner
        if isinstance(owner, Region):
            other = any(owner in loop.regions for loop, start in self.strided.items() if start.axis)
        else:
            other = owner is not None and owner.name == "gpu.thread_id" and owner.attrs["dimension"] != "x"
        return other or self._uniformity.same(v)

    def _called(self, ops: list[Op]) -> Iterator[Op]:
        """What the functions do that these call."""
        names = [str(op.attrs["callee"]) for op in ops if op.name == "func.call"]
        found: set[str] = set()
        while names:
            name = names.pop()
            if name not in found:
                found.add(name)
                for op in self._functions[name].body.walk():
                    if op.name == "func.call":
                        names.append(str(op.attrs["callee"]))
                    yield op

    def _syncs(self, regions: tuple[Region, ...]) -> bool:
        """Whether threads may wait for each other there, other than at barriers."""
        ops = [op for region in regions for op in region.walk()]
        every = (*ops, *self._called(ops))
        return any(op.spec.sync is not None and op.spec.sync(op) and not _meets(op) for op in every)


def _begins_near(loop: Op) -> bool:
    """Whether no thread's start wraps around beside the first's, or has more rounds than anyone waits for."""
    lower, _, step = map(Ranges().range, loop.operands)
    breaks = any(op.name == "weft.break" for op in loop.regions[0].walk())
    return lower is not None or not (breaks or step is None or step[1] > _SHORT)


def _meets(op: Op) -> bool:
    """Whether those that wait there do so for each other alone."""
    return op.name == "gpu.barrier" or meets_in_warp(op)


def _of_the_block(region: Region) -> bool:
    """Whether all threads of a block wait for each other in a region."""
    return any(op.name in BARRIERS and not meets_in_warp(op) for op in region.walk())


def _is_short(loop: Op) -> bool:
    """Whether a loop has few rounds, known when it is compiled."""
    if loop.name != "weft.for":
        return False
    bounds = [integer(v) for v in loop.operands]
    if None in bounds:
        return False
    lower, upper, step = (n or 0 for n in bounds)
    rounds = len(range(lower, upper, step)) if step else 0
    return rounds <= _FEW and rounds * sum(map(_weighs, loop.regions[0].walk())) <= _WRITTEN_OUT


def _weighs(op: Op) -> bool:
    """Whether it is more than an address or a move between registers."""
    computes = bool(op.results) and isinstance(op.results[0].type, FloatType) and op.spec.pure
    return computes or op.name in ("llvm.load", "llvm.store")


def _is_apart(op: Op) -> bool:
    """Whether an operation keeps its place among what its thread does; who tells of faults need not."""
    return op.name in KEPT and "every" not in op.attrs


def _is_local(v: Value) -> bool:
    """Whether it is memory of one thread."""
    return isinstance(v.owner, Op) and v.owner.name == "llvm.alloca"


def _own(loop: Op) -> Iterator[Op]:
    """What a loop does itself, without the loops within."""
    pending = [op for region in loop.regions for op in region.ops]
    while pending:
        op = pending.pop()
        yield op
        if op.name not in LOOPS or _is_short(op):
            pending += [inner for region in op.regions for inner in region.ops]
