"""Which names are of one object where a function runs, and what calls give back of what they are given.

``aliases`` has the ways in which names may be of one object, by the text alone. Whether they are depends on
the calls on the way: ``copy.copy`` makes another object, a function may return its argument. That is asked of
the text of what is called, for objects of one class.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from types import FrameType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any, NamedTuple, cast

from weft.compiler.frontend.aliases import MADE, PLACED, Aliases, At, Pair, Settling, Source, TooMany
from weft.compiler.frontend.helpers import written_definition
from weft.compiler.frontend.holding import has_no_parts, has_no_parts_of, holds, may_hold, seen
from weft.compiler.frontend.implied import (
    by_identity,
    class_of_operand,
    is_variable,
    look_at_structs,
    methods_of,
    operands,
    runs_operators,
)
from weft.compiler.frontend.meaning import class_of_variable, meaning
from weft.compiler.frontend.tree import B, assigned_each, root_of, stored_in, walk
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import CompileError, is_internal
from weft.lang.decorators import Compiled
from weft.lang.number import Number
from weft.lang.structs import is_struct, struct_fields, takes_fields

_ANEW = by_identity(list, tuple, dict, set, sorted, zip, enumerate, reversed, map, filter, iter)
"""What makes a new object that holds parts of those it is given."""
_COPIED = by_identity(copy.copy, dataclasses.replace)
"""What makes a new object that holds the parts of the one that it is given first."""
_SAME = by_identity(min, max, getattr, next, operator.getitem, functools.reduce)
"""What gives one of those that it is given, or a part of it."""
_NO_VALUES = (type, FunctionType, ModuleType, Compiled)
_DEEPEST = 8


class _Asked(NamedTuple):
    """How deep in calls of calls a question is asked, and what was found on the way to it."""

    deep: int
    found: dict[tuple[object, ...], bool]

    def once(self, answer: Callable[..., bool], *given: object) -> bool:
        """What is answered at this depth, without a second look: functions call each other in many ways."""
        key = self.deep, answer, *given
        if key not in self.found:
            self.found[key] = answer(*given, self)
        return self.found[key]

    def further(self) -> _Asked:
        return self._replace(deep=self.deep + 1)


def _first() -> _Asked:
    return _Asked(0, {})


def shares(
    call: ast.AST,
    frame: FrameType | None,
    fn: Definition,
    kind: type[Any],
    at: int | str | None = None,
    so_far: _Asked | None = None,
) -> bool:
    """Whether a call may give an object of a class that it was given, or that is within what it was given.

    ``at`` says as which argument that was, by number or keyword; None is any of them. ``PLACED`` says that it
    is no call but an expression, of which it may be a part.
    """
    so_far = so_far or _first()
    if at == PLACED:
        return _may_be(cast("ast.expr", call), frame, fn, kind)
    if not isinstance(call, ast.Call):
        return any(so_far.once(_gives_back, m, kind, None) for m in _implied_by(call, frame, fn))
    if isinstance(call.func, ast.Attribute) and call.func.attr == "matched" and root_of(call.func) == B:
        return True  # what a pattern captures
    callee = _callee(call, frame, fn)
    if isinstance(callee, type):
        return may_hold(callee, kind, _field(call, callee, at))
    if callee is copy.deepcopy:
        return False
    if id(callee) in _COPIED and call.args:
        copied = [class_of_operand(arm, frame, fn) for arm in _arms(call.args[0])]
        return any(of is MISSING or may_hold(of, kind) for of in copied)
    if id(callee) in _ANEW:
        return True
    if id(callee) in _SAME or callee is MISSING or so_far.deep > _DEEPEST:
        return True
    if runs_operators(callee):
        return any(so_far.once(_gives_back, m, kind, None) for m in _implied_by(call, frame, fn))
    if isinstance(callee, MethodDescriptorType):  # as those of lists
        return True
    definition = _written(callee)
    if definition is None:
        return hasattr(callee, "captures")  # a lambda
    return so_far.once(_gives_back, definition, kind, _parameter(call, definition, at))


def _written(callee: object) -> Definition | None:
    """What a call runs that has a definition: a function, or the method of an object that is called."""
    if isinstance(callee, FunctionType):
        return written_definition(callee)
    definition: object = getattr(callee, "definition", None)
    if definition is None and not isinstance(callee, type) and not hasattr(callee, "captures"):
        method: object = getattr(type(callee), "__call__", None)  # noqa: B004
        if isinstance(method, FunctionType):
            return written_definition(method)
        definition = getattr(method, "definition", None)
    return definition if isinstance(definition, Definition) else None


def _may_be(node: ast.expr, frame: FrameType | None, fn: Definition, kind: type[Any]) -> bool:
    """Whether what an expression gives may be of a class, or hold what is: so may then what it is made of."""
    of = class_of_operand(node, frame, fn)
    if of is not MISSING:
        cls = cast("type[Any]", of)
        if issubclass(cls, _NO_VALUES):
            return False
        return issubclass(kind, cls) if issubclass(cls, Number) else cls is kind or may_hold(cls, kind)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        owner = class_of_operand(node.value, frame, fn)
        return owner is MISSING or bool(methods_of(node, [owner], fn)) or may_hold(owner, kind)
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        parts = operands(node)
    elif isinstance(node, ast.Call) and _callee(node, frame, fn) is not MISSING:
        parts = [*node.args, *[keyword.value for keyword in node.keywords]]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # a method
        parts = [*node.args, *[keyword.value for keyword in node.keywords], node.func.value]
    else:
        return True
    return any(_may_be(part, frame, fn, kind) for part in parts)


def _parameter(call: ast.Call, callee: Definition, at: int | str | None) -> str | None:
    """The parameter that an argument is given to; None where that is not known."""
    names = callee.names()
    if names[:1] == ("self",) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    if isinstance(at, int):
        return names[at] if at < len(names) else None
    return at


def _gives_back(definition: Definition, kind: type[Any], parameter: str | None, so_far: _Asked) -> bool:
    """Whether a function may return an object of a class that it was given, or what holds it.

    ``parameter`` is the one that was given it; None is any of them.
    """
    if is_internal(definition.file):
        return False
    try:
        aliases = aliases_of(definition)
    except CompileError:  # its source is not known
        return True
    if aliases is None:
        return True
    returned = aliases.returned
    around = definition.scope.captured() | definition.scope.globals
    own = definition.names()
    held = [
        calls
        for name, calls in returned
        if (parameter in (None, name) if name in own else not isinstance(around.get(name), _NO_VALUES))
    ]
    further = so_far.further()
    return so_far.deep > _DEEPEST or any(
        all(shares(step.call, None, definition, kind, step.at, further) for step in calls) for calls in held
    )


def is_copy(call: ast.AST, frame: FrameType | None, fn: Definition) -> bool:
    """Whether a call makes a new object with the parts of another."""
    return isinstance(call, ast.Call) and id(_callee(call, frame, fn)) in _COPIED


def _callee(call: ast.Call, frame: FrameType | None, fn: Definition) -> Any:
    """What a call runs; of an object of a struct its ``__call__``."""
    found = meaning(call.func, frame, fn)
    cls = cast("type[Any]", type(found))
    if isinstance(found, type) and is_variable(call.func, frame):
        cls = cast("type[Any]", found)
    return inspect.getattr_static(cls, "__call__", MISSING) if is_struct(cls) else found


def _implied_by(node: ast.AST, frame: FrameType | None, fn: Definition) -> list[Definition]:
    """The methods that an operator, an item, an attribute or a function of Python's may run."""
    given = node.args if isinstance(node, ast.Call) else operands(node)
    return methods_of(node, [class_of_operand(part, frame, fn) for part in given], fn)


def _arms(node: ast.expr) -> list[ast.expr]:
    """What an expression may give: of a choice each of both."""
    return [*_arms(node.body), *_arms(node.orelse)] if isinstance(node, ast.IfExp) else [node]


def gives_twice(
    calls: list[ast.AST],
    frame: FrameType | None,
    fn: Definition,
    kind: type[Any],
    so_far: _Asked | None = None,
) -> bool:
    """Whether the last of these calls may give what holds an object of a class in two places.

    The others are around it, and have to give what they are given.
    """
    *around, call = calls
    so_far = so_far or _first()
    if not isinstance(call, ast.Call):
        made_by = _implied_by(call, frame, fn)
    else:
        callee = _callee(call, frame, fn)
        if id(callee) in _COPIED or callee is copy.deepcopy:  # Python's own, which give each part one place
            return False
        if runs_operators(callee):
            made_by = _implied_by(call, frame, fn)
        else:
            made_by = [_written(callee)]
    if so_far.deep > _DEEPEST or not all(shares(o, frame, fn, kind, so_far=so_far) for o in around):
        return False
    return any(so_far.once(_makes_twice, definition, kind) for definition in made_by)


def _makes_twice(definition: Definition | None, kind: type[Any], so_far: _Asked) -> bool:
    """Whether what a function returns may hold an object of a class in two places."""
    if not isinstance(definition, Definition) or is_internal(definition.file):
        return False
    try:
        aliases = aliases_of(definition)
    except CompileError:  # its source is not known
        return False
    if aliases is None:
        return True
    further = so_far.further()
    for steps in aliases.twice:
        if all(shares(step.call, None, definition, kind, step.at, further) for step in steps):
            return True
    made = ([step.call for step in steps] for steps in aliases.made)
    return any(gives_twice(inner, None, definition, kind, further) for inner in made)


def _field(call: ast.Call, cls: type[Any], at: int | str | None) -> str | None:
    """The field that an argument of a struct's constructor becomes; None where that is not known."""
    if not is_struct(cls) or not takes_fields(cls) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    names = list(struct_fields(cls))
    if isinstance(at, int):
        return names[at] if at < len(names) else None
    return at if at in names else None


# -- names of one object, by what calls give back --------------------------------------------------
def others(
    at: At, name: str, kind: type[Any], frame: FrameType, fn: Definition, field: str = ""
) -> Iterable[str]:
    """The names, read again or the caller's, that may be of an object of a class that one is of.

    ``field``: within that of the one's.
    """
    within = name not in frame.f_locals or holds(frame.f_locals[name], kind, strictly=True)
    for pair in at.pairs:
        if pair.one != name:
            continue
        if pair.other in (MADE, name):  # two parts of it may be that, if a part is of the class at all
            if within and _is_twice(pair, kind, frame, fn):
                yield name
        elif (pair.other in at.read or pair.other[0] == "<") and _is_shared(pair, kind, frame, fn, field):
            yield pair.other


def _is_twice(pair: Pair, kind: type[Any], frame: FrameType, fn: Definition) -> bool:
    """Whether an object of a class may lie in two places of what a name stands for."""
    if pair.other == MADE:
        return not pair.calls or gives_twice([step.call for step in pair.calls], frame, fn, kind)
    if pair.inside[1] and not holds(frame.f_locals.get(pair.by), kind, strictly=True):
        return False
    return all(shares(step.call, frame, fn, kind, at=step.at) for step in pair.calls)


def _is_shared(pair: Pair, kind: type[Any], frame: FrameType, fn: Definition, field: str) -> bool:
    """Whether two names may be of one object of a class, within this field of the first if one is said."""
    one = frame.f_locals.get(pair.one)
    if pair.by and not holds(seen(pair.by, frame, fn), kind):
        return False
    if pair.inside[0] and not holds(one, kind, strictly=True):
        return False
    method = isinstance(one, functools.partial)  # which holds the object
    if pair.inside[1] and not holds(frame.f_locals.get(pair.other), kind, strictly=not method):
        return False
    if (field and _lies_elsewhere(pair, field, frame, fn)) or _is_copied(pair, kind, frame, fn):
        return False
    return all(shares(step.call, frame, fn, kind, at=step.at) for step in pair.calls)


def _is_copied(pair: Pair, kind: type[Any], frame: FrameType, fn: Definition) -> bool:
    """Whether the one was made as a copy of what is the other's, and no part of it is of this class."""
    if not pair.calls or not pair.made or pair.inside[pair.made == pair.other]:
        return False
    copied = is_copy(pair.calls[0].call, frame, fn)
    return copied and not holds(frame.f_locals.get(pair.made), kind, strictly=True)


def _lies_elsewhere(pair: Pair, field: str, frame: FrameType, fn: Definition) -> bool:
    """Whether the one is a struct that was made with the other in another field than this."""
    if len(pair.calls) != 1 or pair.inside[0]:
        return False
    (call, at), cls = pair.calls[0], class_of_variable(frame.f_locals.get(pair.one))
    if not is_struct(cls) or not takes_fields(cls) or not isinstance(call, ast.Call):
        return False
    if meaning(call.func, frame, fn) is not cls or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    return field != (list(struct_fields(cls))[at] if isinstance(at, int) else at)


@functools.lru_cache(maxsize=1024)
def _aliases(fn: Definition, _: object, kernel: bool, __: frozenset[str]) -> Aliases | None:
    try:
        return Aliases(fn.body(), kernel)
    except TooMany:
        return None


def aliases_of(fn: Definition, kernel: bool = False) -> Aliases | None:
    """What a function's text says of names of one object; None where that is too much to follow."""
    return _aliases(fn, fn.version, kernel, look_at_structs())


def aliases_at(fn: Definition, kernel: bool, frame: FrameType, kinds: Iterable[type[Any]]) -> Aliases:
    """What it says of objects of some classes, where the function runs."""
    found = aliases_of(fn, kernel)
    return found or Aliases(fn.body(), kernel, _numbers_of(fn, frame), _settling(fn, frame, tuple(kinds)))


def _settling(fn: Definition, frame: FrameType, kinds: Sequence[type[Any]]) -> Settling:
    own = {*frame.f_locals, *_assigned_in(fn)}

    @functools.cache
    def settle(source: Source) -> Source | None:
        if source.name not in own and source.name != MADE:  # a function, a module
            value = seen(source.name, frame, fn)
            if value is not None and not any(holds(value, kind) for kind in kinds):
                return None
        if source.name == MADE:
            calls = [step.call for step in source.calls]
            twice = any(gives_twice(calls, frame, fn, kind) for kind in kinds)
            return source._replace(calls=()) if twice else None
        for step in source.calls:
            if not any(shares(step.call, frame, fn, kind, at=step.at) for kind in kinds):
                return None
            if is_copy(step.call, frame, fn):
                source = source._replace(inner=True)
        first = source.calls[0].call if len(source.calls) == 1 else None
        made = isinstance(first, ast.Call) and is_struct(meaning(first.func, frame, fn))
        return source if made else source._replace(calls=())

    return settle


# -- variables that stand for numbers, which nobody shares -----------------------------------------
def _numbers_of(fn: Definition, frame: FrameType) -> frozenset[str]:
    """The variables of a function that stand for numbers and addresses, whatever they have been assigned."""
    numbers = {name for name, value in frame.f_locals.items() if has_no_parts(value)}
    before = len(numbers) + 1
    given = _given(fn, fn.version)
    while len(numbers) < before:
        before = len(numbers)
        numbers -= {
            name
            for target, value in given
            for name in stored_in(target)
            if not _is_number(value, numbers, frame, fn)
        }
    return frozenset(numbers)


def _assigned_in(fn: Definition) -> set[str]:
    """The names that a function assigns."""
    return {name for target, _ in _given(fn, fn.version) for name in stored_in(target)}


def _is_number(node: ast.expr, numbers: set[str], frame: FrameType, fn: Definition) -> bool:
    """Whether an expression gives a number, if these variables are."""
    if isinstance(node, ast.Name) and node.id in frame.f_locals:
        return node.id in numbers
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.NamedExpr)):
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):  # an element of memory
        return node.value.id in numbers
    else:
        cls = class_of_operand(node, frame, fn)
        return isinstance(cls, type) and has_no_parts_of(cls)
    return all(_is_number(part, numbers, frame, fn) for part in parts)


@functools.lru_cache(maxsize=64)
def _given(fn: Definition, _: object) -> list[tuple[ast.expr, ast.expr]]:
    """What a function assigns, each with what it is assigned."""
    out: list[tuple[ast.expr, ast.expr]] = []
    for node in walk(fn.body()):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                out += assigned_each(target, node.value)
        elif isinstance(node, (ast.NamedExpr, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            out.append((node.target, node.value))
        elif isinstance(node, (ast.For, ast.comprehension)):
            out.append((node.target, node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            out.append((node.optional_vars, node.context_expr))
    return out
