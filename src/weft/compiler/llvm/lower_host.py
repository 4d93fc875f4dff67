"""Lowering of what a kernel tells its host or asks of it: print, assert, and memory on the CPU.

On a device with memory of its own they write to a console there (``lower_console``). On the CPU
values are stored in 8-byte slots and the runtime is called, which formats with Python.
"""

from __future__ import annotations

from weft.abi.artifact import Site
from weft.abi.console import IDS
from weft.abi.cpu_launch import CALLS
from weft.abi.records import llvm_arguments
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import FloatType
from weft.compiler.llvm.lower_console import console_failed, console_print
from weft.compiler.llvm.lowering import Lowering, LoweringTable
from weft.dtype import DType


def _widened(lw: Lowering, v: Value, dtype: DType) -> tuple[str, str]:
    """A value as an 8-byte one, and its LLVM type."""
    ref = lw.ref(v)
    if isinstance(v.type, FloatType):
        if v.type.bits == 64:
            return ref, "double"
        name = lw.new()
        lw.put(f"{name} = fpext {lw.typed(v)} to double")
        return name, "double"
    if v.type.bits == 64:
        return ref, "i64"
    name = lw.new()
    lw.put(f"{name} = {'sext' if dtype.is_signed else 'zext'} {lw.typed(v)} to i64")
    return name, "i64"


def _dtypes(site: Site) -> list[DType]:
    return [p[0] if isinstance(p, tuple) else p for p in site.pieces if not isinstance(p, str)]


def _declare(lw: Lowering, name: str) -> None:
    lw.declare(name, "void", llvm_arguments(CALLS[name]))


def _host_print(lw: Lowering, op: Op) -> None:
    number = op.int_attr("site")
    state, *values = op.operands
    block = _packed(lw, values, lw.sites[number])
    _declare(lw, "weft$print")
    lw.put(f"call void @weft$print({lw.typed(state)}, i32 {number}, ptr {block})")


def _packed(lw: Lowering, values: list[Value], site: Site) -> str:
    """The values in 8-byte slots; floats keep their own bits in the low end."""
    if not values:
        return "null"
    block = lw.scratch(len(values))
    for n, v in enumerate(values):
        at = lw.new()
        lw.put(f"{at} = getelementptr inbounds i64, ptr {block}, i64 {n}")
        if isinstance(v.type, FloatType):
            lw.put(f"store {lw.typed(v)}, ptr {at}, align 8")
        else:
            ref, _ = _widened(lw, v, _dtypes(site)[n])
            lw.put(f"store i64 {ref}, ptr {at}, align 8")
    return block


def _print(lw: Lowering, op: Op) -> None:
    site = lw.sites[op.int_attr("site")]
    console_print(lw, op, [dtype.is_signed for dtype in _dtypes(site)])


def _failed(lw: Lowering, op: Op) -> None:
    site = lw.sites[op.int_attr("site")]
    console_failed(lw, op, [dtype.is_signed for dtype in _dtypes(site)])


def _host_failed(lw: Lowering, op: Op) -> None:
    state, *rest = op.operands
    ids, values = rest[:IDS], rest[IDS:]
    block = lw.scratch(3)
    for n, v in enumerate(ids):
        at, narrow = lw.new(), lw.new()
        lw.put(f"{narrow} = trunc {lw.typed(v)} to i32")
        lw.put(f"{at} = getelementptr inbounds i32, ptr {block}, i64 {n}")
        lw.put(f"store i32 {narrow}, ptr {at}, align 4")
    half = lw.new()
    lw.put(f"{half} = getelementptr inbounds i32, ptr {block}, i64 3")
    number = op.int_attr("site")
    told = _packed(lw, values, lw.sites[number])
    _declare(lw, "weft$assert")
    where = f"ptr {block}, ptr {half}, ptr {told}"
    lw.put(f"call void @weft$assert({lw.typed(state)}, i32 {number}, {where})")


def _host_parted(lw: Lowering, op: Op) -> None:
    place = lw.string(str(op.attrs["place"]).encode())
    flag = "true" if op.attrs["flag"] else "false"
    _declare(lw, "weft$parted")
    lw.put(f"call void @weft$parted({lw.args(op)}, i1 {flag}, ptr {place})")


def _take_memory(lw: Lowering, op: Op) -> None:
    """Memory from the runtime; its own address stands before the aligned one."""
    kind, alignment = op.type_attr("elem_type"), max(16, op.int_attr("alignment"))
    size, room, taken, behind, number, past, down, at, head = (lw.new() for _ in range(9))
    count = lw.ref(op.operands[0]) if op.operands else str(op.attrs["count"])
    lw.declare("weft$take_memory", "noalias ptr", "i64")
    lw.put(f"{size} = mul i64 {count}, {max(1, kind.bits // 8)}")
    lw.put(f"{room} = add i64 {size}, {8 + alignment}")
    lw.put(f"{taken} = call noalias ptr @weft$take_memory(i64 {room})")
    lw.put(f"{behind} = getelementptr i8, ptr {taken}, i64 {8 + alignment - 1}")
    lw.put(f"{number} = ptrtoint ptr {behind} to i64")
    lw.put(f"{past} = and i64 {number}, {alignment - 1}")
    lw.put(f"{down} = sub i64 0, {past}")
    lw.put(f"{at} = getelementptr i8, ptr {behind}, i64 {down}")
    lw.put(f"{head} = getelementptr i8, ptr {at}, i64 -8")
    lw.put(f"store ptr {taken}, ptr {head}, align 8")
    lw.names[op.result] = at


def _give_memory(lw: Lowering, op: Op) -> None:
    head, taken = lw.new(), lw.new()
    lw.declare("weft$give_memory", "void", "ptr")
    lw.put(f"{head} = getelementptr i8, {lw.typed(op.operands[0])}, i64 -8")
    lw.put(f"{taken} = load ptr, ptr {head}, align 8")
    lw.put(f"call void @weft$give_memory(ptr {taken})")


LOWER: LoweringTable = {
    "weft.print": _print,
    "weft.failed": _failed,
    "weft.host_print": _host_print,
    "weft.host_failed": _host_failed,
    "weft.host_parted": _host_parted,
    "weft.take_memory": _take_memory,
    "weft.give_memory": _give_memory,
}
