"""Of which names the objects are that an expression may give, and through which calls they go."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from weft.compiler.frontend.implied import is_implied, operands
from weft.compiler.frontend.tree import COMPREHENSIONS, DISPLAYS, root_of, walk

PLACED = "="
"""In place of an argument's number: an expression is assigned to a part of something."""
CHAINED = "=="
"""The same of two targets, which share what the expression makes too."""


class Step(NamedTuple):
    """A call that an object goes through, and as which argument: by number or keyword, None as the callee.

    Operators, items and attributes that may run a method are such steps too. So is an expression that is
    assigned to a part of something, with ``PLACED``.
    """

    call: ast.AST
    at: int | str | None
    whole: bool = False
    """Whether both places of an object go through it, in what has them."""


Calls = tuple[Step, ...]
_MOST = 3
"""Steps that are remembered of one way; later ones are left out."""


class Source(NamedTuple):
    """A name whose object, or a part of it (``inner``), an expression may give, and the calls on the way."""

    name: str
    calls: Calls = ()
    inner: bool = False
    deep: bool = False
    """Whether the object is copied, and only what it holds twice is held twice again."""


Sources = frozenset[Source]
MADE = "="
"""The name of an object that a call has made, and that no variable holds yet."""
FRESH: Sources = frozenset()
_PARTS = (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.comprehension)


def sources(node: ast.AST | None, calls: Calls = (), inner: bool = False) -> Sources:
    """The names whose objects an expression may give, or hold a part of; ``calls`` are those around it."""
    if isinstance(node, ast.Name):
        return FRESH if is_plain(node) else frozenset({Source(node.id, calls, inner)})
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        part = sources(node.value, calls, inner or bool(root_of(node)))
        return part | implied_by(node, calls, inner)
    if isinstance(node, ast.NamedExpr):
        return sources(node.value, calls, inner) | sources(node.target, calls, inner)
    if isinstance(node, ast.Call):
        given: list[tuple[int | str | None, ast.expr]] = [*enumerate(node.args)]
        given += [(keyword.arg, keyword.value) for keyword in node.keywords]
        given.append((None, node.func.value if isinstance(node.func, ast.Attribute) else node.func))
        return _through(node, given, calls, inner)
    if isinstance(node, ast.IfExp):
        return sources(node.body, calls, inner) | sources(node.orelse, calls, inner)
    if isinstance(node, ast.Lambda):
        reads = {Source(n.id, calls, inner) for n in walk(node.body) if isinstance(n, ast.Name)}
        return defaults_of(node, calls, inner) | reads
    if isinstance(node, ast.Starred):
        return sources(node.value, calls, inner or not isinstance(node.value, DISPLAYS))
    if isinstance(node, COMPREHENSIONS):
        outer = FRESH.union(*[sources(clause.iter, calls, True) for clause in node.generators])
        item = node.value if isinstance(node, ast.DictComp) else node.elt
        return outer | sources(item, calls, inner)
    if isinstance(node, ast.BinOp) and repeats(node):
        made = Source(MADE, (*calls, Step(node, None))[:_MOST], inner)
        return _parts(node, calls, inner) | ({made} if isinstance(node.op, ast.Mult) else FRESH)
    return _parts(node, calls, inner) if isinstance(node, _PARTS) else implied_by(node, calls, inner)


def defaults_of(node: ast.Lambda | ast.FunctionDef, calls: Calls = (), inner: bool = False) -> Sources:
    """The names whose objects a function holds as defaults of its parameters."""
    given = [*node.args.defaults, *node.args.kw_defaults]
    return FRESH.union(*[sources(default, calls, inner) for default in given])


def _parts(node: ast.AST, calls: Calls, inner: bool) -> Sources:
    """The names whose objects the parts of a display, a choice or a comprehension may give."""
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.expr, ast.comprehension))]
    found = [sources(part, calls, inner) for part in parts]
    names = [
        {source.name for source in one if source.name != MADE and not _is_callee(source)} for one in found
    ]
    if isinstance(node, DISPLAYS) and len(set[str]().union(*names)) < sum(map(len, names)):
        ways = [(*calls, Step(node, at))[:_MOST] for at in range(len(parts))]  # (p, p) holds it twice
        found = [sources(part, way, inner) for part, way in zip(parts, ways, strict=True)]
    return FRESH.union(*found)


def _is_callee(source: Source) -> bool:
    """Whether a name is that of the function that is called."""
    call, at = source.calls[-1][:2] if source.calls else (None, None)
    return at is None and isinstance(call, ast.Call) and isinstance(call.func, ast.Name)


def repeats(node: ast.AST) -> bool:
    """Whether an operator is of a list or a tuple that is written out, as ``[p] * 2``."""
    return isinstance(node, ast.BinOp) and any(isinstance(n, DISPLAYS) for n in (node.left, node.right))


def is_plain(node: ast.AST) -> bool:
    """Whether a name is known to stand for a number."""
    return getattr(node, "plain", False)


def implied_by(node: ast.AST | None, calls: Calls, inner: bool = False) -> Sources:
    """The names whose objects an operator, an item or an attribute may give, if it runs a method."""
    if node is None or not is_implied(node):
        return FRESH
    return _through(node, enumerate(operands(node)), calls, inner)


def _through(
    call: ast.AST, given: Iterable[tuple[int | str | None, ast.expr]], calls: Calls, inner: bool
) -> Sources:
    """The names whose objects a call may give back, of all that it is given, and what it makes itself."""
    found = [sources(part, (*calls, Step(call, at))[:_MOST], inner) for at, part in given]
    made = {Source(MADE, (*calls, Step(call, None)), inner)} if len(calls) < _MOST else FRESH
    return FRESH.union(made, *found)


def called(call: ast.Call) -> ast.expr:
    """What a call names, which may be a class, also one with brackets."""
    node = call.func
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def are_beside(calls: Calls, others: Calls) -> bool:
    """Whether two ways lead through two arguments of one call."""
    return any(
        a.call is c.call and a.at != c.at and PLACED not in (a.at, c.at) for a in calls for c in others
    )


def together(calls: Calls, others: Calls) -> Calls:
    """The steps of two ways that make one, each once; ``_MOST`` of them.

    The last one says what made the object. Of the others those of arguments are kept first: a method often
    gives its object back, and seldom what else it is given.
    """
    steps = (*calls, *[call for call in others if call not in calls])
    if len(steps) <= _MOST:
        return steps
    front = [step for step in steps[:-1] if step.at is not None] or list(steps[:-1])
    return (*front[: _MOST - 1], steps[-1])
