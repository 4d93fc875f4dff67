"""The fields of objects that a function changes: further results, which the code that calls assigns to them.

A field that leads to a struct may lead to another one in the end: to one that was lent as well, or to one
that the function has made, which is given back by its values. Where run time knows which, a number says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.compiler.frontend.objects import has_structs
from weft.compiler.ir.core import Value
from weft.dtype import DType
from weft.lang.objects import bases_of, is_merged, is_own, looking, note_led_to, note_made
from weft.lang.products import class_of, objects_in, structs_in, within
from weft.lang.spec import Leaf, NumberSpec, Spec, StaticSpec, leaves_of, spec_of
from weft.lang.structs import is_struct
from weft.record import record

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging

MADE = -1
"""In place of which of the lent objects a field leads to: one that the function has made."""
_WHICH = NumberSpec(DType.int64)


@record
class GivenBack:
    """A field that a function changes: of which of the objects that it is lent, and of what kind it is."""

    of: int
    field: str
    spec: Spec
    to: tuple[int, ...] = ()
    """Of one that leads to a struct to which it may lead."""

    @property
    def is_chosen(self) -> bool:
        """Whether a number says where it leads to, before the values of what was made."""
        return len(self.to) > 1

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return (*_WHICH.leaves(), *self.spec.leaves()) if self.is_chosen else self.spec.leaves()


class _Led(NamedTuple):
    """Where a field leads to that has a struct, where control returns."""

    value: Any
    to: Mapping[int, int]
    """By the numbers of what it may be, which of the objects that are lent; of a copy nothing."""
    made: Sequence[Any]
    which: Value | None
    spec: Spec
    leaves: Sequence[Value]


class Return(NamedTuple):
    """Control returns: what the fields of what is lent hold, and the structs in the result."""

    fields: Sequence[Mapping[str, Any]]
    given: Sequence[Any]
    within: Sequence[bool]
    """Of each of these whether an object that was lent leads to it."""
    names: Sequence[Any]
    """What has a name in the result or in a field: a struct is there for each."""


def fields_of(structs: Sequence[Any]) -> list[dict[str, Any]]:
    """What the fields of structs hold now."""
    return [{name: getattr(one, name) for name in one.__weft_names__()} for one in structs]


def at_return(b: Staging, lent: Sequence[Any], given: Sequence[Any]) -> Return:
    """Control returns here, and gives on these structs."""
    places = {id(one): n for n, one in enumerate(lent)}
    fields = [
        {name: _led(b, held, places) for name, held in fields.items()} if first else {}
        for fields, first in zip(fields_of(lent), is_first(lent), strict=True)
    ]
    within = _within(given, places)
    names = [base for one, held in zip(given, within, strict=True) if not held for base in bases_of(one)]
    for row in fields:
        names += [base for held in row.values() if isinstance(held, _Led) for base in held.made]
    return Return(fields, given, within, names)


def _within(given: Sequence[Any], places: Mapping[int, int]) -> list[bool]:
    """Of each of the structs in a result whether one before it has it, which is lent."""
    found, end = list[bool](), 0
    for n, one in enumerate(given):
        found.append(n < end)
        if n >= end and id(one) in places:
            end = n + len([*structs_in(one)])
    return found


def is_first(structs: Sequence[Any]) -> list[bool]:
    """Of each of some structs whether it is not one of those before."""
    places = [*map(id, structs)]
    return [places.index(place) == n for n, place in enumerate(places)]


def _led(b: Staging, value: Any, places: Mapping[int, int]) -> Any:
    """What a field holds; of a struct which it is, and what that holds now."""
    if not is_struct(class_of(value)):
        return value
    bases = b.numbered(value) if is_own(value) else {}
    made = [one for base in bases.values() if id(base) not in places for one in objects_in(base)]
    if any(id(one) in places or not is_own(one) or any(map(_is_one_of, within(one))) for one in made):
        bases = {}  # what it leads to may have other names
    with looking():
        spec, leaves = spec_of(value), leaves_of(value)
    to = {number: places.get(id(one), MADE) for number, one in bases.items()}
    return _Led(value, to, made, b.number_in(value) if len(bases) > 1 else None, spec, leaves)


def _is_one_of(value: Any) -> bool:
    return is_struct(class_of(value)) and is_merged(value)


def given_back(
    b: Staging, lent: Sequence[Any], before: Sequence[Mapping[str, Any]], returns: Sequence[Return]
) -> list[tuple[GivenBack, list[Any]]]:
    """What a function gives back of the objects that it is lent, and at each return."""
    found: list[tuple[GivenBack, list[Any]]] = []
    for n, (fields, first) in enumerate(zip(before, is_first(lent), strict=True)):
        for name, was in fields.items() if first else ():
            values = [each.fields[n][name] for each in returns]
            if all((value.value if isinstance(value, _Led) else value) is was for value in values):
                continue
            given = _given(n, name, values, returns)
            if given is None:
                b.keep_by_value(lent[n])
            found.append((given, values))
    return found


def _given(of: int, name: str, values: Sequence[Any], returns: Sequence[Return]) -> GivenBack | None:
    """What is given back of a field; None of one that the caller cannot assign so.

    A struct that the function has made has no other name there, and leads to none that does.
    """
    led = [value for value in values if isinstance(value, _Led)]
    specs = [value.spec if isinstance(value, _Led) else spec_of(value) for value in values]
    if any(spec != specs[0] for spec in specs) or any(map(has_structs, () if led else values)):
        return None
    if not led:
        return GivenBack(of, name, specs[0])
    for value, each in zip(led, returns, strict=True):
        names = [*map(id, each.names)]
        if not value.to or any(names.count(id(one)) > 1 for one in value.made):
            return None
    to = tuple(sorted({way for value in led for way in value.to.values()}))
    return GivenBack(of, name, specs[0] if MADE in to else StaticSpec(None), to)


def leaves_given(b: Staging, given: GivenBack, value: Any) -> Sequence[Value]:
    """The machine values of a field that is given back, where control returns."""
    if not isinstance(value, _Led):
        return leaves_of(value)
    leaves = value.leaves if MADE in given.to else ()
    return [b.way_of(value.to, value.which), *leaves] if given.is_chosen else leaves


def taken_back(b: Staging, given: GivenBack, leaves: Sequence[Value], lent: Sequence[Any]) -> Any:
    """What a field that was given back holds in the code that calls."""
    if not given.to:
        return given.spec.build(leaves)
    made: Any = None
    if MADE in given.to:
        made = given.spec.build(leaves[given.is_chosen :])
        for one in structs_in(made):
            note_made(one, True)
    found = [made if way == MADE else lent[way] for way in given.to]
    note_led_to([lent[way] for way in given.to if way != MADE])
    if not given.is_chosen:
        return found[0]
    if not (b.merging and all(map(b.is_followed, found))):
        b.keep_by_value(lent[given.of])
    with looking():
        blank = spec_of(found[0])
    return b.one_of(found, given.to, leaves[0], blank)


def taken_by_host(
    given: GivenBack, leaves: Sequence[Any], lent: Sequence[Any], build: Callable[[Spec, Sequence[Any]], Any]
) -> Any:
    """Likewise where Python has called."""
    way = leaves[0] if given.is_chosen else next(iter(given.to), MADE)
    return build(given.spec, leaves[given.is_chosen :]) if way == MADE else lent[way]
