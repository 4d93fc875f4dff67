"""``try`` and ``suppress`` in helpers for exceptions that a division or an index at run time never raises."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

from weft.compiler.frontend.hostcalls import Names, found
from weft.compiler.ir.constants import constant
from weft.diagnostics import refuse
from weft.lang.elaboration import maybe_current

_DIVISIONS = frozenset(f"arith.{name}" for name in ("divsi", "divui", "divf", "remsi", "remui", "remf"))
_TABLES = frozenset({"llvm.mlir.addressof"})


def waits_for(node: ast.Try | ast.With, names: Names) -> list[str]:
    """Of a division by zero and an index outside, what a handler takes, or ``contextlib.suppress`` does."""
    caught: list[ast.expr | None] = []
    if isinstance(node, ast.With):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and found(call.func, names) is suppress:
                caught += call.args
    else:
        for handler in node.handlers:
            caught += handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    taken = [_meaning(one, names) for one in caught]
    kinds = {"division": (ZeroDivisionError,), "index": (IndexError, KeyError)}
    return [
        what
        for what, errors in kinds.items()
        if any(issubclass(error, cls) for error in errors for cls in taken)
    ]


def _meaning(caught: ast.expr | None, names: Names) -> tuple[type[Any], ...]:
    named = BaseException if caught is None else found(caught, names)
    if isinstance(caught, ast.Name) and not isinstance(named, type):
        named = getattr(builtins, caught.id, None)
    return (cast("type[Any]", named),) if isinstance(named, type) else ()


@contextmanager
def unraised(*waited: str) -> Generator[None]:
    """Refuse what divides by a run-time number within, or looks a table up by one.

    Raises:
        CompileError: something does.
    """
    b = cast("Any", maybe_current())
    if b is None:
        yield
        return
    region, before = b.region, len(b.region.ops)
    yield
    for op in region.ops[before:]:
        inner = [one for part in op.regions for one in part.walk()]
        names = {
            one.name
            for one in (op, *inner)
            if one.name not in _DIVISIONS or constant(one.operands[1]) is None
        }
        if "division" in waited and not _DIVISIONS.isdisjoint(names):
            refuse(
                "operand",
                "this waits for a division by zero, and a division at run time raises nothing: "
                "an integer divided by 0 is 0, a float infinite or nan",
                hint="test the divisor before: x // y if y != 0 else ...",
            )
        if "index" in waited and not _TABLES.isdisjoint(names):
            refuse(
                "operand",
                "this waits for an index outside of a table, and one at run time raises nothing",
                hint="test the index before: table[i] if 0 <= i < n else ...",
            )
