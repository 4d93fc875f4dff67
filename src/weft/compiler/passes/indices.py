"""What indices are made of: a thread's own and what is added, how far they go, and their stride in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from weft.abi.cpu_limits import MOST_THREADS
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.types import I64, IntType

_FAR = 1 << 62
"""Indices and what they are made of are followed as far as this, either way."""
_PARTS = 64
"""A place is a sum of so many parts at most."""
_GRID, _BLOCK = (0, (1 << 31) - 1), (0, MOST_THREADS)
_PLACES = {"gpu.grid_dim": _GRID, "gpu.block_id": _GRID, "gpu.block_dim": _BLOCK, "gpu.thread_id": _BLOCK}
"""What of a launch's extents and a thread's place can be; of grids that ever end."""
_EXTENTS = frozenset({"gpu.block_dim", "gpu.grid_dim"})
_FOLLOWED = frozenset({"arith.addi", "arith.subi", "arith.muli", "arith.remui"})
_CONVERSIONS = frozenset({"arith.extsi", "arith.extui", "arith.trunci"})


class IndexPlus(NamedTuple):
    """An index, which has a name, plus and minus values that all who have such an index share."""

    name: str
    plus: tuple[Value, ...] = ()
    minus: tuple[Value, ...] = ()

    def index_at(self, sum: Value, b: Builder, lookup: Callable[[Value], Value]) -> Value:
        """What the index is where it makes this sum; ``lookup`` has what is added and subtracted."""
        for name, offsets in (("subi", self.plus), ("addi", self.minus)):
            for offset in offsets:
                sum = b.arith(name, sum, lookup(offset))
        return sum


def index_plus(
    v: Value, index: Callable[[Value], str | None], shared: Callable[[Value, str], bool]
) -> IndexPlus | None:
    """``v`` as an index and what is added to it and subtracted from it."""
    known: dict[Value, IndexPlus | None] = {}

    def made(v: Value) -> IndexPlus | None:
        name, owner = index(v), v.owner
        if name is not None:
            return IndexPlus(name)
        if not isinstance(owner, Op) or owner.name not in ("arith.addi", "arith.subi"):
            return None
        (one, other), adds = owner.operands, owner.name == "arith.addi"
        found = of(one)
        if found is not None and shared(other, found.name):
            name, plus, minus = found
            return IndexPlus(name, (*plus, other), minus) if adds else IndexPlus(name, plus, (*minus, other))
        found = of(other) if adds else None
        if found is not None and shared(one, found.name):
            return IndexPlus(found.name, (*found.plus, one), found.minus)
        return None

    def of(v: Value) -> IndexPlus | None:
        if v not in known:  # sums of sums are many
            known[v] = made(v)
        return known[v]

    return of(v)


def thread_plus(v: Value, shared: Callable[[Value, str], bool]) -> IndexPlus | None:
    """``v`` as a thread index, of that axis, and what is added and subtracted that its threads share."""

    def axis(v: Value) -> str | None:
        owner = v.owner
        return (
            str(owner.attrs["dimension"]) if isinstance(owner, Op) and owner.name == "gpu.thread_id" else None
        )

    return index_plus(v, axis, shared)


class Start(NamedTuple):
    """Where threads begin that follow each other: a sum of what all share and of what is each one's own."""

    axis: int
    """That which they follow each other along."""
    shared: tuple[Value, ...]
    own: tuple[Value, ...]
    """Its index along that axis; along x also how far its row is behind the first."""

    @staticmethod
    def of(v: Value, same: Callable[[Value], bool]) -> Start | None:
        """What ``v`` is made of, where it is such a place; ``same`` says what all threads share."""
        parts = _parts(v, same)
        if parts is None:
            return None
        shared, own = parts
        axes = [thread_axis(one) for one in own]
        if "x" not in axes:
            return (
                Start("yz".index(axes[0]) + 1, tuple(shared), tuple(own)) if axes in (["y"], ["z"]) else None
            )
        first = own.pop(axes.index("x"))
        return Start(0, tuple(shared), (first, *own)) if all(map(_of_row, own)) else None

    @staticmethod
    def of_lanes(v: Value, same: Callable[[Value], bool]) -> Start | None:
        """The same of lanes of a warp, which share what is ``same``."""
        shared, own = _parts(v, same) or ([], [])
        is_lane = [isinstance(one.owner, Op) and one.owner.name == "gpu.lane_id" for one in own] == [True]
        return Start(0, tuple(shared), tuple(own)) if is_lane else None


def _parts(v: Value, same: Callable[[Value], bool]) -> tuple[list[Value], list[Value]] | None:
    """What is added up in a number: what all share, and what is each one's own."""
    shared, own, waiting = list[Value](), list[Value](), [v]
    while waiting:
        one = waiting.pop()
        if len(shared) + len(own) > _PARTS:
            return None
        if same(one):
            shared.append(one)
        elif isinstance(one.owner, Op) and one.owner.name == "arith.addi":
            waiting += reversed(one.owner.operands)
        else:
            own.append(one)
    return shared, own


def thread_axis(v: Value) -> str:
    """Along which axis it is a thread's index, if it is one."""
    is_thread = isinstance(v.owner, Op) and v.owner.name == "gpu.thread_id"
    return str(v.owner.attrs["dimension"]) if isinstance(v.owner, Op) and is_thread else ""


def _of_row(v: Value) -> bool:
    """Whether it is the same in a row of threads, and in later ones not less: y and z by positive factors."""
    known, owner = integer(v), v.owner
    if known is not None:
        return known >= 0
    if not isinstance(owner, Op) or thread_axis(v) == "x":
        return False
    if owner.name in ("arith.addi", "arith.muli"):
        return all(map(_of_row, owner.operands))
    return owner.name in ("gpu.thread_id", "gpu.block_dim")


def only_global(ops: Sequence[Op]) -> bool:
    """Whether of its place along x a thread only knows that in the whole grid: ``block * size + thread``."""
    threads, blocks, sizes = (
        {op.result for op in ops if op.name == name and op.attrs["dimension"] == "x"}
        for name in ("gpu.thread_id", "gpu.block_id", "gpu.block_dim")
    )
    begins: set[Value] = set()
    for op in ops:  # what a value is used in comes behind it
        given = set(op.operands)
        if given & begins or given & threads:
            if op.name != "arith.addi" or not (given & begins and given & threads):
                return False
        elif given & blocks:
            if op.name != "arith.muli" or not given & sizes:
                return False
            begins.add(op.result)
    return not any(op.name == "weft.failed" for op in ops)


def is_positive(v: Value) -> bool:
    """Whether a number is certain to be 1 or more: a constant, extents of the launch, products and sums."""
    owner, known = v.owner, integer(v)
    if known is not None:
        return known > 0
    if not isinstance(owner, Op):
        return False
    if owner.name == "arith.muli":
        return Ranges().range(v) is not None and all(map(is_positive, owner.operands))
    if owner.name == "arith.addi":
        ends = Ranges().range(v)
        return ends is not None and ends[0] > 0
    return owner.name in _EXTENTS


def is_far(step: Value) -> bool:
    """Whether a step depends on how many blocks there are, so that others do what lies between."""
    owner = step.owner
    return isinstance(owner, Op) and (owner.name == "gpu.grid_dim" or any(map(is_far, owner.operands)))


class Ranges:
    """How far integers go."""

    def __init__(self, known: Mapping[Value, tuple[int, int]] | None = None) -> None:
        self._known: dict[Value, tuple[int, int] | None] = dict(known or {})

    def range(self, v: Value) -> tuple[int, int] | None:
        """The least and the greatest that ``v`` can be, signed; None where it may be far, or wrap around."""
        if v not in self._known:
            found = self._range(v)
            near = found is not None and -_FAR <= found[0] <= found[1] < _FAR
            self._known[v] = found if near else None
        return self._known[v]

    def _range(self, v: Value) -> tuple[int, int] | None:
        owner, known = v.owner, integer(v)
        if known is not None:
            return known, known
        if not isinstance(owner, Op):
            return None
        place = _PLACES.get(owner.name)
        if place is not None:
            return place
        if owner.name in ("arith.extsi", "arith.extui") and isinstance(owner.operands[0].type, IntType):
            bits = owner.operands[0].type.bits
            return (-(1 << bits - 1), (1 << bits - 1) - 1) if owner.name[-2] == "s" else (0, (1 << bits) - 1)
        if owner.name not in _FOLLOWED or v.type is not I64:
            return None
        one, other = (self.range(operand) for operand in owner.operands)
        if owner.name == "arith.remui":
            return (0, max(other[1] - 1, 0)) if other is not None and other[0] >= 0 else None
        if one is None or other is None:
            return None
        if owner.name == "arith.muli":
            ends = [a * c for a in one for c in other]
            return min(ends), max(ends)
        if owner.name == "arith.subi":
            other = -other[1], -other[0]
        return one[0] + other[0], one[1] + other[1]


class Strides:
    """By how much values and addresses grow with an index: a thread's along x, or that of a loop.

    ``fixed`` says which values do not change with it.
    """

    def __init__(self, index: Callable[[Value], bool], fixed: Callable[[Value], bool]) -> None:
        self._index = index
        self._fixed = fixed
        self._known: dict[Value, int | None] = {}

    def of(self, v: Value) -> int | None:
        """In units, or in bytes for an address; None where that is not known, or not always the same."""
        if v not in self._known:
            self._known[v] = None  # what depends on itself
            self._known[v] = self._stride(v)
        return self._known[v]

    def _stride(self, v: Value) -> int | None:
        owner = v.owner
        if self._index(v):
            return 1
        if self._fixed(v) or owner is None:
            return 0
        if isinstance(owner, Region) or not (owner.spec.pure and owner.operands):
            return None
        strides = [self.of(o) for o in owner.operands]
        if not any(strides) and None not in strides:
            return 0
        first = strides[0]
        if owner.name in _CONVERSIONS or owner.name == "llvm.addrspacecast":
            return first
        second = strides[1] if len(strides) > 1 else None
        if owner.name == "arith.muli":
            factors = integer(owner.operands[1]), integer(owner.operands[0])
            known = [s * f for s, f in zip(strides, factors, strict=True) if s is not None and f is not None]
            return known[0] if known else None
        if first is None or second is None:
            return None
        if owner.name == "llvm.getelementptr":
            return first + second * max(1, owner.type_attr("elem_type").bits // 8)
        if owner.name == "arith.addi":
            return first + second
        return first - second if owner.name == "arith.subi" else None
