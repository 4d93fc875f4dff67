"""The Python that kernels cannot use, each kind with what to write instead."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.diagnostics import Diagnostic, Label, Location, character_column, nearest
from weft.frontend.tree import walk

__all__ = ["REJECTED", "check_syntax", "node_location"]


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a construct is not there, and its replacement."""

    what: str
    instead: str


REJECTED: dict[type[ast.AST], Rejected] = {
    ast.Try: Rejected("`try`: compiled code cannot catch exceptions", "test the condition with `if` before"),
    ast.TryStar: Rejected(
        "`try`: compiled code cannot catch exceptions", "test the condition with `if` before"
    ),
    ast.Raise: Rejected(
        "`raise`: compiled code cannot raise exceptions", "write `assert condition, message`"
    ),
    ast.With: Rejected(
        "`with`: there are no context managers in compiled code", "call what it does before and after"
    ),
    ast.AsyncWith: Rejected("`async with`", "compiled code is not asynchronous; use barrier() and streams"),
    ast.AsyncFor: Rejected("`async for`", "use `for i in range(...)`"),
    ast.Await: Rejected("`await`", "compiled code is not asynchronous; use barrier() and streams"),
    ast.Yield: Rejected("`yield`: compiled code has no suspended frames", "write the results to memory"),
    ast.YieldFrom: Rejected(
        "`yield from`: compiled code has no suspended frames", "write the results to memory"
    ),
    ast.FunctionDef: Rejected("a function defined inside", "define it outside with @func, or use a lambda"),
    ast.AsyncFunctionDef: Rejected("an async function", "define it outside with @func"),
    ast.ClassDef: Rejected("a class defined inside", "define it outside with @struct"),
    ast.Delete: Rejected("`del`: variables end with the function", "leave it out"),
    ast.Global: Rejected(
        "`global`: globals are compile-time constants", "pass a pointer and write through it"
    ),
    ast.Nonlocal: Rejected(
        "`nonlocal`: captured variables are constants", "pass a pointer and write through it"
    ),
    ast.Import: Rejected("`import` inside", "import at the top of the file"),
    ast.ImportFrom: Rejected("`import` inside", "import at the top of the file"),
    ast.NamedExpr: Rejected("`:=`", "assign in a statement of its own"),
    ast.Match: Rejected("`match`", "write `if`, `elif`, `else`"),
}


def node_location(node: ast.AST, file: str) -> Location:
    """Where a node stands, with columns in characters."""
    line: int = getattr(node, "lineno", 0)
    end: int = getattr(node, "end_lineno", None) or line
    if isinstance(node, ast.stmt) and end != line:  # a whole block: its first line will do
        return Location(file, line, character_column(file, line, node.col_offset))
    column = character_column(file, line, getattr(node, "col_offset", 0))
    end_column = character_column(file, end, getattr(node, "end_col_offset", 0))
    return Location(file, line, column, end, end_column)


class _Checker:
    def __init__(self, file: str, kernel: bool, name: str) -> None:
        self.file = file
        self.kernel = kernel
        self.name = name
        self.problems: list[Diagnostic] = []

    def problem(self, node: ast.AST, code: str, message: str, hint: str, label: str = "") -> None:
        """Note one thing that is wrong at ``node``."""
        place = Label(node_location(node, self.file), label)
        self.problems.append(Diagnostic(code, message, (place,), (), (hint,) if hint else ()))

    def check(self, node: ast.AST) -> None:
        """Whether this node can be compiled, those below it aside."""
        rejected = REJECTED.get(type(node))
        if rejected is not None:
            self.problem(node, "unsupported-syntax", f"{rejected.what} cannot be compiled", rejected.instead)
        elif isinstance(node, ast.Return):
            if self.kernel and node.value is not None and not _is_none(node.value):
                self.problem(
                    node,
                    "kernel-returns",
                    f"the kernel {self.name} returns a value, but nobody receives it",
                    "write the result to a buffer that the kernel takes as a parameter",
                )
        elif isinstance(node, (ast.For, ast.While)) and node.orelse:
            self.problem(
                node.orelse[0],
                "unsupported-syntax",
                "`else` of a loop cannot be compiled",
                "set a flag before `break` and test it after the loop",
            )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def check_syntax(tree: ast.FunctionDef, fn: Callable[..., Any], kernel: bool) -> list[Diagnostic]:
    """All that is wrong with the text of a function, before any of it runs."""
    checker = _Checker(fn.__code__.co_filename, kernel, fn.__name__)
    nodes = [node for statement in tree.body for node in walk(statement)]
    code = fn.__code__
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    names: list[ast.Name] = []
    inner: set[ast.AST] = set()
    for node in nodes:
        if node in inner:
            continue
        checker.check(node)
        if isinstance(node, ast.Name):
            names.append(node)
        elif isinstance(node, ast.Lambda):
            local |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)}
        elif isinstance(node, ast.comprehension):
            local |= {n.id for n in walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner.update(walk(node))  # rejected as a whole
    defined = fn.__globals__
    seen: set[str] = set()
    for node in names:
        name = node.id
        if name in local or name in defined or name in seen or hasattr(builtins, name):
            continue
        seen.add(name)
        known = {*local, *defined, *vars(builtins)}
        guess = nearest(name, [k for k in known if not k.startswith("_")])
        checker.problem(
            node, "unknown-name", f"`{name}` is not defined", f"did you mean `{guess}`?" if guess else ""
        )
    return sorted(checker.problems, key=lambda d: (d.labels[0].location.line, d.labels[0].location.column))
