"""Statements that become simpler ones before a function is staged: ``match``, and ``else`` behind a loop.

match s:                      s1 = s
    case (0, x) if x > n:     q1 = b.matched(s1, ...)    # whether it fits, and what is captured
        A                     if q1[0]: x = q1[1]
    case _:              ->   if q1[0] and q1[1] > n:
        B                         x = q1[1]; A
                              else: B

for x in y:                   e1 = False
    if c: break          ->   for x in y:
else: A                           if c: e1 = True; break
                              if e1: b.left()
                              else: A
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from weft.compiler.frontend.tree import COMPREHENSIONS, b_call, bound_names, fill_places, place, tuple_of, var

_SUGAR = (ast.Match, ast.For, ast.While)
_BLOCKS = ("body", "orelse")
_SCOPES = (ast.Lambda, *COMPREHENSIONS)


def desugar(body: list[ast.stmt], nodes: Iterable[ast.AST]) -> bool:
    """Rewrite the statements of a function in place, and tell whether there was anything to rewrite."""
    sugar = [n for n in nodes if n.__class__ in _SUGAR]
    if not any(isinstance(n, ast.Match) or getattr(n, "orelse", None) for n in sugar):
        return False
    body[:] = _Desugar().block(body)
    return True


class _Desugar:
    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    def temp(self, stem: str) -> str:
        return f"__weft_{stem}_{next(self.numbers)}"

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, and those in them, made simpler."""
        out: list[ast.stmt] = []
        for node in body:
            for part in _BLOCKS:
                if inner := getattr(node, part, None):
                    setattr(node, part, self.block(inner))
            made = [node]
            if isinstance(node, ast.Match):
                made = self.match(node)
            elif isinstance(node, (ast.For, ast.While)) and node.orelse:
                made = self.loop(node)
            for statement in made:
                fill_places(place(statement, node), node)
            out += made
        return out

    # -- else behind a loop -------------------------------------------------------------------
    def loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        """A loop that notes whether it was left by ``break``."""
        flag, orelse = self.temp("e"), node.orelse
        node.orelse = []
        if not _note_breaks(node.body, flag):
            return [node, *orelse]
        left: list[ast.stmt] = [ast.Expr(b_call("left"))]
        start = ast.Assign([var(flag, True)], ast.Constant(False))
        return [start, node, place(ast.If(var(flag), left, orelse), orelse[0])]

    # -- match --------------------------------------------------------------------------------
    def match(self, node: ast.Match) -> list[ast.stmt]:
        """A chain of ``if``, each for one case."""
        subject = self.temp("s")
        rest: list[ast.stmt] = []
        tried = [[] if case.guard is not None else [*_single(case.pattern)] for case in node.cases]
        for n, case in reversed([*enumerate(node.cases)]):
            before = [pattern for patterns in tried[:n] for pattern in patterns]
            rest = self.case(subject, case, self.block(case.body), rest, before)
        return [ast.Assign([var(subject, True)], node.subject), *rest]

    def case(
        self,
        subject: str,
        case: ast.match_case,
        body: list[ast.stmt],
        rest: list[ast.stmt],
        before: list[ast.pattern],
    ) -> list[ast.stmt]:
        """One case; ``rest`` are those behind it, ``before`` the values that those ahead of it take."""
        found, names = self.temp("q"), sorted(bound_names([*_patterns(case.pattern)]))
        call = b_call("matched", var(subject), _pattern(case.pattern, names), ast.Constant(len(names)))
        if before and (values := [*_single(case.pattern)]):
            call.args.append(tuple_of([copy.deepcopy(_pattern(p, names)) for p in (*before, *values)]))
        parts = {n: ast.Subscript(var(found), ast.Constant(k), ast.Load()) for k, n in enumerate(names, 1)}
        test: ast.expr = ast.Subscript(var(found), ast.Constant(0), ast.Load())
        out: list[ast.stmt] = [ast.Assign([var(found, True)], call)]

        def bound(names: Iterable[str]) -> list[ast.stmt]:
            return [ast.Assign([var(n, True)], copy.deepcopy(parts[n])) for n in names]

        if case.guard is not None and not _enclosed(case.guard).isdisjoint(names):
            flag = self.temp("g")  # asked where the variables are bound, as functions in it see these alone
            asked = ast.Assign([var(flag, True)], b_call("truth", case.guard))
            out.append(ast.Assign([var(flag, True)], ast.Constant(False)))
            out.append(ast.If(test, [*bound(names), asked], []))
            test = var(flag)
            names = [n for n in names if n not in _assigned(case.guard)]
        elif case.guard is not None:
            if names:  # they are bound before the guard is asked, whatever it says
                out.append(ast.If(copy.deepcopy(test), bound(names), []))
            test = ast.BoolOp(ast.And(), [test, _Renamed(parts).visit(case.guard)])
            names = [n for n in names if n not in _assigned(case.guard)]
        out.append(ast.If(test, [*bound(names), *body], rest))
        return [place(statement, case.pattern) for statement in out]


def _note_breaks(body: list[ast.stmt], flag: str) -> bool:
    """Set the flag before each ``break`` of the loop around the statements; tells whether there is one."""
    found = False
    for n, node in reversed([*enumerate(body)]):
        if isinstance(node, ast.Break):
            body.insert(n, place(ast.Assign([var(flag, True)], ast.Constant(True)), node))
            found = True
        elif not isinstance(node, (ast.For, ast.While, ast.FunctionDef)):
            for part in _BLOCKS:
                found |= _note_breaks(getattr(node, part, []), flag)
    return found


def _enclosed(node: ast.AST) -> set[str]:
    """The names in the functions and comprehensions of an expression."""
    inner = (n for n in ast.walk(node) if isinstance(n, _SCOPES))
    return {n.id for scope in inner for n in ast.walk(scope) if isinstance(n, ast.Name)}


def _assigned(node: ast.AST) -> set[str]:
    """What ``:=`` in an expression assigns."""
    return {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}


class _Renamed(ast.NodeTransformer):
    """What a case has captured, in its guard: it is known there, which the variable need not be."""

    def __init__(self, parts: dict[str, ast.Subscript]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.parts:
            return place(copy.deepcopy(self.parts[node.id]), node)
        return node

    def _inner(self, node: Any) -> Any:
        """What has names of its own uses none of these, else the guard stands alone."""
        return node

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _inner

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self.parts = {name: part for name, part in self.parts.items() if name != node.target.id}
        self.generic_visit(node)
        return node


def _single(pattern: ast.pattern) -> Iterator[ast.pattern]:
    """The single values that a pattern takes, if it takes such only."""
    if isinstance(pattern, (ast.MatchValue, ast.MatchSingleton)):
        yield pattern
    elif isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        yield from _single(pattern.pattern)
    elif isinstance(pattern, ast.MatchOr):
        parts = [[*_single(part)] for part in pattern.patterns]
        yield from (value for part in parts if all(parts) for value in part)


def _patterns(pattern: ast.pattern) -> Iterator[ast.pattern]:
    for node in ast.walk(pattern):
        if isinstance(node, ast.pattern):
            yield node


def _pattern(node: ast.pattern, names: list[str]) -> ast.expr:
    """A pattern as an expression that makes what ``matched`` reads; captures are places in ``names``."""

    def made(kind: str, *parts: ast.expr) -> ast.expr:
        return place(tuple_of([ast.Constant(kind), *parts]), node)

    def many(patterns: Iterable[ast.pattern]) -> ast.expr:
        return tuple_of([_pattern(p, names) for p in patterns])

    def capture(name: str | None) -> ast.expr:
        return ast.Constant(None if name is None else names.index(name))

    if isinstance(node, ast.MatchValue):
        return made("value", node.value)
    if isinstance(node, ast.MatchSingleton):
        return made("single", ast.Constant(node.value))
    if isinstance(node, ast.MatchOr):
        return made("or", many(node.patterns))
    if isinstance(node, ast.MatchAs):
        inner = ast.Constant(None) if node.pattern is None else _pattern(node.pattern, names)
        return made("as", inner, capture(node.name))
    if isinstance(node, ast.MatchStar):
        return made("star", capture(node.name))
    if isinstance(node, ast.MatchSequence):
        return made("sequence", many(node.patterns))
    if isinstance(node, ast.MatchMapping):
        rest = made("as", ast.Constant(None), capture(node.rest)) if node.rest else ast.Constant(None)
        return made("mapping", tuple_of(node.keys), many(node.patterns), rest)
    assert isinstance(node, ast.MatchClass)
    named = tuple_of([ast.Constant(name) for name in node.kwd_attrs])
    return made("class", node.cls, many(node.patterns), named, many(node.kwd_patterns))
