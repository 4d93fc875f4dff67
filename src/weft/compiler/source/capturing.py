"""A Python function that is passed some of its outer variables, like a function within a function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CellType, CodeType
from typing import Any

from weft.compiler.source.definition import Definition, Parameter, Scope
from weft.compiler.source.python import PythonFunction
from weft.diagnostics import Location

Chain = tuple[str, ...]
"""``a.b.c``, taken apart."""


def variable_of(chain: Chain) -> str:
    """The variable that stands for a chain: a name is its own."""
    return chain[0] if len(chain) == 1 else f"__weft_{'_'.join(chain)}__"


class CapturingFunction(Definition):
    """A Python function as it was when it was given, without what it captures.

    It stays what it is, whatever becomes of the Python function.

    Args:
        of: the function.
        chains: what is given to it: the captured variables that are assigned, and whatever else.
    """

    def __init__(self, of: PythonFunction, chains: Sequence[Chain]) -> None:
        self._of = of.without_cells()
        self._reads = None
        self.name = "lambda" if of.name == "<lambda>" else of.name
        self.qualname, self.module, self.doc = of.qualname, of.module, of.doc
        self._scope = Scope(of.scope.globals, {variable_of(chain): CellType(None) for chain in chains})
        self._chains = {chain for chain in chains if len(chain) > 1}

    @property
    def file(self) -> str:
        """The file that it was compiled from."""
        return self._of.file

    @property
    def line(self) -> int:
        """The line in which it begins."""
        return self._of.line

    def place(self, name: str) -> Location:
        """Where it declares a parameter, or where it is named itself."""
        return self._of.place(name)

    def body(self) -> ast.FunctionDef:
        """The syntax, with variables in place of the chains that are given."""
        body = self._of.body()
        return _Renamed(self._chains).visit(body) if self._chains else body

    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return self._of.names()

    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, their annotations evaluated."""
        return self._of.parameters()

    def result(self) -> Any:
        """The annotation of its result, evaluated."""
        return self._of.result()

    def digest(self) -> bytes:
        """Its code, as bytes."""
        return self._of.digest()


class _Renamed(ast.NodeTransformer):
    """Names in place of attributes."""

    def __init__(self, chains: set[Chain]) -> None:
        self._chains = chains

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """``self.x`` as a variable, where it is given."""
        names, at = [node.attr], node.value
        while isinstance(at, ast.Attribute):
            names.insert(0, at.attr)
            at = at.value
        written = [at.id, *names] if isinstance(at, ast.Name) else []
        for chain in self._chains:
            if len(chain) == len(written) and all(map(_means, written, chain)):
                return ast.copy_location(ast.Name(variable_of(chain), node.ctx), node)
        return self.generic_visit(node)


def _means(written: str, name: str) -> bool:
    """Whether a name is what is written, which may be private to a class."""
    private = written.startswith("__") and not written.endswith("__")
    return name == written or (private and name.startswith("_") and name.endswith(written))


def assigned_in(of: PythonFunction) -> set[str]:
    """The names that a function and those in it have variables or parameters of."""
    codes, found = [of.code], set[str]()
    while codes:
        code = codes.pop()
        found.update(code.co_varnames, code.co_cellvars)
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    return found
