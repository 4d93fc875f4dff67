"""Random statements: assignments to numbers, structs, vectors and memory, and control flow around them."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.expressions import argument, condition, expression, index, record, vector
from tests.fuzz.items import listed, parts
from tests.fuzz.kinds import BOOL, INT, INTEGERS, Kind
from tests.fuzz.leaves import literal, narrower, weak
from tests.fuzz.mapped import mapped
from tests.fuzz.optionals import optional
from tests.fuzz.scope import Function, Memory, Scope
from tests.fuzz.sequences import generator
from tests.fuzz.stores import atomic, local, pointer, store
from tests.fuzz.views import views

__all__ = ["LIKED", "Loop", "assigned", "block", "own_way", "simple"]

ITEMS = ["unroll(range(3))", "(0, 1, 2)", "[3, 1, 2, 0]", "unroll([2, 0, 1])", "unroll(range(4, 0, -2))"]
BOUNDS = [
    "3",
    "{0} & 3",
    "1, ({0} & 3) + 2",
    "{0} & 3, {1} & 3",
    "{0} & 3, -2, -1",
    "0, {0} & 3, ({1} & 1) + 1",
    "{0} & 3, {1} & 3, ({2} & 1) * 3 - 2",
    "{0} & 3, -3, -({1} & 1) - 1",
]


class Loop:
    """The loop around; the index of an unrolled one, which decides at compile time."""

    def __init__(self, unrolled: str = "") -> None:
        self.unrolled = unrolled


def block(s: Scope, indent: str, depth: int, loop: Loop | None, literals: bool = False) -> list[str]:
    """Statements; what is assigned only inside stays unknown outside. ``literals``: it may end with one."""
    mark = s.mark()
    out: list[str] = []
    for _ in range(s.number(1, 3)):
        if s.budget <= 0:
            break
        s.budget -= 1
        lines, ends = statement(s, indent, depth, loop)
        out += lines
        if ends:
            break
    else:
        outer = [(n, k) for n, k in s.names[: mark[0]] if k is not BOOL]
        if outer and literals and s.chance(4):  # of the type that the variable has
            name, kind = s.pick(outer)
            out.append(f"{indent}{name} = {weak(s, kind)}")
    s.back(mark)
    return out or [f"{indent}pass"]


def simple(s: Scope, indent: str) -> list[str]:
    """An assignment, a store, or a print."""
    forms = [*_SIMPLE, "new", "old", "record", "store", "algebra", "algebra"]
    if s.liked and s.chance(2):
        forms = s.liked
    return _SIMPLE[s.pick(forms)](s, indent) or _new(s, indent)


def _new(s: Scope, indent: str) -> list[str]:
    kind, name = s.kind(), s.fresh("v")
    line = f"{indent}{name} = {expression(s, kind)}"
    s.names.append((name, kind))
    return [line]


def _old(s: Scope, indent: str) -> list[str]:
    if not s.names:
        return _new(s, indent)
    name, kind = s.pick(s.names)
    return [f"{indent}{name} = {expression(s, kind)}"]


def _augmented(s: Scope, indent: str) -> list[str]:
    numbers = [(n, k) for n, k in s.names if k is not BOOL]
    if not numbers:
        return _new(s, indent)
    name, kind = s.pick(numbers)
    ops = "+= -= /= //= %=" if kind.is_float else "+= -= *= //= %= &= |= ^="
    return [f"{indent}{name} {s.pick(ops.split())} {expression(s, kind, literals=True)}"]


def _annotated(s: Scope, indent: str) -> list[str]:
    kind, name = s.kind(), s.fresh("v")
    source = kind if kind.bits == 8 or s.chance(2) else narrower(s, kind)
    line = f"{indent}{name}: {kind.name} = _{kind.name}({expression(s, source, literals=source is kind)})"
    s.names.append((name, kind))
    return [line]


def assigned(s: Scope, indent: str) -> list[str]:
    """An assignment to what is there already."""
    return s.pick([_old, _old, _augmented, store])(s, indent) or _old(s, indent)


def _tuple(s: Scope, indent: str) -> list[str]:
    if len(s.names) < 2:
        return _new(s, indent)
    (a, first), (c, second) = s.pick(s.names), s.pick(s.names)
    if a == c:
        return _old(s, indent)
    pairs = [f for f in s.functions if f.gives is first and f.form.endswith("[0]")]
    if pairs and first is second and s.chance(2):
        f = s.pick(pairs)
        args = ", ".join(expression(s, k, 1, f.weak) for k in f.takes if isinstance(k, Kind))
        return [f"{indent}{a}, {c} = {f.form.format(args)[:-3]}"]
    value = c if first is second and s.chance(2) else expression(s, first)
    return [f"{indent}{a}, {c} = {value}, {expression(s, second)}"]


def _chain(s: Scope, indent: str) -> list[str]:
    """One value to several names."""
    kind = s.kind()
    known = [n for n, k in s.names if k is kind]
    if not known:
        return _new(s, indent)
    name, value = s.fresh("v"), expression(s, kind)
    s.names.append((name, kind))
    return [f"{indent}{name} = {s.pick(known)} = {value}"]


def _flag(s: Scope, indent: str) -> list[str]:
    flags = [n for n, k in s.names if k is BOOL]
    value = s.pick(["_Bool(True)", "_Bool(False)", condition(s, 1), f"_Bool({condition(s, 2)})"])
    if flags and s.chance(2):
        return [f"{indent}{s.pick(flags)} = {value}"]
    name = s.fresh("f")
    s.names.append((name, BOOL))
    return [f"{indent}{name} = Bool({value})"]


def _record(s: Scope, indent: str) -> list[str]:
    if not s.types:
        return _old(s, indent)
    if not s.records or s.chance(3):
        kind, name = s.pick(s.types), s.fresh("s")
        line = f"{indent}{name} = {record(s, kind, 2)}"
        s.records.append((name, kind))
        return [line]
    held = [h for h in s.holders if h[3]]
    if held and s.chance(3):
        text, kind, size, _ = s.pick(held)
        return [f"{indent}{text.format(index(s, size))} = {record(s, kind, 2)}"]
    name, kind = s.pick(s.records)
    if s.chance(3) or kind.form == "enum":
        return [f"{indent}{name} = {record(s, kind, 2)}"]
    if kind.form != "struct":
        field, part = s.pick(kind.fields)
        return [f"{indent}{name} = {kind.changed(name, field, argument(s, part, 1, False))}"]
    # another name may be of the same value, or of what is in it
    own = f"{indent}{name} = copy.{s.pick(['deepcopy', 'copy'] if kind.flat() else ['deepcopy'])}({name})"
    place, part = s.pick(kind.parts(name))
    if not isinstance(part, Kind):
        return [own, f"{indent}{place} = {argument(s, part, 1, True)}"]
    if part is not BOOL and s.chance(3):
        return [own, f"{indent}{place} += {expression(s, part, literals=True)}"]
    return [own, f"{indent}{place} = {expression(s, part, literals=True)}"]


def _algebra(s: Scope, indent: str) -> list[str]:
    """A vector, a matrix or their like, a number of which is stored."""
    kinds = [r for r in s.types if r.algebra]
    if not kinds:
        return []
    kind, name = s.pick(kinds), s.fresh("s")
    lines = [f"{indent}{name} = {record(s, kind, 2)}"]
    s.records.append((name, kind))
    value, number = s.pick(kind.reads(name))
    found = [m for m in s.memories if m.writable and m.kind is number]
    return [*lines, f"{indent}{s.pick(found).form.format(0)} = {value}"] if found else lines


def _vector(s: Scope, indent: str) -> list[str]:
    if s.vectors and s.chance(2):
        name, kind, lanes = s.pick(s.vectors)
        return [f"{indent}{name} = {vector(s, kind, lanes, 2)}"]
    if s.vectors and s.chance(2):  # a lane of one that no other name is of
        name, kind, lanes = s.pick(s.vectors)
        sign = "=" if kind is BOOL else s.pick(["=", "+=", "-="])
        lane = index(s, lanes)
        return [f"{indent}{name} = copy.copy({name})", f"{indent}{name}[{lane}] {sign} {expression(s, kind)}"]
    kind, lanes, name = s.kind(), s.pick([2, 4, 8]), s.fresh("u")
    line = f"{indent}{name} = {vector(s, kind, lanes, 2)}"
    s.vectors.append((name, kind, lanes))
    return [line]


def _weak(s: Scope, indent: str) -> list[str]:
    """A literal in a variable, which takes the type of what a loop adds to it."""
    kind, name, i = s.kind(), s.fresh("v"), s.fresh("i")
    if kind is BOOL:
        return _flag(s, indent)
    start = f"_{kind.name}({s.pick(['0.0', '1.0', '0.1'])})" if kind.is_float else weak(s, kind)
    lines = [f"{indent}{name} = {start}", f"{indent}for {i} in range({s.number(1, 3)}):"]
    lines.append(f"{indent}    {name} {s.pick(['+=', '-='])} {expression(s, kind, 1)}")
    s.names.append((name, kind))
    return lines


def _print(s: Scope, indent: str) -> list[str]:
    if not s.kernel or not s.chance(3):
        return store(s, indent)
    numbers = [(n, k) for n, k in s.names if not k.is_float or k.bits >= 32]
    shown = [s.pick(numbers) for _ in range(s.number(0, 2))] if numbers else []
    specs = {
        n: "" if k is BOOL else s.pick(["", ":.3f", ":e"] if k.is_float else ["", ":d", ":5d", ":x"])
        for n, k in shown
    }
    parts = " ".join(f"{{{n}{spec}}}" for n, spec in specs.items())
    said = s.pick([f'f"{{row}} {parts}"', f"{', '.join(['row', *specs])}"])
    return [f"{indent}if row & 15 == {s.number(0, 15)}:", f"{indent}    print({said})"]


def _assert(s: Scope, indent: str) -> list[str]:
    if not s.kernel or not s.chance(6):
        return _old(s, indent)
    test = s.pick(["row >= 0", "row * 0 == 0", "0 <= row < 1 << 40"])
    return [f"{indent}assert {test}, {s.pick([repr('what'), 'f' + repr('{row} is not there')])}"]


def _define(s: Scope, indent: str) -> list[str]:
    """A function of the variables around it, which it sees as they are when it is called."""
    if not s.names or not s.chance(3):
        return _old(s, indent)
    name, takes, gives = s.fresh("g"), s.kind(), s.kind()
    body = replace(s, names=[], fixed=[*s.fixed, *s.names], records=[], vectors=[], counters=[], kernel=False)
    body.memories = [m for m in s.memories if not m.writable]
    parameter = body.fresh("x")
    body.fixed.append((parameter, takes))
    body.gives, body.returns, body.budget = gives, "number", 3
    if s.chance(3):
        body.closed = True
        lines = [f"{indent}{name} = lambda {parameter}: {expression(body, gives, 2)}"]
        weakly = False
    else:
        lines = [f"{indent}@func", f"{indent}def {name}({parameter}: {takes.name}) -> {gives.name}:"]
        if s.chance(2):
            changed = s.pick(s.names)
            body.fixed.remove(changed)
            body.names.append(changed)
            lines += [
                f"{indent}    nonlocal {changed[0]}",
                f"{indent}    {changed[0]} = {expression(body, changed[1], 1)}",
            ]
        lines += [*block(body, indent + "    ", 2, None), f"{indent}    return{returned(body)}"]
        weakly = True
    s.count = body.count
    s.functions.append(Function(f"{name}({{0}})", (takes,), gives, weakly))
    meanwhile = _old(s, indent) if s.chance(2) else []
    if s.chance(2):
        meanwhile = [
            f"{indent}if {condition(s)}:",
            *("    " + line for line in meanwhile or [f"{indent}pass"]),
        ]
    found = s.fresh("v")
    called = f"{indent}{found} = {name}({expression(s, takes, 1, weakly)})"
    s.names.append((found, gives))
    return [*lines, *meanwhile, called]


def _search(s: Scope, indent: str) -> list[str]:
    """What a loop finds, or what there is behind it."""
    kind, i, name = s.kind(), s.fresh("i"), s.fresh("v")
    bound = expression(s, INT, 1)
    s.fixed.append((i, INT))
    test, found = condition(s, 2), expression(s, kind, 1)
    s.fixed.pop()
    lines = [f"{indent}for {i} in range({bound} & 7):", f"{indent}    if {test}:"]
    lines += [f"{indent}        {name} = {found}", f"{indent}        break", f"{indent}else:"]
    lines.append(f"{indent}    {name} = {expression(s, kind, 1)}")
    s.names.append((name, kind))
    return lines


def own_way(s: Scope, indent: str) -> list[str]:
    """A loop that only computes, and that each thread leaves when it is done."""
    numbers = [(n, k) for n, k in s.names if k is not BOOL and (k.is_integer or k.bits >= 32)]
    if not numbers:
        return _new(s, indent)
    body = replace(
        s, names=numbers, memories=[], tables=[], records=[], vectors=[], functions=[], counters=[]
    )
    body.holders, body.lanewise = [], []
    counter, inner = s.fresh("w"), indent + "    "
    body.fixed = [*s.fixed, (counter, INT)]
    most = s.pick([f"{s.number(3, 20)}", f"({expression(body, INT, 0)} & 15)"])
    test = s.pick(
        [f"{counter} < {most} and {condition(body, 1)}", f"{condition(body, 1)} and {counter} < {most}"]
    )
    if s.chance(4):
        test = f"{counter} < {most}"
    out = [f"{indent}{counter} = Int(0)", f"{indent}while {test}:"]
    step, lines = [f"{inner}{counter} += 1"], list[str]()
    for _ in range(s.number(1, 3)):
        name, kind = s.pick(numbers)
        made = f"{name} = {expression(body, kind, 1)}"
        form = s.pick(["plain", "plain", "plain", "if", "else", "jump"])
        if form == "jump":  # a `continue` comes behind the step
            lines, step = [*step, *lines, f"{inner}if {condition(body, 1)}:"], []
            lines.append(f"{inner}    {s.pick(['break', 'continue'])}")
        elif form == "plain":
            lines.append(f"{inner}{made}")
        else:
            lines += [f"{inner}if {condition(body, 1)}:", f"{inner}    {made}"]
            if form == "else":
                lines += [f"{inner}else:", f"{inner}    {name} = {expression(body, kind, 1)}"]
    s.count = body.count
    s.fixed.append((counter, INT))
    return [*out, *lines, *step]


_SIMPLE = {
    "own_way": own_way,
    "search": _search,
    "define": _define,
    "new": _new,
    "old": _old,
    "augmented": _augmented,
    "annotated": _annotated,
    "tuple": _tuple,
    "chain": _chain,
    "flag": _flag,
    "record": _record,
    "vector": _vector,
    "algebra": _algebra,
    "store": store,
    "local": local,
    "views": views,
    "pointer": pointer,
    "weak": _weak,
    "list": listed,
    "parts": parts,
    "print": _print,
    "assert": _assert,
    "atomic": atomic,
    "mapped": mapped,
    "optional": optional,
}


LIKED = "views views vector vector store store local local pointer list parts define atomic mapped".split()
"""Forms of which a program may have many."""


def statement(s: Scope, indent: str, depth: int, loop: Loop | None) -> tuple[list[str], bool]:
    """Lines, and whether nothing may follow."""
    form = s.pick("simple simple simple simple simple if if match for for while unroll jump return".split())
    inner = indent + "    "
    if form == "jump" and loop is not None:
        word = s.pick(["break", "continue"])
        if not loop.unrolled or s.chance(3):
            return [f"{indent}{word}"], True
        test = f"{loop.unrolled} == {s.number(0, 3)}"
        return [f"{indent}if {test}:", f"{inner}{word}"], False
    if form == "return" and s.returns:
        return [f"{indent}return{returned(s)}"], True
    if depth == 0 or form in ("simple", "jump", "return"):
        return simple(s, indent), False
    if form == "if":
        return _if(s, indent, depth, loop), False
    if form == "match":
        return _match(s, indent, depth, loop), False
    lines = {"while": _while, "unroll": _unroll, "for": _for}[form](s, indent, depth)
    if s.chance(4) and not any(line.startswith(f"{indent}while True:") for line in lines):
        lines += [f"{indent}else:", *block(s, inner, depth - 1, loop)]
    return lines, False


def returned(s: Scope) -> str:
    """What stands behind ``return``."""
    if s.gives is None:
        return ""
    if not isinstance(s.gives, Kind):
        return f" {argument(s, s.gives, 2, False)}"
    made = expression(s, s.gives, 2, literals=True)
    if s.returns == "pair":
        return f" {made}, {expression(s, s.gives, 1, literals=True)}"
    return f" {made}"


def _if(s: Scope, indent: str, depth: int, loop: Loop | None) -> list[str]:
    inner = indent + "    "
    out = [f"{indent}if {condition(s)}:", *block(s, inner, depth - 1, loop)]
    while s.chance(3):
        out += [f"{indent}elif {condition(s)}:", *block(s, inner, depth - 1, loop)]
    if s.chance(2):
        out += [f"{indent}else:", *block(s, inner, depth - 1, loop)]
    return out


def _match(s: Scope, indent: str, depth: int, loop: Loop | None) -> list[str]:
    """Cases of numbers, of tuples of them, or of structs."""
    inner = indent + "    "
    records = [(n, r) for n, r in s.records if r.flat()]
    if records and s.chance(2):
        name, kind = s.pick(records)
        parts = kind.places(name)
        out, form = [f"{indent}match {name}:"], kind.name + "({})"
        named = [place.rpartition(".")[2] + "=" for place, _ in parts]
    else:
        kinds = [s.kind() for _ in range(s.number(1, 3))]
        parts = [(expression(s, k, 1), k) for k in kinds]
        named, form = [""] * len(parts), s.pick(["({},)", "[{},]"]) if len(parts) > 1 else "{}"
        out = [f"{indent}match {form.format(', '.join(text for text, _ in parts))}:"]
    for _ in range(s.number(1, 3)):
        mark, texts, bound = s.mark(), list[str](), set[str]()
        for name, (_, kind) in zip(named, parts, strict=True):
            texts.append(name + _pattern(s, kind, bound))
        pattern = form.format(", ".join(texts))
        if not bound and pattern != "_" and s.chance(4):
            others = [name + _pattern(s, k, None) for name, (_, k) in zip(named, parts, strict=True)]
            pattern += " | " + form.format(", ".join(others)) if others != ["_"] else ""
        guard = f" if {condition(s)}" if s.chance(3) or "".join(texts).isidentifier() else ""
        out += [f"{inner}case {pattern}{guard}:", *block(s, inner + "    ", depth - 1, loop)]
        s.back(mark)
    if s.chance(2):
        out += [f"{inner}case _:", *block(s, inner + "    ", depth - 1, loop)]
    return out


def _pattern(s: Scope, kind: Kind, bound: set[str] | None) -> str:
    """A pattern of a number; what it captures is added to ``bound``, unless it must capture nothing."""
    if kind is BOOL:
        return "_"
    form = s.pick(["literal", "literal", "or", "as", "any", "new", "old"])
    if form == "literal" or (form in ("new", "old") and bound is None):
        return literal(s, kind)
    if form == "or":
        return f"({literal(s, kind)} | {literal(s, kind)})"
    if form == "as" and bound is not None:
        bound.add(name := s.fresh("v"))
        s.fixed.append((name, kind))
        return f"({literal(s, kind)} | {literal(s, kind)} as {name})"
    if form == "any" or bound is None:
        return "_"
    known = [n for n, k in s.names if k is kind and n not in bound]
    if form == "old" and known:
        bound.add(name := s.pick(known))
        return name
    bound.add(name := s.fresh("v"))
    s.fixed.append((name, kind))
    return name


def _while(s: Scope, indent: str, depth: int) -> list[str]:
    inner, counter = indent + "    ", s.fresh("w")
    test = f"{counter} < {s.number(1, 5)}"
    if s.chance(2):
        test = s.pick([f"{test} and {condition(s, 1)}", f"not ({condition(s, 1)}) and {test}"])
    body = [f"{inner}{counter} += 1"]
    if s.chance(4):
        body += [f"{inner}if {counter} > {s.number(1, 4)}:", f"{inner}    break"]
        test = "True"
    mark = s.mark()
    s.fixed.append((counter, INT))
    out = [f"{indent}{counter} = {s.pick(['Int(0)', '_Int64(0)'])}", f"{indent}while {test}:", *body]
    out += block(s, inner, depth - 1, Loop(), True)
    s.back(mark)
    s.fixed.append((counter, INT))
    return out


def _unroll(s: Scope, indent: str, depth: int) -> list[str]:
    name, mark = s.fresh("k"), s.mark()
    s.constants.append(name)
    out = [f"{indent}for {name} in {s.pick(ITEMS)}:", *block(s, indent + "    ", depth - 1, Loop(name))]
    s.back(mark)
    return out


def _through(s: Scope, indent: str, depth: int) -> list[str]:
    """A loop through a tensor: its elements, its rows or its tiles."""
    text, kind, extents = s.pick(s.tensors)
    mark, name = s.mark(), s.fresh("x")
    if len(extents) == 1:
        s.fixed.append((name, kind))
    elif s.chance(2):
        s.tensors.append((name, kind, extents[1:]))
        s.memories.append(Memory(f"{name}[{{0}}]", kind, 2))
    else:
        sizes = s.number(1, extents[0]), s.number(2, extents[1])
        text += f".tiles({sizes[0]}, {sizes[1]})"
        s.fixed += [(f"Int64({name}.dim(0))", INT), (f"Int64({name}.dim(1))", INT)]
        s.memories.append(Memory(f"{name}[{s.number(0, sizes[0] - 1)}, {{0}}]", kind, 2))
    target, form = name, s.pick("plain plain enumerate zip reversed".split())
    if form == "reversed" and ".tiles" not in text:
        text = f"reversed({text})"
    elif form == "enumerate":
        number = s.fresh("i")
        target, text = f"{number}, {name}", f"enumerate({text}{s.pick(['', ', 1'])})"
        s.fixed.append((number, INT))
    elif form == "zip":
        number = s.fresh("i")
        target, text = f"{name}, {number}", f"zip({text}, range({s.number(0, 9)}))"
        s.fixed.append((number, INT))
    out = [f"{indent}for {target} in {text}:", *block(s, indent + "    ", depth - 1, Loop(), True)]
    s.back(mark)
    return out


def _generated(s: Scope, indent: str, depth: int) -> list[str]:
    """A loop over a generator."""
    kind, mark = s.kind(), s.mark()
    items = generator(s, lambda k, deep: expression(s, k, deep), kind)
    s.fixed.append((name := s.fresh("x"), kind))
    out = [f"{indent}for {name} in ({items}):", *block(s, indent + "    ", depth - 1, Loop(), True)]
    s.back(mark)
    return out


def _for(s: Scope, indent: str, depth: int) -> list[str]:
    if s.chance(8):
        return _generated(s, indent, depth)
    if s.tensors and s.chance(4):
        return _through(s, indent, depth)
    kind = s.pick([INT, INT, INT, *[k for k in INTEGERS if k.signed]])
    numbers = [expression(s, kind, 1), expression(s, kind, 0), expression(s, kind, 0)]
    bounds = s.pick(BOUNDS).format(*numbers)
    if bounds == "3" or kind.bits < 32:
        kind = INT
    out: list[str] = []
    known = [n for n, k in s.names if k is kind]
    mark, name, after = s.mark(), s.fresh("i"), False
    if known and s.chance(5):
        name = s.pick(known)
    else:
        if s.chance(2):
            out.append(f"{indent}{name} = {kind.name}(-1)")
            after = True
        s.fixed.append((name, kind))
    target, items = name, f"range({bounds})"
    form = s.pick("plain plain plain reversed part enumerate zip".split())
    if form == "reversed":
        items = f"reversed({items})"
    elif form == "part" and kind is INT and bounds != "3":  # of what is known the loop is written out
        items += s.pick([f"[{numbers[1]} & 1:]", "[::-1]", "[-2:]", f"[:{numbers[2]} & 3:2]"])
    elif form == "enumerate":
        number, start = s.fresh("i"), s.pick(["", ", 1", ", -3"])
        target, items = f"{number}, {name}", f"enumerate({items}{start})"
        s.fixed.append((number, INT))
    elif form == "zip":
        other = s.fresh("i")
        target = f"{name}, {other}"
        items = f"zip({items}, {s.pick(['range({})', 'reversed(range({}))'])})".format(f"{s.number(0, 5)}")
        s.fixed.append((other, INT))
    out += [f"{indent}for {target} in {items}:", *block(s, indent + "    ", depth - 1, Loop(), True)]
    s.back(mark)
    if after:
        s.fixed.append((name, kind))
    return out
