"""Python's lists, dicts, sets and arrays exist while a kernel is compiled: run-time code cannot change them.

A loop's body is elaborated once and both branches of an ``if`` are, so a list that one of them
changed would be wrong afterwards. What a region must leave alone is noted when it is entered and
compared, item by item, when it is left.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, cast

from weft.lang.errors import refuse

__all__ = ["Held", "check", "held"]

Held = list[tuple[str, Any, Any]]
"""The name, the container and a copy of it."""


def held(frame: FrameType | None) -> Held:
    """The containers that the variables of ``frame`` hold."""
    out: Held = []
    if frame is not None:
        for name, value in frame.f_locals.items():
            if type(value) in _KINDS or _is_array(value):
                _note(name, value, out)
    return out


_KINDS: frozenset[Any] = frozenset({list, dict, set})
_LARGEST = 1 << 16
"""An array of more bytes than this is not copied to see whether it changes."""


def _is_array(value: Any) -> bool:
    kind = cast("type[Any]", type(value))
    return kind.__name__ == "ndarray" and kind.__module__ == "numpy" and value.nbytes <= _LARGEST


def _note(name: str, value: Any, out: Held) -> None:
    out.append((name, value, value.copy()))
    if type(value) not in _KINDS:
        return
    items = cast("dict[Any, Any]", value).values() if isinstance(value, dict) else value
    for item in items:
        if type(item) in _KINDS or _is_array(item):
            _note(name, item, out)


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


def _changed(now: Any, then: Any) -> bool:
    if type(now) not in _KINDS:
        return now.tobytes() != then.tobytes()
    if len(now) != len(then):
        return True
    if isinstance(now, dict):
        table = cast("dict[Any, Any]", now)
        return any(key not in then or value is not then[key] for key, value in table.items())
    if isinstance(now, list):
        items = cast("list[Any]", now)
        return any(a is not c for a, c in zip(items, then, strict=True))
    return bool(now ^ then)
