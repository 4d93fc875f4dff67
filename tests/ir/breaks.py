"""The ways in which an operation, a function or a module is broken, so that the verifier must refuse it.

What is not to be refused is listed here, not asked of the declarations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.compiler.ir.clone import clone_module, clone_op
from weft.compiler.ir.core import Function, Global, Module, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import F32, F64, I1, I8, I32, I64, PointerType, Type, pointer
from weft.memory import AddressSpace


def ops_of(module: Module) -> list[tuple[Function, Region, int, Op]]:
    """Every operation, with the function, the region and the place in it."""
    out: list[tuple[Function, Region, int, Op]] = []

    def visit(f: Function, region: Region) -> None:
        for n, op in enumerate(region.ops):
            out.append((f, region, n, op))
            for inner in op.regions:
                visit(f, inner)

    for f in module.functions:
        visit(f, f.body)
    return out


@dataclass(frozen=True)
class Place:
    """An operation of a module that may be broken."""

    module: Module
    function: Function
    region: Region
    at: int
    op: Op


Break = Callable[[Place], bool]
"""Breaks a module at a place; False where it has nothing to break in this way, and has left all as it was."""

MANY = frozenset(
    """llvm.call llvm.call_intrinsic llvm.inline_asm weft.print weft.host_tell weft.assert
    weft.failed weft.host_parted weft.host_stuck weft.host_look weft.named gpu.warp_call""".split()
)
"""They take any number of values of any types, behind those that are named."""
NAMED = {
    "weft.assert": 1,
    "weft.host_tell": 1,
    "weft.host_parted": 1,
    "weft.host_stuck": 1,
    "weft.host_look": 1,
}
COUNTED = frozenset({"llvm.alloca", "weft.take_memory"})
"""They take one count or none."""
ANY_VALUE = {("llvm.store", 1), ("arith.select", 1), ("arith.select", 2)}
"""Operands of any type: another one is wrong only beside the others, and a store has no others."""
_OPTIONAL = {
    "fastmath",
    "every",
    "span",
    "blocks",
    "alike",
    "versions",
    "turns",
    "waits",
    "few",
    "pairs",
    "strip",
}
OPTIONAL = {
    *_OPTIONAL,
    ("gpu.barrier", "whole"),
    ("llvm.call", "callee"),
    ("gpu.shuffle", "mask"),
    ("llvm.mlir.addressof", "count"),
    ("weft.host_stuck", "place"),
}
WORDS = {"predicate", "dimension", "bin_op", "ordering", "effects", "fastmath"}
GIVES_ANY = frozenset({"llvm.load", "llvm.call", "llvm.call_intrinsic", "llvm.inline_asm", "gpu.warp_call"})


def _fresh(p: Place, kind: Type) -> Value:
    """A value of a type, defined right before the operation."""
    if not isinstance(kind, PointerType):
        op = Op(SPECS["arith.constant"], (), {"value": 0}, (), (kind,), (1, 0))
    else:
        op = Op(SPECS["llvm.alloca"], (), {"elem_type": I8, "count": 1, "alignment": 1}, (), (kind,), (1, 0))
    p.region.ops.insert(p.at, op)
    return op.result


def drop_operand(p: Place) -> bool:
    op = p.op
    if (
        not op.operands
        or (op.name in MANY and len(op.operands) > NAMED.get(op.name, 0))
        or op.name in COUNTED
    ):
        return False
    op.operands = op.operands[:-1]
    return True


def add_operand(p: Place) -> bool:
    if p.op.name in MANY or (p.op.name in COUNTED and not p.op.operands):
        return False
    p.op.operands = (*p.op.operands, _fresh(p, I64))
    return True


def retype_operand(p: Place, which: int = 0) -> bool:
    """An operand that has a type to have: a pointer becomes a number, a number a pointer."""
    op = p.op
    typed = [
        n
        for n in range(len(op.operands))
        if (op.name not in MANY or n < NAMED.get(op.name, 0)) and (op.name, n) not in ANY_VALUE
    ]
    if which >= len(typed):
        return False
    n = typed[which]
    if op.name == "weft.set" and not isinstance(op.operands[0].owner, Op):
        return False  # a slot of the caller's, which says nothing of what it holds
    pointed = isinstance(op.operands[n].type, PointerType)
    wrong = _fresh(p, I8 if pointed else pointer(AddressSpace.SHARED_CLUSTER))
    op.operands = (*op.operands[:n], wrong, *op.operands[n + 1 :])
    return True


def other_width(p: Place) -> bool:
    """A number of as many lanes, but other bits: what must be of one type is not any more."""
    op = p.op
    alike = op.name.startswith(("arith.", "math.")) or op.name in ("weft.for", "llvm.cmpxchg")
    pairs = alike and len(op.operands) > 1
    *before, last = op.operands or (None,)
    if not pairs or last is None or last.type.lanes > 1:
        return False
    other: dict[Type, Type] = {I64: I32, F32: F64, F64: F32}
    op.operands = (*filter(None, before), _fresh(p, other.get(last.type, I64)))
    return True


def drop_result(p: Place) -> bool:
    if not p.op.results or (p.op.name in GIVES_ANY and p.op.name != "llvm.load"):
        return False
    p.op.results = p.op.results[:-1]
    return True


def add_result(p: Place) -> bool:
    if p.op.name in GIVES_ANY and p.op.name != "llvm.load":
        return False
    p.op.results = (*p.op.results, Value(I64, p.op))
    return True


def retype_result(p: Place) -> bool:
    """The result of an operation that says which it has; nobody uses it any more."""
    op = p.op
    if not op.results or op.name in GIVES_ANY or op.name in ("func.call", "llvm.addrspacecast"):
        return False
    kind = op.result.type
    if op.name == "arith.constant":
        wrong: Type = pointer(AddressSpace.SHARED_CLUSTER)
    elif isinstance(kind, PointerType):
        wrong = F32
    else:
        wrong = pointer(AddressSpace.SHARED_CLUSTER)
    made = Value(wrong, op)
    op.results = (made, *op.results[1:])
    return True


def foreign_result(p: Place) -> bool:
    """A result that belongs to another operation."""
    if not p.op.results:
        return False
    p.op.results = (Value(p.op.result.type, None), *p.op.results[1:])
    return True


def drop_attribute(p: Place, which: int = 0) -> bool:
    names = [n for n in p.op.attrs if n not in OPTIONAL and (p.op.name, n) not in OPTIONAL]
    if which >= len(names):
        return False
    p.op.attrs = {n: v for n, v in p.op.attrs.items() if n != names[which]}
    return True


def add_attribute(p: Place) -> bool:
    p.op.attrs = {**p.op.attrs, "nonsense": 1}
    return True


def retype_attribute(p: Place, which: int = 0) -> bool:
    """What no attribute is: a tuple of a word, or a word for a tuple of numbers."""
    names = list(p.op.attrs)
    if which >= len(names):
        return False
    name = names[which]
    wrong: Any = "x" if isinstance(p.op.attrs[name], tuple) else ("x",)
    p.op.attrs = {**p.op.attrs, name: wrong}
    return True


def other_word(p: Place, which: int = 0) -> bool:
    """A word that stands for nothing, and a number out of range."""
    words = [n for n in p.op.attrs if n in WORDS or n in ("alignment", "site", "count")]
    if which >= len(words):
        return False
    name = words[which]
    p.op.attrs = {**p.op.attrs, name: "sideways" if name in WORDS else -3}
    return True


def drop_region(p: Place) -> bool:
    if p.op.name not in ("weft.if", "weft.for", "weft.while"):
        return False
    p.op.regions = p.op.regions[:-1]
    return True


def add_region(p: Place) -> bool:
    p.op.regions = (*p.op.regions, Region([]))
    return True


def drop_region_argument(p: Place) -> bool:
    if p.op.name != "weft.for":
        return False
    region = p.op.regions[0]
    index = region.args.pop()
    region.ops.insert(0, Op(SPECS["arith.constant"], (), {"value": 0}, (), (index.type,), (1, 0)))
    for op in region.walk():
        op.operands = tuple(region.ops[0].result if v is index else v for v in op.operands)
    return True


def add_region_argument(p: Place) -> bool:
    for region in p.op.regions:
        region.args.append(Value(I32, region))
    return bool(p.op.regions)


def twice(p: Place) -> bool:
    """The same operation in two places."""
    if not (p.op.results or p.op.spec.terminator):
        return False
    p.region.ops.insert(p.at, p.op)
    return True


def too_late(p: Place) -> bool:
    """An operation behind those that use what it gives."""
    used = {v for op in p.region.ops[p.at + 1 :] for o in [op, *_inside(op)] for v in o.operands}
    if not used & set(p.op.results):
        return False
    last = p.region.ops[-1].spec.terminator
    p.region.ops.insert(len(p.region.ops) - bool(last), p.region.ops.pop(p.at))
    return True


def _inside(op: Op) -> list[Op]:
    return [inner for region in op.regions for inner in region.walk()]


def out_of_its_region(p: Place) -> bool:
    """A value used behind the region that defines it."""
    made = [v for region in p.op.regions for op in region.ops for v in op.results]
    if not made:
        return False
    use = Op(SPECS["weft.print"], (made[0],), {"site": 0}, (), (), (1, 0))
    p.region.ops.insert(p.at + 1, use)
    return True


def of_another_function(p: Place) -> bool:
    others = [f for f in p.module.functions if f is not p.function and f.args]
    if not others:
        return False
    p.region.ops.insert(p.at, Op(SPECS["weft.print"], (others[0].args[0],), {"site": 0}, (), (), (1, 0)))
    return True


def terminator_in_the_middle(p: Place) -> bool:
    if p.op.spec.terminator:
        return False
    name = "llvm.unreachable"
    p.region.ops.insert(p.at, Op(SPECS[name], (), {}, (), (), (1, 0)))
    return True


def no_terminator(p: Place) -> bool:
    ends = p.op.name == "weft.condition" or (p.region is p.function.body and p.op.spec.terminator)
    if ends:
        p.region.ops.pop(p.at)
    return ends


def misplaced_jump(p: Place) -> bool:
    """A jump or a loop's condition at the end of the function."""
    if not (p.region is p.function.body and p.op.spec.terminator):
        return False
    names = "weft.break weft.continue weft.condition".split()
    name = names[p.at % 3]
    given = (_fresh(p, I1),) if name == "weft.condition" else ()
    p.region.ops[-1:] = [Op(SPECS[name], given, {}, (), (), (1, 0))]
    return True


def unknown_name(p: Place) -> bool:
    name = {"func.call": "callee", "func.constant": "callee", "llvm.mlir.addressof": "global_name"}.get(
        p.op.name
    )
    if name is not None:
        p.op.attrs = {name: "nobody"}
    return name is not None


def same_name(p: Place) -> bool:
    p.module.functions.append(clone_module(Module("", "", [p.function])).functions[0])
    return True


def same_memory(p: Place) -> bool:
    p.module.globals += [Global("twice", 3, F32, 4, 4)] * 2
    return True


def calls_itself(p: Place) -> bool:
    if p.op.name != "func.call":
        return False
    callee = p.module.function(str(p.op.attrs["callee"]))
    clone = clone_op(p.op, {})
    clone.operands = tuple(callee.args)
    callee.body.ops.insert(0, clone)
    return True


def wrong_return(p: Place) -> bool:
    if p.op.name == "weft.return":
        p.op.operands = (*p.op.operands, _fresh(p, I64))
    return p.op.name == "weft.return"


BREAKS: list[Break] = [
    drop_operand,
    add_operand,
    retype_operand,
    other_width,
    drop_result,
    add_result,
    retype_result,
    foreign_result,
    drop_attribute,
    add_attribute,
    retype_attribute,
    other_word,
    drop_region,
    add_region,
    drop_region_argument,
    add_region_argument,
    twice,
    too_late,
    out_of_its_region,
    of_another_function,
    terminator_in_the_middle,
    no_terminator,
    misplaced_jump,
    unknown_name,
    same_name,
    same_memory,
    calls_itself,
    wrong_return,
]


def _next(how: Callable[[Place, int], bool], which: int) -> Break:
    def break_next(p: Place) -> bool:
        return how(p, which)

    break_next.__name__ = f"{how.__name__}_{which}"
    return break_next


LATER: list[tuple[Callable[[Place, int], bool], int]] = [
    (retype_operand, 3),
    (drop_attribute, 4),
    (retype_attribute, 5),
    (other_word, 2),
]
BREAKS.extend(_next(how, n) for how, many in LATER for n in range(1, many))


class Copies:
    """Copies of a module to break: one is taken again until it is broken."""

    def __init__(self, module: Module) -> None:
        self.module, self.made = module, module
        self.places: list[tuple[Function, Region, int, Op]] = []

    def broken(self, at: int, how: Break) -> Module | None:
        """A copy that is broken at its n-th operation."""
        if not self.places:
            self.made = clone_module(self.module)
            self.places = ops_of(self.made)
        if not how(Place(self.made, *self.places[at])):
            return None
        self.places = []
        return self.made
