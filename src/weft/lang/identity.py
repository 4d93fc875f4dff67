"""``is`` in ordinary Python that kernels call: a member of an Enum known at run time is no object there.

``mode is Mode.FAST`` would be False, whatever the member. So as soon as there is such a member, calls are
watched until the elaboration ends, and a function that has ``is`` in it and is given one is refused.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any, cast

from weft.diagnostics import refuse

_NOT_USERS = os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(__file__))


def watch() -> None:
    """Ask of each call from now on, unless another profiler does."""
    if sys.getprofile() is None:
        sys.setprofile(_called)


def unwatch() -> None:
    """No more."""
    if sys.getprofile() is _called:
        sys.setprofile(None)


def _called(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and _asks(frame.f_code):
        found = _first(frame.f_locals.values())
        if found:
            name = frame.f_code.co_name
            refuse(
                "not-compile-time",
                f"{name} asks by `is` at compile time, of a member of {found} known only at run time",
                hint=f"decorate {name} with @func to compile it",
            )


@functools.cache
def _asks(code: CodeType) -> bool:
    """Whether a user's function compares objects by ``is``, but for None."""
    import dis

    if code.co_filename.startswith((*_NOT_USERS, "<string>", "<frozen")):
        return False
    before: Any = None
    for op in dis.get_instructions(code):
        if op.opname == "IS_OP" and not (before.opname == "LOAD_CONST" and before.argval is None):
            return True
        before = op
    return False


def _member(value: Any) -> str:
    """The class of a member that a value is or has in it."""
    from weft.lang.enums import EnumValue
    from weft.lang.products import all_parts

    if isinstance(value, EnumValue):
        return value.cls.__name__
    parts: Any = cast("Any", value) if isinstance(value, list) else all_parts(value)
    return _first(parts or ())


def _first(values: Iterable[Any]) -> str:
    return next((name for value in values if (name := _member(value))), "")
