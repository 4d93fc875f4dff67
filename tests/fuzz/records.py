"""Values of several parts outside of kernels: described, laid out as C does, made of bits, taken apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.fuzz.kinds import KINDS
from tests.fuzz.scope import Many, Part, Record

__all__ = ["built", "described", "flattened", "laid", "leaves", "measured", "part_of"]

Described = str | list[Any] | dict[str, Any]
"""A number's name; ``SIMD`` or ``InlineArray`` with name and count; of a record a dict; as JSON has them."""


def described(part: Part) -> Described:
    """A part as the program's arguments keep it."""
    if isinstance(part, Many):
        return ["SIMD" if part.lanes else "InlineArray", part.kind.name, part.count]
    if not isinstance(part, Record):
        return part.name
    fields = [[name, described(kind)] for name, kind in part.fields]
    return {"name": part.name, "form": part.form, "pack": part.pack, "align": part.align, "fields": fields}


def leaves(d: Described) -> list[tuple[tuple[Any, ...], str]]:
    """The numbers in it: where each is, by names and places in arrays, and of what kind."""
    if isinstance(d, str):
        return [((), d)]
    if isinstance(d, list):
        return [((n,), d[1]) for n in range(d[2])]
    if d["form"] == "enum":
        return [((), "UInt8")]
    return [((name, *path), kind) for name, part in d["fields"] for path, kind in leaves(part)]


def measured(d: Described, pack: int = 0) -> tuple[int, int, Any]:
    """Bytes, alignment and NumPy's type, as C has them; a vector is aligned to its size."""
    if isinstance(d, str):
        size = max(KINDS[d].bits // 8, 1)
        return size, size, np.dtype(KINDS[d].storage)
    if isinstance(d, list):
        size, _, one = measured(d[1])
        return size * d[2], size * d[2] if d[0] == "SIMD" else size, np.dtype((one, (d[2],)))
    at, most, offsets, types = 0, max(d["align"], 1), list[int](), list[Any]()
    for _, part in d["fields"]:
        size, align, made = measured(part)
        align = min(align, d["pack"] or align)
        at = -(-at // align) * align
        offsets.append(at)
        types.append(made)
        at, most = at + size, max(most, align)
    whole = -(-at // most) * most
    names = [name for name, _ in d["fields"]]
    return whole, most, np.dtype({"names": names, "formats": types, "offsets": offsets, "itemsize": whole})


def laid(d: Described) -> np.dtype[Any]:
    """NumPy's type of such elements."""
    return measured(d)[2]


def part_of(array: npt.NDArray[Any], path: tuple[Any, ...]) -> npt.NDArray[Any]:
    """The numbers of one leaf of all elements."""
    for step in path:
        array = array[:, step] if isinstance(step, int) else array[step]
    return array


def built(d: Described, scope: Any, numbers: Iterator[Any]) -> Any:
    """A value by the program's own names, from its numbers in order."""
    if isinstance(d, str):
        return next(numbers)
    if isinstance(d, list):
        many = scope[d[0]][scope[d[1]], d[2]]
        return many(*[next(numbers) for _ in range(d[2])])
    if d["form"] == "enum":
        members = list(scope[d["name"]])
        return members[int(next(numbers)) % len(members)]
    parts = [built(part, scope, numbers) for _, part in d["fields"]]
    return tuple(parts) if d["form"] == "tuple" else eval(d["name"], scope)(*parts)


def flattened(d: Described, value: Any, number: Callable[[Any], Any]) -> list[Any]:
    """The numbers of a value, in the order of ``leaves``."""
    found: list[Any] = []
    for path, _ in leaves(d):
        part = value
        for step in path:
            part = part[step] if isinstance(step, int) else getattr(part, step)
        found.append(number(part))
    return found
