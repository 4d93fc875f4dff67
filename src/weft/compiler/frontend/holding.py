"""Whether a value, or any value of a class, is of a class or has a part that is."""

from __future__ import annotations

import functools
from types import FrameType, ModuleType
from typing import Any, cast

from weft.compiler.frontend.variables import Var
from weft.compiler.source.definition import Definition
from weft.lang.captured import is_library, package_of
from weft.lang.inline_array import InlineArray
from weft.lang.number import Number, number_class
from weft.lang.pointer import Pointer
from weft.lang.products import parts_of
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, is_composite, spec_of
from weft.lang.structs import is_struct, struct_fields
from weft.lang.told_apart import state_of

_DEEPEST = 4


def seen(name: str, frame: FrameType, fn: Definition) -> Any:
    """What a name stands for where a function runs; it may be a captured variable or a global."""
    if name in frame.f_locals:
        return frame.f_locals[name]
    return fn.scope.captured().get(name, fn.scope.globals.get(name))


def holds(
    value: Any, kind: type[Any], but: Any = None, *, strictly: bool = False, deep: int = _DEEPEST
) -> bool:
    """Whether a value is of a class or has a part that is (``strictly``: a part); ``but`` is left out.

    Parts of the program's ordinary objects are what their attributes lead to, so many steps ``deep``.
    """
    if value is but or value is None:
        return False
    if type(value) is Var:
        return value.spec is not None and _spec_holds(value.spec, kind, strictly)
    if type(value) is kind and not strictly:
        return True
    items: Any = value
    if isinstance(value, (Number, InlineArray)) or is_struct(cast("type[Any]", type(value))):
        return _spec_holds(spec_of(value), kind, strictly)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).values()
    elif isinstance(value, functools.partial):  # a method of an object
        items = cast("functools.partial[Any]", value).args
    elif hasattr(value, "captures"):  # a function in a function
        items = value.held()
    elif hasattr(value, "__next__"):  # which runs over what nobody can ask it for; memory it reads then
        return but is None
    elif not isinstance(value, (list, set, tuple)):
        items = parts_of(value)
        if items is None:
            items = state_of(value).values() if deep and _is_ordinary(cast("type[Any]", type(value))) else ()
            deep -= 1
    return any(holds(item, kind, but, deep=deep) for item in items)


@functools.lru_cache(1024)
def _is_ordinary(cls: type[Any]) -> bool:
    """Whether ordinary objects of a class are the program's: neither weft's nor another package's."""
    top = package_of(cls.__module__)
    return not issubclass(cls, (type, ModuleType)) and top != "weft" and not is_library(top)


def _spec_holds(spec: Spec, kind: type[Any], strictly: bool = False) -> bool:
    if isinstance(spec, NumberSpec):
        return not strictly and number_class(spec.dtype, spec.lanes) is kind
    if not isinstance(spec, PartsSpec):
        return False
    return (spec.cls is kind and not strictly) or any(_spec_holds(s, kind) for s in spec.items)


def has_no_parts(value: Any) -> bool:
    """Whether a value is a number or an address."""
    spec = value.spec if type(value) is Var else None
    if isinstance(spec, NumberSpec):
        return spec.lanes == 1
    if isinstance(value, Number):
        return value.lanes == 1
    return isinstance(spec, PointerSpec) or isinstance(value, (bool, int, float, str, Pointer))


def is_memory(value: Any) -> bool:
    """Whether a value is an address, a tensor or the like, and no struct that holds one."""
    spec = value.spec if type(value) is Var else spec_of(value) if is_composite(value) else None
    return (
        spec is not None and not isinstance(spec, PartsSpec) and any(leaf.pointer for leaf in spec.leaves())
    )


def has_no_parts_of(cls: type[Any]) -> bool:
    """Whether values of a class are numbers or addresses, or give such one by one."""
    if issubclass(cls, Number):
        return getattr(cls, "lanes", 2) == 1
    return issubclass(cls, (bool, int, float, str, range, Pointer))


def may_hold(cls: type[Any], kind: type[Any], field: str | None = None) -> bool:
    """Whether values of a class may have a part that is of another class; ``field``: within this one."""
    if is_struct(cls):
        fields = struct_fields(cls)
        return any(_holds(fields[name], kind) for name in ([field] if field else fields))
    if issubclass(cls, InlineArray):
        items = getattr(cls, "__weft_items__", None)
        return items is None or _holds(items[0], kind)
    return not hasattr(cls, "dtype")


def _holds(annotation: Any, kind: type[Any]) -> bool:
    return not isinstance(annotation, type) or annotation is kind or may_hold(annotation, kind)
