"""``SIMD[Float32, ...]``: an annotation that takes any number of lanes of one format.

It stands for the one-lane class wherever a class is needed without a value. Where there is a value,
``closed`` gives the class of its lanes.
"""

from __future__ import annotations

import functools
from typing import Any

from weft.dtype import DType
from weft.lang.number import Number, number_class


@functools.cache
def any_lanes(dtype: DType) -> type[Number]:
    """``SIMD[dtype, ...]``."""
    scalar = number_class(dtype)

    def make(cls: type[Number], value: Any = 0) -> Number:
        return closed(cls, value)(value)

    members = {"__slots__": (), "__new__": make, "weft_any_lanes": True}
    return type(f"SIMD[{scalar.__name__}, ...]", (scalar,), members)


def is_open(annotation: object) -> bool:
    """Whether an annotation takes any number of lanes."""
    return hasattr(annotation, "weft_any_lanes")


def closed(annotation: type[Number], value: object) -> type[Number]:
    """The class that ``value`` becomes by an annotation: one of its own lanes where these are open."""
    if not is_open(annotation):
        return annotation
    return number_class(annotation.dtype, value.lanes if isinstance(value, Number) else 1)
