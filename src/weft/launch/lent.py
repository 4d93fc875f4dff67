"""Structs that a call from Python lends to a function: fields that it changes are set when it has ended.

As in calls within kernels (``weft.compiler.frontend.lent``), each argument that is a struct is one object
there. It is put together from the values that the host has, and where its fields hold other values in the
end, these are further results. A result that is one of the objects is that of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from weft.compiler.frontend.lent import GivenBack, as_objects, fields_of
from weft.compiler.frontend.objects import has_structs
from weft.diagnostics import LaunchError, caller_location, refuse
from weft.lang.elaboration import current
from weft.lang.objects import has_copy
from weft.lang.products import class_of, structs_in
from weft.lang.reads import Reads
from weft.lang.spec import Spec, StaticSpec, spec_of
from weft.lang.structs import is_struct

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging


class Lending(NamedTuple):
    """The arguments of a call that are structs."""

    names: tuple[str, ...]
    same: tuple[int, ...]
    """Of each struct in them which is the first that it is."""


class Lent:
    """The structs that a call lends: what is known of them once it is compiled."""

    def __init__(self, lending: Lending, function: str) -> None:
        self.function = function
        self.names, self.same = lending
        self.changed: list[GivenBack] = []
        self._structs: list[Any] = []
        self._before: list[dict[str, Any]] = []
        self._result: Any = None
        """Which of them the result is; of a tuple, its items."""

    # -- while the call is compiled -----------------------------------------------------------------
    def begin(self, values: dict[str, Any]) -> None:
        """Have the structs of arguments be objects, those that are one be one."""
        self._structs = []
        for name in self.names:
            values[name] = as_objects(values[name], self.same, self._structs, name)
        self._before = fields_of(self._structs)

    def end(self, result: Any) -> list[Any]:
        """What their changed fields hold once the function has given its result."""
        self._result = _which(result, {id(one): n for n, one in enumerate(self._structs)})
        self.changed, found = [], list[Any]()
        lost = current().elaborator.changed_by_value
        for one in self._structs:
            if has_copy(one) and type(one) in lost:
                refuse(
                    "lost-field",
                    f"{self.function} keeps a copy of the {type(one).__name__} that it is given, "
                    "and changes one",
                    notes=("Python would change the object, of which a branch or loop has a copy",),
                    hint="let it begin with a copy of its own, which it gives back: x = copy.copy(x)",
                )
        for n, (one, before) in enumerate(zip(self._structs, self._before, strict=True)):
            for field, was in before.items() if self.same[n] == n else ():
                now = getattr(one, field)
                if now is not was:
                    self.changed.append(GivenBack(n, field, _spec(one, was, now)))
                    found.append(now)
        self._structs, self._before = [], []
        return found

    # -- where it has ended -------------------------------------------------------------------------
    def set(self, result: Any, fields: Iterable[Any], values: Mapping[str, Any]) -> Any:
        """Set what has changed of the arguments; gives the result, with the objects in it."""
        objects = _objects(self.names, values)
        for each, value in zip(self.changed, fields, strict=True):
            setattr(objects[each.of], each.field, value)
        return _joined(result, self._result, objects)

    def check(self, function: str, values: Mapping[str, Any], reads: Reads) -> None:
        """Say no where a function changes an object that it also reads as the program has it."""
        objects = _objects(self.names, values) if self.changed else []
        if objects and reads.has_any([objects[each.of] for each in self.changed]):
            raise LaunchError.at(
                "shared-value",
                f"{function} changes a {class_of(objects[0]).__name__}, which it also reads by a name of the "
                "program",
                caller_location(),
                notes=("what a name of the program leads to is known when the function is compiled",),
                hints=("hand it over as an argument alone",),
            )


def lending(specs: Mapping[str, Spec], values: Mapping[str, Any]) -> Lending:
    """Which of the arguments are structs, and which of these are one."""
    given = [name for name, spec in specs.items() if not isinstance(spec, StaticSpec)]
    names = tuple([name for name in given if is_struct(class_of(values.get(name)))])
    places = [*map(id, _objects(names, values))]
    return Lending(names, tuple(map(places.index, places)))


def _objects(names: Iterable[str], values: Mapping[str, Any]) -> list[Any]:
    return [one for name in names for one in structs_in(values[name])]


def _spec(of: Any, was: Any, now: Any) -> Spec:
    """What a changed field is; where Python could not be given that, the struct is a copy after all."""
    spec = spec_of(now)
    if has_structs(was) or has_structs(now) or any(leaf.pointer for leaf in spec.leaves()):
        cast("Staging", current()).keep_by_value(of)
    return spec


def _which(result: Any, places: Mapping[int, int]) -> Any:
    if type(result) is tuple:
        found = [_which(item, places) for item in cast("tuple[Any, ...]", result)]
        return found if any(item is not None for item in found) else None
    return places.get(id(result))


def _joined(result: Any, which: Any, objects: Sequence[Any]) -> Any:
    if isinstance(which, list):
        found = zip(result, cast("list[Any]", which), strict=True)
        return tuple([_joined(item, place, objects) for item, place in found])
    return result if which is None else objects[which]
