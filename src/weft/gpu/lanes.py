"""How lanes of a warp hand each other values, by target."""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from weft.diagnostics import a_, refuse
from weft.gpu.indices import block_dim, thread_idx
from weft.lang.decorators import func
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import (
    group_barrier,
    note_use,
    shuffled,
    thread_count,
    thread_number,
    threads_are_loops,
    uses_thread,
)
from weft.lang.number import Number, NumberLike
from weft.lang.pointer import Pointer
from weft.lang.scalars import Bool, Int, Int32, Int64, UInt8, UInt16, UInt32, UInt64
from weft.lang.spec import leaves_of, spec_of

_LANES = 32
_ALL = 0xFFFFFFFF


class Shuffle(Enum):
    """By what the lane to read from is said; the words are those of PTX."""

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    XOR = "bfly"


def lane_id() -> Int:
    """The thread's number in its warp, from 0 to 31."""
    _check("lane_id()", whole=False)
    if threads_are_loops():
        return thread_number() & (_LANES - 1)
    return Int(llvm_intrinsic("llvm.nvvm.read.ptx.sreg.laneid", UInt32, effects="none"))


def warp_id() -> Int:
    """The warp's number in its block: threads follow each other by x, then y, then z."""
    _check("warp_id()", whole=False)
    if threads_are_loops():
        return thread_number() >> 5
    row = thread_idx.y + block_dim.y * thread_idx.z
    return (thread_idx.x + block_dim.x * row) // _LANES


def block_threads() -> Int:
    """How many threads a block has."""
    if threads_are_loops():
        return thread_count()
    return block_dim.x * block_dim.y * block_dim.z


def _check(name: str, *, whole: bool = True) -> None:
    """The target has warps; and the launch is to have whole ones."""
    target = current_target()
    uses_thread()
    if whole:
        note_use("warps")
    if not threads_are_loops() and not target.supports(Feature.NVVM):
        refuse("unsupported", f"{name} is not known on {target.name}")


def warp_barrier() -> None:
    """All lanes of a warp wait for each other."""
    _check("syncwarp()")
    if threads_are_loops():
        group_barrier("warp")
    else:
        llvm_intrinsic("llvm.nvvm.bar.warp.sync", None, UInt32(_ALL), effects="block")


def told(word: str, predicate: Any) -> Any:
    """A vote: ``any``, ``all``, or the bits of ``ballot``."""
    _check(f"{word}()")
    holds = Bool(predicate)
    if not threads_are_loops():
        kind = UInt32 if word == "ballot" else Bool
        return llvm_intrinsic(f"llvm.nvvm.vote.{word}.sync", kind, UInt32(_ALL), holds, effects="none")
    bits = holds.select(UInt32(1) << lane_id().cast(UInt32), UInt32(0))
    for step in (1, 2, 4, 8, 16):
        bits |= exchanged(Shuffle.XOR, bits, step, _LANES)
    return bits if word == "ballot" else bits != 0 if word == "any" else bits == _ALL


def matched(value: Any) -> Any:
    """One bit for each lane that has the same number."""
    _check("match_any()")
    kind = getattr(value, "dtype", None)
    if not threads_are_loops() and kind is not None and kind.is_integer and kind.bits in (32, 64):
        bits = value.cast(Int32 if kind.bits == 32 else Int64)
        name = f"llvm.nvvm.match.any.sync.i{kind.bits}"
        return llvm_intrinsic(name, UInt32, UInt32(_ALL), bits, effects="none")
    return _matched_one_by_one(value)


@func
def _matched_one_by_one(value: Any) -> UInt32:
    found, bit = UInt32(0), UInt32(1)
    for lane in range(_LANES):
        found |= (exchanged(Shuffle.IDX, value, lane, _LANES) == value).select(bit, UInt32(0))
        bit <<= 1
    return found


def exchanged(how: Shuffle, value: Any, by: NumberLike, width: int) -> Any:
    """What another lane of the group of so many has."""
    _check("a shuffle")
    if isinstance(value, (bool, int, float)):
        refuse(
            "lanes",
            f"{value!r} is the same in all lanes",
            hint="give a number that each lane has its own of, such as Float32(x)",
        )
    given = by if isinstance(by, Number) else Int(by)
    if isinstance(value, Pointer):
        pointer = cast("Pointer[Any]", value)
        address = exchanged(how, Int(pointer), by, width)
        return cast("Any", Pointer.from_address(address, cast("Any", pointer.dtype)))
    if isinstance(value, Number):
        return _number(how, value, given, width)
    spec = spec_of(value)
    leaves = leaves_of(value)
    if not leaves:
        refuse(
            "lanes",
            f"{a_(type(value).__name__)} has nothing that differs from lane to lane",
            hint="shuffle numbers, vectors, structs, or tuples of them",
        )
    each = zip(leaves, spec.leaves(), strict=True)
    return spec.build([_leaf(how, leaf, kind, given, width) for leaf, kind in each])


def _leaf(how: Shuffle, leaf: Any, kind: Any, by: Number, width: int) -> Any:
    from weft.lang.number import number_class

    if kind.pointer or leaf.type is not kind.type:
        refuse("lanes", "a struct with pointers is not shuffled", hint="shuffle its numbers one by one")
    lanes = getattr(leaf.type, "lanes", 1)
    cls = number_class(kind.dtype) if lanes == 1 else number_class(kind.dtype, lanes)
    made = _number(how, cls.of(leaf), by, width)
    return leaves_of(made)[0]


def _number(how: Shuffle, value: Any, by: Number, width: int) -> Any:
    kind = cast("Any", type(value))
    if threads_are_loops():
        known = by.value if value.lanes == 1 and kind is not Bool else None
        mask = tuple([_source(how, n, known, width) for n in range(_LANES)]) if isinstance(known, int) else ()
        return kind.of(shuffled(leaves_of(value)[0], _source(how, lane_id(), Int(by), width), mask))
    if value.lanes > 1:
        lanes = [_number(how, value[n], by, width) for n in range(value.lanes)]
        return kind(*lanes)
    number = by.cast(UInt32)
    bits = value.dtype.bits
    if kind is Bool:
        return _word(how, UInt32(value), number, width) != 0
    if bits == 64:
        whole = value.bitcast(UInt64)
        low, high = (_word(how, part.cast(UInt32), number, width) for part in (whole, whole >> 32))
        return (low.cast(UInt64) | high.cast(UInt64) << 32).bitcast(kind)
    narrow = {8: UInt8, 16: UInt16, 32: UInt32}[bits]
    return _word(how, value.bitcast(narrow).cast(UInt32), number, width).cast(narrow).bitcast(kind)


def _word(how: Shuffle, value: Any, by: Any, width: int) -> Any:
    """32 bits by the GPU's instruction."""
    bounds = (_LANES - width) << 8 | (0 if how is Shuffle.UP else _LANES - 1)
    name = f"llvm.nvvm.shfl.sync.{how.value}.i32"
    return llvm_intrinsic(name, UInt32, UInt32(_ALL), value, by, UInt32(bounds), effects="none")


def _source(how: Shuffle, lane: Any, by: Any, width: int) -> Any:
    """The lane that one reads from, as the GPU's instruction has it, which takes 5 bits of ``by``."""
    by, first = by & (_LANES - 1), lane & -width
    if how is Shuffle.IDX:
        return first | (by & (width - 1))
    if how is Shuffle.UP:
        return _either(lane - by >= first, lane - by, lane)
    other = lane + by if how is Shuffle.DOWN else lane ^ by
    return _either(other <= (first | (width - 1)), other, lane)


def _either(condition: Any, one: Any, other: Any) -> Any:
    if isinstance(condition, bool):
        return one if condition else other
    return condition.select(one, other)
