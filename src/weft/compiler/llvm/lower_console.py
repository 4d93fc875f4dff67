"""Lowering of print and assert where threads write to a console in the device's memory.

The runtime gives the module the console's address, reads it when it waits for the device, and
formats with Python, so that text is the same on all devices. An assertion that fails is noted and
ends its thread; nothing else is lost. ``abi/console.py`` has its form.
"""

from __future__ import annotations

import ctypes

from weft.abi.console import ASSERTION, KERNEL, WORD, WRITTEN, Connection, Head
from weft.abi.records import Fields
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import FloatType
from weft.compiler.llvm.lowering import Lowering

__all__ = ["console_assert", "console_print"]

# {g}: the address space of global memory.
_RUNTIME = """
%weft.console = type {{ ptr addrspace({g}), ptr addrspace({g}), i64 }}
@weft$console = dso_local addrspace({g}) externally_initialized global %weft.console zeroinitializer, align 8
define internal i64 @weft.reserve(ptr addrspace({g}) %c, i64 %n) noinline nounwind {{
  %readp = getelementptr i64, ptr addrspace({g}) %c, i64 {head.read}
  %sizep = getelementptr i64, ptr addrspace({g}) %c, i64 {head.size}
  %read = load volatile i64, ptr addrspace({g}) %readp, align 8
  %size = load i64, ptr addrspace({g}) %sizep, align 8
  %start = load volatile i64, ptr addrspace({g}) %c, align 8
  br label %try
try:
  %at = phi i64 [ %start, %0 ], [ %seen, %take ]
  %end = add i64 %at, %n
  %used = sub i64 %end, %read
  %fits = icmp ule i64 %used, %size
  br i1 %fits, label %take, label %full
take:
  %pair = cmpxchg ptr addrspace({g}) %c, i64 %at, i64 %end syncscope("device") monotonic monotonic
  %seen = extractvalue {{ i64, i1 }} %pair, 0
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %done, label %try
full:
  %lostp = getelementptr i64, ptr addrspace({g}) %c, i64 {head.lost}
  %lost = atomicrmw add ptr addrspace({g}) %lostp, i64 1 syncscope("device") monotonic
  ret i64 -1
done:
  ret i64 %at
}}
define internal ptr addrspace({g}) @weft.word(ptr addrspace({g}) %c, i64 %at) alwaysinline nounwind {{
  %sizep = getelementptr i64, ptr addrspace({g}) %c, i64 {head.size}
  %size = load i64, ptr addrspace({g}) %sizep, align 8
  %mask = sub i64 %size, 1
  %wrapped = and i64 %at, %mask
  %n = add i64 %wrapped, {first}
  %p = getelementptr i64, ptr addrspace({g}) %c, i64 %n
  ret ptr addrspace({g}) %p
}}
define internal void @weft.commit(ptr addrspace({g}) %c, i64 %at, i64 %what) noinline nounwind {{
  %numberp = getelementptr %weft.console, ptr addrspace({g}) @weft$console, i64 0, i32 {connection.kernel}
  %number = load i64, ptr addrspace({g}) %numberp, align 8
  %high = shl i64 %number, {kernel}
  %mine = or i64 %what, %high
  %word = or i64 %mine, {written}
  %p = call ptr addrspace({g}) @weft.word(ptr addrspace({g}) %c, i64 %at)
  store atomic i64 %word, ptr addrspace({g}) %p syncscope("device") release, align 8
  %bellp = getelementptr %weft.console, ptr addrspace({g}) @weft$console, i64 0, i32 {connection.bell}
  %bell = load ptr addrspace({g}), ptr addrspace({g}) %bellp, align 8
  store volatile i64 1, ptr addrspace({g}) %bell, align 8
  ret void
}}"""

_FAILED = """
define internal void @weft.failed{count}(i64 %site{parameters}) noinline nounwind {{
  %c = load ptr addrspace({g}), ptr addrspace({g}) @weft$console, align 8
  %flag = getelementptr i64, ptr addrspace({g}) %c, i64 {head.failed}
  %before = atomicrmw xchg ptr addrspace({g}) %flag, i64 1 syncscope("device") monotonic
  %first = icmp eq i64 %before, 0
  br i1 %first, label %note, label %done
note:
  %at = call i64 @weft.reserve(ptr addrspace({g}) %c, i64 {words})
  %room = icmp sge i64 %at, 0
  br i1 %room, label %write, label %done
write:{stores}
  %what = or i64 %site, {assertion}
  call void @weft.commit(ptr addrspace({g}) %c, i64 %at, i64 %what)
  br label %done
done:
  ret void
}}"""

_STORE = """
  %w{n} = add i64 %at, {m}
  %p{n} = call ptr addrspace({g}) @weft.word(ptr addrspace({g}) %c, i64 %w{n})
  store i64 %v{n}, ptr addrspace({g}) %p{n}, align 8"""


_FACTS = {
    "head": Fields(Head),
    "connection": Fields(Connection),
    "first": ctypes.sizeof(Head) // WORD,
    "kernel": KERNEL,
    "written": WRITTEN,
    "assertion": ASSERTION,
}


def _space(lw: Lowering) -> str:
    """The number of global memory's address space; brings the console's functions into the module."""
    g = str(lw.target.space(1))
    lw.declared.setdefault("weft.console", _RUNTIME.format(g=g, **_FACTS).strip())
    return g


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
    g = _space(lw)
    console, at, room = lw.new(), lw.new(), lw.new()
    write, end = lw.new_label("write"), lw.new_label("printed")
    where = f"ptr addrspace({g})"
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


def console_assert(lw: Lowering, op: Op, signed: list[bool]) -> None:
    """Note the first assertion that fails; end the threads whose assertion does."""
    g = _space(lw)
    ids = lw.target.thread_ids
    values = op.operands[1:]
    count = len(ids) + len(values)
    name = f"weft.failed{len(values)}"
    parameters = "".join(f", i64 %v{n}" for n in range(count))
    stores = "".join(_STORE.format(g=g, n=n, m=n + 1) for n in range(count))
    text = _FAILED.format(
        g=g, **_FACTS, count=len(values), parameters=parameters, stores=stores, words=count + 1
    )
    lw.declared.setdefault(name, text.strip())
    fails, end = lw.new_label("fails"), lw.new_label("holds")
    lw.put(f"br i1 {lw.ref(op.operands[0])}, label %{end}, label %{fails}")
    lw.start(fails)
    arguments = f"i64 {op.int_attr('site')}"
    for intrinsic in ids:
        lw.declare(intrinsic, "i32", "")
        index, word = lw.new(), lw.new()
        lw.put(f"{index} = call i32 @{intrinsic}()")
        lw.put(f"{word} = zext i32 {index} to i64")
        arguments += f", i64 {word}"
    for value, sign in zip(values, signed, strict=True):
        arguments += f", i64 {_word(lw, value, sign)}"
    lw.put(f"call void @{name}({arguments})")
    lw.declare(lw.target.thread_end, "void", "")
    lw.put(f"call void @{lw.target.thread_end}()")
    lw.put("unreachable")
    lw.start(end)
