"""Floats of 8 bits, which memory holds and conversions alone take."""

from __future__ import annotations

from tests.fuzz.expressions import expression, index, vector
from tests.fuzz.kinds import FLOATS, STORED, Kind
from tests.fuzz.leaves import real
from tests.fuzz.program import Argument
from tests.fuzz.scope import Memory, Scope
from tests.fuzz.values import numbers

__all__ = ["eighths", "kept"]


def eighths(s: Scope, arguments: list[Argument], count: int) -> tuple[list[str], list[tuple[str, Kind]]]:
    """An array that is read by way of other formats, and what each thread may write of one or two more."""
    lines: list[str] = []
    if not s.chance(3):
        return lines, []
    kind = s.pick(STORED)
    arguments.append(Argument("q8", "pointer", kind.name, numbers(s, kind, 32)))
    for target in (s.kind(), s.pick(FLOATS)):
        s.memories.append(Memory(f"{target.name}(q8[{{0}}])", target, 32))
    lanes, name, of = s.pick([2, 4, 8]), s.fresh("u"), s.pick(FLOATS)
    lines.append(f"    {name} = q8.load((row & 3) * {lanes}, width={lanes}).cast({of.name})")
    s.vectors.append((name, of, lanes))
    written = [(f"oq{n}", s.pick(STORED)) for n in range(s.number(1, 2))]
    for name, kind in written:
        arguments.append(Argument(name, "pointer", kind.name, numbers(s, kind, count * 4)))
    return lines, written


def kept(s: Scope, written: list[tuple[str, Kind]]) -> list[str]:
    """Numbers and vectors rounded to them, and elements of one as those of another."""
    lines: list[str] = []
    for name, kind in written:
        value = s.pick(
            [
                f"{kind.name}({expression(s, s.kind(), 2)})",
                f"({expression(s, s.kind(), 2)}).cast({kind.name})",
                f"({expression(s, s.kind(), 2)}).saturating_cast({kind.name})",
                f"_{kind.name}({real(s, kind.largest)})",
                f"q8[{index(s, 32)}].cast({kind.name})",
                f"{kind.name}(q8[{index(s, 32)}])",
            ]
        )
        lines.append(f"    {name}[row * 4 + {s.number(0, 1)}] = {value}")
        many = f"{vector(s, s.kind(), 2, 2)}.{s.pick(['cast', 'saturating_cast'])}({kind.name})"
        lines.append(f"    {name}.store(row * 4 + 2, {many})")
    return lines
