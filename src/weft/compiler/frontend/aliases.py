"""Which names of a function may be of one object, as far as its text says.

In compiled code SIMD vectors, arrays and structs of which there are copies (``objects``) are values, as
numbers are: an assignment to a part, ``p.x = 1``, gives one variable a new value. Python would change the
object, for all names of it. Both come to the same if no other name of the object is read afterwards; else
weft refuses the assignment. So this analysis goes forward over the statements for names that may be of
one object, and backward for names that are read later, in functions in which such an assignment was
elaborated. It looks at the text alone; ``sharing`` says what calls do.
"""

from __future__ import annotations

import ast
import collections
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from weft.compiler.frontend.desugar import desugar
from weft.compiler.frontend.liveness import Liveness, stored_names
from weft.compiler.frontend.lostwrites import assigned_whole, lost_writes, unread_writes
from weft.compiler.frontend.named import note_named
from weft.compiler.frontend.nonlocals import declare_parts, declared
from weft.compiler.frontend.sources import (
    CHAINED,
    FRESH,
    MADE,
    PLACED,
    Calls,
    Source,
    Sources,
    Step,
    are_beside,
    called,
    defaults_of,
    implied_by,
    is_plain,
    sources,
    together,
)
from weft.compiler.frontend.tree import DISPLAYS, arguments_of, assigned_each, root_of, walk


class Pair(NamedTuple):
    """Two names that may be of one object: the calls on the way, and the third name that it went through.

    The third is ``MADE`` where they are of parts of what the calls have made, and may be ``SEEN``.
    """

    one: str
    other: str
    calls: Calls
    by: str
    inside: tuple[bool, bool]
    """Whether the object is a part of what the first name holds, and of what the other holds."""
    made: str = ""
    """Which of the two was assigned what the first of the calls gives."""


Pairs = frozenset[Pair]
ByName = Mapping[str, Sequence[Pair]]
"""Pairs by the first of their names."""
SEEN = "()"
"""Between a function and a variable that it sees: what that stands for when it is called."""


def caller_of(parameter: str) -> str:
    """The name that stands for what the caller of a function has given."""
    return f"<{parameter}>"


class At(NamedTuple):
    """What is known where a statement begins: names of one object, and what is read after it."""

    node: ast.AST
    pairs: Pairs
    read: frozenset[str]
    lost: frozenset[str]
    """Parameters and variables of which it assigns parts that nobody sees."""
    kept: frozenset[str] = frozenset()
    """What of the names that it assigns is read after it."""


class _Later(Liveness):
    """Liveness that keeps what is read after each statement."""

    def __init__(self, function: ast.FunctionDef, own: frozenset[str]) -> None:
        self.later: dict[ast.stmt, frozenset[str]] = {}
        self.kept: dict[ast.stmt, frozenset[str]] = {}
        """What of the names that a statement itself assigns is read."""
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
            stored = stored_names([node]) - _with_parts_set(node)
            after = live - stored
            self.kept[node] = self.kept.get(node, frozenset()) | (live & stored)
        self.later[node] = self.later.get(node, frozenset[str]()) | after
        return before


def _with_parts_set(node: ast.stmt) -> set[str]:
    """The variables of which a statement assigns parts."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    inner = [n for t in targets if t is not None for n in (walk(t) if isinstance(t, DISPLAYS) else (t,))]
    return {root_of(n) for n in inner if isinstance(n, (ast.Attribute, ast.Subscript))}


Settling = Callable[[Source], Source | None]
"""A source without its calls, which were looked into at once; None if they do not give the object on."""
_ENOUGH = 2000
"""Pairs of names. Where there are more, the calls of each are looked into at once, so that fewer are kept."""


class _Near(NamedTuple):
    """A name that a target comes to share its object with, through a third name or none."""

    source: Source
    by: str = ""
    taken: bool = False
    """The object is a part of the third name's, so the calls are none that gave the target its object."""


class _Target(NamedTuple):
    """A variable that is assigned, or a part of it (``part``), and what it comes to share its object with."""

    name: str
    part: bool
    near: set[_Near]


class TooMany(Exception):
    """There are more than ``_ENOUGH`` pairs."""


class _Aliases:
    """Forward over the statements: which names may be of one object."""

    def __init__(
        self,
        later: _Later,
        lost: dict[ast.AST, frozenset[str]],
        still: frozenset[str],
        settle: Settling | None,
    ) -> None:
        self.still = still
        """Names of functions, classes and modules: what comes of them lies outside, whatever else does."""
        self.settle = settle
        self.at: dict[tuple[int, int], At] = {}
        self.later = later
        self.lost = lost
        self.left: list[tuple[list[Pairs], list[Pairs]]] = []
        """Of each loop around, what is so where ``break`` and where ``continue`` leave."""

    def block(self, body: Sequence[ast.stmt], pairs: Pairs | None) -> Pairs | None:
        """The pairs after some statements; None if the code after them is not reached."""
        for node in body:
            if pairs is None:
                return None
            pairs = self._statement(node, pairs)
            if self.settle is None and pairs is not None and len(pairs) > _ENOUGH:
                raise TooMany
        return pairs

    def _note(self, node: ast.stmt, pairs: Pairs, part: ast.AST | None = None) -> None:
        place = node.lineno, node.col_offset
        before = self.at.get(place)
        known = pairs if before is None else pairs | before.pairs
        lost = frozenset[str]().union(*[self.lost.get(n, ()) for n in walk(node)]) if part is None else ()
        read, kept = (of.get(node, frozenset()) for of in (self.later.later, self.later.kept))
        self.at[place] = At(part or node, known, read, frozenset(lost), kept)

    def _statement(self, node: ast.stmt, pairs: Pairs) -> Pairs | None:
        if isinstance(node, ast.If):
            self._note(node, pairs, node.test)
            pairs = self._named(node.test, pairs)
            return _joined(self.block(node.body, pairs), self.block(node.orelse, pairs))
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, pairs)
        self._note(node, pairs)
        pairs = self._named(node, pairs)
        if isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    pairs = self._assigned(pairs, [(item.optional_vars, sources(item.context_expr))])
            return self.block(node.body, pairs)
        if isinstance(node, (ast.Break, ast.Continue)):
            self.left[-1][isinstance(node, ast.Continue)].append(pairs)
            return None
        return None if isinstance(node, ast.Return) else self._simple(node, pairs)

    def _loop(self, node: ast.For | ast.While, pairs: Pairs) -> Pairs | None:
        head, left = pairs, (list[Pairs](), list[Pairs]())
        while True:
            self._note(node, head, node.iter if isinstance(node, ast.For) else node.test)
            begun = self._named(node.test, head) if isinstance(node, ast.While) else head
            if isinstance(node, ast.For):
                begun = self._assigned(head, [(node.target, sources(node.iter))])
            self.left.append(left)
            end = self.block(node.body, begun)
            self.left.pop()
            grown = head.union(*left[1], end or ())
            if grown == head:
                return self.block(node.orelse, head.union(*left[0]))
            head = grown

    def _simple(self, node: ast.stmt, pairs: Pairs) -> Pairs:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                pairs = self._defined(pairs, target, node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                permuted = _permutes(target, node.value) or returns_to(target, node.value)
                pairs = self._assigned(pairs, _matched(target, node.value), permuted)
            pairs |= _chained(node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = self._assigned(pairs, _matched(node.target, node.value))
        elif isinstance(node, ast.AugAssign):
            found = implied_by(node, ())
            if not isinstance(node.target, ast.Name):  # a part, which keeps what it shared
                found = frozenset([source for source in found if source.calls[0].at != 0])
            pairs = self._assigned(pairs, [(node.target, found)])
        elif isinstance(node, ast.FunctionDef):
            pairs = self._defined(pairs, ast.Name(node.name), node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # as items.append(p)
            call = node.value
            if isinstance(call.func, ast.Attribute):
                held = FRESH.union(*[sources(argument) for argument in call.args])
                pairs = self._assigned(pairs, [(call.func, held)])
        return pairs

    def _defined(self, pairs: Pairs, target: ast.expr, node: ast.FunctionDef | ast.Lambda) -> Pairs:
        """The pairs after a function was made, which holds its defaults, and sees variables around it."""
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        names = [n for part in body for n in walk(part) if isinstance(n, ast.Name)]
        seen = {n.id for n in names if isinstance(n.ctx, ast.Load)}
        held, name = defaults_of(node), root_of(target)
        pairs = self._assigned(pairs, [(target, held.union(map(Source, seen)))])
        if self.settle is not None or not isinstance(target, ast.Name):
            return pairs
        seen -= {source.name for source in held}
        return frozenset(
            [
                pair._replace(by=SEEN, made=name)
                if not (pair.calls or pair.by) and name in pair[:2] and not seen.isdisjoint(pair[:2])
                else pair
                for pair in pairs
            ]
        )

    def _assigned(
        self, pairs: Pairs, given: Sequence[tuple[ast.expr, Sources]], permuted: bool = False
    ) -> Pairs:
        """The pairs after an assignment to several targets at once.

        ``permuted``: the targets are given what they held before, one of another.
        """
        single: list[tuple[ast.expr, Sources]] = []
        for target, found in given:
            found = found if self.settle is None else frozenset(filter(None, map(self.settle, found)))
            inner = walk(target) if isinstance(target, DISPLAYS) else (target,)
            inner = [n for n in inner if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
            single += [(n, found) for n in inner if not is_plain(n)]
        if not single:
            return pairs
        whole = {target.id for target, _ in single if isinstance(target, ast.Name)}
        apart = [pair for pair in pairs if pair.by in whole or _ends_at(pair, whole)] if whole else []
        out = set(pairs).difference(apart)  # pairs take long to hash, which a copy of a set does not do
        # two names keep what they have in common when the third, from which it came, is assigned anew
        out |= {pair._replace(by="") for pair in apart if not _ends_at(pair, whole)}
        of: ByName = _by_name(pairs) if any(found for _, found in single) else {}
        targets: list[_Target] = []
        for target, found in single:
            if name := root_of(target):  # else no variable of the function leads to what is set
                near = self._near(frozenset([source for source in found if not source.deep]), of)
                one = _Target(name, not isinstance(target, ast.Name), near)
                out |= _paired(one, frozenset(whole), permuted) | _twice(name, found, of)
                out = out.union(*[self._alike(one, other) for other in targets])
                targets.append(one)
        return frozenset(out)

    def _near(self, found: Sources, of: ByName) -> set[_Near]:
        """What a target comes to share its object with: the sources, and what each of these is paired with.

        The text is the name of the source on the way, empty for the sources themselves.
        """
        through, near = list(found), {_Near(source) for source in found}
        for source in through:  # grows while it runs, as what a function sees may be another one
            by = source.name if self.settle is None else ""
            for pair in of.get(source.name, ()):
                if source.name in self.still and pair.other[0] != "<":
                    continue
                other = Source(pair.other, self._together(source.calls, pair.calls), pair.inside[1])
                near.add(_Near(other, by, source.inner and not source.calls))
                if pair.by == SEEN and pair.made == pair.one and other not in through:
                    through.append(other)
        return near

    def _alike(self, one: _Target, other: _Target) -> set[Pair]:
        """Pairs of two targets that are given the same."""
        out: set[Pair] = set()
        if one.name != other.name:
            for mine, theirs in ((m.source, t.source) for m in one.near for t in other.near):
                if mine.name == theirs.name and (mine.name != MADE or mine.calls == theirs.calls):
                    calls, by = self._together(mine.calls, theirs.calls), mine.name
                    by = by if self.settle is None or by == MADE else ""
                    out |= _both(one.name, other.name, calls, by, one.part, other.part)
        return out

    def _named(self, node: ast.AST, pairs: Pairs) -> Pairs:
        for inner in walk(node):
            if isinstance(inner, ast.NamedExpr):
                pairs = self._assigned(pairs, [(inner.target, sources(inner.value))])
        return pairs

    def _together(self, calls: Calls, others: Calls) -> Calls:
        if self.settle is None:
            return together(calls, others)
        return () if calls and others else calls or others


def _ends_at(pair: Pair, names: AbstractSet[str]) -> bool:
    """Whether there is no such pair any more where these names are assigned."""
    return pair.made in names if pair.by == SEEN else pair.one in names or pair.other in names


def _by_name(pairs: Pairs) -> ByName:
    found = collections.defaultdict[str, list[Pair]](list)
    for pair in pairs:
        found[pair.one].append(pair)
    return found


def _permutes(target: ast.expr, value: ast.expr) -> bool:
    """Whether several places are assigned what they held, one of another."""
    if not isinstance(target, DISPLAYS) or not isinstance(value, DISPLAYS):
        return False
    return sorted(map(ast.unparse, target.elts)) == sorted(map(ast.unparse, value.elts))


def returns_to(target: ast.expr, value: ast.AST) -> bool:
    """Whether of each variable that has a part assigned, a value names that part alone: ``q.a = f(q.a)``."""
    places = [n for n, _ in assigned_each(target, target) if isinstance(n, (ast.Attribute, ast.Subscript))]
    texts, roots = set(map(ast.unparse, places)), list(map(root_of, places))
    known = all(isinstance(n, _STEPS) for place in places for n in walk(place))
    return known and len(set(roots)) == len(roots) and not _names_besides(value, texts, roots)


_STEPS = (ast.Attribute, ast.Subscript, ast.Name, ast.Constant)


def _names_besides(node: ast.AST, places: set[str], roots: Sequence[str]) -> bool:
    if isinstance(node, (ast.Attribute, ast.Subscript)) and ast.unparse(node) in places:
        return False
    if isinstance(node, (ast.Name, ast.NamedExpr)):
        return isinstance(node, ast.NamedExpr) or node.id in roots
    return any(_names_besides(part, places, roots) for part in ast.iter_child_nodes(node))


def _chained(node: ast.Assign) -> set[Pair]:
    """Pairs of the targets of ``a = b = value``, which are of one object whatever gives that."""
    out: set[Pair] = set()
    for targets in itertools.combinations(node.targets, 2):
        singles = [[one for one, _ in assigned_each(target, target)] for target in targets]
        for one, other in itertools.product(*singles):
            a, b = root_of(one), root_of(other)
            part, inner = not isinstance(one, ast.Name), not isinstance(other, ast.Name)
            if not a or not b or is_plain(one) or is_plain(other):
                continue
            calls = (Step(node.value, CHAINED),) if part or inner else ()
            if a != b:
                listed, others = (isinstance(target, DISPLAYS) for target in targets)
                part, inner = part or (others and not listed), inner or (listed and not others)
                out |= {Pair(a, b, calls, "", (part, inner)), Pair(b, a, calls, "", (inner, part))}
            elif part or inner:
                out.add(Pair(a, a, calls, a, (True, True)))
    return out


def _matched(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, Sources]]:
    """What each of several targets is given."""
    out: list[tuple[ast.expr, Sources]] = []
    for one, part in assigned_each(target, value):
        placed = isinstance(one, (ast.Attribute, ast.Subscript))
        out.append((one, sources(part, (Step(part, PLACED),) if placed else ())))
    return out


def _paired(one: _Target, whole: frozenset[str], permuted: bool) -> set[Pair]:
    """Pairs of a target with what it shares its object with; ``whole``: variables that are assigned too."""
    out: set[Pair] = set()
    for (other, calls, inner, _), by, taken in one.near:
        if other == MADE:
            out.add(Pair(one.name, other, calls, by, (one.part, inner)))
        elif other == one.name and one.part and not permuted:
            out.add(Pair(one.name, one.name, calls, one.name, (True, True)))
        elif other not in whole and other != one.name:
            out |= _both(one.name, other, calls, by, one.part, inner, taken)
    return out


def _twice(name: str, found: Sources, of: ByName) -> set[Pair]:
    """Pairs of a name with itself: its object holds another one in two places, as ``Ray(a, a)`` does."""
    out: set[Pair] = set()
    for source in found:
        calls = tuple([step._replace(whole=True) for step in source.calls])
        out |= {
            Pair(name, name, together(calls, p.calls), p.by, p.inside)
            for p in of.get(source.name, ())
            if p.other == source.name
        }
        for other in found:
            if source.deep or other.deep:
                continue
            if source.name == other.name != MADE and are_beside(source.calls, other.calls):
                calls = together(source.calls, other.calls)
                out.add(Pair(name, name, calls, other.name, (False, source.inner or other.inner)))
    return out


def _both(
    name: str, other: str, calls: Calls, by: str, part: bool, inner: bool, taken: bool = False
) -> set[Pair]:
    made = "" if taken else name
    return {
        Pair(name, other, calls, by, (part, inner), made),
        Pair(other, name, calls, by, (inner, part), made),
    }


def _joined(one: Pairs | None, other: Pairs | None) -> Pairs | None:
    return other if one is None else one if other is None else one | other


class Aliases:
    """What a function's text says of names of one object; ``at`` has it by line and column of statements."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        kernel: bool,
        classes: frozenset[str] = frozenset(),
        still: frozenset[str] = frozenset(),
        plain: frozenset[str] = frozenset(),
        settle: Settling | None = None,
    ) -> None:
        nodes = [node for statement in tree.body for node in walk(statement)]
        if declare_parts(tree, nodes) | desugar(tree.body, nodes):
            nodes = walk(tree)
        note_named(nodes)
        given = arguments_of(tree)
        own = frozenset(stored_names(tree.body).union(given))
        for node in nodes:
            hidden = plain
            if isinstance(node, ast.Call):
                node, hidden = called(node), classes - own
            if isinstance(node, ast.Name) and node.id in hidden:
                node.plain = True  # pyright: ignore[reportAttributeAccessIssue]
        self.given = frozenset(given) - assigned_whole(tree)
        """Its parameters that it does not assign as a whole."""
        self.own = own - declared(tree)
        """Its parameters and variables."""
        self.lent = own - self.own
        """The variables of functions around it that it assigns."""
        around = {n.id for n in nodes if isinstance(n, ast.Name)} - own
        lost: dict[ast.AST, frozenset[str]] = {
            target: frozenset({root_of(target)}) for target in lost_writes(tree, kernel) | unread_writes(tree)
        }
        found = _Aliases(_Later(tree, own), lost, still - own, settle)
        handed = around if kernel else around.union(given)
        first = {Pair(p, caller_of(p), (), "", (False, False)) for p in handed - plain}
        found.block(tree.body, frozenset(first))
        self.at = found.at
        self.tree = tree

    @functools.cached_property
    def returned(self) -> list[tuple[str, Calls]]:
        """The names whose objects, or parts of these, it may return, each with the calls on the way."""
        out: list[tuple[str, Calls]] = []
        for at in self.at.values():
            if isinstance(at.node, ast.Return):
                for name, calls, *_ in sources(at.node.value):
                    out += [
                        (p.other[1:-1], together(calls, p.calls))
                        for p in at.pairs
                        if p.one == name and p.other[0] == "<"
                    ]
        return out

    @functools.cached_property
    def twice(self) -> list[Calls]:
        """The calls on each way in which what it returns may come to hold an object in two places."""
        out: list[Calls] = []
        for at in self.at.values():
            if isinstance(at.node, ast.Return):
                found = sources(at.node.value)
                out += [pair.calls for pair in _twice("", found, _by_name(at.pairs))]
        return out

    @functools.cached_property
    def made(self) -> list[Calls]:
        """The calls on each way of what it returns, if the last of them makes it."""
        out: list[Calls] = []
        for at in self.at.values():
            for name, calls, *_ in sources(at.node.value) if isinstance(at.node, ast.Return) else ():
                ways = [p.calls for p in at.pairs if p.one == name and p.other == MADE]
                out += [calls] if name == MADE else [together(calls, way) for way in ways]
        return out
