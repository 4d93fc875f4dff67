"""Two pieces between which threads meet, done strip by strip: what a thread reads for the second lies near.

``before = shared[t - offset]``, a barrier and ``shared[t] += before`` read all of a block, then write it.
But where the first piece writes nothing, and what it reads of the memory that the second one writes lies as
far behind each thread's own place, a strip of threads may do both before the next strip does either: from
the last strip to the first, whose threads read what lies before all that has been written. Where that lies
ahead instead, strips go from the first to the last; which it is need not be known before the kernel runs.
Strips in which all threads pass the tests of their places (``t >= offset``) do without them: masks cost more
than what they leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from weft.abi.cpu_limits import STRIP
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.types import I1, I8, I32, I64, AddressSpace, FloatType, IntType, PointerType, vector
from weft.compiler.passes.guard_bounds import Bound, bound_of, parts_of, threads_within
from weft.compiler.passes.indices import Ranges
from weft.compiler.passes.pieces import Piece
from weft.compiler.passes.some_threads import is_known, only_branch
from weft.compiler.passes.thread_context import indexed
from weft.record import replace

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody
    from weft.compiler.passes.segment import Segment

_Sum = dict[Value | None, int]
"""Values and how often each is added; under None what is added of numbers."""
_MEMORY = frozenset({"llvm.load", "llvm.store"})
_CONTROL = frozenset({"weft.get", "weft.set", "weft.if", "weft.slot"})


def in_strips(body: BarrierBody, nodes: Sequence[Piece]) -> bool:
    """Do a piece, and what is behind the barrier after it, strip by strip where ``b`` stands, if it may."""
    whole = body.frame.even and body.context.rank == 1 and body.bounds[0] is body.every
    if not whole or body.together.warps or body.alive is not None or len(nodes) < 3:
        return False
    first, meeting, second = nodes
    if meeting.op is None or meeting.op.name != "gpu.barrier" or not (_is_plain(first) and _is_plain(second)):
        return False
    own = [[op for op in piece.ops if not body.together.runs_once(op)] for piece in (first, second)]
    gives = any(
        op.name == "weft.set" and op not in own[1] for op in second.ops
    )  # before the first piece, then
    reads, writes = (list(_accesses(ops)) for ops in own)
    stores = [op for op in writes if op.name == "llvm.store"]
    if gives or any(only_branch(body, ops) is not None for ops in own):
        return False
    way = None if any(op.name == "llvm.store" for op in reads) else _way(body, reads, stores)
    if way is None:
        return False
    for piece in (first, second):
        piece.ops = body.each(piece.ops)
    _emit(body, (first, second), way)
    return True


def _emit(body: BarrierBody, pieces: tuple[Piece, Piece], way: _Sum) -> None:
    b, every, zero, strip = body.b, body.bounds[0], body.b.constant(0, I64), body.b.constant(STRIP, I64)
    further = b.constant(way.get(None, 0), I64)
    for v, count in way.items():
        if v is not None:
            further = b.arith("addi", further, b.arith("muli", body.uniform_value(v), b.constant(count, I64)))
    is_behind = b.compare("sle", further, zero)
    kept = {v: body.arrays[v] for v in _between(body, *pieces)}
    for v in kept:
        held = I8 if v.type is I1 else v.type  # a flag takes a byte
        body.arrays[v] = (b.slot(vector(STRIP, held), v.name, body.head), v.type, 1)

    def strips(first: Value, last: Value, parts: Sequence[tuple[Piece, list[Op]]]) -> None:
        (region,), (number,) = indexed("strip")
        with b.into(region):
            begin = b.select(is_behind, b.arith("subi", b.arith("subi", every, strip), number), number)
            narrow = b.value("arith.trunci", (begin,), I32)
            begin = b.value("arith.extui", (narrow,), I64)  # so LLVM sees its range
            body.in_strip = {body.arrays[v][0]: begin for v in kept}
            for piece, ops in parts:
                _strip(body, piece, ops, begin)
        b.emit("weft.for", (first, last, strip), (), {"parallel": False}, (region,))

    edges = _Edges(body)
    untested = [(piece, edges.untested(piece.ops)) for piece in pieces]
    if edges.lows or edges.highs:
        inside = edges.threads_inside(is_behind)
        strips(zero, inside, untested)
        zero = inside
    strips(zero, every, [(piece, piece.ops) for piece in pieces])
    body.arrays.update(kept)


def _strip(body: BarrierBody, piece: Piece, ops: list[Op], begin: Value) -> None:
    """These operations of a piece for the threads of a strip."""
    b = body.b
    (along_x,), (x,) = indexed("thread_x")
    with b.into(along_x):
        place = replace(body.context, thread_id=[x, *body.context.thread_id[1:]])
        body.one(partial(_copy, ops), place, piece, guard=False)
    attrs, end = (
        {"parallel": True, "strip": True, "pairs": True},
        b.arith("addi", begin, b.constant(STRIP, I64)),
    )
    b.emit("weft.for", (begin, end, b.constant(1, I64)), (), attrs, (along_x,))


def _copy(ops: list[Op], segment: Segment) -> None:
    for op in ops:
        segment.op(op)


class _Edges:
    """How many threads, from the first on, fail tests of where they are, or pass them."""

    def __init__(self, body: BarrierBody) -> None:
        self.body = body
        self.lows: list[Value] = []
        self.highs: list[Value] = []

    def untested(self, ops: list[Op]) -> list[Op]:
        """A piece as threads do it that pass all such tests."""
        made: list[Op] = []
        for op in ops:
            made += op.regions[0].ops if op.name == "weft.if" and self.take(op.operands[0]) else [op]
        return made

    def take(self, condition: Value) -> bool:
        """Note a condition, if it only tests where a thread is."""
        ranges = Ranges()
        found: tuple[list[Bound], list[Bound]] = [], []
        for part in parts_of(condition, False):
            for negated in (True, False):
                bound = bound_of(part, negated, lambda v, _: is_known(self.body, v), ranges)
                if bound is not None and bound.axis == 0:
                    found[not negated].append(bound)
                    break
            else:
                return False
        for bounds, to in zip(found, (self.lows, self.highs), strict=True):
            to += [threads_within(self.body.b, bound, self.body.uniform_value) for bound in bounds]
        return True

    def threads_inside(self, is_behind: Value) -> Value:
        """In how many threads, of the strips that come first, all such tests hold: whole strips."""
        b, zero, every = self.body.b, self.body.b.constant(0, I64), self.body.bounds[0]
        low, high = zero, every
        for count in self.lows:
            low = b.select(b.compare("sgt", count, low), count, low)
        for count in self.highs:
            high = b.select(b.compare("slt", count, high), count, high)
        last, first = b.compare("eq", high, every), b.compare("eq", low, zero)
        behind, ahead = (
            b.select(*both, zero) for both in ((last, b.arith("subi", every, low)), (first, high))
        )
        inside = b.select(is_behind, behind, ahead)
        inside = b.select(b.compare("sgt", inside, zero), inside, zero)
        return b.arith("andi", inside, b.constant(-STRIP, I64))


def _between(body: BarrierBody, first: Piece, second: Piece) -> list[Value]:
    """What the first piece computes for the second alone: a strip keeps it in registers."""
    made = [v for op in first.ops for v in op.results if op.name != "weft.slot" and v in body.arrays]
    both = {first, second}
    return [v for v in made if isinstance(v.type, (IntType, FloatType)) and body.used_in[v] <= both]


def _is_plain(piece: Piece) -> bool:
    """Whether threads only compute in a piece, and read and write memory."""
    return piece.op is None and not piece.laned and all(map(_is_simple, Region([], piece.ops).walk()))


def _is_simple(op: Op) -> bool:
    if op.name in _MEMORY:
        return "ordering" not in op.attrs and op.attrs["volatile"] is False
    return op.name in _CONTROL or (op.spec.pure and not op.regions)


def _accesses(ops: list[Op]) -> Iterator[Op]:
    return (op for op in Region([], ops).walk() if op.name in _MEMORY)


def _space(op: Op) -> AddressSpace:
    kind = op.operands[0].type
    assert isinstance(kind, PointerType)
    return kind.space


def _way(body: BarrierBody, loads: list[Op], stores: list[Op]) -> _Sum | None:
    """How much further all loads are than all stores, where that is the same and shared by all threads."""
    found: _Sum | None = None
    for store in stores:
        there = _place(store)
        if there is None or not _is_own(there[2]):
            return None
        for load in (op for op in loads if _space(op) != AddressSpace.GLOBAL):
            here = _place(load)
            if here is None:
                return None
            if here[0] != there[0]:
                continue
            way = dict(here[2])
            for v, count in there[2].items():
                way[v] = way.get(v, 0) - count
            way = {v: count for v, count in way.items() if count}
            if here[1] != there[1] or (found is not None and way != found):
                return None
            if not all(v is None or body.together.once(v) for v in way):
                return None
            found = way
    return found


def _is_own(place: _Sum) -> bool:
    """Whether threads that follow each other write elements that do."""
    own = [(v, count) for v, count in place.items() if v is not None and _is_thread(v)]
    return len(own) == 1 and own[0][1] == 1


def _is_thread(v: Value) -> bool:
    return isinstance(v.owner, Op) and v.owner.name == "gpu.thread_id" and v.owner.attrs["dimension"] == "x"


def _place(access: Op) -> tuple[str, int, _Sum] | None:
    """Which shared memory an access is to, how many bits it takes, and which element it is."""
    address, kind = access.operands[0], access.results[0].type if access.results else access.operands[1].type
    place: _Sum = {}
    while isinstance(address.owner, Op) and address.owner.name == "llvm.getelementptr":
        if address.owner.type_attr("elem_type").bits != kind.bits:
            return None
        _add(address.owner.operands[1], 1, place)
        address = address.owner.operands[0]
    owner = address.owner
    if (
        not isinstance(owner, Op)
        or owner.name != "llvm.mlir.addressof"
        or _space(access) != AddressSpace.SHARED
    ):
        return None
    return str(owner.attrs["global_name"]), kind.bits, place


def _add(v: Value, count: int, to: _Sum) -> None:
    """Add a value so often, by what it is made of."""
    owner, known = v.owner, integer(v)
    if known is not None:
        to[None] = to.get(None, 0) + count * known
    elif isinstance(owner, Op) and owner.name in ("arith.addi", "arith.subi"):
        _add(owner.operands[0], count, to)
        _add(owner.operands[1], count if owner.name == "arith.addi" else -count, to)
    else:
        to[v] = to.get(v, 0) + count
