"""What calls do to objects: which give back what they were given, and which change it.

A ``@func`` that sets a part of a parameter changes a copy, which it returns; in Python it would change the
caller's object as well. So what was given to it must not be used after the call.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from types import FrameType, FunctionType, MethodDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from weft.compiler.frontend.helpers import written_definition
from weft.compiler.frontend.implied import (
    asked,
    by_identity,
    class_of_operand,
    is_variable,
    methods_of,
    operands,
    runs_operators,
)
from weft.compiler.frontend.meaning import meaning
from weft.compiler.frontend.tree import B, root_of
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import CompileError, is_internal, refuse
from weft.lang.decorators import Compiled
from weft.lang.inline_array import InlineArray
from weft.lang.number import Number
from weft.lang.structs import is_struct, struct_fields, takes_fields

if TYPE_CHECKING:
    from weft.compiler.frontend.aliases import At
    from weft.compiler.frontend.staging import Staging

_ANEW = by_identity(list, tuple, dict, set, sorted, zip, enumerate, reversed, map, filter, iter)
"""What makes a new object that holds parts of those it is given."""
_COPIED = by_identity(copy.copy, dataclasses.replace)
"""What makes a new object that holds the parts of the one that it is given first."""
_SAME = by_identity(min, max, getattr, next, operator.getitem, functools.reduce)
"""What gives one of those that it is given, or a part of it."""
_NO_VALUES = (type, FunctionType, ModuleType, Compiled)
_DEEPEST = 8
_Spelled = ast.Call | ast.BinOp | ast.AugAssign
_Calling = _Spelled | ast.UnaryOp | ast.Subscript | ast.Compare


PLACED = "="
"""In place of an argument: an expression is assigned to a part of something."""


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
        return _may_hold(callee, kind, _field(call, callee, at))
    if callee is copy.deepcopy:
        return False
    if id(callee) in _COPIED and call.args:
        copied = [class_of_operand(arm, frame, fn) for arm in _arms(call.args[0])]
        return any(of is MISSING or _may_hold(of, kind) for of in copied)
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
        return issubclass(kind, cls) if issubclass(cls, Number) else cls is kind or _may_hold(cls, kind)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        owner = class_of_operand(node.value, frame, fn)
        return owner is MISSING or bool(methods_of(node, [owner], fn)) or _may_hold(owner, kind)
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
    from weft.compiler.frontend.aliases import aliases_of

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
    from weft.compiler.frontend.aliases import aliases_of

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


def _may_hold(cls: type[Any], kind: type[Any], field: str | None = None) -> bool:
    """Whether values of a class may hold one of another class: as a part, not as what they are.

    ``field`` is the only one that may.
    """
    if is_struct(cls):
        fields = struct_fields(cls)
        return any(_holds(fields[name], kind) for name in ([field] if field else fields))
    if issubclass(cls, InlineArray):
        items = getattr(cls, "__weft_items__", None)
        return items is None or _holds(items[0], kind)
    return not hasattr(cls, "dtype")


def _holds(annotation: Any, kind: type[Any]) -> bool:
    return not isinstance(annotation, type) or annotation is kind or _may_hold(annotation, kind)


# -- calls that change what they are given --------------------------------------------------------
def check_given(b: Staging, callee: Definition, changed: dict[str, type[Any]], frame: FrameType) -> None:
    """Refuse a call where what the function changes of its copy is used again by the caller's name."""
    from weft.compiler.frontend.aliases import At, aliases_of
    from weft.compiler.frontend.stage import is_staged

    at_hand: FrameType | None = frame
    while at_hand is not None and not is_staged(at_hand.f_code):
        helper = b.helper_of(at_hand.f_code)
        if helper is not None and changed:  # Python at compile time, whose callers are asked next
            of = written_definition(helper)
            aliases = aliases_of(of, False, at_hand, changed.values())
            assert aliases is not None
            found = ((at, _at_hand(at.node, at_hand, exactly=True)) for at in aliases.at.values())
            at, call = next(((at, call) for at, call in found if call is not None), (None, None))
            if at is not None and call is not None:
                changed = _passed_on(
                    _Caller(at, call, at_hand, of, aliases.own, aliases.lent), callee, changed
                )
                callee = of
        elif not is_internal(at_hand.f_code.co_filename):
            return
        at_hand = at_hand.f_back
    draft = b.draft
    f, fn = draft.function, draft.definition
    if at_hand is None or not b.live or at_hand.f_code.co_filename != fn.file:
        return
    aliases = aliases_of(fn, f.kernel or f.element, at_hand, changed.values())
    assert aliases is not None
    at: At | None = aliases.at.get(b.loc[:2])
    if at is None:
        return
    call = _at_hand(at.node, at_hand)
    if call is None:  # in a lambda, which may be called at any time
        call = _at_hand(aliases.tree, at_hand, exactly=True)
        if call is None:
            return
        at = At(aliases.tree, at.pairs, aliases.own, at.lost)
    draft.changed.update(
        _passed_on(_Caller(at, call, at_hand, fn, aliases.own, aliases.lent), callee, changed)
    )


class _Caller(NamedTuple):
    """Who calls a function: the statement and what is known there, the call, where it runs."""

    at: At
    call: _Calling
    frame: FrameType
    fn: Definition
    own: frozenset[str]
    lent: frozenset[str]


def _passed_on(by: _Caller, callee: Definition, changed: dict[str, type[Any]]) -> dict[str, type[Any]]:
    """What a caller changes of its own callers' by a call; refused where it uses that itself again."""
    from weft.compiler.frontend.aliases import sources
    from weft.compiler.frontend.changes import refuse_shared
    from weft.compiler.frontend.holding import holds, seen

    out: dict[str, type[Any]] = {}
    for parameter, kind in changed.items():
        if parameter not in callee.names():  # a variable of a function around, which that holds
            if parameter not in by.own:
                out[parameter] = kind
            for other in by.at.others(parameter, kind, by.frame, by.fn):
                if other[0] != "<" and holds(by.frame.f_locals.get(other), kind):
                    refuse_shared(parameter, other, kind, "is used after this call")
            continue
        given, rest = _given(by.call, callee, parameter)
        if _is_held_twice(given, by, kind):
            refuse_shared(parameter, parameter, kind)
        for name, calls, _ in (*sources(given), *_items_of(by.at.node, by.call, sources(given))):
            if calls or not holds(by.frame.f_locals.get(name), kind):
                continue
            if name in by.lent:
                out[name] = kind
            again = name if name in by.at.read or name not in by.own | by.lent else None
            if any(s.name == name for r in rest for s in sources(r)) or _is_read_besides(by, name):
                again = name
            for other in by.at.others(name, kind, by.frame, by.fn):
                if other[1:-1] in by.own and other[0] == "<":
                    out[other[1:-1]] = kind
                elif other[0] == "<":
                    again = again or (
                        other[1:-1] if holds(seen(other[1:-1], by.frame, by.fn), kind) else None
                    )
                elif other == name:
                    refuse_shared(name, name, kind)
                elif holds(by.frame.f_locals.get(other), kind):
                    again = again or other
            if again is not None:
                _refuse_call(callee, parameter, name, again)
    return out


def _is_held_twice(given: ast.expr | None, by: _Caller, kind: type[Any]) -> bool:
    """Whether what is given holds something in two places, as ``Ray(a, a)`` does."""
    from weft.compiler.frontend.aliases import MADE, are_beside, sources

    held: list[Any] = []
    for source in sources(given):
        calls = [step.call for step in source.calls]
        if source.name == MADE:
            if gives_twice(calls, by.frame, by.fn, kind):
                return True
        elif all(shares(call, by.frame, by.fn, kind) for call in calls):
            held.append(source)
    return any(a.name == c.name and are_beside(a.calls, c.calls) for a in held for c in held)


_REPEATED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _is_read_besides(by: _Caller, name: str) -> bool:
    """Whether a statement reads a name after a call within it, or makes the call several times."""
    inside = set(ast.walk(by.call))
    end = by.call.end_lineno or 0, by.call.end_col_offset or 0
    for node in ast.walk(by.at.node):
        if isinstance(node, _REPEATED) and by.call in ast.walk(node) and name not in stored_in(node):
            return True
        if isinstance(node, ast.Name) and node.id == name and node not in inside:
            if isinstance(node.ctx, ast.Load) and (node.lineno, node.col_offset) >= end:
                return True
    return False


def stored_in(node: ast.AST) -> set[str]:
    """The names that a comprehension assigns."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _items_of(node: ast.AST, call: ast.AST, given: Iterable[Any]) -> Iterable[Any]:
    """The names of what comprehensions around a call take items of, which it is given."""
    from weft.compiler.frontend.aliases import sources

    names = {source.name for source in given}
    for around in ast.walk(node):
        if isinstance(around, _REPEATED) and call in ast.walk(around) and names & stored_in(around):
            for clause in around.generators:
                yield from (source._replace(calls=()) for source in sources(clause.iter))


def _refuse_call(callee: Definition, parameter: str, name: str, again: str) -> None:
    refuse(
        "lost-field",
        f"{callee.name} changes `{parameter}`, a copy of `{name}`, and `{again}` is used after this call",
        notes=("what holds parts is passed by value: in Python the caller's object would change too",),
        hint=f"return `{parameter}` and write `{name} = ...` at the call, or give it copy.copy({name})",
    )


def _at_hand(node: ast.AST, frame: FrameType, *, exactly: bool = False) -> _Calling | None:
    """The call or operator within a statement that a frame evaluates."""
    found = [n for n in ast.walk(node) if isinstance(n, _Calling)]
    place = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    exact = [n for n in found if (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == place]
    if exact or exactly:
        return exact[0] if exact else None
    spelled = [n for n in found if isinstance(n, _Spelled)] or found
    return spelled[0] if len(spelled) == 1 else None


def _given(call: _Calling, callee: Definition, parameter: str) -> tuple[ast.expr | None, list[ast.expr]]:
    """What a call gives a parameter, and all else that it gives."""
    names = callee.names()
    if not isinstance(call, ast.Call):
        all_ = operands(call)
        if isinstance(call, ast.Compare) and len(all_) > 2:  # any of them
            all_ = [ast.Tuple(all_)] * 2
        elif callee.name not in asked(call) or callee.name.startswith("__r"):  # the right one is asked
            all_.reverse()
    else:
        all_ = list(call.args)
        if isinstance(call.func, ast.Attribute) and names[:1] == ("self",) and call.func.attr == callee.name:
            all_.insert(0, call.func.value)
        elif names[:1] == ("self",) and isinstance(call.func, ast.Name) and len(all_) < len(names):
            all_.insert(0, call.func)  # an object that is called, or a method in a variable
    by_name = {k.arg: k.value for k in call.keywords} if isinstance(call, ast.Call) else {}
    place = names.index(parameter)
    given = by_name.get(parameter) or (all_[place] if place < len(all_) else None)
    rest = [*all_, *by_name.values()]
    return given, [r for r in rest if r is not given]
