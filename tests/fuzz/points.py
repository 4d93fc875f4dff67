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
    for _ in range(s.number(1, 2) if s.chance(2) else 0):
        kind, size = s.kind(), s.number(2, 4)
        if s.chance(4):
            rows, columns = s.number(1, 3), s.number(2, 3)
            fields = tuple((f"m{i}{j}", kind) for i in range(rows) for j in range(columns))
            made.append(Record(f"Matrix[{kind.name}, {rows}, {columns}]", fields, algebra="matrix"))
        elif kind.is_float and s.chance(2):
            fields = tuple((name, kind) for name in "xyzw")
            made.append(Record(f"Quaternion[{kind.name}]", fields, algebra="quaternion"))
        elif kind.is_float and kind.name != "BFloat16" and s.chance(3):
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


def _shape(record: Record) -> tuple[int, int]:
    """Of a matrix, which its last field tells."""
    last = record.fields[-1][0]
    return int(last[1]) + 1, int(last[2]) + 1


def _grid(s: Scope, kind: Kind, rows: int, columns: int, number: Expression) -> str:
    made = f"Matrix[{kind.name}, {rows}, {columns}]"
    if s.chance(3):
        made, count, size = s.pick(
            [(f"{made}.from_rows", rows, columns), (f"{made}.from_columns", columns, rows)]
        )
        parts = [
            f"Vector[{kind.name}, {size}]({', '.join(number(kind) for _ in range(size))})"
            for _ in range(count)
        ]
        return f"{made}({', '.join(parts)})"
    return f"{made}({', '.join(number(kind) for _ in range(rows * columns))})"


def _of_matrices(s: Scope, record: Record, a: str, c: str, number: Expression) -> str:
    kind, (rows, columns), inner = _of(record)[0], _shape(record), s.number(2, 3)
    forms = [
        "({a} + {c})",
        "({a} - {c})",
        "(-{a})",
        "_apart(lambda: {x} * {a})",
        "transpose({t})",
        "{a}.insert({at}, {x})",
    ]
    forms += ["_apart(lambda: {m} @ {n})", "_apart(lambda: {m} @ {n})"]
    if kind.is_float:
        forms += ["({a} / {x})", *(["_apart(lambda: inverse({a}))"] if rows == columns else [])]
    if rows == columns:
        forms += ["_apart(lambda: {a} @ {c})", f"({record.name}.identity() - {{a}})"]
    at = (s.number(0, rows - 1), s.number(0, columns - 1))
    sizes = [(columns, rows), (rows, inner), (inner, columns)]
    t, m, n = (_grid(s, kind, *size, number) for size in sizes)
    return s.pick(forms).format(a=a, c=c, x=number(kind), at=at, t=t, m=m, n=n)


TURNS = [
    "({a} + {c})",
    "({a} - {c})",
    "(-{a})",
    "_apart(lambda: {a} * {c})",
    "_apart(lambda: {a} * {c})",
    "_apart(lambda: {x} * {a})",
    "_apart(lambda: {a} * {x})",
    "({a} / {x})",
    "{a}.conjugate()",
    "_apart(lambda: {a}.inverse())",
    "({q}.identity() + {a})",
]


def _rest(s: Scope, record: Record, number: Expression, value: Callable[[Record], str]) -> str:
    """A value that needs another; what is a product, apart from sums that it may be a part of."""
    (kind, size), a, c = _of(record), value(record), value(record)
    if record.algebra == "matrix":
        return _of_matrices(s, record, a, c, number)
    if record.algebra == "quaternion":
        return s.pick(TURNS).format(a=a, c=c, x=number(kind), q=record.name)
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
    at = f"({number(INT)} & 3)"
    if record.algebra == "matrix":
        rows, columns = _shape(record)
        forms = [f"{{a}}[{at} % {rows}, {s.number(0, columns - 1)}]", f"{{a}}.m{rows - 1}{columns - 1}"]
        forms += ["trace({a})", "_apart(lambda: determinant({a}))"] if rows == columns else []
        forms += ["_apart(lambda: norm({a}))"] if kind.is_float else []
        return s.pick(forms).format(a=a)
    if record.algebra == "quaternion":
        forms = ["{a}.{n}", "{a}.vector.y", f"_apart(lambda: {{a}}.to_matrix()[{at} % 3, {s.number(0, 2)}])"]
        forms += ["_apart(lambda: {a}.rotate({v}).{m})", "_apart(lambda: norm({a}))"]
        v = f"Vector[{kind.name}, 3]({', '.join(number(kind) for _ in range(3))})"
        return s.pick(forms).format(a=a, n=s.pick("xyzw"), m=s.pick("xyz"), v=v)
    if record.algebra == "complex":
        return s.pick(["{a}.re", "{a}.im", "_apart(lambda: {a}.squared_norm())"]).format(a=a)
    forms = ["_apart(lambda: dot({a}, {c}))", "_apart(lambda: {a} @ {c})", "{a}[({i}) & 1]", "trace({m})"]
    forms += ["_apart(lambda: cross({a}, {c}))", "_apart(lambda: determinant({m}))"] if size == 2 else []
    return s.pick(forms).format(a=a, c=c, i=number(INT), m=_matrix(s, kind, size, number))
