"""Stores past the caches, where a launch writes more than they hold: a processor need not read it first.

A store reads the line of memory that it writes a part of, so that ``c[i] = a[i] + b[i]`` moves four arrays.
Whole lines may be written without. In a loop over threads that writes elements one behind the other, which
nothing in it reads, threads write to a line of the stack ``_CHUNK`` elements at a time, and these go to
memory from there, line by line: so LLVM makes vectors of the loop as of any other, and lines are whole
wherever the array begins. In launches that write less all stays as it was, but for a test.

Such stores may come after later ones. Kernels with atomics or fences, by which blocks tell others what they
have written, have none; where a worker ends, it waits for its own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from weft.abi.cpu_limits import large
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Module, Op, Region, Sync, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import I8, I64, AddressSpace, PointerType, pointer
from weft.compiler.passes.indices import Strides
from weft.compiler.passes.launch_record import LaunchRecord
from weft.compiler.passes.thread_context import indexed
from weft.record import record

_SHIFT = 8
_CHUNK = 1 << _SHIFT
"""Elements; with longer ones reading and writing take turns that are too long for memory, measured."""
_LINE = 64
"""Bytes of memory that a processor reads and writes at once."""
_SHORTEST = 64
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
    return "ordering" in op.attrs or (op.spec.sync is not None and op.spec.sync(op) is not Sync.NONE)


class _Streaming:
    """One kernel: its blocks' loop, and what its launch is known by."""

    def __init__(self, f: Function, blocks: Op) -> None:
        self.f = f
        self.blocks = blocks
        self.b = Builder()
        self.b.loc = blocks.loc
        self.head: list[Op] = []
        self.threads: Value | None = None
        self.any: Value | None = None

    def rewrite(self) -> None:
        """Rewrite each loop that writes such elements."""
        self._region(self.blocks.regions[-1])
        if self.any is None:
            return
        at = self.f.body.ops.index(self.blocks)
        self.f.body.ops[at:at] = self.head
        with self.b.into(Region()) as end:
            self.b.emit("weft.streamed")
        at = self.f.body.ops.index(self.blocks) + 1
        with self.b.into(Region()) as behind:
            self.b.branch(self.any, end)
        self.f.body.ops[at:at] = behind.ops

    def _region(self, region: Region) -> None:
        ops, region.ops[:] = region.ops[:], []
        for op in ops:
            found = self._streams(op) if op.name == "weft.for" and op.attrs["parallel"] is True else []
            if found:
                with self.b.into(region):
                    self._emit(op, found)
                continue
            for inner in op.regions:
                self._region(inner)
            region.ops.append(op)

    def _streams(self, loop: Op) -> list[_Stream]:
        """The stores of a loop that may go past the caches."""
        (body,), ends = loop.regions, [integer(v) for v in loop.operands]
        every = [*body.walk()]
        short = ends[0] is not None and ends[1] is not None and ends[1] - ends[0] < _CHUNK
        if ends[2] != 1 or short or not all(op.name in _SIMPLE or _is_pure(op) for op in every):
            return []
        (index,) = body.args
        inside = {v for op in every for v in (*op.results, *(a for r in op.regions for a in r.args))}
        strides = Strides(lambda v: v is index, lambda v: v not in inside or integer(v) is not None)
        touched = [_array(op.operands[0]) for op in every if op.name in ("llvm.load", "llvm.store")]
        if None in touched:
            return []
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
        attrs = {"elem_type": I8, "count": size * _CHUNK, "alignment": _LINE}
        place = Op(SPECS["llvm.alloca"], (), attrs, (), (pointer(AddressSpace.LOCAL),), self.b.loc)
        self.head.append(place)
        cast = Op(SPECS["llvm.addrspacecast"], (place.result,), {}, (), (kind,), self.b.loc)
        self.head.append(cast)
        return cast.result

    def _is_large(self, size: int) -> Value:
        """Whether the launch writes so much, if each thread writes so many bytes."""
        b = self.b
        with b.into(Region()) as head:
            if self.threads is None:
                launch = LaunchRecord(b, self.f.args[-1])
                extents = [*launch.fields("grid"), *launch.fields("block")]
                self.threads = functools.reduce(lambda n, m: b.arith("muli", n, m), extents)
            past = b.compare("sge", self.threads, b.constant(-(-large() // size), I64))
            if self.any is None:
                self.any = past
            else:
                self.any = b.arith("ori", self.any, past)
        self.head += head.ops
        return past

    def _emit(self, loop: Op, streams: list[_Stream]) -> None:
        b, (first, last, one) = self.b, loop.operands
        b.loc = loop.loc
        enough = self._is_large(sum(each.size for each in streams))
        every, zero, one_round = b.arith("subi", last, first), b.constant(0, I64), b.constant(1, I64)
        long = b.compare("sge", every, b.constant(_SHORTEST, I64))
        past, size = b.arith("andi", enough, long), b.constant(_CHUNK, I64)
        body, (index,) = loop.regions[0], loop.regions[0].args
        # chunks end where lines of the first array do, so the first chunk begins before the loop does
        address = self._at(body, streams[0].store.operands[0], index, first)
        behind = b.arith("andi", b.value("llvm.ptrtoint", (address,), I64), b.constant(_LINE - 1, I64))
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
