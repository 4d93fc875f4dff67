"""What calls do to objects: which give back what they were given, and which change it.

A ``@func`` that sets a part of a parameter changes a copy, which it returns; in Python it would change the
caller's object as well. So what was given to it must not be used after the call.
"""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import inspect
from types import FrameType, FunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.source.definition import MISSING, Definition
from weft.compiler.source.python import definition_of
from weft.diagnostics import CompileError, is_internal, refuse
from weft.lang.inline_array import InlineArray
from weft.lang.number import number_class
from weft.lang.spec import NumberSpec
from weft.lang.structs import is_struct, struct_fields

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging

_ANEW: frozenset[Any] = frozenset(
    (list, tuple, dict, set, sorted, zip, enumerate, reversed, map, filter, iter)
)
"""What makes a new object that holds parts of those it is given."""
_COPIED: frozenset[Any] = frozenset((copy.copy, dataclasses.replace))
"""What makes a new object that holds the parts of the one that it is given first."""
_SAME: frozenset[Any] = frozenset((min, max, getattr, next))
"""What gives one of those that it is given, or a part of it."""
_DEEPEST = 8


def shares(call: ast.Call, frame: FrameType | None, fn: Definition, kind: type[Any], deep: int = 0) -> bool:
    """Whether a call may give an object of a class that it was given, or that is within what it was given."""
    from weft.compiler.frontend.aliases import aliases_of

    callee = _meaning(call.func, frame, fn)
    definition = getattr(callee, "definition", None)
    if isinstance(callee, type):
        return _may_hold(callee, kind)
    if callee is copy.deepcopy:
        return False
    if callee in _COPIED and call.args:
        of = _meaning(call.args[0], frame, fn)
        return of is MISSING or _may_hold(of if isinstance(of, type) else type(of), kind)
    if callee in _ANEW:
        return True
    if callee in _SAME or callee is MISSING or deep > _DEEPEST:
        return True
    if isinstance(callee, MethodDescriptorType):  # as those of lists
        return True
    if isinstance(callee, FunctionType):
        definition = definition_of(callee)
    if not isinstance(definition, Definition) or is_internal(definition.file):
        return False
    try:
        returned = aliases_of(definition).returned
    except CompileError:  # its source is not known
        return True
    return any(all(shares(c, None, definition, kind, deep + 1) for c in calls) for calls in returned)


def _may_hold(cls: type[Any], kind: type[Any]) -> bool:
    """Whether values of a class may hold one of another class: as a part, not as what they are."""
    if is_struct(cls):
        return any(_holds(annotation, kind) for annotation in struct_fields(cls).values())
    if issubclass(cls, InlineArray):
        items = getattr(cls, "__weft_items__", None)
        return items is None or _holds(items[0], kind)
    return not hasattr(cls, "dtype")


def _holds(annotation: Any, kind: type[Any]) -> bool:
    return not isinstance(annotation, type) or annotation is kind or _may_hold(annotation, kind)


def _meaning(node: ast.expr, frame: FrameType | None, fn: Definition) -> Any:
    """What a name or an attribute of one stands for where a function runs; MISSING if not known."""
    from weft.compiler.frontend.variables import Var

    if isinstance(node, ast.Name):
        found: Any = MISSING if frame is None else frame.f_locals.get(node.id, MISSING)
        if type(found) is Var:
            spec = found.spec
            return (
                number_class(spec.dtype, spec.lanes)
                if isinstance(spec, NumberSpec)
                else getattr(spec, "cls", MISSING)
            )
        if found is MISSING:
            names = {**vars(builtins), **fn.scope.globals, **fn.scope.captured()}
            found = names.get(node.id, MISSING)
        return found
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return MISSING
    held = _meaning(node.value, frame, fn)
    if held is MISSING:
        return MISSING
    if isinstance(node, ast.Subscript):  # of a class, its parameters
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        given = [p.value if isinstance(p, ast.Constant) else _meaning(p, frame, fn) for p in parts]
        if not isinstance(held, type) or MISSING in given:
            return MISSING
        return cast("Any", held)[given[0] if len(given) == 1 else tuple(given)]
    cls = cast("type[Any]", held if isinstance(held, type) else type(held))
    found = inspect.getattr_static(cls, node.attr, MISSING)
    if found is MISSING:
        found = inspect.getattr_static(held, node.attr, MISSING)  # of a module
    return getattr(found, "__func__", found)


# -- calls that change what they are given --------------------------------------------------------
def check_given(b: Staging, callee: Definition, changed: dict[str, type[Any]], frame: FrameType) -> None:
    """Refuse a call where what the function changes of its copy is used again by the caller's name."""
    from weft.compiler.frontend.aliases import At, aliases_of, holds, sources
    from weft.compiler.frontend.stage import is_staged

    at_hand: FrameType | None = frame
    while at_hand is not None and not is_staged(at_hand.f_code):
        if not is_internal(at_hand.f_code.co_filename):
            return  # a helper's, which is Python at compile time
        at_hand = at_hand.f_back
    draft = b.draft
    f, fn = draft.function, draft.definition
    if at_hand is None or not b.live or at_hand.f_code.co_filename != fn.file:
        return
    at: At | None = aliases_of(fn, f.kernel or f.element).at.get(b.loc[:2])
    call = None if at is None else _at_hand(at.node, at_hand)
    if at is None or call is None:
        return
    for parameter, kind in changed.items():
        given, rest = _given(call, callee, parameter)
        for name, by, _ in sources(given):
            if by or not holds(at_hand.f_locals.get(name), kind):
                continue
            again = name if name in at.read or any(s.name == name for r in rest for s in sources(r)) else None
            for other in at.others(name, kind, at_hand, fn):
                if other[0] == "<":
                    draft.changed[other[1:-1]] = kind
                elif holds(at_hand.f_locals.get(other), kind):
                    again = again or other
            if again is not None:
                _refuse_call(callee, parameter, name, again)


def _refuse_call(callee: Definition, parameter: str, name: str, again: str) -> None:
    refuse(
        "lost-field",
        f"{callee.name} changes `{parameter}`, a copy of `{name}`, and `{again}` is used after this call",
        notes=("what holds parts is passed by value: in Python the caller's object would change too",),
        hint=f"return `{parameter}` and write `{name} = ...` at the call, or give it copy.copy({name})",
    )


_Calling = ast.Call | ast.BinOp | ast.AugAssign


def _at_hand(node: ast.AST, frame: FrameType) -> _Calling | None:
    """The call or operator within a statement that a frame evaluates."""
    found = [n for n in ast.walk(node) if isinstance(n, _Calling)]
    place = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    exact = [n for n in found if (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == place]
    return exact[0] if exact else found[0] if len(found) == 1 else None


def _given(call: _Calling, callee: Definition, parameter: str) -> tuple[ast.expr | None, list[ast.expr]]:
    """What a call gives a parameter, and all else that it gives."""
    names = callee.names()
    if isinstance(call, ast.BinOp):
        all_ = [call.left, call.right]
    elif isinstance(call, ast.AugAssign):
        all_ = [call.target, call.value]
    else:
        all_ = list(call.args)
        if isinstance(call.func, ast.Attribute) and names[:1] == ("self",):
            all_.insert(0, call.func.value)
    by_name = {k.arg: k.value for k in call.keywords} if isinstance(call, ast.Call) else {}
    place = names.index(parameter)
    given = by_name.get(parameter) or (all_[place] if place < len(all_) else None)
    rest = [*all_, *by_name.values()]
    return given, [r for r in rest if r is not given]
