"""``SIMD[Float32, ...]``: an annotation that takes any number of lanes of one format.

It stands for the one-lane class wherever a class is needed without a value. Where there is a value,
``closed`` gives the class of its lanes.
"""

from __future__ import annotations

import functools
from typing import Any

from weft.diagnostics import VALUE, a_, refuse
from weft.dtype import DType
from weft.lang.hints import kind_of
from weft.lang.number import CLASSES, Number, number_class
from weft.lang.weak import assumed_type


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
    """The class that ``value`` becomes by an annotation: one of its own lanes where these are open.

    By a class of several types, such as ``Integer``, it stays what it is.

    Raises:
        CompileError: it is none of these types.
    """
    if is_open(annotation):
        return number_class(annotation.dtype, value.lanes if isinstance(value, Number) else 1)
    if annotation is Number or hasattr(annotation, "dtype"):
        return annotation
    literal = isinstance(value, (bool, int, float))
    kinds = [number_class(assumed_type(value)), CLASSES["float32", 1]] if literal else [type(value)]
    found = next((kind for kind in kinds if issubclass(kind, annotation)), None)
    if found is None:
        message = f"{a_(annotation.__name__)} is annotated here, not {kind_of(value)}"
        refuse("conversion", message, hint="convert it: Int(...), say, or annotate what it is", part=VALUE)
    return found
