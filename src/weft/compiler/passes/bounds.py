"""Checked mode: every access is of memory that the pointer it is made by was for.

An access outside of that (``passes/origins.py``) does not happen: the host is told, what is read is 0. So it
is for a pointer's own memory, not for what lies beside it, as in W. Xu, D. DuVarney, R. Sekar: An efficient
and backwards-compatible transformation to ensure memory safety of C programs (2004). Where threads are loops,
accesses that happen may be checked for races too (``passes/races.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_region
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I1, I64, IntType, PointerType, Type
from weft.compiler.passes.endless import Rounds, may_be_endless
from weft.compiler.passes.faults import NewSite, tell
from weft.compiler.passes.origins import (
    FAR,
    LEAST,
    VERBS,
    Found,
    Number,
    Origin,
    Origins,
    access_site,
    accessed,
    alignment_of,
    size_of,
)
from weft.compiler.passes.proofs import all_of
from weft.compiler.passes.races import Checks, Races
from weft.compiler.passes.reaches import Reaches
from weft.compiler.passes.stretches import Stretch, stretches
from weft.compiler.passes.unset import Unset
from weft.compiler.passes.versions import in_versions


def check_memory(
    module: Module,
    kernel: Function,
    new_site: NewSite,
    *,
    bounds: bool,
    races: Checks | None,
    loops: bool,
    versions: bool,
) -> None:
    """Have a kernel check what it accesses, in place; all that it calls has been put into it.

    It takes the size of the launch's shared memory, and two more arguments for every pointer; where accesses
    are noted, by the functions that ``races`` gives, then what ``Races`` takes. ``loops``: threads are loops.
    It is made in two ``versions`` if it may be, where that lets one of them check less.
    """
    pointers = [a for a in kernel.args if isinstance(a.type, PointerType)]
    dynamic = Value(I64, None, "shared_mem_bytes")
    ends = {a: (Value(I64, None, f"{a.name}.low"), Value(I64, None, f"{a.name}.high")) for a in pointers}
    kernel.args += [dynamic, *(v for both in ends.values() for v in both)]
    memory = {g.name: g for g in module.globals}
    sites: dict[tuple[Op, str], int] = {}

    def checked(body: Region, own: Mapping[Op, Op], within: AbstractSet[Op]) -> None:
        _Checked(module, kernel, new_site, _Plan(bounds, races, dynamic, ends, own, within, sites)).run(body)

    if not bounds or races is not None or not versions:
        checked(kernel.body, {}, frozenset())
        return
    reaches = Reaches(kernel, memory, ends, dynamic, loops=loops)
    always = {op for op, condition in reaches.accesses.items() if condition is True and not op.regions}
    proved = [condition for condition in reaches.accesses.values() if condition is not False]
    condition = all_of([*reaches.conditions, *proved])
    if isinstance(condition, bool):
        checked(kernel.body, {}, always if condition else frozenset())
        return
    other, usual = kernel.body, clone_region(kernel.body, {})
    own = dict(zip(usual.walk(), other.walk(), strict=True))
    checked(usual, own, {op for op, found in reaches.accesses.items() if found is not False})
    checked(other, {}, frozenset())
    in_versions(kernel, condition, usual, other)


class _Plan(NamedTuple):
    """What is checked in a version of a kernel."""

    bounds: bool
    races: Checks | None
    dynamic: Value
    ends: Mapping[Value, tuple[Value, Value]]
    own: Mapping[Op, Op]
    """The operations that those of this version are copies of."""
    within: AbstractSet[Op]
    """Accesses that are within their memory."""
    sites: dict[tuple[Op, str], int]
    """The sites of all versions."""


class _Checked:
    """The body of one kernel."""

    def __init__(self, module: Module, kernel: Function, new_site: NewSite, plan: _Plan) -> None:
        self.kernel, self.plan = kernel, plan
        self.bounds = plan.bounds
        self.new_site = new_site
        self.b = Builder()
        self.b.loc = kernel.line, 0
        self.head: list[Op] = []
        memory = {g.name: g for g in module.globals}
        given = self.b, module, kernel, new_site
        self.races = Races(*given, plan.races, self.head) if plan.races else None
        self.unset = Unset(self.b, kernel, new_site, self.head) if plan.races else None
        self.rounds: Rounds | None = None
        self.outside: set[Region] = set()
        """What a thread does where an access is outside of memory."""
        given = self.b, kernel, memory, self.cells_of, self.head, plan.dynamic
        self.origins = Origins(*given, self.races and Found(self.races.piece_around, self.races.hopped))

    def run(self, body: Region) -> None:
        """Check all accesses."""
        ends = self.plan.ends
        for arg, (low, high) in ends.items():
            self.origins.known[arg] = Origin(0, low, high, 0, arg.name, FAR)
        if self.races is not None:
            for arg, cells in zip(ends, self.races.begin(list(ends)), strict=True):
                self.origins.known[arg] = self.origins.known[arg]._replace(cells=cells)
        if self.unset is not None:
            self.unset.begin()
        if may_be_endless(body):
            self.rounds = Rounds(self.b, self.kernel, self.new_site, self.head)
        self.region(body, around=True)
        if self.rounds is not None:
            self.rounds.limit(body, self.outside)
        body.ops[:0] = self.head

    def site(self, kind: str, op: Op, like: Op, origin: Origin) -> int:
        """The site of a fault of an access, which looks like another: one for all versions."""
        key = self.plan.own.get(op, op), kind
        if key not in self.plan.sites:
            self.plan.sites[key] = self.new_site(access_site(kind, self.kernel, like, origin))
        return self.plan.sites[key]

    def region(self, region: Region, *, cut: bool = False, around: bool = False) -> None:
        """All of a region; ``cut``: others may run before it, ``around``: and within it."""
        ops, region.ops[:] = region.ops[:], []
        b = self.b
        parts = list(stretches(ops))
        if self.races is not None:
            self.races.find_updates(parts)
        with b.into(region):
            if self.races is not None and cut:
                self.races.resume()
            for op in parts:
                if isinstance(op, Stretch):
                    self.stretch(op)
                elif not op.regions or not self.is_within(op):
                    self.op(op, around=cut or around)

    def op(self, op: Op, *, around: bool = False) -> None:
        """One operation, with what is in it; ``around``: others may run between it and its like."""
        b = self.b
        b.live, b.loc = True, op.loc
        cut = around and self.races is not None and self.races.is_cut(op)
        for inner in op.regions:
            self.region(inner, cut=cut)
        b.live, b.loc = True, op.loc
        if op.name in VERBS:
            given = op.results
            self.access(op)
            for each in given:
                self.origins.find(each)
        else:
            if self.races is not None:
                self.races.give(op)
            b.region.ops.append(op)
            self.origins.follow(op)
        if self.races is not None:
            self.races.order(op)
            if cut:
                self.races.resume()

    def access(self, op: Op) -> None:
        """Have an access happen where it is within its memory."""
        origin = self.origins.of(op.operands[0])
        fits = {"out-of-bounds": self.within(op, origin), "misaligned": self.aligned(op, origin)}

        def happens() -> None:
            if self.races is not None:
                self.races.check(op, origin, self.origins, [op])
            self.finally_(op, origin)

        self.guarded([op], op, origin, fits, happens)

    def stretch(self, found: Stretch) -> None:
        """Have accesses that belong together happen where all of them are within their memory."""
        b, accesses = self.b, [access.op for access in found.accesses]
        for op in found.ops:
            if op not in accesses:
                self.op(op)
        if not all(self.is_trusted(op, self.origins.of(op.operands[0])) for op in accesses):
            for op in accesses:
                self.op(op)
            return
        b.live, b.loc = True, accesses[0].loc

        def of(pointer: Value) -> Origin:
            if isinstance(pointer.owner, Op) and pointer not in self.origins.known:  # made here
                self.origins.follow(pointer.owner)
            return self.origins.of(pointer)

        def happens() -> None:
            for piece, parts in found.pieces(b) if self.races is not None else ():
                assert self.races is not None
                self.races.check(piece, of(piece.operands[0]), self.origins, parts)
            for op in accesses:
                self.finally_(op, self.origins.of(op.operands[0]))

        given = [r for op in accesses for r in op.results]
        whole = found.whole(b)
        origin = of(whole.operands[0])
        within = None if all(map(self.is_within, accesses)) else self.within(whole, origin)
        self.guarded(accesses, whole, origin, {"out-of-bounds": within}, happens)
        for each in given:
            self.origins.find(each)

    def guarded(
        self,
        ops: Sequence[Op],
        like: Op,
        origin: Origin,
        fits: Mapping[str, Value | None],
        happens: Callable[[], None],
    ) -> None:
        """Have accesses happen where something holds; faults are told as of one that is like them all."""
        b, value = self.b, self.origins.value
        both = [fit for fit in fits.values() if fit is not None]
        if not both:
            happens()
            return
        told, place = tuple(map(value, origin[:3])), like.operands[0]
        given = [(op, r) for op in ops for r in op.results]
        kept = [b.slot(r.type, "read", self.head) for _, r in given]
        for op in ops:
            op.results = tuple([Value(r.type, op) for r in op.results])
        with b.into(Region()) as inside:
            happens()
            for slot, result in zip(kept, [r for op in ops for r in op.results], strict=True):
                b.set(slot, result)
        with b.into(Region()) as outside:
            if self.rounds is not None:
                self.rounds.begin()
                self.outside.add(outside)
            for slot, nothing in zip(kept, [each for op in ops for each in self.nothing(op)], strict=True):
                b.set(slot, nothing)
            address = b.value("llvm.ptrtoint", (place,), I64)
            for kind, fit in fits.items():
                if fit is not None:
                    site = self.site(kind, ops[0], like, origin)
                    with b.into(Region()) as wrong:
                        tell(b, site, (*told, address))
                    b.branch(fit, Region(), wrong)
        b.branch(both[0] if len(both) == 1 else b.arith("andi", *both), inside, outside)
        for slot, (_, result) in zip(kept, given, strict=True):
            got = b.emit("weft.get", (slot,), (result.type,))
            got.results, result.owner = (result,), got

    def within(self, op: Op, origin: Origin) -> Value | None:
        """Whether an access is within its memory, where that is not known."""
        b, value, size = self.b, self.origins.value, accessed(op)
        at, low, high = origin[:3]
        if not self.bounds or self.is_within(op) or low is LEAST or _is_within(at, low, high, size):
            return None
        begins = b.compare("sle", value(low), value(at))
        ends = b.compare("sle", value(self.origins.sum(at, size)), value(high))
        return b.value("arith.andi", (begins, ends), I1)

    def is_within(self, op: Op) -> bool:
        """Whether that has been shown, for all of the launch."""
        return self.plan.own.get(op, op) in self.plan.within

    def aligned(self, op: Op, origin: Origin) -> Value | None:
        """Whether it begins where it is said to, where that is not known.

        Memory begins where numbers of its type may; whoever promises more may be wrong.
        """
        b, alignment = self.b, alignment_of(op)
        if self.is_trusted(op, origin):
            return None
        address = b.value("llvm.ptrtoint", (op.operands[0],), I64)
        rest = b.arith("andi", address, b.constant(alignment - 1, I64))
        return b.compare("eq", rest, b.constant(0, I64))

    def is_trusted(self, op: Op, origin: Origin) -> bool:
        """Whether it is known to begin there."""
        alignment = alignment_of(op)
        promised = alignment > size_of(_kind(op).scalar.bits)
        own = isinstance(origin.low, int) and origin.low is not LEAST
        return not self.bounds or (origin.step % alignment == 0 and (own or not promised))

    def cells_of(self, op: Op) -> Number:
        return 0 if self.races is None else self.races.cells_of(op)

    def finally_(self, op: Op, origin: Origin) -> None:
        """An access that is within its memory, and noted."""
        if self.unset is not None:
            self.unset.check(op, origin, self.origins)
        self.b.region.ops.append(op)

    def nothing(self, op: Op) -> list[Value]:
        """What an access gives that does not happen, as if there were zeros."""
        made = [self.zero(r.type) for r in op.results]
        if op.name == "llvm.cmpxchg" and isinstance(op.operands[1].type, IntType):
            made[1] = self.b.compare("eq", op.operands[1], made[0])
        return made

    def zero(self, kind: Type) -> Value:
        if isinstance(kind, PointerType):
            return self.b.value("llvm.inttoptr", (self.b.constant(0, I64),), kind)
        return self.b.constant(0, kind)


def _kind(op: Op) -> Type:
    """The type of what is read or written."""
    return (op.result if op.name == "llvm.load" else op.operands[1]).type


def _is_within(at: Number, low: Number, high: Number, size: int) -> bool:
    """Whether that is known."""
    if isinstance(at, Value) or isinstance(low, Value) or isinstance(high, Value):
        return False
    return low <= at <= high - size
