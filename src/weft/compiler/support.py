"""What a module needs beside its own code, written in weft: the console's ring of records, 16-bit floats.

Lowering names such a function, and what it asks for is elaborated once for each target. The console has its
form from ``abi/console.py``; conversions have the names of C's runtime library, by which LLVM calls them
where a processor has no instruction for them: a JIT has no such library, and an object should not need it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from weft.abi.console import MODULE, WORD, WRITTEN, Connection, Head
from weft.abi.cpu_launch import LaunchBlock
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.llvm.lower import LOWER
from weft.compiler.llvm.lowering import Lowering
from weft.dtype import DType
from weft.lang.atomics import atomic_load, atomic_rmw, atomic_store, compare_exchange
from weft.lang.comptime import Comptime
from weft.lang.decorators import Func, func
from weft.lang.elaboration import current
from weft.lang.narrow import narrowed
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import BFloat16, Float16, Float32, Float64, Int, UInt16, UInt32, UInt64
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, StaticSpec
from weft.targets import Target

_TAKEN, _READ, _SIZE, _LOST, _FAILED = (
    getattr(Head, name).offset // WORD for name in ("taken", "read", "size", "lost", "failed")
)
_CONSOLE, _BELL, _MODULE = (
    getattr(Connection, name).offset // WORD for name in ("console", "bell", "module")
)
_RECORDS = Head.none.offset // WORD + 3


def _words(connection: Pointer[UInt64], field: int) -> Pointer[UInt64]:
    """The words that a field of the module's ``Connection`` points to."""
    return Pointer.from_address(connection[field], UInt64)


def _changed(op: str, word: Pointer[UInt64]) -> UInt64:
    return atomic_rmw(op, op, word, 1, "relaxed", "device")


@func
def record(connection: Pointer[UInt64], what: UInt64, words: Any, *, failure: Comptime[bool]) -> None:
    """Write a record of these words, if there is room; of assertions that fail, the first."""
    console, count = _words(connection, _CONSOLE), UInt64(1 + len(words))
    if failure:
        if _changed("xchg", console + _FAILED) != 0:
            return
    read, size = console.load(_READ, volatile=True), console[_SIZE]
    at = console.load(_TAKEN, volatile=True)
    while True:
        if at + count - read > size:
            _changed("add", console + _LOST)
            return
        seen, won = compare_exchange(console + _TAKEN, at, at + count, "relaxed", "device")
        if won:
            break
        at = seen
    records = console + _RECORDS
    for n, word in enumerate(words, 1):
        records[(at + n) & (size - 1)] = word
    whose = what | (connection[_MODULE] << MODULE) | WRITTEN
    atomic_store(records + (at & (size - 1)), whose, "release", "device")
    _words(connection, _BELL).store(0, 1, volatile=True)


_NEXT, _LED, _PIECE, _INSIDE, _OPENED = (
    getattr(LaunchBlock, name).offset // WORD for name in ("next", "led", "piece", "inside", "opened")
)
_ENDED = -1


@func
def lead(launch: Pointer[Int], _: Int) -> Int:
    """Whether this worker is the first that comes to a launch whose blocks wait for each other."""
    return Int(atomic_rmw("exchange", "xchg", launch + _LED, 1, "acq_rel", "device") == 0)


@func
def open_piece(launch: Pointer[Int], piece: Int) -> Int:
    """Let others help with a piece; each opening has its own number, and the piece's in the last 16 bits."""
    launch[_NEXT] = 0
    launch[_OPENED] += 1
    atomic_store(launch + _PIECE, launch[_OPENED] << 16 | piece, "seq_cst", "device")
    return Int(0)


@func
def close_piece(launch: Pointer[Int], _: Int) -> Int:
    """Let nobody in, and wait until all who are inside are done."""
    atomic_store(launch + _PIECE, 0, "seq_cst", "device")
    while atomic_load(launch + _INSIDE, "seq_cst", "device") != 0:
        current().emit("weft.rest")
    return Int(0)


@func
def end(launch: Pointer[Int], _: Int) -> Int:
    """Let those go who help."""
    atomic_store(launch + _PIECE, _ENDED, "seq_cst", "device")
    return Int(0)


@func
def enter(launch: Pointer[Int], last: Int) -> Int:
    """Wait for another piece than the last, and go inside; its number, or -1 when there is none any more."""
    while True:
        piece = atomic_load(launch + _PIECE, "seq_cst", "device")
        if piece == _ENDED:
            return Int(_ENDED)
        if piece != 0 and piece != last:
            atomic_rmw("add", "add", launch + _INSIDE, 1, "seq_cst", "device")
            if atomic_load(launch + _PIECE, "seq_cst", "device") == piece:
                return piece
            atomic_rmw("add", "add", launch + _INSIDE, -1, "seq_cst", "device")
        current().emit("weft.rest")


@func
def leave(launch: Pointer[Int], _: Int) -> Int:
    """Be done with a piece."""
    atomic_rmw("add", "add", launch + _INSIDE, -1, "seq_cst", "device")
    return Int(0)


@func
def to_half(x: Any) -> Float16:
    """A Float32 or Float64 rounded."""
    return narrowed(Float64(x), DType.float16).bitcast(Float16)


@func
def to_bfloat(x: Any) -> BFloat16:
    """A Float32 or Float64 rounded."""
    return narrowed(Float64(x), DType.bfloat16).bitcast(BFloat16)


@func
def from_half(x: Float16) -> Float32:
    """The same number."""
    bits = UInt32(x.bitcast(UInt16))
    size = bits & 0x7FFF
    wide = size << 13
    number = (wide.bitcast(Float32) * 2.0**112).bitcast(UInt32)
    found = (size >= 0x7C00).select(wide | 0x7F800000, number)
    return (found | (bits & 0x8000) << 16).bitcast(Float32)


@func
def rounded(x: Any) -> Any:
    """Lanes of Float32 as BFloat16; the processor's own instruction may know no subnormal numbers."""
    bits = x.bitcast(UInt32)
    high = bits >> 16
    near = (bits + 0x7FFF + (high & 1)) >> 16
    return (x != x).select(high | 0x40, near).cast(UInt16).bitcast(BFloat16)


_INLINE = "internal", "alwaysinline"
_APART = "internal", "noinline"
_LIBRARY = "weak_odr hidden", ""
_CONNECTION = PointerSpec(DType.uint64, AddressSpace.GLOBAL)
_LAUNCH, _INT = PointerSpec(DType.int64, AddressSpace.GENERIC), NumberSpec(DType.int64)
_UINT, _F16, _F32, _F64 = (NumberSpec(d) for d in (DType.uint64, DType.float16, DType.float32, DType.float64))
_KNOWN: dict[str, tuple[Func[..., Any], tuple[Spec, ...], tuple[str, str]]] = {
    "__truncsfhf2": (to_half, (_F32,), _LIBRARY),
    "__truncdfhf2": (to_half, (_F64,), _LIBRARY),
    "__truncsfbf2": (to_bfloat, (_F32,), _LIBRARY),
    "__truncdfbf2": (to_bfloat, (_F64,), _LIBRARY),
    "__extendhfsf2": (from_half, (_F16,), _LIBRARY),
    "weft.lead": (lead, (_LAUNCH, _INT), _APART),
    "weft.open": (open_piece, (_LAUNCH, _INT), _APART),
    "weft.close": (close_piece, (_LAUNCH, _INT), _APART),
    "weft.end": (end, (_LAUNCH, _INT), _APART),
    "weft.enter": (enter, (_LAUNCH, _INT), _APART),
    "weft.leave": (leave, (_LAUNCH, _INT), _APART),
}


def _counted(name: str, count: str) -> tuple[Func[..., Any], tuple[Spec, ...], tuple[str, str]]:
    """``weft.rounded.4`` for so many lanes; a record of so many words."""
    many = int(count)
    if name == "weft.rounded":
        return rounded, (NumberSpec(DType.float32, many),), _INLINE
    return record, (_CONNECTION, _UINT, PartsSpec((_UINT,) * many), StaticSpec(name == "weft.failed")), _APART


@functools.cache
def support(name: str, target: Target) -> Mapping[str, str]:
    """The text of a function, and of what it declares, each by its name."""
    function, specs, (linkage, attribute) = _KNOWN.get(name) or _counted(*name.rsplit(".", 1))
    module = Elaborator(target).function(function.definition, specs)
    lw = Lowering(LOWER, module, target, debug=False)
    lw.support = support
    text = lw.function(module.functions[-1], f"define {linkage}", name, attribute)
    assert len(module.functions) == 1
    return {**lw.declared, name: text}
