"""Staging of expressions: what Python does not let a value overload becomes a call of the builder's.

What follows ``and`` and ``or``, in conditional expressions and in chains of comparisons is reached only
where what stands before says so: it becomes a function, and what ``:=`` assigns there has a slot.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable
from typing import Any, cast

from weft.compiler.frontend.liveness import Liveness, stored_names
from weft.compiler.frontend.named import decided
from weft.compiler.frontend.nonlocals import declared, held
from weft.compiler.frontend.tree import (
    arguments_of,
    b_attribute,
    b_call,
    children,
    function_of,
    parameter_names,
    place,
    root_of,
    thunk,
    tuple_of,
    var,
    walk,
)

__all__ = ["BUILTINS", "RUN_OVER", "SYMBOLS", "Expressions", "generator_of", "runs_over_list"]

BUILTINS = frozenset(
    {
        "range",
        "print",
        "min",
        "max",
        "len",
        "int",
        "float",
        "complex",
        "bool",
        "enumerate",
        "isinstance",
        "issubclass",
        "reversed",
        "zip",
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
        "hex",
        "bin",
        "oct",
        "chr",
        "breakpoint",
    }
)
"""Builtins with a meaning of their own on run-time values: ``b.py_<name>``."""

_CLASSES = frozenset({"int", "float", "complex", "bool", "str"})
"""Of these, those that also name a type: only where they are called do they mean anything else."""
_ITSELF = frozenset({"range", "print"})
"""Those that mean the same whether they are called or handed on."""

_ASK = frozenset({"any", "all"})
RUN_OVER = _ASK | {"sum", "min", "max"}
"""Those that run over items one by one, so that a list of them need not be; the first two not to the end."""

_NESTED = 8
"""Of more terms than that ``and`` and ``or`` are taken by halves."""

_COMPARED: dict[type[ast.cmpop], str] = {ast.Is: "is_", ast.IsNot: "is_", ast.In: "in_", ast.NotIn: "in_"}
"""Comparisons that Python does not let a value overload."""

SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
"""Those that it does, by their operators."""

_TEXTS = frozenset({"format", "join"})
"""Methods of a literal text that make a text of others."""


class Expressions(ast.NodeTransformer):
    """Stages the expressions of one function."""

    def __init__(
        self,
        function: ast.FunctionDef,
        builtins: frozenset[str],
        outer: Expressions | None = None,
    ) -> None:
        nodes = walk(function)
        kinds = set(map(type, nodes))
        shared_by = declared(function) if ast.Nonlocal in kinds else set[str]()
        own = stored_names(function.body).union(arguments_of(function), shared_by)
        self.own = frozenset(own)
        """The function's variables: what it assigns, is given, or shares with the function around it."""
        self.liveness = Liveness(function, nodes, self.own)
        self.reassigned: set[str] = set()
        """Variables of this function that functions in it assign."""
        self.slotted: set[str] = set()
        """Those, and the ones that this function assigns so itself: they have slots from the beginning."""
        if ast.Nonlocal in kinds:
            self.reassigned = held(function)
            own -= shared_by
            self.slotted = self.reassigned | shared_by
        self.item_targets = [n for n in nodes if _is_item_target(n)]
        """``a[i]`` and ``a[i].x`` where they are assigned."""
        self.changes_items = any(root_of(n) in own for n in self.item_targets)
        """Whether it assigns elements of what its variables hold."""
        self.part_targets = [
            n for n in nodes if n.__class__ in _PARTS and isinstance(cast("ast.Attribute", n).ctx, ast.Store)
        ]
        """``a.x``, ``a[i]`` and so on where they are assigned."""
        self.entirely: dict[ast.stmt, set[str]] = {}
        """What statements assign, but for items and parts of these."""
        self.carried = self.liveness.names | self.slotted
        """Variables that are read by the builder: they may be in slots, or not assigned."""
        self.functions: dict[str, ast.FunctionDef] = {}
        """The functions in this one and in those in it, by their staged names."""
        self.numbers = itertools.count(1)
        if outer is not None:
            self.carried = self.carried | (outer.carried - own)
            self.functions, self.numbers = outer.functions, outer.numbers
        self.names_in_expressions = ast.NamedExpr in kinds
        self.builtins = builtins - own
        self.depth = 0
        self.shared: set[str] = set()
        """Variables that inner functions assign."""
        self.hidden: list[set[str]] = []
        self.late = 0
        """In how many functions made of expressions this stands."""

    def visit(self, node: ast.AST) -> Any:
        return _visitor(self.__class__, node.__class__)(self, node)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in children(type(node)):
            old = getattr(node, name, None)
            if type(old) is list:
                old[:] = [self.visit(v) if isinstance(v, ast.AST) else v for v in old]  # pyright: ignore[reportUnknownVariableType]
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node

    def temp(self, stem: str) -> str:
        """A new name."""
        return f"__weft_{stem}{next(self.numbers)}"

    # -- expressions --------------------------------------------------------------------------
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or any(node.id in names for names in self.hidden):
            return node
        if node.id in self.carried:
            return place(b_call("ld", node, ast.Constant(node.id)), node)
        if node.id in self.builtins and node.id not in _CLASSES:
            if node.id in _ITSELF:
                return place(b_attribute(f"py_{node.id}"), node)
            return place(b_call("asked", ast.Constant(node.id)), node)
        return node

    def _means_builtin(self, node: ast.expr) -> bool:
        """Whether it is the name of one that no variable has taken."""
        if not isinstance(node, ast.Name) or node.id not in self.builtins or node.id in self.carried:
            return False
        return not any(node.id in names for names in self.hidden)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _TEXTS and _is_text(func.value):
            node.func = place(b_attribute(f"{func.attr}_text"), func)
            node.args.insert(0, func.value)
            func = node.func
        if runs_over_list(node, self.builtins):
            items = cast("ast.ListComp", node.args[0])
            node.args[0] = place(ast.GeneratorExp(items.elt, items.generators), items)
        if self._means_builtin(func):
            node.func = place(b_attribute(f"py_{cast('ast.Name', func).id}"), func)
        self.generic_visit(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.hidden.append({*parameter_names(node.args)})
        self.generic_visit(node)
        self.hidden.pop()
        return place(b_call("closure", node), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        name, value = node.target.id, self.visit(node.value)
        if self.late:
            return place(b_call("named", var(name), value, ast.Constant(name)), node)
        if name in self.carried:
            value = b_call("st", var(name), value, ast.Constant(name), ast.Constant(True))
            stored = place(ast.NamedExpr(var(name, True), value), node)
            return place(b_call("ld", stored, ast.Constant(name)), node)
        return place(ast.NamedExpr(var(name, True), value), node)

    def later(self, visit: Callable[[ast.expr], Any], node: ast.expr) -> Any:
        """A staged expression of which what stands before decides whether it is reached."""
        self.late += 1
        staged = visit(node)
        self.late -= 1
        return staged

    def knowing(self, test: ast.expr, holds: bool, value: Any) -> Any:
        """A staged expression that is reached where the unstaged ``test`` is ``holds``."""
        names = self.known(test, holds)
        if names is None:
            return value
        return place(ast.Subscript(tuple_of([names, value]), ast.Constant(1), ast.Load()), value)

    def known(self, test: ast.expr, holds: bool) -> ast.expr | None:
        """What says that a condition has assigned variables where it is ``holds``, if it assigns any."""
        names = sorted(decided(test, holds)) if self.names_in_expressions else ()
        return b_call("assigned", *map(var, names)) if names else None

    def _comprehension(self, node: Any) -> ast.expr:
        names: set[str] = set()
        for generator in node.generators:
            names |= {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        self.hidden.append(names)
        self.generic_visit(node)
        self.hidden.pop()
        for clause in node.generators:
            clause.ifs = [place(b_call("certain", test), test) for test in clause.ifs]
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = _comprehension

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        outer = self.visit(node.generators[0].iter)
        self.hidden.append(
            {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        )
        parts = functools.partial(self.later, self.visit), functools.partial(self.later, self.condition)
        made = generator_of(node, outer, (self.temp("g"), self.temp("r"), self.temp("x")), *parts)
        self.hidden.pop()
        return made

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
            middle = len(values) // 2 if len(values) > _NESTED and not self.names_in_expressions else 1
            last = thunk(join(values[middle:]))
            return place(b_call(method, join(values[:middle]), last), node)

        first, *rest = node.values
        return join([visit(first), *[self.later(visit, v) for v in rest]])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return place(b_call("not_", self.condition(node.operand)), node)
        self.generic_visit(node)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        value = place(b_call("text", self.visit(node.value), ast.Constant(node.conversion)), node)
        if isinstance(node.format_spec, ast.JoinedStr):
            self.generic_visit(node.format_spec)
        return place(ast.FormattedValue(value, -1, node.format_spec), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return place(b_call("marked", node), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        yes = self.knowing(node.test, True, self.later(self.visit, node.body))
        no = self.knowing(node.test, False, self.later(self.visit, node.orelse))
        return place(b_call("if_exp", self.condition(node.test), thunk(yes), thunk(no)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        node.left = self.visit(node.left)
        first, *rest = node.comparators
        node.comparators = [self.visit(first), *[self.later(self.visit, c) for c in rest]]

        def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
            method = _COMPARED.get(type(op))
            if method is None and (isinstance(left, ast.Constant) or isinstance(right, ast.Constant)):
                if isinstance(op, (ast.Eq, ast.NotEq)) and _is_number(right) and _names(left):
                    left = place(b_call("uncalled", left), node)
                return place(ast.Compare(left, [op], [right]), node)
            if method is None:
                return place(b_call("compared", ast.Constant(SYMBOLS[type(op)]), left, right), node)
            if isinstance(right, ast.Set):  # what exists at run time has no hash
                right = place(tuple_of(right.elts), right)
            negated = ast.Constant(isinstance(op, (ast.IsNot, ast.NotIn)))
            return place(b_call(method, left, right, negated), node)

        # a < b < c: each middle operand once, later ones only if needed
        def link(left: ast.expr, n: int) -> ast.expr:
            right = node.comparators[n]
            if n == len(node.ops) - 1:
                return compare(left, node.ops[n], right)
            low, held = self.temp("m"), self.temp("m")
            first = compare(var(low), node.ops[n], var(held))
            body = place(b_call("and_", first, thunk(link(var(held), n + 1))), node)
            return place(ast.Call(function_of([low, held], body), [left, right], []), node)

        return link(node.left, 0)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _names(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))


@functools.cache
def _visitor(cls: type[Expressions], kind: type[ast.AST]) -> Callable[[Expressions, ast.AST], Any]:
    """What stages a kind of node, as ``ast.NodeVisitor`` finds it each time."""
    return getattr(cls, f"visit_{kind.__name__}", cls.generic_visit)


def generator_of(
    node: ast.GeneratorExp,
    outer: ast.expr,
    names: tuple[str, str, str],
    visit: Callable[[ast.expr], Any],
    condition: Callable[[ast.expr], Any],
) -> ast.expr:
    """A generator expression as a call of the builder's, which is asked at each loop and ``if`` of it.

    ``outer`` is what it runs over first; ``names`` are new ones, the others stage parts of it.
    """
    asked, items, reached = names
    clauses: list[ast.comprehension] = []
    for n, clause in enumerate(node.generators):
        clauses.append(_clause(clause.target, asked, "loop", visit(clause.iter) if n else var(items)))
        clauses += [_clause(var(reached, True), asked, "when", condition(test)) for test in clause.ifs]
    made = place(ast.GeneratorExp(visit(node.elt), clauses), node)
    chosen = ast.Constant(len(node.generators) == 1 and bool(node.generators[0].ifs))
    return place(b_call("generator", outer, function_of([asked, items], made), chosen), node)


def runs_over_list(node: ast.Call, names: frozenset[str]) -> bool:
    """Whether a call of ``any``, ``sum`` or their like is given a list that need not be made."""
    func, items = node.func, node.args[0] if node.args else None
    if not isinstance(func, ast.Name) or func.id not in names & RUN_OVER:
        return False
    return isinstance(items, ast.ListComp) and (func.id not in _ASK or not _acts(items))


def _clause(target: ast.expr, asked: str, method: str, about: ast.expr) -> ast.comprehension:
    """``for target in asked.method(about)``."""
    call = ast.Call(ast.Attribute(var(asked), method, ast.Load()), [about], [])
    return ast.comprehension(target, call, [], 0)


_PARTS = (ast.Subscript, ast.Attribute)


def _is_item_target(node: ast.AST) -> bool:
    if node.__class__ not in _PARTS:
        return False
    base = cast("ast.Subscript | ast.Attribute", node)
    if not isinstance(base.ctx, ast.Store):
        return False
    while isinstance(base, ast.Attribute):
        base = base.value
    return isinstance(base, ast.Subscript)


def _acts(node: ast.ListComp) -> bool:
    """Whether an item may do something besides being a value."""
    parts = [node.elt, *(test for clause in node.generators for test in clause.ifs)]
    return any(isinstance(n, (ast.Call, ast.NamedExpr)) for part in parts for n in walk(part))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
