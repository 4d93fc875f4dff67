"""Lowering of print and assert where threads write to a console in the device's memory.

The runtime gives the module the console's address, reads it when it waits for the device, and
formats with Python, so that text is the same on all devices. An assertion that fails is noted and
its thread ends; nothing else is lost. ``abi/console.py`` has its form.
"""

from __future__ import annotations

import ctypes
from typing import Any

from weft.abi.console import ASSERTION, IDS, MODULE, WORD, WRITTEN, Connection, Head
from weft.abi.records import Fields
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import AddressSpace, FloatType
from weft.compiler.llvm.constants import scope_text
from weft.compiler.llvm.lower_machine import thread_place
from weft.compiler.llvm.lowering import Lowering

__all__ = ["console_failed", "console_print"]

# {p}: a pointer to global memory; {g}: its address space; {device}: the scope of all threads of the device.
_RUNTIME = """
%weft.console = type {{ {p}, {p}, i64 }}
@weft$console = dso_local{g} externally_initialized global %weft.console zeroinitializer, align 8
define internal i64 @weft.reserve({p} %c, i64 %n) noinline nounwind {{
  %readp = getelementptr i64, {p} %c, i64 {head.read}
  %sizep = getelementptr i64, {p} %c, i64 {head.size}
  %read = load volatile i64, {p} %readp, align 8
  %size = load i64, {p} %sizep, align 8
  %start = load volatile i64, {p} %c, align 8
  br label %try
try:
  %at = phi i64 [ %start, %0 ], [ %seen, %take ]
  %end = add i64 %at, %n
  %used = sub i64 %end, %read
  %fits = icmp ule i64 %used, %size
  br i1 %fits, label %take, label %full
take:
  %pair = cmpxchg {p} %c, i64 %at, i64 %end {device}monotonic monotonic
  %seen = extractvalue {{ i64, i1 }} %pair, 0
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %done, label %try
full:
  %lostp = getelementptr i64, {p} %c, i64 {head.lost}
  %lost = atomicrmw add {p} %lostp, i64 1 {device}monotonic
  ret i64 -1
done:
  ret i64 %at
}}
define internal {p} @weft.word({p} %c, i64 %at) alwaysinline nounwind {{
  %sizep = getelementptr i64, {p} %c, i64 {head.size}
  %size = load i64, {p} %sizep, align 8
  %mask = sub i64 %size, 1
  %wrapped = and i64 %at, %mask
  %n = add i64 %wrapped, {first}
  %p = getelementptr i64, {p} %c, i64 %n
  ret {p} %p
}}
define internal void @weft.commit({p} %c, i64 %at, i64 %what) noinline nounwind {{
  %numberp = getelementptr %weft.console, {p} @weft$console, i64 0, i32 {connection.module}
  %number = load i64, {p} %numberp, align 8
  %high = shl i64 %number, {module}
  %mine = or i64 %what, %high
  %word = or i64 %mine, {written}
  %p = call {p} @weft.word({p} %c, i64 %at)
  store atomic i64 %word, {p} %p {device}release, align 8
  %bellp = getelementptr %weft.console, {p} @weft$console, i64 0, i32 {connection.bell}
  %bell = load {p}, {p} %bellp, align 8
  store volatile i64 1, {p} %bell, align 8
  ret void
}}"""

_FAILED = """
define internal void @weft.failed{count}(i64 %site{parameters}) noinline nounwind {{
  %c = load {p}, {p} @weft$console, align 8
  %flag = getelementptr i64, {p} %c, i64 {head.failed}
  %before = atomicrmw xchg {p} %flag, i64 1 {device}monotonic
  %first = icmp eq i64 %before, 0
  br i1 %first, label %note, label %done
note:
  %at = call i64 @weft.reserve({p} %c, i64 {words})
  %room = icmp sge i64 %at, 0
  br i1 %room, label %write, label %done
write:{stores}
  %what = or i64 %site, {assertion}
  call void @weft.commit({p} %c, i64 %at, i64 %what)
  br label %done
done:
  ret void
}}"""

_STORE = """
  %w{n} = add i64 %at, {m}
  %p{n} = call {p} @weft.word({p} %c, i64 %w{n})
  store i64 %v{n}, {p} %p{n}, align 8"""


_FACTS = {
    "head": Fields(Head),
    "connection": Fields(Connection),
    "first": ctypes.sizeof(Head) // WORD,
    "module": MODULE,
    "written": WRITTEN,
    "assertion": ASSERTION,
}


def _space(lw: Lowering) -> dict[str, Any]:
    """What the texts ask of the target; brings the console's functions into the module."""
    space = AddressSpace.GLOBAL
    device = scope_text(lw.target.sync_scopes.get("device", ""))
    facts = {**_FACTS, "p": lw.spaced("ptr", space), "g": lw.spaced("", space), "device": device}
    lw.declared.setdefault("weft.console", _RUNTIME.format(**facts).strip())
    return facts


def _word(lw: Lowering, v: Value, signed: bool) -> str:
    """A value as a 64-bit word; a float keeps its own bits in the low end."""
    ref, kind = lw.ref(v), v.type
    if isinstance(kind, FloatType):
        bits = lw.new()
        lw.put(f"{bits} = bitcast {lw.typed(v)} to i{kind.bits}")
        if kind.bits == 64:
            return bits
        word = lw.new()
        lw.put(f"{word} = zext i{kind.bits} {bits} to i64")
        return word
    if kind.bits == 64:
        return ref
    word = lw.new()
    lw.put(f"{word} = {'sext' if signed else 'zext'} {lw.typed(v)} to i64")
    return word


def console_print(lw: Lowering, op: Op, signed: list[bool]) -> None:
    """Write a record of the values, if there is room."""
    where = _space(lw)["p"]
    console, at, room = lw.new(), lw.new(), lw.new()
    write, end = lw.new_label("write"), lw.new_label("printed")
    lw.put(f"{console} = load {where}, {where} @weft$console, align 8")
    lw.put(f"{at} = call i64 @weft.reserve({where} {console}, i64 {len(op.operands) + 1})")
    lw.put(f"{room} = icmp sge i64 {at}, 0")
    lw.put(f"br i1 {room}, label %{write}, label %{end}")
    lw.start(write)
    for n, (value, sign) in enumerate(zip(op.operands, signed, strict=True), 1):
        word, index, place = _word(lw, value, sign), lw.new(), lw.new()
        lw.put(f"{index} = add i64 {at}, {n}")
        lw.put(f"{place} = call {where} @weft.word({where} {console}, i64 {index})")
        lw.put(f"store i64 {word}, {where} {place}, align 8")
    lw.put(f"call void @weft.commit({where} {console}, i64 {at}, i64 {op.int_attr('site')})")
    lw.put(f"br label %{end}")
    lw.start(end)


def console_failed(lw: Lowering, op: Op, signed: list[bool]) -> None:
    """Note the first assertion that fails."""
    g = _space(lw)
    values = op.operands
    count = IDS + len(values)
    name = f"weft.failed{len(values)}"
    parameters = "".join(f", i64 %v{n}" for n in range(count))
    stores = "".join(_STORE.format(p=g["p"], n=n, m=n + 1) for n in range(count))
    text = _FAILED.format(**g, count=len(values), parameters=parameters, stores=stores, words=count + 1)
    lw.declared.setdefault(name, text.strip())
    words = thread_place(lw)
    words += [_word(lw, value, sign) for value, sign in zip(values, signed, strict=True)]
    arguments = "".join(f", i64 {word}" for word in words)
    lw.put(f"call void @{name}(i64 {op.int_attr('site')}{arguments})")
