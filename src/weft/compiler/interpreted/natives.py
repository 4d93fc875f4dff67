"""What Python has no word for: intrinsics, assembly, functions of C. Each becomes a compiled function.

It takes the addresses of its operands' bytes and of its results', which lie one behind the other.
"""

from __future__ import annotations

from weft.abi.program import Form
from weft.abi.warp import WARP
from weft.compiler.interpreted.expressions import kind_of
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_module
from weft.compiler.ir.constants import constant
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I1, I8, I64, AddressSpace, Type, pointer
from weft.compiler.llvm.emit import emit
from weft.compiler.llvm.lower import LOWER
from weft.compiler.llvm.lowering import Lowering
from weft.compiler.support import support
from weft.targets import Target

FOREIGN = frozenset({"llvm.call_intrinsic", "llvm.inline_asm", "llvm.call", "func.constant"})
_UNKNOWN = frozenset({"weft.named", "weft.statement", "weft.breakpoint"})
_P = pointer(AddressSpace.GENERIC)


def form_of(types: tuple[Type, ...]) -> Form:
    """How the runtime packs values of these types."""
    return tuple([(kind_of(t.scalar), t.lanes) for t in types])


def size_of(t: Type) -> int:
    """Bytes of a value."""
    return -(-t.bits // 8)


class Natives:
    """Such functions of a module, one for each kind of operation."""

    def __init__(self) -> None:
        self.made: dict[object, tuple[str, Function]] = {}
        self.forms: dict[str, tuple[Form, Form]] = {}
        self.called: list[str] = []
        """Functions of the module whose addresses are taken."""

    def of(self, op: Op) -> tuple[str, list[Value]]:
        """The name of what does such an operation, and what it takes: constants are a part of it."""
        known = tuple([constant(v) for v in op.operands])
        given = tuple([v.type for v in op.operands])
        found = tuple([r.type for r in op.results])
        key = op.name, tuple(sorted(op.attrs.items())), given, tuple(map(repr, known)), found
        if key not in self.made:
            name = f"__n{len(self.made)}"
            self.made[key] = name, _function(name, op, known, given, found)
            open_ = tuple([t for t, value in zip(given, known, strict=True) if value is None])
            self.forms[name] = form_of(open_), form_of(found)
            if op.name == "func.constant":
                self.called.append(str(op.attrs["callee"]))
        return self.made[key][0], [v for v, value in zip(op.operands, known, strict=True) if value is None]

    def of_warp(self, op: Op) -> str:
        """Likewise of what a warp does as one: it takes the function, and all lanes' values."""
        given, found = [v.type for v in op.operands[1:]], [r.type for r in op.results]
        key = op.name, tuple(given), tuple(found)
        if key not in self.made:
            name = f"__n{len(self.made)}"
            self.made[key] = name, _warp_function(name, given, found)
            lanes = [(*[t] * WARP,) for t in (*given, *found)]
            taken, made = lanes[: len(given)], lanes[len(given) :]
            self.forms[name] = form_of((_P, *sum(taken, ()))), form_of(sum(made, ()))
        return self.made[key][0]

    def compiled(self, module: Module, target: Target) -> bytes:
        """The object file of all of them; nothing where there are none."""
        if not self.made:
            return b""
        whole = clone_module(module)
        kept = {f.name for name in self.called for f in whole.reached(whole.function(name))}
        functions = [f for f in whole.functions if f.name in kept]
        for f in functions:
            _strip(f.body)
        functions += [f for _, f in self.made.values()]
        lowering = Lowering(
            LOWER, Module(module.name, module.target, functions, whole.globals), target, debug=False
        )
        lowering.support = support
        lowering.exports = {name: name for name in self.forms}
        return emit(lowering.run(), target, "object").data


def _strip(region: Region) -> None:
    region.ops[:] = [op for op in region.ops if op.name not in _UNKNOWN]
    for op in region.ops:
        for inner in op.regions:
            _strip(inner)


def _function(
    name: str,
    op: Op,
    known: tuple[bool | int | float | None, ...],
    given: tuple[Type, ...],
    found: tuple[Type, ...],
) -> Function:
    made = Function(name, [Value(_P, None, "given"), Value(_P, None, "found")])
    b, (source, sink) = Builder(), made.args
    plain = {"alignment": 1, "volatile": False}
    with b.into(made.body):
        operands, at = list[Value](), 0
        for value, t in zip(known, given, strict=True):
            if value is not None:
                operands.append(b.constant(value, t))
                continue
            place = b.at(source, b.constant(at, I64), I8)
            loaded = b.value("llvm.load", (place,), I8 if t is I1 else t, {**plain, "invariant": False})
            operands.append(b.compare("ne", loaded, b.constant(0, I8)) if t is I1 else loaded)
            at += size_of(t)
        at = 0
        for result in b.emit(op.name, tuple(operands), found, op.attrs).results:
            place = b.at(sink, b.constant(at, I64), I8)
            wide = b.value("arith.extui", (result,), I8) if result.type is I1 else result
            b.emit("llvm.store", (place, wide), (), plain)
            at += size_of(result.type)
        b.emit("weft.return")
    return made


def _warp_function(name: str, given: list[Type], found: list[Type]) -> Function:
    made = Function(name, [Value(_P, None, "given"), Value(_P, None, "found")])
    b, places = Builder(), list[Value]()
    with b.into(made.body):
        plain = {"alignment": 1, "invariant": False, "volatile": False}
        callee = b.value("llvm.load", (made.args[0],), _P, plain)
        for base, types, at in zip(made.args, (given, found), (_P.bits // 8, 0), strict=True):
            for t in types:
                places.append(b.at(base, b.constant(at, I64), I8))
                at += WARP * size_of(t)
        b.emit("llvm.call", (callee, *places), (), {"effects": "all"})
        b.emit("weft.return")
    return made
