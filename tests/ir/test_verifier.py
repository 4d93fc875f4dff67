"""The verifier refuses every module that is broken in one place.

Real modules, as elaborated and as the passes leave them, are broken at each operation in each way that its
declaration could be broken.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.breaks import BREAKS, Break, Copies, ops_of
from tests.ir.sample_modules import MODULES

from weft.compiler.ir.clone import clone_module
from weft.compiler.ir.core import Function, Global, Module, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import F32, F64, I1, I8, I64, SLOT, Type, pointer, vector
from weft.compiler.ir.verify import InvalidIR, verify_module
from weft.memory import AddressSpace


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
        copies = Copies(module)
        for at, (*_, op) in enumerate(ops_of(module)):
            kind = (op.name, name.endswith("passed"), *op.attrs)
            tried[kind] += kind not in seen
            if kind in seen or tried[kind] > 3 or (found := copies.broken(at, how)) is None:
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
    found = Copies(module).broken(at, data.draw(st.sampled_from(BREAKS)))
    if found is not None:
        with pytest.raises(InvalidIR):
            verify_module(found)


def test_every_operation_was_broken() -> None:
    """But for the extents of a range, and what stands between two passes or in what weft brings itself."""
    met = {op.name for module in MODULES.values() for *_, op in ops_of(module)}
    between = {"weft.computed", "weft.copies", "weft.faults", "weft.look", "weft.rest", "weft.stuck"}
    assert SPECS.keys() - met == {"gpu.over"} | between


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
