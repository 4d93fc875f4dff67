"""The Python that kernels cannot use, each kind with what to write instead."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from weft.compiler.frontend.hostcalls import host_call, names_of
from weft.compiler.frontend.nonlocals import leaving
from weft.compiler.frontend.tree import bound_names, has, walk
from weft.compiler.source.definition import Definition
from weft.diagnostics import Diagnostic, Label, nearest
from weft.diagnostics.errors import advised


class Rejected(NamedTuple):
    """What a construct is called, its replacement, and why it is not there."""

    what: str
    instead: str
    why: str = ""


_CATCH = Rejected(
    "`try`", "test the condition with `if` before", "compiled code neither raises nor catches exceptions"
)
_SUSPEND = Rejected(
    "`yield`", "write the results to memory", "compiled code runs to its end and has no suspended frames"
)
_IMPORT = Rejected("`import` in a function", "import at the top of the file")
_OUTSIDE = "define it outside with @func, or use a lambda"

REJECTED: dict[type[ast.AST], Rejected] = {
    ast.Try: _CATCH,
    ast.TryStar: _CATCH,
    ast.Raise: Rejected(
        "`raise`",
        "write `assert condition, message`: the host hears of the first failure",
        "compiled code neither raises nor catches exceptions",
    ),
    ast.Yield: _SUSPEND,
    ast.YieldFrom: _SUSPEND,
    ast.AsyncFunctionDef: Rejected("an async function", _OUTSIDE),
    ast.ClassDef: Rejected("a class defined in a function", "define it outside with @struct"),
    ast.Global: Rejected(
        "`global`", "pass a pointer and write through it", "globals are compile-time constants"
    ),
    ast.Nonlocal: Rejected(
        "`nonlocal`", "pass a pointer and write through it", "captured variables are compile-time constants"
    ),
    ast.Import: _IMPORT,
    ast.ImportFrom: _IMPORT,
}
if sys.version_info >= (3, 12):
    REJECTED[ast.TypeAlias] = Rejected("`type`", "define the alias outside")

HOST_ONLY: dict[str, str] = {
    "compile": "call a function",
    "delattr": "leave it out",
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
    "exit": "write `return`",
    "globals": "name the variable",
    "help": "ask on the host",
    "id": "compare the values themselves",
    "input": "read it on the host and pass it as an argument",
    "locals": "name the variable",
    "open": "read it on the host and pass a buffer",
    "quit": "write `return`",
    "setattr": "write `x.name = value` for a field of a @struct",
    "super": "name the class whose method it is: Base.method(self, ...)",
    "vars": "name the field",
}
"""Builtins that only make sense where Python runs, each with what to write instead."""


_ONCE = "what Python a body calls runs at compile time: only what its arguments decide is right there"


class _Checker:
    def __init__(self, file: str, kernel: bool, name: str) -> None:
        self.file = file
        self.kernel = kernel
        self.name = name
        self.inner: set[ast.AST] = set()
        """What stands in functions within the function."""
        self.problems: list[Diagnostic] = []

    def problem(self, node: ast.AST, code: str, message: str, hint: str, why: str = "") -> None:
        """Note one thing that is wrong at ``node``."""
        from weft.diagnostics.wrote import node_location

        place = Label(node_location(node, self.file))
        self.problems.append(Diagnostic(code, message, (place,), (why,) if why else (), (hint,)))

    def check(self, node: ast.AST) -> None:
        """Whether this node can be compiled, those below it aside."""
        rejected = REJECTED.get(type(node))
        if rejected is not None:
            message, instead = f"{rejected.what} cannot be compiled", rejected.instead
            if isinstance(node, ast.Try) and not node.handlers:
                instead = "write what stands in `finally` behind the rest, and before each `return`"
            self.problem(node, "unsupported-syntax", message, instead, rejected.why)
        elif isinstance(node, ast.Return):
            if self.kernel and node.value is not None and not _is_none(node.value) and node not in self.inner:
                self.problem(
                    node,
                    "kernel-returns",
                    f"the kernel {self.name} returns a value, but nobody receives it",
                    "write the result to a buffer that the kernel takes as a parameter",
                )
        elif isinstance(node, ast.FunctionDef) and has_type_parameters(node):
            message = f"`{node.name}`, a function in a function, has no type parameters"
            instead = "leave the brackets and the annotations out: it takes any type, and type(x)(2) is of it"
            self.problem(node, "unsupported-syntax", message, instead)
        elif isinstance(node, ast.NamedExpr) and node in self.inner:
            message = f"`{ast.unparse(node)}` in a lambda cannot be compiled"
            self.problem(node, "unsupported-syntax", message, "write a function with `def`")
        elif isinstance(node, ast.arguments) and (extra := node.kwarg):
            message = f"`**{extra.arg}`: a function takes no names but those of its parameters"
            self.problem(extra, "unsupported-syntax", message, "name each parameter")
        elif isinstance(node, ast.Expr) and _is_idle(node.value):
            text = ast.unparse(node.value)
            self.problem(node.value, "no-effect", f"`{text}` is computed and not used", _instead(node.value))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Del):
            message = f"`del {ast.unparse(node)}` cannot be compiled"
            self.problem(node, "unsupported-syntax", message, "leave it out: a struct keeps its fields")


def _is_idle(node: ast.expr) -> bool:
    """Whether a statement of this expression does nothing; of names, what they stand for decides."""
    if isinstance(node, (ast.Name, ast.Attribute)) or type(node) in REJECTED:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float, complex)) and not isinstance(node.value, bool)
    return not has(walk(node), ast.Call, ast.NamedExpr, ast.Await)


def _instead(node: ast.expr) -> str:
    """What a statement that does nothing may have been meant to be."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.UnaryOp):
        inner, plus = node.operand, isinstance(node.op, ast.UAdd)
        same = type(inner.op) is type(node.op) and not isinstance(inner.operand, ast.Constant)
        if same and isinstance(node.op, (ast.UAdd, ast.USub)):
            return f"write {ast.unparse(inner.operand)} {'+' if plus else '-'}= 1"
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return f"write {ast.unparse(node.left)} = {ast.unparse(node.comparators[0])} to assign"
    if isinstance(node, ast.BinOp) and isinstance(node.left, (ast.Name, ast.Subscript)):
        changed = ast.AugAssign(node.left, node.op, node.right)
        return f"write {ast.unparse(changed)} to change {ast.unparse(node.left)}"
    return "assign it to a variable, or leave it out"


def has_type_parameters(node: ast.AST) -> bool:
    """Whether this is ``def f[T](...)``, of Python 3.12."""
    return bool(getattr(node, "type_params", ()))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _nearest(name: str, known: Iterable[str]) -> str | None:
    return nearest(name, [k for k in known if not k.startswith("_")])


def _asked(name: ast.Name, nodes: Iterable[ast.AST]) -> tuple[ast.expr, str]:
    """The attribute of a name that is asked for, and what it is called; the name itself without one."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.value is name:
            return node, node.attr
    return name, ""


def check_syntax(nodes: Sequence[ast.AST], fn: Definition, kernel: bool) -> list[Diagnostic]:
    """All that is wrong with the text of a function, before any of it runs, by the nodes of its body."""
    checker = _Checker(fn.file, kernel, fn.name)
    scope, constant = fn.scope, bound_names(nodes).union(fn.names())
    outside = leaving(fn.body()) if has(nodes, ast.Nonlocal) else set[str]()
    kept = _checked(nodes, checker, outside)
    _check_attributes(kept, checker, constant)
    host = names_of(scope, constant)
    for node in kept:
        if isinstance(node, ast.Call) and (instead := host_call(node, host)):
            called = ast.unparse(node.func)
            message = f"`{called}` belongs to the host, and would run once, while {fn.name} is compiled"
            checker.problem(node, "host-only", message, instead, _ONCE)
    _check_names(kept, checker, constant.union(scope.cells), scope.globals)
    return sorted(checker.problems, key=lambda d: (d.labels[0].location.line, d.labels[0].location.column))


_CHECKED = {*REJECTED, ast.Return, ast.NamedExpr, ast.arguments, ast.Expr, ast.Attribute, ast.FunctionDef}
_CHECKED.add(ast.Lambda)
"""Kinds of nodes of which some cannot be compiled."""


def _checked(nodes: Iterable[ast.AST], checker: _Checker, outside: set[str]) -> list[ast.AST]:
    """Check each node by itself; those that are not in what is rejected as a whole."""
    kept: list[ast.AST] = []
    rejected: set[ast.AST] = set()
    for node in nodes:
        if node.__class__ is ast.Constant or (rejected and node in rejected):
            continue
        kept.append(node)
        if node.__class__ not in _CHECKED or (
            isinstance(node, ast.Nonlocal) and not outside.intersection(node.names)
        ):
            continue
        checker.check(node)
        if isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)) or has_type_parameters(node):
            rejected.update(walk(node))
        elif isinstance(node, ast.FunctionDef):
            checker.inner.update(n for n in walk(node) if isinstance(n, ast.Return))
        elif isinstance(node, ast.Lambda):
            checker.inner.update(n for n in walk(node) if isinstance(n, ast.NamedExpr))
    return kept


def _check_attributes(nodes: Iterable[ast.AST], checker: _Checker, constant: set[str]) -> None:
    """Refuse to assign attributes of what is known at compile time."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            base = node.value
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name) and base.id not in constant:
                message = (
                    f"`{base.id}` is known at compile time, so a kernel cannot assign `.{node.attr}` of it"
                )
                checker.problem(node, "attribute", message, "write to memory, or use a local variable")


def _check_names(
    nodes: Sequence[ast.AST], checker: _Checker, local: set[str], defined: Mapping[str, Any]
) -> None:
    """Refuse names that mean nothing, or nothing in compiled code."""
    seen: set[str] = set()
    for node in nodes:
        if not isinstance(node, ast.Name) or (name := node.id) in local or name in seen:
            continue
        if name in defined:
            if type(defined[name]) is ModuleType:
                _check_module(node, nodes, defined[name].__name__, checker, seen)
            continue
        if name in HOST_ONLY:
            message = f"`{name}` is Python's and means nothing in compiled code"
            checker.problem(node, "host-only", message, HOST_ONLY[name])
        if hasattr(builtins, name):
            continue
        whole, asked = _asked(node, nodes)
        hint = advised(name, asked)
        if hint != advised(name):  # of a module, each name has its own
            node, name = whole, ast.unparse(whole)
        if name in seen:
            continue
        seen.add(name)
        if not hint:
            from weft.compiler.frontend.names_of_mojo import MOJOS  # here, since few names are none

            guess = nearest(name, local, 0.8)
            hint = "" if guess else MOJOS.get(name, "")
        if not hint:
            guess = _nearest(name, local) or _nearest(name, defined)
            guess = guess or _nearest(name, vars(builtins).keys() - HOST_ONLY.keys())
            hint = f"did you mean `{guess}`?" if guess else "define or import it before the function runs"
        checker.problem(node, "unknown-name", f"`{name}` is not defined", hint)


def _check_module(
    node: ast.Name, nodes: Sequence[ast.AST], module: str, checker: _Checker, seen: set[str]
) -> None:
    """Refuse a module of another language for kernels."""
    from weft.compiler.frontend.names import package_of  # here, since few kernels name a module

    if package := package_of(module):
        whole, asked = _asked(node, nodes)
        if (text := ast.unparse(whole)) not in seen:
            seen.add(text)
            message = f"`{text}` is {module}'s and means nothing in compiled code"
            checker.problem(whole, "host-only", message, advised(package, asked))
