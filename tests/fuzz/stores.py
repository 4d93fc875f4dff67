"""Random statements that write to memory, or make some."""

from __future__ import annotations

from tests.fuzz.expressions import expression, index, operand, vector
from tests.fuzz.expressions import record as made
from tests.fuzz.forms import STORES, form
from tests.fuzz.kinds import BOOL, KINDS, Kind
from tests.fuzz.scope import Memory, Record, Scope

__all__ = ["atomic", "hold", "local", "pointer", "store"]


def store(s: Scope, indent: str) -> list[str]:
    found = [m for m in s.memories if m.writable]
    if not found:
        return []
    wide = [m for m in found if m.loads and m.size >= 8]
    m = s.pick(wide if wide and s.chance(3) else found)
    place = m.form.format(index(s, m.size))
    if m.loads and m.size >= 8 and s.chance(2):
        return _strewn(s, m.kind, indent)
    if m.loads and s.chance(4):
        lanes = s.pick([n for n in (2, 4, 8) if n <= m.size])
        return [
            f"{indent}{m.loads}.store({index(s, m.size // lanes)} * {lanes}, {vector(s, m.kind, lanes, 1)})"
        ]
    if m.kind is not BOOL and s.chance(3):
        return [f"{indent}{place} += {expression(s, m.kind, literals=True)}"]
    return [f"{indent}{place} = {expression(s, m.kind, literals=True)}"]


def _strewn(s: Scope, kind: Kind, indent: str) -> list[str]:
    """Lanes stored here and there, or some of them."""
    found = form(s, STORES, kind, operand(s, 1), s.pick([2, 4]))
    return [indent + found] if found else []


def hold(s: Scope, at: str, record: Record, size: int, writable: bool) -> None:
    """Make known that structs lie in memory, and their parts."""
    s.holders.append((at, record, size, writable))
    for where, kind in record.parts(at):
        if isinstance(kind, Kind):
            s.memories.append(Memory(where, kind, size, writable))
        elif not kind.lanes:
            inner = where.format(index(s, size, 0)).replace("{", "{{").replace("}", "}}")
            s.memories.append(Memory(f"{inner}[{{0}}]", kind.kind, kind.count, writable))


def _structs(s: Scope, record: Record, indent: str) -> list[str]:
    """Structs in memory of the thread."""
    name, size, i = s.fresh("m"), s.pick([2, 4]), s.fresh("i")
    shape = s.pick([str(size), f"Layout.row_major({size})"])
    lines = [f"{indent}{name} = stack_allocation({record.name}, {shape})"]
    lines += [f"{indent}for {i} in range({size}):", f"{indent}    {name}[{i}] = {made(s, record, 2)}"]
    hold(s, f"{name}[{{0}}]", record, size, True)
    return lines


def local(s: Scope, indent: str) -> list[str]:
    """Memory of the thread: a tensor of one or two modes, or a pointer; filled at once."""
    kinds = [r for r in s.types if r.form == "struct"]
    if kinds and s.chance(3):
        return _structs(s, s.pick(kinds), indent)
    kind, name, size = s.kind(), s.fresh("m"), s.pick([2, 4, 8, 8])
    form, fill = s.number(0, 2), expression(s, kind, 1, literals=True)
    if form == 0:
        s.memories.append(Memory(f"{name}[{{0}}]", kind, size, True, f"{name}.ptr"))
        s.tensors.append((name, kind, [size]))
        shape = f"Layout.row_major({size})"
        return [f"{indent}{name} = stack_allocation({kind.name}, {shape})", f"{indent}{name}.fill({fill})"]
    if form == 1:
        made = s.pick(["row_major", "col_major"])
        at = index(s, size)
        s.memories.append(Memory(f"{name}[{{0}}, {s.number(0, 3)}]", kind, size, True))
        s.memories.append(Memory(f"{name}[{at if at.isdigit() else 0}, {{0}}]", kind, 4, True))
        shape = f"Layout.{made}({size}, 4)"
        s.tensors.append((name, kind, [size, 4]))
        return [f"{indent}{name} = stack_allocation({kind.name}, {shape})", f"{indent}{name}.fill({fill})"]
    counter = s.fresh("i")
    lines = [
        f"{indent}{name} = stack_allocation({kind.name}, {size})",
        f"{indent}for {counter} in range({size}):",
    ]
    lines.append(f"{indent}    {name}[{counter}] = {fill}")
    s.memories.append(Memory(f"{name}[{{0}}]", kind, size, True, name))
    return [*lines, *(_strewn(s, kind, indent) if size == 8 and s.chance(2) else [])]


def pointer(s: Scope, indent: str) -> list[str]:
    """A pointer into memory that is there."""
    found = [m for m in s.memories if m.loads and m.size >= 16]
    if not found:
        return store(s, indent)
    m, name = s.pick(found), s.fresh("p")
    half = m.size // 2
    line = f"{indent}{name} = {m.loads} + {index(s, half)}"
    s.memories.append(Memory(f"{name}[{{0}}]", m.kind, half, False, name))
    return [line]


def atomic(s: Scope, indent: str) -> list[str]:
    if not s.counters:
        return []
    at, kind, how = s.pick(s.counters)
    value = expression(s, kind, 1, literals=True)
    if kind.is_float:  # small whole numbers, whose sum is exact
        value = f"{kind.name}({expression(s, KINDS['Int32'], 1)} & 15)"
    scope = ', scope="block"' if at.startswith("count") else ""
    if kind.is_integer and s.chance(3):
        return _exchanged(s, indent, f"{at} + {index(s, 4)}", f"{kind.name}({value})", how, scope)
    return [f"{indent}Atomic.fetch_{how}({at} + {index(s, 4)}, {value}{scope})"]


_JOINED = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}


def _exchanged(s: Scope, indent: str, at: str, value: str, how: str, scope: str) -> list[str]:
    """The same operation by compare and swap, again until no other thread has come between."""
    place, x, old, done = (s.fresh(stem) for stem in "pvvf")
    new = f"{old} {_JOINED[how]} {x}" if how in _JOINED else f"math.{how}({old}, {x})"
    return [
        f"{indent}{place}, {x} = {at}, {value}",
        f"{indent}{old} = {s.pick([f'Atomic.load({place})', x])}",
        f"{indent}while True:",
        f"{indent}    {old}, {done} = Atomic.compare_exchange({place}, {old}, {new}{scope})",
        f"{indent}    if {done}:",
        f"{indent}        break",
    ]
