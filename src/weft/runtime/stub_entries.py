"""What the native launch stub asks of an argument: the entries of a site, see ``abi/sites.py``."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Generator, Sequence
from types import MemberDescriptorType
from typing import Any

from weft.abi.sites import MOST_INTS, STAYS, Ask, Entry, Held
from weft.record import record
from weft.runtime.buffers import DeviceBuffer

__all__ = ["OFFSETS", "Asks", "Exchange", "Helds", "member_offset", "supported"]

_NOWHERE = 6
"""An axis behind those of grid and block: for ints that need only be what they were."""


class Helds:
    """All that was read for a launch; objects are given as tuples of one, None where there is none."""

    def __init__(self) -> None:
        self.keep: list[object] = []
        self.entries: list[Held] = []
        self.form: list[object] = []
        """What is compared with what: equal for two that ask the same."""

    def name(self, space: dict[str, Any], name: str, value: tuple[object] | None) -> None:
        """A name stands for an object in a namespace."""
        expected = 0 if value is None else id(value[0])
        self._add(Held(0, id(space), id(name), expected), expected, space, name, value)

    def items(self, of: dict[Any, Any], items: Sequence[object]) -> None:
        """A dictionary has these keys, then these values."""
        ids = [id(item) for item in items]
        words = (ctypes.c_int64 * max(1, len(ids)))(*ids)
        self._add(Held(~len(of), id(of), None, ctypes.addressof(words)), tuple(ids), of, words, *items)

    def pointers(self, owner: object, address: int, values: Sequence[tuple[object] | None]) -> None:
        """There are these objects, or nulls, at an address; ``owner`` is what has it."""
        self.words(owner, address, [0 if value is None else id(value[0]) for value in values])
        self.keep.append(values)

    def words(self, owner: object, address: int, words: Sequence[int]) -> None:
        """There are these words of 64 bits at an address."""
        self.memory(owner, address, bytes((ctypes.c_int64 * len(words))(*words)))

    def memory(self, owner: object, address: int, data: bytes) -> None:
        """There are these bytes at an address."""
        held = ctypes.create_string_buffer(data, max(1, len(data)))
        self._add(Held(len(data), address, None, ctypes.addressof(held)), data, owner, held)

    def _add(self, entry: Held, means: object, *keep: object) -> None:
        self.keep += keep
        self.entries.append(entry)
        self.form.append((entry.size, entry.of, entry.key, means))


def supported() -> bool:
    """Whether objects of this Python have the form that the stub reads."""
    return sys.implementation.name == "cpython" and object.__basicsize__ == 16


def member_offset(descriptor: Any) -> int:
    """Where instances have the member that a ``__slots__`` descriptor stands for.

    Raises:
        TypeError: it is another descriptor.
    """
    if not isinstance(descriptor, MemberDescriptorType):
        raise TypeError(f"{descriptor!r} is no member of __slots__")
    member = ctypes.c_void_p.from_address(id(descriptor) + object.__basicsize__ + 24).value or 0
    return ctypes.c_ssize_t.from_address(member + 16).value


@record
class Exchange:
    """How native code reads another library's arrays: two functions like those of DLPack's exchange API."""

    read: int
    """The address of ``dltensor_from_py_object_no_sync``, or of what else fills in a ``DLTensor``."""
    stream_of: int
    """The address of ``current_work_stream``; 0 where ``read`` tells each array's stream."""
    device: int
    """The arrays' device: its kind in 32 bits, its number above."""
    refuses: tuple[str, ...] = ()
    """Methods that must return False of an array: what its memory alone does not show."""
    stream: int = 0
    """The stream that ``read`` must tell."""


_FLOATING = {
    (32, float): Ask.SINGLE,
    (64, float): Ask.DOUBLE,
    (32, int): Ask.INT_SINGLE,
    (64, int): Ask.INT_DOUBLE,
}


class Asks:
    """The entries of a site under way; each method is for the next argument."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.keep: list[object] = []
        self.form: list[object] = []
        """What the entries ask, where they only point at it: equal for two sites that ask the same."""
        self._path: list[tuple[object, str]] = []
        """The way from an argument, a struct, to the field whose value is next."""

    def _add(
        self, kind: Ask, what: object, a: int = 0, b: int = 0, c: int = 0, slot: int = 0, means: object = None
    ) -> None:
        self.keep.append(what)
        self.entries.append(Entry(kind, id(what), a, b, c, slot))
        self.form.append((kind, id(what), (a, b) if means is None else means, c, slot))

    @contextlib.contextmanager
    def field(self, value: object, name: str) -> Generator[None]:
        """For ``with``: what is asked is of the value that a field of a struct has, or of fields of that."""
        self._path.append((type(value), sys.intern(name)))
        try:
            yield
        finally:
            self._path.pop()

    @contextlib.contextmanager
    def value(self) -> Generator[None]:
        """For ``with``: what is asked is of one value."""
        for cls, name in self._path:
            self.keep.append(name)
            self._add(Ask.FIELD, cls, id(name))
        yield
        if self._path:
            self.entries[-1].kind |= STAYS

    def end(self) -> None:
        """What follows is for the next argument."""
        self.entries[-1].kind &= STAYS - 1

    def identity(self, value: object) -> None:
        """The same object again."""
        self._add(Ask.IDENTITY, value)

    def buffer(self, value: DeviceBuffer[Any], slot: int, alignment: int = 1) -> bool:
        """Any open buffer of this type, of the same context and element type; False where this one has none.

        Closed buffers have none, and those whose every use is noted.
        """
        key = value.key
        if key is None:
            return False
        self.keep.append(key)
        self._add(Ask.BUFFER, type(value), OFFSETS["_key"], id(key), alignment - 1, slot)
        return True

    def array(
        self,
        value: object,
        exchange: Exchange,
        element: tuple[int, int],
        slot: int,
        *,
        layout: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
        alignment: int = 1,
    ) -> None:
        """Any array of this type on the same device, of an element type (DLPack's code, bits).

        It has this shape and these strides, or is contiguous in row-major order.
        """
        for name in exchange.refuses:
            self.keep.append(name)
            self._add(Ask.REFUSES, type(value), id(name))
        code, bits = element
        rank, sizes = -1, ()
        if layout is not None:
            rank, sizes = len(layout[0]), (*layout[0], *layout[1])
        words = (exchange.device, code | bits << 8 | 1 << 16, rank, bits // 8, exchange.stream, *sizes)
        expected = (ctypes.c_int64 * len(words))(*words)
        self.keep.append(expected)
        where = ctypes.addressof(expected)
        self._add(Ask.ARRAY, type(value), exchange.read, where, alignment - 1, slot, words)

    def member(self, value: object, name: str) -> None:
        """An object of this type with the same member; what follows is still for the same argument."""
        cls, member = type(value), getattr(value, name)
        self.keep.append(member)
        self._add(Ask.MEMBER, cls, member_offset(getattr(cls, name)), id(member))

    def inside(self, value: object, name: str) -> None:
        """An object of this type; what follows is for its member."""
        cls = type(value)
        self._add(Ask.INSIDE, cls, member_offset(getattr(cls, name)))

    def integer(self, low: int, high: int, slot: int) -> None:
        """Any int in a range."""
        self._add(Ask.INTEGER, int, low, high, 0, slot)

    def scalar(self, given: type, size: int, low: int, high: int, slot: int) -> None:
        """Any NumPy integer of a type of 4 or 8 bytes, signed, in a range."""
        self._add(Ask.WIDE if size == 8 else Ask.NARROW, given, low, high, 0, slot)

    def floating(self, bits: int, given: type, slot: int) -> None:
        """Any float or int for a parameter of that many bits; a NumPy float of the same number."""
        kind = _FLOATING.get((bits, given)) or (Ask.SCALAR if bits == 32 else Ask.DOUBLE)
        self._add(kind, given, 0, 0, 0, slot)

    def dimension(self, low: int, high: int, axis: int) -> None:
        """Any int in a range as what the grid (axis 0) or the block (axis 3) has in x."""
        self._add(Ask.DIMENSION, int, low, high, axis)

    def dimensions(self, given: type, ranges: Sequence[tuple[int, int]], axis: int) -> None:
        """Any tuple of a type, of ints in these ranges, as the extents of the grid (axis 0) or the block."""
        words = (ctypes.c_int64 * (2 * len(ranges)))(*(bound for each in ranges for bound in each))
        self.keep.append(words)
        self._add(Ask.INTS, given, ctypes.addressof(words), len(ranges), axis, means=tuple(ranges))

    def equal(self, value: int | tuple[int, ...]) -> bool:
        """The same int, or ints in a tuple of this type, again; False where the stub has no room for them."""
        ints = value if isinstance(value, tuple) else (value,)
        if len(ints) > MOST_INTS or any(abs(each) >> 63 for each in ints):
            return False
        if isinstance(value, tuple):
            self.dimensions(type(value), [(each, each) for each in value], _NOWHERE)
        else:
            self.dimension(value, value, _NOWHERE)
        return True


OFFSETS: dict[str, int] = {
    name: member_offset(getattr(DeviceBuffer, name)) if supported() else 0
    for name in ("_key", "_address", "_allocation")
}
"""Where a buffer has its members."""
