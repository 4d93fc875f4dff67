"""Text with run-time numbers in it: marks stand for them, which ``print`` and ``assert`` resolve."""

from __future__ import annotations

import functools
import re
from typing import Any, NoReturn

from weft.diagnostics import refuse


@functools.cache
def token() -> re.Pattern[str]:
    """The mark of a number, by its place in the list of the elaboration."""
    return re.compile("\x00(\\d+)\x01")


def marked(text: str) -> Any:
    """A text of staged code: one with marks can only be printed."""
    return RunTimeText(text) if token().search(text) else text


def _refuse(*_: Any, **__: Any) -> NoReturn:
    refuse(
        "text",
        "this text holds numbers that exist only at run time: it can be printed, and nothing else",
        notes=("the host makes the text, of what a kernel sends it",),
        hint="compute with the numbers themselves, and put the text into print(...) or an assert",
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
        return self.text if not spec else _refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __len__ = __getitem__ = _refuse
    __iter__ = __int__ = __float__ = __index__ = _refuse
    __mul__ = __rmul__ = __mod__ = __bool__ = __str__ = __repr__ = __hash__ = _refuse
