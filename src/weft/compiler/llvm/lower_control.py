"""Lowering of control flow, constants, comparisons and calls."""

from __future__ import annotations

from collections.abc import Callable

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import VectorType
from weft.compiler.llvm.constants import number_text, string_text
from weft.compiler.llvm.lowering import Loop, Lowering, LoweringTable
from weft.compiler.llvm.symbols import function_symbol


def _constant(lw: Lowering, op: Op) -> None:
    kind = op.result.type
    text = number_text(op.number_attr("value"), kind)
    lw.names[op.result] = f"splat ({kind.scalar.llvm} {text})" if isinstance(kind, VectorType) else text


def _compare(lw: Lowering, op: Op) -> None:
    a, c = op.operands
    name = "icmp" if op.name == "arith.cmpi" else "fcmp"
    if (op, 0) in lw.hidden or (op, 1) in lw.hidden:
        kind = "i64" if a.type.bits > 32 else "i32"
        lw.set(op, f"{name} {op.attrs['predicate']} {kind} {_hidden(lw, op, 0)}, {_hidden(lw, op, 1)}")
    else:
        lw.set(op, f"{name} {op.attrs['predicate']} {lw.typed(a)}, {lw.ref(c)}")


def _hidden(lw: Lowering, op: Op, n: int) -> str:
    """An operand in 32 or 64 bits, behind assembly of no instruction if LLVM is not to look into it."""
    given, bits = lw.ref(op.operands[n]), op.operands[n].type.bits
    if bits < 32:
        wide = lw.new()
        lw.put(f"{wide} = sext {lw.typed(op.operands[n])} to i32")
        given = wide
    return _opaque(lw, "i64" if bits > 32 else "i32", given) if (op, n) in lw.hidden else given


def _opaque(lw: Lowering, kind: str, given: str) -> str:
    """A value of 32 or 64 bits behind assembly of no instruction: LLVM does not look into it."""
    name = lw.new()
    lw.put(f'{name} = call {kind} asm "", "={lw.target.registers.get(kind, "r")},0"({kind} {given})')
    return name


def _select(lw: Lowering, op: Op) -> None:
    c, a, b = op.operands
    lw.set(op, f"select {lw.typed(c)}, {lw.typed(a)}, {lw.typed(b)}")


def _negf(lw: Lowering, op: Op) -> None:
    lw.set(op, f"fneg {lw.typed(op.operands[0])}")


def _if(lw: Lowering, op: Op) -> None:
    then, other, end = lw.new_label("then"), lw.new_label("else"), lw.new_label("endif")
    has_else = bool(op.regions[1].ops)
    lw.put(f"br i1 {lw.ref(op.operands[0])}, label %{then}, label %{other if has_else else end}")
    for label, region in ((then, op.regions[0]), (other, op.regions[1])):
        if label == other and not has_else:
            continue
        lw.start(label)
        lw.region(region)
        lw.jump(end)
    lw.start(end)


def _far_from_the_end(v: Value) -> bool:
    """Whether an integer is certain to be so far inside of its type that such a step does not leave it."""
    known = integer(v)
    if known is not None:
        return abs(known) < 1 << (v.type.bits - 2)
    return isinstance(v.owner, Op) and v.owner.name in ("arith.extsi", "arith.extui")


def _steps(lw: Lowering, op: Op) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """What tells of an index whether it lies before the end, and whether the next one does."""
    _, upper, step = op.operands
    kind, known = upper.type.llvm, integer(step)
    up = down = "true"
    if known is None:
        up, down = lw.new(), lw.new()
        lw.put(f"{up} = icmp sgt {kind} {lw.ref(step)}, 0")
        lw.put(f"{down} = icmp slt {kind} {lw.ref(step)}, 0")

    def compared(predicate: str, a: str, c: str) -> str:
        found = lw.new()
        lw.put(f"{found} = icmp {predicate} {kind} {a}, {c}")
        return found

    def either(rising: Callable[[], str], falling: Callable[[], str]) -> str:
        if known is not None:
            return rising() if known > 0 else falling()
        less, more, back, go = rising(), falling(), lw.new(), lw.new()
        lw.put(f"{back} = and i1 {down}, {more}")  # a step of 0 goes nowhere
        lw.put(f"{go} = select i1 {up}, i1 {less}, i1 {back}")
        return go

    def inside(index: str) -> str:
        end = lw.ref(upper)
        return either(lambda: compared("slt", index, end), lambda: compared("sgt", index, end))

    def goes_on(index: str) -> str:
        left = lw.new()
        lw.put(f"{left} = sub {kind} {lw.ref(upper)}, {index}")  # of the same sign as the step, and not 0
        size = lw.ref(step)
        return either(lambda: compared("ugt", left, size), lambda: compared("ult", left, size))

    return inside, goes_on


def _last_round(lw: Lowering, op: Op) -> str:
    """The number of the last round of a loop, from 0, which has one: LLVM knows loops that count."""
    lower, upper, step = (lw.ref(v) for v in op.operands)
    kind, known = op.operands[1].type.llvm, integer(op.operands[2])

    def made(text: str, role: str = "") -> str:
        name = lw.new() + role
        lw.put(f"{name} = {text}")
        return name

    def far(first: str, last: str, size: str) -> str:
        """How often ``size`` goes into the way from ``first`` to before ``last``, all without a sign."""
        way = made(f"sub {kind} {last}, {first}")
        return made(f"udiv {kind} {made(f'add {kind} {way}, -1')}, {size}", ".rounds")

    if known is not None:
        return far(lower, upper, step) if known > 0 else far(upper, lower, str(-known))
    up = made(f"icmp sgt {kind} {step}, 0")
    first = made(f"select i1 {up}, {kind} {lower}, {kind} {upper}")
    last = made(f"select i1 {up}, {kind} {upper}, {kind} {lower}")
    size = made(f"select i1 {up}, {kind} {step}, {kind} {made(f'sub {kind} 0, {step}')}")
    return far(first, last, size)


def _for(lw: Lowering, op: Op) -> None:
    lower, upper, step = op.operands
    kind, unit = lower.type.llvm, integer(step) in (1, -1)
    head, body, latch, end = (lw.new_label(s) for s in ("for", "body", "latch", "endfor"))
    thread = op.attrs["parallel"] is True
    inside, goes_on = _steps(lw, op)
    near = not unit and not (_far_from_the_end(upper) and _far_from_the_end(step))
    counts = near and integer(step) != 0 and lw.target.threads == "loops"  # a GPU takes long to divide
    turned = near or thread  # asked behind each round: so LLVM has it in the end, and would turn it itself
    first = body if turned else head
    last, count, counted = "", lw.new(), lw.new()
    if counts:
        rounds = lw.new_label("rounds")
        lw.put(f"br i1 {inside(lw.ref(lower))}, label %{rounds}, label %{end}")
        lw.start(rounds)
        last = _last_round(lw, op)
    before, index, following = lw.label, lw.new(), lw.new()
    if counts:
        lw.jump(body)
        lw.start(body)
        lw.put(f"{count} = phi {kind} [ 0, %{before} ], [ {counted}, %{latch} ]")
    elif turned:
        lw.put(f"br i1 {inside(lw.ref(lower))}, label %{body}, label %{end}")
        lw.start(body)
    else:
        lw.jump(head)
        lw.start(head)
    lw.put(f"{index} = phi {kind} [ {lw.ref(lower)}, %{before} ], [ {following}, %{latch} ]")
    if not turned:
        seen = _opaque(lw, kind, index) if (op, 1) in lw.hidden else index
        lw.put(f"br i1 {inside(seen)}, label %{body}, label %{end}")
        lw.start(body)
    lw.names[op.regions[0].args[0]] = index
    loop = Loop(latch, end, thread=thread, few="few" in op.attrs)
    loop.pairs = "pairs" in op.attrs
    loop.lanes = thread and (integer(upper) is not None or "strip" in op.attrs)
    if thread:
        loop.group = lw.meta("distinct !{}")
    lw.loops.append(loop)
    lw.region(op.regions[0])
    lw.loops.pop()
    lw.jump(latch)
    tail = _about(lw, loop)
    lw.start(latch)
    more = ""
    if counts:
        more = lw.new()
        lw.put(f"{more} = icmp ult {kind} {count}, {last}")
        lw.put(f"{counted} = add nuw {kind} {count}, 1")
    elif near:
        more = goes_on(index)
    # one past the last round may leave the type, where nobody looks at it
    inner = unit or counts or lw.target.threads == "loops"
    lw.put(f"{following} = add {'nsw ' if inner else ''}{kind} {index}, {lw.ref(step)}")
    if thread:
        more = inside(following)
    again = f"i1 {more}, label %{first}, label %{end}" if more else f"label %{first}"
    lw.put(f"br {again}{tail}")
    lw.start(end)


_COPIES = '!{!"llvm.loop.unroll.disable"}'
_PAIRS = '!{!"llvm.loop.interleave.count", i32 2}'
_ALIGNED = '!{!"llvm.loop.align", i32 32}'
"""A short loop over two lines of the processor's decoded instructions takes a tenth longer."""


def _about(lw: Lowering, loop: Loop) -> str:
    """What LLVM is told of a loop: that its rounds are threads, or that they are not to be copied.

    Vectors are made of each copy of the threads' loops within, which takes much of LLVM's time.
    """
    if loop.thread:
        for around in lw.loops:
            around.has_threads = True
    if loop.few:
        said = ['!{!"llvm.loop.vectorize.enable", i1 false}', _COPIES]
    elif loop.thread:
        said = [f'!{{!"llvm.loop.parallel_accesses", {loop.group}}}', _ALIGNED]
        if loop.pairs:
            said.append(_PAIRS)
        if loop.lanes:  # else LLVM copies all rounds before it would make vectors of them
            said.append(_COPIES)
    elif loop.has_threads:
        said = [_COPIES]
    else:
        return ""
    parts = ", ".join(["@self", *map(lw.meta, said)])
    return f", !llvm.loop {lw.meta(f'distinct !{{{parts}}}')}"


def _while(lw: Lowering, op: Op) -> None:
    head, body, end = (lw.new_label(s) for s in ("while", "do", "endwhile"))
    lw.jump(head)
    lw.start(head)
    condition = op.regions[0].ops[-1]
    region = op.regions[0]
    lw.region(type(region)(region.args, region.ops[:-1]))
    lw.put(f"br i1 {lw.ref(condition.operands[0])}, label %{body}, label %{end}")
    lw.start(body)
    loop = Loop(head, end, block="blocks" in op.attrs)
    lw.loops.append(loop)
    lw.region(op.regions[1])
    lw.loops.pop()
    if not lw.done:
        lw.put(f"br label %{head}{_about(lw, loop)}")
        lw.done = True
    lw.start(end)


def _break(lw: Lowering, op: Op) -> None:
    lw.jump(lw.loops[-1].exit)


def _continue(lw: Lowering, op: Op) -> None:
    lw.jump(lw.loops[-1].latch)


def _exit_block(lw: Lowering, op: Op) -> None:
    lw.jump(next(loop for loop in reversed(lw.loops) if loop.block).latch)


def _return(lw: Lowering, op: Op) -> None:
    values = op.operands
    if lw.resumable:
        lw.jump("coro.end")
    elif not values:
        lw.put("ret void")
    elif len(values) == 1:
        lw.put(f"ret {lw.typed(values[0])}")
    else:
        kind = lw.result_type(tuple(v.type for v in values))
        built = "poison"
        for n, v in enumerate(values):
            name = lw.new()
            lw.put(f"{name} = insertvalue {kind} {built}, {lw.typed(v)}, {n}")
            built = name
        lw.put(f"ret {kind} {built}")
    lw.done = True


def _unreachable(lw: Lowering, op: Op) -> None:
    if not lw.done:
        lw.put("unreachable")
        lw.done = True


def _call(lw: Lowering, op: Op) -> None:
    name = str(op.attrs["callee"])
    convention = lw.target.rare_convention if lw.module.function(name).rare else ""
    lw.calls(op, f"@{function_symbol(name)}", lw.args(op), lw.group(), convention)


def _address_of_function(lw: Lowering, op: Op) -> None:
    lw.names[op.result] = f"@{function_symbol(str(op.attrs['callee']))}"


def _call_c(lw: Lowering, op: Op) -> None:
    """A function of C, by its name or by a pointer to it."""
    if "callee" not in op.attrs:
        callee, *given = op.operands
        lw.calls(op, lw.ref(callee), ", ".join([lw.typed(v) for v in given]))
        return
    effects = str(op.attrs["effects"])
    tail = f" memory({effects}) nounwind willreturn" if effects in ("none", "read") else ""
    name = str(op.attrs["callee"])
    types = ", ".join([lw.type(v.type) for v in op.operands])
    lw.declare(name, lw.result_type(tuple([r.type for r in op.results])), types)
    lw.calls(op, f"@{name}", lw.args(op), tail)


def _intrinsic(lw: Lowering, op: Op) -> None:
    name = str(op.attrs["intrin"])
    types = tuple(r.type for r in op.results)
    flags = [_flag(name, n) for n in range(len(op.operands))]
    lw.declare(
        name,
        lw.result_type(types),
        ", ".join(lw.type(v.type) + f for v, f in zip(op.operands, flags, strict=True)),
    )
    lw.calls(op, f"@{name}", lw.args(op))


def _saturating(lw: Lowering, op: Op) -> None:
    kind, source = op.result.type, op.operands[0].type
    lw.intrinsic(op, f"{op.name.replace('.intr', '')}.{kind.suffix}.{source.suffix}")


_IMMEDIATE = {"llvm.abs": (1,), "llvm.ctlz": (1,), "llvm.cttz": (1,), "llvm.prefetch": (1, 2, 3)}


def _flag(name: str, argument: int) -> str:
    stem = ".".join(name.split(".")[:2])
    return " immarg" if argument in _IMMEDIATE.get(stem, ()) else ""


def _asm(lw: Lowering, op: Op) -> None:
    side = "sideeffect " if op.attrs["effects"] != "none" else ""
    text, constraints = (string_text(str(op.attrs[a]).encode()) for a in ("asm_string", "constraints"))
    lw.calls(op, f"asm {side}{text}, {constraints}", lw.args(op), lw.convergent if side else "")


LOWER: LoweringTable = {
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.select": _select,
    "arith.negf": _negf,
    "weft.if": _if,
    "weft.for": _for,
    "weft.while": _while,
    "weft.break": _break,
    "weft.continue": _continue,
    "weft.exit_block": _exit_block,
    "weft.return": _return,
    "llvm.unreachable": _unreachable,
    "func.call": _call,
    "func.constant": _address_of_function,
    "llvm.call": _call_c,
    "llvm.call_intrinsic": _intrinsic,
    "llvm.inline_asm": _asm,
    "llvm.intr.fptosi.sat": _saturating,
    "llvm.intr.fptoui.sat": _saturating,
}
