"""One module on its way to LLVM IR: names, blocks, metadata, and what every operation's lowering needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.compiler.ir.core import Function, Global, Module, Op, Region, Value
from weft.compiler.ir.effects import unused
from weft.compiler.ir.ops import BINARY, CASTS, FUNCTIONS
from weft.compiler.ir.types import BF16, F32, PointerType, Type, vector
from weft.compiler.llvm.chosen_loads import chosen_loads
from weft.compiler.llvm.constants import string_text
from weft.compiler.llvm.counters import hidden_counters
from weft.compiler.llvm.debug import DebugInfo
from weft.compiler.llvm.symbols import function_symbol, global_symbol, kernel_symbol
from weft.targets import Target

_WIDENED = frozenset({f"arith.{n}" for n in ("addf", "subf", "mulf", "divf", "truncf")})
"""Operations on bfloat16 that a CPU does in single precision."""

FRAME = 64
"""What a thread keeps while others run begins at a multiple of so many bytes."""

Support = Callable[[str, Target], Mapping[str, str]]
"""The text of a function that is written in weft, by its name, and of what it declares."""


def no_support(name: str, target: Target) -> Mapping[str, str]:
    """For text that is only checked: nothing is there."""
    return {}


class Loop:
    """A loop around the code at hand: where ``break`` and ``continue`` go.

    ``thread`` is whether each round is a thread, ``block`` whether it is a block, ``few`` whether there are
    few, ``lanes`` whether they are those of a warp, ``pairs`` whether two vectors of them go side by side.
    ``group`` is the access group of a thread loop, whose iterations may run in any order; ``has_threads``
    says that one is within.
    """

    __slots__ = ("block", "exit", "few", "group", "has_threads", "lanes", "latch", "pairs", "thread")

    def __init__(
        self, latch: str, exit: str, *, thread: bool = False, block: bool = False, few: bool = False
    ) -> None:
        self.latch = latch
        self.exit = exit
        self.thread = thread
        self.block = block
        self.few = few
        self.lanes = False
        self.pairs = False
        self.group = ""
        self.has_threads = False


class Lowering:
    """One module under way; ``table`` says how operations lower that are not one instruction."""

    def __init__(
        self,
        table: LoweringTable,
        module: Module,
        target: Target,
        *,
        debug: bool,
        variables: bool = False,
    ) -> None:
        self.table = table
        self.module = module
        self.target = target
        numbers = target.spaces.items()
        self.spaces = {int(space): f"addrspace({number})" if number else "" for space, number in numbers}
        self.support: Support = no_support
        self.exports: Mapping[str, str] = {}
        """Functions that others call, each with its symbol."""
        self.debug = DebugInfo(module, variables=variables) if debug or variables else None
        self.declared: dict[str, str] = {}
        self.strings: dict[bytes, str] = {}
        self.metadata: list[str] = []
        self.nodes: dict[str, str] = {}
        self.out: list[str] = []
        self.names: dict[Value, str] = {}
        self.homes: dict[object, str] = {}
        """Of the function at hand, where variables lie for debuggers."""
        self.unused: set[Op] = set()
        """Of the function at hand, what is computed for nothing."""
        self.hidden: set[tuple[Op, int]] = set()
        """Of the function at hand, comparisons and the operand of each that LLVM is not to look into."""
        self.apart: Mapping[Op, int] = {}
        """Of the function at hand, loads from another space of addresses than others, and its number."""
        self.count = 0
        self.faults = 0
        """Sites of the module whose faults are counted, or that have smaller numbers than these."""
        self.label = ""
        self.done = False
        self.loops: list[Loop] = []
        self.dbg = ""
        self.result = "void"
        self.resumable = False

    # -- the module ---------------------------------------------------------------------------
    def run(self) -> str:
        """The module's text."""
        bodies: list[str] = []
        for function in self.module.functions:
            symbol = self.exports.get(function.name, "")
            bodies.append(self.function(function, "define dso_local" if symbol else "", symbol))
        if not self.target.converts_halves:
            self.convert_halves("\n".join(bodies))
        head = [f"source_filename = {string_text(self.module.name.encode(errors='replace'))}"]
        if self.target.triple:
            head.append(f'target triple = "{self.target.triple}"')
        head += [self.global_text(g) for g in self.module.globals]
        head += [
            f"{name} = private unnamed_addr constant [{len(data)} x i8] c{string_text(data)}"
            for data, name in self.strings.items()
        ]
        head += self.declared.values()
        tail = list(self.metadata)
        if self.debug is not None:
            tail += self.debug.finish()
        return "\n".join([*head, *bodies, *tail]) + "\n"

    def meta(self, text: str) -> str:
        """A metadata node; gives its reference."""
        name = self.nodes.get(text)
        if name is None:
            name = f"!{900000 + len(self.metadata)}"
            self.metadata.append(f"{name} = {text.replace('@self', name)}")
            if not text.startswith("distinct"):
                self.nodes[text] = name
        return name

    def global_text(self, g: Global) -> str:
        """Memory of the module, as LLVM declares it."""
        where, name = self.spaced("", g.space), global_symbol(g.name)
        if g.data is not None:
            return (
                f"@{name} = private unnamed_addr{where} constant [{len(g.data)} x i8] "
                f"c{string_text(g.data)}, align {g.align}"
            )
        if g.external:
            return f"@{name} = external{where} global [0 x {g.element.llvm}], align {g.align}"
        return f"@{name} = internal{where} global [{g.count} x {g.element.llvm}] undef, align {g.align}"

    def string(self, data: bytes) -> str:
        """A constant string, ended by 0; gives its name."""
        data += b"\0"
        name = self.strings.get(data)
        if name is None:
            name = self.strings[data] = f"@.str.{len(self.strings)}"
        return name

    def declare(self, name: str, result: str, args: str) -> None:
        """Declare an external function once."""
        if name not in self.declared:
            self.declared[name] = f"declare {result} @{name}({args})"

    def supported(self, name: str) -> str:
        """The symbol of a function that is written in weft, which the module has from now on."""
        if name not in self.declared:
            for symbol, text in self.support(name, self.target).items():
                self.declared.setdefault(symbol, text)
        return f"@{name}"

    def convert_halves(self, text: str) -> None:
        """Bring the conversions that LLVM may call for the 16-bit floats in a text."""
        for kind, short in (("half", "hf"), ("bfloat", "bf")):
            if kind in text:
                for source in "sd":
                    self.supported(f"__trunc{source}f{short}2")
        if "half" in text:
            self.supported("__extendhfsf2")

    def widened(self, op: Op, binary: str | None) -> None:
        """One of ``_WIDENED`` with a bfloat16 result, in single precision.

        LLVM would call a function for each lane, or take an instruction that knows no subnormals.
        """
        kind = op.result.type
        single = F32.llvm if kind.lanes == 1 else vector(kind.lanes, F32).llvm
        if binary is None and op.operands[0].type.scalar is not F32:
            self.set(op, f"fptrunc {self.typed(op.operands[0])} to {kind.llvm}")
            return
        wide = [self.ref(v) for v in op.operands]
        if binary is not None:
            for n, v in enumerate(op.operands):
                wide[n] = self.new()
                self.put(f"{wide[n]} = fpext {self.typed(v)} to {single}")
            made = self.new()
            self.put(f"{made} = {binary} {single} {', '.join(wide)}")
            wide = [made]
        self.set(op, f"call {kind.llvm} {self.supported(f'weft.rounded.{kind.lanes}')}({single} {wide[0]})")

    def type(self, t: Type) -> str:
        """The LLVM spelling of a type, pointers in the target's space."""
        return self.spaced("ptr", t.space) if isinstance(t, PointerType) else t.llvm

    def spaced(self, text: str, space: int, joint: str = " ") -> str:
        """The text and behind it the target's number of an address space, where that is not 0."""
        where = self.spaces[space]
        return f"{text}{joint}{where}" if where else text

    def alloca(self, what: str, kind: Type) -> str:
        """The instruction that takes memory of the function, with an address of that type."""
        assert isinstance(kind, PointerType)
        return self.spaced(f"alloca {what}", kind.space, ", ")

    def function(self, f: Function, define: str = "", symbol: str = "", attribute: str = "") -> str:
        """A function's text; ``define`` begins it where others than the module's code call it by a symbol."""
        self.out, self.names, self.count, self.loops, self.done = [], {}, 0, [], False
        self.homes, self.resumable = {}, f.resumable
        self.unused, self.hidden = unused(f.body), hidden_counters(f)
        self.apart = chosen_loads(f) if self.target.threads == "loops" else {}
        args: list[str] = []
        for n, a in enumerate(f.args):
            self.names[a] = f"%a{n}"
            alone = " noalias" if n in f.alone and isinstance(a.type, PointerType) else ""
            args.append(f"{self.type(a.type)}{alone} %a{n}")
        result = self.result = self.result_type(f.results)
        if f.kernel:
            symbol = kernel_symbol(f.name, self.target)
            head = f"define dso_local {self.target.kernel_convention} {result} @{symbol}"
            # Where threads are loops it takes blocks, and little time goes by in it but in LLVM.
            attributes = " noinline optnone nounwind" if self.target.threads == "loops" else " nounwind"
            for name, count in zip(self.target.bounds, (f.max_threads, f.min_blocks), strict=False):
                attributes += f' "{name}"="{count}"' if count else ""
        elif define:
            head, attributes = f"{define} {result} @{symbol}", f" {attribute} nounwind"
        else:
            rare = f"{self.target.rare_convention} " if f.rare else ""
            head, attributes = (
                f"define internal {rare}{result} @{function_symbol(f.name)}",
                " alwaysinline nounwind" if f.inline else " noinline nounwind",
            )
            attributes += " noimplicitfloat" if f.rare else ""  # no vectors: see Target.telling_convention
        if self.debug is not None and self.debug.variables:
            attributes = ' noinline optnone nounwind "frame-pointer"="all"'
        attributes += f"{self.convergent}{' presplitcoroutine' * f.resumable}"
        if self.target.cpu != "native":
            attributes += f' "target-cpu"="{self.target.cpu}"'
        debug = self.debug
        if debug is not None:
            attributes += f" !dbg {debug.enter(f)}"
            self.dbg = debug.location((f.line, 0)) if debug.variables else ""
        self.label = "entry"
        self.out.append("entry:")
        if f.resumable:
            self.resumed(f)
        else:
            self.region(f.body)
        body = "\n".join(self.out)
        return f"{head}({', '.join(args)}){attributes} {{\n{body}\n}}"

    def resumed(self, f: Function) -> None:
        """The body of a function that is left and gone on with: a coroutine of LLVM's, its frame memory."""
        declared = (
            ("id", "token", "i32, ptr, ptr, ptr"),
            ("size.i64", "i64", ""),
            ("begin", "ptr", "token, ptr"),
            ("suspend", "i8", "token, i1"),
            ("free", "ptr", "token, ptr"),
            ("end", "void", "ptr, i1, token"),
        )
        for name, result, args in declared:
            self.declare(f"llvm.coro.{name}", result, args)
        self.put(f"%coro.id = call token @llvm.coro.id(i32 {FRAME}, ptr null, ptr null, ptr null)")
        self.put("%coro.size = call i64 @llvm.coro.size.i64()")
        taken = self.take_memory("%coro.size", FRAME)
        self.put(f"%coro = call ptr @llvm.coro.begin(token %coro.id, ptr {taken})")
        self.put(f"store ptr %coro, {self.typed(f.args[-1])}, align 8")
        self.region(f.body)
        self.start("coro.end")
        self.put("%coro.memory = call ptr @llvm.coro.free(token %coro.id, ptr %coro)")
        self.give_memory("ptr %coro.memory")
        self.jump("coro.left")
        self.start("coro.left")
        self.put("call void @llvm.coro.end(ptr %coro, i1 false, token none)")
        self.put("ret void")

    def take_memory(self, size: str, alignment: int) -> str:
        """Memory from the runtime; its own address stands before the aligned one."""
        room, taken, behind, number, past, down, at, head = (self.new() for _ in range(8))
        self.declare("weft$take_memory", "noalias ptr", "i64")
        self.put(f"{room} = add i64 {size}, {8 + alignment}")
        self.put(f"{taken} = call noalias ptr @weft$take_memory(i64 {room})")
        self.put(f"{behind} = getelementptr i8, ptr {taken}, i64 {8 + alignment - 1}")
        self.put(f"{number} = ptrtoint ptr {behind} to i64")
        self.put(f"{past} = and i64 {number}, {alignment - 1}")
        self.put(f"{down} = sub i64 0, {past}")
        self.put(f"{at} = getelementptr i8, ptr {behind}, i64 {down}")
        self.put(f"{head} = getelementptr i8, ptr {at}, i64 -8")
        self.put(f"store ptr {taken}, ptr {head}, align 8")
        return at

    def give_memory(self, at: str) -> None:
        """Return it."""
        head, taken = self.new(), self.new()
        self.declare("weft$give_memory", "void", "ptr")
        self.put(f"{head} = getelementptr i8, {at}, i64 -8")
        self.put(f"{taken} = load ptr, ptr {head}, align 8")
        self.put(f"call void @weft$give_memory(ptr {taken})")

    @property
    def convergent(self) -> str:
        """What keeps LLVM from moving a barrier in a helper, or in assembly, behind a condition of threads.

        It copies a call otherwise, one for each side of a branch, and a warp whose threads part there waits
        at two barriers. Functions without any lose it when LLVM has looked into them.
        """
        return "" if self.target.threads == "loops" else " convergent"

    def result_type(self, types: tuple[Type, ...]) -> str:
        """The type that a function with these results gives."""
        if not types:
            return "void"
        if len(types) == 1:
            return self.type(types[0])
        return "{ " + ", ".join(self.type(t) for t in types) + " }"

    # -- pieces -------------------------------------------------------------------------------
    def new(self) -> str:
        """A fresh name for a value."""
        self.count += 1
        return f"%v{self.count}"

    def new_label(self, stem: str) -> str:
        """A fresh name for a basic block."""
        self.count += 1
        return f"{stem}{self.count}"

    def put(self, text: str) -> None:
        """One instruction."""
        self.out.append(f"  {text}{self.dbg}")

    def start(self, label: str) -> None:
        """Begin a basic block."""
        self.out.append(f"{label}:")
        self.label = label
        self.done = False

    def jump(self, label: str) -> None:
        """Leave the block, unless it is left already."""
        if not self.done:
            self.put(f"br label %{label}")
            self.done = True

    def ref(self, v: Value) -> str:
        """How instructions name a value."""
        return self.names[v]

    def typed(self, v: Value) -> str:
        """A value after its type."""
        return f"{self.type(v.type)} {self.names[v]}"

    def set(self, op: Op, text: str) -> None:
        """An instruction with the operation's result."""
        name = self.new()
        self.names[op.results[0]] = name
        self.put(f"{name} = {text}")

    def group(self) -> str:
        """The access group of the thread loop around, so that it may run in any order."""
        for loop in reversed(self.loops):
            if loop.group:
                return f", !llvm.access.group {loop.group}"
        return ""

    def region(self, region: Region) -> None:
        """The operations of a region, here."""
        contract, table = self.target.contract, self.table
        widens = not self.target.converts_halves
        before, debug = self.dbg, self.debug
        if debug is not None and debug.variables:
            debug = None  # there statements say where they are
        for op in region.ops:
            if op in self.unused:
                continue
            if debug is not None:
                self.dbg = debug.location(op.loc)
            name = op.spec.name
            binary = BINARY.get(name)
            if widens and name in _WIDENED and op.result.type.scalar is BF16:
                self.widened(op, binary)
                continue
            if binary is not None:
                a, c = op.operands
                allowed = op.attrs.get("fastmath", "none")
                if name == "arith.divf" and allowed == "contract":
                    allowed = "none"  # of a division by 2 LLVM makes a product, but nobody asked for one
                flags = "" if allowed == "none" else f" {allowed}".replace(",", " ")
                text = f"{binary}{flags} {a.type.llvm} {self.names[a]}, {self.names[c]}"
                if contract and name in ("arith.mulf", "arith.divf") and not flags:
                    text = self.fenced(text, a.type)
                self.set(op, text)
                continue
            function = FUNCTIONS.get(name)
            if function is not None:
                self.intrinsic(op, f"llvm.{function}.{op.result.type.suffix}")
                continue
            cast = CASTS.get(name)
            if cast is not None:
                self.set(op, f"{cast} {self.typed(op.operands[0])} to {self.type(op.result.type)}")
                continue
            table[name](self, op)
        if debug is None:
            self.dbg = before

    def fenced(self, product: str, type: Type) -> str:
        """A product kept apart: of ``z - x * y`` LLVM makes an fma where only the difference allows it."""
        name = self.new()
        self.put(f"{name} = {product}")
        fence = f"llvm.arithmetic.fence.{type.suffix}"
        self.declare(fence, type.llvm, type.llvm)
        return f"call {type.llvm} @{fence}({type.llvm} {name})"

    def intrinsic(self, op: Op, name: str) -> None:
        """A call of an LLVM intrinsic that has one result and no flags."""
        self.declare(name, op.result.type.llvm, ", ".join([v.type.llvm for v in op.operands]))
        self.set(op, f"call {op.result.type.llvm} @{name}({self.args(op)})")

    def calls(self, op: Op, callee: str, args: str, tail: str = "", convention: str = "") -> None:
        """A call whose several results come back in a struct."""
        types = tuple(r.type for r in op.results)
        result = self.result_type(types)
        call = " ".join(filter(None, ("call", convention, result, f"{callee}({args}){tail}")))
        if not types:
            self.put(call)
            return
        name = self.new()
        self.put(f"{name} = {call}")
        if len(types) == 1:
            self.names[op.results[0]] = name
            return
        for n, r in enumerate(op.results):
            self.names[r] = self.new()
            self.put(f"{self.names[r]} = extractvalue {result} {name}, {n}")

    def scratch(self, slots: int) -> str:
        """Memory for that many 8-byte slots, taken once per function, not per iteration."""
        name = self.new()
        self.out.insert(1, f"  {name} = alloca i64, i64 {slots}, align 8")
        return name

    def args(self, op: Op) -> str:
        """An operation's operands with their types, as a list of arguments."""
        return ", ".join(self.typed(v) for v in op.operands)


Lower = Callable[[Lowering, Op], None]
LoweringTable = Mapping[str, Lower]
"""How each operation lowers, by its name."""
