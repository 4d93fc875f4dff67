"""Objects in calls: a function is lent those of its arguments, and gives back the fields that it changes.

In the function the structs of its parameters are objects of its own. What fields of them hold at each return
is a further result, which the code that calls assigns to the objects that it has lent. A result that is one
of them, or has it within, is that object again. Arguments of which there are copies are values, as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from weft.compiler.frontend.given_back import MADE, fields_of, taken_back
from weft.compiler.frontend.objects import Objects, has_structs
from weft.compiler.ir.core import Value
from weft.lang.objects import bases_of, has_copy, is_own, note_copy, note_made, state_of
from weft.lang.products import class_of, objects_in, remade, structs_in, within
from weft.lang.structs import as_read, is_struct

if TYPE_CHECKING:
    from weft.compiler.frontend.draft import Draft
    from weft.compiler.frontend.staging import Staging

COPY, WITHIN = -2, -3
"""As ``MADE``, in place of which of the lent objects a struct in a result is: a copy; what such one has."""


# -- in the code that calls -------------------------------------------------------------------------
class Lent(NamedTuple):
    """The arguments of a call that have objects in them."""

    names: tuple[str, ...]
    same: tuple[int, ...]
    """Of each object in them which is the first that it is."""
    objects: list[Any]
    unsure: frozenset[str] = frozenset()
    """The arguments that may have one of the objects of another."""

    @property
    def has_one_twice(self) -> bool:
        """Whether an object is given several times: then parameters are one, and read as one."""
        return len(set(self.same)) < len(self.same)

    @property
    def key(self) -> tuple[object, ...]:
        """What makes a function for other arguments another one."""
        return self.names, self.same


NONE_LENT = Lent((), (), [])


def lent(b: Objects, values: Mapping[str, Any]) -> Lent:
    """The arguments of a call that have objects in them, and these."""
    found = {name: structs for name, value in values.items() if (structs := [*structs_in(value)])}
    if not found:
        return NONE_LENT
    ours = {n: s for n, s in found.items() if _is_whole(values[n]) and all(map(b.is_object, s))}
    others = {id(one) for name in found.keys() - ours.keys() for one in found[name]}
    ours = {n: s for n, s in ours.items() if others.isdisjoint(map(id, s))}
    unsure = _unsure(found) if b.merging else frozenset[str]()
    ours = {n: s for n, s in ours.items() if n not in unsure}
    objects = [one for structs in ours.values() for one in structs]
    places = [*map(id, objects)]
    return Lent(tuple(ours), tuple(map(places.index, places)), objects, unsure)


def _unsure(found: Mapping[str, Sequence[Any]]) -> frozenset[str]:
    """The arguments that have structs of which only run time knows whether they are one."""
    holders: dict[int, set[tuple[str, int]]] = {}
    for name, structs in found.items():
        for one in structs:
            for base in bases_of(one):
                holders.setdefault(id(base), set()).add((name, id(one)))
    several = [held for held in holders.values() if len({one for _, one in held}) > 1]
    return frozenset([name for held in several for name, _ in held])


def _is_whole(value: Any) -> bool:
    """Whether a function is given values of all that is in an argument, and no container of Python's."""
    if type(value) in (list, dict, set):
        return False
    if is_struct(cast("object", type(value))):
        return True
    return all(map(_is_whole, within(value)))


def after_call(
    b: Staging,
    made: Draft,
    values: Mapping[str, Any],
    lent: Lent,
    leaves: Sequence[Value],
) -> Any:
    """The result of a call, once the objects that it was lent are changed."""
    assert made.result is not None
    if not lent.unsure.isdisjoint(made.changed):
        b.give_up()
    objects = lent.objects
    count = len(made.result.leaves())
    result, leaves = made.result.build(leaves[:count]), leaves[count:]
    changed: dict[int, dict[str, Any]] = {}
    for given in made.fields:
        count = len(given.leaves())
        changed.setdefault(given.of, {})[given.field] = taken_back(b, given, leaves[:count], objects)
        leaves = leaves[count:]
    for n, fields in changed.items():
        held = objects[n]
        names = held.__weft_names__()
        parts = [fields[name] if name in fields else getattr(held, name) for name in names]
        if not b.change(held, remade(class_of(held), parts)):
            b.keep_by_value(held)
    for name in made.kept.union(made.changed).intersection(values) if made.kept or made.changed else ():
        for one in objects_in(values[name]):
            if name in made.kept or class_of(one) in made.by_value:
                note_copy(one)
    b.merges |= COPY in made.same
    return _joined(result, iter(made.same), objects) if has_structs(result) else result


def _joined(value: Any, same: Iterator[int], of: Sequence[Any]) -> Any:
    """A result with the objects in it that the function was lent."""
    kind = class_of(value)
    if is_struct(kind):
        which = next(same, COPY)
        names = kind.__weft_names__()
        parts = {name: _joined(getattr(value, name), same, of) for name in names}
        if which >= 0:
            return of[which]
        for name, part in parts.items():
            object.__setattr__(value, name, part)
        if which == MADE:
            note_made(value, True)
        else:
            note_copy(value)
        return value
    return remade(kind, [_joined(part, same, of) for part in within(value)]) if has_structs(value) else value


# -- in the function --------------------------------------------------------------------------------
def take(b: Staging, values: list[Any], names: Sequence[str], objects: Lent) -> list[Any]:
    """A function begins: the structs of some parameters are objects of its own; gives all its parameters."""
    if not objects.names:
        return values
    given = zip(names, values, strict=True)
    made = [as_objects(v, objects.same, b.lent, n) if n in objects.names else v for n, v in given]
    b.as_lent = fields_of(b.lent)
    return made


def as_objects(value: Any, same: Sequence[int], found: list[Any], name: str) -> Any:
    """What a parameter gives, whose structs are objects from now on; ``found`` has them, in order.

    ``same`` says of each which is the first that it is.
    """
    kind, n = class_of(value), len(found)
    if not is_struct(kind):
        parts = (
            [as_objects(part, same, found, name) for part in within(value)] if has_structs(value) else None
        )
        return value if parts is None else remade(kind, parts)
    if same[n] != n:
        found += structs_in(found[same[n]])
        return found[same[n]]
    found.append(value)
    for field in value.__weft_names__():
        object.__setattr__(value, field, as_objects(getattr(value, field), same, found, name))
    note_made(value, True)
    return value if is_own(value) else as_read(value, name)


def note_given(b: Staging, draft: Draft, names: Sequence[str], values: Sequence[Any]) -> None:
    """At the end of a function, note which parameters it keeps, and which structs are in what it gives."""
    places = {id(one): n for n, one in enumerate(b.lent)}
    for each in b.at_returns:
        for one, inside in zip(each.given, each.within, strict=True):
            if not inside and len(bases_of(one)) != 1:  # a copy of which the caller has, whichever it is
                note_copy(one)
    rows = [
        [
            WITHIN if within else _which(one, each.given, places)
            for one, within in zip(each.given, each.within, strict=True)
        ]
        for each in b.at_returns
    ]
    if rows and all(len(row) == len(rows[0]) for row in rows):
        same = [column[0] if len(set(column)) == 1 else COPY for column in zip(*rows, strict=True)]
    else:
        same = []
    for each, row in zip(b.at_returns, rows, strict=True):
        copied = False
        for n, (one, which) in enumerate(zip(each.given, row, strict=True)):
            if which != WITHIN:
                copied = which >= 0 and (n >= len(same) or same[n] != which)
            if copied:
                note_copy(one)
    draft.same = tuple(same)
    given = zip(names, values, strict=True)
    draft.kept = frozenset([name for name, value in given if any(map(has_copy, objects_in(value)))])


def _which(one: Any, found: Sequence[Any], places: Mapping[int, int]) -> int:
    """Which struct this is of those in a result."""
    if not is_own(one):
        return COPY
    alone = sum(one is other for other in found) == 1
    return places.get(id(one), MADE if alone and state_of(one) is not None else COPY)
