"""Random expressions of a given type."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.forms import CONDITIONS, SCALARS, VECTORS, form
from tests.fuzz.kinds import BOOL, FLOATS, INT, INTEGERS, KINDS, Kind
from tests.fuzz.leaves import COMPARISONS, leaf, narrower, operators, real, weak
from tests.fuzz.points import point, scalar
from tests.fuzz.scope import Many, Part, Record, Scope
from tests.fuzz.sequences import asked, folded

__all__ = ["condition", "expression", "index", "operand", "record", "upto", "vector"]


def index(s: Scope, size: int, depth: int = 1) -> str:
    """An index from 0 to ``size - 1``, of which there is a power of two."""
    if s.chance(4):
        return str(s.number(0, size - 1))
    kind = s.pick([INT, INT, KINDS["Int32"], KINDS["UInt8"]])
    if size - 1 > kind.high:
        kind = INT
    return f"({expression(s, kind, depth)} & {size - 1})"


def upto(s: Scope, count: int) -> str:
    """An index from 0 to ``count - 1``."""
    size = 1 << (count - 1).bit_length()
    return index(s, count) if size == count else f"min({index(s, size)}, {count - 1})"


def expression(s: Scope, kind: Kind, depth: int = 2, literals: bool = False) -> str:
    """An expression of a type; with ``literals`` it may be one that takes its type from what it meets."""
    if literals and s.chance(4):
        return weak(s, kind)
    if depth <= 0 or s.chance(5):
        return leaf(s, kind)
    if kind is BOOL:
        return condition(s, depth)
    forms = "binary binary binary binary mixed unary cast cast choose extreme memory call logic".split()
    forms += ["lanes", "named", "filled", "filled", "point", "folded"]
    if kind.is_float and kind.bits >= 32:
        forms += ["integer", "integer"]
    how = s.pick([*forms, *(["function", "power"] if kind.is_float else ["power", "shift", "round"])])
    return _FORMS[how](s, kind, depth - 1)


def _pair(s: Scope, kind: Kind, depth: int) -> tuple[str, str]:
    """Two operands, of which at most one is a literal."""
    first = expression(s, kind, depth)
    second = expression(s, kind, depth - (not s.chance(2)), literals=True)
    return (second, first) if s.chance(3) else (first, second)


def _joined(s: Scope, kind: Kind, a: str, c: str) -> str:
    op = s.pick(operators(kind))
    return f"_times({a}, {c})" if kind.is_float and op == "*" else f"({a} {op} {c})"


def _binary(s: Scope, kind: Kind, depth: int) -> str:
    if s.chance(16):
        a = expression(s, kind, 0)
        form = s.pick(["sum([{0}, {1}])", "(lambda q: q - {1})({0})", "sum([{0} - k for k in TAPS])"])
        closed, s.closed = s.closed, s.closed or form.startswith("(lambda")
        other = expression(s, kind, depth)
        s.closed = closed
        return form.format(a, other)
    pointers = [m for m in s.memories if m.loads and m.size >= 4] if kind is INT else []
    if pointers and s.chance(4):
        m = s.pick(pointers)
        return f"({m.loads} + {index(s, m.size, depth)} - {m.loads})"
    if s.chance(12):
        a, c = _pair(s, kind, depth)
        return f"divmod({a}, {c})[{s.number(0, 1)}]"
    return _joined(s, kind, *_pair(s, kind, depth))


def _mixed(s: Scope, kind: Kind, depth: int) -> str:
    if kind.bits == 8:
        return f"({expression(s, kind, 0)} + ({condition(s, depth)}))"
    a, c = expression(s, kind, depth), expression(s, narrower(s, kind), depth)
    return _joined(s, kind, *((a, c) if s.chance(2) else (c, a)))


def _integer(s: Scope, kind: Kind, depth: int) -> str:
    """An integer and a float literal, as what they meet; the integer is no constant that Float32 is not."""
    wide = [m for m in s.memories if m.kind.is_integer and m.kind.bits > 16 and "TABLE" not in m.form]
    if wide and s.chance(2):
        m = s.pick(wide)
        a = m.form.format(index(s, m.size, depth - 1))
    else:
        a = expression(s, s.pick([k for k in INTEGERS if k.bits <= 16]), depth)
    c = f"_{kind.name}({real(s)})"
    meeting = _joined(s, kind, *((a, c) if s.chance(2) else (c, a)))
    return _joined(s, kind, meeting, f"{kind.name}({expression(s, kind, 0)})")


def _unary(s: Scope, kind: Kind, depth: int) -> str:
    a = expression(s, kind, depth)
    forms = ["(-{0})", "abs({0})", "(+{0})"]
    return s.pick(forms if kind.is_float else [*forms, "(~{0})"]).format(a)


def _cast(s: Scope, kind: Kind, depth: int) -> str:
    if s.chance(4):
        same = [(n, k) for n, k in s.names + s.fixed if k.bits == kind.bits]
        if same:
            name, source = s.pick(same)
            if source.is_float:  # which nan it is, is not said
                return f"({name} if {name} == {name} else {source.name}(1.5)).bitcast({kind.name})"
            if not kind.is_float:
                return f"{name}.bitcast({kind.name})"
    if s.chance(6):
        return f"{kind.name}({condition(s, depth)})"
    a = expression(s, s.kind(), depth)
    return f"{kind.name}({a})" if s.chance(2) else f"({a}).cast({kind.name})"


def _choose(s: Scope, kind: Kind, depth: int) -> str:
    a, c = expression(s, kind, depth), expression(s, kind, depth)  # a known test would leave a literal alone
    test = condition(s, depth)
    return f"Bool({test}).select({a}, {c})" if s.chance(4) else f"({a} if {test} else {c})"


def _extreme(s: Scope, kind: Kind, depth: int) -> str:
    a, c = _pair(s, kind, depth)
    third = f", {expression(s, kind, 0)}" if s.chance(3) else ""
    return f"{s.pick(['min', 'max'])}({a}, {c}{third})"


def _memory(s: Scope, kind: Kind, depth: int) -> str:
    found = [m for m in s.memories if m.kind is kind]
    if not found:
        return _binary(s, kind, depth)
    m = s.pick(found)
    return m.form.format(index(s, m.size, depth - 1))


_METHODS = {
    "__matmul__": "({0} @ {1})",
    "__getitem__": "{0}[{1}]",
    "__call__": "{0}({1})",
    "__lshift__": "({0} << {1})",
}


def _call(s: Scope, kind: Kind, depth: int) -> str:
    functions = [f for f in s.functions if f.gives is kind]
    methods = [(n, m) for n, r in s.records for m in r.methods if m[2] is kind]
    if methods and s.chance(2):
        name, (method, takes, _) = s.pick(methods)
        form = _METHODS.get(method, f"{{0}}.{method}({{1}})")
        return form.format(name, expression(s, takes, depth - 1, literals=True))
    if not functions:
        return _binary(s, kind, depth)
    f = s.pick(functions)
    args = [argument(s, k, depth - 1, f.weak) for k in f.takes]
    return f.call(args)


def argument(s: Scope, kind: Part, depth: int, literals: bool) -> str:
    if isinstance(kind, Record):
        return record(s, kind, depth)
    if isinstance(kind, Kind):
        return expression(s, kind, depth, literals)
    if kind.lanes:
        return vector(s, kind.kind, kind.count, depth)
    if s.chance(3):
        return f"{kind.name}(fill={expression(s, kind.kind, depth, True)})"
    return f"{kind.name}({', '.join(expression(s, kind.kind, 0, True) for _ in range(kind.count))})"


def _logic(s: Scope, kind: Kind, depth: int) -> str:
    a, c = expression(s, kind, depth), expression(s, kind, depth)
    return f"({a} {s.pick(['and', 'or'])} {c})"


def _named(s: Scope, kind: Kind, depth: int) -> str:
    """An assignment within an expression, of which the variable may be read before and after."""
    names = [n for n, k in s.names if k is kind]
    if not names or s.closed:
        return _binary(s, kind, depth)
    return f"({s.pick(names)} := {expression(s, kind, depth)})"


def _lanes(s: Scope, kind: Kind, depth: int) -> str:
    found = [(n, lanes) for n, k, lanes in s.vectors if k is kind]
    if not found and s.chance(2):
        return _binary(s, kind, depth)
    lanes = s.pick([2, 4, 8])
    if found:
        name, lanes = s.pick(found)
        value = name if s.chance(2) else vector(s, kind, lanes, 1)
    else:
        value = vector(s, kind, lanes, 1)
    if s.chance(2):
        return f"{value}[{index(s, lanes)}]"
    how = s.pick(["add", "mul", "min", "max", *([] if kind.is_float else ["or", "and"])])
    return f"_product({value})" if how == "mul" else f"{value}.reduce_{how}()"


def operand(s: Scope, depth: int) -> Callable[[Kind, int, bool], str]:
    """What fills the holes of forms."""

    def made(kind: Kind, lanes: int, literals: bool) -> str:
        return vector(s, kind, lanes, depth) if lanes > 1 else expression(s, kind, depth, literals)

    return made


def _filled(s: Scope, kind: Kind, depth: int) -> str:
    closed, s.closed = s.closed, True  # some are lambdas
    found = form(s, SCALARS, kind, operand(s, depth - 1))
    s.closed = closed
    return found or _binary(s, kind, depth)


def _power(s: Scope, kind: Kind, depth: int) -> str:
    a = expression(s, kind, depth)
    if kind.is_float:
        return f"_power({a}, {s.pick([0, 1, 2, 3, 5, -1, -2])})"
    if s.chance(2):
        return f"({a} ** {s.number(0, 6)})"
    exponent = expression(s, kind, 0)
    return f"({a} ** {exponent})" if not kind.signed and s.chance(2) else f"({a} ** ({exponent} & 7))"


def _shift(s: Scope, kind: Kind, depth: int) -> str:
    count = expression(s, kind, 0)
    if s.chance(3):
        count = f"_{kind.name}({s.number(0, kind.bits + 3)})"
    elif s.chance(2):
        count = f"({count} & {2 * kind.bits - 1 if kind.bits > 8 else 15})"
    return f"({expression(s, kind, depth)} {s.pick(['<<', '>>'])} {count})"


def _round(s: Scope, kind: Kind, depth: int) -> str:
    found = f"round({expression(s, s.pick(FLOATS), depth)})"
    return found if kind is INT else f"{kind.name}({found})"


def _function(s: Scope, kind: Kind, depth: int) -> str:
    a = expression(s, kind, depth)
    form = s.pick("sqrt floor ceil trunc round fma copysign".split())
    if form == "fma":
        return f"math.fma({a}, {expression(s, kind, 0)}, {expression(s, kind, 0, literals=True)})"
    if form == "copysign":
        names = [n for n, k in s.names + s.fixed if k is kind]
        sign = s.pick(names) if names else f"{kind.name}(-1.0)"
        return f"math.copysign({a}, ({sign} if {sign} == {sign} else _{kind.name}(1.0)))"
    return f"math.{form}({a})"


def _with_points(
    s: Scope, depth: int, made: Callable[[Callable[[Kind], str], Callable[[Record], str]], str]
) -> str:
    """What is made of numbers and points; some of it stands in a lambda."""
    closed, s.closed = s.closed, True
    found = made(lambda kind: expression(s, kind, 0), lambda of: record(s, of, depth - 1))
    s.closed = closed
    return found


def _point(s: Scope, kind: Kind, depth: int) -> str:
    found = _with_points(s, depth, lambda number, value: scalar(s, kind, number, value))
    return found or _binary(s, kind, depth)


def _folded(s: Scope, kind: Kind, depth: int) -> str:
    return folded(s, kind, lambda k, deep: expression(s, k, min(deep, depth)))


_FORMS = {
    "folded": _folded,
    "binary": _binary,
    "mixed": _mixed,
    "unary": _unary,
    "cast": _cast,
    "choose": _choose,
    "extreme": _extreme,
    "memory": _memory,
    "call": _call,
    "logic": _logic,
    "lanes": _lanes,
    "named": _named,
    "integer": _integer,
    "power": _power,
    "shift": _shift,
    "round": _round,
    "function": _function,
    "filled": _filled,
    "point": _point,
}


def condition(s: Scope, depth: int = 1) -> str:
    """A Bool."""
    flags = [n for n, k in s.names + s.fixed if k is BOOL]
    if flags and s.chance(4):
        return s.pick(flags)
    forms = "compare compare compare compare logic logic chain in mixed known record exact"
    how = s.pick(f"{forms} tuples every pointers filled generator".split())
    if depth > 0 and how == "logic":
        a, c = condition(s, depth - 1), condition(s, depth - 1)
        return s.pick(
            ["({0} and {1})", "({0} or {1})", "_Bool(not {0})", "(({0}) & ({1}))", "(({0}) ^ ({1}))"]
        ).format(a, c)
    kind = s.kind()
    if how == "known" and s.constants:
        return f"({s.pick(s.constants)} {s.pick(COMPARISONS)} {s.number(0, 3)})"
    if how == "filled":
        return form(s, CONDITIONS, kind, operand(s, depth - 1))
    if how == "generator":
        return asked(s, lambda k, deep: expression(s, k, min(deep, depth - 1)))
    if how == "tuples":
        return _tuples(s, depth)
    if how == "every":
        every = s.pick(["any([{0}])", "all(({0},))", "any(q for q in ({0},))", "all(not q for q in [{0}])"])
        closed, s.closed = s.closed, s.closed or " for " in every  # Python takes no := there
        items = ", ".join(condition(s, depth - 1) for _ in range(s.number(1, 3)))
        s.closed = closed
        return f"_Bool({every.format(items)})"
    if how == "pointers":
        found = [m for m in s.memories if m.loads and m.size >= 4]
        if found:
            m = s.pick(found)
            ends = (f"{m.loads} + {index(s, m.size)}" for _ in range(2))
            op = s.pick(["<", ">=", "=="])
            return f"({next(ends)} {op} {next(ends)})"
    if how == "record":
        names = [(n, m, r) for n, r in s.records for m, q in s.records if q is r and n != m and r.exact()]
        if names:
            first, second, kept = s.pick(names)
            if kept.form == "enum" and s.chance(2):
                members = ", ".join(f"{kept.name}.{m}" for m, _ in kept.fields[:2])
                return f"_Bool({first} {s.pick(['in', 'not in'])} ({members}))"
            same = kept.form == "enum" and not kept.number and s.chance(2)
            ops = ["is", "is not"] if same else ["==", "!="]
            return f"_Bool({first} {s.pick(ops)} {second})"
    a = expression(s, kind, depth - 1)
    if how == "exact" and kind.is_integer:
        return f"({a} {s.pick(COMPARISONS)} {real(s)})"
    if how == "mixed" and kind.bits > 8:
        return f"({a} {s.pick(COMPARISONS)} {expression(s, narrower(s, kind), 0)})"
    if how == "in" and kind is INT and s.chance(2):
        return f"_Bool({a} in range({s.number(-3, 3)}, {s.number(0, 9)}, {s.pick([1, 2, 3, -1, -2])}))"
    if how == "in" and not kind.is_float:
        items = ", ".join(weak(s, kind) for _ in range(s.number(1, 3)))
        return f"_Bool({a} {s.pick(['in', 'not in'])} ({items},))"
    c = expression(s, kind, 0, literals=True)
    if how == "chain":
        return (
            f"({a} {s.pick(['<', '<='])} {c} {s.pick(COMPARISONS)} {expression(s, kind, 0, literals=True)})"
        )
    return f"({a} {s.pick(COMPARISONS)} {c})"


def _tuples(s: Scope, depth: int) -> str:
    """Tuples compared: of integers, as a nan in a tuple equals itself in Python."""
    kinds = [s.pick([k for k in INTEGERS]) for _ in range(s.number(1, 3))]
    first, second = [[expression(s, k, depth - 1) for k in kinds] for _ in range(2)]
    brackets = s.pick(["({},)", "[{}]"])
    if len(kinds) > 1 and s.chance(3):
        first[-1:], second[-1:] = [f"({first[-1]},)"], [f"({second[-1]},)"]
    sides = [brackets.format(", ".join(side)) for side in (first, second)]
    return f"_Bool({sides[0]} {s.pick(COMPARISONS)} {sides[1]})"


def vector(s: Scope, kind: Kind, lanes: int, depth: int) -> str:
    """A SIMD value."""
    found = [n for n, k, m in s.vectors if k is kind and m == lanes]
    for name, held in s.records:
        found += [
            w for w, k in held.parts(name) if isinstance(k, Many) and k.name == f"SIMD[{kind.name}, {lanes}]"
        ]
    if found and (depth <= 0 or s.chance(3)):
        return s.pick(found)
    loads = [m for m in s.memories if m.kind is kind and m.loads and m.size >= lanes]
    if loads and s.chance(2):
        m = s.pick(loads)
        return f"{m.loads}.load({index(s, m.size // lanes)} * {lanes}, width={lanes})"
    if depth <= 0 or s.chance(6):
        return f"SIMD[{kind.name}, {lanes}]({expression(s, kind, 0, literals=True)})"
    a = vector(s, kind, lanes, depth - 1)
    forms = (
        "binary binary unary insert shuffle join select cast compare choose call filled filled filled filled"
    )
    how = s.pick(forms.split())
    if how == "filled":
        return form(s, VECTORS, kind, operand(s, depth - 1), lanes) or f"(+{a})"
    if how == "choose":
        return f"({a} if {condition(s, 0)} else {vector(s, kind, lanes, depth - 1)})"
    if how == "call":
        calls = [f for f, k, m in s.lanewise if k is kind and m == lanes]
        return s.pick(calls).format(a, expression(s, kind, 0, literals=True)) if calls else f"(-{a})"
    if how == "binary":
        c = (
            vector(s, kind, lanes, depth - 1)
            if s.chance(2)
            else expression(s, kind, depth - 1, literals=True)
        )
        return _joined(s, kind, *((a, c) if s.chance(2) else (c, a)))
    if how == "unary":
        return s.pick(["(-{0})", "abs({0})"] if kind.is_float else ["(-{0})", "abs({0})", "(~{0})"]).format(a)
    if how == "insert":
        return f"{a}.insert({index(s, lanes)}, {expression(s, kind, depth - 1, literals=True)})"
    if how == "shuffle":
        return f"{a}.shuffle({', '.join(str(s.number(0, lanes - 1)) for _ in range(lanes))})"
    if how == "join":
        picked = ", ".join(str(s.number(0, 2 * lanes - 1)) for _ in range(lanes))
        return f"{a}.shuffle({picked}, other={vector(s, kind, lanes, depth - 1)})"
    if how == "select":
        c = vector(s, kind, lanes, depth - 1)
        true = a if s.chance(2) else c
        false = c if s.chance(2) else expression(s, kind, 0, literals=True)
        return f"({a} {s.pick(COMPARISONS)} {c}).select({true}, {false})"
    if how == "compare":
        return (
            f"SIMD[{kind.name}, {lanes}]({a} {s.pick(COMPARISONS)} {expression(s, kind, 0, literals=True)})"
        )
    return f"{vector(s, s.kind(), lanes, depth - 1)}.cast({kind.name})"


def record(s: Scope, kind: Record, depth: int) -> str:
    """A value of several parts."""
    found = [n for n, r in s.records if r is kind]
    stored = [h for h in s.holders if h[1] is kind]
    if stored and s.chance(3):
        text, _, size, _ = s.pick(stored)
        return text.format(index(s, size))
    if found and not s.chance(3):
        name = s.pick(found)
        if kind.changes and depth > 0 and s.chance(2):
            method, takes = s.pick(kind.changes)
            return f"copy.deepcopy({name}).{method}({expression(s, takes, depth - 1, literals=True)})"
        return name
    functions = [f for f in s.functions if f.gives is kind]
    if functions and depth > 0 and s.chance(3):
        f = s.pick(functions)
        return f.call([argument(s, k, depth - 1, f.weak) for k in f.takes])
    if found and depth > 1 and s.chance(3):
        return f"({s.pick(found)} if {condition(s, 1)} else {record(s, kind, depth - 1)})"
    if kind.form == "enum":
        names = [f"{kind.name}.{name}" for name, _ in kind.fields]
        return f"({s.pick(names)} if {condition(s, 0)} else {s.pick(names)})"
    if kind.algebra and depth > 0:
        return _with_points(s, depth, lambda number, value: point(s, kind, number, value))
    literals = kind.form == "struct" and kind.name.isidentifier()  # the others hold what they are given
    return kind.made([argument(s, k, depth - 1, literals) for _, k in kind.fields])
