"""Placeholders: values of the right type for a variable, or a result, that is None."""

from __future__ import annotations

from typing import Any, cast

from weft.lang.maybe import Maybe
from weft.lang.number import Number, number_class
from weft.lang.products import class_of, parts_of, remade
from weft.lang.python_number import python_number
from weft.lang.spec import NumberSpec, PartsSpec, Spec, is_composite, spec_of

NO_BLANK: Any = object()
"""There is none: the value is known at compile time alone, or has other than numbers in it."""


def blank_of(value: Any) -> Any:
    """A value of the same type, of zeros; literals stay literals."""
    value = python_number(value)
    if isinstance(value, Maybe):
        return blank_of(value.weft_held)
    if type(value) in (bool, int, float):  # a member of an IntEnum is another thing
        return type(value)()
    if isinstance(value, Number):
        if value.weak is not None:
            return 0.0 if value.dtype.is_float else 0
        return blank_of_spec(NumberSpec(value.dtype, value.lanes))
    parts = None if is_composite(value) else parts_of(value)
    if parts is not None:
        blanks = [blank_of(part) for part in parts]
        return NO_BLANK if any(b is NO_BLANK for b in blanks) else remade(class_of(value), blanks)
    return blank_of_spec(spec_of(value)) if is_composite(value) else NO_BLANK


def blank_of_spec(spec: Spec) -> Any:
    """A value of zeros of what a spec says."""
    if isinstance(spec, NumberSpec):
        cls = number_class(spec.dtype, spec.lanes)
        return cls(0) if spec.lanes == 1 else cls.of(cast("Any", (0,) * spec.lanes))
    if not isinstance(spec, PartsSpec):
        return NO_BLANK
    blanks = [blank_of_spec(item) for item in spec.items]
    return NO_BLANK if any(b is NO_BLANK for b in blanks) else remade(spec.cls, blanks)
