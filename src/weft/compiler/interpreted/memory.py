"""Memory and atomics in Python: the address space is arrays over all of it, one for each type."""

from __future__ import annotations

from weft.compiler.interpreted.expressions import cut, kind_of, stride, unsigned
from weft.compiler.ir.core import Op
from weft.compiler.ir.types import I1, Type

_WIDTH = {"i8": 0, "i16": 1, "i32": 2, "i64": 3, "ptr": 3, "f16": 1, "f32": 2, "f64": 3}
FIRST = 1 << 12
"""The address where the arrays of floats begin: NumPy has none at 0."""


def _cell(kind: str, address: str) -> str:
    shift = _WIDTH[kind]
    if kind[0] == "f":
        return f"__mem_{kind}[({address} >> {shift}) - {FIRST >> shift}]"
    return f"__mem_{kind}[{address} >> {shift}]" if shift else f"__mem_{kind}[{address}]"


def loaded(t: Type, address: str, alignment: int) -> str:
    """What is read from memory."""
    if t.lanes > 1:
        if t.scalar is I1:
            return f"__load('i1', {address}, {t.lanes})"
        size = stride(t.scalar)
        each = [loaded(t.scalar, f"({address} + {n * size})", alignment) for n in range(t.lanes)]
        return f"({', '.join(each)},)"
    kind = kind_of(t)
    if t is I1:
        return f"(__mem_i8[{address}] & 1 != 0)"
    if alignment < stride(t):
        return f"__load({kind!r}, {address})"
    if kind == "bf16":
        return f"__from_bits_bf16({_cell('i16', address)})"
    return _cell(kind, address)


def stored(t: Type, address: str, value: str, alignment: int) -> list[str]:
    """Statements that write to memory; the address and the value are names."""
    if t.lanes > 1:
        if t.scalar is I1:
            return [f"__store('i1', {address}, {value}, {t.lanes})"]
        size = stride(t.scalar)
        return [
            line
            for n in range(t.lanes)
            for line in stored(t.scalar, f"({address} + {n * size})", f"{value}[{n}]", alignment)
        ]
    kind = kind_of(t)
    if t is I1:
        return [f"__mem_i8[{address}] = {value}"]
    if alignment < stride(t):
        return [f"__store({kind!r}, {address}, {value})"]
    if kind == "bf16":
        return [f"{_cell('i16', address)} = __bits_of_bf16({value})"]
    return [f"{_cell(kind, address)} = {value}"]


_UPDATES = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "fadd": "+"}
_CHOICES = {"min": ("<", False), "max": (">", False), "umin": ("<", True), "umax": (">", True)}


def updated(op: Op, address: str, value: str, found: str) -> list[str]:
    """An atomic update; ``found`` is the name for what was there before."""
    t, how = op.operands[1].type, str(op.attrs["bin_op"])
    if how == "xchg":
        new = value
    elif how in _UPDATES:
        new = f"{found} {_UPDATES[how]} {value}"
        new = cut(new, t) if how in ("add", "sub") else f"__bf16({new})" if kind_of(t) == "bf16" else new
    elif how in _CHOICES:
        sign, plain = _CHOICES[how]
        a, b = (unsigned(x, t.bits) if plain else x for x in (value, found))
        new = f"{value} if {a} {sign} {b} else {found}"
    else:
        new = f"__{'minnum' if how == 'fmin' else 'maxnum'}({found}, {value})"
    align = t.bits // 8
    return [f"{found} = {loaded(t, address, align)}", *stored(t, address, f"({new})", align)]


def exchanged(op: Op, address: str, expected: str, value: str, found: str, done: str) -> list[str]:
    """A compare and exchange; ``found`` and ``done`` are the names of its results."""
    t = op.operands[2].type
    align = t.bits // 8
    put = stored(t, address, value, align)
    return [f"{found} = {loaded(t, address, align)}", f"{done} = {found} == {expected}", f"if {done}:"] + [
        f"    {line}" for line in put
    ]
