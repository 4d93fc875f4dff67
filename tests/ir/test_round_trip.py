"""The parser reads what the printer writes, and loses nothing."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.sample_modules import MODULES
from tests.ir.test_ptxas import CASES, Case

from mlir_text import ParseError, parse_module
from weft.compiler.ir.core import Attribute, Function, Global, Loc, Module, Op, OpSpec, Region, Value
from weft.compiler.ir.digest import module_bytes
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.printer import print_module
from weft.compiler.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    FloatType,
    Type,
    pointer,
    vector,
)
from weft.compiler.ir.verify import verify_module

# -- what the compiler makes ----------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_modules_before_and_after_the_passes(name: str) -> None:
    text = print_module(MODULES[name], locations=True)
    again = parse_module(text)
    verify_module(again)
    assert print_module(again, locations=True) == text


@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_read_lowers_alike(case: Case, target: str) -> None:
    """With its line tables: the passes and LLVM see no difference."""
    made = case.elaborated(target)
    again = dataclasses.replace(made, module=parse_module(made.ir(locations=True)))
    assert again.llvm() == made.llvm()


# -- whatever may be declared ---------------------------------------------------------------------

SCALARS: list[Type] = [I1, I8, I16, I32, I64, F16, BF16, F32, F64]
DATA = st.sampled_from([*SCALARS, vector(4, F32), vector(2, I1), vector(16, I8), vector(2, F16)])
TYPES = DATA | st.sampled_from([pointer(0), pointer(3)])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = TEXTS.filter(bool)
INTS = st.integers(-(1 << 63), (1 << 64) - 1)
SORTS: dict[str, st.SearchStrategy[Any]] = {
    "count": st.integers(0, 1 << 40),
    "power": st.sampled_from([1, 2, 16, 4096]),
    "bool": st.booleans(),
    "str": TEXTS,
    "name": NAMES,
    "symbol": NAMES,
    "type": TYPES,
    "ints": st.lists(INTS).map(tuple),
}


def numbers(kind: Type) -> st.SearchStrategy[Any]:
    scalar = kind.scalar
    if scalar is I1:
        return st.booleans()
    if not isinstance(scalar, FloatType):
        return INTS
    special = st.sampled_from([math.inf, -math.inf, math.nan, 0.0, -0.0, 1e-45, 1e300, 5e-324])
    return special | st.floats(allow_nan=False)


def attributes(draw: st.DrawFn, spec: OpSpec, results: tuple[Type, ...]) -> dict[str, Attribute]:
    out: dict[str, Attribute] = {}
    for name, sort in spec.attributes.written.items():
        if name not in spec.attributes.needed and draw(st.booleans()):
            continue
        words = sort.rpartition("<")[2].strip("#>").split("|")
        out[name] = draw(numbers(results[0]) if sort == "number" else SORTS.get(sort, st.sampled_from(words)))
    return out


def place(draw: st.DrawFn, functions: list[Function]) -> Loc:
    loc: Loc = (draw(st.integers(1, 9)), draw(st.integers(0, 9)))
    while draw(st.integers(0, 4)) == 0:
        loc = (draw(st.integers(1, 9)), 3, draw(st.sampled_from(functions)), loc)
    return loc


def region(draw: st.DrawFn, seen: list[Value], functions: list[Function], depth: int) -> Region:
    """Operations of any kinds, with operands of any types: what is wrong only the verifier knows."""
    made = Region()
    made.args += [Value(kind, made) for kind in draw(st.lists(TYPES, max_size=2))]
    seen = [*seen, *made.args]
    for _ in range(draw(st.integers(0, 5 - 2 * depth))):
        spec = SPECS[draw(st.sampled_from(sorted(SPECS)))]
        operands = tuple(draw(st.lists(st.sampled_from(seen), max_size=3)) if seen else [])
        kinds = DATA if spec.name == "arith.constant" else TYPES
        results = tuple(draw(st.lists(kinds, min_size=kinds is DATA, max_size=1)))
        inner = [region(draw, seen, functions, depth + 1) for _ in range(draw(st.integers(0, 2 - depth)))]
        attrs = attributes(draw, spec, results)
        op = Op(spec, operands, attrs, tuple(inner), results, place(draw, functions))
        made.ops.append(op)
        seen = [*seen, *op.results]
    return made


@st.composite
def modules(draw: st.DrawFn) -> Module:
    names = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    functions = [Function(name, []) for name in names]
    for f in functions:
        f.file, f.line, f.source_name = draw(TEXTS), draw(st.integers(1, 99)), draw(TEXTS)
        f.kernel, f.element, f.inline = draw(st.tuples(*[st.booleans()] * 3))
        f.over_rank, f.alone = draw(st.integers(0, 3)), draw(st.frozensets(st.integers(0, 9)))
        f.block_rank = draw(st.integers(0, 3))
        f.results = tuple(draw(st.lists(TYPES, max_size=2)))
        body = region(draw, [], functions, 0)
        f.args, f.body = body.args, Region([], body.ops)
    shape = st.integers(0, 5), TYPES, st.integers(0, 1 << 20), SORTS["power"]
    data = st.none() | st.binary(max_size=8)
    memory = st.builds(Global, NAMES, *shape, data) | st.builds(Global, NAMES, *shape, external=st.just(True))
    kept = functions[: draw(st.integers(1, 4))]
    return Module(draw(NAMES), draw(NAMES), kept, draw(st.lists(memory, max_size=2)))


@settings(max_examples=60, deadline=None)
@given(modules())
def test_any_module(module: Module) -> None:
    """Every operation, attribute and place, valid or not; the functions of places may be gone."""
    again = parse_module(print_module(module, locations=True))
    assert module_bytes(again) == module_bytes(module)


# -- what is no module ----------------------------------------------------------------------------


SMALL = """
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "f", "function_type" = (f32) -> ()}> ({
  ^bb0(%x: f32):
    %y = "math.sqrt"(%x) : (f32) -> f32  // as one likes
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) {"weft.target" = "sm_90"} : () -> ()
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("math.sqrt", "math.cbrt", "5:10: an operation is wanted, not '\"math.cbrt\"(%x) : (f32) -> f32'"),
        ("(%x)", "(%z)", "5:22: a value defined before is wanted, not '%z)"),
        ("%y =", "%x =", "6:5: %x is no new name of a value, before"),
        ("%y = ", "", "6:5: the types of math.sqrt are not those of its operands and results"),
        (": (f32) -> f32", ": (f64) -> f64", "the types of math.sqrt are not those of its operands"),
        (": (f32) -> f32", ": (f32) -> f33", "5:37: a type is wanted, not 'f33"),
        ("(%x: f32)", "(%x: !llvm.ptr<99>)", "4:12: a type is wanted, not '!llvm.ptr<99>"),
        ('"weft.return"()', '"weft.return"(', "6:20: a value defined before is wanted, not ': ()"),
        ('"weft.return"()', "weft.return()", "6:5: an operation is wanted"),
        ('"weft.return"()', "?", "6:5: this is no part of the syntax: '? :"),
        ("{} :", '{"gpu.kernel" = 1 : i64} :', "the attribute gpu.kernel cannot be 1"),
        ("{} :", '{"nonsense"} :', "has no attribute nonsense"),
        ('"sm_90"} : () -> ()', '"sm_90"} : () -> () 1', "'' is wanted, not '1'"),
        ('"sm_90"} : () -> ()', '"sm_90"}', "9:1: ':' is wanted, not ''"),
    ],
)
def test_what_is_no_module(old: str, new: str, message: str) -> None:
    assert parse_module(SMALL).functions[0].body.ops[0].name == "math.sqrt"
    assert old in SMALL
    with pytest.raises(ParseError, match=re.escape(message)):
        parse_module(SMALL.replace(old, new))
