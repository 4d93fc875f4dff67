"""Checked mode, where threads are loops: accesses that race, and reads of what nobody wrote.

What is found and how stands in ``compiler/shadow.py``: here each access of memory that threads share is made
to call the function that notes it, and a thread says what that gives, where it is not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.abi.artifact import FaultSite
from weft.abi.shadow import (
    ADDRESS,
    ATOMIC,
    BOTH_WRITE,
    CELL,
    CELL_BYTES,
    FRESH,
    NARROW,
    READ,
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
from weft.compiler.ir.effects import NAMED, finds_memory, meets_in_warp
from weft.compiler.ir.looks import may_look
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
from weft.compiler.passes.group_cut import cuts, meets
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
    scope_of,
)
from weft.compiler.passes.stretches import Stretch
from weft.compiler.passes.under_way import COPIES, UnderWay, has_copies
from weft.compiler.passes.updates import updates
from weft.compiler.passes.waits import is_left
from weft.diagnostics import CompileError, Location

Checks = Callable[[str], tuple[Function, ...]]
"""By its name, the function that notes an access, or that a thread is somewhere, behind what it calls."""
_SHARED_FROM = 16
"""Shared memory of each kind begins at a multiple of so many bytes, as far as cells are concerned."""


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


def granules(functions: Sequence[Function]) -> tuple[int, int]:
    """How many bytes have a cell, of memory of launches and of blocks."""
    hidden = hides([op for f in functions for op in f.body.walk()])

    def of_blocks(space: AddressSpace) -> bool:
        return in_blocks(space) or (hidden and space == AddressSpace.GLOBAL)

    return granule_of(functions, in_launches), granule_of(functions, of_blocks)


def hides(ops: Sequence[Op]) -> bool:
    """Whether addresses of shared memory are numbers, and so may be where pointers do not say it."""
    return any(op.name == "llvm.ptrtoint" and _space(op) == AddressSpace.SHARED for op in ops)


def shared_cells(module: Module, functions: Sequence[Function]) -> tuple[int, int]:
    """Of shared memory of fixed size, how many cells a block has, and for how many bytes each."""
    granule = granules(functions)[1]
    return places_of(module)[""] // granule, granule


def places_of(module: Module) -> dict[str, int]:
    """Where shared memory lies, as far as cells are concerned; behind all of it ``""``."""
    places: dict[str, int] = {}
    taken = 0
    for g in module.globals:
        if g.space == AddressSpace.SHARED:
            places[g.name] = taken
            taken += -(-g.count * max(1, g.element.bits // 8) // _SHARED_FROM) * _SHARED_FROM
    return {**places, "": taken}


def finds(functions: Sequence[Function]) -> bool:
    """Whether there are addresses that come from no argument."""
    return any(finds_memory(op) for f in functions for op in f.body.walk())


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
        self.shifts = [granule.bit_length() - 1 for granule in granules(reached)]
        """Of memory of launches and of blocks, what shifts a place in bytes to the number of its cell."""
        self.all_noted = notes_all(reached)
        self.updates: dict[Op, Op] = {}
        """By writes, the reads of the same memory that are noted with them."""
        self.updated: set[Op] = set()
        self.shadow = self.shared = self.thread = kernel.args[0] if kernel.args else Value(I64)
        self.first = self.launch = self.shadow
        """The first ticks of the block and of the launch."""
        ops = [op for f in reached for op in f.body.walk()]
        self.mixed = any(op.name == "llvm.load" and scope_of(op) and in_blocks(_space(op)) for op in ops)
        """Whether some read memory of blocks atomically."""
        self.passed: Value | None = None
        self.waited: Value | None = None
        self.rounds: Value | None = None
        self.turns: Value | None = None
        self.begun: Value | None = None
        """Slots: the block's barriers, how often since the last of them it waited for its warp, how often for
        the grid, for the grid or its cluster, and the first tick since."""
        self.met = any(meets(op, "grid") for op in ops)
        """Whether the grid meets."""
        self.hops = any(op.name == "gpu.shared_stride" for op in ops)
        self.clusters = self.hops or any(meets(op, "cluster") for op in ops)
        """Whether blocks of a cluster reach each other's memory, and whether they meet."""
        self.again = self.met or self.clusters
        """Whether blocks go on behind others."""
        self.looks = may_look(module, kernel)
        """Whether they do so while they wait in loops."""
        warps = any(meets(op, "warp") for op in ops)
        frees = any(op.name == "llvm.fence" or op.attrs.get("ordering") in _RELEASING for op in ops)
        self.left = is_left(kernel)
        """Whether threads go on in turns: then stretches are those of each, also where warps wait."""
        if self.left and self.again:
            raise CompileError.at(
                "unsupported",
                f"races are not looked for in {kernel.source_name}: blocks meet, threads wait for later ones",
                Location(kernel.file, kernel.line),
                hints=("check bounds alone: `checked=['bounds']`, `--check=bounds` or `WEFT_CHECK=bounds`",),
            )
        self.of = "threads" if self.left else "warps" if warps else "threads" if frees else ""
        """Whose stretches there are beside those of blocks: where they wait, and where they release."""
        self.copied = has_copies(ops)
        self.copies: UnderWay | None = None
        """Copies that go on beside threads, and whether there are such."""
        self.hidden = hides(ops)
        """Whether there may be memory of blocks where pointers do not say it."""
        self.places = places_of(module)
        """Behind how many bytes the cells of each shared memory begin; those of the launch are last."""

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
            if self.again:
                self.begun = b.slot(I64, "begun", self.head)
                self.rounds, self.turns = (b.slot(I64, name, self.head) for name in ("rounds", "turns"))
                for slot in (self.rounds, self.turns):
                    b.set(slot, b.constant(0, I64))
                behind = b.arith("muli", self.number(), self.tick("stride", invariant=True))
                self.shared = b.arith("addi", self.shared, behind)
            self.enter()
            # ``enter`` writes it where a grid has met: LLVM made 0 of it where it was told that nobody does
            self.launch = self.tick("launch", invariant=False)
            if any(op.name == "gpu.barrier" for op in self.kernel.body.walk()):
                self.passed = b.slot(I64, "passed", self.head)
                b.set(self.passed, b.constant(0, I64))
            if self.of:
                self.waited = b.slot(I64, "waited", self.head)
                b.set(self.waited, b.constant(0, I64))
            if self.copied:
                self.copies = UnderWay(b, self.call, self.head)
        return cells

    def linear(self, place: str, extent: str) -> Value:
        """The number of a thread in its block, or of a block in the grid."""
        return self._numbered(self._three(place), self._three(extent))

    def _three(self, name: str) -> list[Value]:
        return [self.b.value(f"gpu.{name}", (), I64, {"dimension": axis}) for axis in "xyz"]

    def _numbered(self, at: Sequence[Value], extents: Sequence[Value]) -> Value:
        b, (x, y, z), (dx, dy, _) = self.b, at, extents
        return b.arith("addi", x, b.arith("muli", dx, b.arith("addi", y, b.arith("muli", dy, z))))

    def _clusters(self) -> tuple[Value, Value, Value]:
        """The number of the block's cluster, that of the block in it, and how many blocks that has."""
        b, sizes = self.b, self._three("cluster_dim")

        def each(name: str, of: list[Value]) -> list[Value]:
            return [b.arith(name, one, size) for one, size in zip(of, sizes, strict=True)]

        block, grid = self._three("block_id"), self._three("grid_dim")
        whole = self._numbered(each("divui", block), each("divui", grid))
        return whole, self._numbered(each("remui", block), sizes), self._size(sizes)

    def _size(self, extents: Sequence[Value]) -> Value:
        x, y, z = extents
        return self.b.arith("muli", x, self.b.arith("muli", y, z))

    def number(self) -> Value:
        """That of the block among those whose shared memory is there."""
        if not self.clusters:
            return self.linear("block_id", "grid_dim")
        whole, rank, size = self._clusters()
        return self.b.arith("addi", rank, self.b.arith("muli", whole, size)) if self.met else rank

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

    def give(self, op: Op) -> None:
        """Note, before threads meet of which others go on in turns, what each hands over."""
        if self.left and (op.name == NAMED or meets_in_warp(op)):
            self.call("weft.give", self.b.arith("ori", self.now(), self.thread))

    def order(self, op: Op) -> None:
        """Note what puts threads in order."""
        if op.name == "gpu.barrier":
            self.meet()
        elif op.name == COPIES and self.copies is not None:
            self.copies.order(op, lambda: self.b.arith("ori", self.now(), self.thread))
        elif self.left and (op.name == NAMED or meets_in_warp(op)):
            self.count(self.waited)
            self.call("weft.acquire", self.b.arith("ori", self.now(), self.thread))
        elif meets(op, "warp"):
            self.count(self.waited)
        elif meets(op, "grid") or meets(op, "cluster"):
            self.meet_all(grid=meets(op, "grid"))
        elif self.of == "threads" and VERBS.get(op.name, "reads") != "reads" and scope_of(op):
            self.count(self.waited)
        elif op.name == "llvm.fence":
            narrow = op.attrs["syncscope"] == "block"
            self.call(
                "weft.fence_own" if narrow else "weft.fence", self.b.arith("ori", self.now(), self.thread)
            )

    def meet(self) -> None:
        """The thread has passed a barrier."""
        b, passed = self.b, self.count(self.passed)
        if self.waited is None:
            self.call("weft.meet", self.now(), alike=not self.again)
            return
        b.set(self.waited, b.constant(0, I64))
        self.call("weft.phase", passed)

    def enter(self) -> None:
        """The thread begins, or goes on behind where more than its block has met."""
        b, number = self.b, self.linear("block_id", "grid_dim")

        def behind(first: Value, slot: Value | None) -> Value:
            if slot is None:
                return first
            return b.arith("ori", first, b.arith("shli", b.get(slot, I64), b.constant(ROUND, I64)))

        if self.clusters:
            self.call("weft.gather", behind(self._clusters()[0], self.turns))
        first = self.call("weft.enter", behind(number, self.rounds), alike=not self.again)
        assert first is not None
        if self.begun is not None:
            b.set(self.begun, first)
        self.first = first

    def begins(self) -> Value:
        """The first tick since then."""
        return self.first if self.begun is None else self.b.get(self.begun, I64)

    def now(self) -> Value:
        """The tick at hand."""
        b = self.b
        if self.waited is not None:
            now = self.call("weft.stretch", b.get(self.waited, I64))
            assert now is not None
            return now
        first = self.begins()
        if self.passed is None:
            return first
        return b.arith("addi", first, b.arith("shli", b.get(self.passed, I64), b.constant(TICK, I64)))

    def meet_all(self, *, grid: bool) -> None:
        """The thread has waited for the grid, or for its cluster: it goes on as if its block began."""
        b = self.b
        self.count(self.turns)
        if grid:
            self.count(self.rounds)
        for slot in (self.passed, self.waited):
            if slot is not None:
                b.set(slot, b.constant(0, I64))
        self.enter()

    def is_cut(self, op: Op) -> bool:
        """Whether others run between what is in there and around, if they do around what it is in."""
        return self.again and any(cuts(op, group) for group in ("grid", "cluster"))

    def resume(self) -> None:
        """Others may have run: if they have, the thread goes on as if its block began."""
        b, before = self.b, self.begins()
        self.enter()
        self.call("weft.resume", before)
        goes_on = b.compare("eq", self.begins(), before)
        for slot in (self.passed, self.waited):
            if slot is not None:
                b.set(slot, b.select(goes_on, b.get(slot, I64), b.constant(0, I64)))

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
        if place is None:
            return 0
        known = 1 << SHARED
        return self.b.arith(
            "addi", self.shared, self.b.constant(known + (place >> self.shifts[True]) * CELL_BYTES, I64)
        )

    def hopped(self, blocks: Value) -> Value:
        """How many bytes further the cells of shared memory are so many blocks on."""
        return self.b.arith("muli", blocks, self.tick("stride", invariant=True))

    def ticks(self, now: Value, *, shared: bool) -> tuple[Value, Value]:
        """What comes before the first is in order with what is done now; before the second nothing counts."""
        if not shared:
            once = not (self.again or self.looks)
            launch = self.launch if once else self.tick("launch", invariant=False)
            return launch, launch
        if self.clusters:
            turn = self.tick("turn", invariant=False)
            return turn, turn
        if self.met:
            return self.tick("unordered", invariant=False), self.tick("launch", invariant=False)
        return (now if self.waited is None else self.tick("phase", invariant=False)), self.begins()

    def since(self, cells: Value, *, shared: bool) -> Value:
        """What was written before that is not written."""
        b = self.b
        if not shared:
            return b.arith("andi", b.arith("shrui", cells, b.constant(FRESH, I64)), b.constant(1, I64))
        if not self.again:
            return self.first
        return self.tick("began" if self.met else "cluster", invariant=False)

    def record(self, op: Op, site: int) -> tuple[Value, Value]:
        """The tick at hand, and the record of an access."""
        b, what, now = self.b, (site % SITES) << SITE, self.now()
        if scope_of(op):
            what |= ATOMIC | (RELEASE if op.attrs.get("ordering") in _RELEASING else 0)
            what |= NARROW if scope_of(op) == "block" and not self.hidden else 0
        return now, b.arith("ori", now, b.arith("ori", self.thread, b.constant(what, I64)))

    def find_updates(self, parts: Sequence[Op | Stretch]) -> None:
        """Find reads that are noted with a write, among what a thread does in a row."""
        found = updates(op for op in parts if isinstance(op, Op))
        self.updates.update(found)
        self.updated.update(found.values())

    def check(self, op: Op, origin: Origin, origins: Origins, parts: Sequence[Op]) -> None:
        """Have the thread note an access, which is made in parts, and say what it races with."""
        if origin.cells == 0 or op in self.updated:
            return
        b, verb, place = self.b, self.verb(op), op.operands[0]
        read = self.updates.get(op, op)
        counted = self.copies is not None and self.copies.barrier is not None
        like = {"data-race": op, "uninitialised": read}
        sites = {
            kind: self.new_site(access_site(kind, self.kernel, like[kind], origin, counted=counted))
            for kind in _KINDS[verb]
        }
        now, me = self.record(op, sites["data-race"])
        at, cells, *ends = map(origins.value, (origin.at, origin.cells, origin.low, origin.high))

        def told(kind: str, *first: Value) -> Region:
            with b.into(Region()) as made:
                address = b.value("llvm.ptrtoint", (place,), I64)
                tell(b, sites[kind], (*first, at, *ends, address))
            return made

        def noted(*, shared: bool) -> Region:
            with b.into(Region()) as made:
                given = *self.ticks(now, shared=shared), self.since(cells, shared=shared)
                found = self.call(self.named(op, shared=shared), cells, at, me, *given)
                assert found is not None
                wrong = told("data-race", found)
                if verb == "writes" and not scope_of(op):
                    wrong = self.unless_same(parts, found, wrong)
                elif verb != "writes":
                    unset = b.compare("eq", found, b.constant(UNSET, I64))
                    with b.into(Region()) as either:
                        b.branch(unset, told("uninitialised") if self.all_noted else Region(), wrong)
                    wrong = either
                b.branch(b.compare("ne", found, b.constant(0, I64)), wrong)
            return made

        zero, space = b.constant(0, I64), _space(op)
        if space == AddressSpace.SHARED:
            b.region.ops += noted(shared=True).ops
            if self.copies is not None and self.copies.begins:
                shift = self.shifts[True]
                self.copies.note(cells, at, me, max(1, accessed(op) >> shift), shift)
            return
        if space != AddressSpace.GLOBAL or (self.hidden and cells.owner is not None):
            where = self.among(SHARED, cells, noted(shared=True), noted(shared=False))
        elif verb == "reads" and not scope_of(op):
            where = self.among(READ, cells, self.kept(op, cells, at, me), noted(shared=False))
        else:
            where = noted(shared=False)
        b.branch(b.compare("ne", cells, zero), where)

    def among(self, bit: int, cells: Value, one: Region, other: Region) -> Region:
        """What is done where cells have a bit, and where not."""
        b = self.b
        with b.into(Region()) as made:
            found = b.arith("andi", cells, b.constant(1 << bit, I64))
            b.branch(b.compare("ne", found, b.constant(0, I64)), one, other)
        return made

    def kept(self, op: Op, cells: Value, at: Value, me: Value) -> Region:
        """Note who reads memory that the launch only reads."""
        b, shift = self.b, self.shifts[False]
        with b.into(Region()) as made:
            first = b.arith("muli", b.arith("shrsi", at, b.constant(shift, I64)), b.constant(CELL_BYTES, I64))
            place = b.arith("addi", b.arith("andi", cells, b.constant(ADDRESS, I64)), first)
            cell = b.value("llvm.inttoptr", (place,), pointer(AddressSpace.GLOBAL))
            for n in range(max(1, accessed(op) >> shift)):
                attrs = {"alignment": WORD, "volatile": False}
                b.emit("llvm.store", (b.at(cell, b.constant(CELL * n + 1, I64), I64), me), (), attrs)
        return made

    def verb(self, op: Op) -> str:
        """What an access does, with the read that is noted with it."""
        return "updates" if op in self.updates else VERBS[op.name]

    def named(self, op: Op, *, shared: bool) -> str:
        """The function that notes an access."""
        verb, words = self.verb(op), [str(accessed(op)), str(self.shifts[shared])]
        if self.of:
            words.append(self.of)
        if self.clusters:
            words.append("clusters")
        if shared and self.copied:
            words.append("copies")
        if shared and verb == "reads" and self.mixed:
            words.append("mixed")
        how = f"atomic_{verb}" if scope_of(op) else verb
        return ".".join(["weft", how, "shared" if shared else "global", *words])

    def unless_same(self, stores: Sequence[Op], found: Value, told: Region) -> Region:
        """What is told of writes, unless they race writes of what they write."""
        b = self.b
        if not all(isinstance(store.operands[1].type.scalar, (IntType, FloatType)) for store in stores):
            return told
        with b.into(Region()) as made:
            both = b.arith("andi", found, b.constant(BOTH_WRITE, I64))
            differs = b.compare("eq", both, b.constant(0, I64))
            for store in stores:
                place, value = store.operands
                attrs = {"alignment": store.attrs["alignment"], "invariant": False, "volatile": False}
                there = b.value("llvm.load", (place,), value.type, attrs)
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
