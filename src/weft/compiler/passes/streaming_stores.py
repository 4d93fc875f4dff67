"""Stores past the caches, where a launch touches more memory than they hold: lines need not be read first.

A store reads the line of memory that it writes a part of, so that ``c[i] = a[i] + b[i]`` moves four arrays.
Whole lines may be written without. In a loop over threads that writes elements one behind the other, which
nothing in it reads, threads write to a line of the stack ``_CHUNK`` elements at a time, and these go to
memory from there, line by line: so LLVM makes vectors of the loop as of any other, and lines are whole
wherever the array begins. In smaller launches of the same code all stays as it was, but for a test.

Such stores may come after later ones. Kernels with atomics or fences, by which blocks tell others what they
have written, have none; where a worker ends, it waits for its own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from weft.abi.cpu_limits import LINE, large
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Module, Op, Region, Sync, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import I8, I64, AddressSpace, PointerType, pointer
from weft.compiler.passes.ahead import PREFETCH
from weft.compiler.passes.indices import Strides
from weft.compiler.passes.launch_record import LaunchRecord
from weft.compiler.passes.thread_context import indexed
from weft.record import record

_SHIFT = 8
_CHUNK = 1 << _SHIFT
"""Elements; with longer ones reading and writing take turns that are too long for memory, measured."""
_SHORTEST = 32
"""A loop of fewer elements is not worth the way over the stack."""
_MOST = 4
"""Arrays that one loop writes so: each takes a place in the nearest cache."""
_SIMPLE = frozenset({"llvm.load", "llvm.store", "weft.if", "weft.get", "weft.set", "weft.exit_thread"})


@record(eq=False)
class _Stream:
    """A store of the loop's to elements that follow each other."""

    store: Op
    size: int
    place: Value
    """Where they lie on the way."""


def streaming_stores(module: Module) -> None:
    """Rewrite the loops over threads of kernels that may, in place."""
    for f in module.functions:
        loop = next((op for op in f.body.ops if op.name == "weft.while" and "blocks" in op.attrs), None)
        if loop is not None and not f.resumable and not any(map(_orders, _own(module, f))):
            _Streaming(f, loop).rewrite()


def _own(module: Module, f: Function) -> Iterable[Op]:
    """The operations of a function and of what it calls, but for those on the record of its launch."""
    for each in module.reached(f):
        for op in each.body.walk():
            at = op.operands[0].owner if op.operands else None
            of_launch = isinstance(at, Op) and at.operands and at.operands[0] is f.args[-1]
            if not of_launch:
                yield op


def _orders(op: Op) -> bool:
    """Whether an operation may tell others of what was written."""
    waits = op.spec.sync is not None and op.spec.sync(op) is not Sync.NONE
    return "ordering" in op.attrs or (waits and not _is_request(op))


def _is_request(op: Op) -> bool:
    """Whether an operation asks for memory ahead (``ahead``), which orders nothing."""
    return op.attrs.get("intrin") == PREFETCH


class _Streaming:
    """One kernel: its blocks' loop, and what its launch is known by."""

    def __init__(self, f: Function, blocks: Op) -> None:
        self.f = f
        self.blocks = blocks
        self.b = Builder()
        self.b.loc = blocks.loc
        self.head: list[Op] = []

    def rewrite(self) -> None:
        """Rewrite each loop that writes such elements."""
        b, ops = self.b, self.f.body.ops
        loops = [op for op in self.blocks.regions[-1].walk() if _is_parallel(op)]
        found = {loop: streams for loop in loops if (streams := self._streams(loop))}
        if not found:
            return
        with b.into(Region([], self.head)):
            launch = LaunchRecord(b, self.f.args[-1])
            extents = [*launch.fields("grid"), *launch.fields("block")]
            threads = functools.reduce(lambda n, m: b.arith("muli", n, m), extents)
            much = b.compare("sge", threads, b.constant(-(-large() // _touched(loops)), I64))
        arrays = {_array(each.store.operands[0]) for streams in found.values() for each in streams}
        self._region(self.blocks.regions[-1], found, arrays, much)
        with b.into(Region()) as behind:
            with b.into(Region()) as end:
                b.emit("weft.streamed")
            b.branch(much, end)
        at = ops.index(self.blocks)
        ops[at : at + 1] = [*self.head, self.blocks, *behind.ops]

    def _region(
        self,
        region: Region,
        found: Mapping[Op, list[_Stream]],
        arrays: AbstractSet[Value | None],
        much: Value,
    ) -> None:
        """Rewrite a region; lines of these arrays are not asked for ahead, as then they would be read."""
        ops, region.ops[:] = region.ops[:], []
        for op in ops:
            if op in found:
                with self.b.into(region):
                    self._emit(op, found[op], much)
                continue
            if op.name == "weft.for" and any(
                _is_request(each) and integer(each.operands[1]) and _array(each.operands[0]) in arrays
                for each in op.regions[0].ops
            ):
                with self.b.into(region):
                    self.b.branch(much, Region(), Region([], [op]))
                continue
            for inner in op.regions:
                self._region(inner, found, arrays, much)
            region.ops.append(op)

    def _streams(self, loop: Op) -> list[_Stream]:
        """The stores of a loop that may go past the caches."""
        (body,), ends = loop.regions, [integer(v) for v in loop.operands]
        every = [*body.walk()]
        short = ends[0] is not None and ends[1] is not None and ends[1] - ends[0] < _CHUNK
        if ends[2] != 1 or short or not all(op.name in _SIMPLE or _is_pure(op) for op in every):
            return []
        accesses = [op for op in every if op.name in ("llvm.load", "llvm.store")]
        strides, touched = _strides(loop), [_array(op.operands[0]) for op in accesses]
        if None in touched or any(op.name == "weft.exit_thread" for op in every if op is not body.ops[-1]):
            return []  # not all come to the end
        found: list[_Stream] = []
        for op in body.ops:
            if op.name == "llvm.store" and touched.count(_array(op.operands[0])) == 1 and len(found) < _MOST:
                size, kind = op.operands[1].type.bits // 8, op.operands[0].type
                whole = op.operands[1].type.lanes == 1 and size in (4, 8) and op.attrs["alignment"] == size
                if whole and _is_global(kind) and strides.of(op.operands[0]) == size:
                    found.append(_Stream(op, size, self._place(size, kind)))
        return found

    def _place(self, size: int, kind: object) -> Value:
        assert isinstance(kind, PointerType)
        attrs = {"elem_type": I8, "count": size * _CHUNK, "alignment": LINE}
        place = Op(SPECS["llvm.alloca"], (), attrs, (), (pointer(AddressSpace.LOCAL),), self.b.loc)
        self.head.append(place)
        cast = Op(SPECS["llvm.addrspacecast"], (place.result,), {}, (), (kind,), self.b.loc)
        self.head.append(cast)
        return cast.result

    def _emit(self, loop: Op, streams: list[_Stream], much: Value) -> None:
        b, (first, last, one) = self.b, loop.operands
        b.loc = loop.loc
        every, zero, one_round = b.arith("subi", last, first), b.constant(0, I64), b.constant(1, I64)
        long = b.compare("sge", every, b.constant(_SHORTEST, I64))
        past, size = b.arith("andi", much, long), b.constant(_CHUNK, I64)
        body, (index,) = loop.regions[0], loop.regions[0].args
        # chunks end where lines of the first array do, so the first chunk begins before the loop does
        address = self._at(body, streams[0].store.operands[0], index, first)
        behind = b.arith("andi", b.value("llvm.ptrtoint", (address,), I64), b.constant(LINE - 1, I64))
        behind = b.arith("shrui", behind, b.constant(streams[0].size.bit_length() - 1, I64))
        up = b.arith("addi", b.arith("addi", every, behind), b.constant(_CHUNK - 1, I64))
        rounds = b.select(past, b.arith("shrui", up, b.constant(_SHIFT, I64)), one_round)
        start = b.arith("subi", first, behind)
        (chunk,), (number,) = indexed("chunk")
        with b.into(chunk):
            here = b.arith("addi", start, b.arith("muli", number, size))
            begin = b.select(b.compare("sgt", here, first), here, first)
            end = b.arith("addi", here, size)
            end = b.select(b.arith("andi", past, b.compare("slt", end, last)), end, last)
            count = b.arith("subi", end, begin)
            starts = [self._at(body, each.store.operands[0], index, begin) for each in streams]
            places = [b.select(past, each.place, at) for each, at in zip(streams, starts, strict=True)]
            with b.into(Region()) as inner:
                further = b.arith("subi", index, begin)
                for each, place in zip(streams, places, strict=True):
                    value = each.store.operands[1]
                    each.store.operands = (b.at(place, further, value.type), value)
            body.ops[:0] = inner.ops
            b.emit("weft.for", (begin, end, one), (), loop.attrs, (body,))
            with b.into(Region()) as copies:
                for each, at in zip(streams, starts, strict=True):
                    words = b.arith("muli", count, b.constant(each.size // 4, I64))
                    b.emit("weft.stream", (at, each.place, words))
            b.branch(past, copies)
        b.emit("weft.for", (zero, rounds, one_round), (), {"parallel": False}, (chunk,))

    def _at(self, body: Region, address: Value, index: Value, begin: Value) -> Value:
        """The address for another index, where the loop begins."""
        mapping = {index: begin}
        wanted, made = {address}, list[Op]()
        for op in reversed(body.ops):
            if not wanted.isdisjoint(op.results):
                wanted.update(op.operands)
                made.append(op)
        for op in reversed(made):
            self.b.region.ops.append(clone_op(op, mapping))
        return mapping.get(address, address)


def _touched(loops: Iterable[Op]) -> int:
    """How many bytes of memory a round of each of these loops reads and writes, of each array once."""
    sizes = dict[Value | None, int]()
    for loop in loops:
        strides = _strides(loop)
        for op in loop.regions[0].walk():
            if op.name in ("llvm.load", "llvm.store") and _is_global(op.operands[0].type):
                kind, array = (op.results or op.operands[1:])[0].type, _array(op.operands[0])
                stride = min(abs(strides.of(op.operands[0]) or 0), LINE)
                sizes[array] = max(sizes.get(array, 0), kind.bits // 8, stride)
    return sum(sizes.values())


def _strides(loop: Op) -> Strides:
    """By how much what a loop computes grows with each round."""
    (body,) = loop.regions
    inside = {v for op in body.walk() for v in (*op.results, *(a for r in op.regions for a in r.args))}
    return Strides(lambda v: v in body.args, lambda v: v not in inside or integer(v) is not None)


def _is_parallel(op: Op) -> bool:
    return op.name == "weft.for" and op.attrs["parallel"] is True


def _is_pure(op: Op) -> bool:
    return op.spec.pure and not op.regions


def _is_global(kind: object) -> bool:
    return isinstance(kind, PointerType) and kind.space == AddressSpace.GLOBAL


def _array(address: Value) -> Value | None:
    """The argument that an address is made of; None where that is not known."""
    while isinstance(address.owner, Op):
        if address.owner.name not in ("llvm.getelementptr", "llvm.addrspacecast"):
            return None if _is_global(address.type) else address
        address = address.owner.operands[0]
    return address
