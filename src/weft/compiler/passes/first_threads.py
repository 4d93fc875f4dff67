"""What the first threads of a block compute, where that follows from their index alone.

A value is a number beside the values that all threads share and that are added to it, which nobody
knows: ``thread_idx.x + n`` is 0, 1, 2, ... beside ``n``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import IntType

_THREADS = 32
"""Of a warp: whoever lets fewer threads than these wait for each other, has not meant threads."""


class _Number(NamedTuple):
    number: int
    beside: frozenset[tuple[Value, int]]
    """What is added, and how often."""


_NONE: frozenset[tuple[Value, int]] = frozenset()


def differs(v: Value, same: Callable[[Value], bool]) -> bool:
    """Whether the first threads along x are certain to have different values."""
    found = [_Thread(n, same).value(v) for n in range(_THREADS)]
    first = found[0]
    return first is not None and any(
        one is not None and one.beside == first.beside and one.number != first.number for one in found
    )


class _Thread:
    """The thread of index x along x, and 0 along y and z."""

    def __init__(self, x: int, same: Callable[[Value], bool]) -> None:
        self.x = x
        self.same = same
        self.known: dict[Value, _Number | None] = {}

    def value(self, v: Value) -> _Number | None:
        if v not in self.known:
            self.known[v] = self.compute(v)
        return self.known[v]

    def compute(self, v: Value) -> _Number | None:
        op = v.owner
        if not isinstance(v.type, IntType):
            return None
        if isinstance(op, Op):
            if op.name == "arith.constant":
                return _Number(_wrapped(int(op.number_attr("value")), v.type.bits), _NONE)
            if op.name == "gpu.thread_id":
                return _Number(self.x if op.attrs["dimension"] == "x" else 0, _NONE)
            if op.name in ("gpu.thread_number", "gpu.lane_id"):
                return _Number(self.x, _NONE)
            operands = [self.value(o) for o in op.operands]
            known = [o for o in operands if o is not None]
            if len(known) == len(operands) and not op.regions:
                found = _applied(op, known)
                if found is not None:
                    return found
        return _Number(0, frozenset({(v, 1)})) if self.same(v) else None


def _wrapped(n: int, bits: int) -> int:
    """A number as a signed one of so many bits; a flag is 0 or 1."""
    n &= (1 << bits) - 1
    return n - (1 << bits) if bits > 1 and n >> bits - 1 else n


def _unsigned(n: int, bits: int) -> int:
    return n & (1 << bits) - 1


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.muli": int.__mul__,
    "arith.andi": int.__and__,
    "arith.ori": int.__or__,
    "arith.xori": int.__xor__,
    "arith.divsi": _quotient,
    "arith.remsi": lambda a, b: a - b * _quotient(a, b),
}
_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.divui": int.__floordiv__,
    "arith.remui": int.__mod__,
}


def _applied(op: Op, values: list[_Number]) -> _Number | None:
    """What an operation gives for these operands."""
    name, bits = op.name, op.results[0].type.bits
    if name in ("arith.addi", "arith.subi"):
        return _sum(values[0], values[1], 1 if name == "arith.addi" else -1, bits)
    if name == "arith.select":
        flag, yes, no = values
        return None if flag.beside else yes if flag.number else no
    if name == "arith.cmpi":
        a, b = values
        if a.beside != b.beside or (a.beside and op.attrs["predicate"] not in ("eq", "ne")):
            return None  # what is added may wrap around
        return _Number(_compared(str(op.attrs["predicate"]), a, b, op.operands[0].type.bits), _NONE)
    if any(value.beside for value in values):
        return None
    numbers = [value.number for value in values]
    if name in ("arith.extsi", "arith.trunci"):
        return _Number(_wrapped(numbers[0], bits), _NONE)
    if name == "arith.extui":
        return _Number(_unsigned(numbers[0], op.operands[0].type.bits), _NONE)
    if name in ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui") and numbers[1] == 0:
        return None
    if name in _BINARY:
        return _Number(_wrapped(_BINARY[name](*numbers), bits), _NONE)
    if name in _UNSIGNED:
        a, b = (_unsigned(n, bits) for n in numbers)
        return _Number(_wrapped(_UNSIGNED[name](a, b), bits), _NONE)
    return None


def _sum(a: _Number, b: _Number, sign: int, bits: int) -> _Number:
    counts = dict(a.beside)
    for value, count in b.beside:
        counts[value] = counts.get(value, 0) + sign * count
    beside = frozenset((value, count) for value, count in counts.items() if count)
    return _Number(_wrapped(a.number + sign * b.number, bits), beside)


def _compared(predicate: str, a: _Number, b: _Number, bits: int) -> int:
    numbers = a.number, b.number
    if predicate[0] == "u":
        numbers = _unsigned(a.number, bits), _unsigned(b.number, bits)
    return int(getattr(operator, predicate[-2:])(*numbers))
