"""What a program defines before its kernel: constants, structs, plain helpers and functions."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.asked import by_type, measured
from tests.fuzz.expressions import expression, vector
from tests.fuzz.generic import applied, generic, inner, overloaded, recursive
from tests.fuzz.generic import record as generic_record
from tests.fuzz.kinds import BOOL, FLOATS, INT, INTEGERS, KINDS, Kind
from tests.fuzz.leaves import literal
from tests.fuzz.points import points
from tests.fuzz.scope import Function, Many, Memory, Part, Record, Scope
from tests.fuzz.statements import block, returned

__all__ = ["constants", "functions", "structs"]


def constants(s: Scope, captured: bool = False) -> list[str]:
    """Numbers known at compile time; ``captured``: a function of the host takes them along, at run time."""
    lines = ["TI = TypeVar('TI', bound=Integer)", "TF = TypeVar('TF', bound=Floating)"]
    lines += ["TAPS = (1, 2, 0, 3)", f"G1 = {s.number(0, 7)}", *_tables(s, captured)]
    s.constants += ["TAPS[1]", "TAPS[3]", "G1", "len(TAPS)", "max(G1, 2)"]
    for n in range(s.number(0, 2)):
        kind = s.kind()
        lines.append(f"C{n} = {_constant(s, kind, 2)}")
        s.fixed.append((f"C{n}", kind))
    return lines


def _tables(s: Scope, captured: bool) -> list[str]:
    """A table, read by an index of run time: of literals, which take their type there, or of NumPy's.

    What is captured is a tensor or a tuple of ``Int``: it has no rows, and what Int holds.
    """
    kinds = [k for k in s.favourites if k.name != "BFloat16"]
    if not kinds or not s.chance(2):
        return []
    kind, form = s.pick(kinds), s.pick(["list", "tuple", "rows", "array", "array2"])
    rows = [[literal(s, kind).strip("()") for _ in range(4)] for _ in range(2)]
    if kind.is_float:
        rows = [[text + ".0" * text.lstrip("-").isdigit() for text in row] for row in rows]
    if captured and kind.is_integer and not form.startswith("array"):
        rows = [[str(min(int(text), INT.high)) for text in row] for row in rows]
    text = ", ".join(rows[0] + rows[1])
    if form.startswith("array"):
        ways = ["{0}, 1", "1, {0}", *([] if captured else ["{0}][2"])]
        at = "TABLE[{0}]" if form == "array" else f"TABLE[{s.pick(ways)}]"
        size = 8 if form == "array" else 4 if "1, {0}" in at else 2
        text = f"[{text}]" if form == "array" else str(rows).replace("'", "")
        s.memories.append(Memory(f"{kind.name}({at})", kind, size))  # of a known index it is a literal
        return [f"TABLE = np.array({text}, np.{kind.name.lower()})"]
    at = f"_{kind.name}(TABLE[{{0}}]{'[2]' if form == 'rows' else ''})"
    s.memories.append(Memory(f"{kind.name}({at})", kind, 2 if form == "rows" else 8))
    s.constants.append("len(TABLE)")
    s.tables.append((at, kind, 2 if form == "rows" else 8))
    text = str([tuple(row) for row in rows]).replace("'", "") if form == "rows" else f"[{text}]"
    return [f"TABLE = {f'tuple({text})' if form == 'tuple' else text}"]


def _constant(s: Scope, kind: Kind, depth: int) -> str:
    """A number that the host computes, without what Python raises for."""
    if depth == 0 or s.chance(5):
        return f"{kind.name}({literal(s, kind if s.chance(2) else s.pick(INTEGERS))})"
    a, other = _constant(s, kind, depth - 1), s.kind()
    form = s.pick("unary cast convert binary binary divide".split())
    if form in ("cast", "convert"):
        source = _constant(s, other, depth - 1)
        return f"{source}.cast({kind.name})" if form == "cast" else f"{kind.name}({source})"
    if form == "unary":
        return s.pick(["(-{0})", "abs({0})", "(+{0})"]).format(a)
    if form == "divide":
        by = s.pick(["0.3", "-7.0", "1e-3", "3"]) if kind.is_float else f"{s.number(1, 9)}"
        return f"({a} {s.pick(['//', '%', '/' if kind.is_float else '//'])} ({by}))"
    return f"({a} {s.pick('+ - *'.split())} {_constant(s, kind, depth - 1)})"


OPERATORS = ["__matmul__", "__getitem__", "__call__", "__lshift__"]
FORMS = "struct struct struct struct named data data tuple enum generic".split()


def structs(s: Scope) -> list[str]:
    """Zero to three types of values of several parts, some with others in them."""
    lines: list[str] = []
    s.types += points(s)
    for n in range(s.number(0, 3)):
        form = s.pick(FORMS)
        if form == "generic":
            lines += generic_record(s, f"R{n}")
            continue
        if form == "enum":
            members = s.pick([(0, 1), (3, -1, 7), (1, 2, 4, 8)])
            base = s.pick(["Enum", "IntEnum"])
            lines += [f"class R{n}(enum.{base}):"]
            lines += [*[f"    M{k} = {value}" for k, value in enumerate(members)], ""]
            each = tuple((f"M{k}", INT) for k in range(len(members)))
            s.types.append(Record(f"R{n}", each, form=form, number=base == "IntEnum"))
            continue
        names = [f"[{k}]" for k in range(4)] if form == "tuple" else list("xyzw")
        fields: list[tuple[str, Part]] = [(name, _field(s)) for name in names[: s.number(1, 3)]]
        inside = [r for r in s.types if r.form == "struct" or form not in ("struct", r.form)]
        if inside and s.chance(2):
            fields.append(("[3]" if form == "tuple" else "q", s.pick(inside)))
            fields = [(f"[{k}]", kind) for k, (_, kind) in enumerate(fields)] if form == "tuple" else fields
        name = f"tuple[{', '.join(kind.name for _, kind in fields)}]" if form == "tuple" else f"R{n}"
        pack, align = s.pick([(1, 0), (0, 16)]) if form == "struct" and s.chance(4) else (0, 0)
        record = Record(name, tuple(fields), form=form, pack=pack, align=align)
        if form != "tuple":
            said = f"({'pack=1' if pack else 'align=16'})" if pack or align else ""
            mark = {"struct": f"@struct{said}", "data": "@dataclasses.dataclass(frozen=True)"}
            lines += [mark[form]] if form in mark else []
            lines += [f"class {name}{'(NamedTuple)' if form == 'named' else ''}:"]
            lines += [*[f"    {f}: {k.name}" for f, k in fields], ""]
        if form in ("struct", "data"):
            methods, changes = _methods(s, record, lines)
            record = replace(record, methods=methods, changes=changes)
        s.types.append(record)
        lines.append("")
    return lines


def _field(s: Scope) -> Kind | Many:
    if s.chance(5):
        return Many(s.kind(), s.pick([2, 4]), s.chance(2))
    return BOOL if s.chance(8) else s.kind()


def _methods(
    s: Scope, record: Record, lines: list[str]
) -> tuple[tuple[tuple[str, Kind, Kind], ...], tuple[tuple[str, Kind], ...]]:
    takes, gives = s.kind(), s.kind()
    body = inner(s, 6)
    body.records.append(("self", record))
    body.fixed.append(("x", takes))
    made = expression(body, gives, 2)
    lines += ["    @func"] if record.form == "data" else []
    look = s.pick(["look", "look", *OPERATORS])
    lines += [f"    def {look}(self, x: {takes.name}) -> {gives.name}:", f"        return {made}", ""]
    numbers = [(place, kind) for place, kind in record.places("self") if kind is not BOOL]
    if not numbers or record.form == "data":
        return ((look, takes, gives),), ()
    lines.append(f"    def change(self, x: {takes.name}):")
    for _ in range(s.number(1, 2)):
        place, kind = s.pick(numbers)
        lines.append(f"        {place} = {expression(body, kind, 2, literals=True)}")
    lines += ["        return self", ""]
    return ((look, takes, gives),), (("change", takes),)


def functions(s: Scope, captured: bool) -> list[str]:
    """Plain helpers, and functions of numbers, pairs and structs that call those before them.

    What a function of the host takes along is compiled, and so takes no stars.
    """
    lines: list[str] = []
    for n in range(s.number(0, 3)):
        forms = [_plain, _number, _number, _pair, _struct, _open, _lanes, _open if captured else _many]
        forms += [generic, generic, overloaded, applied, recursive, measured, by_type]
        lines += s.pick(forms)(s, f"h{n}")
    return lines


def _parameters(s: Scope, body: Scope) -> tuple[Kind, ...]:
    kinds = tuple(s.kind() for _ in range(s.number(1, 3)))
    for name, kind in zip("xyz", kinds, strict=False):
        (body.names if s.chance(2) else body.fixed).append((name, kind))
    return kinds


def _plain(s: Scope, name: str) -> list[str]:
    """Python's function that runs at compile time: one expression."""
    body = Scope(s.choice, favourites=s.favourites)
    kinds = _parameters(s, body)
    gives = s.kind()
    s.functions.append(Function(f"{name}({{0}})", kinds, gives, False))
    form = f"def {name}({', '.join('xyz'[: len(kinds)])}):"
    return [form, f"    return {_straight(body, gives, 2)}", ""]


def _straight(s: Scope, kind: Kind, depth: int) -> str:
    """An expression without a decision, which Python would take at once."""
    names = s.of(kind)
    here = s.pick(names) if names else f"{kind.name}({s.pick(s.names + s.fixed)[0]})"
    if depth == 0:
        return here
    other = _straight(s, kind, depth - 1)
    op = s.pick(["+", "-", "*"])
    if kind.is_float:
        return f"_times({here}, {other})" if op == "*" else f"({here} {op} {other})"
    return s.pick([f"({here} {op} {other})", f"({here} < {other}).select({here}, {other})"])


def _body(s: Scope, body: Scope) -> list[str]:
    mark = body.mark()
    lines = block(body, "    ", 2, None)
    body.back(mark)
    return [*lines, f"    return{returned(body)}", ""]


def _number(s: Scope, name: str) -> list[str]:
    body = inner(s, 5)
    kinds = _parameters(s, body)
    body.gives, body.returns = s.kind(), "number"
    arrow = f" -> {body.gives.name}"
    parameters = [f"{p}: {k.name}" for p, k in zip("xyz", kinds, strict=False)]
    given = kinds
    if s.chance(3):
        low = 0 if kinds[-1] is BOOL else 3
        parameters[-1] += f" = {low}"
        if s.chance(2):
            given = kinds[:-1]
    text = _body(s, body)
    s.functions.append(Function(f"{name}({{0}})", given, body.gives))
    return ["@func", f"def {name}({', '.join(parameters)}){arrow}:", *text]


def _pair(s: Scope, name: str) -> list[str]:
    body = inner(s, 5)
    kinds = _parameters(s, body)
    body.gives, body.returns = s.kind(), "pair"
    parameters = [f"{p}: {k.name}" for p, k in zip("xyz", kinds, strict=False)]
    text = _body(s, body)
    s.functions += [Function(f"{name}({{0}})[{n}]", kinds, body.gives) for n in (0, 1)]
    return ["@func", f"def {name}({', '.join(parameters)}):", *_typed(text, body.gives)]


def _typed(lines: list[str], kind: Kind) -> list[str]:
    """Literals that are returned are of the type here, as nothing else says it."""
    return [line.replace(f"_{kind.name}(", f"{kind.name}(") if "return " in line else line for line in lines]


def _struct(s: Scope, name: str) -> list[str]:
    if not s.types:
        return _number(s, name)
    body, kind = inner(s, 6), s.pick(s.types)
    takes = s.kind()
    body.fixed.append(("y", takes))
    body.fixed += kind.reads("x")
    body.gives, body.returns = kind, "struct"
    text = _body(s, body)
    s.functions.append(Function(f"{name}({{0}})", (kind, takes), kind))
    return ["@func", f"def {name}(x: {kind.name}, y: {takes.name}) -> {kind.name}:", *text]


def _lanes(s: Scope, name: str) -> list[str]:
    """A function of a vector: of so many lanes, or of any."""
    body, kind, lanes = inner(s, 5), s.kind(), s.pick([2, 4, 8])
    body.vectors.append(("x", kind, lanes))
    body.fixed.append(("y", kind))
    text = block(body, "    ", 1, None) if s.chance(2) else []
    made = vector(body, kind, lanes, 2)
    s.lanewise.append((f"{name}({{0}}, {{1}})", kind, lanes))
    said = f"SIMD[{kind.name}, {lanes if s.chance(2) else '...'}]"
    return [
        "@func",
        f"def {name}(x: {said}, y: {kind.name}) -> SIMD[{kind.name}, {lanes}]:",
        *text,
        f"    return {made}",
        "",
    ]


def _many(s: Scope, name: str) -> list[str]:
    """Python's function of as many numbers as it is given, or of names."""
    kind, body = s.kind(), inner(s, 3)
    body.types, body.tables, body.memories = [], [], []  # Python takes no index that only run time knows
    body.names.append(("x", kind))
    body.gives, body.returns = kind, "number"
    form = s.pick(["star", "names", "given"])
    if form == "star":
        head, loop = f"def {name}(x, *rest):", "for y in rest:"
        calls = [f"{name}({{0}})", f"{name}({{0}}, *({{1}}, {{0}}))"]
    elif form == "names":
        head, loop = f"def {name}(x, **rest):", "for y in rest.values():"
        calls = [f"{name}({{0}}, a={{1}}, b={{0}})", f"{name}({{1}}, c={{0}})"]
    else:
        head, loop = f"def {name}(x, rest):", "for k, y in enumerate(rest):"
        calls = [f"{name}({{0}}, ({{1}}, {{1}}, {{0}}))", f"{name}({{1}}, [{{0}}])"]
        body.constants.append("k")
    mark = body.mark()
    body.fixed.append(("y", kind))
    lines = [head, f"    {loop}", f"        x = {expression(body, kind, 1)}"]
    body.back(mark)
    if form == "given":
        body.constants.remove("k")
    lines += _typed([f"    return{returned(body)}", ""], kind)
    s.functions += [Function(call, (kind, kind)[: 1 + ("{1}" in call)], kind, False) for call in calls]
    return lines


def _open(s: Scope, name: str) -> list[str]:
    """Without annotations: what it is given decides."""
    kind = s.pick([k for k in s.favourites or [*INTEGERS, *FLOATS] if k is not BOOL] or [KINDS["Int32"]])
    body = inner(s, 5)
    body.names += [("x", kind), ("y", kind)]
    body.gives, body.returns = kind, "number"
    text = _typed(_body(s, body), kind)
    s.functions.append(Function(f"{name}({{0}})", (kind, kind), kind, False))
    return ["@func", f"def {name}(x, y):", *text]
