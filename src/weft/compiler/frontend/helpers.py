"""Ordinary Python that kernels call, where Python would answer for a run-time value without asking it.

``flag is True``, ``type(x) is float`` and ``case True`` look at the object that stands for a number,
``print`` shows it, and ``except Exception`` takes a refusal for an error of the program. A helper that has
such in its text runs by code that asks the builder instead, for as long as a kernel is elaborated that may
call it; all else in it stays Python's.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import FunctionType
from typing import Any, cast

from weft.compiler.frontend.kept import check_kept
from weft.compiler.frontend.pybuiltins import COMPARISONS, late
from weft.compiler.frontend.tree import B, b_attribute, b_call, bound_names, fill_places, place, var, walk
from weft.compiler.source.definition import Definition
from weft.compiler.source.rewritten import Rewriting
from weft.diagnostics import WeftError, is_internal
from weft.lang.captured import reads_of
from weft.lang.elaboration import maybe_current
from weft.lang.host_closures import known
from weft.lang.printing import kernel_print
from weft.lang.spec import Spec

__all__ = ["Helpers"]

_BUILTINS = frozenset({"isinstance", "issubclass", "print", "min", "max", "any", "all", "sum", "round"})
_COMPARED: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.NotEq: "!="}
_ASKER = "\0weft\0"
"""The constant in whose place the code has what asks."""


class Helpers:
    """The helpers of the functions that are elaborated, which ask while that lasts."""

    def __init__(self) -> None:
        self.reached: set[FunctionType] = set()

    @contextmanager
    def of(self, fn: Definition, specs: Iterable[Spec]) -> Generator[None]:
        """Let all ask that a function may call, and what specs hold."""
        if fn.within or is_internal(fn.file) or fn.function in self.reached:
            yield
            return
        values = [value for spec in specs for value in known(spec)]
        reads = reads_of([fn, *values])
        found = {of for of, _ in reads.functions} - self.reached
        self.reached |= found
        try:
            with _asking.of(found):
                yield
            check_kept(reads)
        finally:
            self.reached -= found


def _rewrite(node: ast.FunctionDef, hidden: set[str]) -> bool:
    asks = _Asks(hidden | bound_names(walk(node)))
    node.body = [asks.visit(statement) for statement in node.body]
    begin = ast.Assign([var(B, True)], ast.Constant(_ASKER))
    node.body.insert(0, place(begin, node.body[0]))
    fill_places(node, node)
    for name in walk(node):
        if isinstance(name, ast.Name) and name.id == B:
            name.id = f"{B}__"  # also within a class, whose private names would get its own before them
    return asks.found


class _Asks(ast.NodeTransformer):
    """Rewrites what Python answers by itself; ``hidden`` are names that mean no builtin."""

    def __init__(self, hidden: set[str]) -> None:
        self.builtins = _BUILTINS - hidden
        self.found = False

    def _ask(self, node: ast.AST, method: str, *args: ast.expr) -> ast.Call:
        self.found = True
        return place(b_call(method, *args), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.builtins:
            return node
        self.found = True
        return place(b_attribute(f"py_{node.id}"), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        if not any(map(self._asked, node.ops, sides, sides[1:])):
            return node
        if len(node.ops) == 1:
            return self._compare(node, sides[0], sides[1], node.ops[0])
        # a is b is c: the middle once, what is behind it only if needed
        low, high = f"{B}_low__", f"{B}_high__"
        rest = ast.Compare(var(high), node.ops[1:], node.comparators[1:])
        first = self._compare(node, var(low), var(high), node.ops[0])
        both = ast.BoolOp(ast.And(), [first, self.visit_Compare(place(rest, node))])
        arguments = ast.arguments([], [ast.arg(low), ast.arg(high)], None, [], [], None, [])
        return place(ast.Call(ast.Lambda(arguments, both), sides[:2], []), node)

    def _asked(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
        if isinstance(op, (ast.Is, ast.IsNot)):
            return not any(isinstance(side, ast.Constant) and side.value is None for side in (left, right))
        if isinstance(op, (ast.Eq, ast.NotEq)):
            return self._class(left) or self._class(right)
        return isinstance(op, (ast.In, ast.NotIn)) and self._class(left)

    def _class(self, node: ast.expr) -> bool:
        """Whether this is the class of a value."""
        if isinstance(node, ast.Attribute):
            return node.attr == "__class__"
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"

    def _compare(self, node: ast.expr, left: ast.expr, right: ast.expr, op: ast.cmpop) -> ast.expr:
        if not self._asked(op, left, right):
            return place(ast.Compare(left, [op], [right]), node)
        if type(op) in _COMPARED:
            return self._ask(node, "compared", ast.Constant(_COMPARED[type(op)]), left, right)
        method = "is_" if isinstance(op, (ast.Is, ast.IsNot)) else "in_"
        return self._ask(node, method, left, right, ast.Constant(isinstance(op, (ast.IsNot, ast.NotIn))))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        if any(
            c is None or (isinstance(c, ast.Name) and c.id in ("Exception", "BaseException")) for c in caught
        ):
            again = ast.Expr(self._ask(node, "caught"))
            node.body.insert(0, place(again, node.body[0]))
        return node

    def visit_MatchSingleton(self, node: Any) -> Any:
        if node.value is None:
            return node
        self.found = True
        return place(ast.MatchValue(b_attribute(str(node.value).lower())), node)


class _Truth:
    """``True`` or ``False`` in a pattern, which Python compares by ``is``."""

    __weft_compares__ = True
    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, value: bool) -> None:
        self.value = value

    def __eq__(self, other: object) -> Any:
        return _asker.is_(other, self.value, False)


class _Plain:
    """What helpers get whom another thread calls meanwhile: Python's own."""

    def __getattr__(self, name: str) -> Any:
        return getattr(builtins, name.removeprefix("py_"))

    @staticmethod
    def is_(a: object, c: object, negated: bool) -> bool:
        return (a is c) is not negated

    @staticmethod
    def in_(a: object, items: Any, negated: bool) -> bool:
        return (a in items) is not negated

    @staticmethod
    def compared(op: str, a: object, c: object) -> Any:
        return COMPARISONS[op](a, c)


_PLAIN = _Plain()


class _Asker:
    """What helpers ask: the builder at hand."""

    true, false = _Truth(True), _Truth(False)

    def __getattr__(self, name: str) -> Any:
        return getattr(maybe_current() or _PLAIN, name)

    @staticmethod
    def py_print(*args: Any, **kwargs: Any) -> None:
        """``print``: in the kernel what it knows only at run time, all else now."""
        show = cast(
            "Callable[..., None]", kernel_print if maybe_current() and any(map(late, args)) else print
        )
        show(*args, **kwargs)

    @staticmethod
    def caught() -> None:
        """``except Exception``: a refusal is none of the program's errors."""
        error = sys.exc_info()[1]
        if isinstance(error, WeftError) and maybe_current() is not None:
            raise error


_asker = _Asker()
_asking = Rewriting(
    frozenset({"IS_OP", "PUSH_EXC_INFO"}),
    _BUILTINS | {"type", "__class__"},
    _rewrite,
    {_ASKER: _asker},
)
