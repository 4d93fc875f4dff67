"""The bytes of a module, by which the cache knows it: whatever it has is in them."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from weft import Float32, Pointer, kernel
from weft.compiler.ir.core import Function, Global, Loc, Module, Op, Region, Value
from weft.compiler.ir.digest import module_bytes
from weft.compiler.pipeline import elaborate_kernel
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters


@kernel
def sample(p: Pointer[Float32]):
    for i in range(4):
        if p[i] > 0.0:
            p[i] = p[i] * 0.5 + 1.0


def elaborated() -> Module:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(sample.definition)}
    return elaborate_kernel(sample, specs, "sm_90").module


def _operations(module: Module) -> list[Op]:
    return [op for f in module.functions for op in f.body.walk()]


def _changed(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case frozenset():
            return frozenset({77})
        case tuple():
            return (*value, 1)
        case _:
            return None


def test_every_field_of_the_ir_is_in_the_bytes() -> None:
    """Fields that are new are in them too: this goes over all there are."""
    made = elaborated()
    made.globals.append(Global("g", 0, made.functions[0].args[0].type, 4, 8, b"text"))
    before = module_bytes(made)
    assert module_bytes(copy.deepcopy(made)) == before
    seen = 0
    for path in ("module", "function", "global"):
        kind = {"module": Module, "function": Function, "global": Global}[path]
        for field in dataclasses.fields(kind):
            other = copy.deepcopy(made)
            item: Any = {"module": other, "function": other.functions[0], "global": other.globals[0]}[path]
            value = getattr(item, field.name)
            if field.name == "args":
                value.append(Value(value[0].type))
            elif isinstance(value, list):
                value.pop()
            elif _changed(value) is not None:
                object.__setattr__(item, field.name, _changed(value))
            else:
                continue
            seen += 1
            assert module_bytes(other) != before, field.name
    assert seen >= 20


@pytest.mark.parametrize("slot", Op.__slots__)
def test_every_part_of_an_operation_is_in_the_bytes(slot: str) -> None:
    made = elaborated()
    before = module_bytes(made)
    changed = 0
    for n in range(len(_operations(made))):
        other = copy.deepcopy(made)
        op = _operations(other)[n]
        value: Any = getattr(op, slot)
        match slot:
            case "attrs":
                if not value:
                    continue
                op.attrs = {**value, "more": 1}
            case "loc":
                op.loc = (value[0], value[1] + 1)
            case "name":
                assert value == op.spec.name  # which is in the bytes as the spec is
                changed += 1
                continue
            case "operands":
                if len(value) < 2 or value[0] is value[1]:
                    continue
                op.operands = value[::-1]
            case "results":
                if not value:
                    continue
                value[0].name += "x"
            case "regions":
                if not value or not value[-1].ops:
                    continue
                value[-1].ops.pop()
            case "spec":
                op.spec = dataclasses.replace(op.spec, name=op.spec.name + "x")
            case _:
                raise AssertionError(f"an operation has a part {slot} that this does not know")
        changed += 1
        assert module_bytes(other) != before
    assert changed


@pytest.mark.parametrize("slot", Value.__slots__)
def test_every_part_of_a_value_is_known(slot: str) -> None:
    assert slot in ("name", "owner", "type")  # the owner is where it stands


def test_nesting_of_any_depth_has_bytes() -> None:
    made = elaborated()
    before = module_bytes(made)
    loop = next(op for op in _operations(made) if op.name == "weft.for")
    region = loop.regions[0]
    loc: Loc = loop.loc
    for _ in range(5000):
        region.ops = [Op(loop.spec, (), {}, (Region([], region.ops),), (), loop.loc)]
        loc = (loc[0], loc[1], made.functions[0], loc)
    deep = module_bytes(made)
    assert deep != before
    loop.loc = loc
    assert module_bytes(made) != deep


def test_attributes_are_told_apart_by_type() -> None:
    made = elaborated()
    op = next(op for op in _operations(made) if op.attrs)
    values: list[Any] = [0, 1, True, False, 0.0, -0.0, 1.0, math.nan, math.inf, "1", (1,), (1.0,), ("1",), ()]
    values += [op.results[0].type, op.results[0].type.mlir, 2**64, -1, "", (1, 2), ((1,), 2)]
    found: set[bytes] = set()
    for value in values:
        op.attrs = {"value": value}
        found.add(module_bytes(made))
    assert len(found) == len(values)
    op.attrs = {"value": np.float64(1.0)}
    assert module_bytes(made) in found
    op.attrs = {"value": object()}  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        module_bytes(made)
