"""Warns of statements that only compute a value which nobody uses: ``max(a, b)`` alone on a line."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from weft.compiler.frontend.closures import Closure
from weft.compiler.frontend.draft import Draft
from weft.compiler.frontend.pybuiltins import late
from weft.compiler.ir.core import Op, Region
from weft.compiler.ir.effects import is_pure
from weft.diagnostics import Diagnostic, Label, caller_location, is_internal
from weft.lang.decorators import Func
from weft.lang.number import Number
from weft.lang.spec import leaves_of

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging
    from weft.diagnostics import Location

_CONTROL = frozenset(
    "weft.slot weft.get weft.if weft.for weft.while weft.condition weft.break weft.continue "
    "weft.return llvm.alloca".split()
)
_LONGEST = 40
"""A longer expression is not quoted in the middle of a sentence."""
_OF_PYTHON: frozenset[Any] = frozenset((abs, divmod, max, min, pow, round))
"""What of Python's own does nothing but compute, of whatever it is given."""
_MEMORY = frozenset({"llvm.mlir.addressof", "gpu.dynamic_shared_memory"})
"""What takes memory that a block shares: it may be there for others."""


class Called(NamedTuple):
    """What a statement calls, and where its code begins."""

    callee: Any
    region: Region
    start: int


def note_dropped(b: Staging, call: Called | None, value: Any) -> None:
    """Warn if the statement at hand does nothing but compute ``value``: by a call, or by an operator."""
    if (call is not None and not _is_known(call.callee)) or not late(value) or not leaves_of(value):
        return
    if call is not None:
        ops = call.region.ops[call.start :]
        draft = cast("Any", b.elaborator).under_way[-1]
        if call.region is not b.region or not _only_computes(ops, draft, False):
            return
    place = caller_location()
    if place is not None and not is_internal(b.file):
        b.elaborator.doubt(_described(place, None if call is None else call.callee, value))


def _is_known(callee: Any) -> bool:
    """Whether a call does nothing at compile time that a program may see: it is weft's own, or compiled."""
    while isinstance(callee, partial):
        callee = callee.func
    if isinstance(callee, MethodType):
        callee = callee.__func__
    if isinstance(callee, (Func, Closure)):
        return not isinstance(callee, Closure) or callee.definition is not None
    if isinstance(callee, type):
        return issubclass(callee, Number)
    if isinstance(callee, BuiltinMethodType) and callee in _OF_PYTHON:
        return True
    made = isinstance(callee, (FunctionType, BuiltinMethodType))
    return made and str(getattr(callee, "__module__", "")).partition(".")[0] == "weft"


def _only_computes(ops: Iterable[Op], draft: Draft, whole: bool) -> bool:
    """Whether nothing but the result is left of these operations of a function, or of the ``whole`` of it."""
    called = {op: what for op, what in draft.refers if isinstance(what, Draft)}
    for op in ops:
        if op.name == "func.call":
            made = called[op]
            if made.changes or made.fields or not _only_computes(made.function.body.ops, made, True):
                return False
        elif op.name == "llvm.load":
            if op.attrs["volatile"] or "ordering" in op.attrs:
                return False
        elif op.name in ("llvm.store", "weft.set"):
            if not (whole and _is_local(op)):
                return False
        elif op.name in _MEMORY or not (is_pure(op) or op.name in _CONTROL):
            return False
        if not all(_only_computes(region.ops, draft, whole) for region in op.regions):
            return False
    return True


def _is_local(store: Op) -> bool:
    """Whether it writes to memory of the function's own."""
    owner = store.operands[0].owner
    while isinstance(owner, Op) and owner.name in ("llvm.getelementptr", "llvm.addrspacecast"):
        owner = owner.operands[0].owner
    return isinstance(owner, Op) and owner.name in ("llvm.alloca", "weft.slot")


def _described(place: Location, callee: Any, value: Any) -> Diagnostic:
    from weft.diagnostics.wrote import source_of

    source = source_of(place.file)
    node = None if source is None else source.at(place)
    if isinstance(node, ast.Expr):
        node = node.value
    what = "this" if node is None or len(text := ast.unparse(node)) > _LONGEST else f"`{text}`"
    hint = "assign it to a variable, or to `_`; or leave it out"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        held = callee.args[:1] if isinstance(callee, partial) else (getattr(callee, "__self__", None),)
        if held and type(held[0]) is type(value):
            hint = f"values do not change: write {ast.unparse(node.func.value)} = {ast.unparse(node)}"
    return Diagnostic("unused-result", f"{what} is computed and not used", (Label(place),), (), (hint,))
