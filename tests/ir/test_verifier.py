"""The verifier refuses every module that is broken in one place.

Real modules, as elaborated and as the passes leave them, are broken at each operation in each way that its
declaration could be broken. What is not to be refused is listed here, not asked of the declarations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.test_stages import KERNELS

from weft import Float32, Float64, Int, Int32, Pointer, UInt32, UInt64, func, kernel, math
from weft.atomic import Atomic, fence
from weft.compiler.ir.clone import clone_module, clone_op
from weft.compiler.ir.core import Function, Global, Module, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import F32, F64, I1, I8, I32, I64, SLOT, PointerType, Type, pointer, vector
from weft.compiler.ir.verify import InvalidIR, verify_module
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import elaborate_kernel
from weft.ffi import external_call, function_pointer
from weft.gpu import barrier, global_idx, grid_dim, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.intrinsics import inline_asm, llvm_intrinsic
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.targets import find_target


@func
def pair(x: Float32, n: Int) -> tuple[Float32, Int]:
    if n > 3:
        return x, n
    return x + 1.0, n - 1


@kernel
def much(x: Pointer[Float32], counts: Pointer[Int32], n: Int):
    tile = stack_allocation(Float32, 64, address_space=AddressSpace.SHARED)
    own = stack_allocation(Float32, 8)
    tile[thread_idx.x] = x[global_idx.x] * 2.0
    barrier()
    acc = 0.0
    for i in range(n):
        if i > 5:
            break
        own[i % 8] = tile[i] % 3.0
        acc += own[i % 8]
    while acc > 10.0 and n < 100:
        acc = acc / 2.0
        if acc < 0.0:
            continue
        n += Int(acc)
    four = x.load(4 * global_idx.x, width=4)
    mixed = (four > 1.0).select(four.shuffle(3, 2, 1, 0), -four)
    Atomic.fetch_add(counts, 1)
    Atomic.compare_exchange(counts, 1, 2, ordering="acq_rel")
    Atomic.store(counts, Atomic.load(counts, ordering="acquire"), ordering="release")
    fence("seq_cst")
    first, second = pair(mixed[0], n)
    bits = llvm_intrinsic("llvm.ctpop.i64", Int, second, effects="none")
    assert first > 0.0, f"first is {first}"
    print("here", bits, acc)
    x[0] = first + Float32(bits) + mixed.reduce_add() + Float32(dynamic_shared_memory(Int32, 16)[0])


@kernel
def rest(x: Pointer[Int32], n: Int, unsigned: UInt32, wide: Float64):
    large = stack_allocation(Float32, 100_000)
    large[n % 100_000] = Float32(wide)
    barrier()
    i = Int(x[grid_dim.x]) // n
    if i > 0:
        x[0] = Int32(i) + Int32(Float64(unsigned) * wide) + Int32(large[i])
        x.store(1, x.load(4, width=4).insert(n % 4, 7))
        return
    else:
        return


@kernel
def functions(x: Pointer[Float32], counts: Pointer[UInt32]):
    y = math.fma(math.sqrt(x[0]), abs(x[1]), math.copysign(x[2], x[3]))
    y = math.min(math.floor(y), math.ceil(y)) + math.max(math.trunc(y), math.round(y))
    counts[0] = UInt32(y) + UInt32(Int32(y))


@kernel
def machine(x: Pointer[Int]):
    x[0] = inline_asm("mov.u64 $0, %clock64;", Int, constraints="=l")


@func
def ascending(a: Pointer[Int32], b: Pointer[Int32]) -> Int32:
    return a[0] - b[0]


@kernel
def calls_of_c(x: Pointer[Int32], n: UInt64):
    external_call["qsort", None](x, n, n, function_pointer(ascending))
    Pointer.from_address(Int(x), Int32)[1] = external_call["abs", Int32](x[0])


def _modules() -> Iterator[tuple[str, Module]]:
    both, gpu = ("sm_90", "x86-64"), ("sm_90",)
    kernels: list[tuple[Any, dict[str, object], tuple[str, ...]]]
    own: list[Any] = [much, rest, functions]
    kernels = [
        *((k, c, both) for k, c in KERNELS),
        *((k, {}, both) for k in own),
        (machine, {}, gpu),
        (calls_of_c, {}, ("x86-64",)),
    ]
    for made, comptime, targets in kernels:
        specs: dict[str, Spec] = {
            p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
            for p in parameters(made.definition)
        }
        for target in targets:
            module = elaborate_kernel(made, specs, target).module
            yield f"{made.__name__}-{target}", module
            yield f"{made.__name__}-{target}-passed", run_passes(module, find_target(target))


MODULES = dict(_modules())


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
"""Breaks a module at a place; False where it has nothing to break in this way."""

MANY = frozenset(
    """llvm.call llvm.call_intrinsic llvm.inline_asm weft.print weft.host_tell weft.assert
    weft.failed weft.host_parted""".split()
)
"""They take any number of values of any types, behind those that are named."""
NAMED = {"weft.assert": 1, "weft.host_tell": 1, "weft.host_parted": 1}
COUNTED = frozenset({"llvm.alloca", "weft.take_memory"})
"""They take one count or none."""
ANY_VALUE = {("llvm.store", 1), ("arith.select", 1), ("arith.select", 2)}
"""Operands of any type: another one is wrong only beside the others, and a store has no others."""
OPTIONAL = {"fastmath", "blocks", ("llvm.call", "callee")}
WORDS = {"predicate", "dimension", "bin_op", "ordering", "effects", "fastmath"}
GIVES_ANY = frozenset({"llvm.load", "llvm.call", "llvm.call_intrinsic", "llvm.inline_asm"})


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
    p.op.regions = p.op.regions[:-1]
    return p.op.name in ("weft.if", "weft.for", "weft.while")


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
    p.region.ops.insert(p.at, p.op)
    return bool(p.op.results) or p.op.spec.terminator


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


def broken(module: Module, at: int, how: Break) -> Module | None:
    """A copy of the module, broken at its n-th operation."""
    made = clone_module(module)
    f, region, n, op = ops_of(made)[at]
    return made if how(Place(made, f, region, n, op)) else None


def test_what_is_not_broken_is_taken() -> None:
    for module in MODULES.values():
        verify_module(module)
        verify_module(clone_module(module))


@pytest.mark.parametrize("how", BREAKS, ids=lambda how: how.__name__)
def test_each_break_is_refused(how: Break) -> None:
    """Once for each kind of operation and its attributes, before and after the passes."""
    seen: set[tuple[str | bool, ...]] = set()
    tried: Counter[tuple[str | bool, ...]] = Counter()
    missed: list[str] = []
    for name, module in MODULES.items():
        for at, (*_, op) in enumerate(ops_of(module)):
            kind = (op.name, name.endswith("passed"), *op.attrs)
            tried[kind] += kind not in seen
            if kind in seen or tried[kind] > 3 or (found := broken(module, at, how)) is None:
                continue
            seen.add(kind)
            try:
                verify_module(found)
                missed.append(f"{name}: {op.name} {op.attrs}")
            except InvalidIR:
                pass
    assert seen, "nothing was broken"
    assert missed == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_break_anywhere_is_refused(data: st.DataObject) -> None:
    module = MODULES[data.draw(st.sampled_from(sorted(MODULES)))]
    at = data.draw(st.integers(0, len(ops_of(module)) - 1))
    found = broken(module, at, data.draw(st.sampled_from(BREAKS)))
    if found is not None:
        with pytest.raises(InvalidIR):
            verify_module(found)


def test_every_operation_was_broken() -> None:
    """But for the extents of a range, and what stands between two passes or ends a block."""
    met = {op.name for module in MODULES.values() for *_, op in ops_of(module)}
    assert SPECS.keys() - met == {"gpu.over", "weft.exit_block", "weft.host_parted"}


def one(name: str, operands: tuple[Type, ...], results: tuple[Type, ...], **attrs: Any) -> Module:
    """A module of one operation that takes the function's arguments."""
    args = [Value(kind) for kind in operands]
    op = Op(SPECS[name], tuple(args), attrs, (), results, (1, 0))
    end = Op(SPECS["weft.return"], (), {}, (), (), (1, 0))
    ops = [op] if op.spec.terminator else [op, end]
    return Module("m", "sm_90", [Function("f", args, (), Region([], ops))])


P = pointer(AddressSpace.GENERIC)
RELAXED = {"ordering": "monotonic", "syncscope": ""}
PLAIN = {"alignment": 4, "volatile": False}
ACCESS = {"alignment": 4, "invariant": False, "volatile": False}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (one("llvm.load", (P,), (F32,)), "lacks the attribute alignment"),
        (one("arith.extsi", (I64,), (I8,)), "i8 is not wider than i64"),
        (one("arith.trunci", (I8,), (I64,)), "i64 is not narrower than i8"),
        (one("arith.extf", (F32,), (I64,)), "the result is i64, which is no float"),
        (one("arith.sitofp", (I64,), (vector(2, F32),)), "makes vector<2xf32> of i64"),
        (one("arith.bitcast", (I64,), (F32,)), "i64 and f32 have not as many bits"),
        (
            one("llvm.store", (P, F32), (), alignment=4, volatile=False, nonsense=1),
            "has no attribute nonsense",
        ),
        (one("weft.get", (I64,), (F32,)), "the operand slot is i64, which is no ptr"),
        (one("llvm.store", (P, F32), (), alignment=3, volatile=False), "alignment cannot be 3"),
        (one("llvm.load", (P,), (F32,), **ACCESS, ordering="release", syncscope=""), "the ordering release"),
        (one("llvm.load", (P,), (F32,), **ACCESS, ordering="acquire"), "an ordering without a scope"),
        (one("llvm.fence", (), (), **RELAXED), "orders nothing"),
        (one("arith.constant", (), (I8,), value=300), "300 is no i8"),
        (one("arith.constant", (), (I64,), value=0.5), "0.5 is no i64"),
        (one("arith.constant", (), (I1,), value=True, kind=1), "has no attribute kind"),
        (one("arith.cmpi", (I64, I64), (vector(2, I1),), predicate="eq"), "for operands of i64"),
        (one("arith.cmpf", (F32, F32), (I1,), predicate="eq"), "predicate cannot be 'eq'"),
        (one("vector.shuffle", (vector(2, F32),) * 2, (vector(2, F32),), mask=(0, 4)), "takes lanes"),
        (one("vector.splat", (F32,), (vector(2, F64),)), "f32 is no lane of vector<2xf64>"),
        (one("llvm.alloca", (I64, I64), (P,), elem_type=I8, count=1, alignment=1), "one count, not 2"),
        (
            one("llvm.atomicrmw", (P, F32), (F32,), bin_op="nand", ordering="monotonic", syncscope=""),
            "bin_op",
        ),
        (one("llvm.call_intrinsic", (), (), intrin="llvm.trap", effects="some"), "effects cannot be 'some'"),
        (one("gpu.thread_id", (), (I64,), dimension="w"), "dimension cannot be 'w'"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_the_message_says_what_is_wrong(made: Module, message: str) -> None:
    with pytest.raises(InvalidIR, match=message):
        verify_module(made)


def test_a_place_holds_what_it_was_made_for() -> None:
    slot = Op(SPECS["weft.slot"], (), {"elem_type": F32, "name": "x"}, (), (SLOT,), (1, 0))
    get = Op(SPECS["weft.get"], (slot.result,), {}, (), (I64,), (1, 0))
    end = Op(SPECS["weft.return"], (), {}, (), (), (1, 0))
    module = Module("m", "sm_90", [Function("f", [], (), Region([], [slot, get, end]))])
    with pytest.raises(InvalidIR, match="takes i64 from or to a place of f32"):
        verify_module(module)


def test_memory_of_a_module() -> None:
    good = Module("m", "sm_90", [], [Global("a", 3, F32, 4, 4)])
    verify_module(good)
    for wrong in (replace(good.globals[0], align=3), replace(good.globals[0], count=-1)):
        with pytest.raises(InvalidIR, match="cannot be aligned"):
            verify_module(replace(good, globals=[wrong]))
