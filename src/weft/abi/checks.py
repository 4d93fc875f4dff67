"""What checked kernels are checked for: each kind has a word, by which users ask for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from weft.diagnostics import nearest

Check = Literal["bounds", "races"]
Checks = bool | Check | Collection[Check]
"""What users write: True for what is always checked, False for nothing, or words."""
CHECKS: dict[str, str] = {
    "bounds": "accesses of memory are within what their pointer is for",
    "races": "threads share memory in an order, and read what was written; on CPUs",
}
"""What each word asks for."""
ALWAYS = frozenset({"bounds", "races"})
"""What ``True`` stands for."""


def checks_of(asked: Checks) -> frozenset[str]:
    """The words that are meant.

    Raises:
        ValueError: there is no such word; the text says what there is.
    """
    if isinstance(asked, bool):
        return ALWAYS if asked else frozenset()
    words = (asked,) if isinstance(asked, str) else tuple(asked)
    for word in words:
        if word not in CHECKS:
            guess = nearest(str(word), CHECKS)
            meant = f"; did you mean {guess!r}?" if guess else ""
            raise ValueError(f"{word!r} is none of {', '.join(CHECKS)}{meant}")
    return frozenset(words)
