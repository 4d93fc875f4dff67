"""Copying operations with their operands replaced, and whole modules."""

from __future__ import annotations

from collections.abc import Callable

from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.record import replace

Lookup = Callable[[Value], Value]


def clone_op(op: Op, mapping: dict[Value, Value], lookup: Lookup | None = None) -> Op:
    """A copy of ``op`` whose operands are ``mapping``'s, or ``lookup``'s for those not there."""
    known = mapping.get
    if lookup is None:
        operands = tuple([known(v, v) for v in op.operands])
    else:
        operands = tuple([found if (found := known(v)) is not None else lookup(v) for v in op.operands])
    regions = tuple([clone_region(r, mapping, lookup) for r in op.regions]) if op.regions else ()
    made = Op(op.spec, operands, op.attrs, regions, tuple([r.type for r in op.results]), op.loc)
    for n, old in enumerate(op.results):
        new = mapping[old] = made.results[n]
        new.name = old.name
    return made


def clone_region(region: Region, mapping: dict[Value, Value], lookup: Lookup | None = None) -> Region:
    """A copy of a region; values that it defines are entered in ``mapping``."""
    made = region.alike(mapping)
    for op in region.ops:
        made.ops.append(clone_op(op, mapping, lookup))
    return made


def clone_module(module: Module) -> Module:
    """A copy of a module that shares nothing with it that can change."""
    return replace(
        module, functions=[_clone_function(f) for f in module.functions], globals=list(module.globals)
    )


def _clone_function(f: Function) -> Function:
    args = [Value(a.type, None, a.name) for a in f.args]
    return replace(f, args=args, body=clone_region(f.body, dict(zip(f.args, args, strict=True))))
