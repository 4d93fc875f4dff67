"""Lowering of what a kernel tells its host or asks of it: print, assert, and memory on the CPU.

On a device with memory of its own they write to a console there, whose address the runtime gives the module
and which it reads when it waits for the device. On the CPU the runtime is called. Either has the values in
words of 8 bytes and formats with Python, so that text is the same on all devices.
"""

from __future__ import annotations

from weft.abi.artifact import FAULTS
from weft.abi.console import ASSERTION, CONSOLE
from weft.abi.cpu_launch import CALLS, TOLD, TOLD_AGAIN
from weft.abi.records import llvm_arguments
from weft.compiler.ir.core import Op
from weft.compiler.ir.types import AddressSpace
from weft.compiler.llvm.lower_machine import thread_place
from weft.compiler.llvm.lowering import Lowering, LoweringTable


def _declare(lw: Lowering, name: str) -> None:
    lw.declare(name, "void", llvm_arguments(CALLS[name]))


def _host_tell(lw: Lowering, op: Op) -> None:
    state, *words = op.operands
    if op.attrs.get("every"):
        given = ", ".join([lw.typed(state), f"i32 {op.attrs['site']}", *map(lw.typed, words)])
        told = _told_once(lw, op.int_attr("site"), len(words))
        lw.put(f"call {lw.target.telling_convention} void @{told}({given})")
        return
    block = lw.scratch(len(words)) if words else "null"
    for n, word in enumerate(words):
        at = lw.new()
        lw.put(f"{at} = getelementptr inbounds i64, ptr {block}, i64 {n}")
        lw.put(f"store {lw.typed(word)}, ptr {at}, align 8")
    _declare(lw, "weft$tell")
    lw.put(f"call void @weft$tell({lw.typed(state)}, i32 {op.attrs['site']}, ptr {block})")


def _told_once(lw: Lowering, site: int, count: int) -> str:
    """The function that counts faults and tells of the first at each site, with so many words."""
    name, words = f"weft.fault.{count}", [f"i64 %word{n}" for n in range(count)]
    _declare(lw, "weft$tell")
    _count_at(lw, site)
    given = ", ".join(["i64 %state", "i32 %site", *words])
    lines = [
        f"define internal {lw.target.telling_convention} void @{name}({given}) cold noinline nounwind {{",
        f"  %count = getelementptr i64, ptr @{FAULTS}, i32 %site",
        "  %before = atomicrmw add ptr %count, i64 1 monotonic, align 8",
        "  %is_first = icmp eq i64 %before, 0",
        "  br i1 %is_first, label %first, label %end",
        "first:",
        f"  %words = alloca [{count} x i64], align 8",
    ]
    for n, word in enumerate(words):
        lines += [
            f"  %at{n} = getelementptr inbounds i64, ptr %words, i64 {n}",
            f"  store {word}, ptr %at{n}",
        ]
    lines += [
        "  call void @weft$tell(i64 %state, i32 %site, ptr %words)",
        "  br label %end",
        "end:",
        "  ret void",
    ]
    lw.declared[name] = "\n".join([*lines, "}"])
    return name


def _count_at(lw: Lowering, site: int) -> str:
    """Where faults at a site are counted."""
    lw.faults = max(lw.faults, site + 1)
    where = lw.spaced("", AddressSpace.GLOBAL)
    form = f"@{FAULTS} = dso_local{where} global [{lw.faults} x i64] zeroinitializer, align 8"
    lw.declared[FAULTS] = form
    return f"ptr{where} getelementptr (i64, ptr{where} @{FAULTS}, i64 {site})"


def _record(lw: Lowering, kind: str, words: list[str]) -> None:
    """Write a record of the console (``abi/console.py``, ``compiler/support.py``)."""
    where = lw.spaced("", AddressSpace.GLOBAL)
    form = f"@{CONSOLE} = dso_local{where} externally_initialized global [3 x i64] zeroinitializer, align 8"
    lw.declared.setdefault(CONSOLE, form)
    arguments = ", ".join([f"ptr{where} @{CONSOLE}", *(f"i64 {word}" for word in words)])
    lw.put(f"call void {lw.supported(f'{kind}.{len(words) - 1}')}({arguments})")


def _print(lw: Lowering, op: Op) -> None:
    _record(lw, "weft.record", [str(op.attrs["site"]), *map(lw.ref, op.operands)])


def _failed(lw: Lowering, op: Op) -> None:
    site = op.int_attr("site")

    def record(kind: str) -> None:
        _record(lw, kind, [str(ASSERTION | site), *thread_place(lw), *map(lw.ref, op.operands)])

    if not op.attrs.get("every"):
        record("weft.failed")
        return
    before, is_first, first, end = lw.new(), lw.new(), lw.new_label("first"), lw.new_label("end")
    lw.put(f"{before} = atomicrmw add {_count_at(lw, site)}, i64 1 monotonic, align 8")
    lw.put(f"{is_first} = icmp eq i64 {before}, 0")
    lw.put(f"br i1 {is_first}, label %{first}, label %{end}")
    lw.start(first)
    record("weft.record")
    lw.jump(end)
    lw.start(end)


def _faults(lw: Lowering, op: Op) -> None:
    where = _count_at(lw, op.int_attr("site"))
    lw.names[op.result] = count = lw.new()
    lw.put(f"{count} = load atomic i64, {where} monotonic, align 8")


def _host_parted(lw: Lowering, op: Op) -> None:
    place = lw.string(str(op.attrs["place"]).encode())
    flag = "true" if op.attrs["flag"] else "false"
    _declare(lw, "weft$parted")
    lw.put(f"call void @weft$parted({lw.args(op)}, i1 {flag}, ptr {place})")


def _host_stuck(lw: Lowering, op: Op) -> None:
    _declare(lw, "weft$stuck")
    place = op.attrs.get("place")
    known = "" if place is None else f", ptr {lw.string(str(place).encode())}"
    lw.put(f"call void @weft$stuck({lw.args(op)}{known})")


def _host_look(lw: Lowering, op: Op) -> None:
    """Let others run; at times (``TOLD``) tell the runtime."""
    name, place = "weft.looks", lw.string(str(op.attrs["place"]).encode())
    _declare(lw, "weft$looks")
    if op.attrs.get("every"):
        lw.put(f"call void @weft$looks({lw.args(op)}, ptr {place})")
        return
    _declare(lw, "weft$rest")
    types = llvm_arguments(CALLS["weft$looks"]).split(", ")
    named = [f"{kind} %{n}" for n, kind in enumerate(types)]
    lines = [
        f"define internal void @{name}({', '.join(named)}) cold noinline nounwind {{",
        "  %less = add i64 %5, -1",
        f"  %few = icmp ult i64 %less, {TOLD - 1}",
        "  %odd = and i64 %5, %less",
        f"  %behind = and i64 %5, {TOLD_AGAIN - 1}",
        "  %twice = icmp eq i64 %odd, 0",
        "  %again = icmp eq i64 %behind, 0",
        "  %either = or i1 %twice, %again",
        "  %tells = select i1 %few, i1 false, i1 %either",
        "  br i1 %tells, label %tell, label %rest",
        "tell:",
        f"  call void @weft$looks({', '.join(named)})",
        "  ret void",
        "rest:",
        "  call void @weft$rest()",
        "  ret void",
    ]
    lw.declared[name] = "\n".join([*lines, "}"])
    lw.put(f"call void @{name}({lw.args(op)}, ptr {place})")


def _take_memory(lw: Lowering, op: Op) -> None:
    kind, size = op.type_attr("elem_type"), lw.new()
    count = lw.ref(op.operands[0]) if op.operands else str(op.attrs["count"])
    lw.put(f"{size} = mul i64 {count}, {max(1, kind.bits // 8)}")
    lw.names[op.result] = lw.take_memory(size, max(16, op.int_attr("alignment")))


def _give_memory(lw: Lowering, op: Op) -> None:
    lw.give_memory(lw.typed(op.operands[0]))


def _rest(lw: Lowering, op: Op) -> None:
    _declare(lw, "weft$rest")
    lw.put("call void @weft$rest()")


def _supported(lw: Lowering, op: Op) -> None:
    lw.calls(op, lw.supported(str(op.attrs["callee"])), lw.args(op))


def _breakpoint(lw: Lowering, op: Op) -> None:
    """``breakpoint()``: a debugger stops here; without one the process ends."""
    lw.declare("llvm.debugtrap", "void", "")
    lw.put("call void @llvm.debugtrap()")


LOWER: LoweringTable = {
    "weft.breakpoint": _breakpoint,
    "weft.rest": _rest,
    "weft.supported": _supported,
    "weft.print": _print,
    "weft.failed": _failed,
    "weft.faults": _faults,
    "weft.host_tell": _host_tell,
    "weft.host_parted": _host_parted,
    "weft.host_stuck": _host_stuck,
    "weft.host_look": _host_look,
    "weft.take_memory": _take_memory,
    "weft.give_memory": _give_memory,
}
