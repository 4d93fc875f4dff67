"""Assignments to parts of values, here and in calls: refused where another name would have to see them.

A struct that is one object for all its names changes where it is (``objects``), and is not looked at here. Of
all else a ``@func`` that sets a part of a parameter changes a copy, which it returns; Python would change
the caller's object as well. So what was given to it must not be used after the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from weft.compiler.frontend.aliases import Aliases, At, caller_of, returns_to
from weft.compiler.frontend.helpers import written_definition
from weft.compiler.frontend.holding import holds, is_memory
from weft.compiler.frontend.implied import asked, operands
from weft.compiler.frontend.sharing import Sharing, aliases_at
from weft.compiler.frontend.sources import MADE, Source, are_beside, sources
from weft.compiler.frontend.tree import COMPREHENSIONS, assigned_each, root_of, stored_in
from weft.compiler.source.definition import Definition
from weft.diagnostics import a_, is_internal, refuse
from weft.lang.inline_array import InlineArray
from weft.lang.structs import is_struct, lost_copy, lost_field, struct_fields

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging

_Spelled = ast.Call | ast.BinOp | ast.AugAssign
_Calling = _Spelled | ast.UnaryOp | ast.Subscript | ast.Compare


class Changes:
    """What one assignment to a part changes."""

    def __init__(self, held: Any, path: Sequence[Any]) -> None:
        self.kind: type[Any] | None = None
        """The class of the innermost value that has a part set."""
        self.field = path[0] if len(path) > 1 and isinstance(path[0], str) else ""
        """The field of the variable's own value that this lies in, if there is one."""
        self.held: Any = None
        """An array in memory, all names of which see what is set."""
        self.of_program = False
        """Whether a struct that the program has made has a part set."""
        if isinstance(held, InlineArray) and held.in_memory:
            self.held, self.kind = held, _class_along(type(held), path[:-1])

    def note(self, kind: type[Any]) -> None:
        """A part of a value of this class is set."""
        self.kind = self.kind or kind

    def check_new(self, name: str) -> None:
        """Refuse to set a part of an object that exists already, whatever function or object has given it."""
        if self.of_program and self.kind is not None:
            refuse(
                "shared-value",
                f"`{name}` is {a_(self.kind.__name__)} that the program has made, which Python would change",
                notes=("here it is known when this is compiled, and stays what it is",),
                hint=f"change a copy: {name} = copy.copy({name})",
            )

    def check(self, b: Staging, frame: FrameType, name: str, changed: bool) -> None:
        """Refuse the assignment if another name would have to see it.

        The variable ``name`` is to hold another value then, if ``changed``.
        """
        kind = self.kind
        assert kind is not None
        if changed and not name:
            refuse(
                "item-assignment",
                f"a part is set of {a_(kind.__name__)} that no variable of this function holds",
                notes=(f"{a_(kind.__name__)} is a value, as a number is: a copy would be changed",),
                hint="assign it to a variable and change that; "
                "one of the function around needs `nonlocal` here",
            )
        draft = b.draft
        f, fn = draft.function, draft.definition
        aliases = aliases_at(fn, f.kernel or f.element, frame, (kind,))
        at = aliases.at.get(b.loc[:2])
        if at is None or not b.live:
            return
        if name and name not in aliases.own:  # of a function around, which may have other names for it
            draft.changed[name] = kind
            return
        sharing = Sharing(fn, frame, kind)
        if self.held is None:
            _check_loops(aliases.tree, at, name, sharing)
        if outer := sharing.outside(at, name, aliases.own, self.field):
            refuse_shared(name, outer, kind, "lies outside of this function")
        for other in sharing.others(at, name, self.field):
            if other[0] == "<" and other[1:-1] not in aliases.own:
                continue
            if other[0] == "<":
                if name in at.lost and other == caller_of(name):
                    lost_field(name, "" if f.kernel or f.element else fn.name, is_internal(fn.file))
                draft.changed[other[1:-1]] = kind
            elif other == name or holds(frame.f_locals.get(other), kind, self.held):
                refuse_shared(name, other, kind)
        if name in at.lost and name in aliases.given:
            lost_field(name, "" if f.kernel or f.element else fn.name, is_internal(fn.file))
        elif name in at.lost and (memory := sharing.memory_of(at, name)):
            lost_copy(name, memory)


def _check_loops(tree: ast.AST, at: At, name: str, sharing: Sharing) -> None:
    """Refuse to change what a loop around runs over: an array that is, or lies within, a variable's value."""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and any(at.node is n for part in loop.body for n in ast.walk(part)):
            call = loop.iter
            over = call.args if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else [call]
            if any(sharing.is_array_of(part, at, name) for part in over):
                kind = a_(sharing.kind.__name__)
                refuse(
                    "shared-value",
                    f"a loop around runs over `{name}`, and would see this change in Python",
                    notes=(f"{kind} is a value, as a number is: the loop goes on with the old one",),
                    hint="run over the indices: for i in range(len(...))",
                )


def refuse_shared(
    name: str, other: str, kind: type[Any], why: str = "is used after this assignment"
) -> NoReturn:
    """Say no to set a part where another name would have to see it."""
    both = f"`{name}` and `{other}` may be"
    if name == other:
        both, other, why = f"two parts of `{name}` may be", "the other part", "would change with it"
    else:
        other = f"`{other}`"
    held = f"`{name}` has a copy" if is_struct(kind) else f"{a_(kind.__name__)} is a value, as a number is"
    refuse(
        "shared-value",
        f"{both} the same {kind.__name__} in Python, and {other} {why}",
        notes=(f"here {held}: {other} would not change",),
        hint="where one is made of the other, write copy.copy(...) of it",
    )


def _class_along(cls: type[Any], path: Sequence[Any]) -> type[Any]:
    """The class of what fields and indices lead to."""
    for step in path:
        parts: Any = (
            struct_fields(cls).get(step) if is_struct(cls) else getattr(cls, "__weft_items__", (None,))[0]
        )
        if not isinstance(parts, type):
            return cls
        cls = parts
    return cls


# -- calls that change what they are given --------------------------------------------------------
def check_given(b: Staging, callee: Definition, changed: dict[str, type[Any]], frame: FrameType) -> None:
    """Refuse a call where what the function changes of its copy is used again by the caller's name."""
    from weft.compiler.frontend.stage import is_staged

    at_hand: FrameType | None = frame
    while at_hand is not None and not is_staged(at_hand.f_code):
        helper = b.helper_of(at_hand.f_code)
        if helper is not None and changed:  # Python at compile time, whose callers are asked next
            of = written_definition(helper)
            aliases = aliases_at(of, False, at_hand, changed.values())
            found = ((at, _at_hand(at.node, at_hand, exactly=True)) for at in aliases.at.values())
            at, call = next(((at, call) for at, call in found if call is not None), (None, None))
            if at is not None and call is not None:
                changed = _passed_on(_Caller(at, call, at_hand, of, aliases), callee, changed)
                callee = of
        elif not is_internal(at_hand.f_code.co_filename):
            return
        at_hand = at_hand.f_back
    draft = b.draft
    f, fn = draft.function, draft.definition
    if at_hand is None or not b.live or at_hand.f_code.co_filename != fn.file:
        return
    aliases = aliases_at(fn, f.kernel or f.element, at_hand, changed.values())
    at = aliases.at.get(b.loc[:2])
    if at is None:
        return
    call = _at_hand(at.node, at_hand)
    if call is None:  # in a lambda, which may be called at any time
        call = _at_hand(aliases.tree, at_hand, exactly=True)
        if call is None:
            return
        at = At(aliases.tree, at.pairs, aliases.own, at.lost, aliases.own)
    draft.changed.update(_passed_on(_Caller(at, call, at_hand, fn, aliases), callee, changed))


class _Caller(NamedTuple):
    """A call of a function: the statement that it stands in, the call itself, and the function around it."""

    at: At
    call: _Calling
    frame: FrameType
    fn: Definition
    names: Aliases

    def holds(self, name: str, kind: type[Any]) -> bool:
        """Whether a variable of the caller's holds an object of a class."""
        return holds(self.frame.f_locals.get(name), kind)

    def memory_of(self, given: ast.expr | None, name: str, kind: type[Any]) -> str:
        """The name of the memory of which a copy is given: by that name, or in a variable of this."""
        part = isinstance(given, (ast.Attribute, ast.Subscript))
        memory = name if part else Sharing(self.fn, self.frame, kind).memory_of(self.at, name)
        return memory if is_memory(self.frame.f_locals.get(memory)) else ""

    def others(self, name: str, kind: type[Any]) -> Iterable[str]:
        """The other names of such an object of a variable's."""
        return Sharing(self.fn, self.frame, kind).others(self.at, name)


def _passed_on(by: _Caller, callee: Definition, changed: dict[str, type[Any]]) -> dict[str, type[Any]]:
    """What of its own callers' objects a caller changes by a call, by the names of its parameters.

    The call is refused if the caller itself uses a changed object again: it has the unchanged value.
    """
    out: dict[str, type[Any]] = {}
    for parameter, kind in changed.items():
        if parameter not in callee.names():  # a variable of a function around, which that holds
            if parameter not in by.names.own:
                out[parameter] = kind
            for other in by.others(parameter, kind):
                if other[0] != "<" and by.holds(other, kind):
                    refuse_shared(parameter, other, kind, "is used after this call")
            continue
        given, rest = _given(by.call, callee, parameter)
        if _is_held_twice(given, by, kind):
            refuse_shared(parameter, parameter, kind)
        sharing = Sharing(by.fn, by.frame, kind)
        beside = {s.name for one in rest for s in sources(one) if sharing.shares_by_all(s.calls)}
        for name, calls, *_ in (*sources(given), *_items_of(by.at.node, by.call, sources(given))):
            if name != MADE and name not in by.names.own | by.names.lent:
                if sharing.shares_by_all(calls) and sharing.is_of(name, calls):
                    _refuse_call(callee, parameter, name, given, name)
            if not calls and _is_dropped(by, callee, parameter):
                if memory := by.memory_of(given, name, kind):
                    _refuse_call(callee, parameter, memory, given, "")
            if calls or not by.holds(name, kind):
                continue
            _check_loops(by.names.tree, by.at, name, sharing)
            passed, again = _used_again(by, name, kind, name in beside, _is_put_back(by.at.node, given))
            out |= passed
            if again:
                _refuse_call(callee, parameter, name, given, again)
    return out


def _is_dropped(by: _Caller, callee: Definition, parameter: str) -> bool:
    """Whether nobody reads what a function has changed of its parameter and gives back."""
    place = _given_back(callee, parameter)
    node, call = by.at.node, by.call
    if place is None or (isinstance(node, ast.Expr) and node.value is call):
        return place is not None
    for above in ast.walk(node):
        if isinstance(above, ast.Subscript) and above.value is call and place >= 0:
            return isinstance(above.slice, ast.Constant) and above.slice.value != place
    kept: list[ast.expr] = []
    for target in node.targets if isinstance(node, ast.Assign) and node.value is call else ():
        items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        kept += [target] if place < 0 else items[place : place + 1]
    return bool(kept) and all(isinstance(t, ast.Name) and t.id not in by.at.kept for t in kept)


def _given_back(callee: Definition, parameter: str) -> int | None:
    """At which place of a tuple a function returns a parameter; -1 if alone, None if it does not."""
    found: set[int | None] = set()
    for node in ast.walk(callee.body()):
        if isinstance(node, ast.Return):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            at = [n for n, part in enumerate(parts) if isinstance(part, ast.Name) and part.id == parameter]
            found.add(None if len(at) != 1 else -1 if parts[0] is node.value else at[0])
    return found.pop() if len(found) == 1 else None


def _is_put_back(node: ast.AST, given: ast.expr | None) -> bool:
    """Whether a statement assigns to the place that a call was given a part of: ``q.a = q.a.moved(1)``."""
    if not isinstance(given, (ast.Attribute, ast.Subscript)):
        return False
    if isinstance(node, ast.AugAssign):
        return node.target is given
    found = [target for target in getattr(node, "targets", ()) if returns_to(target, given)]
    return any(ast.unparse(one) == ast.unparse(given) for t in found for one, _ in assigned_each(t, t))


def _used_again(
    by: _Caller, name: str, kind: type[Any], beside: bool, back: bool
) -> tuple[dict[str, type[Any]], str]:
    """The parameters of the caller that a change of a variable's object reaches; a name used after the call.

    The name is of the same object, and empty if there is none. ``beside``: another argument of the call is of
    it too. ``back``: the part of it that the call is given gets another value.
    """
    own, lent = by.names.own, by.names.lent
    out = {name: kind} if name in lent else {}
    again = ""
    if beside or (name in by.at.read and not back) or name not in own | lent or _is_read_besides(by, name):
        again = name
    again = again or Sharing(by.fn, by.frame, kind).outside(by.at, name, own)
    for other in by.others(name, kind):
        if other[0] == "<":
            if other[1:-1] in own:
                out[other[1:-1]] = kind
        elif other == name:
            refuse_shared(name, name, kind)
        elif not again and by.holds(other, kind):
            again = other
    return out, again


def _is_held_twice(given: ast.expr | None, by: _Caller, kind: type[Any]) -> bool:
    """Whether an argument holds an object in two places, as ``Ray(a, a)`` does."""
    sharing, held = Sharing(by.fn, by.frame, kind), list[Source]()
    for source in sources(given):
        if source.name == MADE:
            if sharing.gives_twice(source.calls):
                return True
        elif all(sharing.shares(step.call) for step in source.calls):
            held.append(source)
    return any(a.name == c.name and are_beside(a.calls, c.calls) for a in held for c in held)


def _is_read_besides(by: _Caller, name: str) -> bool:
    """Whether a statement reads a name after a call within it, or makes the call several times."""
    inside = set(ast.walk(by.call))
    end = by.call.end_lineno or 0, by.call.end_col_offset or 0
    for node in ast.walk(by.at.node):
        if isinstance(node, COMPREHENSIONS) and by.call in ast.walk(node) and name not in stored_in(node):
            return True
        if isinstance(node, ast.Name) and node.id == name and node not in inside:
            if isinstance(node.ctx, ast.Load) and (node.lineno, node.col_offset) >= end:
                return True
    return False


def _items_of(node: ast.AST, call: ast.AST, given: Iterable[Source]) -> Iterable[Source]:
    """What comprehensions around a call take the items of that it is given."""
    names = {source.name for source in given}
    for around in ast.walk(node):
        if isinstance(around, COMPREHENSIONS) and call in ast.walk(around) and names & stored_in(around):
            for clause in around.generators:
                yield from (source._replace(calls=()) for source in sources(clause.iter))


def _refuse_call(callee: Definition, parameter: str, name: str, part: ast.expr | None, again: str) -> None:
    place = ast.unparse(part) if part is not None and root_of(part) == name else name
    hint = f"return `{parameter}` and write `{place} = ...` at the call, or give it copy.copy({place})"
    if (back := _given_back(callee, parameter)) in (-1, 0):
        hint = f"it gives that copy back: write `{place}{', result' * (back == 0)} = ...` at the call"
    copied, used = f"a copy of `{name}`", f"`{again}` is used after this call"
    if not again:
        copied, used = f"a copy of what `{name}` has in memory", "nothing reads that after this call"
        if place == name:
            hint = f"store what it gives back: `{name}[i]{', result' * (back == 0)} = ...`"
    refuse(
        "lost-field",
        f"{callee.name} changes `{parameter}`, {copied}, and {used}",
        notes=("what memory, a branch or a loop gives is a copy: Python would change the caller's object",),
        hint=hint,
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
