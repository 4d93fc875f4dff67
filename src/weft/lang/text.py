"""Text with run-time numbers in it: marks stand for them, which ``print`` and ``assert`` resolve."""

from __future__ import annotations

import functools
import re
from typing import Any, NoReturn

from weft.diagnostics import refuse
from weft.lang.elaboration import current


@functools.cache
def token() -> re.Pattern[str]:
    """The mark of a number, by its place in the list of the elaboration."""
    return re.compile("\x00(\\d+)\x01")


def marked(text: str) -> Any:
    """A text of staged code: one with marks can only be printed."""
    return RunTimeText(text) if token().search(text) else text


def mark(held: Any, spec: str, like: object, name: str) -> str:
    """The mark of a number, or a text with marks, that is formatted by ``spec``, as ``like`` can be."""
    if token().search(spec):
        hint = "pass it as a Comptime parameter"
        refuse("print", "a width or precision that exists only at run time formats nothing", hint=hint)
    try:
        format(like, spec)
    except ValueError as error:
        hint = "write what Python's format takes, such as {x:.3f} or {n:4d}"
        refuse("print", f"`{spec}` formats no {name}: {error}", hint=hint)
    formatted = current().elaborator.formatted
    formatted.append((held, spec))
    return f"\x00{len(formatted) - 1}\x01"


def _refuse(*_: Any, hint: str | None = None, **__: Any) -> NoReturn:
    refuse(
        "text",
        "this text holds numbers that exist only at run time: it can be printed, and nothing else",
        notes=("the host makes the text, of what a kernel sends it",),
        hint=hint or "compute with the numbers themselves, and put the text into print(...) or an assert",
    )


class RunTimeText:
    """An f-string of run-time numbers: can be printed, and put before or behind another text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text: str = text

    def __add__(self, other: object) -> RunTimeText:
        return RunTimeText(self.text + self._text_of(other))

    def __radd__(self, other: object) -> RunTimeText:
        return RunTimeText(self._text_of(other) + self.text)

    @staticmethod
    def _text_of(other: object) -> str:
        if isinstance(other, RunTimeText):
            return other.text
        return other if isinstance(other, str) else _refuse()

    def __format__(self, spec: str) -> str:
        return mark(self.text, spec, "", "text") if spec else self.text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        side = {"rjust": ">8", "ljust": "<8", "center": "^8", "zfill": "08"}.get(name)
        _refuse(hint=f'write the width where it is printed: print(f"{{x:{side}}}")' if side else None)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __len__ = __getitem__ = _refuse
    __iter__ = __int__ = __float__ = __index__ = _refuse
    __mul__ = __rmul__ = __mod__ = __bool__ = __str__ = __repr__ = __hash__ = _refuse
