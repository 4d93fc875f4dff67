"""``t[i] += x`` of a part of a tensor: this thread alone computes each of its elements where they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.lang.operators import ARITHMETIC, BITWISE, function_of
from weft.layout.tensor.loops import update_all


class InPlace:
    """A part of a tensor that an augmented assignment changes; ``tensor`` is what it gives back."""

    __slots__ = ("tensor",)
    __weft_changed__ = True

    def __init__(self, tensor: Any) -> None:
        self.tensor: Any = tensor


def _changing(function: Callable[[Any, Any], Any]) -> Callable[[InPlace, Any], InPlace]:
    def change(self: InPlace, other: Any) -> InPlace:
        update_all(self.tensor, function, other)
        return self

    return change


for _name in ARITHMETIC + BITWISE:
    setattr(InPlace, f"__i{_name}__", _changing(function_of(_name)))
