"""Elements that all threads read, change and write: what one has added another writes over."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.core import Function, Op, Sync, Value
from weft.compiler.ir.terms import along
from weft.compiler.lint.accesses import Access, Walk, place_of
from weft.compiler.lint.addresses import Address, X
from weft.diagnostics import Diagnostic, Label


def races(function: Function, walk: Walk, accesses: list[Access]) -> Iterator[Diagnostic]:
    """The writes of all threads to one element, of what each has made of what it read there.

    Nothing is said of code that knows atomic operations: it may have its turns.
    """
    stores = [access for access in accesses if access.op.name == "llvm.store" and access.function is function]
    found = [access for access in stores if _is_updated_by_all(walk, access)]
    if not found or any(_lets_wait(op) for op in function.body.walk()):
        return
    for access in found:
        yield Diagnostic(
            "race",
            "all threads change this element at once: what one adds, another writes over",
            (Label(place_of(access)),),
            ("between its read and its write others do the same",),
            ("write Atomic.fetch_add(pointer, value) or its kin of weft.atomic, or let one thread write",),
        )


def _is_updated_by_all(walk: Walk, access: Access) -> bool:
    place, value = access.place, access.op.operands[1]
    if _is_own(place.base) or along(place.terms, X):
        return False
    made = _Making(walk, place)
    return made.reads(value) and made.differs(value)


def _is_own(base: Value) -> bool:
    """Whether memory is the thread's."""
    return isinstance(base.owner, Op) and base.owner.name not in ("llvm.mlir.addressof", _DYNAMIC)


_DYNAMIC = "gpu.dynamic_shared_memory"


class _Making:
    """What a value that is written to a place was made of."""

    def __init__(self, walk: Walk, place: Address) -> None:
        self.walk = walk
        self.place = place
        self.known: dict[Value, bool] = {}
        self.read: dict[Value, bool] = {}

    def reads(self, v: Value) -> bool:
        """Whether it was made of what the place held, by arithmetic alone."""
        if v not in self.read:  # what is used twice, again and again, is asked once
            self.read[v] = self._reads(v)
        return self.read[v]

    def _reads(self, v: Value) -> bool:
        op = v.owner
        if not isinstance(op, Op):
            return False
        if op.name == "llvm.load":
            return self._is_place(op.operands[0])
        return op.spec.pure and any(map(self.reads, op.operands))

    def _is_place(self, pointer: Value) -> bool:
        found = self.walk.addresses.address(pointer)
        return found is not None and found.terms == self.place.terms and _same(found.base, self.place.base)

    def differs(self, v: Value) -> bool:
        """Whether neighbouring threads are known to have computed it of different things."""
        if v not in self.known:
            self.known[v] = False
            self.known[v] = self._differs(v)
        return self.known[v]

    def _differs(self, v: Value) -> bool:
        terms = self.walk.addresses.terms(v)
        if terms is not None:
            return bool(along(terms, X))
        op = v.owner
        if not isinstance(op, Op):
            return False
        if op.name == "llvm.load":
            found = self.walk.addresses.address(op.operands[0])
            return found is not None and bool(along(found.terms, X)) and not _is_own(found.base)
        if op.name == "weft.get":
            return any(map(self.differs, self.walk.given(op.operands[0])))
        return op.spec.pure and any(map(self.differs, op.operands))


def _same(a: Value, b: Value) -> bool:
    if a is b:
        return True
    one, other = a.owner, b.owner
    if not isinstance(one, Op) or not isinstance(other, Op) or one.name != other.name:
        return False
    return one.name == _DYNAMIC or (one.name == "llvm.mlir.addressof" and one.attrs == other.attrs)


def _lets_wait(op: Op) -> bool:
    """Whether it lets threads wait for others than at barriers: they may come to the element in turn."""
    sync = op.spec.sync
    return op.name != "gpu.barrier" and sync is not None and sync(op) is not Sync.NONE
