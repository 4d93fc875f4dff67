"""Lowering of what threads know and do: the hardware's in the target's own words."""

from __future__ import annotations

from weft.compiler.ir.core import Op
from weft.compiler.ir.types import AddressSpace, pointer
from weft.compiler.llvm.constants import scope_text
from weft.compiler.llvm.lowering import Lowering, LoweringTable
from weft.targets import Word


def _call(lw: Lowering, word: Word, result: str) -> str:
    lw.declare(word.intrinsic, result, ", ".join("i32" for _ in word.arguments))
    return f"call {result} @{word.intrinsic}({', '.join(f'i32 {a}' for a in word.arguments)})"


def _number(lw: Lowering, name: str) -> str:
    """A number in 64 bits."""
    word, narrow, wide = lw.target.machine[name], lw.new(), lw.new()
    if word.offset is None:
        lw.put(f"{narrow} = {_call(lw, word, f'i{word.bits}')}")
    else:
        base, at, kind = lw.new(), lw.new(), lw.type(pointer(AddressSpace.CONSTANT))
        lw.put(f"{base} = {_call(lw, word, kind)}")
        lw.put(f"{at} = getelementptr inbounds i8, {kind} {base}, i64 {word.offset}")
        lw.put(f"{narrow} = load i{word.bits}, {kind} {at}, align {word.bits // 8}")
    if word.bits == 64:
        return narrow
    lw.put(f"{wide} = zext i{word.bits} {narrow} to i64")
    return wide


def thread_place(lw: Lowering) -> list[str]:
    """Where the thread is: its block's place, and its own in the block."""
    return [_number(lw, f"{what}.{axis}") for what in ("block_id", "thread_id") for axis in "xyz"]


def _index(lw: Lowering, op: Op) -> None:
    lw.names[op.result] = _number(lw, f"{op.name.removeprefix('gpu.')}.{op.attrs['dimension']}")


def _barrier(lw: Lowering, op: Op) -> None:
    word = lw.target.machine["barrier"]
    scope = scope_text(lw.target.sync_scopes.get("block", ""))
    if word.fenced:
        lw.put(f"fence {scope}release")
    lw.put(_call(lw, word, "void"))
    if word.fenced:
        lw.put(f"fence {scope}acquire")


def _exit_thread(lw: Lowering, op: Op) -> None:
    loop = next((loop for loop in reversed(lw.loops) if loop.thread), None)
    if loop is not None:
        lw.jump(loop.latch)
        return
    lw.put(_call(lw, lw.target.machine["exit"], "void"))
    lw.put("unreachable")
    lw.done = True


def _suspend(lw: Lowering, op: Op) -> None:
    place, how, on = lw.string(str(op.attrs["place"]).encode()), lw.new(), lw.new_label("resumed")
    lw.put(f"store ptr {place}, {lw.typed(op.operands[0])}, align 8")
    lw.put(f"{how} = call i8 @llvm.coro.suspend(token none, i1 false)")
    lw.put(f"switch i8 {how}, label %coro.left [i8 0, label %{on} i8 1, label %coro.end]")
    lw.start(on)


def _resume(lw: Lowering, op: Op) -> None:
    name = f"llvm.coro.{'destroy' if op.attrs['ends'] else 'resume'}"
    lw.declare(name, "void", "ptr")
    lw.put(f"call void @{name}({lw.args(op)})")


LOWER: LoweringTable = {
    **dict.fromkeys(("gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim"), _index),
    "gpu.barrier": _barrier,
    "weft.exit_thread": _exit_thread,
    "weft.suspend": _suspend,
    "weft.resume": _resume,
}
