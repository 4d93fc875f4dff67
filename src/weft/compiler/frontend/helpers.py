"""Ordinary Python that kernels call, where Python would answer for a run-time value without asking it.

``flag is True``, ``type(x) is float`` and ``case True`` look at the object that stands for a number,
``print`` shows it, and ``except Exception`` takes a refusal for an error of the program. A helper that has
such in its text runs by code that asks the builder instead, for as long as a kernel is elaborated that may
call it; all else in it stays Python's.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
import sys
import typing
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, cast

from weft.compiler.frontend.by_value import BY_IDENTITY, BY_TEXT, ByValue, asks_by_key, is_meant, meant
from weft.compiler.frontend.handlers import unraised, waits_for
from weft.compiler.frontend.hostcalls import Names, found, names_of
from weft.compiler.frontend.iteration import is_open, items_of, on_device
from weft.compiler.frontend.kept import check_kept, place_of_change
from weft.compiler.frontend.pybuiltins import COMPARISONS, late
from weft.compiler.frontend.ranges import Range
from weft.compiler.frontend.reached import Change, Reached
from weft.compiler.frontend.stage_expressions import RUN_OVER, SYMBOLS, generator_of, runs_over_list
from weft.compiler.frontend.tree import (
    B,
    b_attribute,
    b_call,
    bound_names,
    fill_places,
    function_of,
    has,
    place,
    thunk,
    tuple_of,
    var,
    walk,
)
from weft.compiler.source.by_identity import Identity
from weft.compiler.source.definition import MISSING, Definition, Scope
from weft.compiler.source.python import definition_of, scope_of
from weft.compiler.source.rewritten import Rewriting
from weft.diagnostics import WeftError, is_internal, refuse
from weft.lang.captured import reads_of
from weft.lang.decorators import func, kernel
from weft.lang.elaboration import maybe_current
from weft.lang.host_closures import known
from weft.lang.printing import kernel_print
from weft.lang.spec import Spec
from weft.lang.structs import struct

__all__ = ["Helpers"]

_ASKER = "\0weft\0"
"""The constant in whose place the code has what asks."""


class Helpers:
    """The helpers of the functions that are elaborated, which ask while that lasts."""

    def __init__(self) -> None:
        self.reached: set[FunctionType] = set()
        self.beyond: list[Reached] = []
        """What those of the functions under way reach."""
        self.changed: list[Change] = []
        """What they have changed of the program."""

    def function_of(self, code: CodeType) -> FunctionType | None:
        """The helper that a code is of, as its text has it."""
        return _asking.function_of(code, self.reached)

    @contextmanager
    def of(self, fn: Definition, specs: Iterable[Spec]) -> Generator[None]:
        """Let all ask that a function may call, and what specs hold."""
        if fn.within or is_internal(fn.file) or fn.function in self.reached:
            yield
            return
        values = [value for spec in specs for value in known(spec)]
        reads = reads_of([fn, *values])
        found = ({of for of, _ in reads.functions} | _identity.of_packages(reads.foreign)) - self.reached
        self.reached |= found
        if not BY_IDENTITY.isdisjoint(reads.builtins):
            _asking.wide.set()
        reached = Reached(reads)
        before = reached.now()
        self.beyond.append(reached)
        try:
            with _asking.of(found):
                yield
            reached.put_back()
            check_kept(reads)
            if before is not None and (name := reached.change(before)):
                place = place_of_change(reads, name) or fn.place("")
                self.changed.append(Change(name, place, reached, reached.now()))
        finally:
            self.reached -= found
            self.beyond.pop()


def _rewrite(node: ast.FunctionDef, scope: Scope, wide: bool) -> bool:
    nodes = walk(node)
    asks = _Asks(_names_of(scope, nodes), wide)
    node.body = [asks.visit(statement) for statement in node.body]
    begin = ast.Assign([var(B, True)], ast.Constant(_ASKER))
    given = [place(var(name, True), node.body[0]) for name in asks.meant_defaults(node.args)]
    node.body[:0] = [place(begin, node.body[0])] + [
        place(ast.Assign([name], b_call("meant", var(name.id))), name) for name in given
    ]
    fill_places(node, node)
    for name in walk(node):
        if isinstance(name, ast.Name) and name.id == B:
            name.id = f"{B}__"  # also within a class, whose private names would get its own before them
    return asks.found


def _names(fn: FunctionType) -> Names:
    return _names_of(scope_of(fn), [])


def _names_of(scope: Scope, nodes: list[ast.AST]) -> Names:
    """What names mean that a function does not assign, builtins and what it imports among them."""
    local, imported = bound_names(nodes), dict[str, Any]()
    outside = names_of(scope, local)
    for node in nodes:
        if isinstance(node, ast.Import):
            imported |= {a.asname or a.name: sys.modules.get(a.name, MISSING) for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = sys.modules.get(str(node.module))
            imported |= {a.asname or a.name: getattr(module, a.name, MISSING) for a in node.names}

    def look(name: str) -> Any:
        value = imported[name] if name in imported else outside(name)
        if value is MISSING and name not in local and name not in scope.cells:
            return scope.builtins.get(name, MISSING)
        return value

    return look


DRAWN = frozenset({"range", "enumerate", "reversed", "zip"})
"""What makes what is run over."""


def _as_it_is(node: ast.expr) -> ast.expr:
    return node


_HERE = frozenset({"super", "locals", "vars", "dir", "eval", "exec"})
"""What asks for the function at hand."""


def _is_bound_here(node: ast.AST) -> bool:
    """Whether a node means another thing in a function of its own."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _HERE
    return isinstance(node, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await))


class _Asks(ByValue):
    """Rewrites what Python answers by itself, and what it asks before it goes on."""

    def __init__(self, names: Names, wide: bool) -> None:
        super().__init__(names)
        self.wide = wide
        """Whether what is called, or given to a call, may be such a function though no name says so."""
        self.within_class = False
        self.generators = 0
        self.counted: set[ast.AST] = set()
        """What Python runs over by itself."""

    def _ask(self, node: ast.AST, method: str, *args: ast.expr) -> ast.Call:
        self.found = True
        return place(b_call(method, *args), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func
        python = func.id if isinstance(func, ast.Name) and self._is_builtin(func) else ""
        if runs_over_list(node, frozenset({python})) and not self._acts_here(node.args[0]):
            items = cast("ast.ListComp", node.args[0])
            node.args[0] = place(ast.GeneratorExp(items.elt, items.generators), items)
        made = self._visit_call(node)
        if python in DRAWN and node.func is func and node not in self.counted:
            self.found, node.func = True, place(b_attribute(f"py_{python}"), func)
        return made

    def _is_builtin(self, node: ast.Name) -> bool:
        return node.id in DRAWN | RUN_OVER and found(node, self.names) is getattr(builtins, node.id)

    def _acts_here(self, *parts: ast.expr) -> bool:
        """Whether these may not be put into a function of their own."""
        return self.within_class or any(map(_is_bound_here, [n for part in parts for n in walk(part)]))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        whole = not self._acts_here(node) and not any(clause.is_async for clause in node.generators)
        self.generic_visit(node)
        if not whole:
            return node
        self.found = True
        self.generators += 1
        names = [f"__weft_{stem}{self.generators}__" for stem in "grx"]
        first = node.generators[0].iter
        return generator_of(node, first, (names[0], names[1], names[2]), _as_it_is, _as_it_is)

    def _visit_call(self, node: ast.Call) -> ast.expr:
        written = [node.func, *node.args, *[keyword.value for keyword in node.keywords]]
        open_ = [n for n in written if self.wide and self._may_be_meant(n)]
        made = super().visit_Call(node)
        node.func = self._asked(node.func, open_)
        node.args = [self._asked(n, open_) for n in node.args]
        for keyword in node.keywords:
            keyword.value = self._asked(keyword.value, open_)
        return made

    def meant_defaults(self, arguments: ast.arguments) -> list[str]:
        """The parameters of which such a function is the default."""
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [*zip(positional[::-1], arguments.defaults[::-1], strict=False)]
        defaults += [*zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        names = [p.arg for p, default in defaults if default is not None and self.means_one(default)]
        self.found |= bool(names)
        return names

    def _may_be_meant(self, node: ast.expr) -> bool:
        return (
            isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and found(node, self.names) is MISSING
        )

    def _asked(self, node: ast.expr, open_: list[ast.expr]) -> ast.expr:
        return self._ask(node, "meant", node) if any(node is n for n in open_) else node

    def _is_compiled(self, node: ast.ClassDef | ast.FunctionDef) -> bool:
        """Whether it is compiled from its text, as it stands."""
        names = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
        written = [inspect.unwrap(one) for name in names if callable(one := found(name, self.names))]
        return any(one is made for one in written for made in (func, kernel, struct))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if self._is_compiled(node):
            return node
        within, self.within_class = self.within_class, True
        self.generic_visit(node)
        self.within_class = within
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self._is_compiled(node):
            return node
        within, self.within_class = self.within_class, False
        self.generic_visit(node)
        self.within_class = within
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.counted.add(node.iter)
        return self.generic_visit(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.AST:
        self.counted.update([clause.iter for clause in node.generators])
        return self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = _comprehension

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        method, whole = (
            ("or_" if isinstance(node.op, ast.Or) else "and_"),
            not self._acts_here(*node.values[1:]),
        )
        self.generic_visit(node)
        if not whole:
            return node
        *others, made = node.values
        for value in reversed(others):
            made = self._ask(node, method, value, thunk(made))
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self._ask(node, "not_", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        whole = not self._acts_here(node.body, node.orelse)
        self.generic_visit(node)
        if not whole:
            return node
        return self._ask(node, "if_exp", node.test, thunk(node.body), thunk(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        whole = len(node.ops) == 1 or not self._acts_here(*node.comparators[1:])
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        if len(node.ops) == 1:
            return self._compare(node, sides[0], sides[1], node.ops[0])
        if not whole:
            return node
        # a < b < c: the middle once, what is behind it only if needed
        low, high = f"{B}_low__", f"{B}_high__"
        rest = place(ast.Compare(var(high), node.ops[1:], node.comparators[1:]), node)
        first = self._compare(node, var(low), var(high), node.ops[0])
        both = self._ask(node, "and_", first, thunk(self.visit_Compare(rest)))
        return place(ast.Call(function_of([low, high], both), sides[:2], []), node)

    def _class(self, node: ast.expr) -> bool:
        """Whether this is the class of a value."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"

    def _compare(self, node: ast.expr, left: ast.expr, right: ast.expr, op: ast.cmpop) -> ast.expr:
        if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            if isinstance(right, ast.Set):  # what exists at run time has no hash
                right = place(tuple_of(right.elts), right)
            method = "is_" if isinstance(op, (ast.Is, ast.IsNot)) else "in_"
            negated = ast.Constant(isinstance(op, (ast.IsNot, ast.NotIn)))
            return self._ask(node, method, left, right, negated)
        if any(self._class(side) or isinstance(side, (ast.Tuple, ast.List)) for side in (left, right)):
            return self._ask(node, "compared", ast.Constant(SYMBOLS[type(op)]), left, right)
        return place(ast.Compare(left, [op], [right]), node)

    def visit_With(self, node: ast.With) -> ast.AST:
        return self._watched(node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        return self._watched(node)

    def _watched(self, node: ast.Try | ast.With) -> ast.AST:
        waited = waits_for(node, self.names)
        self.generic_visit(node)
        if waited:
            kinds = map(ast.Constant, waited)
            within = ast.With([ast.withitem(self._ask(node, "unraised", *kinds))], node.body)
            node.body = [place(within, node.body[0])]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``table[i]``, by an index of run time: what memory of constants has, or a dict for each member."""
        made = super().visit_Subscript(node)
        known = isinstance(node.slice, (ast.Constant, ast.Slice)) or has(walk(node.slice), ast.Slice)
        if made is not node or known or not isinstance(node.ctx, ast.Load) or asks_by_key(node):
            return made
        return self._ask(node, "index", node.value, node.slice)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        if any(
            c is None or (isinstance(c, ast.Name) and c.id in ("Exception", "BaseException")) for c in caught
        ):
            again = ast.Expr(self._ask(node, "caught"))
            node.body.insert(0, place(again, node.body[0]))
        return node

    def visit_MatchSingleton(self, node: Any) -> Any:
        if node.value is None:
            return node
        self.found = True
        return place(ast.MatchValue(b_attribute(str(node.value).lower())), node)

    def visit_MatchClass(self, node: Any) -> Any:
        """``case np.floating()``, which a number of weft's is to ``isinstance``."""
        self.generic_visit(node)
        kind = found(node.cls, self.names)
        numpys: dict[str, Any] = vars(sys.modules["numpy"]) if "numpy" in sys.modules else {}
        if (
            isinstance(kind, type) and numpys.get(kind.__name__) is kind
        ):  # without what NumPy warns of: np.str
            self.found = True
            node.cls = place(ast.Attribute(b_attribute("numpys"), kind.__name__, ast.Load()), node.cls)
        return node


class _Asked(type):
    """The class of a class of NumPy's in a pattern."""

    def __instancecheck__(cls, value: object) -> bool:
        of, b = cast("Any", cls).of, cast("Any", maybe_current())
        return isinstance(value, of) if b is None else b.py_isinstance(value, of)


class _NumPys:
    """NumPy's classes in patterns, by their names."""

    @functools.cache  # noqa: B019  (there is one)
    def __getattr__(self, name: str) -> type[Any]:
        kind = getattr(sys.modules["numpy"], name)
        return _Asked(name, (), {"of": kind, "__match_args__": getattr(kind, "__match_args__", ())})


class _Truth:
    """``True`` or ``False`` in a pattern, which Python compares by ``is``."""

    __weft_compares__ = True
    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, value: bool) -> None:
        self.value = value

    def __eq__(self, other: object) -> Any:
        return _asker.is_(other, self.value, False)


class _Plain:
    """What helpers get whom another thread calls meanwhile: Python's own."""

    not_ = staticmethod(operator.not_)

    @staticmethod
    def and_(first: Any, thunk: Callable[[], Any]) -> Any:
        return first and thunk()

    @staticmethod
    def or_(first: Any, thunk: Callable[[], Any]) -> Any:
        return first or thunk()

    @staticmethod
    def if_exp(test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        return true() if test else false()

    @staticmethod
    def is_(a: object, c: object, negated: bool) -> bool:
        return (a is c) is not negated

    @staticmethod
    def in_(a: object, items: Any, negated: bool) -> bool:
        return (a in items) is not negated

    @staticmethod
    def by_key(table: Any) -> Any:
        return table

    @staticmethod
    def index(held: Any, at: Any) -> Any:
        return held[at]

    name_of = staticmethod(getattr)

    @staticmethod
    def generator(items: Any, make: Callable[[Any, Any], Any], _: bool) -> Any:
        return make(_Plain, items)

    @staticmethod
    def loop(items: Any) -> Any:
        return items

    @staticmethod
    def when(condition: Any) -> tuple[bool, ...]:
        return (True,) if condition else ()

    @staticmethod
    def compared(op: str, a: object, c: object) -> Any:
        return COMPARISONS[op](a, c)


_PLAIN = _Plain()


class _Counted(Range):
    """A range of run time, over which a generator may run; all else asks for its numbers."""

    def known(self) -> range:
        return range(*map(operator.index, (self.start, self.stop, self.step)))


def _drawn_by(name: str, items: tuple[Any, ...]) -> Callable[..., Any]:
    """What makes an iterator of items: one of the device's where only run time knows how many there are."""
    b: Any = maybe_current()
    drawn = [items_of(one) for one in items if b is not None and on_device(one)]
    late = any(one is not None and is_open(one.length) for one in drawn)
    return getattr(b, f"py_{name}") if late else getattr(builtins, name)


class _Asker:
    """What helpers ask: the builder at hand."""

    true, false, numpys = _Truth(True), _Truth(False), _NumPys()

    def __getattr__(self, name: str) -> Any:
        return getattr(maybe_current() or _PLAIN, name)

    def meant(self, value: Any) -> Any:
        """What asks in the place of Python's own functions."""
        return value if maybe_current() is None else meant(self, value)

    @staticmethod
    def py_print(*args: Any, **kwargs: Any) -> None:
        """``print``: in the kernel what it knows only at run time, all else now."""
        show = cast(
            "Callable[..., None]", kernel_print if maybe_current() and any(map(late, args)) else print
        )
        show(*args, **kwargs)

    @staticmethod
    def py_range(*args: Any) -> Any:
        """``range``: Python's, unless only run time knows an end of it."""
        return _Counted(*args) if maybe_current() and any(map(is_open, args)) else range(*args)

    @staticmethod
    def py_enumerate(items: Any, *args: Any, **kwargs: Any) -> Any:
        """``enumerate``: likewise."""
        return _drawn_by("enumerate", (items,))(items, *args, **kwargs)

    @staticmethod
    def py_reversed(items: Any) -> Any:
        """``reversed``: likewise."""
        return _drawn_by("reversed", (items,))(items)

    @staticmethod
    def py_zip(*items: Any, **kwargs: Any) -> Any:
        """``zip``: likewise."""
        return _drawn_by("zip", items)(*items, **kwargs)

    unraised = staticmethod(unraised)

    @staticmethod
    def caught() -> None:
        """``except Exception``: a refusal is none of the program's errors."""
        error = sys.exc_info()[1]
        if isinstance(error, WeftError) and maybe_current() is not None:
            raise error


_asker = _Asker()


def _unread(fn: FunctionType) -> Callable[[Iterable[object]], None] | None:
    return functools.partial(_check_given, fn.__qualname__) if _identity.in_text_of(fn) else None


def _check_given(name: str, given: Iterable[object]) -> None:
    """Refuse to give what exists only at run time to a function that goes by what objects are."""
    if any(map(late, given)):
        refuse(
            "operand",
            f"{name} asks by `is` or `type` what an object is, and gets one that stands for a run-time value",
            notes=("weft rewrites that in helpers whose text it finds",),
            hint="define it in a file or a notebook cell, not through exec or eval; or compare by ==",
        )


def _goes_by_objects(value: Any) -> bool:
    """Whether a value looks at what objects are, as ``typing.Union`` does in ``isinstance`` (``|`` asks)."""
    if any(value is one for one in (typing.Union, typing.Optional)):
        return True
    return getattr(value, "__origin__", None) is typing.Union or is_meant(value, BY_IDENTITY)


_identity = Identity(_names, _goes_by_objects, BY_TEXT)
_asking = Rewriting(_rewrite, {_ASKER: _asker}, _unread)


def written_definition(helper: FunctionType) -> Definition:
    """A helper as a definition, by its text also while it runs by other code."""
    return definition_of(_asking.as_written(helper))
