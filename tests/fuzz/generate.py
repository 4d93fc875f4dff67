"""A random program: what it defines, its kernel, its arguments and its launch."""

from __future__ import annotations

import re

import numpy as np
from tests.fuzz.definitions import constants, functions, structs
from tests.fuzz.edges import edges, pictures
from tests.fuzz.eighths import eighths, kept
from tests.fuzz.elementary import elementary, nearly
from tests.fuzz.expressions import condition, expression, index, upto
from tests.fuzz.groups import GIVEN
from tests.fuzz.hosts import hosted
from tests.fuzz.kinds import BOOL, FLOATS, INT, INTEGERS, KINDS, Kind, bits_of, literal
from tests.fuzz.launches import Launched, guard, shape
from tests.fuzz.program import Argument, Program
from tests.fuzz.records import described, leaves, measured
from tests.fuzz.scope import Choice, Many, Memory, Record, Scope, Seeded
from tests.fuzz.statements import LIKED, Loop, block, own_way, simple
from tests.fuzz.stores import hold
from tests.fuzz.together import HELPERS, areas, together
from tests.fuzz.values import numbers

__all__ = ["generate", "program_of"]

SLOTS = 2
"""Elements that each thread has in an output."""
EXTREMES = [0, -1, -(2**63), 2**63 - 1, 2**63 - 2, 2**31, 2**32, -(2**31)]


def generate(seed: int) -> Program:
    """The program of a number."""
    with np.errstate(all="ignore"):
        made = program_of(Seeded(seed))
    made.seed = seed
    return made


def program_of(choice: Choice) -> Program:
    """A program of choices."""
    s = Scope(choice)
    every = [*INTEGERS, *FLOATS]
    s.favourites = [s.pick(every) for _ in range(s.number(2, 4))]
    made = shape(s)
    lines = [*constants(s, made.form == "host"), "", *structs(s), *functions(s, made.form == "host")]
    s.kernel = True
    s.liked = s.pick(LIKED), s.pick(LIKED)
    s.given = s.pick(GIVEN)
    arguments = [Argument("n", "scalar", "Int64", [bits_of(INT, _limit(s, made))])]
    s.fixed += [("row", INT), ("n", INT)]
    first = s.chance(2)
    reads = _inputs(s, arguments)
    given = pictures(s, made, arguments) if made.form == "edge" else []
    steps = areas(s, made, arguments) if made.form == "block" else []
    outputs = _outputs(s, made.count, arguments)
    more, rounded = eighths(s, arguments, made.count)
    reads += more
    near = elementary(s, arguments, made.count)

    def ends() -> list[str]:
        return [*_stores(s, outputs), *kept(s, rounded), *nearly(s, near)]

    mark, kernels = s.mark(), list[str]()
    if made.form == "host":
        work = [*_work(s, made), *ends()]
        s.back(mark)
        kernels = hosted(s, made, arguments, _guarded(s, made, outputs, reads, work, first))
        return Program("\n".join(lines + kernels), arguments, made.launch)
    for name in ["program", "again"] if s.chance(8) else ["program"]:
        kernels += ["@kernel", f"def {name}({', '.join(_parameters(arguments))}):", f"    row = {made.where}"]
        if made.form == "block":
            kernels += [*reads, *together(s, made, steps), *ends(), ""]
        else:
            work = edges(s, made, given) if made.form == "edge" else _work(s, made)
            work += ends()
            s.back(mark)
            kernels += [*_guarded(s, made, outputs, reads, work, first), ""]
        s.back(mark)
    if s.chance(4):
        kernels = _generic(s, arguments, kernels, lines)
    for called, text in HELPERS.items():
        lines += text if any(called in line for line in kernels) else []
    return Program("\n".join(lines + kernels), arguments, made.launch)


def _generic(s: Scope, arguments: list[Argument], kernels: list[str], lines: list[str]) -> list[str]:
    """Kernels over a type variable, which stands for the type of some of their arguments."""
    computing = [k.name for k in (*INTEGERS, *FLOATS)]
    kind = KINDS[s.pick([a.kind for a in arguments if a.kind in computing])]
    lines.append(f"K = _variable('K', {kind.name}, {'Floating' if kind.is_float else 'Integer'})")

    def named(line: str) -> str:
        if line.startswith("def "):
            return re.sub(rf"(: |Pointer\[|LayoutTensor\[){kind.name}(?!\w)", r"\1K", line)
        return re.sub(rf"(?<!\w){kind.name}(?!\w)", lambda _: "K" if s.chance(2) else kind.name, line)

    return [named(line) for line in kernels]


def _work(s: Scope, made: Launched) -> list[str]:
    """What a kernel does between its arguments and its results, each thread alone."""
    s.returns = "nothing"
    out = _fresh(s, "    ")
    if s.chance(20):
        out.append(f"    assert {condition(s)} or row < {s.number(-1, 3)}, 'what must hold'")
    count = 1 if made.wide else s.number(1, 3)
    return out + [line for _ in range(count) for line in _spread(s, "    ", 3 if made.wide else 6)]


def _guarded(
    s: Scope, made: Launched, outputs: list[Kind], reads: list[str], work: list[str], first: bool
) -> list[str]:
    """The body, of which a guard keeps threads that have nothing to do, or another thing."""
    test = guard(s, made)
    if not test:
        return [*reads, *work]
    split = 0 if first else s.pick([_inputs_end(reads), len(reads)])
    before, inside = reads[:split], [*reads[split:], *work]
    other: list[str] = []
    if s.chance(2) and len(before) == len(reads):
        kind = s.pick(outputs)
        at = f"o_{kind.name}[row * {2 * SLOTS} + {s.number(0, SLOTS - 1)}]"
        other = [f"        {at} = {expression(s, kind, 2, literals=True)}"]
        s.budget = 2
        other += block(s, "        ", 1, None) if s.chance(3) else []
    if s.chance(2):
        return [*before, f"    if {test}:", *other, "        return", *inside]
    held = [*before, f"    if {test}:", *("    " + line for line in inside)]
    return [*held, "    else:", *other] if other else held


def _inputs_end(body: list[str]) -> int:
    """How many lines at the start read a variable each."""
    return next((n for n, line in enumerate(body) if "&" not in line.partition("=")[2] or ":" in line), 0)


def _limit(s: Scope, made: Launched) -> int:
    if s.chance(3):
        return s.pick(EXTREMES)
    count = made.count
    return s.pick([count, count, count - 1, count // 2, count + 5, *made.axes])


def _fresh(s: Scope, indent: str) -> list[str]:
    """Some variables of the favourites to begin with."""
    out: list[str] = []
    for kind in s.favourites:
        name = s.fresh("v")
        out.append(f"{indent}{name} = {expression(s, kind, 1)}")
        s.names.append((name, kind))
    return out


def _spread(s: Scope, indent: str, budget: int) -> list[str]:
    """Statements whose variables stay known, and some that decide."""
    out: list[str] = []
    for _ in range(s.number(1, 3)):
        out += simple(s, indent)
    s.budget = budget
    form = s.pick(["if", "if", "for", "for", "own"])
    if form == "own":
        out += own_way(s, indent)
    elif form == "if":
        out += [f"{indent}if {condition(s)}:", *block(s, indent + "    ", 2, None)]
    else:
        mark, bound = s.mark(), expression(s, INT, 1)
        name = s.fresh("i")
        s.fixed.append((name, INT))
        out += [f"{indent}for {name} in range({bound} & 3):", *block(s, indent + "    ", 2, Loop())]
        s.back(mark)
    return out


def _inputs(s: Scope, arguments: list[Argument]) -> list[str]:
    """Arrays, a tensor, scalars and a struct that the kernel is given."""
    lines: list[str] = []
    size = 32
    for n in range(s.number(1, 3)):
        kind, name = s.kind() if not s.chance(10) else BOOL, f"a{n}"
        arguments.append(Argument(name, "pointer", kind.name, numbers(s, kind, size)))
        wide = "" if kind is BOOL else name
        s.memories.append(Memory(f"{name}[{{0}}]", kind, size, False, wide))
        arguments[-1].host = kind.name != "BFloat16" and s.chance(5)
        own = s.fresh("v")
        lines.append(f"    {own} = {name}[row & {size - 1}]")
        s.names.append((own, kind))
    if s.chance(2):
        s.closed = True  # the indices of parts of it are said again in expressions of any kind
        lines += _tensor(s, arguments)
        s.closed = False
    for n in range(s.number(0, 2)):
        kind = s.kind() if not s.chance(8) else BOOL
        arguments.append(Argument(f"c{n}", "scalar", kind.name, numbers(s, kind, 1)))
        s.fixed.append((f"c{n}", kind))
    if s.chance(4):
        many, name = Many(s.kind(), s.pick([2, 4, 8]), True), s.fresh("u")
        bits = numbers(s, many.kind, many.count)
        arguments.append(Argument("lanes", "struct", many.name, bits, record=described(many)))
        lines.append(f"    {name} = lanes")
        s.vectors.append((name, many.kind, many.count))
    if s.types and s.chance(2):
        record, name = s.pick(s.types), s.fresh("s")
        arguments.append(_records("r", "struct", record, s, 1))
        lines.append(f"    {name} = r")
        s.records.append((name, record))
    lines += _stored(s, arguments, "rs", 16, "row")
    if s.chance(2):
        arguments.append(Argument("fixed", "comptime", value=s.number(0, 5)))
        s.constants.append("fixed")
    return lines


def _records(name: str, form: str, record: Record, s: Scope, count: int) -> Argument:
    d = described(record)
    bits = [n for _, kind in leaves(d) for n in numbers(s, KINDS[kind], count)]
    host = (
        form == "pointer" and not record.algebra and measured(d)[1] <= 8 and s.chance(4)
    )  # NumPy aligns memory to no more
    return Argument(name, form, record.name, bits, record=d, host=host)


def _stored(s: Scope, arguments: list[Argument], name: str, size: int, own: str) -> list[str]:
    """Memory of structs, behind a pointer, in a tensor or as arrays of their fields."""
    kinds = [r for r in s.types if r.form == "struct"]
    if not kinds or not s.chance(2):
        return []
    record, form = s.pick(kinds), s.pick(["pointer", "pointer", "tensor", "soa"])
    argument = _records(name, form, record, s, size)
    argument.shape, argument.stride = ([size // 4, 4], [4, 1]) if form == "tensor" else ([], [])
    arguments.append(argument)
    at, few = (f"{name}[{own} & {size // 4 - 1}, {{0}}]", 4) if form == "tensor" else (f"{name}[{{0}}]", size)
    hold(s, at, record, few, False)
    if s.chance(2):
        return []
    kept = s.fresh("s")
    s.records.append((kept, record))
    return [f"    {kept} = {at.format(f'{own} & {few - 1}')}"]


def _tensor(s: Scope, arguments: list[Argument]) -> list[str]:
    """A tensor of two modes, and parts of it."""
    kind, row_major = s.kind(), not s.chance(3)
    height, width = (s.pick([8, 8, 9, 11]) for _ in range(2))
    stride = [width, 1] if row_major else [1, height]
    made = Argument("t", "tensor", kind.name, numbers(s, kind, height * width), [height, width], stride)
    made.value = s.chance(3)  # a layout that is known at run time
    arguments.append(made)
    s.memories.append(Memory(f"t[{{0}}, {index(s, width)}]", kind, height))
    s.memories.append(Memory(f"t[{index(s, height)}, {{0}}]", kind, width))
    lines = [f"    t1 = t.tile[4, 2]({index(s, 2)}, {index(s, 4)})"]
    if s.chance(2):  # at the edge, where less exists
        rows, columns = s.number(2, 5), s.number(2, 5)
        default = s.pick(["", "", ", default=3"])
        counts = -(-height // rows), -(-width // columns)
        at = ", ".join(f"min(row + {s.number(0, 3)} & 7, {count - 1})" for count in counts)
        lines.append(f"    t5 = t.tile[{rows}, {columns}]({at}{default})")
        s.memories.append(Memory(f"t5[{{0}}, {upto(s, columns)}]", kind, 2))
        s.memories.append(Memory("t5[1:, :][0, {0}]", kind, 2))
        s.fixed += [("Int64(t5.dim(0))", INT), ("Int64(t5.dim(1))", INT)]
        s.tensors.append(("t5", kind, [rows, columns]))
        if rows == 4 or columns == 4:
            way = "4, 1" if rows == 4 else "1, 4"
            s.memories.append(Memory(f"t5.vectorize[{way}]()[0, 0][{{0}}]", kind, 4))
            other = "Layout.row_major(2, 1)" if rows == 4 else "Layout.row_major(1, 2)"
            s.memories.append(Memory(f"t5.distribute[{other}](row & 1)[{{0}}, 1]", kind, 2))
    lines += [f"    t2 = t[{upto(s, height)}, 2:6]"]
    s.tensors += [("t", kind, [height, width]), ("t1", kind, [4, 2]), ("t2", kind, [4])]
    s.memories.append(Memory(f"t1[{{0}}, {s.number(0, 1)}]", kind, 4))
    s.memories.append(Memory("t2[{0}]", kind, 4))
    if made.value or (height, width) != (8, 8):
        return lines
    threads = s.pick(["Layout.row_major(2, 4)", "Layout.col_major(4, 2)"])
    lines.append(f"    t3 = t.distribute[{threads}](row & 7)")
    s.memories.append(Memory("t3[{0}, 1]", kind, 2))
    lines.append(f"    t4 = t.vectorize[{'1, 4' if row_major else '4, 1'}]()")
    name = s.fresh("u")
    at = f"{index(s, 8)}, {index(s, 2)}" if row_major else f"{index(s, 2)}, {index(s, 8)}"
    lines.append(f"    {name} = t4[{at}]")
    s.vectors.append((name, kind, 4))
    return lines


def _outputs(s: Scope, count: int, arguments: list[Argument]) -> list[Kind]:
    """An array for each of some kinds, in which each thread has its own elements; and for atomics."""
    kinds = list(dict.fromkeys([*s.favourites, *(k for _, k in s.names)]))
    for kind in kinds:
        name = f"o_{kind.name}"
        arguments.append(Argument(name, "pointer", kind.name, numbers(s, kind, count * 2 * SLOTS)))
        form = f"{name}[row * {2 * SLOTS} + {SLOTS} + {{0}}]"
        s.memories.append(Memory(form, kind, SLOTS, True))
        arguments[-1].host = kind.name != "BFloat16" and s.chance(5)
    held = [r for r in s.types if r.form == "struct"]
    if held and s.chance(2):
        record, form = s.pick(held), s.pick(["pointer", "pointer", "soa"])
        arguments.append(_records("o_r", form, record, s, count * SLOTS))
        hold(s, f"o_r[row * {SLOTS} + {{0}}]", record, SLOTS, True)
    if s.chance(2):
        kind, how = _operation(s)
        few = [bits_of(kind, literal(s.number(0, 9), kind)) for _ in range(4)]
        arguments.append(Argument("g", "pointer", kind.name, few))
        s.counters.append(("g", kind, how))
    if s.chance(3):
        kind = s.kind()
        arguments.append(Argument("ot", "tensor", kind.name, numbers(s, kind, count * 4), [count, 4], [4, 1]))
        form = s.pick(
            [
                "ot[row, {0}]",
                "ot.tile[1, 2](row, 1)[0, {0} & 1]",
                "ot[row, 0:4][{0}]",
                "ot.tile[1, 3](row, 1 + (row & 0), default=7)[0, min({0}, 2)]",
                "ot[row, :].tile[3](({0} & 1) + (row & 0))[{0} >> 1]",
            ]
        )
        s.memories.append(Memory(form, kind, 4, True, "(ot.ptr + row * 4)"))
    return kinds


def _operation(s: Scope) -> tuple[Kind, str]:
    """An atomic operation whose order does not matter."""
    kind = KINDS[s.pick("Int32 UInt32 Int64 UInt64 Float32 Float64".split())]
    return kind, s.pick("add sub".split() if kind.is_float else "add sub min max and or xor".split())


def _stores(s: Scope, outputs: list[Kind]) -> list[str]:
    """What shows the variables at the end."""
    out: list[str] = []
    for kind in outputs:
        found = s.of(kind)
        for slot in range(SLOTS):
            value = found[-1 - slot] if slot < len(found) else expression(s, kind, 2, literals=True)
            out.append(f"    o_{kind.name}[row * {2 * SLOTS} + {slot}] = {value}")
    return out


def _parameters(arguments: list[Argument]) -> list[str]:
    out: list[str] = []
    for a in arguments:
        if a.memory:
            owner = {"pointer": "Pointer", "tensor": "LayoutTensor", "soa": "SoA"}[a.form]
            out.append(f"{a.name}: {owner}[{a.kind}]")
        elif a.form != "comptime":
            out.append(f"{a.name}: {a.kind}")
    fixed = [f"{a.name}: Comptime[int]" for a in arguments if a.form == "comptime"]
    return [*out, "*", *fixed] if fixed else out
