"""``nonlocal``: variables that functions in a function assign.

Such a variable has a slot from the beginning of the function that it belongs to. A function in that is given
what the slot holds beside its arguments, has a slot of its own for it, and gives back what this holds in the
end beside its result; so does every function on the way there, to which it was passed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.frontend.tree import bound_names, place
from weft.compiler.frontend.variables import BY_VALUE, UNDEFINED, Var
from weft.compiler.ir.core import Region, Value
from weft.lang.elaboration import current
from weft.lang.spec import Leaf, NumberSpec, PartsSpec, Spec, given_spec
from weft.lang.weak import OPEN, note
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


def variables(function: ast.FunctionDef) -> set[str]:
    """Those of a function, but not of those in it."""
    return _parts(function)[0]


def leaving(function: ast.FunctionDef) -> set[str]:
    """The variables of functions around it that a function assigns, or one in it does."""
    own, inner = _parts(function)
    return declared(function) | (inner - own)


def held(function: ast.FunctionDef) -> set[str]:
    """The variables of a function that those in it assign."""
    own, inner = _parts(function)
    return own & inner


def declare_parts(function: ast.FunctionDef, nodes: Iterable[ast.AST]) -> bool:
    """Write ``nonlocal p`` where a function in a function sets ``p.x`` of a variable around it, if any does.

    Python needs none, as ``p`` is one object; here the variable holds another value then.
    """
    return any(node.__class__ is ast.FunctionDef for node in nodes) and _declared_parts(function, frozenset())


def _declared_parts(function: ast.FunctionDef, around: frozenset[str]) -> bool:
    around, found = around | variables(function), False
    for inner in [node for node in _own(function) if isinstance(node, ast.FunctionDef)]:
        nodes = _own(inner)
        names = {name for node in nodes if isinstance(node, ast.Attribute) and (name := _changed(node))}
        names = (names & around) - bound_names([*nodes, *ast.walk(inner.args)]) - declared(inner)
        if names:
            inner.body.insert(0, place(ast.Nonlocal(sorted(names)), inner.body[0]))
        found |= bool(_declared_parts(inner, around) or names)
    return found


def _changed(target: ast.Attribute) -> str | None:
    """The variable of which a part is set: a field, or one of a field."""
    at: ast.expr = target
    while isinstance(at, ast.Attribute):
        at = at.value
    return at.id if isinstance(target.ctx, ast.Store) and isinstance(at, ast.Name) else None


# -- what a call is given and gives back -----------------------------------------------------------
@record
class SharedSpec:
    """A variable that functions in a function assign: which, and what it holds when one is called.

    ``root`` is the first variable of all that stand for it in the functions under way.
    """

    root: Var
    held: Spec | None

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return () if self.held is None else self.held.leaves()

    def build(self, leaves: Sequence[Value]) -> Var:
        """A variable of the function at hand for it, always the same."""
        b = cast("Staging", current())
        value = UNDEFINED if self.held is None else self.held.build(leaves)
        found = b.shared_vars.get(self.root) or b.given_back.get(self.root)
        if found is None:
            found = Var(b, self.root.name, value, key=BY_VALUE)
            found.root = self.root if b.entering else found
            found.of_program = self.root.of_program
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

    @property
    def literals(self) -> Any:
        """What it holds, to see which literals; no code."""
        return _held(self.var) if self.var.defined else UNDEFINED

    def __weft_spec__(self) -> Spec:
        assert self.var.root is not None
        return SharedSpec(self.var.root, given_spec(_held(self.var), True) if self.var.defined else None)

    def __weft_leaves__(self) -> list[Value]:
        return self.var.held() if self.var.defined else []


def _held(var: Var) -> Any:
    """What a variable holds, without code for it."""
    with var.b.into(Region()):
        return var.now()


def shared(b: Staging, name: str, value: Any) -> Var:
    """A variable of the function at hand that those in it assign."""
    made = Var(b, name, value, key=BY_VALUE)
    made.root = made
    b.shared_vars[made] = made
    return made


def changes(b: Staging) -> Iterator[tuple[Var, SharedSpec]]:
    """What the function at hand gives back: its variables, and as what the code that calls it knows them."""
    for root, var in b.shared_vars.items():
        if root is not var and var.changed and var.spec is not None and var not in b.left_open:
            yield var, SharedSpec(root, given_spec(_held(var), True))


def give_back(b: Staging, changed: Iterable[SharedSpec], leaves: Sequence[Value]) -> None:
    """After a call: assign what it has changed."""
    for spec in changed:
        assert spec.held is not None
        count = len(spec.leaves())
        _assign(b.shared_vars[spec.root], spec.held, leaves[:count])
        leaves = leaves[count:]


def _assign(var: Var, held: Spec, leaves: Sequence[Value]) -> None:
    """Assign what a call has left in a variable; literals stay such."""
    var.surely = False
    if isinstance(held, PartsSpec) and len(var.parts) == len(held.items):
        for part, item in zip(var.parts, held.items, strict=True):
            count = len(item.leaves())
            _assign(part, item, leaves[:count])
            leaves = leaves[count:]
        return
    if isinstance(held, NumberSpec) and held.weak is OPEN:
        now = var.load() if var.is_weak else None
        if now is not None and now.dtype is held.dtype:
            var.put(leaves)
            return
        if now is not None:  # literals of another kind: there is another pass
            note(var.weak, held.dtype, now.dtype)
        held = NumberSpec(held.dtype, held.lanes)
    if not var.b.learnt:
        var.store(held.build(leaves))
