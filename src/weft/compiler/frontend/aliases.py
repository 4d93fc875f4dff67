"""Names of one object, a part of which is assigned: in Python all would see it, compiled code has values.

What holds parts (vectors, matrices, arrays, structs) is a value as a number is, so an assignment to a part
gives one variable another value. That is what Python does where no other name is of the same object, or none
is read again; elsewhere it is refused. It is found in a function's text, forward which names may be of one
object, backward which are read again, and only where such an assignment has been elaborated.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from weft.compiler.frontend.desugar import desugar
from weft.compiler.frontend.handed import class_of_variable, gives_twice, is_copy, meaning, shares
from weft.compiler.frontend.implied import is_implied, look_at_structs, operands
from weft.compiler.frontend.liveness import Liveness, stored_names
from weft.compiler.frontend.lostwrites import lost_writes
from weft.compiler.frontend.named import note_named
from weft.compiler.frontend.nonlocals import declared
from weft.compiler.frontend.tree import arguments_of, root_of, walk
from weft.compiler.frontend.variables import Var
from weft.compiler.source.definition import Definition
from weft.diagnostics import a_, refuse
from weft.lang.inline_array import InlineArray
from weft.lang.number import Number, number_class
from weft.lang.products import parts_of
from weft.lang.spec import NumberSpec, PartsSpec, Spec, spec_of
from weft.lang.structs import is_struct, lost_field, struct_fields, takes_fields

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging


class _Step(NamedTuple):
    """A call to which a name is given, and as which argument: its number or its keyword; None of a callee.

    An operator, an item or an attribute that may run a method is one as well.
    """

    call: ast.AST
    at: int | str | None


_Calls = tuple[_Step, ...]
_MOST = 3
"""Calls that are kept of how two names came to be of one object."""


class _Source(NamedTuple):
    """A name whose object an expression gives, or a part of it (``inner``), by which calls."""

    name: str
    calls: _Calls = ()
    inner: bool = False


class _Pair(NamedTuple):
    """Two names of one object, or of a part of it: by which calls, and by which third name of it."""

    one: str
    other: str
    calls: _Calls
    by: str
    inside: tuple[bool, bool]
    """Whether it is a part of the one, and of the other, and not the whole."""
    made: str = ""
    """Which of the two was assigned what the first of the calls gives."""


_Pairs = frozenset[_Pair]
_Sources = frozenset[_Source]
MADE = "="
"""The name that stands for what a call has made, which nobody else knows."""
_FRESH: _Sources = frozenset()
_PARTS = (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.comprehension)
_DISPLAYS = (ast.Tuple, ast.List)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def caller_of(parameter: str) -> str:
    """The name that stands for what the caller of a function has given."""
    return f"<{parameter}>"


class At(NamedTuple):
    """What is known where a statement begins: names of one object, and what is read after it."""

    node: ast.AST
    pairs: _Pairs
    read: frozenset[str]
    lost: frozenset[str]
    """Parameters of which it assigns parts that nobody sees."""

    def others(
        self, name: str, kind: type[Any], frame: FrameType, fn: Definition, field: str = ""
    ) -> Iterable[str]:
        """The names, read again or the caller's, that may be of an object of a class that one is of.

        ``field``: within that of the one's.
        """
        within = name not in frame.f_locals or holds(frame.f_locals[name], kind, strictly=True)
        for pair in self.pairs:
            if pair.one == name and pair.other in (MADE, name) and not within:
                continue  # the one that changes is no part of it, so no two parts of it are that
            if pair.one == name and pair.other == MADE:
                if gives_twice([step.call for step in pair.calls], frame, fn, kind):
                    yield name
            elif pair.one == name == pair.other:
                if pair.inside[1] and not holds(frame.f_locals.get(pair.by), kind, strictly=True):
                    continue
                if all(shares(step.call, frame, fn, kind) for step in pair.calls):
                    yield name
            elif pair.one == name and (pair.other in self.read or pair.other[0] == "<"):
                if pair.by and not holds(seen(pair.by, frame, fn), kind):
                    continue
                if pair.inside[0] and not holds(frame.f_locals.get(name), kind, strictly=True):
                    continue
                method = isinstance(frame.f_locals.get(name), functools.partial)  # which holds the object
                if pair.inside[1] and not holds(frame.f_locals.get(pair.other), kind, strictly=not method):
                    continue
                if field and _lies_elsewhere(pair, field, frame, fn):
                    continue
                if _is_copied(pair, kind, frame, fn):
                    continue
                if all(shares(step.call, frame, fn, kind) for step in pair.calls):
                    yield pair.other


def _is_copied(pair: _Pair, kind: type[Any], frame: FrameType, fn: Definition) -> bool:
    """Whether the one was made as a copy of what is the other's, and no part of it is of this class."""
    if not pair.calls or not pair.made or pair.inside[pair.made == pair.other]:
        return False
    copied = is_copy(pair.calls[0].call, frame, fn)
    return copied and not holds(frame.f_locals.get(pair.made), kind, strictly=True)


def _lies_elsewhere(pair: _Pair, field: str, frame: FrameType, fn: Definition) -> bool:
    """Whether the one is a struct that was made with the other in another field than this."""
    if len(pair.calls) != 1 or pair.inside[0]:
        return False
    (call, at), cls = pair.calls[0], class_of_variable(frame.f_locals.get(pair.one))
    if not is_struct(cls) or not takes_fields(cls) or not isinstance(call, ast.Call):
        return False
    if meaning(call.func, frame, fn) is not cls or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    return field != (list(struct_fields(cls))[at] if isinstance(at, int) else at)


def seen(name: str, frame: FrameType, fn: Definition) -> Any:
    """What a name stands for where a function runs, a captured variable or a global too."""
    if name in frame.f_locals:
        return frame.f_locals[name]
    return fn.scope.captured().get(name, fn.scope.globals.get(name))


def sources(node: ast.AST | None, calls: _Calls = (), inner: bool = False) -> _Sources:
    """The names whose objects an expression may give, or hold; ``calls`` are around it."""
    if isinstance(node, ast.Name):
        return frozenset({_Source(node.id, calls, inner)})
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        part = sources(node.value, calls, inner or bool(root_of(node)))
        return part | _implied(node, calls, inner)
    if isinstance(node, ast.NamedExpr):
        return sources(node.value, calls, inner)
    if isinstance(node, ast.Call):
        given: list[tuple[int | str | None, ast.expr]] = [*enumerate(node.args)]
        given += [(keyword.arg, keyword.value) for keyword in node.keywords]
        given.append((None, node.func.value if isinstance(node.func, ast.Attribute) else node.func))
        found = [sources(part, (*calls, _Step(node, at))[:_MOST], inner) for at, part in given]
        made = {_Source(MADE, (*calls, _Step(node, None)), inner)} if len(calls) < _MOST else _FRESH
        return _FRESH.union(made, *found)
    if isinstance(node, ast.IfExp):
        return sources(node.body, calls, inner) | sources(node.orelse, calls, inner)
    if isinstance(node, ast.Lambda):
        return frozenset({_Source(n.id, calls, inner) for n in walk(node.body) if isinstance(n, ast.Name)})
    if isinstance(node, ast.Starred):
        return sources(node.value, calls, True)
    if isinstance(node, _COMPREHENSIONS):
        outer = _FRESH.union(*[sources(clause.iter, calls, True) for clause in node.generators])
        item = node.value if isinstance(node, ast.DictComp) else node.elt
        return outer | sources(item, calls, inner)
    if isinstance(node, _PARTS) or (
        isinstance(node, ast.BinOp) and any(isinstance(n, _DISPLAYS) for n in (node.left, node.right))
    ):
        return _FRESH.union(*[sources(part, calls, inner) for part in ast.iter_child_nodes(node)])
    return _implied(node, calls, inner)


def _implied(node: ast.AST | None, calls: _Calls, inner: bool = False) -> _Sources:
    """The names whose objects a method may give that runs without being spelled."""
    if node is None or not is_implied(node):
        return _FRESH
    given = enumerate(operands(node))
    found = [sources(part, (*calls, _Step(node, at))[:_MOST], inner) for at, part in given]
    made = {_Source(MADE, (*calls, _Step(node, None)), inner)} if len(calls) < _MOST else _FRESH
    return _FRESH.union(made, *found)


class _Later(Liveness):
    """Liveness that keeps what is read after each statement."""

    def __init__(self, function: ast.FunctionDef, own: frozenset[str]) -> None:
        self.later: dict[ast.stmt, frozenset[str]] = {}
        super().__init__(function, walk(function), own)

    def _statement(
        self, node: ast.stmt, live: frozenset[str], brk: frozenset[str], cont: frozenset[str]
    ) -> frozenset[str]:
        before = super()._statement(node, live, brk, cont)
        if isinstance(node, (ast.If, ast.While, ast.For, ast.With)):
            after = before  # of the test: what its branches read
        elif isinstance(node, ast.Return):
            after = frozenset[str]()
        else:
            stored = stored_names([node]) if not _sets_parts(node) else set[str]()
            after = live - stored
        self.later[node] = self.later.get(node, frozenset[str]()) | after
        return before


def _sets_parts(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in targets)


class _Aliases:
    """Forward over the statements: which names may be of one object."""

    def __init__(self, later: dict[ast.stmt, frozenset[str]], lost: dict[ast.AST, frozenset[str]]) -> None:
        self.at: dict[tuple[int, int], At] = {}
        self.later = later
        self.lost = lost
        self.left: list[tuple[list[_Pairs], list[_Pairs]]] = []
        """Of each loop around, what is so where ``break`` and where ``continue`` leave."""

    def block(self, body: Sequence[ast.stmt], pairs: _Pairs | None) -> _Pairs | None:
        """What is so behind the statements; None where nothing comes to there."""
        for node in body:
            if pairs is None:
                return None
            pairs = self._statement(node, pairs)
        return pairs

    def _note(self, node: ast.stmt, pairs: _Pairs, part: ast.AST | None = None) -> None:
        place = node.lineno, node.col_offset
        before = self.at.get(place)
        known = pairs if before is None else pairs | before.pairs
        lost = frozenset[str]().union(*[self.lost.get(n, ()) for n in walk(node)]) if part is None else ()
        self.at[place] = At(part or node, known, self.later.get(node, frozenset()), frozenset(lost))

    def _statement(self, node: ast.stmt, pairs: _Pairs) -> _Pairs | None:
        if isinstance(node, ast.If):
            self._note(node, pairs, node.test)
            pairs = _named(node.test, pairs)
            return _joined(self.block(node.body, pairs), self.block(node.orelse, pairs))
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, pairs)
        self._note(node, pairs)
        pairs = _named(node, pairs)
        if isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    pairs = _assigned(pairs, [(item.optional_vars, sources(item.context_expr))])
            return self.block(node.body, pairs)
        if isinstance(node, (ast.Break, ast.Continue)):
            self.left[-1][isinstance(node, ast.Continue)].append(pairs)
            return None
        return None if isinstance(node, ast.Return) else _simple(node, pairs)

    def _loop(self, node: ast.For | ast.While, pairs: _Pairs) -> _Pairs | None:
        head, left = pairs, (list[_Pairs](), list[_Pairs]())
        while True:
            self._note(node, head, node.iter if isinstance(node, ast.For) else node.test)
            begun = _named(node.test, head) if isinstance(node, ast.While) else head
            if isinstance(node, ast.For):
                begun = _assigned(head, [(node.target, sources(node.iter))])
            self.left.append(left)
            end = self.block(node.body, begun)
            self.left.pop()
            grown = head.union(*left[1], end or ())
            if grown == head:
                return self.block(node.orelse, head.union(*left[0]))
            head = grown


def _simple(node: ast.stmt, pairs: _Pairs) -> _Pairs:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            pairs = _assigned(pairs, _matched(target, node.value))
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        pairs = _assigned(pairs, [(node.target, sources(node.value))])
    elif isinstance(node, ast.AugAssign):
        pairs = _assigned(pairs, [(node.target, _implied(node, ()))])
    elif isinstance(node, ast.FunctionDef):
        reads = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        pairs = _assigned(pairs, [(ast.Name(node.name), frozenset(map(_Source, reads)))])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # as items.append(p)
        call = node.value
        if isinstance(call.func, ast.Attribute):
            held = _FRESH.union(*[sources(argument) for argument in call.args])
            pairs = _assigned(pairs, [(call.func, held)])
    return pairs


def _matched(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, _Sources]]:
    """What each of several targets is given."""
    if isinstance(target, _DISPLAYS):
        if isinstance(value, _DISPLAYS) and len(value.elts) == len(target.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return [found for one, part in pairs for found in _matched(one, part)]
        return [found for one in target.elts for found in _matched(one, value)]
    if isinstance(target, ast.Starred):
        target = target.value
    return [(target, sources(value))]


def _assigned(pairs: _Pairs, given: Sequence[tuple[ast.expr, _Sources]]) -> _Pairs:
    """What is so after an assignment of several targets at once."""
    flat: list[tuple[ast.expr, _Sources]] = []
    for target, found in given:
        inner = walk(target) if isinstance(target, _DISPLAYS) else (target,)
        flat += [(n, found) for n in inner if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    whole = {target.id for target, _ in flat if isinstance(target, ast.Name)}
    out = {pair for pair in pairs if pair.one not in whole and pair.other not in whole}
    partners: list[tuple[str, bool, set[tuple[_Source, str]]]] = []
    for target, found in flat:
        near = {(source, "") for source in found}
        for source in found:
            near |= {
                (_Source(p.other, _together(source.calls, p.calls), p.inside[1]), source.name)
                for p in pairs
                if p.one == source.name
            }
        if name := root_of(target):  # else what is set lies where no variable of the function's leads
            partners.append((name, not isinstance(target, ast.Name), near))
    for n, (name, part, near) in enumerate(partners):
        for (other, calls, inner), by in near:
            if other == MADE:
                out.add(_Pair(name, other, calls, by, (part, inner)))
            elif other not in whole and other != name:
                out |= _both(name, other, calls, by, part, inner)
        out |= _twice(name, flat[n][1], pairs)
        for other, other_part, others in partners[:n]:
            for mine, theirs in ((m, t) for m, _ in near for t, _ in others if m.name == t.name != MADE):
                if other != name:
                    calls = _together(mine.calls, theirs.calls)
                    out |= _both(name, other, calls, mine.name, part, other_part)
    return frozenset(out)


def _twice(name: str, found: _Sources, pairs: _Pairs) -> set[_Pair]:
    """That an object holds another in two places, as ``Ray(a, a)`` does: it is paired with itself."""
    out: set[_Pair] = set()
    for source in found:
        out |= {
            _Pair(name, name, _together(source.calls, p.calls), p.by, p.inside)
            for p in pairs
            if p.one == p.other == source.name
        }
        for other in found:
            if source.name == other.name != MADE and are_beside(source.calls, other.calls):
                calls = _together(source.calls, other.calls)
                out.add(_Pair(name, name, calls, other.name, (False, source.inner or other.inner)))
    return out


def are_beside(calls: _Calls, others: _Calls) -> bool:
    """Whether a call is given one thing as two arguments, by these two ways."""
    return any(a.call is c.call and a.at != c.at for a in calls for c in others)


def _together(calls: _Calls, others: _Calls) -> _Calls:
    return (*calls, *[call for call in others if call not in calls])[:_MOST]


def _both(name: str, other: str, calls: _Calls, by: str, part: bool, inner: bool) -> set[_Pair]:
    return {
        _Pair(name, other, calls, by, (part, inner), name),
        _Pair(other, name, calls, by, (inner, part), name),
    }


def _named(node: ast.AST, pairs: _Pairs) -> _Pairs:
    for inner in walk(node):
        if isinstance(inner, ast.NamedExpr):
            pairs = _assigned(pairs, [(inner.target, sources(inner.value))])
    return pairs


def _joined(one: _Pairs | None, other: _Pairs | None) -> _Pairs | None:
    return other if one is None else one if other is None else one | other


class Aliases:
    """What a function's text says of names of one object; ``at`` has it by line and column of statements."""

    def __init__(self, tree: ast.FunctionDef, kernel: bool) -> None:
        nodes = [node for statement in tree.body for node in walk(statement)]
        if desugar(tree.body, nodes):
            nodes = walk(tree)
        note_named(nodes)
        given = arguments_of(tree)
        own = frozenset(stored_names(tree.body).union(given))
        self.own = own - declared(tree)
        """Its parameters and variables."""
        self.lent = own - self.own
        """The variables of functions around it that it assigns."""
        around = {n.id for n in nodes if isinstance(n, ast.Name)} - own
        lost: dict[ast.AST, frozenset[str]] = {
            target: frozenset({root_of(target)}) for target in lost_writes(tree, kernel)
        }
        found = _Aliases(_Later(tree, own).later, lost)
        handed = around if kernel else around.union(given)
        first = {_Pair(p, caller_of(p), (), "", (False, False)) for p in handed}
        found.block(tree.body, frozenset(first))
        self.at = found.at
        self.tree = tree

    @functools.cached_property
    def returned(self) -> list[tuple[str, _Calls]]:
        """What it was given and may return, it or a part of it, by which calls."""
        out: list[tuple[str, _Calls]] = []
        for at in self.at.values():
            if isinstance(at.node, ast.Return):
                for name, calls, _ in sources(at.node.value):
                    out += [
                        (p.other[1:-1], _together(calls, p.calls))
                        for p in at.pairs
                        if p.one == name and p.other[0] == "<"
                    ]
        return out

    @functools.cached_property
    def twice(self) -> list[_Calls]:
        """The ways in which what it returns may hold an object in two places: by which calls."""
        out: list[_Calls] = []
        for at in self.at.values():
            if isinstance(at.node, ast.Return):
                found = sources(at.node.value)
                out += [pair.calls for pair in _twice("", found, at.pairs)]
        return out

    @functools.cached_property
    def made(self) -> list[_Calls]:
        """By which calls what it returns may be made, the last of which makes it."""
        out: list[_Calls] = []
        for at in self.at.values():
            for name, calls, _ in sources(at.node.value) if isinstance(at.node, ast.Return) else ():
                ways = [p.calls for p in at.pairs if p.one == name and p.other == MADE]
                out += [calls] if name == MADE else [_together(calls, way) for way in ways]
        return out


@functools.lru_cache(maxsize=1024)
def _aliases(fn: Definition, _: object, kernel: bool, __: frozenset[str]) -> Aliases:
    return Aliases(fn.body(), kernel)


def aliases_of(fn: Definition, kernel: bool = False) -> Aliases:
    """What a function's text says of names of one object."""
    return _aliases(fn, fn.version, kernel, look_at_structs())


# -- what elaboration asks ------------------------------------------------------------------------
class Changes:
    """What one assignment to a part changes."""

    def __init__(self, held: Any, path: Sequence[Any]) -> None:
        self.kind: type[Any] | None = None
        """The class of the innermost value of which a part is set."""
        self.field = path[0] if len(path) > 1 and isinstance(path[0], str) else ""
        """That of the variable's within which it lies."""
        self.held: Any = None
        """An array in memory, all names of which see what is set."""
        if isinstance(held, InlineArray) and held.in_memory:
            self.held, self.kind = held, _class_along(type(held), path[:-1])

    def note(self, kind: type[Any]) -> None:
        """A part of a value of this class is set."""
        self.kind = self.kind or kind

    def check(self, b: Staging, frame: FrameType, name: str, changed: bool) -> None:
        """Refuse it where another name would have to see it; a variable ``name`` is to hold another value."""
        kind = self.kind
        assert kind is not None
        if changed and not name:
            refuse(
                "item-assignment",
                f"a part is set of {a_(kind.__name__)} that no variable of this function holds",
                notes=(f"{a_(kind.__name__)} is a value, as a number is: a copy would be changed",),
                hint="assign it to a variable and change that; "
                "one of the function around needs `nonlocal` here",
            )
        draft = b.draft
        f, fn = draft.function, draft.definition
        aliases = aliases_of(fn, f.kernel or f.element)
        at = aliases.at.get(b.loc[:2])
        if at is None or not b.live:
            return
        if name and name not in aliases.own:  # of a function around, which may have other names for it
            draft.changed[name] = kind
            return
        for other in at.others(name, kind, frame, fn, self.field):
            if other[0] == "<" and other[1:-1] not in aliases.own:
                if holds(seen(other[1:-1], frame, fn), kind):
                    refuse_shared(name, other[1:-1], kind, "lies outside of this function")
                continue
            if other[0] == "<":
                if name in at.lost and other == caller_of(name):
                    lost_field(name, "" if f.kernel or f.element else fn.name)
                draft.changed[other[1:-1]] = kind
            elif holds(frame.f_locals.get(other), kind, self.held):
                refuse_shared(name, other, kind)
        if name in at.lost:
            lost_field(name, "" if f.kernel or f.element else fn.name)


def refuse_shared(
    name: str, other: str, kind: type[Any], why: str = "is used after this assignment"
) -> NoReturn:
    """Say no to set a part where another name would have to see it."""
    both = f"`{name}` and `{other}` may be"
    if name == other:
        both, other, why = f"two parts of `{name}` may be", "the other part", "would change with it"
    else:
        other = f"`{other}`"
    refuse(
        "shared-value",
        f"{both} the same {kind.__name__} in Python, and {other} {why}",
        notes=(f"{a_(kind.__name__)} is a value here, as a number is: {other} would not change",),
        hint="where one is made of the other, write copy.copy(...) of it",
    )


def _class_along(cls: type[Any], path: Sequence[Any]) -> type[Any]:
    """The class of what fields and indices lead to."""
    for step in path:
        parts: Any = (
            struct_fields(cls).get(step) if is_struct(cls) else getattr(cls, "__weft_items__", (None,))[0]
        )
        if not isinstance(parts, type):
            return cls
        cls = parts
    return cls


def holds(value: Any, kind: type[Any], but: Any = None, *, strictly: bool = False) -> bool:
    """Whether a value is of a class, or a part of it is (``strictly``: a part); ``but`` does not count."""
    if value is but or value is None:
        return False
    if type(value) is Var:
        return value.spec is not None and _spec_holds(value.spec, kind, strictly)
    if type(value) is kind and not strictly:
        return True
    items: Any = value
    if isinstance(value, (Number, InlineArray)) or is_struct(cast("type[Any]", type(value))):
        return _spec_holds(spec_of(value), kind, strictly)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).values()
    elif isinstance(value, functools.partial):  # a method of an object
        items = cast("functools.partial[Any]", value).args
    elif hasattr(value, "captures"):  # a function in a function
        items = value.captured()
    elif not isinstance(value, (list, set, tuple)):
        items = parts_of(value) or ()
    return any(holds(item, kind, but) for item in items)


def _spec_holds(spec: Spec, kind: type[Any], strictly: bool = False) -> bool:
    if isinstance(spec, NumberSpec):
        return not strictly and number_class(spec.dtype, spec.lanes) is kind
    if not isinstance(spec, PartsSpec):
        return False
    return (spec.cls is kind and not strictly) or any(_spec_holds(s, kind) for s in spec.items)
