"""A module's Python: each operation at the user's line, in functions of the user's names and files.

The text is written a line for each operation and compiled as a whole; the code's table of lines then says of
each the user's line that its operation has. So a debugger that stops in it shows the user's lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from types import CodeType

from weft.abi.program import Code, Entry, Program
from weft.compiler.interpreted.expressions import expression, kind_of, stride
from weft.compiler.interpreted.memory import exchanged, loaded, stored, updated
from weft.compiler.interpreted.natives import FOREIGN, Natives
from weft.compiler.interpreted.shown import shown
from weft.compiler.ir.core import Function, Loc, Module, Op, Region, Value
from weft.compiler.ir.effects import BARRIERS, NAMED, group_of
from weft.compiler.ir.jumps import leaves
from weft.compiler.ir.types import I1, AddressSpace, FloatType, IntType, PointerType, Type
from weft.compiler.passes.faults import places_of
from weft.targets import Target

_GROUPS = ("warp", "block", "cluster", "grid")
"""Who may meet, the more the later."""
_READS = frozenset({"llvm.load", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.inline_asm", "llvm.call_intrinsic"})
_AHEAD = frozenset({"weft.slot", "llvm.alloca"})
"""What the function has from its beginning, wherever it was asked for."""


def program(module: Module, symbols: Sequence[str], target: Target) -> Program:
    """The module as Python; ``symbols`` are those of its kernels, in order.

    Raises:
        LLVMError: LLVM refuses an intrinsic or an assembly that the module has.
    """
    whole = _Module(module)
    names = whole.names
    functions = {
        names[f.name]: Code(_Writer(f, whole).code(), f.file, f.name in whole.waiting)
        for f in module.functions
    }
    kernels = [f for f in module.functions if f.kernel]
    entries = {
        symbol: Entry(names[f.name], tuple([kind_of(a.type) for a in f.args]), f.over_rank)
        for symbol, f in zip(symbols, kernels, strict=True)
    }
    tables = {g.name: (g.data, g.align) for g in module.globals if g.data is not None}
    shared = {
        g.name: (g.count * max(1, g.element.bits // 8), g.align)
        for g in module.globals
        if g.space == AddressSpace.SHARED
    }
    natives = whole.natives
    return Program(
        functions,
        entries,
        whole.floats,
        tables,
        shared,
        tuple(sorted(whole.meets)),
        natives.forms,
        natives.compiled(module, target),
    )


def text(module: Module) -> str:
    """The module's functions as text."""
    whole = _Module(module)
    return "\n\n\n".join([_Writer(f, whole).text() for f in module.functions]) + "\n"


class _Module:
    """What the functions of a module share."""

    def __init__(self, module: Module) -> None:
        self.functions = {f.name: f for f in module.functions}
        self.names = {name: f"__f{n}" for n, name in enumerate(self.functions)}
        self.floats: dict[str, tuple[str, float, int]] = {}
        walked = {f.name: [*f.body.walk()] for f in module.functions}

        def reaching(names: frozenset[str]) -> set[str]:
            found = {name for name, ops in walked.items() if any(op.name in names for op in ops)}
            return module.reaching(found)

        self.meeting = reaching(BARRIERS - {NAMED})
        """The functions in which all threads of a group may wait for each other."""
        self.looking = module.reaching({name for name, ops in walked.items() if _looks(ops)})
        spins = {name for name, ops in walked.items() if any(map(self.spins, ops))}
        self.waiting = reaching(BARRIERS) | module.reaching(spins)
        """Those in which a thread may let others run."""
        self.natives = Natives()
        self.meets: set[str] = set()

    def spins(self, op: Op) -> bool:
        """Whether a loop may go on until another thread writes something."""
        if op.name != "weft.while":
            return False
        inner = [inner for region in op.regions for inner in region.walk()]
        calls = {inner.attrs["callee"] for inner in inner if inner.name == "func.call"}
        return _looks(inner) or not self.looking.isdisjoint(calls)

    def barrier(self, f: Function, op: Op) -> tuple[str, str, int, int] | None:
        """Where most meet within an operation of a function: who does, and the first such place."""
        found: list[tuple[str, str, int, int]] = []
        for inner in [inner for region in op.regions for inner in region.walk()]:
            if inner.name in BARRIERS and inner.name != NAMED:
                found.append((group_of(inner), *places_of(f, inner.loc)[0][0]))
            if inner.name == "func.call" and inner.attrs["callee"] in self.meeting:
                callee = self.functions[str(inner.attrs["callee"])]
                below = self.barrier(callee, Op(inner.spec, (), {}, (callee.body,), (), inner.loc))
                found += [below] if below is not None else []
        return max(found, key=lambda each: _GROUPS.index(each[0]), default=None)


class _Writer:
    """One function on its way to Python."""

    def __init__(self, f: Function, module: _Module) -> None:
        self.f = f
        self.module = module
        self.functions = module.names
        self.waiting = module.waiting
        self.floats = module.floats
        self.lines: list[tuple[str, Loc]] = []
        self.names: dict[Value, str] = {}
        self.depth = 1
        self.loc: Loc = (f.line, 0)
        self.views: dict[Value, tuple[str, str]] = {}
        """Of a slot: the variable that it is of, and how that is shown."""
        self.around: Op | None = None
        """The loop at hand."""
        self.first = 0
        """How many lines come before the first of the user's: they name the parameters."""

    def write(self) -> list[tuple[str, Loc]]:
        """Each line, with the place of what it does."""
        f, name = self.f, self.functions[self.f.name]
        for n, a in enumerate(f.args):
            self.names[a] = f"__a{n}"
        before = [op for op in f.body.ops if op.name in _AHEAD]
        rest = [op for op in f.body.ops if op.name not in _AHEAD]
        self.region(Region(f.body.args, before), self.loc)
        own = next((n for n, op in enumerate(rest) if op.loc != (f.line, 0)), len(rest))
        ahead, rest = rest[:own], rest[own:]
        self.region(Region(f.body.args, ahead))
        self.first = len(self.lines)
        if rest and rest[-1].name == "weft.return" and not rest[-1].operands:
            rest.pop()  # Python returns at the line that it has come to
        self.region(Region(f.body.args, rest))
        if not self.lines:
            self.put("pass")
        named = [str(op.attrs["name"]) for op in ahead if op.name == "weft.named"]
        head = f"def {name}({', '.join(['__t', *[self.names[a] for a in f.args], *named])}):"
        return [(head, (f.line, 0)), *self.lines]

    def text(self) -> str:
        """The function as text, which says whose lines its own are."""
        (head, _), *lines = self.write()
        body = [f"{line}  # {loc[0]}" for line, loc in lines]
        return "\n".join([f"{head}  # {self.f.name}, {self.f.file}:{self.f.line}", *body])

    def code(self) -> CodeType:
        """The function's code."""
        f, lines = self.f, self.write()
        made = compile("\n".join([line for line, _ in lines]), f.file, "exec", dont_inherit=True)
        [code] = [c for c in made.co_consts if isinstance(c, CodeType)]
        own = f.source_name.rpartition(".")[2] or f.name
        wanted = [0 if 0 < n <= self.first else loc[0] for n, (_, loc) in enumerate(lines)]
        code = code.replace(co_name=own, co_firstlineno=f.line, co_linetable=_places(code, f.line, wanted))
        return code.replace(co_qualname=f.source_name or f.name)

    # -- pieces -------------------------------------------------------------------------------
    def put(self, text: str) -> None:
        """A line."""
        self.lines.append((f"{'    ' * self.depth}{text}", self.loc))

    def name(self, value: Value) -> str:
        """A new name for a value."""
        made = self.names[value] = f"__{len(self.names)}"
        return made

    def given(self, op: Op) -> list[str]:
        """The operands."""
        return [self.names[v] for v in op.operands]

    def here(self, loc: Loc) -> Loc:
        """A place in the function's file: of code of another file, that of the call."""
        if len(loc) == 2 or loc[2].file == self.f.file:
            return loc
        return self.here(loc[3])

    def block(self, region: Region) -> None:
        """A region's lines, deeper by one."""
        self.depth += 1
        before = len(self.lines)
        self.region(region)
        if len(self.lines) == before:
            self.put("pass")
        self.depth -= 1

    def region(self, region: Region, at: Loc | None = None) -> None:
        """A region's lines; ``at`` is the place of all of them, where they are not at their own."""
        for op in region.ops:
            self.loc = at or self.here(op.loc)
            write = _WRITE.get(op.name)
            if write is not None:
                write(self, op)
                continue
            text = expression(op, self.given(op))
            assert text is not None, op.name
            self.put(f"{self.name(op.result)} = {text}")

    # -- values -------------------------------------------------------------------------------
    def constant(self, op: Op) -> None:
        """A number is written where it is used; one with a type of NumPy's has a name."""
        value, t = op.number_attr("value"), op.result.type
        if isinstance(t.scalar, IntType) and t.scalar is not I1:
            half = 1 << t.scalar.bits - 1
            value = (int(value) + half & 2 * half - 1) - half
        if not isinstance(t.scalar, FloatType) and t.lanes == 1:
            self.names[op.result] = str(bool(value)) if t is I1 else f"({int(value)})"
            return
        key = (kind_of(t.scalar), value if t.scalar is not I1 else bool(value), t.lanes)
        name = f"__c{len(self.floats)}"
        self.floats[name] = key
        self.names[op.result] = name

    def slot(self, op: Op) -> None:
        """A variable of Python's."""
        self.put(f"{self.name(op.result)} = {_zero(op.type_attr('elem_type'))}")

    def get(self, op: Op) -> None:
        self.put(f"{self.name(op.result)} = {self.names[op.operands[0]]}")

    def set(self, op: Op) -> None:
        slot, value = op.operands
        self.put(f"{self.names[slot]} = {self.names[value]}")
        view = self.views.get(slot)
        if view is not None:
            self.put(f"{view[0]} = {view[1]}")

    def named(self, op: Op) -> None:
        """The user's variable."""
        name, given = str(op.attrs["name"]), self.given(op)
        text = shown(json.loads(str(op.attrs["shown"])), iter(given))
        for value in op.operands:
            if isinstance(value.owner, Op) and value.owner.name == "weft.slot":
                self.views[value] = name, text
        self.put(f"{name} = {text}")

    # -- memory -------------------------------------------------------------------------------
    def alloca(self, op: Op) -> None:
        """Memory of the thread's own, as long as the function runs."""
        size = str(op.int_attr("count"))
        if op.operands:
            size = self.names[op.operands[0]]
        size = f"{size} * {stride(op.type_attr('elem_type'))}"
        name = self.name(op.result)
        self.put(f"{name}k, {name} = __take({size}, {op.attrs['alignment']})")

    def load(self, op: Op) -> None:
        address = self.names[op.operands[0]]
        self.put(f"{self.name(op.result)} = {loaded(op.result.type, address, op.int_attr('alignment'))}")

    def store(self, op: Op) -> None:
        address, value = self.given(op)
        for line in stored(op.operands[1].type, address, value, op.int_attr("alignment")):
            self.put(line)

    def atomicrmw(self, op: Op) -> None:
        address, value = self.given(op)
        for line in updated(op, address, value, self.name(op.result)):
            self.put(line)

    def cmpxchg(self, op: Op) -> None:
        address, expected, value = self.given(op)
        found, done = (self.name(r) for r in op.results)
        for line in exchanged(op, address, expected, value, found, done):
            self.put(line)

    def statement(self, op: Op) -> None:
        """The user's line, which Python leaves out where the next does something there."""
        self.put("pass")

    def fence(self, op: Op) -> None:
        """Nothing is to be done: one thread runs at a time."""

    # -- control flow -------------------------------------------------------------------------
    def branch(self, op: Op) -> None:
        self.asks(op, op.operands)
        if self.around is not None and any(map(leaves, op.regions)):
            self.asks(self.around, op.operands, at=op)
        self.put(f"if {self.names[op.operands[0]]}:")
        self.block(op.regions[0])
        if op.regions[1].ops:
            self.loc = self.here(op.loc)
            self.put("else:")
            self.block(op.regions[1])

    def loop(self, op: Op) -> None:
        self.asks(op, op.operands)
        lower, upper, step = self.given(op)
        index = self.name(op.regions[0].args[0])
        self.put(f"for {index} in __range({lower}, {upper}, {step}):")
        self.rounds(op, op.regions[0])

    def rounds(self, op: Op, body: Region) -> None:
        before, self.around = self.around, op
        self.block(body)
        self.around = before

    def repeat(self, op: Op) -> None:
        condition, body = op.regions
        spins, again = self.module.spins(op), f"__r{len(self.lines)}"
        if spins:
            self.put(f"{again} = False")
        self.put("while True:")
        self.depth += 1
        if spins:
            self.put(f"if {again}: yield __at('turn', {self.place(op)})")
            self.put(f"{again} = True")
        self.region(Region(condition.args, condition.ops[:-1]))
        self.loc = self.here(condition.ops[-1].loc)
        self.asks(op, condition.ops[-1].operands)
        self.put(f"if not {self.names[condition.ops[-1].operands[0]]}: break")
        self.depth -= 1
        self.rounds(op, body)

    def leave(self, op: Op) -> None:
        self.put(op.name.removeprefix("weft."))

    def returned(self, op: Op) -> None:
        given = self.given(op)
        self.put(f"return {given[0]}" if len(given) == 1 else f"return {', '.join(given)}")

    def call(self, op: Op) -> None:
        callee = str(op.attrs["callee"])
        wait = "yield from " if callee in self.waiting else ""
        self.results(op, f"{wait}{self.functions[callee]}({', '.join(['__t', *self.given(op)])})")

    def foreign(self, op: Op) -> None:
        """What only native code does."""
        name, given = self.module.natives.of(op)
        self.results(op, f"{name}({', '.join([self.names[v] for v in given])})")

    def results(self, op: Op, text: str) -> None:
        """A call that gives all of an operation's results."""
        names = [self.name(r) for r in op.results]
        self.put(f"{', '.join(names)} = {text}" if names else text)

    # -- threads and the host ------------------------------------------------------------------
    def barrier(self, op: Op) -> None:
        """Wait for the others."""
        group = group_of(op)
        self.module.meets.add(group)
        self.put(f"yield __at({group!r}, {self.place(op)})")

    def some_meet(self, op: Op) -> None:
        """Come to a barrier of some threads, and wait until they have."""
        number, threads, name = op.attrs["number"], op.attrs["threads"], f"__r{len(self.lines)}"
        self.put(f"{name} = __t.arrive({number}, {threads})")
        if not op.attrs["arrives"]:
            self.put(f"while __t.waits({number}, {name}): yield __at('turn', {self.place(op)})")

    def shuffle(self, op: Op) -> None:
        """Wait for the lanes of the warp, and take what another has, or one bit of each."""
        given = f"({', '.join(self.given(op))},)"
        self.put(f"{self.name(op.result)} = yield __at('warp', {self.place(op)}, share={given})")

    def warp_call(self, op: Op) -> None:
        """Wait for the lanes of the warp, and take what is made of what all of them have."""
        callee, *values = self.given(op)
        call = f"({self.module.natives.of_warp(op)}, {callee})"
        share = f"({', '.join(values)},)"
        self.put(f"{self.name(op.result)} = yield __at('warp', {self.place(op)}, share={share}, call={call})")

    def asks(self, op: Op, values: Sequence[Value], *, at: Op | None = None) -> None:
        """Before a decision about a barrier: all threads must take it alike; ``at`` is what decides."""
        found = self.module.barrier(self.f, op)
        if found is not None:
            group, *barrier = found
            place = f"{group!r}, {self.place(at or op)}, {tuple(barrier)!r}"
            for value in values:
                if not isinstance(value.owner, Op) or value.owner.name != "arith.constant":
                    self.put(f"yield __at({place}, {self.names[value]})")

    def place(self, op: Op) -> str:
        """File, line and column, in the user's code."""
        return repr(places_of(self.f, op.loc)[0][0])

    def told(self, op: Op) -> None:
        self.put(f"__t.tell({', '.join([str(op.attrs['site']), *self.given(op)])})")

    def asserts(self, op: Op) -> None:
        condition, *words = self.given(op)
        self.put(f"if not {condition}:")
        self.put(f"    __t.fault({', '.join([str(op.attrs['site']), *words])})")
        self.put("    __t.end()")

    def failed(self, op: Op) -> None:
        every = ["every=True"] if op.attrs.get("every") else []
        self.put(f"__t.fault({', '.join([str(op.attrs['site']), *self.given(op), *every])})")

    def faults(self, op: Op) -> None:
        self.put(f"{self.name(op.result)} = __t.faults({op.attrs['site']})")

    def ends(self, op: Op) -> None:
        self.put("__t.end()")

    def stop(self, op: Op) -> None:
        self.put("__hook()()")

    def unreachable(self, op: Op) -> None:
        self.put("__unreachable()")


def _places(code: CodeType, first: int, wanted: Sequence[int]) -> bytes:
    """A table that says of each line of the code which one it is of; of 0 no debugger stops there.

    Its form is that of ``Objects/locations.md`` in CPython since 3.11; columns are left out.
    """
    made, before = bytearray(), first
    for start, end, own in code.co_lines():
        line = wanted[own - 1] if own else 0
        for length in [min(8, n) for n in range((end - start) // 2, 0, -8)]:
            if not line:
                made.append(0x80 | 15 << 3 | length - 1)
                continue
            made.append(0x80 | 13 << 3 | length - 1)
            moved, before = line - before, line
            number = -moved << 1 | 1 if moved < 0 else moved << 1
            while number > 63:
                made.append(number & 63 | 64)
                number >>= 6
            made.append(number)
    return bytes(made)


def _looks(ops: Sequence[Op]) -> bool:
    """Whether operations read what other threads write meanwhile, and do something with it."""
    used = {v for op in ops for v in op.operands}
    return any(
        op.spec.sync is not None and op.spec.sync(op) and not used.isdisjoint(op.results)
        for op in ops
        if op.name in _READS
    )


def _zero(t: Type) -> str:
    zero = (
        "False" if t.scalar is I1 else f"__{kind_of(t.scalar)}_0" if isinstance(t.scalar, FloatType) else "0"
    )
    return zero if t.lanes == 1 or isinstance(t, PointerType) else f"({zero},) * {t.lanes}"


_WRITE: dict[str, Callable[[_Writer, Op], None]] = {
    "arith.constant": _Writer.constant,
    "weft.slot": _Writer.slot,
    "weft.get": _Writer.get,
    "weft.set": _Writer.set,
    "weft.named": _Writer.named,
    "weft.statement": _Writer.statement,
    "weft.breakpoint": _Writer.stop,
    "llvm.alloca": _Writer.alloca,
    "llvm.load": _Writer.load,
    "llvm.store": _Writer.store,
    "llvm.atomicrmw": _Writer.atomicrmw,
    "llvm.cmpxchg": _Writer.cmpxchg,
    "llvm.fence": _Writer.fence,
    "weft.if": _Writer.branch,
    "weft.for": _Writer.loop,
    "weft.while": _Writer.repeat,
    "weft.break": _Writer.leave,
    "weft.continue": _Writer.leave,
    "weft.return": _Writer.returned,
    "func.call": _Writer.call,
    **dict.fromkeys(FOREIGN, _Writer.foreign),
    "gpu.barrier": _Writer.barrier,
    "gpu.meet": _Writer.barrier,
    "gpu.named_barrier": _Writer.some_meet,
    "gpu.shuffle": _Writer.shuffle,
    "gpu.ballot": _Writer.shuffle,
    "gpu.warp_call": _Writer.warp_call,
    "weft.print": _Writer.told,
    "weft.assert": _Writer.asserts,
    "weft.failed": _Writer.failed,
    "weft.faults": _Writer.faults,
    "weft.computed": _Writer.fence,
    "weft.exit_thread": _Writer.ends,
    "llvm.unreachable": _Writer.unreachable,
}
