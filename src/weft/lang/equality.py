"""``==`` of structs: field by field, as Python's dataclasses compare."""

from __future__ import annotations

from typing import Any, cast

from weft.diagnostics import a_, refuse
from weft.lang.elaboration import maybe_current
from weft.lang.fold import has_lanes
from weft.lang.number import Number


def compare_fields(cls: type[Any], fields: tuple[str, ...]) -> None:
    """Give a struct's class ``==`` and ``!=``, where it defines them not itself.

    Structs of different classes are unequal; lanes are equal where all of them are. On the host the
    result is a bool. As of dataclasses that compare, and can change, there is no hash then.
    """

    def equal(self: Any, other: object) -> Any:
        if type(other) is not type(self):
            unlike: Any = getattr(cls, "__weft_unlike__", None)
            if unlike is not None:
                return unlike(self, other)
            if _class(other) is not _class(self):
                return NotImplemented
        found: Any = True
        for name in fields:
            found = equal_values(getattr(self, name), getattr(other, name), f"{cls.__name__}.{name}") & found
        return found if maybe_current() is not None else bool(found)

    def unequal(self: Any, other: object) -> Any:
        same: Any = self.__eq__(other)
        if same is NotImplemented or not isinstance(same, Number):
            return same if same is NotImplemented else not same
        return same == 0 if same.dtype.kind != "bool" else ~cast("Any", same)

    own = set(vars(cls))
    if "__eq__" not in own:
        setattr(cls, "__eq__", equal)  # noqa: B010
        if "__hash__" not in own:
            setattr(cls, "__hash__", None)  # noqa: B010
    if "__ne__" not in own:
        setattr(cls, "__ne__", unequal)  # noqa: B010


def _class(value: Any) -> Any:
    """The class, of a generic one without its types: Python's classes have none there."""
    kind: Any = cast("Any", type(value))
    return getattr(kind, "__weft_brackets__", (kind,))[0]


def equal_values(a: Any, c: Any, what: str) -> Any:
    """Whether two values of a field are equal: a bool, or a Bool."""
    kind = cast("type[Any]", type(a))
    if hasattr(kind, "__weft_items__") and hasattr(cast("Any", type(c)), "__weft_items__"):
        a, c, kind = tuple(a), tuple(c), tuple
    if kind is tuple and type(c) is tuple:
        items, others = cast("tuple[Any, ...]", a), cast("tuple[Any, ...]", c)
        same: Any = len(items) == len(others)
        for one, other in zip(items, others, strict=False):
            same = equal_values(one, other, what) & same
        return same
    if (
        hasattr(kind, "__weft_leaves__")
        and "__weft_struct__" not in vars(kind)
        and maybe_current() is not None
    ):
        refuse(
            "operand",
            f"`==` compares field by field, and {what} is {a_(kind.__name__)}, which has no `==`",
            hint="define __eq__ in the @struct, or compare the fields that matter",
        )
    found: Any = a == c
    if isinstance(found, Number):
        found = found if found.dtype.kind == "bool" else found != 0
        if has_lanes(found.value):
            return all(found.value)
        return found.reduce_and() if found.lanes > 1 else found
    return bool(found)
