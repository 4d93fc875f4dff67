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
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple, cast

from weft.compiler.frontend.liveness import Liveness, stored_names
from weft.compiler.frontend.lostwrites import lost_writes
from weft.compiler.frontend.syntax import check_syntax
from weft.compiler.frontend.tree import children, fill_places, place, walk
from weft.compiler.source.definition import Definition
from weft.compiler.source.scopes import INNER, compiled, no_type_parameters
from weft.diagnostics import CompileError, Location

__all__ = ["BUILTINS", "DEEPER", "Staged", "is_staged", "stage"]

B = "__weft_b"
BUILTINS = frozenset(
    {
        "range",
        "print",
        "min",
        "max",
        "len",
        "int",
        "float",
        "bool",
        "any",
        "all",
        "round",
        "pow",
        "divmod",
        "sum",
        "str",
        "repr",
        "ascii",
        "format",
    }
)
"""Builtins with a meaning of their own on run-time values: ``b.py_<name>``."""

_CLASSES = frozenset({"int", "float", "bool", "str"})
"""Of these, those that also name a type: only where they are called do they mean anything else."""

DEEPER = "__weft_deeper"
"""The name of functions within a staged one, where statements nest deeper than Python's loops may."""
_BLOCKS = 12
"""How deep loops nest in one function; Python takes 20."""

_NESTED = 8
"""Of more terms than that ``and`` and ``or`` are taken by halves."""

_COMPARED: dict[type[ast.cmpop], str] = {ast.Is: "is_", ast.IsNot: "is_", ast.In: "in_", ast.NotIn: "in_"}
"""Comparisons that Python does not let a value overload."""

_TEXTS = frozenset({"format", "join"})
"""Methods of a literal text that make a text of others."""

_staged_codes: set[CodeType] = set()


def is_staged(code: CodeType) -> bool:
    """Whether a frame of this code is a user's function under elaboration."""
    return code in _staged_codes


class Staged(NamedTuple):
    """A staged function: call ``run(builder, *arguments)`` to emit its body. ``text`` is for people."""

    run: Callable[..., Any]
    tree: ast.FunctionDef

    @property
    def text(self) -> str:
        """The staged Python."""
        return ast.unparse(self.tree)


def _name(name: str, store: bool = False) -> ast.Name:
    return ast.Name(name, ast.Store() if store else ast.Load())


def _method(method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(_name(B), method, ast.Load()), list(args), [])


def _thunk(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _tuple(items: Sequence[ast.expr], store: bool = False) -> ast.Tuple:
    return ast.Tuple(list(items), ast.Store() if store else ast.Load())


class _Stager(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef, builtins: frozenset[str], kernel: bool) -> None:
        self.lost = lost_writes(function, kernel)
        self.function = "" if kernel else function.name
        self.liveness = Liveness(function)
        self.carried = self.liveness.names
        self.builtins = builtins
        self.count = 0
        self.depth = 0
        self.shared: set[str] = set()
        """Variables that inner functions assign."""
        self.hidden: list[set[str]] = []

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in children(type(node)):
            old = getattr(node, name, None)
            if type(old) is list:
                old[:] = [self.visit(v) if isinstance(v, ast.AST) else v for v in old]  # pyright: ignore[reportUnknownVariableType]
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node

    def temp(self, stem: str) -> str:
        self.count += 1
        return f"__weft_{stem}{self.count}"

    # -- expressions --------------------------------------------------------------------------
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or any(node.id in names for names in self.hidden):
            return node
        if node.id in self.carried:
            return place(_method("ld", node, ast.Constant(node.id)), node)
        if node.id in self.builtins and node.id not in _CLASSES:
            return place(ast.Attribute(_name(B), f"py_{node.id}", ast.Load()), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _TEXTS and _is_text(func.value):
            node.func = place(ast.Attribute(_name(B), f"{func.attr}_text", ast.Load()), func)
            node.args.insert(0, func.value)
            func = node.func
        self.generic_visit(node)
        if node.func is func and isinstance(func, ast.Name) and func.id in _CLASSES & self.builtins:
            if not any(func.id in names for names in self.hidden) and func.id not in self.carried:
                node.func = place(ast.Attribute(_name(B), f"py_{func.id}", ast.Load()), func)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        arguments = node.args
        self.hidden.append({a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)})
        self.generic_visit(node)
        self.hidden.pop()
        return node

    def _comprehension(self, node: Any) -> ast.expr:
        names: set[str] = set()
        for generator in node.generators:
            names |= {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        self.hidden.append(names)
        self.generic_visit(node)
        self.hidden.pop()
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return self._joined(node, ("and_", "or_"), self.visit)

    def condition(self, node: ast.expr) -> Any:
        """A staged expression of which only the truth counts."""
        if isinstance(node, ast.BoolOp):
            return self._joined(node, ("both", "either"), self.condition)
        return self.visit(node)

    def _joined(self, node: ast.BoolOp, methods: tuple[str, str], visit: Callable[[ast.expr], Any]) -> Any:
        """``a and b and c``: later ones only if needed; of many the halves, so that nothing nests deeply."""
        method = methods[isinstance(node.op, ast.Or)]

        def join(values: list[Any]) -> Any:
            if len(values) == 1:
                return values[0]
            middle = len(values) // 2 if len(values) > _NESTED else 1
            last = _thunk(join(values[middle:]))
            return place(_method(method, join(values[:middle]), last), node)

        return join([visit(v) for v in node.values])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return place(_method("not_", self.condition(node.operand)), node)
        self.generic_visit(node)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        value = place(_method("text", self.visit(node.value), ast.Constant(node.conversion)), node)
        if isinstance(node.format_spec, ast.JoinedStr):
            self.generic_visit(node.format_spec)
        return place(ast.FormattedValue(value, -1, node.format_spec), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return place(_method("marked", node), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        yes, no = _thunk(self.visit(node.body)), _thunk(self.visit(node.orelse))
        return place(_method("if_exp", self.condition(node.test), yes, no), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)

        def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
            method = _COMPARED.get(type(op))
            if method is None:
                return place(ast.Compare(left, [op], [right]), node)
            if isinstance(right, ast.Set):  # what exists at run time has no hash
                right = place(_tuple(right.elts), right)
            negated = ast.Constant(isinstance(op, (ast.IsNot, ast.NotIn)))
            return place(_method(method, left, right, negated), node)

        # a < b < c: each middle operand once, later ones only if needed
        def link(left: ast.expr, n: int) -> ast.expr:
            right = node.comparators[n]
            if n == len(node.ops) - 1:
                return compare(left, node.ops[n], right)
            held = self.temp("m")
            bound = ast.NamedExpr(_name(held, True), right)
            first = compare(left, node.ops[n], bound)
            return place(_method("and_", first, _thunk(link(_name(held), n + 1))), node)

        return link(node.left, 0)

    # -- statements ---------------------------------------------------------------------------
    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for n, statement in enumerate(body):
            staged: ast.stmt | list[ast.stmt] = self.visit(statement)
            mark = ast.Assign(
                [ast.Attribute(_name(B), "loc", ast.Store())],
                ast.Constant(cast("Any", (statement.lineno, statement.col_offset))),
            )
            if not isinstance(statement, (ast.Pass, ast.Break, ast.Continue)):
                out.append(place(mark, statement))
            out.extend(staged if isinstance(staged, list) else [staged])
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                break
            if (
                n + 1 < len(body)
                and isinstance(statement, (ast.If, ast.For, ast.While))
                and _leaves(statement)
            ):
                rest = self.block(body[n + 1 :])
                guard = ast.If(ast.Attribute(_name(B), "live", ast.Load()), rest, [])
                out.append(place(guard, body[n + 1]))
                break
        return out or [ast.Pass()]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        named = isinstance(node.value, (ast.Name, ast.Attribute))
        node.value = self.condition(node.value)  # `a and f()` is a statement for what f does
        if named:
            node.value = place(_method("unused", node.value), node.value)
        return node

    def store(self, target: ast.expr, value: ast.expr, like: ast.AST) -> list[ast.stmt]:
        """Statements that assign the staged ``value`` to an unstaged target."""
        if isinstance(target, ast.Name):
            if target.id in self.carried:
                value = _method("st", _name(target.id), value, ast.Constant(target.id))
            return [place(ast.Assign([_name(target.id, True)], value), like)]
        if isinstance(target, (ast.Tuple, ast.List)):
            names = [self.temp("t") for _ in target.elts]
            slots: list[ast.expr] = [
                ast.Starred(_name(n, True), ast.Store()) if isinstance(t, ast.Starred) else _name(n, True)
                for n, t in zip(names, target.elts, strict=True)
            ]
            out: list[ast.stmt] = [place(ast.Assign([_tuple(slots, True)], value), like)]
            for name, item in zip(names, target.elts, strict=True):
                inner = item.value if isinstance(item, ast.Starred) else item
                out.extend(self.store(inner, _name(name), like))
            return out
        if isinstance(target, ast.Attribute):
            held, path = target.value, [target.attr]
            while isinstance(held, ast.Attribute):
                held, path = held.value, [held.attr, *path]
            if isinstance(held, ast.Subscript):  # memory, or a list known at compile time
                items, index = self.temp("o"), self.temp("i")
                before = [
                    place(ast.Assign([_name(name, True)], self.visit(part)), part)
                    for name, part in ((items, held.value), (index, held.slice))
                ]
                item = place(ast.Subscript(_name(items), _name(index), ast.Load()), held)
                names = _tuple([ast.Constant(name) for name in path])
                new = self.temp("v")
                before.append(place(ast.Assign([_name(new, True)], value), like))
                put = place(_method("put_field", _name(items), _name(index), names, _name(new)), like)
                made = place(_method("with_field", item, names, _name(new)), like)
                store = place(ast.Assign([_as_store(item)], made), held)
                return [*before, place(ast.If(ast.UnaryOp(ast.Not(), put), [store], []), held)]
            held = target.value
            arguments: list[ast.expr] = [self.visit(_as_load(held)), ast.Constant(target.attr)]
            if target in self.lost:
                arguments += [ast.Constant(text) for text in self._copy_of(held)]
                lost = place(_method("lost_field", *arguments), target)
                return [place(ast.Expr(value), like), place(ast.Expr(lost), target)]
            new = _method("set_field", *arguments, value)
            if isinstance(held, (ast.Name, ast.Attribute)):
                return self.store(_as_store(held), new, like)
            return [place(ast.Expr(new), like)]
        return [place(ast.Assign([self.visit(target)], value), like)]

    def _copy_of(self, held: ast.expr) -> tuple[str, str]:
        """The parameter that ``held`` is or is part of, and the function's name; of a kernel none."""
        while isinstance(held, ast.Attribute):
            held = held.value
        return ast.unparse(held), self.function

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value, node)
        held = self.temp("v")
        out: list[ast.stmt] = [place(ast.Assign([_name(held, True)], value), node)]
        for target in node.targets:
            out.extend(self.store(target, _name(held), node))
        return out

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return [place(ast.Pass(), node)]
        value = place(_method("annotated", self.visit(node.annotation), self.visit(node.value)), node.value)
        return self.store(node.target, value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        target, out = node.target, list[ast.stmt]()
        if isinstance(target, ast.Subscript):  # evaluate object and index once
            held, index = self.temp("o"), self.temp("i")
            out.append(place(ast.Assign([_name(held, True)], self.visit(target.value)), target))
            out.append(place(ast.Assign([_name(index, True)], self.visit(target.slice)), target))
            now = place(ast.Subscript(_name(held), _name(index), ast.Load()), target)
            value = place(ast.BinOp(now, node.op, self.visit(node.value)), node)
            store = ast.Subscript(_name(held), _name(index), ast.Store())
            return [*out, place(ast.Assign([place(store, target)], value), node)]
        now = self.visit(_as_load(target))
        value = place(ast.BinOp(now, node.op, self.visit(node.value)), node)
        return self.store(target, value, node)

    def _carry(self, method: str, about: str, node: ast.stmt) -> list[ast.stmt]:
        names = sorted(self.liveness.carried.get(node, ()))
        before = self.liveness.before.get(node, ())
        if not names:
            return []
        call = _method(
            method,
            _name(about),
            _tuple([ast.Constant(n) for n in names]),
            _tuple([_name(n) if n in before else _method("reachable", _name(n)) for n in names]),
        )
        return [ast.Assign([_tuple([_name(n, True) for n in names], True)], call)]

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
        call = ast.Expr(ast.Call(_name(DEEPER), [], []))
        return [place(function, node), place(call, node)]

    def _if(self, node: ast.If) -> list[ast.stmt]:
        condition, taken = self.temp("c"), self.temp("b")
        out: list[ast.stmt] = [ast.Assign([_name(condition, True)], self.condition(node.test))]
        out.extend(self._carry("carry", condition, node))
        choice = ast.If(_name(taken), self.block(node.body), self.block(node.orelse))
        out.append(ast.For(_name(taken, True), _method("branches", _name(condition)), [choice], []))
        return [place(s, node.test) for s in out]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        items, item = self.temp("r"), self.temp("x")
        out: list[ast.stmt] = [ast.Assign([_name(items, True)], self.visit(node.iter))]
        out.extend(self._carry("carry_loop", items, node))
        body = [*self.store(node.target, _name(item), node.target), *self.block(node.body)]
        out.append(ast.For(_name(item, True), _method("loop", _name(items)), body, []))
        return [place(s, node.iter) for s in out]

    def _while(self, node: ast.While) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        names = self._carry("carry_while", B, node)
        out.extend(names)
        again = self.temp("w")
        out.append(
            ast.For(
                _name(again, True),
                _method("while_", _thunk(self.visit(node.test))),
                self.block(node.body),
                [],
            )
        )
        return [place(s, node.test) for s in out]

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return place(ast.Expr(_method("break_")), node)

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return place(ast.Expr(_method("continue_")), node)

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = self.visit(node.value) if node.value is not None else ast.Constant(None)
        return place(ast.Expr(_method("return_", value)), node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        message = self.visit(node.msg) if node.msg is not None else ast.Constant(ast.unparse(node.test))
        return place(ast.Expr(_method("assert_", self.condition(node.test), _thunk(message))), node)


def _as_load(node: ast.expr) -> Any:
    """A reading copy of a target, whole: what visits it changes it in place."""
    made: Any = copy.deepcopy(node)
    made.ctx = ast.Load()
    return made


def _as_store(node: ast.expr) -> Any:
    fields: dict[str, Any] = {f: getattr(node, f) for f in node._fields}
    fields["ctx"] = ast.Store()
    return ast.copy_location(type(node)(**fields), node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _leaves(node: ast.stmt) -> bool:
    """Whether control may leave by return, break or continue from inside."""
    return any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for n in walk(node))


def _register(code: CodeType) -> None:
    _staged_codes.add(code)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _register(const)


def stage(fn: Definition, kernel: bool) -> Staged:
    """Stage ``fn``, once as long as it stays what it is.

    Raises:
        CompileError: the source is missing or has changed, or uses what cannot be compiled (all of it).
    """
    return _stage(fn, fn.version, BUILTINS.difference(fn.scope.globals), kernel)


@functools.lru_cache(maxsize=4096)
def _stage(fn: Definition, _: object, builtins: frozenset[str], kernel: bool) -> Staged:
    tree, scope, parameters = fn.body(), fn.scope, fn.names()
    problems = check_syntax(tree, fn, kernel)
    if problems:
        raise CompileError(problems)
    stager = _Stager(tree, builtins.difference(parameters, stored_names(tree.body), scope.cells), kernel)
    body = list(tree.body)
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    undefined = sorted((stager.carried & stored_names(body)) - set(parameters))
    staged: list[ast.stmt] = stager.block(body)
    if undefined:
        unset = ast.Assign(
            [_name(n, True) for n in undefined], ast.Attribute(_name(B), "UNDEFINED", ast.Load())
        )
        staged.insert(0, place(unset, tree))
    if stager.shared:  # they are variables of the outermost function, whether or not it assigns them
        bound = [place(ast.Assign([_name(n, True)], ast.Constant(None)), tree) for n in sorted(stager.shared)]
        staged.insert(0, place(ast.If(ast.Constant(False), bound, []), tree))
    arguments = ast.arguments([], [ast.arg(B), *[ast.arg(p) for p in parameters]], None, [], [], None, [])
    inner = place(ast.FunctionDef(INNER, arguments, staged, [], None, **no_type_parameters()), tree)
    fill_places(inner, inner)
    try:
        code = compiled(inner, fn.file, fn.qualname, tuple(scope.cells))
    except (SyntaxError, MemoryError) as error:
        raise CompileError.at(
            "unsupported-syntax",
            f"{fn.name} is more than Python's compiler takes: {error}",
            Location(fn.file, fn.line),
            hints=("move a part of it to a @func of its own",),
        ) from None
    _register(code)
    closure = tuple(scope.cells[n] for n in code.co_freevars)
    return Staged(FunctionType(code, scope.globals, tree.name, None, closure), inner)
