"""The elements that one thread does in a launch over a range, side by side instead of one by one.

Elements of a range do not depend on each other, so their operations may be mixed. Where the body is
straight-line code, the calls for several elements become that code with each operation done for all
of them before the next: all loads are in flight before the first store, also where a buffer is read
and written, which no later stage could prove.
"""

from __future__ import annotations

from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.effects import is_pure

_ALLOWED = frozenset({"llvm.load", "llvm.store", "weft.get", "weft.set", "weft.slot"})


def lockstep(module: Module) -> None:
    """Rewrite the kernels of the module, in place."""
    elements = {f.name: f for f in module.functions if f.element and _straight(f.body)}
    if not elements:
        return
    for f in module.functions:
        if f.kernel and f.over_rank:
            _rewrite(f.body, f, elements)


def _straight(body: Region) -> bool:
    *ops, last = body.ops
    return last.name == "weft.return" and all(_plain(op) for op in ops)


def _plain(op: Op) -> bool:
    if op.regions:
        return False
    return is_pure(op) or (op.name in _ALLOWED and not (op.spec.sync and op.spec.sync(op)))


def _rewrite(region: Region, kernel: Function, elements: dict[str, Function]) -> None:
    for op in region.ops:
        for inner in op.regions:
            _rewrite(inner, kernel, elements)
    calls = [op for op in region.ops if op.name == "func.call" and op.attrs["callee"] in elements]
    names = {str(op.attrs["callee"]) for op in calls}
    if len(calls) < 2 or len(names) != 1:
        return
    first = region.ops.index(calls[0])
    last = region.ops.index(calls[-1])
    between = [op for op in region.ops[first:last] if op not in calls]
    if not all(op.spec.pure for op in between):
        return
    mixed: list[Op] = []
    callee = elements[names.pop()]
    mappings: list[dict[Value, Value]] = [dict(zip(callee.args, c.operands, strict=True)) for c in calls]
    for op in callee.body.ops[:-1]:
        for mapping, call in zip(mappings, calls, strict=True):
            made = clone_op(op, mapping)
            made.loc = (op.loc[0], op.loc[1], callee, call.loc)
            if op.name == "weft.slot":
                kernel.body.ops.insert(0, made)
            else:
                mixed.append(made)
    region.ops[first : last + 1] = [*between, *mixed]
