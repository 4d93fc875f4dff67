"""Python's lists, dicts, sets and arrays exist while a kernel is compiled: run-time code cannot change them.

A loop's body is elaborated once and both branches of an ``if`` are, so a list that one of them
changed would be wrong afterwards. What a region must leave alone is noted when it is entered and
compared, item by item, when it is left.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from operator import is_
from types import FrameType, FunctionType, ModuleType
from typing import Any, cast

from weft.compiler.frontend.iteration import Items
from weft.compiler.source.definition import Definition
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.number import Number
from weft.lang.products import parts_of
from weft.lang.spec import holds_values, inside, is_composite

Held = list[tuple[str, Any, Any]]
"""The name, the container and a copy of it."""

_KINDS: frozenset[Any] = frozenset({list, dict, set})
_MOST = 1 << 12
"""A container of more items, or an array of more bytes, is large: copied once, and not at each branch."""
_LARGEST = 1 << 24
"""An array of more bytes is not copied to see whether it changes."""


class Containers:
    """The containers that one function meets, each copied again only where it has changed."""

    def __init__(self) -> None:
        self._noted: dict[tuple[str, int], Held] = {}
        self._large: Held = []

    def held(self, frame: FrameType | None) -> Held:
        """The containers that a frame's variables and the globals that it names hold, but for large ones."""
        out: Held = []
        if frame is not None:
            for name, value in (*frame.f_locals.items(), *_found(frame.f_code.co_names, frame.f_globals)):
                kind = _sort(cast("type[Any]", type(value)))
                if kind is None:
                    continue
                if kind == "parts":
                    if parts_of(value) is not None:
                        out += self._note(name, getattr(value, "__dict__", {}))  # a method may change it
                elif _is_container(value):
                    out += self._note(name, value)
        return out

    def _note(self, name: str, value: Any) -> Held:
        if any(known is value for _, known, _ in self._large):
            return []
        noted = self._noted.get((name, id(value)))
        if noted is None or any(_changed(now, then) for _, now, then in noted):
            noted = list[tuple[str, Any, Any]]()
            if _note(name, value, noted, _MOST) < 0:
                _note(name, value, self._large, _LARGEST)
                return []
            self._noted[name, id(value)] = noted
        return noted

    def check_large(self) -> None:
        """Refuse the first large container that has changed since code that runs first branched beside it."""
        for name, now, then in self._large:
            if _changed(now, then):
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
    scope, out = fn.scope, list[tuple[str, Any, Any]]()
    names = {chain[0] for chain in fn.reads().globals}
    for name, value in (*scope.captured().items(), *_found(sorted(names), scope.globals)):
        out += noted(name, value)
    return out


def noted(name: str, value: Any) -> Held:
    """A container with those in it, unless it is large, and what they hold now; of anything else nothing."""
    out: Held = []
    return out if _is_container(value) and _note(name, value, out, _MOST) >= 0 else []


def restored(before: Held) -> bool:
    """Make containers what they were; tells whether any was something else."""
    changed = [(now, then) for _, now, then in before if _changed(now, then)]
    for now, then in changed:
        if type(now) in (dict, set):
            now.clear()
            now.update(then)
        else:
            now[:] = then
    return bool(changed)


def _found(names: Iterable[str], scope: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Those of the names that a scope has, with their values."""
    return [(name, scope[name]) for name in names if name in scope]


@functools.lru_cache(maxsize=4096)
def _sort(kind: type[Any]) -> str | None:
    """What values of a class are: containers of Python, arrays, or of several parts; None of all others."""
    if kind in _KINDS:
        return "container"
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
        return "array"
    return "parts" if hasattr(kind, "__dataclass_fields__") else None


def _is_container(value: Any) -> bool:
    return _sort(cast("type[Any]", type(value))) == "container" or _is_array(value)


def _is_array(value: Any) -> bool:
    return _sort(cast("type[Any]", type(value))) == "array" and value.nbytes <= _LARGEST


def _note(name: str, value: Any, out: Held, left: int) -> int:
    """Copy a container and those in it; gives how many more items may be copied, or less than 0."""
    is_array = type(value) not in _KINDS
    left -= value.nbytes // 16 if is_array else len(value)
    if left < 0:
        return left
    out.append((name, value, value.copy()))
    if is_array:
        return left
    items = cast("dict[Any, Any]", value).values() if isinstance(value, dict) else value
    for item in items:
        if _is_container(item):
            left = _note(name, item, out, left)
            if left < 0:
                break
    return left


def check(before: Held, what: str) -> None:
    """Refuse the first container that is not what it was."""
    for name, now, then in before:
        if _changed(now, then):
            shown = "it" if name.startswith("__weft") else f"`{name}`"
            kind = "NumPy array" if _is_array(now) else type(now).__name__
            refuse(
                "compile-time-container",
                f"this run-time {what} changes {shown}, a {kind} that exists at compile time only",
                notes=(f"its code is made once, but would have to change the {kind} once per run",),
                hint="assign a tuple instead, as in p = (p[0] + x, p[1]), or use SIMD or stack_allocation",
            )


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


def _changed(now: Any, then: Any) -> bool:
    if type(now) not in _KINDS:
        return now.tobytes() != then.tobytes()
    if len(now) != len(then):
        return True
    if isinstance(now, dict):
        table = cast("dict[Any, Any]", now)
        return any(key not in then or value is not then[key] for key, value in table.items())
    if isinstance(now, list):
        return not all(map(is_, cast("list[Any]", now), then))
    return bool(now ^ then)
