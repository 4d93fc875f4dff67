"""Functions of Python's own that would answer for a run-time value without asking it, by whatever name.

``operator.is_`` looks at the object that stands for a number, as ``is`` does; ``any`` and ``max`` want to
know values. A name or an attribute that means one of them, or a partial, a list, a tuple or a dict that
has one in it, becomes ``b.meant(...)``, which gives what asks the builder in its place.
"""

from __future__ import annotations

import ast
import builtins
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from types import BuiltinFunctionType, MethodType
from typing import Any, cast

from weft.compiler.frontend.hostcalls import Names, found
from weft.compiler.frontend.names import NUMPYS_OF_OBJECTS
from weft.compiler.frontend.tree import b_call, place
from weft.diagnostics import VALUE, refuse
from weft.lang.as_python import check_classes, stands_for

_NAMES = ("isinstance", "issubclass", "min", "max", "any", "all", "sum", "round")
_MEANT: dict[Any, Callable[[Any], Any]] = {  # as methods, since attributes of classes do not bind these again
    operator.is_: lambda b: MethodType(_is, b),
    operator.is_not: lambda b: MethodType(_is_not, b),
    operator.contains: lambda b: MethodType(_contains, b),
    operator.not_: lambda b: b.not_,
    operator.truth: lambda b: b.truth,
    id: lambda b: MethodType(_id, b),
    print: lambda b: b.py_print,
    **{getattr(builtins, name): operator.methodcaller("asked", name) for name in _NAMES},
}
BY_IDENTITY = frozenset((operator.is_, operator.is_not, id))
"""Those that answer; the others refuse, at least."""
BY_TEXT = frozenset(fn.__name__ for fn in BY_IDENTITY)
_NAMES_OF = ("__qualname__", "__module__")
_PYTHONS = (bool, int, float)
_BY_KEY = ("get", "pop", "setdefault")
_MOST = 64
"""Items of what is looked into."""


def _is(b: Any, first: object, second: object) -> Any:
    return b.is_(first, second, False)


def _is_not(b: Any, first: object, second: object) -> Any:
    return b.is_(first, second, True)


def _contains(b: Any, items: object, value: object) -> Any:
    return b.in_(value, items, False)


def _id(b: Any, value: Any) -> int:
    if b.is_late(value):
        hint = "compare the values themselves"
        refuse("host-only", f"`id` is of Python's objects, and `{VALUE}` exists only at run time", hint=hint)
    return id(value)


_HOLDERS = (functools.partial, list, tuple, dict)


def _of_numpy(value: Any) -> str:
    """What to write instead of a function of NumPy's that gives objects back, or zeros, without a word."""
    if not callable(value):
        return ""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    return NUMPYS_OF_OBJECTS.get(name, "") if module == "numpy" and isinstance(name, str) else ""


def _of_objects(b: Any, function: Any, hint: str, *args: Any, **named: Any) -> Any:
    for value in (*args, *named.values()):
        items: Any = value.ravel().tolist() if getattr(value, "dtype", None) == "object" else value
        if b.is_late(items):
            message = f"`np.{function.__name__}` knows no run-time number, and gives it back"
            refuse("not-compile-time", message, hint=hint)
    return function(*args, **named)


def is_meant(value: Any, of: Iterable[Any] = _MEANT) -> bool:
    """Whether a value is such a function, or has one in it."""
    kind = cast("type[Any]", type(value))
    if kind is BuiltinFunctionType:
        return value in of
    if of is _MEANT and _of_numpy(value):
        return True
    return kind in _HOLDERS and any(is_meant(part, of) for part in _parts(kind, value))


def _parts(kind: type[Any], value: Any) -> Sequence[Any]:
    if kind is functools.partial:
        return (value.func, *value.args, *value.keywords.values())
    if len(value) > _MOST:
        return ()
    return [*value.values()] if kind is dict else value


def meant(b: Any, value: Any) -> Any:
    """The value with what asks the builder in the place of such functions."""
    kind = cast("type[Any]", type(value))
    if not is_meant(value):
        return value
    if kind is BuiltinFunctionType:
        return _MEANT[value](b)
    if text := _of_numpy(value):
        return functools.partial(_of_objects, b, value, text)
    if kind is dict:
        return {key: meant(b, item) for key, item in value.items()}
    if kind is functools.partial:
        given = {name: meant(b, item) for name, item in value.keywords.items()}
        return functools.partial(meant(b, value.func), *[meant(b, item) for item in value.args], **given)
    return kind([meant(b, item) for item in value])


class _ByKey:
    """A dict that is asked by a key, which may be the class of a number."""

    def __init__(self, table: dict[Any, Any]) -> None:
        self.table = table

    def __getattr__(self, name: str) -> Any:
        ask = getattr(self.table, name)

        def asked(key: Any, *default: Any) -> Any:
            self.check(key)
            return ask(key, *default)

        return asked if name in _BY_KEY else ask

    def __getitem__(self, key: Any) -> Any:
        self.check(key)
        return self.table[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.table[key] = value

    def check(self, key: Any) -> None:
        """Refuse the class of a number where the table has Python's."""
        if stands_for(key) is not None:
            for known in self.table:
                check_classes(key, known)


def by_key(value: Any) -> Any:
    """A table as it is asked by a key."""
    table = cast("dict[Any, Any]", value)
    return _ByKey(table) if isinstance(value, dict) and any(cls in table for cls in _PYTHONS) else table


_CONCERNED = (ast.Attribute, ast.Call, ast.Subscript)
"""Beside names."""


class ByValue(ast.NodeTransformer):
    """Has all such functions ask the builder that a text names; ``names`` says what these mean."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.found = False

    def concerns(self, nodes: Sequence[ast.AST]) -> bool:
        """Whether any of these nodes is to become another."""
        names = [cast("ast.Name", node) for node in nodes if node.__class__ is ast.Name]
        if any(is_meant(self.names(name)) for name in {n.id for n in names if n.ctx.__class__ is ast.Load}):
            return True
        others = [node for node in nodes if node.__class__ in _CONCERNED]
        return any(asks_by_key(node) or _names_class(node) or self.means_one(node) for node in others)

    def means_one(self, node: ast.AST) -> bool:
        """Whether a node stands for such a function."""
        if isinstance(node, ast.Call):
            return _is_by_text(node.func)
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            return False
        return is_meant(found(node, self.names))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name."""
        return self._meant(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """An attribute of what names stand for, or of anything."""
        if _names_class(node):
            self.generic_visit(node)
            self.found = True
            return place(b_call("name_of", node.value, ast.Constant(node.attr)), node)
        made = self._meant(node)
        if made is node:
            self.generic_visit(node)
        return made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call: of what ``getattr`` finds, say."""
        self.generic_visit(node)
        if self.means_one(node):
            node.func, self.found = place(b_call("meant", node.func), node.func), True
        if asks_by_key(node):
            held = cast("ast.Attribute", node.func)
            held.value, self.found = place(b_call("by_key", held.value), held.value), True
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``table[type(x)]``: what has a class as its key."""
        self.generic_visit(node)
        if asks_by_key(node):
            node.value, self.found = place(b_call("by_key", node.value), node.value), True
        return node

    def _meant(self, node: ast.Name | ast.Attribute) -> ast.expr:
        if not self.means_one(node):
            return node
        self.found = True
        return place(b_call("meant", node), node)


def asks_by_key(node: ast.AST) -> bool:
    """Whether this asks a dict by what may be a class: ``table.get(key)``, ``table[type(x)]``."""
    if isinstance(node, ast.Subscript):
        key = node.slice
        return isinstance(key, ast.Call) and isinstance(key.func, ast.Name) and key.func.id == "type"
    if not isinstance(node, ast.Call) or not node.args:
        return False
    return isinstance(node.func, ast.Attribute) and node.func.attr in _BY_KEY


def _names_class(node: ast.AST) -> bool:
    """Whether this is what a class says of itself."""
    return isinstance(node, ast.Attribute) and node.attr in _NAMES_OF and isinstance(node.ctx, ast.Load)


def _is_by_text(node: ast.expr) -> bool:
    """Whether a text names a function: ``getattr(m, "f")``, ``vars(m)["f"]``, ``m.__dict__["f"]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("getattr", "vars")
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"
