"""``value in items`` where one of them exists only at run time: comparisons, joined by ``or``."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from enum import Flag
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.frontend.iteration import on_device
from weft.compiler.frontend.pybuiltins import check_classes, late
from weft.compiler.frontend.ranges import Range
from weft.diagnostics import LEFT, RIGHT, a_, refuse
from weft.lang.maybe import Maybe
from weft.lang.number import Number
from weft.lang.products import class_of, compared_parts, is_by_parts, parts_of
from weft.lang.python_number import python_number
from weft.lang.spec import is_composite

if TYPE_CHECKING:
    from weft.compiler.frontend.logic import Logic

__all__ = ["contains", "equal"]

_CONTAINERS: tuple[Any, ...] = (tuple, list, set, frozenset, dict, KeysView, ValuesView, ItemsView, bytes)


def contains(b: Logic, value: Any, items: Any) -> Any:
    """``value in items``: Python's own answer for Python's objects, else a Bool."""
    if isinstance(items, range):
        items = Range(items.start, items.stop, items.step)
    if isinstance(items, Range):
        return _in_range(b, value, items)
    own: Any = getattr(class_of(items), "__contains__", None)
    if not isinstance(items, Number) and (hasattr(own, "__code__") or (is_composite(items) and own)):
        return b.truth(own(items, value))
    if is_composite(items) and not on_device(items) and getattr(class_of(items), "__iter__", None):
        items = tuple(cast("Iterable[Any]", items))  # an array, a vector, or what a struct's own gives
    if _is_flag(value) and isinstance(items, Number):  # an IntFlag, of which the bits are asked for
        bits = int(value.value)
        return equal(b, items & bits, bits)
    if isinstance(items, _CONTAINERS):
        members = list(cast("Iterable[Any]", items))
        for member in members:
            check_classes(value, member)
        if not any(late(v) or hasattr(v, "__weft_stepped__") for v in (value, *members)):
            return value in items
        if isinstance(value, Number) and value.lanes != 1:
            refuse(
                "condition",
                f"`in` asks about one value, but `{LEFT}` has {value.lanes} lanes",
                hint=f"compare lane by lane: ({LEFT} == a) | ({LEFT} == b)",
            )
        found: Any = False
        for member in members:
            found = b.either(found, lambda member=member: equal(b, value, member))
        return found
    if isinstance(items, Number):
        same = f"{RIGHT} == {LEFT}"
        refuse(
            "operand",
            f"`in` searches a tuple, list, set, dict or range, but `{RIGHT}` is {a_(type(items).__name__)}",
            hint=f"write ({same}).reduce_or()" if items.lanes > 1 else f"write {same}",
        )
    if late(value):
        refuse(
            "not-compile-time",
            f"`{RIGHT}` is searched at compile time, but `{LEFT}` exists only at run time",
            notes=("of a tuple, list, set, dict or range the comparisons are compiled",),
            hint=f"write {LEFT} in {RIGHT}.tolist()"
            if hasattr(items, "tolist")
            else f"write any(v == {LEFT} for v in {RIGHT})"
            if on_device(items) or isinstance(items, Iterator)
            else "write a tuple of numbers",
        )
    return value in items


def _is_flag(value: Any) -> bool:
    return isinstance(value, Flag)


def equal(b: Logic, a: Any, c: Any, item: bool = False) -> Any:
    """``a == c`` as a bool or a Bool, of tuples and lists item by item; of an item's lanes all have to be."""
    if isinstance(a, Maybe) or isinstance(c, Maybe):
        return _maybe_equal(b, python_number(a), python_number(c))
    if {class_of(a), class_of(c)} == {list}:
        a, c = tuple(a), tuple(c)
    if {type(a), type(c)} == {dict}:
        if a.keys() != c.keys():
            return False
        a, c = tuple(a.values()), tuple([c[key] for key in a])
    sides = compared_parts(a, c, "__eq__")
    if sides is None and class_of(a) is not class_of(c) and (is_by_parts(a) or is_by_parts(c)):
        one, other = (c, a) if is_by_parts(a) else (a, c)
        own: Any = class_of(one).__eq__
        return b.truth(own(one, other)) if not is_by_parts(one) and hasattr(own, "__code__") else False
    if sides is not None:
        items, others = sides
        same: Any = len(items) == len(others)
        for one, other in zip(items, others, strict=False):
            same = b.both(same, lambda one=one, other=other: equal(b, one, other, item=True))
        return same
    if class_of(a) is class_of(c) and parts_of(a) is not None and class_of(a).__eq__ is object.__eq__:
        name = class_of(a).__name__
        refuse(
            "operand",
            f"`==` of {name}, which is made with eq=False, asks for the same object, and this one is a value",
            hint="leave eq=False out, or compare the fields that matter",
        )
    found = a == c
    return b.truth(found.all() if item and isinstance(found, Number) and found.lanes > 1 else found)


def _maybe_equal(b: Logic, a: Any, c: Any) -> Any:
    """``a == c`` where either may be None."""
    if not isinstance(a, Maybe):
        a, c = c, a
    if not isinstance(a, Maybe):
        return a is c if a is None or c is None else equal(b, a, c)
    if c is None:
        return b.not_(a.flag())
    if not isinstance(c, Maybe):
        return b.both(a.flag(), lambda: equal(b, a.weft_held, c))
    none = b.both(b.not_(a.flag()), lambda: b.not_(c.flag()))
    there = b.both(b.both(a.flag(), c.flag), lambda: equal(b, a.weft_held, c.weft_held))
    return b.either(none, lambda: there)


def _in_range(b: Logic, value: Any, items: Range) -> Any:
    start, stop, step = items.start, items.stop, items.step
    if not any(isinstance(v, Number) for v in (value, start, stop, step)):
        return value in items.known()
    if isinstance(value, Number) and not value.dtype.is_integer:
        refuse(
            "range",
            f"a range has integers in it, but `{LEFT}` is {a_(type(value).__name__)}",
            hint="compare it with both ends",
        )

    def up() -> Any:
        return b.both(start <= value, lambda: value < stop)

    def down() -> Any:
        return b.both(value <= start, lambda: stop < value)

    if isinstance(step, Number):
        within = b.either(b.both(step > 0, up), lambda: b.both(step < 0, down))
    else:
        within = up() if step > 0 else down()
        if step in (1, -1):
            return within
    return b.both(within, lambda: items.meets(value))
