"""Which values of a kernel are the same for all threads of a block.

A value is the same if it is computed from what the block shares, and a variable if everything that it
is given is the same and is given by all threads alike. What is loaded from memory that the kernel may
write is not known to be, but for what ``settled`` finds, nor what atomic operations and assembly give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.jumps import JUMPS, leaves
from weft.record import record

LOOPS = frozenset({"weft.for", "weft.while"})
_OF_LANES = frozenset({"gpu.thread_id", "gpu.thread_number", "gpu.lane_id"})
OWN = _OF_LANES | {"gpu.subgroup_id"}
"""What each thread of a block has its own of."""
_OF_BLOCKS = frozenset({"gpu.block_id", "gpu.block_dim", "gpu.grid_dim"})
_CONTROL = frozenset(
    {"weft.if", "weft.condition", "weft.return", "weft.slot", "weft.set", "weft.get", "llvm.unreachable"}
    | LOOPS
    | JUMPS
)


@record
class _Given:
    """A variable is given a value, where ``decisions`` say who comes by."""

    slot: Value
    value: Value
    decisions: tuple[Value, ...]


class Uniformity:
    """The analysis of one function, whose arguments are the same for all threads.

    ``varying`` are the operations that give each thread its own: of a block, its index. ``settled`` are loads
    that give all threads the same and may be made once for all, ``unwritten`` those that do where they are
    from one place, ``alike`` operations that do whatever they are given.
    """

    def __init__(
        self,
        function: Function,
        functions: Mapping[str, Function],
        varying: frozenset[str] = OWN,
        settled: frozenset[Op] = frozenset(),
        unwritten: frozenset[Op] = frozenset(),
        alike: frozenset[str] = frozenset(),
    ) -> None:
        self.settled = settled
        self._unwritten = unwritten
        self._alike = alike
        self._functions = functions
        self._own = varying
        self._pure: dict[str, bool] = {}
        self._known: dict[Value, bool] = {}
        self._varying: set[Value] = set()
        self._loops = {op.regions[0]: op for op in function.body.walk() if op.name == "weft.for"}
        given = list(_given(function.body, ()))
        for op in function.body.walk():
            if op.name not in ("weft.get", "weft.set"):  # an address that goes elsewhere
                self._varying.update(v for v in op.operands if _is_slot(v))
            elif op.name == "weft.set" and _is_slot(op.operands[1]):
                self._varying.add(op.operands[1])
        changed = True
        while changed:
            self._known.clear()
            changed = False
            for one in given:
                if one.slot not in self._varying and not all(map(self.same, (one.value, *one.decisions))):
                    self._varying.add(one.slot)
                    changed = True
        self._known.clear()

    @staticmethod
    def of_warps(
        function: Function, functions: Mapping[str, Function], unwritten: frozenset[Op] = frozenset()
    ) -> Uniformity:
        """The analysis of what is the same for all lanes of a warp."""
        alike = frozenset({"gpu.ballot"})
        return Uniformity(function, functions, _OF_LANES, unwritten=unwritten, alike=alike)

    def steady(self, slot: Value) -> bool:
        """Whether all threads that come by give a variable the same."""
        return _is_slot(slot) and slot not in self._varying

    def same(self, v: Value) -> bool:
        """Whether all threads of a block that come to a use of ``v`` have the same value there."""
        found = self._known.get(v)
        if found is None:
            self._known[v] = False  # a value that depends on itself
            found = self._known[v] = self._same(v)
        return found

    def _same(self, v: Value) -> bool:
        op = v.owner
        if isinstance(op, Region):  # a loop's index; how far it goes is a decision of its own
            loop = self._loops[op]
            return self.same(loop.operands[0]) and self.same(loop.operands[2])
        if op is None:
            return True
        if op.name == "weft.get":
            return _is_slot(op.operands[0]) and op.operands[0] not in self._varying
        if op.name in self._alike:
            return True
        if is_alike(op):
            return all(map(self.same, op.operands))
        if op.name == "func.call":
            return self._is_pure(str(op.attrs["callee"])) and all(map(self.same, op.operands))
        return self._depends_on_operands(op) and all(map(self.same, op.operands))

    def _is_pure(self, name: str) -> bool:
        """Whether what a function gives depends on its arguments alone."""
        if name not in self._pure:
            self._pure[name] = False  # one that calls itself
            ops = list(self._functions[name].body.walk())
            self._pure[name] = all(
                self._is_pure(str(op.attrs["callee"]))
                if op.name == "func.call"
                else op.name in _CONTROL or self._depends_on_operands(op)
                for op in ops
            )
        return self._pure[name]

    def _depends_on_operands(self, op: Op) -> bool:
        """Whether an operation gives the same wherever its operands are the same."""
        if op.name == "llvm.call_intrinsic":
            return op.attrs["effects"] == "none"
        if op.name == "llvm.load":
            return op.attrs["invariant"] is True or op in self.settled or op in self._unwritten
        return op.spec.pure and op.name not in self._own


def is_of_block(v: Value) -> bool:
    """Whether all threads of a block are certain to have the same: it is made of arguments and extents."""
    seen, waiting = set[Value](), [v]
    while waiting:
        one = waiting.pop()
        owner = one.owner
        if one in seen or owner is None:
            continue
        if not isinstance(owner, Op):
            return False
        if owner.name not in _OF_BLOCKS and not (owner.name.startswith("arith.") and owner.spec.pure):
            return False
        seen.add(one)
        waiting += owner.operands
    return True


def is_alike(op: Op) -> bool:
    """Whether one thread of a block may do it for all that come by."""
    return op.attrs.get("alike") is True


def _is_slot(v: Value) -> bool:
    return isinstance(v.owner, Op) and v.owner.name == "weft.slot"


def _given(region: Region, decisions: tuple[Value, ...]) -> Iterator[_Given]:
    """What variables are given in a region that ``decisions`` lead to."""
    for op in region.ops:
        if op.name == "weft.set":
            yield _Given(op.operands[0], op.operands[1], decisions)
        inner = decisions
        if op.name == "weft.if":
            inner = (*decisions, *op.operands)
        elif op.name in LOOPS:
            inner = (*decisions, *op.operands)
            if op.name == "weft.while":
                inner = (*inner, *op.regions[0].ops[-1].operands)
            inner = (*inner, *(jump.operands[0] for jump in branches_that_jump(op.regions[-1])))
        for one in op.regions:
            yield from _given(one, inner)


def branches_that_jump(body: Region) -> Iterator[Op]:
    """The branches within a loop's body that end the loop or one round of it."""
    for op in body.ops:
        if op.name == "weft.if" and any(leaves(region) for region in op.regions):
            yield op
            for region in op.regions:
                yield from branches_that_jump(region)
