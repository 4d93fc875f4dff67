"""Python's lists, dicts, sets, arrays, iterators and objects exist while a kernel is compiled: run-time code
cannot change them.

A loop's body is elaborated once and both branches of an ``if`` are, so a list that one of them
changed would be wrong afterwards. What a region must leave alone is noted when it is entered and
compared, item by item, when it is left: of an object its ``__dict__``, of an iterator where it stands.
"""

from __future__ import annotations

import collections
import functools
import gc
from collections.abc import Iterable, Mapping
from enum import EnumMeta
from itertools import count, islice, repeat
from operator import is_, length_hint
from types import (
    BuiltinMethodType,
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Protocol, cast

from weft.compiler.frontend.iteration import Items
from weft.compiler.source.definition import Definition
from weft.compiler.source.python import scope_of
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.captured import is_library, package_of
from weft.lang.number import Number
from weft.lang.products import parts_of
from weft.lang.spec import holds_values, inside, is_composite
from weft.lang.told_apart import state_of

_KINDS: tuple[Any, ...] = (list, dict, set, collections.deque, bytearray)
_WRAPPED: tuple[Any, ...] = (functools.partial, MethodType, BuiltinMethodType)
"""What may have such in it, and does not change itself."""
_COUNTERS: tuple[Any, ...] = (count, repeat)
_DEEPEST = 3
_MOST = 1 << 12
"""A container of more items, or an array of more bytes, is large: copied once, and not at each branch."""
_LARGEST = 1 << 24
"""An array of more bytes is not copied to see whether it changes."""


class Beyond(Protocol):
    """What helpers reach beyond what the code at hand names."""

    def now(self) -> Any:
        """As it is now; None where nobody changes it."""
        ...

    def left(self, before: Any, what: str) -> None:
        """A run-time branch or loop ends that began when it was so."""
        ...


class Held(list[tuple[str, Any, Any]]):
    """Of each container the name, itself and a copy of it."""

    beyond: tuple[tuple[Beyond, Any], ...] = ()
    """What helpers reach, and how it was."""


class Containers:
    """The containers that one function meets, each copied again only where it has changed."""

    def __init__(self) -> None:
        self._noted: dict[tuple[str, int], Held] = {}
        self._large = Held()
        self.beyond: Iterable[Beyond] = ()

    def held(self, frame: FrameType | None) -> Held:
        """The containers that a frame's variables and the globals that it names hold, but for large ones."""
        if frame is None:
            return Held()
        return self._each((*frame.f_locals.items(), *_found(frame.f_code.co_names, frame.f_globals)))

    def named_in(self, frame: FrameType | None) -> Held:
        """Likewise, but for what only staged code has a name for, such as what a loop runs over."""
        found = self.held(frame)
        out = Held(one for one in found if not one[0].startswith("__weft"))
        out.beyond = found.beyond
        return out

    def named(self, thunk: Any) -> Held:
        """Those that an expression names, which is a function of its own."""
        if type(thunk) is not FunctionType:
            return self._each(())
        near = scope_of(thunk).captured().items()
        return self._each((*near, *_found(thunk.__code__.co_names, thunk.__globals__)))

    def _each(self, values: Iterable[tuple[str, Any]]) -> Held:
        out = Held()
        out.beyond = tuple([(one, state) for one in self.beyond if (state := one.now()) is not None])
        for name, value in values:
            if _sort(cast("type[Any]", type(value))) is not None and name[:1] != ".":
                for held in _held_by(value):
                    out += self._note(name, held)
        return out

    def _note(self, name: str, value: Any) -> Held:
        if any(known is value for _, known, _ in self._large):
            return Held()
        noted = self._noted.get((name, id(value)))
        if noted is None or any(changed(now, then) for _, now, then in noted):
            noted = Held()
            if _note(name, value, noted, _MOST) < 0:
                _note(name, value, self._large, _LARGEST)
                return Held()
            self._noted[name, id(value)] = noted
        return noted

    def check_large(self) -> None:
        """Refuse the first large container that has changed since code that runs first branched beside it."""
        for name, now, then in self._large:
            if changed(now, then):
                shown = "a container" if name.startswith("__weft") else f"`{name}`"
                kind = "a NumPy array" if _is_array(now) else f"a {type(now).__name__}"
                refuse(
                    "compile-time-container",
                    f"{shown}, {kind} of {len(then)} items, changes after a run-time branch or loop has "
                    "begun",
                    "make it before them, or make a tuple of it",
                    notes=("so large a container must stay as it was at the first of them",),
                )


def captured(fn: Definition) -> Held:
    """The containers of the program around it that a function names, but for large ones."""
    scope, out = fn.scope, Held()
    names = {chain[0] for chain in fn.reads().globals}
    for name, value in (*scope.captured().items(), *_found(sorted(names), scope.globals)):
        out += noted(name, value)
    return out


def noted(name: str, value: Any) -> Held:
    """The containers in a value, but for large ones, and what they hold now."""
    out = Held()
    for held in _held_by(value):
        inner = Held()
        out += inner if _note(name, held, inner, _MOST) >= 0 else []
    return out


def restored(before: Held) -> bool:
    """Make containers what they were; tells whether any was something else."""
    found = [(now, then) for _, now, then in before if changed(now, then)]
    for now, then in found:
        if isinstance(now, (dict, set)):
            cast("set[Any]", now).clear()
            cast("set[Any]", now).update(then)
        elif isinstance(now, collections.deque):
            cast("Any", now).clear()
            cast("Any", now).extend(then)
        elif not isinstance(now, _STATES):
            now[:] = then
    return bool(found)


def _found(names: Iterable[str], scope: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Those of the names that a scope has, with their values."""
    return [(name, scope[name]) for name in names if name in scope]


class _Steps:
    """An iterator of Python's, as a container: where it stands."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.kind = type(of).__name__

    def copy(self) -> list[Any]:
        """Where it stands now."""
        out: list[Any] = []
        waiting = [self.of]
        for one in islice(waiting, 1 << 6):  # which grows meanwhile
            if isinstance(one, GeneratorType):
                frame = one.gi_frame
                inner = [] if frame is None else [*frame.f_locals.values()]
                out += [frame is None or frame.f_lasti, *inner]
            else:
                held = gc.get_referents(one)
                inner = [v for part in held for v in (cast("Any", part) if type(part) is tuple else (part,))]
                try:
                    out.append(length_hint(one, -1))
                except Exception:
                    out.append(-1)
                out.append(repr(one) if type(one) in _COUNTERS else "")
            waiting += [v for v in inner if v is not one and _sort(cast("type[Any]", type(v))) == "iterator"]
        return out


class _Object:
    """An object that remembers what it computes, or has ``__slots__``, as a container: its attributes."""

    def __init__(self, of: Any, remembered: frozenset[str]) -> None:
        self.of = of
        self.remembered = remembered
        self.kind = type(of).__name__

    def copy(self) -> list[Any]:
        """Their names and values."""
        own = state_of(self.of)
        return [part for item in own.items() if item[0] not in self.remembered for part in item]


_STATES = (_Steps, _Object)


@functools.lru_cache(maxsize=4096)
def _remembered(kind: type[Any]) -> frozenset[str]:
    """The attributes that an object of a class computes once."""
    found = [item for cls in kind.__mro__ for item in vars(cls).items()]
    return frozenset(name for name, value in found if type(value) is functools.cached_property)


@functools.lru_cache(maxsize=4096)
def _sort(kind: type[Any]) -> str | None:
    """What values of a class are: containers, arrays, or what may have such in it; None of all others."""
    if "__weft_plain__" in vars(kind):  # a dataclass, which a method may change
        return "object"
    if package_of(kind.__module__) == "weft" or hasattr(kind, "__weft_leaves__"):
        return None
    if issubclass(kind, _KINDS):
        return "container"
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
        return "array"
    if kind in _WRAPPED:
        return "wrapped"
    if issubclass(kind, tuple):
        return "tuple"
    if hasattr(kind, "__next__"):
        return "iterator" if is_library(package_of(kind.__module__)) else "object"
    if isinstance(kind, EnumMeta) or issubclass(kind, (FunctionType, type, ModuleType)):
        return None
    if not (kind.__dictoffset__ or any(type(m) is MemberDescriptorType for m in vars(kind).values())):
        return None
    return None if is_library(package_of(kind.__module__)) else "object"


def _held_by(value: Any, depth: int = _DEEPEST) -> list[Any]:
    """The containers that a value is, or has in it without one between."""
    kind = cast("type[Any]", type(value))
    sort = _sort(kind)
    if sort is None:
        return []
    if sort == "container":
        return [value]
    if sort == "array":
        return [value] if _is_array(value) else []
    if sort == "iterator":
        return [_Steps(value)]
    if sort == "object":
        remembered = _remembered(kind)
        plain = kind.__dictoffset__ and not remembered
        state: Any = cast("Any", vars)(value) if plain else _Object(value, remembered)
        inner = state_of(value).values() if remembered and depth else ()
        return [state, *[held for part in inner for held in _held_by(part, depth - 1)]]
    if depth == 0:
        return []
    parts = value if sort == "tuple" else _wrapped(value)
    return [held for part in parts for held in _held_by(part, depth - 1)]


def _wrapped(value: Any) -> tuple[Any, ...]:
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()
    return (value.__self__,)


def _is_array(value: Any) -> bool:
    return _sort(cast("type[Any]", type(value))) == "array" and value.nbytes <= _LARGEST


def _note(name: str, value: Any, out: Held, left: int, seen: set[int] | None = None) -> int:
    """Copy a container and those in it; gives how many more items may be copied, or less than 0."""
    seen = seen if seen is not None else set()
    seen.add(id(value))
    if isinstance(value, _STATES):
        out.append((name, value, value.copy()))
        return left
    is_array = not isinstance(value, _KINDS)
    left -= value.nbytes // 16 if is_array else len(value)
    if left < 0:
        return left
    out.append((name, value, value.copy()))
    if is_array or isinstance(value, bytearray):
        return left
    items = cast("dict[Any, Any]", value).values() if isinstance(value, dict) else value
    for item in items:
        if _sort(cast("type[Any]", type(item))) is None:
            continue
        for held in _held_by(item):
            left = left if id(held) in seen else _note(name, held, out, left, seen)
            if left < 0:
                return left
    return left


def check(before: Held, what: str, hint: str = "") -> None:
    """Refuse the first container that is not what it was."""
    for beyond, state in before.beyond:
        beyond.left(state, what)
    for name, now, then in before:
        if changed(now, then):
            shown = "it" if name.startswith("__weft") else f"`{name}`"
            kind = kind_of(now)
            refuse(
                "compile-time-container",
                f"this run-time {what} changes {shown}, {a_(kind)} that exists at compile time only",
                notes=(f"its code is made once, but would have to change the {kind} once per run",),
                hint=hint
                or "assign a tuple instead, as in p = (p[0] + x, p[1]), or use SIMD or stack_allocation",
            )


def kind_of(held: Any) -> str:
    """What a container is called."""
    if isinstance(held, _STATES):
        return held.kind
    if _is_array(held):
        return "NumPy array"
    kind = cast("type[Any]", type(held))
    inner = held.values() if kind is dict else ()  # which objects of Python 3.13 have themselves
    for owner in gc.get_referrers(held, *inner):
        if getattr(owner, "__dict__", None) is held:
            return type(owner).__name__
    return kind.__name__


def stays(name: str, value: Any) -> None:
    """Refuse to return a Python object that takes run-time values out of the code that made them unseen."""
    if isinstance(value, (Number, bool, int, float, type, FunctionType, ModuleType)) or is_composite(value):
        return
    kind = cast("type[Any]", type(value))
    runs = isinstance(value, Items) or hasattr(kind, "__next__")
    if runs or (parts_of(value) is None and holds_values(inside(value))):
        refuse(
            "escaped",
            f"{name} returns {a_('iterator' if runs else kind.__name__)}, which holds values of its own code",
            hint="return a tuple, a @struct or a dataclass",
            part=VALUE,
        )


def is_iterator(value: Any) -> bool:
    """Whether a value is one of Python's, which goes on where it was."""
    return _sort(cast("type[Any]", type(value))) == "iterator"


def changed(now: Any, then: Any) -> bool:
    """Whether a container is another than its copy."""
    if isinstance(now, _STATES):
        here = now.copy()
        return len(here) != len(then) or not all(map(_alike, here, then))
    if isinstance(now, bytearray):
        return now != then
    if not isinstance(now, _KINDS):
        return now.tobytes() != then.tobytes()
    if len(now) != len(then):
        return True
    if isinstance(now, dict):
        table = cast("dict[Any, Any]", now)
        return any(key not in then or value is not then[key] for key, value in table.items())
    if isinstance(now, set):
        return bool(cast("set[Any]", now) ^ then)
    return not all(map(is_, cast("list[Any]", now), then))


def _alike(a: Any, c: Any) -> bool:
    """Whether two objects are the same, or equal numbers or texts."""
    return a is c or (type(a) is type(c) and isinstance(a, (int, str)) and a == c)
