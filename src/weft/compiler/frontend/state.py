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
    from weft.compiler.frontend.given_back import Return
    from weft.compiler.frontend.merged import Refs
    from weft.compiler.frontend.variables import Var
    from weft.diagnostics import CompileError


class Facts:
    """What passes over a function have learnt of it, so that the next one makes other code."""

    def __init__(self) -> None:
        self.optional: dict[object, Any] = {}
        """By the place of a variable that may be None, what stands for its value where it is."""
        self.late_loops: set[object] = set()
        """The places of loops that are written out, and left by what only run time knows."""
        self.by_value: set[object] = set()
        """The structs that are no objects, by which of those they are that the function makes."""
        self.in_loops: set[tuple[object, str]] = set()
        """The fields of structs that loops change, by which of the structs made it is."""
        self.copying: set[object] = set()
        """The variables that lead to no objects, where others do."""
        self.left_by_rounds: dict[tuple[object, object], dict[object, Any]] = {}
        """By loop and variable, of which objects and specs its rounds leave what it leads to."""

    def count(self) -> int:
        """How many there are."""
        sets = self.optional, self.late_loops, self.by_value, self.in_loops, self.copying
        return sum(map(len, (*sets, *self.left_by_rounds.values())))


class FunctionState(Elaboration):
    """Where the elaboration of a function stands; what staged code does with it, the classes above say."""

    def __init__(self, target: Target, elaborator: Elaborator) -> None:
        super().__init__(target, elaborator)
        self.file = ""
        self.take(Facts())
        self.merging: bool = False
        """Whether variables that branches and loops assign lead to objects, where they can."""
        self.merges: bool = False
        """Whether it would make a difference: one of them is assigned an object."""
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
        self.optionals: list[Var] = []
        """The variables of which this is known."""
        self.call: Called | None = None
        """That of the statement at hand, if it is one."""
        self.open_vars: list[Var] = []
        self.returns: list[tuple[Op, Region, Any]] = []
        self.journal: list[Any] = []
        """What the regions at hand have changed of fields of structs made before these."""
        self.nests: list[object] = []
        """Of each region around but the outermost which branch or loop it belongs to."""
        self.opened: dict[int, set[tuple[int, str]]] = {}
        """By scope the fields that a round of a loop reads from slots where it begins."""
        self.hinted: list[tuple[Any, str]] = []
        """Fields of structs that the loop at hand sets, as its text says."""
        self.to_open: list[tuple[Any, str]] = []
        """Those of which this is learnt."""
        self.lent: list[Any] = []
        """The structs of its parameters, where they are objects of the code that calls."""
        self.as_lent: list[dict[str, Any]] = []
        """What the fields of each held at the beginning."""
        self.at_returns: list[Return] = []
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

    def take(self, facts: Facts) -> int:
        """Know what passes have learnt; how much that is."""
        self.optional, self.late_loops = facts.optional, facts.late_loops
        self.by_value, self.in_loops = facts.by_value, facts.in_loops
        self.copying, self.left_by_rounds = facts.copying, facts.left_by_rounds
        return facts.count()

    def new_refs(self, var: Var, key: tuple[Any, ...] | None) -> Refs | None:
        """What a new variable may lead to; None of one that leads to no objects."""
        raise NotImplementedError

    def new_scope(self) -> None:
        """Open a scope: the code of one region."""
        self.scope_count += 1
        self.scopes.append(self.scope_count)

    def around(self) -> list[int]:
        """Of the scopes that are open those that a loop of the device repeats."""
        return [scope for scope in self.scopes if scope in self.repeated]
