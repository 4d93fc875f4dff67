"""Constant tables: what is known at compile time becomes memory where an index is known only at run time.

An element of a list or a tuple is a literal, whose type what it meets decides, as everywhere; one of an array
of NumPy's has its type, and so do structs and typed numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, cast

from weft.abi.formats import bits_of, overflows, packed
from weft.compiler.ir.core import Global, Value
from weft.compiler.ir.types import I8, AddressSpace, pointer
from weft.diagnostics import in_digits, refuse
from weft.dtype import DType, as_dtype
from weft.lang.elaboration import current, note_index
from weft.lang.elements import ElementType, element_type
from weft.lang.enums import EnumValue, place_of
from weft.lang.fold import has_lanes
from weft.lang.inline_array import InlineArray
from weft.lang.number import Number, number_class, type_name
from weft.lang.objects import note_copy
from weft.lang.places import Place, check_index, known_index, stepped
from weft.lang.products import remade, structs_in
from weft.lang.python_number import python_number
from weft.lang.spec import holds_values
from weft.lang.structs import is_struct
from weft.lang.told_apart import BYTES, ITEMS, is_array, may_change
from weft.lang.weak import assumed_type

_CONSTANT = 8192
_CONSTANT_IN_ALL = 1 << 16
"""Bytes of a table up to which it lies in constant memory, of which a GPU has 64 KiB; larger ones in any."""
_ALIGNED = 16
_HINT = "copy it into a buffer and pass that to the kernel"


class Entry(Place):
    """An element of a table, or a part of one: it can be read."""

    __slots__ = ()

    def store(self, value: Any) -> None:
        """Refused."""
        refuse("constant-table", "a table that is known at compile time is not written here", hint=_HINT)

    def pointer(self) -> Any:
        """Refused."""
        refuse("constant-table", "a table that is known at compile time has no address", hint=_HINT)


class Rows(Entry):
    """A table, or what some indices leave of one: as many dimensions as ``shape`` has.

    ``rows``: it has, or is, one of several, of which an index too large would lead into the next.
    """

    __slots__ = ("kinds", "mark", "rows", "shape")

    def __init__(
        self,
        address: Value,
        dtype: DType,
        space: int,
        shape: tuple[int, ...],
        mark: object,
        kinds: Sequence[type[Any]] = (),
    ) -> None:
        super().__init__(address, dtype, space, dtype.alignment)
        self.shape: tuple[int, ...] = shape
        self.kinds: Sequence[type[Any]] = kinds
        self.mark: object = mark
        self.rows: bool = len(shape) > 1

    def item(self, index: Any) -> Any:
        """A row, or in the last dimension the place of an element; of a literal its value."""
        extent, *rest = self.shape
        known = known_index(index)
        if known is not None and -extent <= known < 0:
            index = known + extent
        check_index(index, 1, extent)
        if known is None and self.rows:
            note_index(index, extent)
        at = stepped(current(), self.address, index, self.dtype, math.prod(rest))
        if rest:
            row = Rows(at, self.dtype, self.space, tuple(rest), self.mark, self.kinds[1:])
            row.rows = True
            return row
        entry = Entry(at, self.dtype, self.space, self.alignment)
        if self.mark is None:
            return entry
        return number_class(self.dtype).of(entry.load().value, self.mark)

    def attribute(self, name: str) -> Any:
        """What the rows have as a value."""
        return getattr(self.load(), name)

    def load(self) -> Any:
        """All of it, as an array of arrays; of literals as what it was, where each has its own type."""
        if self.mark is not None:
            parts = map(self.item, range(self.shape[0]))
            return remade(self.kinds[0], [part.load() if isinstance(part, Rows) else part for part in parts])
        of: Any = self.dtype.annotation if isinstance(self.dtype, ElementType) else number_class(self.dtype)
        for extent in reversed(self.shape):
            of = InlineArray[of, extent]
        return Entry(self.address, element_type(of), self.space, self.alignment).load()


TABLES = (list, tuple, bytes)
"""What, beside NumPy's arrays, is a table where an index of run time picks an item."""


class Record(Entry):
    """An element of an array of NumPy's records: each of its fields is a table of its own."""

    __slots__ = ("held", "index")

    def __init__(self, held: Any, index: Any) -> None:
        self.held: Any = held
        self.index: Any = index

    def item(self, index: Any) -> Any:
        """A field, by its name."""
        if index not in self.held.dtype.names:
            shown = ", ".join(self.held.dtype.names)
            refuse("constant-table", f"the records of this table have the fields {shown}", hint="name one")
        found = table_at(self.held[index], self.index)
        if found is None:
            refuse("constant-table", f"the field {index!r} of this table holds no numbers", hint=_HINT)
        return found

    def attribute(self, name: str) -> Any:
        """A field, as record arrays have them."""
        return self.item(name)

    def load(self) -> Any:
        """Itself: its fields are read where they are named."""
        return self

    def __getitem__(self, name: str) -> Any:
        return self.item(name).load()

    def __dir__(self) -> list[str]:
        return list(self.held.dtype.names)

    def __getattr__(self, name: str) -> Any:
        if name in self.held.dtype.names:
            return self[name]
        raise AttributeError(f"the records of this table have no field {name!r}")


def is_late(index: object) -> bool:
    """Whether an index, or one of several, is known only at run time."""
    if type(index) is tuple:
        return any(map(is_late, cast("tuple[object, ...]", index)))
    return isinstance(index, Number) and isinstance(index.value, Value)


def table_at(held: Any, index: Any) -> Any:
    """What a table has at an index of run time, not read yet; None where it is none."""
    indices: list[Any] = [index]
    if isinstance(index, tuple):
        if not is_array(held):
            return None
        indices[:] = cast("tuple[Any, ...]", index)
    if is_array(held) and held.dtype.names and held.ndim == len(indices):
        return Record(held, index)
    if not is_array(held) and (cls := _enum_of(held)) is not None:
        at = table_at([number_class(DType.int32)(place_of(member)) for member in held], index)
        return EnumValue(cls, at.load())
    found = _rows(held)
    if found is None or len(indices) > len(found.shape) or any(isinstance(i, slice) for i in indices):
        return None
    at: Any = found
    for part in indices:
        at = at.item(part)
    return at


def _enum_of(held: Any) -> type[Enum] | None:
    """The Enum, no IntEnum, of which all items are members."""
    kinds = {item.__class__ for item in held}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind is not None and issubclass(kind, Enum) and not issubclass(kind, int) else None


def _rows(held: Any) -> Rows | None:
    """A table in memory; None where it holds what memory does not."""
    b, mark, kinds = current(), None, list[type[Any]]()
    _check_followed(held)
    if is_array(held):
        if held.size == 0 or held.ndim == 0 or held.dtype.kind not in "biuf":
            return None
        dtype, shape, native = as_dtype(held.dtype.name), held.shape, held.dtype.newbyteorder("=")
        data = held.astype(native, order="C").tobytes()
    else:
        shape, kinds, items = _flat(held)
        known = [python_number(item) for item in items]
        if not items:
            return None
        if all(isinstance(item, (bool, int, float)) for item in known):
            dtype = assumed_type(*known)  # as a literal has it that meets nothing
            if dtype is not DType.bool:
                mark = b.new_mark()
                dtype = b.met.get(mark, dtype)
                _check_fits(known, dtype)
            data = packed(dtype, known)
        elif any(map(holds_values, items)):
            return None
        elif _is_element(items[0]) and len({item.__class__ for item in items}) == 1:
            dtype = element_type(items[0].__class__)
            data = b"".join([_bytes(dtype, item) for item in items])
            for one in structs_in(items):  # which have copies there from now on
                note_copy(one)
        else:
            return None
    table = _memory(data, max(_ALIGNED, dtype.alignment))
    op = b.elaborator.refer(b.emit("llvm.mlir.addressof", (), (pointer(table.space),)), table)
    return Rows(op.result, dtype, table.space, shape, mark, kinds)


def _check_followed(held: Any) -> None:
    """Refuse what may change, and is too large for launches to look whether it has."""
    if is_array(held) and held.nbytes > BYTES and may_change(held):
        what, freeze = f"an array of {held.nbytes} bytes", "array.setflags(write=False)"
    elif type(held) is list and len(cast("list[Any]", held)) > ITEMS:
        what, freeze = f"a list of {len(cast('list[Any]', held))} items", "make it a tuple"
    else:
        return
    refuse(
        "constant-table",
        f"{what} would be a constant here, and may change, which launches do not see",
        hint=f"{_HINT}; or let nobody change it: {freeze}",
    )


def _flat(held: Any) -> tuple[tuple[int, ...], list[type[Any]], list[Any]]:
    """The shape of nested lists or tuples, their classes, and the items in order.

    There are none where rows of one depth are not all alike.
    """
    shape, kinds, items = [len(held)], [held.__class__], list[Any](held)
    while items and all(type(item) in (list, tuple) for item in items):
        if len({(item.__class__, len(item)) for item in items}) != 1:
            return (), [], []
        shape.append(len(items[0]))
        kinds.append(items[0].__class__)
        items = [part for item in items for part in item]
    return tuple(shape), kinds, items


def _is_element(value: object) -> bool:
    return isinstance(value, (Number, InlineArray)) or is_struct(type(value))


def _check_fits(items: list[Any], dtype: DType) -> None:
    """Refuse literals that their type does not hold."""
    for item in items:
        if overflows(dtype, item) or (dtype.is_integer and not dtype.least <= item <= dtype.greatest):
            name, wide = type_name(dtype), "Int" if dtype.is_integer else "Float64"
            message = f"{in_digits(item)} in this table does not fit {name}"
            refuse("literal", message, hint=f"convert what it meets: {wide}(x)")


def _bytes(dtype: DType, value: Any) -> bytes:
    """A value that is known at compile time as memory has it."""
    if not isinstance(dtype, ElementType):
        known = value.value if isinstance(value, Number) else value
        return bits_of(dtype, known).to_bytes(dtype.itemsize, "little")
    laid = dtype.laid
    if isinstance(value, Number):
        known: Any = value.value
        each = functools.partial(_bytes, value.dtype)
        return b"".join(map(each, known if has_lanes(known) else (known,) * value.lanes))
    if laid.items is not None:
        return b"".join([_bytes(laid.items[0], item) for item in value])
    out = bytearray(laid.size)
    for name, (offset, part) in laid.fields.items():
        out[offset : offset + part.itemsize] = _bytes(part, getattr(value, name))
    return bytes(out)


def _memory(data: bytes, alignment: int) -> Global:
    """The same for the same bytes, so that a module has them once; constant memory while there is some."""
    tables = current().elaborator.tables
    if (data, alignment) not in tables:
        taken = sum(table.count for table in tables.values() if table.space == AddressSpace.CONSTANT)
        small = len(data) <= _CONSTANT and taken + len(data) + 16 * len(tables) <= _CONSTANT_IN_ALL
        space = AddressSpace.CONSTANT if small else AddressSpace.GLOBAL
        tables[data, alignment] = Global("table", space, I8, len(data), alignment, data)
    return tables[data, alignment]
