"""Float64 that crept into a kernel of narrower floats: by a table, or by a number that nobody typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.compiler.frontend.draft import Doubt, Draft
from weft.compiler.ir.core import Global, Op, Value
from weft.compiler.ir.types import F64
from weft.compiler.source.definition import MISSING
from weft.diagnostics import LEFT, RIGHT, Diagnostic, Location
from weft.lang.signature import parameters

_TABLE = "the table"


def widened(kernel: Draft, drafts: Iterable[Draft]) -> Iterator[Diagnostic]:
    """The first operation that became one of Float64 so, where no other memory holds Float64."""
    if any(_keeps_doubles(draft) for draft in drafts):
        return
    search = _Search(kernel)
    for doubt in _of_floats(kernel):
        found = None if doubt.value is None else search.by_what(doubt.value)
        if found is not None:
            yield _described(doubt, *found)
            return


def _of_floats(kernel: Draft) -> list[Doubt]:
    return [doubt for doubt in kernel.doubts if doubt.diagnostic.code == "float-widening"]


def _keeps_doubles(draft: Draft) -> bool:
    for op in draft.function.body.walk():
        if op.name in ("llvm.load", "llvm.store"):
            value = op.operands[1] if op.name == "llvm.store" else op.result
            if value.type.scalar is F64 and not _is_of_table(op.operands[0], _tables(draft)):
                return True
    return False


def _tables(draft: Draft) -> set[Op]:
    return {op for op, what in draft.refers if isinstance(what, Global) and what.data is not None}


def _is_of_table(pointer: Value, tables: set[Op]) -> bool:
    owner = pointer.owner
    while isinstance(owner, Op) and owner.name in ("llvm.getelementptr", "llvm.addrspacecast"):
        owner = owner.operands[0].owner
    return owner in tables


class _Search:
    """Where the Float64 of a kernel comes from."""

    def __init__(self, kernel: Draft) -> None:
        self.tables = _tables(kernel)
        self.implicit = {doubt.value for doubt in _of_floats(kernel)}
        untyped = {p.name for p in parameters(kernel.definition) if p.annotation is MISSING}
        self.untyped = {a: a.name for a in kernel.function.args if a.name in untyped}
        self.users: dict[Value, list[Op]] = {}
        self.given: dict[Value, list[Value]] = {}
        for op in kernel.function.body.walk():
            for operand in op.operands:
                self.users.setdefault(operand, []).append(op)
            if op.name == "weft.set":
                self.given.setdefault(op.operands[0], []).append(op.operands[1])

    def by_what(self, value: Value) -> tuple[str, int] | None:
        """What a number met when it became a Float64, and as which operand; None where somebody wished it."""
        for op in self.users.get(value, ()):
            for n, other in enumerate(op.operands):
                if other is not value and op.spec.pure and other.type.scalar is F64:
                    origins = self.origins(other, set())
                    if origins and None not in origins:
                        return str(next(iter(origins))), n
        return None

    def origins(self, v: Value, seen: set[Value]) -> set[str | None]:
        """What made a Float64 one: a table, or a parameter's name; None for what the program says itself."""
        if v in seen or v in self.implicit or v.type.scalar is not F64:
            return set()
        seen.add(v)
        op = v.owner
        if not isinstance(op, Op):
            return {self.untyped.get(v)}
        if op.name == "arith.constant":
            return set()
        if op.name == "llvm.load":
            return {_TABLE if _is_of_table(op.operands[0], self.tables) else None}
        if op.name == "weft.get":
            found = [self.origins(one, seen) for one in self.given.get(op.operands[0], ())]
            return set[str | None]().union(*found) if found else {None}
        if not op.spec.pure or all(o.type.scalar is not F64 for o in op.operands):
            return {None}
        return set[str | None]().union(*[self.origins(o, seen) for o in op.operands])


def _described(doubt: Doubt, what: str, operand: int) -> Diagnostic:
    from weft.diagnostics.wrote import resolved

    place: Location | None = doubt.diagnostic.location
    if what == _TABLE:
        why = f"{LEFT if operand == 0 else RIGHT} is one, as NumPy's floats are where nothing else is said"
        hint = "make the table of np.float32, by .astype(np.float32), or write Float64(...) where it shall be"
    else:
        why = f"`{what}` has no type, and Python's floats are Float64"
        hint = f"annotate it, {what}: Float32, or pass np.float32(...)"
    diagnostic = Diagnostic(
        "float-widening",
        f"this is computed in Float64, in a kernel of narrower floats: {why}",
        notes=("a GPU computes in Float64 from 2 to 64 times slower than in Float32",),
        hints=(hint,),
    )
    return resolved(diagnostic, place)
