"""``nonlocal``: variables that functions in a function assign.

Such a variable has a slot from the beginning of the function that it belongs to. A function in that is given
what the slot holds beside its arguments, has a slot of its own for it, and gives back what this holds in the
end beside its result; so does every function on the way there, to which it was passed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.frontend.tree import bound_names
from weft.compiler.frontend.variables import UNDEFINED, Var
from weft.compiler.ir.core import Value
from weft.lang.elaboration import current
from weft.lang.spec import Leaf, Spec
from weft.lang.weak import note
from weft.record import record

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging


# -- whose a variable is --------------------------------------------------------------------------
def _own(function: ast.FunctionDef) -> list[ast.AST]:
    """The nodes of a function, of those in it only the first."""
    out = list[ast.AST](function.body)
    for node in out:  # grows while it runs
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            out.extend(ast.iter_child_nodes(node))
    return out


def declared(function: ast.FunctionDef) -> set[str]:
    """What ``nonlocal`` names in a function, those in it aside."""
    return {name for node in _own(function) if isinstance(node, ast.Nonlocal) for name in node.names}


def _parts(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """The variables of a function, and what the functions in it assign of those around them."""
    nodes = _own(function)
    own = bound_names([*nodes, *ast.walk(function.args)]) - declared(function)
    return own, set[str]().union(*[leaving(node) for node in nodes if isinstance(node, ast.FunctionDef)])


def leaving(function: ast.FunctionDef) -> set[str]:
    """The variables of functions around it that a function assigns, or one in it does."""
    own, inner = _parts(function)
    return declared(function) | (inner - own)


def held(function: ast.FunctionDef) -> set[str]:
    """The variables of a function that those in it assign."""
    own, inner = _parts(function)
    return own & inner


# -- what a call is given and gives back -----------------------------------------------------------
@record
class SharedSpec:
    """A variable that functions in a function assign: which, and what it holds when one is called.

    ``root`` is the first variable of all that stand for it in the functions under way.
    """

    root: Var
    held: Spec | None
    weak: bool

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return () if self.held is None else self.held.leaves()

    def build(self, leaves: Sequence[Value]) -> Var:
        """A variable of the function at hand for it, always the same."""
        b = cast("Staging", current())
        found = b.shared_vars.get(self.root) or b.given_back.get(self.root)
        if found is None:
            found = Var(b, self.root.name, UNDEFINED)
            if self.held is not None:
                found.begin(self.held.build(leaves), self.weak)
            found.root = self.root if b.entering else found
            found.changed = False
            b.given_back[self.root] = b.shared_vars[found.root] = found
        return found

    def describe(self) -> str:
        """How a message names it."""
        return f"the variable {self.root.name}"


class SharedVar:
    """Such a variable as what a function captures."""

    __slots__ = ("var",)

    def __init__(self, var: Var) -> None:
        self.var = var

    def __weft_spec__(self) -> Spec:
        var = self.var
        assert var.root is not None
        return SharedSpec(var.root, var.spec if var.defined else None, var.is_weak)

    def __weft_leaves__(self) -> list[Value]:
        return self.var.held() if self.var.defined else []


def shared(b: Staging, name: str, value: Any) -> Var:
    """A variable of the function at hand that those in it assign."""
    made = Var(b, name, value)
    made.root = made
    b.shared_vars[made] = made
    return made


def changes(b: Staging) -> Iterator[tuple[Var, SharedSpec]]:
    """What the function at hand gives back: its variables, and as what the code that calls it knows them."""
    for root, var in b.shared_vars.items():
        if root is not var and var.changed and var.spec is not None and var not in b.left_open:
            yield var, SharedSpec(root, var.spec, var.is_weak)


def give_back(b: Staging, changed: Iterable[SharedSpec], leaves: Sequence[Value]) -> None:
    """After a call: assign what it has changed."""
    for spec in changed:
        assert spec.held is not None
        count, var = len(spec.leaves()), b.shared_vars[spec.root]
        if spec.weak and spec.held == var.spec:
            var.put(leaves[:count])
        else:
            value = spec.held.build(leaves[:count])
            if spec.weak and var.is_weak:  # literals of another kind
                note(var.weak, value.dtype, var.load().dtype)
            if not b.learnt:
                var.store(value)
        leaves = leaves[count:]
