"""``match``: whether a value fits a pattern, and what the pattern captures of it.

What a value is made of is known at compile time: its class, its length, its keys. So only comparisons of
numbers are left to run time. ``desugar`` says how a pattern is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.frontend.membership import equal
from weft.compiler.frontend.ranges import Range
from weft.diagnostics import refuse
from weft.dtype import DType
from weft.lang.enums import EnumValue
from weft.lang.maybe import Maybe
from weft.lang.number import Number

if TYPE_CHECKING:
    from weft.compiler.frontend.logic import Logic

_Captured = dict[int, Any]
_Found = tuple[Any, _Captured]
"""A bool, or a Bool at run time; and what is captured where it holds."""

_NO: _Found = (False, {})
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple, Number)
"""Classes of which a pattern's only position is the value itself."""


def fits(b: Logic, value: Any, pattern: Any) -> _Found:
    """Whether a value fits a pattern, and what is captured."""
    kind, *parts = pattern
    if isinstance(value, Maybe):
        value = value.narrowed()
    if isinstance(value, Maybe) and (kind == "sequence" or (kind == "class" and not _takes_none(parts[0]))):
        test, captured = fits(b, value.weft_held, pattern)
        return _NO if test is False else (b.both(value.flag(), lambda: test), captured)
    return _KINDS[kind](b, value, *parts)


def _takes_none(cls: Any) -> bool:
    return isinstance(cls, type) and isinstance(None, cls)


def are_all(value: Any, wanted: Sequence[Any]) -> bool:
    """Whether a Bool, or a member of an enum, can be no other than these."""
    if isinstance(value, EnumValue):
        return all(member in wanted for member in value.cls)
    flag = isinstance(value, Number) and value.dtype is DType.bool and value.lanes == 1
    return flag and {True, False} <= {v for v in wanted if isinstance(v, bool)}


def _value(b: Logic, value: Any, wanted: Any) -> _Found:
    return equal(b, value, wanted), {}


def _single(b: Logic, value: Any, wanted: bool | None) -> _Found:
    if wanted is not None and isinstance(value, Number) and value.dtype is DType.bool and value.lanes == 1:
        return (b.truth(value) if wanted else b.not_(value)), {}
    return b.is_(value, wanted, False) if isinstance(value, Maybe) else value is wanted, {}


def _as(b: Logic, value: Any, inner: Any, index: int | None) -> _Found:
    test, captured = (True, {}) if inner is None else fits(b, value, inner)
    return test, captured if index is None else {**captured, index: value}


def _or(b: Logic, value: Any, patterns: Sequence[Any]) -> _Found:
    found, captured = _NO
    for pattern in patterns:
        if found is True:
            break
        test, more = fits(b, value, pattern)
        if found is False:
            found, captured = test, more
        elif test is not False:
            before, captured = captured, dict[int, Any]()
            for index, new in more.items():
                captured[index] = b.if_exp(found, lambda old=before[index]: old, lambda new=new: new)
            found = b.either(found, lambda test=test: test)
    return found, captured


def _all(b: Logic, values: Sequence[Any], patterns: Sequence[Any]) -> _Found:
    """Whether all fit."""
    found: Any = True
    captured: _Captured = {}
    for value, pattern in zip(values, patterns, strict=True):
        test, more = fits(b, value, pattern)
        if test is False:
            return _NO
        found = b.both(found, lambda test=test: test)
        captured |= more
    return found, captured


def _sequence(b: Logic, value: Any, patterns: Sequence[Any]) -> _Found:
    if isinstance(value, Range):
        value = value.known()
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
        return _NO
    items = list(cast("Sequence[Any]", value))
    star = next((n for n, p in enumerate(patterns) if p[0] == "star"), None)
    if star is None:
        return _all(b, items, patterns) if len(items) == len(patterns) else _NO
    behind = len(patterns) - star - 1
    if len(items) < star + behind:
        return _NO
    end = len(items) - behind
    rest = ("as", None, patterns[star][1])
    return _all(
        b, [*items[:star], items[star:end], *items[end:]], [*patterns[:star], rest, *patterns[star + 1 :]]
    )


def _mapping(b: Logic, value: Any, keys: Sequence[Any], patterns: Sequence[Any], rest: Any) -> _Found:
    if not isinstance(value, Mapping):
        return _NO
    table = cast("Mapping[Any, Any]", value)
    if any(key not in table for key in keys):
        return _NO
    left = {key: item for key, item in table.items() if key not in keys}
    values = [*(table[key] for key in keys), *([] if rest is None else [left])]
    return _all(b, values, [*patterns, *([] if rest is None else [rest])])


def _class(
    b: Logic, value: Any, cls: Any, patterns: Sequence[Any], names: Sequence[str], named: Sequence[Any]
) -> _Found:
    if not isinstance(cls, type):
        refuse(
            "pattern", f"a class stands in a pattern, not {cls!r}", hint="compare in a guard: `case x if ...`"
        )
    if not b.py_isinstance(value, cls):
        return _NO
    kind = cast("type[Any]", cls)
    positions: Sequence[str] = getattr(kind, "__match_args__", ())
    whole = not positions and issubclass(kind, _WHOLE)
    if len(patterns) > (takes := 1 if whole else len(positions)):
        refuse(
            "pattern",
            f"case {kind.__name__}() has {takes or 'no'} position{'s' * (takes != 1)}, not {len(patterns)}",
            hint="name the fields, as in case Point(x=0)",
        )
    fields = [*positions[: len(patterns)], *names]
    if any(not hasattr(value, name) for name in fields):
        return _NO
    values = [*([value] * len(patterns) if whole else ()), *(getattr(value, name) for name in fields)]
    return _all(b, values, [*patterns, *named])


_KINDS: dict[str, Callable[..., _Found]] = {
    "value": _value,
    "single": _single,
    "or": _or,
    "as": _as,
    "sequence": _sequence,
    "mapping": _mapping,
    "class": _class,
}
