"""What a compiled kernel has read, as the native stub compares it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any, cast

from weft.lang.reads import NOTHING, Reads
from weft.lang.told_apart import is_array
from weft.launch.native.objects import WORD, offset, offsets, word, words


class Helds:
    """All that was read for a launch."""

    def __init__(self) -> None:
        self.keep: list[object] = []
        self.entries: list[tuple[int, int, int, int]] = []
        """As ``tables.Held`` has them."""
        self.form: list[object] = []
        """What is compared with what: equal for two that ask the same."""

    def name(self, space: dict[str, Any], name: str, value: object) -> None:
        """A name stands for an object in a namespace, or for nothing."""
        expected = 0 if value is NOTHING else id(value)
        self._add((0, id(space), id(name), expected), expected, space, name, value)

    def items(self, of: dict[Any, Any], items: Sequence[object]) -> None:
        """A dictionary has these keys, then these values."""
        ids = [*map(id, items)]
        expected = words(ids)
        self._add((~len(of), id(of), 0, ctypes.addressof(expected)), tuple(ids), of, expected, *items)

    def objects(self, owner: object, address: int, *values: object) -> None:
        """There are these objects, or nothing, at an address in memory of ``owner``."""
        ids = [0 if value is NOTHING else id(value) for value in values]
        self.memory(owner, address, bytes(words(ids))[: WORD * len(ids)], *values)

    def memory(self, owner: object, address: int, data: bytes, *keep: object) -> None:
        """There are these bytes at an address."""
        held = ctypes.create_string_buffer(data, max(1, len(data)))
        self._add((len(data), address, 0, ctypes.addressof(held)), data, owner, held, *keep)

    def _add(self, entry: tuple[int, int, int, int], means: object, *keep: object) -> None:
        self.keep += keep
        self.entries.append(entry)
        self.form.append((*entry[:3], means))


def native_reads(reads: Reads) -> Helds | None:
    """What the stub must compare; None where it cannot."""
    helds, where = Helds(), offsets()
    for space, name, value in reads.names:
        if type(space) is not dict:
            return None
        helds.name(space, sys.intern(name), value)
    for cell, value in reads.cells:
        helds.objects(cell, id(cell) + where.cell, value)
    for of, member, value in reads.slots:
        at = offset(member.__objclass__, member.__name__)
        if at < 0:
            return None
        helds.objects(of, id(of) + at, value)
    for fn, parts in reads.functions:
        for at, part in zip(where.function, parts, strict=True):
            helds.objects(fn, id(fn) + at, NOTHING if part is None else part)
    return helds if all(_add(helds, one.of, one.items) for one in reads.held) else None


def _add(helds: Helds, of: Any, items: list[Any] | None) -> bool:
    """Add a container or an array; whether the stub can compare it."""
    kind = cast("type[Any]", type(of))
    if kind is dict and items is not None:
        helds.items(of, items)
    elif kind is list and items is not None:
        for at in offsets().list:
            helds.memory(of, id(of) + at, ctypes.string_at(id(of) + at, WORD))
        helds.objects(of, word(id(of) + offsets().list[1]), *items)
    else:
        return is_array(of) and of.flags.c_contiguous and not of.dtype.hasobject and _add_array(helds, of)
    return True


def _add_array(helds: Helds, of: Any) -> bool:
    """Add the struct of an array, whose form is NumPy's ABI, then what it points at."""
    struct = id(of) + object.__basicsize__
    address, dims, dtype = (word(struct + at * WORD) for at in (0, 2, 5))
    rank = ctypes.c_int.from_address(struct + WORD).value
    if address != of.ctypes.data or rank != of.ndim or dtype != id(of.dtype):
        return False
    if [word(dims + n * WORD) for n in range(rank)] != list(of.shape):
        return False
    helds.memory(of, struct, ctypes.string_at(struct, 4 * WORD))
    helds.memory(of, dims, ctypes.string_at(dims, rank * WORD))
    helds.objects(of, struct + 5 * WORD, of.dtype)
    helds.memory(of, address, of.tobytes())
    return True
