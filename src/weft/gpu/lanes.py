"""How lanes of a warp hand each other values, by target."""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from weft.diagnostics import a_, refuse
from weft.gpu.indices import block_dim, thread_idx
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import (
    WARP,
    group_barrier,
    lane_number,
    note_use,
    shuffled,
    thread_count,
    thread_number,
    threads_are_loops,
    uses_thread,
    warp_number,
)
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.places import integer
from weft.lang.pointer import Pointer
from weft.lang.scalars import Bool, Int, UInt8, UInt16, UInt32, UInt64
from weft.lang.spec import leaves_of, spec_of

LANES = WARP
ALL = 0xFFFFFFFF


class Shuffle(Enum):
    """By what the lane to read from is said; the words are those of PTX."""

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    XOR = "bfly"


def lane_id() -> Int:
    """The thread's number in its warp, from 0 to 31."""
    check("lane_id()", whole=False)
    if threads_are_loops():
        return lane_number()
    return Int(llvm_intrinsic("llvm.nvvm.read.ptx.sreg.laneid", UInt32, effects="none"))


def warp_id() -> Int:
    """The warp's number in its block: threads follow each other by x, then y, then z."""
    check("warp_id()", whole=False)
    if threads_are_loops():
        return warp_number()
    return block_thread() // LANES


def block_thread() -> Int:
    """The thread's number in its block, x counting fastest."""
    if threads_are_loops():
        return thread_number()
    return thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)


def block_threads() -> Int:
    """How many threads a block has."""
    if threads_are_loops():
        return thread_count()
    return block_dim.x * block_dim.y * block_dim.z


def check(name: str, *, whole: bool = True) -> None:
    """The target has warps; and the launch is to have whole ones."""
    target = current_target()
    uses_thread()
    if whole:
        note_use("warps")
    if not threads_are_loops() and not target.supports(Feature.NVVM):
        hint = "let threads hand each other values in shared memory, around a barrier()"
        refuse("unsupported", f"{name} is not known on {target.name}", hint=hint)


def warp_barrier() -> None:
    """All lanes of a warp wait for each other."""
    check("syncwarp()")
    if threads_are_loops():
        group_barrier("warp")
    else:
        llvm_intrinsic("llvm.nvvm.bar.warp.sync", None, UInt32(ALL), effects="block")


def exchanged(how: Shuffle, value: Any, by: NumberLike, width: int) -> Any:
    """What another lane of the group of so many has."""
    check("a shuffle")
    if isinstance(value, (bool, int, float)):
        refuse(
            "lanes",
            f"{value!r} is the same in all lanes",
            hint="give a number that each lane has its own of, such as Float32(x)",
        )
    given = integer(by, "the number of a lane")
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


def chosen(condition: Any, one: Any, other: Any) -> Any:
    """One of two values, of which both are there: number by number."""
    if isinstance(one, Number):
        return condition.select(one, other)
    spec = spec_of(one)
    each = zip(spec.leaves(), leaves_of(one), leaves_of(other), strict=True)
    numbers = [[_of_leaf(leaf, kind) for leaf in pair] for kind, *pair in each]
    return spec.build([leaves_of(condition.select(*pair))[0] for pair in numbers])


def numbers_of(value: Any) -> list[Any]:
    """The numbers that a value is made of."""
    if isinstance(value, Number):
        return [value]
    return [
        _of_leaf(leaf, kind) for leaf, kind in zip(leaves_of(value), spec_of(value).leaves(), strict=True)
    ]


def _leaf(how: Shuffle, leaf: Any, kind: Any, by: Number, width: int) -> Any:
    return leaves_of(_number(how, _of_leaf(leaf, kind), by, width))[0]


def _of_leaf(leaf: Any, kind: Any) -> Any:
    """The number that a leaf is."""
    if kind.pointer or leaf.type is not kind.type:
        refuse("lanes", "a struct with pointers is not shuffled", hint="shuffle its numbers one by one")
    lanes = getattr(leaf.type, "lanes", 1)
    cls = number_class(kind.dtype) if lanes == 1 else number_class(kind.dtype, lanes)
    return cls.of(leaf)


def _number(how: Shuffle, value: Any, by: Number, width: int) -> Any:
    kind = cast("Any", type(value))
    if threads_are_loops():
        known = by.value if value.lanes == 1 else None
        mask = tuple([_source(how, n, known, width) for n in range(LANES)]) if isinstance(known, int) else ()
        return kind.of(shuffled(leaves_of(value)[0], _source(how, lane_id(), Int(by), width), mask))
    if value.lanes > 1:
        words, odd = divmod(value.lanes * value.dtype.bits, 32)
        narrow = value.dtype.bits in (8, 16) and value.dtype.kind != "bool"
        if narrow and not odd:  # several in each word
            packed = value.bitcast(UInt32 if words == 1 else number_class(UInt32.dtype, words))
            return _number(how, packed, by, width).bitcast(kind)
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
    bounds = (LANES - width) << 8 | (0 if how is Shuffle.UP else LANES - 1)
    name = f"llvm.nvvm.shfl.sync.{how.value}.i32"
    return llvm_intrinsic(name, UInt32, UInt32(ALL), value, by, UInt32(bounds), effects="none")


def _source(how: Shuffle, lane: Any, by: Any, width: int) -> Any:
    """The lane that one reads from, as the GPU's instruction has it, which takes 5 bits of ``by``."""
    by, first = by & (LANES - 1), lane & -width
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
