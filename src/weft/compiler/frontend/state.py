"""The state of one function's elaboration, all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.compiler.frontend.containers import Containers
from weft.compiler.ir.core import Op, Region
from weft.compiler.source.definition import MISSING
from weft.dtype import DType
from weft.lang.elaboration import Elaboration, Elaborator
from weft.targets import Target

if TYPE_CHECKING:
    from weft.compiler.frontend.dropped import Called
    from weft.compiler.frontend.variables import Var
    from weft.diagnostics import CompileError


class FunctionState(Elaboration):
    """Where the elaboration of a function stands; what staged code does with it, the classes above say."""

    def __init__(self, target: Target, elaborator: Elaborator) -> None:
        super().__init__(target, elaborator)
        self.file = ""
        self.scopes: list[int] = [0]
        """The regions that are open, by number; variables live in one."""
        self.regions: list[Region] = []
        """Those around the one at hand."""
        self.scope_count = 0
        self.repeated: set[int] = set()
        """The scopes that are rounds of loops of the device."""
        self.loops: list[Any] = []
        self.round: object = None
        """Which round of which loop of the device this is, as far as is known."""
        self.breaks: list[dict[Var, bool]] | None = None
        """Which variables are set at each ``break`` of the loop that has just ended; None if unrolled."""
        self.containers = Containers()
        self.tested: tuple[Any, Any] | None = None
        """The condition of the `if` at hand, and whether it holds, where that was asked before."""
        self.optional: dict[object, Any] = {}
        """By the place of a variable that may be None, what stands for its value where it is."""
        self.optionals: list[Var] = []
        """The variables of which this is known."""
        self.late_loops: set[object] = set()
        """The places of loops that are written out, and left by what only run time knows."""
        self.call: Called | None = None
        """That of the statement at hand, if it is one."""
        self.open_vars: list[Var] = []
        self.returns: list[tuple[Op, Region, Any]] = []
        self.ends: list[tuple[Op, Region]] = []
        """Returns that no thread comes to."""
        self.shared_vars: dict[Var, Var] = {}
        """Variables that functions in a function assign: by the one that they stand for, those here."""
        self.postponed: list[CompileError] = []
        """What is wrong unless a type that this pass assumes proves to be another."""
        self.given_back: dict[Var, Var] = {}
        """Of them those that the last call has made."""
        self.left_open: set[Var] = set()
        """Of them those that are not assigned at some return."""
        self.annotation: Any = MISSING
        """What the function says that it returns."""
        self.result_of = ""
        self.untyped = DType.float32
        """What float literals are that it returns, where nothing types them."""

    def new_scope(self) -> None:
        """Open a scope: the code of one region."""
        self.scope_count += 1
        self.scopes.append(self.scope_count)

    def around(self) -> list[int]:
        """Of the scopes that are open those that a loop of the device repeats."""
        return [scope for scope in self.scopes if scope in self.repeated]
