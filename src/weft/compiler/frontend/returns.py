"""What a function returns: one type on all paths, where literals take that of the others."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum
from typing import Any

from weft.compiler.frontend.blanks import NO_BLANK, blank_of
from weft.compiler.frontend.given_back import GivenBack, given_back, leaves_given
from weft.compiler.frontend.nonlocals import SharedSpec, changes
from weft.compiler.frontend.staging import Staging
from weft.compiler.frontend.variables import as_runtime, carried
from weft.compiler.ir.core import Attribute, Function, Loc, Value
from weft.compiler.ir.types import SLOT, Type
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import CompileError, Diagnostic, Label, Location
from weft.dtype import DType
from weft.lang import weak
from weft.lang.maybe import Maybe, maybe
from weft.lang.number import Number, number_class, to_type
from weft.lang.products import class_of, part_names, parts_of, remade
from weft.lang.promote import promote
from weft.lang.returned import ends_without
from weft.lang.spec import NumberSpec, Spec, StaticSpec, leaves_of, spec_of
from weft.lang.weak import Closed


def finish(
    b: Staging, f: Function, fn: Definition, kernel: bool
) -> tuple[Spec, tuple[GivenBack, ...], tuple[SharedSpec, ...]]:
    """Give every return its operands, now that all are known; the result's spec, and what changes."""
    body = f.body
    b.region = body
    fell = b.live
    if b.live:
        if b.annotation is not MISSING:
            ends_without(fn, b.annotation)
        b.return_(None)
    else:
        b.live = True
        if not body.ops or not body.ops[-1].spec.terminator:
            b.emit("llvm.unreachable")
    if kernel:
        return StaticSpec(None), (), ()
    values = _unified(b, fn.name, _with_none([value for _, _, value in b.returns], fell))
    result, values = _result(b, values, fn.name, fell)
    given, changed = given_back(b, b.lent, b.as_lent, b.at_returns), [*changes(b)]
    fields, specs = tuple([one for one, _ in given]), tuple([spec for _, spec in changed])
    f.results = tuple(leaf.type for spec in (result, *fields, *specs) for leaf in spec.leaves())
    if not f.results:
        return result, fields, specs
    for op, region in b.ends:
        region.ops.pop()
        b.region, b.live, b.loc = region, True, op.loc
        op.operands = tuple(b.get(b.prologue("weft.slot", SLOT, _slot_of(t)), t) for t in f.results)
        region.ops.append(op)
    for n, ((op, region, _), value) in enumerate(zip(b.returns, values, strict=True)):
        region.ops.pop()
        b.region, b.live, b.loc = region, True, op.loc
        own = leaves_of(value) if result.leaves() else ()  # a constant stays known at compile time
        back = (leaf for one, held in given for leaf in leaves_given(b, one, held[n]))
        op.operands = (*own, *back, *(leaf for var, _ in changed for leaf in var.held()))
        region.ops.append(op)
    return result, fields, specs


def _slot_of(kind: Type) -> Mapping[str, Attribute]:
    return {"elem_type": kind, "name": "never"}


def _with_none(values: list[Any], fell: bool) -> list[Any]:
    """The values of the returns; where some ``return None``, the others may be None."""
    said = values[:-1] if fell else values
    there = [value for value in values if value is not None]
    blank = NO_BLANK if not there else blank_of(there[0])
    if blank is NO_BLANK or not any(v is None or isinstance(v, Maybe) for v in said):
        return values
    made = [maybe(value, blank) for value in values]
    flags = [number_class(DType.bool)(one.weft_there) for one in made]  # of which none is known to who calls
    return [Maybe(flag, one.weft_held) for flag, one in zip(flags, made, strict=True)]


def _unified(b: Staging, name: str, values: list[Any]) -> list[Any]:
    """The values of the returns, with literals in the type of the numbers on other paths; tuples by item."""
    if len(values) > 1 and any(spec_of(v) != spec_of(values[0]) for v in values[1:]):
        values = [as_runtime(v) if _is_chosen(v) else v for v in values]
    rows, kinds = [parts_of(v) for v in values], {class_of(v) for v in values}
    if rows and len(kinds) == 1 and all(row and len(row) == len(rows[0] or ()) for row in rows):
        columns = [_unified(b, name, list(items)) for items in zip(*[row or () for row in rows], strict=True)]
        return [remade(kinds.copy().pop(), row) for row in zip(*columns, strict=True)]
    if not values or not all(isinstance(v, (Number, bool, int, float)) for v in values):
        return values
    numbers = [v for v in values if isinstance(v, Number)]
    if not numbers and len({StaticSpec(v) for v in values}) == 1:
        return values  # known at compile time
    typed = [v for v in numbers if v.weak is None]
    if typed and any(isinstance(v, bool) for v in values):
        return [number_class(DType.bool)(v) if isinstance(v, bool) else v for v in values]
    if typed:
        cls = type(typed[0])
        return [_as(b, n, v, cls) for n, v in enumerate(values)]
    return _literals(b, name, values, numbers)


def _is_chosen(value: Any) -> bool:
    """Whether it is known, but another of its class may be returned: a member of an Enum, a dataclass."""
    literal = isinstance(value, (int, float))
    return not literal and (isinstance(value, Enum) or part_names(class_of(value)) is not None)


def _literals(b: Staging, name: str, values: list[Any], numbers: list[Number]) -> list[Any]:
    """What is of literals on all paths takes the type that nothing says: Float32, Int or Bool."""
    dtype = weak.assumed_type(*[v for v in values if not isinstance(v, Number)] or [False])
    for number in numbers:
        dtype = promote(dtype, number.dtype) or dtype
    if dtype.is_float:
        dtype = promote(dtype, b.untyped) or dtype
    cls = number_class(dtype, max((v.lanes for v in numbers), default=1))
    found = [_as(b, n, v, cls) for n, v in enumerate(values)]
    if dtype.is_float and b.untyped is DType.float32:
        for number in found:
            if isinstance(number, Number):
                number.weak = Closed(name)
    return found


def _as(b: Staging, n: int, value: Any, cls: type[Number]) -> Any:
    """The value of one return as ``cls``, where it may be that by itself; else as it is."""
    op, region, _ = b.returns[n]
    b.loc = op.loc
    if isinstance(value, bool) and cls.dtype.kind != "bool":
        return value
    if isinstance(value, Number) and value.weak is None:
        return value
    region.ops.pop()
    try:
        with b.into(region):
            b.live = True
            return cls.of(to_type(value, cls, b))
    except CompileError as error:
        raise _placed(b, error, op.loc) from None
    finally:
        region.ops.append(op)


def _placed(b: Staging, error: CompileError, loc: Loc) -> CompileError:
    from weft.diagnostics.wrote import resolved

    place = _return_place(b, loc)
    return CompileError([d if d.labels else resolved(d, place, error.part) for d in error.diagnostics])


def _result(b: Staging, values: list[Any], name: str, fell: bool) -> tuple[Spec, list[Any]]:
    specs = [spec_of(v) for v in values]
    if any(spec != specs[0] for spec in specs):
        values = [carried(v) for v in values]
        specs = [spec_of(v) for v in values]
    paths = list(zip(b.returns, specs, strict=True))
    for (op, _, _), spec in reversed(paths) if fell else paths:
        if spec != specs[0]:
            texts = [_returned(s) for s in (specs[0], spec)]
            hint = "end every path with a `return` of one type"
            if fell and op is b.returns[-1][0]:
                hint += "; `return None` where there is nothing to give"
            if isinstance(spec, NumberSpec) and isinstance(specs[0], NumberSpec):
                hint = f"make all returns one type: write {texts[0]}(...) here"
            raise CompileError(
                Diagnostic(
                    "return-type",
                    f"{name} returns {texts[0]} on one path and {texts[1]} on another",
                    (
                        Label(
                            _return_place(b, None if fell and op is b.returns[-1][0] else op.loc), texts[1]
                        ),
                        Label(_return_place(b, b.returns[0][0].loc), texts[0]),
                    ),
                    (),
                    (hint,),
                )
            )
    if len(values) == 1 and isinstance(values[0], Number) and not isinstance(values[0].value, Value):
        return StaticSpec(values[0]), values  # a typed constant stays known at compile time
    return (specs[0] if specs else StaticSpec(None)), values


def _return_place(b: Staging, loc: Loc | None) -> Location:
    """Where the statement at ``loc`` returns; of the end of the function, its name."""
    from weft.diagnostics.wrote import parameter_place, source_of

    source = source_of(b.file)
    statement = None if source is None or loc is None else source.statement(loc[0], loc[1])
    if source is not None and isinstance(statement, ast.Return):
        return source.place(statement.value or statement)
    return parameter_place(b.file, b.function.line if b.function is not None else 0, "")


def _returned(spec: Spec) -> str:
    return "nothing" if spec == StaticSpec(None) else spec.describe()
