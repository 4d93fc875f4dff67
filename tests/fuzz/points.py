"""Random vectors, small matrices and complex numbers, and the numbers made of them."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.kinds import INT, Kind
from tests.fuzz.scope import Record, Scope

__all__ = ["point", "points", "scalar"]

Expression = Callable[[Kind], str]


def points(s: Scope) -> list[Record]:
    """Types of vectors and complex numbers, which are structs too."""
    made: list[Record] = []
    for _ in range(s.number(0, 2) if s.chance(2) else 0):
        kind, size = s.kind(), s.number(2, 4)
        if kind.is_float and kind.name != "BFloat16" and s.chance(3):
            name, fields = f"Complex{kind.name}", (("re", kind), ("im", kind))
            made.append(Record(name, fields, algebra="complex"))
        else:
            fields = tuple((name, kind) for name in "xyzw"[:size])
            made.append(Record(f"Vector[{kind.name}, {size}]", fields, algebra="vector"))
    return made


def _of(record: Record) -> tuple[Kind, int]:
    kind = record.fields[0][1]
    assert isinstance(kind, Kind)
    return kind, len(record.fields)


def _rest(s: Scope, record: Record, number: Expression, value: Callable[[Record], str]) -> str:
    """A value that needs another; what is a product, apart from sums that it may be a part of."""
    (kind, size), a, c = _of(record), value(record), value(record)
    if record.algebra == "complex":
        forms = ["({a} + {c})", "({a} - {c})", "{a}.conj()", "(-{a})", "({a} + {x})", "({x} - {a})"]
        forms += ["_apart(lambda: {a} * {c})", "_apart(lambda: {x} * {a})"]
        return s.pick(forms).format(a=a, c=c, x=number(kind))
    forms = ["({a} + {c})", "({a} - {c})", "(-{a})", "abs({a})", "({a} + {x})", "({x} - {a})"]
    forms += ["_apart(lambda: {a} * {c})", "_apart(lambda: {x} * {a})", "({a} {d} {x})", "({a} {d} {c})"]
    forms += [f"{{a}}.insert({s.number(0, size - 1)}, {{x}})", "{a}.{swizzle}", "_apart(lambda: {m} @ {a})"]
    forms += [
        "{m}[{i} % {n}]",
        "_apart(lambda: ({m} @ {m2}).row({i} % {n}))",
        "_apart(lambda: ({m} * {x})[{j}])",
    ]
    forms += ["_apart(lambda: cross({a}, {c}))"] * 2 if size == 3 else []
    swizzle = "".join(s.pick("xyzw"[:size]) for _ in range(size))
    m, m2 = _matrix(s, kind, size, number), _matrix(s, kind, size, number)
    return s.pick(forms).format(
        a=a, c=c, x=number(kind), m=m, m2=m2, d=s.pick(["/", "//", "%"] if kind.is_float else ["//", "%"]),
        i=f"({number(INT)} & 3)", j=s.number(0, size - 1), n=size, swizzle=swizzle,
    )  # fmt: skip


def _matrix(s: Scope, kind: Kind, size: int, number: Expression) -> str:
    made = f"Matrix[{kind.name}, {size}, {size}]({', '.join(number(kind) for _ in range(size * size))})"
    return f"transpose({made})" if s.chance(3) else made


def point(s: Scope, record: Record, number: Expression, value: Callable[[Record], str]) -> str:
    """A vector or a complex number; ``number`` and ``value`` make what it is made of."""
    kind, size = _of(record)
    if s.chance(3):
        if record.algebra == "vector" and s.chance(3):
            return f"{record.name}({number(kind)})"
        return record.made([number(kind) for _ in range(size)])
    return _rest(s, record, number, value)


def scalar(s: Scope, kind: Kind, number: Expression, value: Callable[[Record], str]) -> str:
    """A number made of a vector, a matrix or a complex number; empty where there are none of its kind."""
    known = [r for r in s.types if r.algebra and _of(r)[0] is kind]
    if not known:
        return ""
    record = s.pick(known)
    size, a, c = len(record.fields), value(record), value(record)
    if record.algebra == "complex":
        return s.pick(["{a}.re", "{a}.im", "_apart(lambda: {a}.squared_norm())"]).format(a=a)
    forms = ["_apart(lambda: dot({a}, {c}))", "_apart(lambda: {a} @ {c})", "{a}[({i}) & 1]", "trace({m})"]
    forms += ["_apart(lambda: cross({a}, {c}))", "_apart(lambda: determinant({m}))"] if size == 2 else []
    return s.pick(forms).format(a=a, c=c, i=number(INT), m=_matrix(s, kind, size, number))
