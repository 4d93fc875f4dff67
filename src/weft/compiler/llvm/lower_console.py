"""Lowering of print and assert where threads write to a console in the device's memory.

The runtime gives the module the console's address, reads it when it waits for the device, and
formats with Python, so that text is the same on all devices. An assertion that fails is noted and
its thread ends; nothing else is lost. ``abi/console.py`` has its form.
"""

from __future__ import annotations

from weft.abi.console import ASSERTION, CONSOLE
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import AddressSpace, FloatType
from weft.compiler.llvm.lower_machine import thread_place
from weft.compiler.llvm.lowering import Lowering


def _record(lw: Lowering, kind: str, what: int, words: list[str]) -> None:
    """Write a record (``compiler/support.py``)."""
    where = lw.spaced("", AddressSpace.GLOBAL)
    form = f"@{CONSOLE} = dso_local{where} externally_initialized global [3 x i64] zeroinitializer, align 8"
    lw.declared.setdefault(CONSOLE, form)
    arguments = ", ".join([f"ptr{where} @{CONSOLE}", *(f"i64 {word}" for word in [str(what), *words])])
    lw.put(f"call void {lw.supported(f'{kind}.{len(words)}')}({arguments})")


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
    """Write a record of the values."""
    words = [_word(lw, value, sign) for value, sign in zip(op.operands, signed, strict=True)]
    _record(lw, "weft.record", op.int_attr("site"), words)


def console_failed(lw: Lowering, op: Op, signed: list[bool]) -> None:
    """Note the first assertion that fails."""
    words = thread_place(lw) + [_word(lw, v, sign) for v, sign in zip(op.operands, signed, strict=True)]
    _record(lw, "weft.failed", ASSERTION | op.int_attr("site"), words)
