"""Structs that a call from Python lends to a function: fields that it changes are set when it has ended.

As in calls within kernels (``weft.compiler.frontend.lent``), each argument that is a struct is one object
there. It is put together from the values that the host has, and where its fields hold other values in the
end, these are further results. A result that is one of the objects is that of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from weft.compiler.frontend.given_back import (
    GivenBack,
    at_return,
    fields_of,
    given_back,
    leaves_given,
    taken_by_host,
)
from weft.compiler.frontend.lent import as_objects
from weft.diagnostics import LaunchError, caller_location, refuse
from weft.lang.elaboration import current
from weft.lang.objects import has_copy
from weft.lang.products import class_of, structs_in
from weft.lang.reads import Reads
from weft.lang.spec import Spec, StaticSpec
from weft.lang.structs import is_struct

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging
    from weft.compiler.ir.core import Value


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

    def end(self, result: Any) -> list[Value]:
        """What their changed fields hold once the function has given its result."""
        self._result = _which(result, {id(one): n for n, one in enumerate(self._structs)})
        b = cast("Staging", current())
        lost = current().elaborator.changed_by_value
        for one in self._structs:
            if has_copy(one) and type(one) in lost:
                b.merges = True  # as variables may lead to it
                refuse(
                    "lost-field",
                    f"{self.function} keeps a copy of the {type(one).__name__} that it is given, "
                    "and changes one",
                    notes=("Python would change the object, of which a branch or loop has a copy",),
                    hint="let it begin with a copy of its own, which it gives back: x = copy.copy(x)",
                )
        returns = [at_return(b, self._structs, [*structs_in(result)])]
        found = given_back(b, self._structs, self._before, returns)
        self.changed = [given for given, _ in found]
        for each in self.changed:
            if any(leaf.pointer for leaf in each.leaves()):  # Python could not be given that
                b.keep_by_value(self._structs[each.of])
        self._structs, self._before = [], []
        return [leaf for given, [held] in found for leaf in leaves_given(b, given, held)]

    # -- where it has ended -------------------------------------------------------------------------
    def set(
        self,
        result: Any,
        leaves: Sequence[Any],
        values: Mapping[str, Any],
        build: Callable[[Spec, Sequence[Any]], Any],
    ) -> Any:
        """Set what has changed of the arguments; gives the result, with the objects in it."""
        objects = _objects(self.names, values)
        for each in self.changed:
            count = len(each.leaves())
            setattr(objects[each.of], each.field, taken_by_host(each, leaves[:count], objects, build))
            leaves = leaves[count:]
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
