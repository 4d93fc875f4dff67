"""Which variables a control-flow statement must carry in slots.

Backward liveness over the structured tree. A variable that a branch or loop body assigns is
carried only where a later read can see the assignment; all others stay plain Python variables, and
so may hold anything known at compile time.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any, cast

from weft.compiler.frontend.named import late_names, named
from weft.compiler.frontend.tree import COMPREHENSIONS, bound_names, has, walk

_Names = frozenset[str]
_NONE: _Names = frozenset()
_LOOPS = (ast.For, ast.While)
_CLOSURES = (ast.Lambda, ast.FunctionDef, ast.GeneratorExp)
_SCOPES = frozenset((*COMPREHENSIONS, ast.Lambda, ast.FunctionDef))
_CALLS = (ast.Call, *COMPREHENSIONS)
"""What may run a function that was made before."""


def _base_name(target: ast.expr, own: Collection[str] = ()) -> str | None:
    """``p`` for the target ``p.x``: assigning a struct's field assigns the variable.

    So does ``v[i]`` of a variable among ``own``, where it proves to hold a vector or an array.
    """
    indexed = False
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        indexed |= isinstance(target, ast.Subscript)
        target = target.value
    if not isinstance(target, ast.Name) or (indexed and target.id not in own):
        return None
    return target.id


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For)):
        return [node.target]
    if isinstance(node, ast.FunctionDef):
        return [ast.Name(node.name, ast.Store())]
    if isinstance(node, ast.Delete):
        return [target for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.With):
        return [item.optional_vars for item in node.items if item.optional_vars is not None]
    return []


def _stores(target: ast.expr, out: set[str], own: Collection[str] = ()) -> None:
    if isinstance(target, ast.Name):
        out.add(target.id)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _stores(item, out, own)
    elif isinstance(target, ast.Starred):
        _stores(target.value, out, own)
    elif isinstance(target, (ast.Attribute, ast.Subscript)):
        name = _base_name(target, own)
        if name is not None:
            out.add(name)


def stored_names(
    body: Sequence[ast.stmt], known: dict[ast.stmt, set[str]] | None = None, own: Collection[str] = ()
) -> set[str]:
    """Every variable that the statements assign, at any depth; of ``own`` those too of which they set items.

    ``known`` keeps what was found.
    """
    out: set[str] = set()
    for node in body:
        found = None if known is None else known.get(node)
        if found is None:
            found = set[str]()
            for target in _targets(node):
                _stores(target, found, own)
            for inner in () if isinstance(node, ast.FunctionDef) else ("body", "orelse"):
                if nested := getattr(node, inner, None):
                    found |= stored_names(nested, known, own)
            found |= named(node)
            if known is not None:
                known[node] = found
        out |= found
    return out


def _own(scope: Any) -> tuple[set[str], set[ast.AST]]:
    """The variables that a comprehension or a function has for itself, and its nodes that stand outside."""
    if isinstance(scope, COMPREHENSIONS):
        targets = [n for clause in scope.generators for n in walk(clause.target)]
        return bound_names(targets), {*walk(scope.generators[0].iter)}
    outside = {
        n for default in (*scope.args.defaults, *scope.args.kw_defaults) if default for n in walk(default)
    }
    if isinstance(scope, ast.Lambda):
        return bound_names(walk(scope.args)), outside
    outside |= {n for part in (*scope.decorator_list, scope.returns) if part for n in walk(part)}
    inside = [n for n in walk(scope) if n is not scope]
    deeper = {n for inner in inside if inner.__class__ in _SCOPES for n in walk(inner)}
    direct = [n for n in inside if n not in deeper]
    shared = {name for n in direct if isinstance(n, (ast.Nonlocal, ast.Global)) for name in n.names}
    return bound_names(direct) - shared, outside


def _read(node: ast.AST) -> _Names:
    """What is read within, but for the variables of comprehensions and functions in it."""
    nodes, left = walk(node), set[ast.AST]()
    for inner in nodes:
        if inner.__class__ in _SCOPES:
            own, outside = _own(inner)
            left |= {n for n in walk(inner) if isinstance(n, ast.Name) and n.id in own and n not in outside}
    names = [cast("ast.Name", n) for n in nodes if n.__class__ is ast.Name and n not in left]
    return frozenset([n.id for n in names if n.ctx.__class__ is ast.Load])


def _read_when_called(function: ast.FunctionDef, nodes: Sequence[ast.AST]) -> _Names:
    """The function's variables that the functions and generators in it read, whenever they run."""
    inner = [n for n in nodes if isinstance(n, _CLOSURES) and n is not function]
    return _NONE.union(*map(_read_late, inner)) & bound_names(nodes) if inner else _NONE


def _read_late(closure: ast.AST) -> _Names:
    """What is read where it runs: what a generator goes through is there before."""
    if not isinstance(closure, ast.GeneratorExp):
        return _read(closure)
    first, *others = closure.generators
    without = ast.comprehension(first.target, ast.Tuple([], ast.Load()), first.ifs, first.is_async)
    return _read(ast.GeneratorExp(closure.elt, [without, *others]))


def _jumps(body: Sequence[ast.stmt], known: dict[ast.stmt, frozenset[type[ast.stmt]]]) -> set[type[ast.stmt]]:
    """Which of ``break`` and ``continue`` leave the statements; ``known`` keeps what was found."""
    out: set[type[ast.stmt]] = set()
    for node in body:
        if isinstance(node, (ast.Break, ast.Continue)):
            out.add(type(node))
        elif isinstance(node, (ast.If, ast.With)):
            if node not in known:
                orelse = node.orelse if isinstance(node, ast.If) else ()
                known[node] = frozenset(_jumps(node.body, known) | _jumps(orelse, known))
            out |= known[node]
    return out


def has_break(body: Sequence[ast.stmt]) -> bool:
    """Whether a ``break`` may leave the loop of this body."""
    return ast.Break in _jumps(body, {})


class Liveness:
    """``carried[node]`` is what the ``if`` or loop ``node`` carries; ``names`` is all of it.

    ``before[node]`` is whose value from before ``node`` may be read in it or after it.
    """

    def __init__(
        self, function: ast.FunctionDef, nodes: Sequence[ast.AST], own: Collection[str] = ()
    ) -> None:
        self.own = own
        """The function's variables: where they hold vectors or arrays, setting an item assigns them."""
        self.carried: dict[ast.stmt, set[str]] = {}
        self.before: dict[ast.stmt, set[str]] = {}
        self.stored: dict[ast.stmt, set[str]] = {}
        self.late: dict[ast.stmt, frozenset[str]] = {}
        self._jumped: dict[ast.stmt, frozenset[type[ast.stmt]]] = {}
        self._read: dict[ast.AST, _Names] = {}
        self._when_called = _read_when_called(function, nodes)
        self._block(function.body, _NONE, _NONE, _NONE)
        self.names: set[str] = set[str]().union(*self.carried.values(), *self.late.values())

    def _loads(self, node: ast.AST | None) -> _Names:
        """What a statement or expression reads."""
        if node is None:
            return _NONE
        if node not in self._read:
            self._read[node] = self._found(node)
        return self._read[node]

    def _found(self, node: ast.AST) -> _Names:
        if isinstance(node, ast.FunctionDef):  # what its body reads, it reads when it is called
            outside = (*node.decorator_list, node.args, *filter(None, (node.returns,)))
            return _NONE.union(*map(self._loads, outside))
        if self._when_called and has(walk(node), *_CALLS):
            return _read(node) | self._when_called
        return _read(node)

    def _block(self, body: Sequence[ast.stmt], live: _Names, brk: _Names, cont: _Names) -> _Names:
        for node in reversed(body):
            live = self._statement(node, live, brk, cont)
        return live

    def _statement(self, node: ast.stmt, live: _Names, brk: _Names, cont: _Names) -> _Names:
        if late := late_names(node):
            self.late[node] = late
        if isinstance(node, ast.Return):
            return self._loads(node.value)
        if isinstance(node, ast.Break):
            return brk
        if isinstance(node, ast.Continue):
            return cont
        if isinstance(node, ast.If):
            return self._if(node, live, brk, cont)
        if isinstance(node, _LOOPS):
            return self._loop(node, live)
        if isinstance(node, ast.With):
            stores: set[str] = set()
            for target in _targets(node):
                _stores(target, stores, self.own)
            live = self._block(node.body, live, brk, cont) - stores
            return live.union(*[self._loads(item) for item in node.items])
        return self._simple(node, live)

    def _simple(self, node: ast.stmt, live: _Names) -> _Names:
        stores: set[str] = set()
        loads = self._loads(node)
        for target in _targets(node):
            if isinstance(target, (ast.Name, ast.Tuple, ast.List)):
                _stores(target, stores)
                if isinstance(node, ast.AugAssign):
                    loads = loads | stores
            else:
                loads = loads | self._loads(target)
                name = _base_name(target, self.own)
                if name is not None:
                    loads = loads | {name}
        return (live - stores) | loads

    def _if(self, node: ast.If, live: _Names, brk: _Names, cont: _Names) -> _Names:
        then = self._block(node.body, live, brk, cont)
        other = self._block(node.orelse, live, brk, cont)
        after = live
        jumps = _jumps([node], self._jumped)
        if ast.Break in jumps:
            after |= brk
        if ast.Continue in jumps:
            after |= cont
        assigned_then = stored_names(node.body, self.stored, self.own)
        carried = ((assigned_then | stored_names(node.orelse, self.stored, self.own)) & after) | (
            assigned_then & other
        )
        self.carried[node] = self.carried.get(node, set()) | carried
        self.before[node] = self.before.get(node, set()) | then | other
        return self._loads(node.test) | then | other

    def _loop(self, node: ast.For | ast.While, live: _Names) -> _Names:
        test = self._loads(node.test) if isinstance(node, ast.While) else _NONE
        target: set[str] = set()
        if isinstance(node, ast.For):
            _stores(node.target, target)
        forever = (
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        )
        head = test if forever else live | test
        while True:
            body = self._block(node.body, head, live, head) - target
            grown = head | body
            if grown == head:
                break
            head = grown
        assigned = stored_names(node.body, self.stored, self.own) | target
        if isinstance(node, ast.While):
            assigned |= named(node)
            head |= late_names(node)
        self.carried[node] = assigned & (head | live)
        self.before[node] = self.before.get(node, set()) | head
        if isinstance(node, ast.For):  # what it runs over may be made by a function
            head |= self._loads(node.iter) | self._when_called
        return head
