"""Places in memory: how far an index leads, and what ``p[i].a.b[k]`` names before it is read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I64
from weft.diagnostics import INDEX, OBJECT, STORED, a_, refuse
from weft.dtype import DType
from weft.lang import arith
from weft.lang.elaboration import Elaboration, current, note_index
from weft.lang.elements import (
    ElementType,
    aligned,
    element_type,
    load_element,
    memory_type,
    moved,
    store_element,
)
from weft.lang.hints import COMMA, is_tuple_of_one, kind_of
from weft.lang.number import Number, number_class, type_name, value_of
from weft.lang.python_number import python_number
from weft.lang.structs import check_field

if TYPE_CHECKING:
    from weft.lang.pointer import Pointer


_LEAST, _GREATEST = DType.int64.least, DType.int64.greatest


def index_value(index: object, b: Elaboration) -> Value:
    """An index as a 64-bit IR value."""
    if isinstance(index, int):
        if not _LEAST <= index <= _GREATEST:
            refuse("literal", f"the index {index} does not fit Int", hint="count elements", part=index)
        return b.constant(index, I64)
    if isinstance(index, Number) and index.dtype.is_integer and index.lanes == 1:
        value = value_of(index, b)
        if value.type is I64:
            return value
        return arith.cast(b, value, index.dtype, DType.int64)
    if (known := python_number(index)) is not index:
        return index_value(known, b)
    refuse_index(index)


def refuse_index(index: object) -> NoReturn:
    """Say that an index is no integer."""
    parts = [name for name in "xyzw" if hasattr(index, name)]
    found = f"and {INDEX} has {', '.join(parts)}" if parts else f"not {kind_of(index)}"
    refuse("index", f"an index must be an integer, {found}", hint=_hint(index), part=INDEX)


def _hint(index: object) -> str:
    if hasattr(type(index), "__weft_number_hint__"):
        return f"a kernel for tiles takes a LayoutTensor: tile.load(x, i, 128), tile.gather(x, {INDEX})"
    if isinstance(index, Number):
        if index.lanes > 1:
            return "index lane by lane, or load neighbours: p.load(i, width=4)"
        return f"convert it: Int({INDEX})"
    if isinstance(index, float):
        return f"write {int(index)}" if index == index else "write an integer"
    if isinstance(index, slice):
        return f"a pointer knows no ends: loop, or load neighbours by {OBJECT}.load(i, width=4)"
    if is_tuple_of_one(index):
        return COMMA
    if isinstance(index, tuple):
        return "a pointer has one index: write row * width + column, or take a LayoutTensor"
    if callable(index):
        return "call it: write the parentheses"
    if hasattr(index, "x") and hasattr(index, "y"):
        return f"write {INDEX}.x"
    return "write an integer"


def integer(value: Any, what: str) -> Any:
    """A number of the language that counts something: an argument of a function of the library.

    Raises:
        CompileError: it is no integer.
    """
    known = python_number(value)
    if isinstance(known, Number) and known.dtype.is_integer and known.lanes == 1:
        return known
    if isinstance(known, int):
        return number_class(DType.int64)(known)
    whole = isinstance(known, Number) and known.lanes == 1
    hint = f"write Int({STORED})" if whole else _hint(known)
    refuse("operand", f"{what} is an integer, not {kind_of(value)}", hint, part=STORED, about=value)


def known_index(index: object) -> int | None:
    """An index, if it is known at compile time."""
    known = index.value if isinstance(index, Number) else python_number(index)
    return known if isinstance(known, int) else None


def check_index(index: object, lanes: int, count: int | None) -> None:
    """Refuse an index known at compile time that lies outside of memory of a known number of elements."""
    first = known_index(index)
    if count is None or first is None or 0 <= first <= count - lanes:
        return
    reach = f"index {first} is" if lanes == 1 else f"{lanes} elements from index {first} on are"
    hint = f"use an index from 0 to {count - lanes}" if lanes <= count else "take fewer lanes"
    refuse(
        "bounds",
        f"{reach} outside of this memory, which has {count} elements",
        hint=f"{hint}, or guard the access by a condition known at compile time",
    )


def stepped(b: Elaboration, at: Value, index: object, dtype: DType, times: int = 1) -> Value:
    """An address so many elements on, or so many times ``times`` elements."""
    by, size = index_value(index, b), times * (1 if dtype.is_number else dtype.itemsize)
    if size != 1:
        by = b.value("arith.muli", (by, b.constant(size, I64)), I64)
    return b.value("llvm.getelementptr", (at, by), at.type, {"elem_type": memory_type(dtype)})


def first_of(address: Value) -> Value:
    """The address from which steps have led to this one."""
    while isinstance(address.owner, Op) and address.owner.name == "llvm.getelementptr":
        address = address.owner.operands[0]
    return address


def of_other_memory(one: Value, other: Value) -> bool:
    """Whether two addresses are known to lie apart: steps have led there from two allocations."""
    first = [first_of(address) for address in (one, other)]
    allocated = all(isinstance(v.owner, Op) and v.owner.name == "llvm.alloca" for v in first)
    return allocated and first[0] is not first[1]


def bytes_from_first(address: Value) -> int | None:
    """How far behind ``first_of`` it an address lies; None where that is known at run time only."""
    far = 0
    while isinstance(address.owner, Op) and address.owner.name == "llvm.getelementptr":
        address, by = address.owner.operands[0], (address.owner.operands[1].owner, address.owner)
        if not isinstance(by[0], Op) or by[0].name != "arith.constant":
            return None
        far += by[0].int_attr("value") * max(1, by[1].type_attr("elem_type").bits // 8)
    return far


class Place:
    """Where something lies in memory: its address, of what alignment, in which address space, and its type.

    Code under elaboration has one for as long as an expression such as ``p[i].a[k]`` goes on.
    """

    __slots__ = ("address", "alignment", "dtype", "space")

    def __init__(self, address: Value, dtype: DType, space: int, alignment: int) -> None:
        self.address: Value = address
        self.dtype: DType = dtype
        self.space: int = space
        self.alignment: int = alignment

    def attribute(self, name: str) -> Any:
        """The place of a field; of another attribute, such as a method, what the value here has."""
        dtype = self.dtype
        if isinstance(dtype, ElementType) and name in dtype.laid.fields:
            return self._field(*dtype.laid.fields[name])
        return getattr(self.load(), name)

    def has(self, name: str) -> bool:
        """Whether a name is that of one field, and not of several, as ``xy`` of a vector's."""
        several = getattr(getattr(self.dtype, "annotation", None), "__weft_several__", None)
        return several is None or not several(name)

    def field(self, name: str) -> Place:
        """The place of a field that is to be written."""
        dtype = self.dtype
        if isinstance(dtype, ElementType):
            if name not in dtype.laid.fields:
                check_field(self.load(), name)
            return self._field(*dtype.field(name))
        refuse(
            "attribute",
            f"cannot assign to .{name} of {a_(type(self.load()).__name__)} in a kernel",
            notes=("only fields of a @struct that a local variable holds can be assigned",),
            hint="use a local variable, or write to memory",
        )

    def _field(self, offset: int, dtype: DType) -> Place:
        at = moved(current(), self.address, offset)
        return self._like(at, dtype, aligned(self.alignment, offset))

    def _like(self, at: Value, dtype: DType, alignment: int) -> Place:
        return type(self)(at, dtype, self.space, alignment)

    def item(self, index: Any) -> Any:
        """The place of an element of an array or of a lane; of what a pointer here leads to."""
        items = self.dtype.laid.items if isinstance(self.dtype, ElementType) else None
        even = getattr(getattr(self.dtype, "annotation", None), "__weft_even__", None)
        if even is not None and (found := even(index)) is not None:  # a vector's numbers, one after the other
            of, count, index = found
            items = element_type(of), count
        if items is None:
            held: Any = self.load()
            place_of = getattr(held, "__weft_place__", None)
            return held[index] if place_of is None else place_of(index)
        dtype, count = items
        check_index(index, 1, count)
        known = known_index(index)
        if known is not None:
            return self._field(known * dtype.itemsize, dtype)
        note_index(index, count)
        at = stepped(current(), self.address, index, dtype)
        return self._like(at, dtype, aligned(self.alignment, dtype.itemsize))

    def load(self) -> Any:
        """What lies here; of what is used where it lies, such as a barrier, that with its address."""
        used_at = getattr(getattr(self.dtype, "annotation", None), "__weft_used_at__", None)
        if used_at is not None:
            return used_at(self.pointer())
        return load_element(current(), self.address, self.dtype, self.alignment)

    def store(self, value: Any) -> None:
        """Write what lies here, and nothing beside it."""
        store_element(current(), self.address, self.dtype, self.alignment, value)

    def pointer(self) -> Pointer[Any]:
        """The address.

        Raises:
            CompileError: what lies here is not aligned as pointers to such are.
        """
        from weft.lang.pointer import pointer_at

        if self.alignment < self.dtype.alignment:
            refuse(
                "alignment",
                f"this {type_name(self.dtype)} lies at a multiple of {self.alignment} bytes, "
                f"and a pointer to such at one of {self.dtype.alignment}",
                notes=("its struct is packed",),
                hint="read and write it through the struct: p[i].field",
            )
        return pointer_at(self.address, self.dtype, self.space)
