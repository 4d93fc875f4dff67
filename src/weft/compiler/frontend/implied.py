"""Calls that a text does not spell: operators, items and properties of structs that run a method.

``a + b`` may run a method that gives ``a`` back, or a struct that holds ``b`` twice. The names of all such
methods of the program's structs are collected first (``look_at_structs``), so that a text in which none of
them occurs, as arithmetic of numbers, is not looked into.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType
from typing import Any, cast
from weakref import WeakSet

from weft.compiler.frontend.helpers import written_definition
from weft.compiler.frontend.meaning import meaning
from weft.compiler.frontend.tree import walk
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import CompileError, is_internal
from weft.lang.number import Number
from weft.lang.structs import declared_structs, is_struct, struct_fields

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_OTHERS = frozenset(("__abs__", "__round__", "__divmod__", "__rdivmod__", "__call__", "__getitem__"))
_BINARY = [word for kind, word in _OPERATORS.items() if issubclass(kind, ast.operator)]
_NAMES = _OTHERS.union(
    [f"__{word}__" for word in _OPERATORS.values()],
    [f"__{letter}{word}__" for letter in "ri" for word in _BINARY],
)


def by_identity(*functions: Any) -> frozenset[int]:
    """Functions to look for by ``id``: what is called may be a value, whose parts a hash would ask for."""
    return frozenset(map(id, functions))


_RUNNING = by_identity(abs, divmod, pow, round, sum, *filter(inspect.isbuiltin, vars(operator).values()))
"""Functions of Python that run operators."""
_looked_at: WeakSet[type[Any]] = WeakSet()
_giving: set[str] = set()


def asked(node: ast.AST) -> tuple[str, ...]:
    """The names of the methods that an expression or an augmented assignment may run."""
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    if isinstance(node, ast.Subscript):
        return ("__getitem__",)
    if isinstance(node, ast.UnaryOp):
        return (f"__{_OPERATORS.get(type(node.op), 'bool')}__",)
    if isinstance(node, ast.Compare):
        return tuple(f"__{_OPERATORS.get(type(op), 'contains')}__" for op in node.ops)
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        word = _OPERATORS[type(node.op)]
        both = f"__{word}__", f"__r{word}__"
        return (*both, f"__i{word}__") if isinstance(node, ast.AugAssign) else both
    return ()


def operands(node: ast.AST) -> list[ast.expr]:
    """The operands of an operator, an item or an attribute, in the order of the method's parameters."""
    if isinstance(node, (ast.BinOp,)):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    return [node.value] if isinstance(node, ast.Attribute) else []


def look_at_structs() -> frozenset[str]:
    """Names of methods and properties of the program's structs that may give back what they are given."""
    fresh = [cls for cls in declared_structs() if cls not in _looked_at]
    found = [(name, definition) for cls in fresh for name, definition in _methods(cls)]
    _looked_at.update(fresh)
    before = -1
    while found and before != len(_giving):
        before = len(_giving)
        _giving.update(name for name, definition in found if _may_give_back(definition))
    return frozenset(_giving)


def is_implied(node: ast.AST) -> bool:
    """Whether an expression may run a method that gives back what it is given."""
    return not _giving.isdisjoint(asked(node))


def runs_operators(callee: object) -> bool:
    """Whether a function of Python's runs operators of what it is given."""
    return id(callee) in _RUNNING


def methods_of(node: ast.AST, classes: Iterable[Any], fn: Definition) -> list[Definition]:
    """The methods that an expression may run, of the classes of its operands.

    If a class is not known, it may be any struct of the modules that the function's names lead to.
    """
    names, every = asked(node) or tuple(_giving), set(classes)
    found: list[Any] = [cls for cls in every if is_struct(cls)]
    if not every or MISSING in every:
        around = {**fn.scope.globals, **fn.scope.captured()}.values()
        near = {
            fn.module,
            *(getattr(held, "__module__", None) or getattr(held, "__name__", "") for held in around),
        }
        near.update(cls.__module__ for cls in found)
        found = [cls for cls in declared_structs() if cls.__module__ in near]
    return [definition for cls in found for _, definition in _methods(cls, names)]


def class_of_operand(node: ast.expr, frame: FrameType | None, fn: Definition) -> Any:
    """The class of what an expression gives, as far as names and fields tell; else MISSING."""
    if isinstance(node, ast.Constant):
        return type(node.value)
    if isinstance(node, ast.Attribute):
        owner = class_of_operand(node.value, frame, fn)
        found = struct_fields(owner).get(node.attr, MISSING) if is_struct(owner) else MISSING
        return found if isinstance(found, type) else MISSING
    if isinstance(node, ast.Call):
        made = meaning(node.func, frame, fn)
        if isinstance(made, type):
            return MISSING if is_variable(node.func, frame) else made
        result = getattr(getattr(made, "definition", None), "result", MISSING)
        return result if isinstance(result, type) else MISSING
    if isinstance(node, ast.Name):
        found = meaning(node, frame, fn)
        if found is MISSING:
            return _annotated(node.id, fn)
        if isinstance(found, type) and is_variable(node, frame):
            return found
        return cast("type[Any]", type(found))  # of a class its own, which no struct is
    kinds = {class_of_operand(part, frame, fn) for part in operands(node)}
    if MISSING not in kinds and any(map(is_struct, kinds)):
        results = {method.result for method in methods_of(node, kinds, fn)}
        result = results.pop() if len(results) == 1 else MISSING
        return result if isinstance(result, type) else MISSING
    numbers = bool(kinds) and all(isinstance(k, type) and issubclass(k, (Number, int, float)) for k in kinds)
    return Number if numbers else MISSING


def _annotated(name: str, fn: Definition) -> Any:
    """The class of which a parameter is; MISSING if it has no annotation and is no method's ``self``."""
    if name not in fn.names():
        return MISSING
    place = fn.names().index(name)
    try:
        kind: Any = fn.parameters()[place].annotation
    except CompileError:  # a helper that takes names of any kind
        return MISSING
    if place == 0 and name == "self" and fn.qualname.count("."):
        names = {**fn.scope.globals, **fn.scope.captured()}
        kind = names.get(fn.qualname.split(".")[-2], MISSING)
    return kind if isinstance(kind, type) else MISSING


def is_variable(node: ast.expr, frame: FrameType | None) -> bool:
    """Whether a name is a variable of run time here, and no class."""
    return (
        isinstance(node, ast.Name)
        and frame is not None
        and not isinstance(frame.f_locals.get(node.id, type), type)
    )


def _methods(cls: type[Any], names: Iterable[str] | None = None) -> Iterator[tuple[str, Definition]]:
    """The methods and properties of a class that operators and attributes run; ``names``: only these."""
    for owner in cls.__mro__:
        held = vars(owner)
        for name in tuple(held) if names is None else names:
            item = held.get(name)
            getter = item.fget if isinstance(item, property) else item if name in _NAMES else None
            found = written_definition(getter) if isinstance(getter, FunctionType) else None
            found = found or getattr(getter, "definition", None)
            if isinstance(found, Definition) and not is_internal(found.file):
                yield name, found


def _may_give_back(definition: Definition) -> bool:
    try:
        body = definition.body()
    except CompileError:  # its source is not known
        return True
    if _is_number(definition.result):
        return False
    returned = [node.value for node in walk(body) if isinstance(node, ast.Return) and node.value is not None]
    return any(not _is_new(value, definition) for value in returned)


def _is_new(value: ast.expr, definition: Definition) -> bool:
    """Whether an expression gives a number, or a new struct of nothing but numbers."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return not is_implied(value)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        names = {**definition.scope.globals, **definition.scope.captured()}
        cls = names.get(value.func.id)
        return isinstance(cls, type) and (
            _is_number(cls) or (is_struct(cls) and all(map(_is_number, struct_fields(cls).values())))
        )
    return False


def _is_number(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Number) and annotation.lanes == 1
