"""Arrays of a thread become variables where every access is at a place that is known when it is compiled.

What lasts from one piece of a block to another then lies for each variable in a row of all threads, of which
LLVM makes vectors, and is no memory at all where it does not last.
"""

from __future__ import annotations

from itertools import pairwise

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import Type

_MOST = 256
"""Arrays of more elements stay in memory."""
_DERIVED = ("llvm.getelementptr", "llvm.addrspacecast")
_ACCESSES = ("llvm.load", "llvm.store")


def registers(module: Module) -> None:
    """Rewrite every function of the module, in place."""
    for f in module.functions:
        if any(op.name == "llvm.alloca" for op in f.body.ops):
            _Arrays(f).rewrite(f.body)


class _Arrays:
    def __init__(self, f: Function) -> None:
        self.cells: dict[Value, dict[int, Type]] = {
            op.result: {} for op in f.body.ops if op.name == "llvm.alloca" and not op.operands
        }
        """Of each array, what lies at which byte."""
        self.slots: dict[tuple[Value, int], Op] = {}
        for op in f.body.walk():
            if op.name not in _DERIVED:
                for n, v in enumerate(op.operands):
                    self._note(op, n, v)
        for array, cells in list(self.cells.items()):
            ends = sorted((at, at + max(1, kind.bits // 8)) for at, kind in cells.items())
            apart = all(end <= start for (_, end), (start, _) in pairwise(ends))
            if not apart or len(cells) > _MOST:
                del self.cells[array]

    def _note(self, op: Op, n: int, v: Value) -> None:
        """An operation uses an address, if ``v`` is one."""
        array, at = _place(v)
        cells = self.cells.get(array)
        if cells is None:
            return
        kind = op.operands[1].type if op.name == "llvm.store" else op.results[0].type if op.results else None
        plain = op.name in _ACCESSES and op.attrs["volatile"] is False and "ordering" not in op.attrs
        if n or not plain or at is None or kind is None or cells.setdefault(at, kind) is not kind:
            del self.cells[array]

    def rewrite(self, region: Region) -> None:
        """Put variables in the place of arrays."""
        made: list[Op] = []
        for op in region.ops:
            for inner in op.regions:
                self.rewrite(inner)
            array, at = _place(op.results[0]) if op.results else (None, None)
            if array in self.cells:  # the array, or an address in it
                if op.name == "llvm.alloca":
                    made += [self._slot(op, at, kind) for at, kind in self.cells[op.result].items()]
                continue
            array, at = _place(op.operands[0]) if op.name in _ACCESSES else (None, None)
            if array not in self.cells:
                made.append(op)
                continue
            slot = self.slots[array, at or 0].result
            name = "weft.get" if op.name == "llvm.load" else "weft.set"
            other = Op(SPECS[name], (slot, *op.operands[1:]), {}, (), (), op.loc)
            other.results = op.results
            for v in other.results:
                v.owner = other
            made.append(other)
        region.ops[:] = made

    def _slot(self, array: Op, at: int, kind: Type) -> Op:
        attrs = {"elem_type": kind, "name": "element"}
        made = Op(SPECS["weft.slot"], (), attrs, (), (array.result.type,), array.loc)
        self.slots[array.result, at] = made
        return made


def _place(v: Value) -> tuple[Value, int | None]:
    """What an address begins at, and how many bytes behind it that is, where it is known."""
    at: int | None = 0
    while isinstance(v.owner, Op) and v.owner.name in _DERIVED:
        if v.owner.name == "llvm.getelementptr":
            index = integer(v.owner.operands[1])
            size = max(1, v.owner.type_attr("elem_type").bits // 8)
            at = None if index is None or at is None else at + index * size
        v = v.owner.operands[0]
    return v, at
