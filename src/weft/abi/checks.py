"""What checked kernels are checked for: each kind has a word, by which users ask for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from weft.diagnostics import nearest

Check = Literal["bounds", "races", "overflow", "wrap", "division", "shift", "nan", "conversion", "leaks"]
Checks = bool | Check | Collection[Check]
"""What users write: True for what is always checked, False for nothing, or words."""
CHECKS: dict[str, str] = {
    "bounds": "accesses of memory are within what their pointer is for",
    "races": "threads share memory in an order, and read what was written; on CPUs",
    "overflow": "sums, differences, products and quotients of signed integers fit their type",
    "wrap": "those of unsigned integers do too",
    "division": "no divisor is zero",
    "shift": "integers are shifted by less than their width, and not by a negative number",
    "nan": "of finite numbers no NaN and no infinity is made",
    "leaks": "buffers are closed once, and before their context",
    "conversion": "numbers fit the type that they are converted to; rounding and truncation are no matter",
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
