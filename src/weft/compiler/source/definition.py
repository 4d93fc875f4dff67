"""What stands between source text and staging: a function's parameters, body and scope, and its place."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, cast

from weft.diagnostics import Location
from weft.diagnostics.fitting import MISSING as MISSING
from weft.record import field, record

if TYPE_CHECKING:
    import ast

    from weft.compiler.source.names import Named


@record
class Parameter:
    """One parameter; its annotation is evaluated."""

    name: str
    annotation: Any = MISSING
    comptime: bool = False
    """Whether its value is known at compile time; ``Comptime[int]`` says so too, see ``parameters``."""
    keyword_only: bool = False
    default: Any = MISSING
    variable: bool = False
    """Whether it is a type variable, its annotation: what the arguments do not say is given by its name."""


@record
class Scope:
    """What names mean that a function does not assign: captured variables, then globals, then builtins."""

    globals: dict[str, Any]
    cells: Mapping[str, CellType] = field(default_factory=dict[str, CellType])

    @property
    def builtins(self) -> dict[str, Any]:
        """What is known everywhere."""
        found: Any = self.globals.get("__builtins__", builtins)
        return cast("dict[str, Any]", found if type(found) is dict else vars(found))

    def captured(self) -> dict[str, Any]:
        """The captured variables that are assigned, with their present values."""
        out: dict[str, Any] = {}
        for name, cell in self.cells.items():
            try:
                out[name] = cell.cell_contents
            except ValueError:
                continue
        return out


class Definition:
    """A function as its author defined it. It is the same function only where it is the same object.

    Args:
        body: its syntax, each node at its place in ``file``. Parameters are named in it too.
        scope: what its names mean.
        parameters: in order.
        result: the annotation of its result, evaluated.
        qualname: its name with those of the classes and functions around it.
        doc: what it says of itself.
    """

    within = False
    """Whether it stands in a function that is being elaborated, which says what they read."""
    fast_math = False
    """Whether its body stands in ``with fast_math():``."""
    threads = 0
    """Of a kernel, how many threads its blocks have; 0 where its launches say that."""
    overloads: tuple[Definition, ...] = ()
    """Those that are called instead of it where their annotations say more of the arguments."""

    def __init__(
        self,
        body: ast.FunctionDef,
        file: str,
        scope: Scope,
        parameters: Sequence[Parameter],
        result: Any = MISSING,
        *,
        qualname: str = "",
        doc: str | None = None,
    ) -> None:
        self.name: str = body.name
        self.qualname: str = qualname or body.name
        self.module: str = scope.globals.get("__name__", "")
        self.doc = doc
        self._body = body
        self._file = file
        self._line = min([d.lineno for d in body.decorator_list], default=body.lineno)
        self._scope = scope
        self._parameters = tuple(parameters)
        self._result = result
        self._reads: Named | None = None

    def __repr__(self) -> str:
        return f"<definition of {self.module}.{self.qualname}>"  # in every process the same

    @property
    def function(self) -> FunctionType | None:
        """The Python function that it is, which may be given other code, defaults and annotations later."""
        return None

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self._file

    @property
    def line(self) -> int:
        """The line in which it begins, decorators included."""
        return self._line

    @property
    def scope(self) -> Scope:
        """What its names mean."""
        return self._scope

    @property
    def version(self) -> object:
        """Another one where the body is another; it can be hashed."""
        return None

    def place(self, name: str) -> Location:
        """Where it declares a parameter, or ``return``'s annotation; of no name, where it is named itself."""
        from weft.diagnostics.wrote import parameter_place

        return parameter_place(self.file, self.line, name)

    def body(self) -> ast.FunctionDef:
        """Its syntax, the caller's to change.

        Raises:
            CompileError: it cannot be had.
        """
        from copy import deepcopy

        return deepcopy(self._body)

    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(p.name for p in self._parameters)

    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters.

        Raises:
            CompileError: an annotation does not evaluate, or the list is not fixed.
        """
        return self._parameters

    def result(self) -> Any:
        """The annotation of its result, or MISSING.

        Raises:
            CompileError: it does not evaluate.
        """
        return self._result

    def reads(self) -> Named:
        """What its body names."""
        if self._reads is None:
            from weft.compiler.source.names import named
            from weft.compiler.source.scopes import INNER, compiled

            body = self.body()
            body.name = INNER
            self._reads = named(compiled(body, self.file, self.qualname, tuple(self.scope.cells)))
        return self._reads

    def digest(self) -> bytes:
        """What tells its text from others."""
        import ast

        return ast.dump(self._body).encode()
