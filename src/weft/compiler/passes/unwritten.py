"""Bounds of loops that come from memory which a kernel only reads: threads that read one place get the same.

``for j in range(starts[row] + lane_id(), starts[row + 1], 32)`` ends at one place in all lanes of a warp.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.compiler.ir.core import Function, Module, Op, Value
from weft.compiler.ir.effects import effects_of

_DERIVED = frozenset({"llvm.getelementptr", "llvm.addrspacecast"})


def unwritten_loads(kernel: Function, functions: Mapping[str, Function]) -> frozenset[Op]:
    """Loads that bounds of ``for`` loops are made of, from memory that nobody writes meanwhile."""
    waiting = [v for op in kernel.body.walk() if op.name == "weft.for" for v in op.operands]
    seen, loads = set[Value](), set[Op]()
    while waiting:
        v = waiting.pop()
        if v in seen or not isinstance(v.owner, Op):
            continue
        seen.add(v)
        if v.owner.name == "llvm.load":
            if "ordering" not in v.owner.attrs and v.owner.attrs["volatile"] is False:
                loads.add(v.owner)
        elif v.owner.spec.pure:
            waiting += v.owner.operands
    if not loads:
        return frozenset()
    module = Module("", "", list(functions.values()))
    only_read = kernel.alone - effects_of(module, kernel).touched
    arguments = {kernel.args[n] for n in only_read}
    return frozenset(op for op in loads if _root(op.operands[0]) in arguments)


def _root(address: Value) -> Value:
    while isinstance(address.owner, Op) and address.owner.name in _DERIVED:
        address = address.owner.operands[0]
    return address
