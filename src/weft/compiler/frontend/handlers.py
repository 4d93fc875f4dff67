"""``try`` and ``suppress`` in helpers that wait for what a run-time division never raises."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

from weft.compiler.frontend.hostcalls import Names, found
from weft.compiler.ir.core import Op
from weft.diagnostics import refuse
from weft.lang.elaboration import maybe_current

_DIVISIONS = frozenset(f"arith.{name}" for name in ("divsi", "divui", "divf", "remsi", "remui", "remf"))


def catches_division(node: ast.Try | ast.With, names: Names) -> bool:
    """Whether a handler takes a division by zero, or ``contextlib.suppress`` does."""
    caught: list[ast.expr | None] = []
    if isinstance(node, ast.With):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and found(call.func, names) is suppress:
                caught += call.args
    else:
        for handler in node.handlers:
            caught += handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_takes_division(one, names) for one in caught)


def _takes_division(caught: ast.expr | None, names: Names) -> bool:
    named = BaseException if caught is None else found(caught, names)
    if isinstance(caught, ast.Name) and not isinstance(named, type):
        named = getattr(builtins, caught.id, None)
    return isinstance(named, type) and issubclass(ZeroDivisionError, named)


@contextmanager
def undivided() -> Generator[None]:
    """Refuse what divides by a run-time number within.

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
        if any(one.name in _DIVISIONS and not _by_constant(one) for one in (op, *inner)):
            refuse(
                "operand",
                "this waits for a division by zero, and a division at run time raises nothing: "
                "an integer divided by 0 is 0, a float infinite or nan",
                hint="test the divisor before: x // y if y != 0 else ...",
            )


def _by_constant(op: Op) -> bool:
    owner = op.operands[1].owner
    return isinstance(owner, Op) and owner.name == "arith.constant"
