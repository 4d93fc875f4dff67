"""What a loop of the device runs over besides a range: tensors, ``enumerate``, ``zip``, ``reversed``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Reversible
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.frontend.ranges import Range
from weft.compiler.ir.core import Value
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.as_python import drawn
from weft.lang.number import Number
from weft.lang.python_number import python_number
from weft.lang.spec import is_composite

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging

__all__ = ["Items", "Once", "enumerated", "is_open", "items_of", "known", "on_device", "turned", "zipped"]


class Once:
    """What Python would give once, an iterator: code of the place where it was made may run over it once."""

    def __init__(self, b: Staging) -> None:
        self._b = b
        self._around = b.around()
        self._spent = False
        self._stood: int | None = None
        """The scope in which an item was taken last."""

    def check(self, kind: str) -> None:
        """Refuse to take items where Python would have others, or none, each time that this code runs."""
        said = ""
        if self._spent:
            said = "has been run over before, and Python finds nothing more in it"
        elif self._around != self._b.around():
            said = "would be run over in each round of this loop, and Python finds nothing in the second"
        elif self._stood not in (None, self._b.scopes[-1]):
            said = "has given items in another branch, and only run time knows how many"
        if said:
            refuse(
                "iteration", f"this {kind} {said}", hint="write it where the loop runs over it", part=VALUE
            )

    def spend(self, kind: str = "iterator") -> None:
        """All is taken here."""
        self.check(kind)
        self._spent = True


class Items:
    """So many values, each made of its number; where anything but ``for`` runs over them, at compile time."""

    __slots__ = ("at", "length")

    def __init__(self, length: Any, at: Callable[[Any], Any]) -> None:
        self.length = python_number(length)
        self.at = at

    def __iter__(self) -> Iterator[Any]:
        return (self.at(n) for n in Range(self.length))

    def __len__(self) -> int:
        return len(Range(self.length))

    def __getitem__(self, index: Any) -> Any:
        return self.at(index)

    def __weft_spec__(self) -> Any:
        refuse(
            "escaped",
            "enumerate, zip and reversed of what the device loops over belong to the code that made them",
            hint="loop over it here, or pass what it runs over",
        )


class IteratedItems(Items, Once):
    """What ``enumerate``, ``zip`` and ``reversed`` give."""

    def __init__(self, b: Staging, length: Any, at: Callable[[Any], Any]) -> None:
        Items.__init__(self, length, at)
        Once.__init__(self, b)

    def __iter__(self) -> Iterator[Any]:
        self.spend()
        return super().__iter__()


def is_open(value: Any) -> bool:
    """Whether only run time knows this number."""
    return isinstance(value, Number) and isinstance(value.value, Value)


def on_device(value: Any) -> bool:
    """Whether a loop over it is one of the device; to ask emits nothing."""
    return isinstance(value, (Items, Range)) or hasattr(cast("type[Any]", type(value)), "__weft_loop__")


def items_of(value: Any, *, whole: bool = False) -> Items | None:
    """What a loop of the device runs over; None of what is known at compile time only.

    ``whole`` says that the loop runs all its rounds, which some go by.
    """
    if isinstance(value, Items):
        return value
    if isinstance(value, Range):
        return Items(value.length(), value.at)
    kind = cast("type[Any]", type(value))
    made = getattr(kind, "__weft_loop__", None)
    made = getattr(kind, "__weft_whole_loop__", made) if whole else made
    return None if made is None else Items(*made(value))


def known(items: Any) -> Any:
    """What Python runs over, at compile time."""
    if isinstance(items, Number) or not isinstance(items, Iterable):
        hint = f"loop over range(n) and index: {VALUE}[i]" if is_composite(items) else "loop over range(n)"
        hint = getattr(items, "__weft_loop_hint__", hint)
        if isinstance(items, Number) and items.lanes > 1:
            hint = f"loop over unroll(range({items.lanes})) and index"
        refuse("iteration", f"{a_(type(items).__name__)} cannot be looped over", hint=hint, part=VALUE)
    return drawn(cast("Iterable[Any]", items)) if isinstance(items, (map, filter)) else cast("Any", items)


def _drawn(items: Any) -> Items | None:
    """``items_of`` what another iterator runs over from now on."""
    if isinstance(items, IteratedItems):
        items.spend()
    return items_of(items)


def enumerated(b: Staging, items: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    found = _drawn(items)
    if found is None:
        return ((start + n, item) for n, item in enumerate(known(items)))
    return IteratedItems(b, found.length, lambda n: (start + n, found.at(n)))


def turned(b: Staging, items: Any) -> Any:
    """``reversed``."""
    found = _drawn(items)
    if found is None:
        if isinstance(items, Iterator) and not isinstance(items, Reversible):
            message = "a generator cannot be reversed"
            refuse("iteration", message, hint="reverse what it runs over", part=VALUE)
        return reversed(known(items))
    return IteratedItems(b, found.length, lambda n: found.at(found.length - 1 - n))


def zipped(b: Staging, all_items: tuple[Any, ...], strict: bool) -> Any:
    """``zip``: as long as the shortest."""
    if not all_items or not all(map(on_device, all_items)):
        for n, items in enumerate(all_items, 1):
            if isinstance(items, Number) or (not isinstance(items, Iterable) and not on_device(items)):
                said = f"argument {n} of zip, {a_(type(items).__name__)}, cannot be looped over"
                refuse("iteration", said, hint="loop over range(n), and index what has no end of its own")
        return zip(*map(known, all_items), strict=strict)
    every = [items for items in map(_drawn, all_items) if items is not None]
    lengths = [items.length for items in every]
    if strict:
        for n, length in enumerate(lengths[1:], 2):
            _same_length(b, lengths[0], length, n)
    least = b.py_min(*lengths) if len(lengths) > 1 else lengths[0]
    return IteratedItems(b, least, lambda n: tuple([i.at(n) for i in every]))


def _same_length(b: Staging, first: Any, length: Any, n: int) -> None:
    if not isinstance(first, Number) and not isinstance(length, Number) and first != length:
        hint = "leave out strict=, or give all of them one length"
        refuse(
            "iteration", f"zip(..., strict=True) of {first} items, and of {length} in argument {n}", hint=hint
        )
    said = f"argument {n} of zip(..., strict=True) is not as long as the first"
    b.assert_(first == length, lambda: said)  # noqa: PT009
