"""Checked mode, where threads are loops: accesses that race, and reads of what nobody wrote.

What is found and how stands in ``compiler/shadow.py``: here each access of memory that threads share is made
to call the function that notes it, and a thread says what that gives, where it is not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.abi.artifact import FaultSite
from weft.abi.shadow import (
    ATOMIC,
    BOTH_WRITE,
    CELL_BYTES,
    RELEASE,
    ROUND,
    SHARED,
    SITE,
    SITES,
    THREAD,
    TICK,
    UNSET,
    WORD,
    Shadow,
)
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.effects import finds_memory
from weft.compiler.ir.types import (
    I8,
    I16,
    I32,
    I64,
    AddressSpace,
    FloatType,
    IntType,
    PointerType,
    pointer,
)
from weft.compiler.passes.faults import tell
from weft.compiler.passes.origins import (
    VERBS,
    Number,
    Origin,
    Origins,
    access_site,
    accessed,
    granule_of,
    in_blocks,
    in_launches,
)

Checks = Callable[[str], tuple[Function, ...]]
"""By its name, the function that notes an access, or that a thread is somewhere, behind what it calls."""
_SHARED_FROM = 16
"""Shared memory of each kind begins at a multiple of so many bytes, as far as cells are concerned."""


def notes(module: Module, kernel: Function) -> bool:
    """Whether a kernel notes its accesses: not one of clusters, whose blocks run in turns."""
    ops = [op for f in module.reached(kernel) for op in f.body.walk()]
    return not any(_meets(op, "cluster") or op.name == "gpu.shared_stride" for op in ops)


def _meets(op: Op, group: str) -> bool:
    return op.name == "gpu.meet" and op.attrs["group"] == group


_KINDS = {
    "reads": ("data-race", "uninitialised"),
    "updates": ("data-race", "uninitialised"),
    "writes": ("data-race",),
}
"""What may be wrong with an access."""


_RELEASING = ("release", "acq_rel", "seq_cst")


def notes_all(functions: Sequence[Function]) -> bool:
    """Whether all is noted that functions write: nobody else is given an address."""
    ops = [op for f in functions for op in f.body.walk() if op.name != "llvm.ptrtoint"]
    return not any(op.spec.lets_go and op.attrs.get("effects") not in ("none", "read") for op in ops)


def finds(functions: Sequence[Function]) -> bool:
    """Whether there are addresses that come from no argument."""
    return any(finds_memory(op) for f in functions for op in f.body.walk())


def _is_atomic(op: Op) -> bool:
    return "ordering" in op.attrs or op.attrs.get("volatile") is True


def _space(op: Op) -> AddressSpace:
    kind = op.operands[0].type
    return kind.space if isinstance(kind, PointerType) else AddressSpace.GENERIC


class Races:
    """The checks of one kernel, which are emitted where ``b`` stands."""

    def __init__(
        self,
        b: Builder,
        module: Module,
        kernel: Function,
        new_site: Callable[[FaultSite], int],
        checks: Checks,
        head: list[Op],
    ) -> None:
        self.b, self.module, self.kernel = b, module, kernel
        self.new_site, self.checks, self.head = new_site, checks, head
        reached = module.reached(kernel)
        self.shifts = [granule_of(reached, of).bit_length() - 1 for of in (in_launches, in_blocks)]
        """Of memory of launches and of blocks, what shifts a place in bytes to the number of its cell."""
        self.all_noted = notes_all(reached)
        self.shadow = self.shared = self.thread = kernel.args[0] if kernel.args else Value(I64)
        self.first = self.launch = self.shadow
        """The first ticks of the block and of the launch."""
        ops = [op for f in reached for op in f.body.walk()]
        self.mixed = any(op.name == "llvm.load" and _is_atomic(op) and in_blocks(_space(op)) for op in ops)
        """Whether some read memory of blocks atomically."""
        self.passed: Value | None = None
        self.waited: Value | None = None
        self.rounds: Value | None = None
        self.begun: Value | None = None
        """Slots: the block's barriers, how often since the last of them it waited for its warp, how often for
        the grid, and the first tick since."""
        self.met = any(_meets(op, "grid") for f in reached for op in f.body.walk())
        """Whether the grid meets: shared memory is not noted then, as that of all blocks is there at once."""
        self.places: dict[str, int] = {}
        """Behind how many bytes the cells of each shared memory begin; those of the launch are last."""
        taken = 0
        for g in module.globals:
            if g.space == AddressSpace.SHARED:
                self.places[g.name] = taken
                taken += -(-g.count * max(1, g.element.bits // 8) // _SHARED_FROM) * _SHARED_FROM
        self.places[""] = taken

    def begin(self, pointers: Sequence[Value]) -> list[Value]:
        """Have each thread begin; where the cells of each pointer are: arguments, behind which are two more.

        These are where those of shared memory are, and the address of the launch's ``Shadow``.
        """
        b, args = self.b, self.kernel.args
        cells = [Value(I64, None, f"{p.name}.cells") for p in pointers]
        address = Value(I64, None, "shadow")
        self.shared = Value(I64, None, "shared.cells")
        args += [*cells, self.shared, address]
        with b.into(Region([], self.head)):
            self.shadow = b.value("llvm.inttoptr", (address,), pointer(AddressSpace.GLOBAL))
            linear = self.linear("thread_id", "block_dim")
            self.thread = b.arith("shli", linear, b.constant(THREAD, I64))
            if self.met:
                self.begun = b.slot(I64, "begun", self.head)
            self.enter(self.linear("block_id", "grid_dim"))
            self.launch = self.tick("launch", invariant=True)
            if self.met:
                self.rounds = b.slot(I64, "rounds", self.head)
                b.set(self.rounds, b.constant(0, I64))
            if any(op.name == "gpu.barrier" for op in self.kernel.body.walk()):
                self.passed = b.slot(I64, "passed", self.head)
                b.set(self.passed, b.constant(0, I64))
            if any(_meets(op, "warp") for op in self.kernel.body.walk()):
                self.waited = b.slot(I64, "waited", self.head)
                b.set(self.waited, b.constant(0, I64))
        return cells

    def linear(self, place: str, extent: str) -> Value:
        """The number of a thread in its block, or of a block in the grid."""
        b = self.b
        (x, y, z), (dx, dy, _) = (
            [b.value(f"gpu.{name}", (), I64, {"dimension": axis}) for axis in "xyz"]
            for name in (place, extent)
        )
        upper = b.arith("addi", y, b.arith("muli", dy, z))
        return b.arith("addi", x, b.arith("muli", dx, upper))

    def tick(self, name: str, *, invariant: bool) -> Value:
        """One of the ticks of the launch's ``Shadow``."""
        b = self.b
        place = b.at(self.shadow, b.constant(getattr(Shadow, name).offset, I64), I8)
        attrs = {"alignment": WORD, "invariant": invariant, "volatile": False}
        return b.value("llvm.load", (place,), I64, attrs)

    def call(self, name: str, *given: Value, alike: bool = False) -> Value | None:
        """Call one of the functions, which the module is given; ``alike``: one thread may for its block."""
        there = {f.name for f in self.module.functions}
        if name not in there:
            self.module.functions[:0] = [f for f in self.checks(name) if f.name not in there]
        types = self.module.function(name).results
        attrs = {"callee": name, "alike": True} if alike else {"callee": name}
        results = self.b.emit("func.call", (self.shadow, *given), types, attrs).results
        return results[0] if results else None

    def order(self, op: Op) -> None:
        """Note what puts threads in order."""
        if op.name == "gpu.barrier":
            self.meet()
        elif _meets(op, "warp"):
            self.count(self.waited)
        elif _meets(op, "grid"):
            self.meet_all()
        elif op.name == "llvm.fence":
            self.call("weft.fence", self.b.arith("ori", self.now(), self.thread))

    def meet(self) -> None:
        """The thread has passed a barrier."""
        b, passed = self.b, self.count(self.passed)
        if self.waited is None:
            self.call("weft.meet", self.now(), alike=not self.met)
            return
        b.set(self.waited, b.constant(0, I64))
        self.call("weft.phase", passed)

    def enter(self, number: Value) -> None:
        """The thread begins, in the block of that number."""
        first = self.call("weft.enter", number, alike=not self.met)
        assert first is not None
        if self.begun is not None:
            self.b.set(self.begun, first)
        self.first = first

    def now(self) -> Value:
        """The tick at hand."""
        b = self.b
        if self.waited is not None:
            now = self.call("weft.stretch", b.get(self.waited, I64))
            assert now is not None
            return now
        first = self.first if self.begun is None else b.get(self.begun, I64)
        if self.passed is None:
            return first
        return b.arith("addi", first, b.arith("shli", b.get(self.passed, I64), b.constant(TICK, I64)))

    def meet_all(self) -> None:
        """The thread has waited for the grid: it goes on as if its block began."""
        b, rounds = self.b, self.count(self.rounds)
        for slot in (self.passed, self.waited):
            if slot is not None:
                b.set(slot, b.constant(0, I64))
        number = self.linear("block_id", "grid_dim")
        self.enter(b.arith("ori", number, b.arith("shli", rounds, b.constant(ROUND, I64))))

    def count(self, slot: Value | None) -> Value:
        """One more in a slot."""
        b = self.b
        assert slot is not None
        value = b.arith("addi", b.get(slot, I64), b.constant(1, I64))
        b.set(slot, value)
        return value

    def piece_around(self, address: Value) -> tuple[Value, Value, Value]:
        """What the launch knows of the memory around an address."""
        b = self.b
        piece = self.call("weft.find", address)
        assert piece is not None
        place = b.value("llvm.inttoptr", (piece,), pointer(AddressSpace.GLOBAL))
        attrs = {"alignment": WORD, "invariant": False, "volatile": False}
        low, _, size, cells = [
            b.value("llvm.load", (b.at(place, b.constant(n, I64), I64),), I64, attrs) for n in range(4)
        ]
        return b.arith("subi", address, low), size, cells

    def cells_of(self, op: Op) -> Number:
        """Where the cells of shared memory are, of the module or of the launch; 0 for other memory."""
        place = self.places.get(str(op.attrs.get("global_name", "")))
        if place is None or self.met:
            return 0
        known = 1 << SHARED
        return self.b.arith(
            "addi", self.shared, self.b.constant(known + (place >> self.shifts[True]) * CELL_BYTES, I64)
        )

    def check(self, op: Op, origin: Origin, origins: Origins) -> None:
        """Have the thread note an access, and say what it races with."""
        if origin.cells == 0:
            return
        b, verb, place = self.b, VERBS[op.name], op.operands[0]
        sites = {kind: self.new_site(access_site(kind, self.kernel, op, origin)) for kind in _KINDS[verb]}
        what = (sites["data-race"] % SITES) << SITE
        how = verb
        if _is_atomic(op):
            what |= ATOMIC | (RELEASE if op.attrs.get("ordering") in _RELEASING else 0)
            how = f"atomic_{verb}"
        now, warps = self.now(), "" if self.waited is None else ".warps"
        me = b.arith("ori", now, b.arith("ori", self.thread, b.constant(what, I64)))
        launch = self.tick("launch", invariant=False) if self.met else self.launch
        soon = now if self.waited is None else self.tick("phase", invariant=False)
        at, cells, *ends = map(origins.value, (origin.at, origin.cells, origin.low, origin.high))

        def told(kind: str, *first: Value) -> Region:
            with b.into(Region()) as made:
                address = b.value("llvm.ptrtoint", (place,), I64)
                tell(b, sites[kind], (*first, at, *ends, address))
            return made

        def noted(space: str) -> Region:
            of_block = space == "shared"
            shift, ticks = self.shifts[of_block], (soon, self.first) if of_block else (launch, launch)
            more = warps + (".mixed" if of_block and verb == "reads" and self.mixed else "")
            with b.into(Region()) as made:
                found = self.call(f"weft.{how}.{space}.{accessed(op)}.{shift}{more}", cells, at, me, *ticks)
                assert found is not None
                wrong = told("data-race", found)
                if verb == "writes" and not _is_atomic(op):
                    wrong = self.unless_same(op, found, wrong)
                elif verb != "writes":
                    unset = b.compare("eq", found, b.constant(UNSET, I64))
                    with b.into(Region()) as either:
                        b.branch(unset, told("uninitialised") if self.all_noted else Region(), wrong)
                    wrong = either
                b.branch(b.compare("ne", found, b.constant(0, I64)), wrong)
            return made

        zero = b.constant(0, I64)
        space = _space(op)
        if space == AddressSpace.SHARED:
            b.region.ops += noted("shared").ops
            return
        if space == AddressSpace.GLOBAL:
            b.branch(b.compare("ne", cells, zero), noted("global"))
            return
        shared = b.compare("ne", b.arith("andi", cells, b.constant(1 << SHARED, I64)), zero)
        with b.into(Region()) as either:
            b.branch(shared, noted("shared"), noted("global"))
        b.branch(b.compare("ne", cells, zero), either)

    def unless_same(self, store: Op, found: Value, told: Region) -> Region:
        """What is told of a write, unless it races a write of what it writes."""
        b, (place, value) = self.b, store.operands
        if not isinstance(value.type.scalar, (IntType, FloatType)):
            return told
        attrs = {"alignment": store.attrs["alignment"], "invariant": False, "volatile": False}
        with b.into(Region()) as made:
            there = b.value("llvm.load", (place,), value.type, attrs)
            both = b.arith("andi", found, b.constant(BOTH_WRITE, I64))
            differs = b.compare("eq", both, b.constant(0, I64))
            for one, other in zip(self.bits(value), self.bits(there), strict=True):
                differs = b.arith("ori", differs, b.compare("ne", one, other))
            b.branch(differs, told)
        return made

    def bits(self, value: Value) -> list[Value]:
        """The lanes of a value as integers."""
        b, kind = self.b, value.type
        lanes = [value]
        if kind.lanes > 1:
            numbers = [b.constant(n, I64) for n in range(kind.lanes)]
            lanes = [b.value("vector.extractelement", (value, n), kind.scalar) for n in numbers]
        if isinstance(kind.scalar, IntType):
            return lanes
        whole = next(t for t in (I8, I16, I32, I64) if t.bits == kind.scalar.bits)
        return [b.value("arith.bitcast", (lane,), whole) for lane in lanes]
