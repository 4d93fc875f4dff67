"""Which names are of one object where a function runs, and what calls give back of what they are given.

``aliases`` finds in the text the ways in which names may be of one object. Whether they are depends on the
calls on each way: ``copy.copy`` makes another object, a function may return its argument. So the functions
that are called are looked into as well, for objects of one class at a time.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
import operator
from collections.abc import Iterable, Sequence
from types import FrameType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any, cast

from weft.compiler.frontend.aliases import SEEN, Aliases, At, Pair, Settling, TooMany
from weft.compiler.frontend.helpers import written_definition
from weft.compiler.frontend.holding import has_no_parts, has_no_parts_of, holds, is_memory, may_hold, seen
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
from weft.compiler.frontend.sources import CHAINED, MADE, PLACED, Calls, Source, called, repeats
from weft.compiler.frontend.tree import DISPLAYS, B, assigned_each, root_of, stored_in, walk
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import CompileError, is_internal
from weft.lang.decorators import Compiled
from weft.lang.inline_array import InlineArray
from weft.lang.number import Number
from weft.lang.structs import is_struct, struct_fields, takes_fields

_ANEW = by_identity(list, tuple, dict, set, sorted, zip, enumerate, reversed, map, filter, iter)
"""Functions that make a new object, which holds parts of their arguments."""
_COPIED = by_identity(copy.copy, dataclasses.replace)
"""Functions that make a new object with the parts of their first argument."""
_SAME = by_identity(min, max, getattr, next, operator.getitem, functools.reduce)
"""Functions that give one of their arguments, or a part of one."""
_NO_VALUES = (type, FunctionType, ModuleType, Compiled)
_Memo = type(functools.lru_cache(lambda: None))
_DEEPEST = 8
"""Calls within calls that are looked into. Deeper ones are taken to give back whatever they are given."""


class Sharing:
    """Questions about objects of one class in one function.

    Args:
        fn: The function.
        frame: Where it runs; None of one that is called, of which only the text is known.
        kind: The class.
        outer: Whose question led to this function, by a call.
    """

    def __init__(
        self, fn: Definition, frame: FrameType | None, kind: type[Any], outer: Sharing | None = None
    ) -> None:
        self.fn = fn
        self.frame = frame
        self.kind = kind
        self.deep = 0 if outer is None else outer.deep + 1
        self.known: dict[tuple[object, ...], bool] = {} if outer is None else outer.known
        """Answers about functions, by the question and its depth: many ways lead to one function."""

    # -- what calls give back -----------------------------------------------------------------
    def shares_by_all(self, calls: Calls) -> bool:
        """Whether an object may come through all of these calls."""
        return all(
            self.shares(step.call, step.at) or (step.whole and self.is_deep(step.call)) for step in calls
        )

    def shares(self, call: ast.AST, at: int | str | None = None) -> bool:
        """Whether a call may give an object that it was given, or that is within what it was given.

        ``at`` says as which argument, by number or keyword; None is any of them. With ``PLACED`` it is no
        call: an expression that is assigned to a part of something.
        """
        if at in (PLACED, CHAINED):
            return self._may_be(cast("ast.expr", call), at == CHAINED)
        if isinstance(call, DISPLAYS):
            return not isinstance(at, int) or self._may_be(call.elts[at])
        if not isinstance(call, ast.Call):
            return repeats(call) or self._any_gives_back(call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "matched" and root_of(call.func) == B:
            return True  # what a pattern captures
        callee = self._callee(call)
        if isinstance(callee, type):
            return may_hold(callee, self.kind, _field(call, callee, at))
        if self.is_deep(call):
            return False
        if id(callee) in _COPIED and call.args:
            copied = [class_of_operand(arm, self.frame, self.fn) for arm in _arms(call.args[0])]
            return any(of is MISSING or may_hold(of, self.kind) for of in copied)
        if id(callee) in _ANEW | _SAME or callee is MISSING or self.deep > _DEEPEST:
            return True
        if runs_operators(callee):
            return self._any_gives_back(call)
        if isinstance(callee, _Memo):
            return at is None
        if isinstance(callee, MethodDescriptorType):  # as those of lists
            return True
        definition = _written(callee)
        if definition is None:
            return hasattr(callee, "captures")  # a lambda
        return self._gives_back(definition, self._parameter(call, definition, at))

    def gives_twice(self, calls: Calls) -> bool:
        """Whether the last of these calls may make what holds an object in two places, as ``Ray(a, a)`` does.

        The others are around it, and have to give back what it made.
        """
        around, call = [step.call for step in calls[:-1] if step.at != PLACED], calls[-1].call
        if repeats(call):
            return all(map(self.shares, around))
        if not isinstance(call, ast.Call):
            made_by: Sequence[Definition | None] = self._implied_by(call)
        else:
            callee = self._callee(call)
            if id(callee) in _COPIED or callee is copy.deepcopy:  # which give each part one place
                return False
            if callee is MISSING and isinstance(call.func, ast.Attribute):  # a method of what a call gives
                owner = class_of_operand(call.func.value, self.frame, self.fn)
                callee = inspect.getattr_static(owner, call.func.attr, MISSING)
            made_by = self._implied_by(call) if runs_operators(callee) else [_written(callee)]
            if made_by == [None] and hasattr(callee, "captures"):  # a lambda
                return True
        if self.deep > _DEEPEST or not all(map(self.shares, around)):
            return False
        return any(map(self._makes_twice, made_by))

    def is_deep(self, call: ast.AST) -> bool:
        """Whether a call copies all, where an object in two places stays one."""
        return isinstance(call, ast.Call) and self._callee(call) is copy.deepcopy

    def is_copy(self, call: ast.AST) -> bool:
        """Whether a call makes a new object with the parts of another."""
        return isinstance(call, ast.Call) and id(self._callee(call)) in _COPIED

    def _callee(self, call: ast.Call) -> Any:
        """What a call runs; of an object of a struct its ``__call__``."""
        found = meaning(call.func, self.frame, self.fn)
        cls = cast("type[Any]", type(found))
        if isinstance(found, type) and is_variable(call.func, self.frame):
            cls = cast("type[Any]", found)
        return inspect.getattr_static(cls, "__call__", MISSING) if is_struct(cls) else found

    def _implied_by(self, node: ast.AST) -> list[Definition]:
        """The methods that an operator, an item, an attribute or a function of Python's may run."""
        given = node.args if isinstance(node, ast.Call) else operands(node)
        return methods_of(node, [class_of_operand(part, self.frame, self.fn) for part in given], self.fn)

    def _parameter(self, call: ast.Call, callee: Definition, at: int | str | None) -> str | None:
        """The parameter that an argument is given to; None where that is not known."""
        names, bound = callee.names(), 0
        if names[:1] == ("self",):
            if not isinstance(call.func, ast.Attribute) or isinstance(self._owner(call.func), type):
                return None
            bound = 1
        if any(isinstance(a, ast.Starred) for a in call.args):
            return None
        if at is None and bound:
            return "self"
        if isinstance(at, int):
            return names[at + bound] if at + bound < len(names) else None
        return at

    def _owner(self, method: ast.Attribute) -> Any:
        """What has the method that is called: a class, if it is called of that."""
        return (
            MISSING if is_variable(method.value, self.frame) else meaning(method.value, self.frame, self.fn)
        )

    def _any_gives_back(self, node: ast.AST) -> bool:
        return any(self._gives_back(method, None) for method in self._implied_by(node))

    def _gives_back(self, definition: Definition, parameter: str | None) -> bool:
        """Whether a function may return an object that a parameter, or any, was given, or what holds it."""
        key = "gives back", self.deep, definition, parameter
        if key not in self.known:
            self.known[key] = self._asked_to_give_back(definition, parameter)
        return self.known[key]

    def _asked_to_give_back(self, definition: Definition, parameter: str | None) -> bool:
        if is_internal(definition.file):
            return False
        try:
            aliases, own = aliases_of(definition), definition.names()
        except CompileError:  # its source is not known, or it is none that could be compiled
            return True
        if aliases is None or self.deep > _DEEPEST:
            return True
        around = definition.scope.globals | definition.scope.captured()
        inner = Sharing(definition, None, self.kind, self)
        return any(
            inner.shares_by_all(calls)
            for name, calls in aliases.returned
            if (parameter in (None, name) if name in own else inner._may_keep(around.get(name)))
        )

    def _makes_twice(self, definition: Definition | None) -> bool:
        """Whether what a function returns may hold an object in two places."""
        key = "makes twice", self.deep, definition
        if key not in self.known:
            self.known[key] = self._asked_to_make_twice(definition)
        return self.known[key]

    def _asked_to_make_twice(self, definition: Definition | None) -> bool:
        if not isinstance(definition, Definition) or is_internal(definition.file):
            return False
        try:
            aliases = aliases_of(definition)
        except CompileError:  # its source is not known
            return False
        if aliases is None:
            return True
        inner = Sharing(definition, None, self.kind, self)
        return any(map(inner.shares_by_all, aliases.twice)) or any(map(inner.gives_twice, aliases.made))

    def _may_be(self, node: ast.expr, made: bool = False) -> bool:
        """Whether an expression may give an object of the class, or one that holds such.

        It is one that something in it has, or, if ``made``, one that a function makes.
        """
        if isinstance(node, ast.Constant):
            return False
        of = class_of_operand(node, self.frame, self.fn)
        if of is not MISSING:
            cls, kind = cast("type[Any]", of), self.kind
            if issubclass(cls, _NO_VALUES):
                return False
            return issubclass(kind, cls) if issubclass(cls, Number) else cls is kind or may_hold(cls, kind)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            owner = class_of_operand(node.value, self.frame, self.fn)
            return owner is MISSING or bool(methods_of(node, [owner], self.fn)) or may_hold(owner, self.kind)
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            parts = operands(node)
        elif isinstance(node, ast.Call):
            parts = [*node.args, *[keyword.value for keyword in node.keywords]]
            callee = self._callee(node)
            if made and _written(callee) is not None:
                return True
            if callee is MISSING:
                if not isinstance(node.func, ast.Attribute):
                    return True
                parts.append(node.func.value)  # of a method
        else:
            return True
        return any(self._may_be(part, made) for part in parts)

    # -- what lies outside ----------------------------------------------------------------------
    def outside(self, at: At, name: str, own: frozenset[str], field: str = "") -> str:
        """The name of what has a variable's object and outlives the function; empty if nothing does."""
        for pair in at.pairs:
            other = pair.other[1:-1]
            if pair.one == name and pair.other[0] == "<" and other not in own:
                if self._is_shared(pair, field) and self.is_of(other, pair.calls):
                    return other
        return ""

    def is_of(self, name: str, calls: Calls) -> bool:
        """Whether what a name outside stands for, or a function called by it, has objects of the class."""
        assert self.frame is not None
        call, at = calls[-1][:2] if calls else (None, 0)
        value = self._callee(call) if at is None and isinstance(call, ast.Call) else MISSING
        return self._keeps(seen(name, self.frame, self.fn) if value is MISSING else value)

    def _may_keep(self, value: Any) -> bool:
        """The same where it may yet be assigned."""
        return self._keeps(value) if isinstance(value, _NO_VALUES) else True

    def _keeps(self, value: Any) -> bool:
        """Whether something outside has objects of the class, or is a function that gives such."""
        if isinstance(value, _Memo):
            return True
        if isinstance(value, (type, ModuleType)):
            return any(holds(item, self.kind) for item in vars(value).values())
        definition = _written(value)
        if definition is None:
            return holds(value, self.kind)
        if is_internal(definition.file) or self.deep > _DEEPEST:
            return False
        try:
            aliases, own = aliases_of(definition), set(definition.names())
        except CompileError:  # its source is not known, or it is none that could be compiled
            return False
        around = definition.scope.globals | definition.scope.captured()
        inner = Sharing(definition, None, self.kind, self)
        if "cls" in own:
            around["cls"] = around.get(definition.qualname.rpartition(".")[0])
        return any(
            (name not in own or name == "cls")
            and inner.shares_by_all(calls)
            and inner._keeps(around.get(name))
            for name, calls in (aliases.returned if aliases else ())
        )

    # -- names of one object --------------------------------------------------------------------
    def others(self, at: At, name: str, field: str = "") -> Iterable[str]:
        """Other names of the object of a variable, or of one within its ``field``.

        They are names that are read again, those that stand for what callers have given, and ``name`` itself
        where the object lies in two places of it.
        """
        within = name not in self._locals or holds(self._locals[name], self.kind, strictly=True)
        for pair in at.pairs:
            if pair.one != name:
                continue
            if pair.other in (MADE, name):
                if within and self._is_twice(pair):
                    yield name
            elif (pair.other in at.read or pair.other[0] == "<") and self._is_shared(pair, field):
                yield pair.other

    def is_array_of(self, node: ast.expr, at: At, name: str) -> bool:
        """Whether an expression gives an array that is no memory, of what a variable's object has or is."""
        cls: Any = class_of_operand(node, self.frame, self.fn)
        root = root_of(node)
        if not root or not (isinstance(cls, type) and issubclass(cls, InlineArray)):
            return False
        if isinstance(node, ast.Name) and getattr(self._locals.get(root), "in_memory", False):
            return False
        near = root == name or any(
            p.one == name and p.other == root and self._is_shared(p, "") for p in at.pairs
        )
        return near and (cls is self.kind or may_hold(cls, self.kind))

    def memory_of(self, at: At, name: str) -> str:
        """The name of the memory from which a variable has its object; empty where that is not known."""
        found = [p for p in at.pairs if p.one == name and p.other in self._locals]
        read = [
            p.other
            for p in found
            if is_memory(self._locals[p.other])
            and all(isinstance(s.call, ast.Call) and id(self._callee(s.call)) in _ANEW for s in p.calls)
        ]
        return read[0] if len(set(read)) == 1 else ""

    @property
    def _locals(self) -> dict[str, Any]:
        assert self.frame is not None
        return self.frame.f_locals

    def _holds(self, name: str) -> bool:
        """Whether a part of what a variable holds is such an object."""
        return holds(self._locals.get(name), self.kind, strictly=True)

    def _is_twice(self, pair: Pair) -> bool:
        """Whether an object may lie in two places of what a name stands for."""
        if pair.other == MADE:
            return not pair.calls or self.gives_twice(pair.calls)
        return not (pair.inside[1] and not self._holds(pair.by)) and self.shares_by_all(pair.calls)

    def _is_shared(self, pair: Pair, field: str) -> bool:
        """Whether two names may be of one object."""
        assert self.frame is not None
        if pair.by == SEEN:
            return False
        if pair.by == MADE:  # both are parts of what a call has made
            return not pair.calls or self.gives_twice(pair.calls)
        by = seen(pair.by, self.frame, self.fn) if pair.by else None
        if pair.by and not isinstance(by, (*_NO_VALUES, _Memo)) and not holds(by, self.kind):
            return False
        held = [self._locals.get(name) for name in (pair.one, pair.other)]
        for inside, value, other in zip(pair.inside, held, reversed(held), strict=True):
            method = isinstance(other, functools.partial)  # which holds the object
            if inside and not holds(value, self.kind, strictly=not method):
                return False
        if (field and self._lies_elsewhere(pair, field)) or self._is_copied(pair):
            return False
        return self.shares_by_all(pair.calls)

    def _is_copied(self, pair: Pair) -> bool:
        """Whether one of two names is of a copy of the other's object, and no part of it is of the class."""
        if not pair.calls or not pair.made or pair.inside[pair.made == pair.other]:
            return False
        return self.is_copy(pair.calls[0].call) and not self._holds(pair.made)

    def _lies_elsewhere(self, pair: Pair, field: str) -> bool:
        """Whether the first name is of a struct that was made with the other in another field than this."""
        if len(pair.calls) != 1 or pair.inside[0]:
            return False
        (call, at), cls = pair.calls[0][:2], class_of_variable(self._locals.get(pair.one))
        if not is_struct(cls) or not takes_fields(cls) or not isinstance(call, ast.Call):
            return False
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        if starred or meaning(call.func, self.frame, self.fn) is not cls:
            return False
        return field != (list(struct_fields(cls))[at] if isinstance(at, int) else at)


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


def _field(call: ast.Call, cls: type[Any], at: int | str | None) -> str | None:
    """The field that an argument of a struct's constructor becomes; None where that is not known."""
    if not is_struct(cls) or not takes_fields(cls) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    names = list(struct_fields(cls))
    if isinstance(at, int):
        return names[at] if at < len(names) else None
    return at if at in names else None


def _arms(node: ast.expr) -> list[ast.expr]:
    """The expressions that a choice may give, or the expression itself."""
    return [*_arms(node.body), *_arms(node.orelse)] if isinstance(node, ast.IfExp) else [node]


# -- what the text says -----------------------------------------------------------------------------
@functools.lru_cache(maxsize=1024)
def _aliases(
    fn: Definition,
    _: object,
    kernel: bool,
    __: frozenset[str],
    classes: frozenset[str],
    still: frozenset[str],
) -> Aliases | None:
    try:
        return Aliases(fn.body(), kernel, classes, still)
    except TooMany:
        return None


def aliases_of(fn: Definition, kernel: bool = False) -> Aliases | None:
    """What a function's text says of names of one object; None where that is too much to follow."""
    return _aliases(fn, fn.version, kernel, look_at_structs(), *_still(fn))


def _still(fn: Definition) -> tuple[frozenset[str], frozenset[str]]:
    """The classes that a function calls; and the classes, functions and modules that it names."""
    captured, everywhere = fn.scope.captured(), fn.scope.globals
    called_, named = _names_in(fn, fn.version)
    found = {name: captured.get(name, everywhere.get(name)) for name in named}
    still = [name for name, value in found.items() if isinstance(value, (*_NO_VALUES, _Memo))]
    return frozenset([name for name in called_ if isinstance(found[name], type)]), frozenset(still)


@functools.lru_cache(maxsize=1024)
def _names_in(fn: Definition, _: object) -> tuple[frozenset[str], frozenset[str]]:
    nodes = walk(fn.body())
    first = [called(node) for node in nodes if isinstance(node, ast.Call)]
    named = frozenset([node.id for node in nodes if isinstance(node, ast.Name)])
    return frozenset([node.id for node in first if isinstance(node, ast.Name)]), named


def aliases_at(fn: Definition, kernel: bool, frame: FrameType, kinds: Iterable[type[Any]]) -> Aliases:
    """The same where the function runs; if it is too much to follow, for objects of some classes alone."""
    found = aliases_of(fn, kernel)
    if found is not None:
        return found
    settle, plain = _settling(fn, frame, kinds), _numbers_of(fn, frame)
    key = fn, fn.version, kernel, *_still(fn), plain
    known = _followed.get(key)
    if known is not None and all(settle(source) == answer for source, answer in known[0].items()):
        return known[1]
    answers = dict[Source, Source | None]()

    def noted(source: Source) -> Source | None:
        answers[source] = settle(source)
        return answers[source]

    made = Aliases(fn.body(), kernel, *_still(fn), plain, noted)
    if len(_followed) >= _FOLLOWED:
        _followed.clear()
    _followed[key] = answers, made
    return made


_FOLLOWED = 256
_followed: dict[object, tuple[dict[Source, Source | None], Aliases]] = {}
"""What was found of functions where they run, and by which answers: with the same ones it is the same."""


def _settling(fn: Definition, frame: FrameType, kinds: Iterable[type[Any]]) -> Settling:
    own = {*frame.f_locals, *_assigned_in(fn)}
    sharings = [Sharing(fn, frame, kind) for kind in kinds]

    @functools.cache
    def settle(source: Source) -> Source | None:
        if source.name not in own and source.name != MADE:  # a function, a module
            value = seen(source.name, frame, fn)
            if value is not None and not any(holds(value, of.kind) for of in sharings):
                return None
        if source.name == MADE:
            twice = any(of.gives_twice(source.calls) for of in sharings)
            return source._replace(calls=()) if twice else None
        for step in source.calls:
            if sharings[0].is_deep(step.call):
                source = source._replace(deep=True)
            elif not any(of.shares(step.call, step.at) for of in sharings):
                return None
            if sharings[0].is_copy(step.call):
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
