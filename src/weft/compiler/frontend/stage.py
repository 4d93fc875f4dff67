"""Staging: rewriting a function once, so that running it emits its code.

Straight-line expressions stay what they are: operators on run-time values emit. Rewritten is what
Python does not let a value overload: control flow, assignment to variables that control flow
carries, ``and/or/not``, conditional expressions, chained comparisons, and some builtins. Everything
goes through one extra first parameter, the :class:`~weft.compiler.frontend.staging.Staging` builder:

    if c: x = A          x, = b.carry(c, ("x",), (x,))
    else: x = B     ->   for t in b.branches(c):
                             if t: x = b.st(x, A, "x")
                             else: x = b.st(x, B, "x")
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, cast

from weft.compiler.frontend.by_value import ByValue
from weft.compiler.frontend.chained import note_chained
from weft.compiler.frontend.closures import written
from weft.compiler.frontend.desugar import desugar
from weft.compiler.frontend.hostcalls import names_of
from weft.compiler.frontend.liveness import has_break, stored_names
from weft.compiler.frontend.named import note_named
from weft.compiler.frontend.nonlocals import declare_parts
from weft.compiler.frontend.stage_expressions import BUILTINS
from weft.compiler.frontend.stage_places import Places, is_deep, is_item
from weft.compiler.frontend.syntax import check_syntax
from weft.compiler.frontend.tree import (
    B,
    arguments_of,
    b_attribute,
    b_call,
    bound_names,
    fill_places,
    has,
    place,
    root_of,
    thunk,
    tuple_of,
    var,
    walk,
)
from weft.compiler.frontend.unread import note_unread
from weft.compiler.source.definition import Definition
from weft.compiler.source.scopes import INNER, compiled, expression_in, no_type_parameters
from weft.diagnostics import CompileError, Location
from weft.diagnostics.timed import timed

__all__ = ["BUILTINS", "DEEPER", "is_staged", "stage", "staged_text"]

DEEPER = "__weft_deeper"
"""The name of functions within a staged one, where statements nest deeper than Python's loops may."""
_BLOCKS = 12
"""How deep loops nest in one function; Python takes 20."""

_staged_codes: set[CodeType] = set()


def is_staged(code: CodeType) -> bool:
    """Whether a frame of this code is a user's function under elaboration."""
    return code in _staged_codes


class _Stager(Places):
    def whole(self, function: ast.FunctionDef, name: str, parameters: Sequence[str]) -> ast.FunctionDef:
        """The staged function, under another name; its first parameter is the builder."""
        body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
        stored = stored_names(body, self.liveness.stored)
        undefined = sorted((self.carried & stored).difference(parameters, self.slotted))
        staged: list[ast.stmt] = self.block(body)
        if undefined:
            unset = ast.Assign([var(n, True) for n in undefined], b_attribute("UNDEFINED"))
            staged.insert(0, place(unset, function))
        for n in sorted(set(parameters) & {root_of(t) for t in self.item_targets if is_item(t)}):
            staged.insert(0, place(ast.Assign([var(n, True)], b_call("own", var(n))), function))
        if self.changes_items:
            changes = ast.Assign([ast.Attribute(var(B), "changes_items", ast.Store())], ast.Constant(True))
            staged.insert(0, place(changes, function))
        for n in sorted(self.reassigned):
            first = var(n) if n in parameters else b_attribute("UNDEFINED")
            slot = ast.Assign([var(n, True)], b_call("shared", ast.Constant(n), first))
            staged.insert(0, place(slot, function))
        if self.shared:  # they are variables of the outermost function, whether or not it assigns them
            own = sorted(self.shared - (self.slotted - self.reassigned))
            bound = [place(ast.Assign([var(n, True)], ast.Constant(None)), function) for n in own]
            staged.insert(0, place(ast.If(ast.Constant(False), bound or [ast.Pass()], []), function))
        arguments = ast.arguments([], [ast.arg(B), *map(ast.arg, parameters)], None, [], [], None, [])
        made = ast.FunctionDef(name, arguments, staged, [], None, **no_type_parameters())
        return place(made, function)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """A function in the function: one of its own, which is given what it captures."""
        name = self.temp("f")
        parameters = [*self._parameters(node.args)]
        result = b_attribute("MISSING") if node.returns is None else self._annotation(node.returns)
        decorators = [self.visit(d) for d in node.decorator_list]
        self.functions[name] = copy.deepcopy(node)
        staged = _Stager(node, self.builtins, self).whole(node, name, arguments_of(node))
        made: ast.expr = b_call("nested", var(name), tuple_of(parameters), result)
        for decorator in reversed(decorators):
            made = ast.Call(decorator, [made], [])
        return [staged, *self.store(var(node.name, True), made, node)]

    def _parameters(self, arguments: ast.arguments) -> Iterator[ast.expr]:
        """A name, an annotation, whether it is given by keyword only, and a default, of each parameter."""
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
        for n, (p, default) in enumerate(
            [
                *zip(positional, defaults, strict=True),
                *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
            ]
        ):
            annotation = b_attribute("MISSING") if p.annotation is None else self._annotation(p.annotation)
            value = b_attribute("MISSING") if default is None else self.visit(default)
            by_keyword = ast.Constant(n >= len(positional))
            yield tuple_of([ast.Constant(p.arg), annotation, by_keyword, value])
        if (rest := arguments.vararg) is not None:
            missing = b_attribute("MISSING")
            of = missing if rest.annotation is None else b_call("rest", self._annotation(rest.annotation))
            yield tuple_of([ast.Constant(rest.arg), of, ast.Constant(True), missing])

    def _annotation(self, node: ast.expr) -> ast.expr:
        return self.visit(expression_in(node))

    # -- statements ---------------------------------------------------------------------------
    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for n, statement in enumerate(body):
            late = () if isinstance(statement, ast.While) else sorted(self.liveness.late.get(statement, ()))
            staged: ast.stmt | list[ast.stmt] = self.visit(statement)
            mark = ast.Assign(
                [ast.Attribute(var(B), "loc", ast.Store())],
                ast.Constant(cast("Any", (statement.lineno, statement.col_offset))),
            )
            out.append(place(mark, statement))
            if late:
                before = [b_call("reachable", var(n)) for n in late]
                out.append(place(_in_slots("carry_while", B, late, before), statement))
            out.extend(staged if isinstance(staged, list) else [staged])
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                break
            if (
                n + 1 < len(body)
                and isinstance(statement, (ast.If, ast.For, ast.While, ast.With))
                and _leaves(statement)
            ):
                rest = self.block(body[n + 1 :])
                guard = ast.If(b_attribute("live"), rest, [])
                out.append(place(guard, body[n + 1]))
                break
        return out or [ast.Pass()]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        written = type(node.value)
        node.value = self.condition(node.value)  # `a and f()` is a statement for what f does
        if written in (ast.Name, ast.Attribute):
            node.value = place(b_call("unused", node.value), node.value)
        elif written is ast.Call and isinstance(node.value, ast.Call):
            node.value.func = place(b_call("called", node.value.func), node.value.func)
            node.value = place(b_call("dropped", node.value), node.value)
        elif written in (ast.BinOp, ast.UnaryOp, ast.Compare):
            node.value = place(b_call("dropped", node.value), node.value)
        return node

    def store(self, target: ast.expr, value: ast.expr, like: ast.AST) -> list[ast.stmt]:
        """Statements that assign the staged ``value`` to an unstaged target."""
        if isinstance(target, ast.Name):
            if target.id in self.carried:
                slot = [ast.Constant(True)] if target.id in self.slotted else []
                value = b_call("st", var(target.id), value, ast.Constant(target.id), *slot)
            return [place(ast.Assign([var(target.id, True)], value), like)]
        if isinstance(target, (ast.Tuple, ast.List)):
            names = [self.temp("t") for _ in target.elts]
            slots: list[ast.expr] = [
                ast.Starred(var(n, True), ast.Store()) if isinstance(t, ast.Starred) else var(n, True)
                for n, t in zip(names, target.elts, strict=True)
            ]
            out: list[ast.stmt] = [place(ast.Assign([tuple_of(slots, True)], value), like)]
            for name, item in zip(names, target.elts, strict=True):
                inner = item.value if isinstance(item, ast.Starred) else item
                out.extend(self.store(inner, var(name), like))
            return out
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            root, path = self.path(target)
            return self._put(target, like, value, self.visit(root), tuple_of(path))
        return [place(ast.Assign([self.visit(target)], value), like)]

    def _put(self, target: Any, like: ast.AST, value: ast.expr, *held: ast.expr) -> list[ast.stmt]:
        """``v[i] = value``, ``p[i].a = value``: memory is written, or a variable holds another value."""
        name = root_of(target)
        own = ast.Constant(name if name in self.own else "")
        where = target if isinstance(target, ast.Subscript) and not is_deep(target) else like
        put = place(b_call("put", value, held[0], held[1], own, *held[2:]), where)
        if name not in self.own:
            return [place(ast.Expr(put), like)]
        slot = [ast.Constant(True)] if name in self.slotted else []
        kept = place(b_call("st", var(name), put, ast.Constant(name), *slot), like)
        return [place(ast.Assign([var(name, True)], kept), like)]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value, node)
        held = self.temp("v")
        out: list[ast.stmt] = [place(ast.Assign([var(held, True)], value), node)]
        for target in node.targets:
            out.extend(self.store(target, var(held), node))
        return out

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return [place(ast.Pass(), node)]
        value = place(b_call("annotated", self.visit(node.annotation), self.visit(node.value)), node.value)
        return self.store(node.target, value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        target, out = node.target, list[ast.stmt]()
        if isinstance(target, (ast.Attribute, ast.Subscript)):  # what leads there is evaluated once
            root, path = self.path(target)
            names = [self.temp("o"), self.temp("i"), self.temp("p")]
            held, way, at = map(var, names)
            for name, part in zip(names, (self.visit(root), tuple_of(path)), strict=False):
                out.append(place(ast.Assign([var(name, True)], part), target))
            out.append(place(ast.Assign([_as_store(at)], b_call("along", held, way)), target))
            now, value = self._in_place(b_call("changing", at), node)
            return [*out, *now, *self._put(target, node, value, held, way, at)]
        now, value = self._in_place(self.visit(_as_load(target)), node)
        value = b_call("augmented", self.visit(_as_load(target)), value)
        return [*now, *self.store(target, value, node)]

    def _in_place(self, now: ast.expr, node: ast.AugAssign) -> tuple[list[ast.stmt], ast.expr]:
        """Python's own ``+=``, since a list that is known at compile time itself becomes longer."""
        name = self.temp("a")
        begin = place(ast.Assign([var(name, True)], now), node.target)
        return [begin, place(ast.AugAssign(var(name, True), node.op, self.visit(node.value)), node)], var(
            name
        )

    def _carry(self, method: str, about: str, node: ast.stmt) -> list[ast.stmt]:
        names = sorted(self.liveness.carried.get(node, ()))
        before = self.liveness.before.get(node, ())
        if not names:
            return []
        values = [var(n) if n in before else b_call("reachable", var(n)) for n in names]
        whole = stored_names([node], self.entirely)
        ways = {n: self.ways(n, node) for n in names if n not in whole}
        return [_in_slots(method, about, names, values, ways, self.parts(node))]

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        return self._nested(node, self._if)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self._nested(node, self._for)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._nested(node, self._while)

    def _nested(self, node: Any, staged: Callable[[Any], list[ast.stmt]]) -> list[ast.stmt]:
        """A statement that becomes a loop; where it is too deep for one, in a function of its own."""
        outer, self.depth = self.depth, self.depth + 1
        if outer < _BLOCKS:
            out = staged(node)
            self.depth = outer
            return out
        self.depth = 1
        assigned, body = stored_names([node], self.liveness.stored), staged(node)
        self.depth = outer
        self.shared |= assigned
        if assigned:
            body.insert(0, place(ast.Nonlocal(sorted(assigned)), node))
        none = ast.arguments([], [], None, [], [], None, [])
        function = ast.FunctionDef(DEEPER, none, body, [], None, **no_type_parameters())
        call = ast.Expr(ast.Call(var(DEEPER), [], []))
        return [place(function, node), place(call, node)]

    def _if(self, node: ast.If) -> list[ast.stmt]:
        condition, taken = self.temp("c"), self.temp("b")
        carry = self._carry("carry", condition, node)
        known = [self.known(node.test, holds) for holds in (True, False)]
        bodies = [self.block(node.body), self.block(node.orelse)]
        for says, body in zip(known, bodies, strict=True):
            body[:0] = [] if says is None else [place(ast.Expr(says), node.test)]
        choice = ast.If(var(taken), *bodies)
        out: list[ast.stmt] = [ast.Assign([var(condition, True)], self.condition(node.test)), *carry]
        out.append(ast.For(var(taken, True), b_call("branches", var(condition)), [choice], []))
        return [place(s, node.test) for s in out]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        items, item = self.temp("r"), self.temp("x")
        jumps = has_break(node.body)
        out: list[ast.stmt] = [ast.Assign([var(items, True)], self.visit(node.iter))]
        out.extend(self._carry("carry_loop", items, node))
        body = [*self.store(node.target, var(item), node.target), *self.block(node.body)]
        ends = jumps or has((n for s in node.body for n in walk(s)), ast.Return)
        leaves = [ast.Constant(jumps), ast.Constant(not ends)] if ends else []
        out.append(ast.For(var(item, True), b_call("loop", var(items), *leaves), body, []))
        return [place(s, node.iter) for s in out]

    def _while(self, node: ast.While) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        out.extend(self._carry("carry_while", B, node))
        again, known = self.temp("w"), self.known(node.test, True)
        test, body = self.later(self.visit, node.test), self.block(node.body)
        body[:0] = [] if known is None else [place(ast.Expr(known), node.test)]
        out.append(ast.For(var(again, True), b_call("while_", thunk(test)), body, []))
        return [place(s, node.test) for s in out]

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return place(ast.Expr(b_call("break_")), node)

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return place(ast.Expr(b_call("continue_")), node)

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = self.visit(node.value) if node.value is not None else ast.Constant(None)
        return place(ast.Expr(b_call("return_", value)), node)

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.carried:
                gone = b_call("deleted", var(target.id), ast.Constant(target.id))
                out.append(place(ast.Assign([var(target.id, True)], gone), node))
            elif isinstance(target, ast.Subscript):
                gone = b_call("delete_item", self.visit(target.value), self.visit(target.slice))
                out.append(place(ast.Expr(gone), node))
            else:
                out.append(place(ast.Delete([self.visit(target)]), node))
        return out

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        leaves, body = ast.Constant(_leaves(node)), list[ast.stmt]()
        for item in node.items:
            if item.optional_vars is not None:
                held = self.temp("v")
                body += self.store(item.optional_vars, var(held), item.optional_vars)
                item.optional_vars = var(held, True)
            manager = b_call("context", self.visit(item.context_expr), leaves)
            item.context_expr = place(manager, item.context_expr)
        node.body = [*body, *self.block(node.body)]
        return [node]

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        message = (
            self.later(self.visit, node.msg) if node.msg is not None else ast.Constant(ast.unparse(node.test))
        )
        never = isinstance(node.test, ast.Constant) and not node.test.value
        args = () if never else (self.condition(node.test),)
        return place(ast.Expr(b_call("never" if never else "assert_", *args, thunk(message))), node)


def _in_slots(
    method: str,
    about: str,
    names: Sequence[str],
    values: Iterable[ast.expr],
    *ways: Mapping[str, tuple[tuple[str, ...], ...]],
) -> ast.Assign:
    """Give variables slots, where ``about`` asks for it.

    ``ways`` lead to what has items set, of variables of which no more is set; and to what has parts set.
    """
    call = b_call(method, var(about), tuple_of([ast.Constant(n) for n in names]), tuple_of([*values]))
    if any(ways):
        call.args += [ast.Constant(cast("Any", tuple(each.items()))) for each in ways]
    return ast.Assign([tuple_of([var(n, True) for n in names], True)], call)


def _as_load(node: ast.expr) -> Any:
    """A reading copy of a target, whole: what visits it changes it in place."""
    made: Any = copy.deepcopy(node)
    made.ctx = ast.Load()
    return made


def _as_store(node: ast.expr) -> Any:
    fields: dict[str, Any] = {f: getattr(node, f) for f in node._fields}
    fields["ctx"] = ast.Store()
    return ast.copy_location(type(node)(**fields), node)


def _leaves(node: ast.stmt) -> bool:
    """Whether control may leave by return, break or continue from inside."""
    return has(walk(node), ast.Return, ast.Break, ast.Continue)


def _register(code: CodeType, functions: Mapping[str, ast.FunctionDef]) -> None:
    _staged_codes.add(code)
    if code.co_name in functions:
        written[code] = functions[code.co_name]
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _register(const, functions)


def stage(fn: Definition, kernel: bool) -> Callable[..., Any]:
    """Stage ``fn``, once as long as it stays what it is: the result takes a builder and arguments, and emits.

    Raises:
        CompileError: the source is missing or has changed, or uses what cannot be compiled (all of it).
    """
    return _stage(fn, fn.version, BUILTINS.difference(fn.scope.globals), kernel)


def staged_text(fn: Definition, kernel: bool) -> str:
    """The staged Python, for people."""
    return ast.unparse(_staged(fn, BUILTINS.difference(fn.scope.globals), kernel)[0])


@functools.lru_cache(maxsize=4096)
def _stage(fn: Definition, _: object, builtins: frozenset[str], kernel: bool) -> Callable[..., Any]:
    with timed("stage"):
        return _made(fn, builtins, kernel)


def _made(fn: Definition, builtins: frozenset[str], kernel: bool) -> Callable[..., Any]:
    inner, functions = _staged(fn, builtins, kernel)
    scope = fn.scope
    try:
        code = compiled(inner, fn.file, fn.qualname, tuple(scope.cells))
    except (SyntaxError, MemoryError) as error:
        raise CompileError.at(
            "unsupported-syntax",
            f"{fn.name} is more than Python's compiler takes: {error}",
            Location(fn.file, fn.line),
            hints=("move a part of it to a @func of its own",),
        ) from None
    _register(code, functions)
    closure = tuple(scope.cells[n] for n in code.co_freevars)
    return FunctionType(code, scope.globals, code.co_name, None, closure)


def _staged(
    fn: Definition, builtins: frozenset[str], kernel: bool
) -> tuple[ast.FunctionDef, dict[str, ast.FunctionDef]]:
    """The staged function, and the functions in it, by their staged names, as they were written."""
    tree, scope = fn.body(), fn.scope
    nodes = [node for statement in tree.body for node in walk(statement)]
    problems = check_syntax(nodes, fn, kernel)
    if problems:
        raise CompileError(problems)
    note_unread(fn, tree, nodes)
    note_chained(fn, nodes)
    if declare_parts(tree, nodes) | desugar(tree.body, nodes):
        nodes = walk(tree)
    note_named(nodes)
    asks = ByValue(names_of(scope, bound_names(nodes).union(fn.names())))
    if asks.concerns(nodes):
        tree = asks.visit(tree)
    stager = _Stager(tree, builtins.difference(scope.cells))
    inner = stager.whole(tree, INNER, fn.names())
    fill_places(inner, inner)
    return inner, stager.functions
