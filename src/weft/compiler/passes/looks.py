"""Loops in which threads wait for other blocks: where they look at memory, they count and let others run.

The runtime is told now and then what a thread sees (``runtime/cpu/waiting.py``): it starts further blocks
meanwhile, and knows when nothing changes any more.
"""

from __future__ import annotations

from weft.abi.cpu_launch import TOLD
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Attribute, Function, Module, Op, Region, Value
from weft.compiler.ir.effects import reads_anew
from weft.compiler.ir.looks import calls_in_loops, is_open, is_vain, looks_of, may_look, tells
from weft.compiler.ir.types import I8, I16, I32, I64, SLOT, PointerType, Type
from weft.compiler.passes.inline_barriers import inline
from weft.compiler.passes.waits import place_text

_OFTEN = 64
"""After so many looks others run."""
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
_INTS = {kind.bits: kind for kind in (I8, I16, I32, I64)}


def note_looks(module: Module) -> None:
    """Put a ``weft.look`` behind each look at memory in a loop that may wait for it, in place."""
    if not any(f.kernel and may_look(module, f) for f in module.functions):
        return
    called = module.reaching(calls_in_loops(module.functions))
    inline(module, lambda f: f.name in called and any(map(reads_anew, f.body.walk())))
    ops = [op for f in module.functions for op in f.body.walk()]
    pointed = {str(op.attrs["callee"]) for op in ops if op.name == "func.constant"}
    known = {f.name for name in pointed for f in module.reached(module.function(name))}
    for f in module.functions:
        if f.name in known:  # C calls it, who does not know which thread it is
            continue
        for loop in [*filter(is_open, f.body.walk())]:
            if loop.attrs.get("waits") not in ("block", "together"):
                _Loop(f, loop).rewrite()


class _Loop:
    """One loop that may wait."""

    def __init__(self, f: Function, loop: Op) -> None:
        self.looks = {*looks_of(loop)}
        self.f, self.loop, self.b = f, loop, Builder()
        inner = [op for region in loop.regions for op in region.walk()]
        given = [op for op in inner if op.name == "weft.set"]
        self.variables: dict[Value, Type] = {op.operands[0]: op.operands[1].type for op in given}
        self.vain = is_vain(loop)
        self.attrs: dict[str, Attribute] = {"place": place_text(f, loop, "loop")}
        self.told = TOLD
        if any(op.attrs.get("callee") == "weft.enter" for op in f.body.walk()):  # blocks go on in turns
            self.attrs["every"], self.told = True, _OFTEN

    def rewrite(self) -> None:
        """Do it, where it looks at all."""
        if not self.looks:
            return
        self.b.function, self.b.loc = self.f, self.loop.loc
        self.count = self.b.prologue("weft.slot", SLOT, {"elem_type": I64, "name": "looks"})
        for region in self.loop.regions:
            self.within(region)
        self.around(self.f.body)

    def around(self, region: Region) -> None:
        """Begin to count before the loop, and tell behind it that the thread goes on."""
        b = self.b
        for n, op in enumerate(region.ops):
            if op is self.loop:
                with b.into(Region()) as before:
                    b.set(self.count, b.constant(0, I64))
                with b.into(Region()) as behind:
                    self.goes_on()
                region.ops[n : n + 1] = [*before.ops, op, *behind.ops]
                return
            for inner in op.regions:
                self.around(inner)

    def within(self, region: Region) -> None:
        """Look again, or leave."""
        b, made = self.b, Region()
        with b.into(made):
            for op in region.ops:
                b.live = True
                for inner in op.regions:
                    self.within(inner)
                if op.name in ("weft.return", "weft.exit_thread"):
                    self.goes_on()
                made.ops.append(op)
                if op in self.looks:
                    self.look(op.results[0])
                elif tells(op):  # it looked at what is not there
                    self.look(self.b.constant(0, I64))
        region.ops[:] = made.ops

    def look(self, seen: Value) -> None:
        """Count, and at times let others run."""
        b = self.b
        count = b.arith("addi", b.get(self.count, I64), b.constant(1, I64))
        b.set(self.count, count)
        low = b.arith("andi", count, b.constant(_OFTEN - 1, I64))
        with b.into(Region()) as often:
            self.tell(count, self.digest(seen, count))
        b.branch(b.compare("eq", low, b.constant(0, I64)), often)

    def goes_on(self) -> None:
        """Tell that the thread waits no longer, if it was told that it does."""
        b = self.b
        zero = b.constant(0, I64)
        with b.into(Region()) as told:
            self.tell(zero, zero)
        b.branch(b.compare("sge", b.get(self.count, I64), b.constant(self.told, I64)), told)

    def tell(self, count: Value, digest: Value) -> None:
        self.b.emit("weft.look", (count, digest), (), self.attrs)

    def digest(self, seen: Value, count: Value) -> Value:
        """A number that stays the same for as long as nothing has changed; else the count."""
        b = self.b
        values = [seen, *(b.get(slot, kind) for slot, kind in self.variables.items())]
        bits = [_bits(b, v) for v in values]
        if not self.vain or None in bits:
            return count
        made = b.constant(0, I64)
        for each in bits:
            assert each is not None
            made = b.arith("muli", b.arith("addi", made, each), b.constant(_MIX, I64))
        return made


def _bits(b: Builder, v: Value) -> Value | None:
    """A value as an integer, if it is no longer than that."""
    if isinstance(v.type, PointerType):
        return b.value("llvm.ptrtoint", (v,), I64)
    kind = _INTS.get(v.type.bits)
    if v.type.bits < 8:
        return b.value("arith.extui", (v,), I64) if v.type.lanes == 1 else None
    if kind is None:
        return None
    whole = v if v.type is kind else b.value("arith.bitcast", (v,), kind)
    return whole if kind is I64 else b.value("arith.extui", (whole,), I64)
