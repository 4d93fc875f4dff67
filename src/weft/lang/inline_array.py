"""Arrays of a fixed length as values: what a struct holds in a row."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, overload

from weft.compiler.ir.core import Value
from weft.diagnostics import VALUE, a_, refuse
from weft.diagnostics.hook import hush
from weft.diagnostics.unfit import tell_of_methods
from weft.lang.bracketed import Bracketed
from weft.lang.elaboration import maybe_current
from weft.lang.elements import element_type
from weft.lang.generic import has_variables, type_meant
from weft.lang.hints import kind_of
from weft.lang.number import Number, NumberLike
from weft.lang.objects import note_copy
from weft.lang.places import Place, refuse_index
from weft.lang.pointer import Pointer
from weft.lang.products import copying, structs_in
from weft.lang.python_number import python_number
from weft.lang.spec import PartsSpec, Spec, leaves_of, spec_of
from weft.lang.structs import converted, replace_field

if TYPE_CHECKING:
    from weft.lang.memory_types import Arrays

    T = TypeVar("T")

    class _OfItems(type):  # a number in brackets is no type: annotations say nothing of the elements
        @overload
        def __getitem__(cls, item: tuple[type[T], Any]) -> type[_Typed.InlineArray[T]]: ...
        @overload
        def __getitem__(cls, item: Any) -> Any: ...
        def __getitem__(cls, item: Any) -> Any: ...

    class _Base(metaclass=_OfItems): ...
else:
    _Base = object

MOST_ITEMS = 1024
"""More would be as many loads and stores, written out, where such a value is copied."""


class InlineArray(_Base):
    """``InlineArray[T, n]``: ``n`` elements of ``T`` in a row, as C has ``T name[n]`` in a struct.

    ``T`` is a number, a SIMD value, a pointer, a struct, or another such array. In memory an element is read
    and written alone, by any index: ``p[i].name[k] += 1``. So it is in an array that a kernel or ``@func``
    makes or is given, made of ``n`` values or of ``fill=`` for all, and in one that is a struct's field. As
    a whole it is a value, so what is read from memory or returned is a copy.

    Example:
        >>> from weft import Float32, Int, Pointer, func, struct
        >>> @struct
        ... class Polynomial:
        ...     degree: Int
        ...     factors: InlineArray[Float32, 4]
        ...
        ...     def at(self, x: Float32) -> Float32:
        ...         found = Float32(0.0)
        ...         for k in range(self.degree + 1):
        ...             found = found * x + self.factors[self.degree - k]
        ...         return found
        >>> @func
        ... def value(p: Polynomial, x: Float32) -> Float32:
        ...     return p.at(x)
        >>> value(Polynomial(2, InlineArray[Float32, 4](1.0, 0.0, 3.0, 0.0)), 2.0)
        13.0
    """

    __slots__ = ("_memory", "_owner", "_values")
    __weft_items__: ClassVar[tuple[Any, int]]
    if TYPE_CHECKING:  # a struct's field takes a sequence too

        def __get__(self, instance: object, owner: Any = None, /) -> Self: ...
        def __set__(self, instance: object, value: Self | Sequence[Any] | Arrays, /) -> None: ...

    def __class_getitem__(cls, item: Any) -> Any:
        """The class of so many elements of a type."""
        parts: Any = item
        of, count = parts if type(item) is tuple and len(parts) == 2 else (parts, 0)
        of = type_meant(of)
        if has_variables(of) or isinstance(count, TypeVar):
            return GenericAlias(cls, (of, count))
        count = int(count) if isinstance(count, Number) else python_number(count)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_ITEMS:
            found = count if type(count) is int and count else "none"
            message = f"InlineArray takes a type and a number of elements from 1 to {MOST_ITEMS}, not {found}"
            refuse("inline-array", message, hint="write InlineArray[Float32, 4], say")
        return _array_class(of, count)

    def __init__(self, *items: Any, fill: Any = None) -> None:
        of, count = self._kind()
        if fill is not None and not items:
            items = (fill,) * count
            if hasattr(cast("type[Any]", type(fill)), "__deepcopy__") and maybe_current() is None:
                items = tuple([copy.deepcopy(fill) for _ in items])  # as in a kernel, where each is a value
        if len(items) != count:
            name = type(self).__name__
            hint = f"give {count}, or one for all: {name}(fill=...)"
            refuse("inline-array", f"{name} has {count} elements, not {len(items)}", hint=hint)
        self._values = tuple([converted(type(self), f"[{n}]", of, item) for n, item in enumerate(items)])
        b = self._owner = maybe_current()
        self._memory = self._spilt() if b is not None and b.changes_items else None

    @classmethod
    def _kind(cls) -> tuple[Any, int]:
        kind: tuple[Any, int] | None = getattr(cls, "__weft_items__", None)
        if kind is None:
            hint = "write InlineArray[Float32, 4](...), say"
            refuse("inline-array", "InlineArray needs its type and number of elements", hint=hint)
        return kind

    @staticmethod
    def __weft_arguments__(found: Any) -> tuple[Any, ...]:
        """What a type has in its brackets that is such an array, by which variables of types are found."""
        return getattr(found, "__weft_items__", ())

    @classmethod
    def of(cls, items: Iterable[Any]) -> Any:
        """The array of these values, unchecked."""
        made = object.__new__(cls)
        made._values, made._memory, made._owner = tuple(items), None, None
        return made

    @property
    def _items(self) -> tuple[Any, ...]:
        """The elements, as they are now."""
        memory = self._memory
        return self._values if memory is None else tuple([memory[n] for n in range(len(self))])

    @classmethod
    def given(cls, value: Any) -> Sequence[Any]:
        """The items of a value that such an array is set to: of another, or of a sequence of as many."""
        if not isinstance(value, cls):
            if isinstance(value, (Number, str)) or not hasattr(value, "__len__"):
                message = f"{a_(cls.__name__)} is stored here, not {a_(type(value).__name__)}"
                refuse("inline-array", message, hint=f"make one: {cls.__name__}(...)", part=VALUE)
            value = cls(*value)
        return value._items

    def __weft_spec__(self) -> Spec:
        return PartsSpec(tuple([spec_of(item) for item in self._values]), type(self))

    def __weft_leaves__(self) -> list[Value]:
        return [leaf for item in self._items for leaf in leaves_of(item)]

    def __weft_parts__(self) -> list[Any]:
        return list(self._items)

    @classmethod
    def __weft_spec_of_annotation__(cls, args: tuple[Any, ...], given: Any) -> Spec:
        from weft.lang.accept import spec_of_annotation

        of, count = cls._kind()
        return PartsSpec((spec_of_annotation(of),) * count, cls)

    @classmethod
    def __weft_accept__(cls, args: tuple[Any, ...], value: Any) -> tuple[Spec, list[Any]]:
        from weft.lang.accept import Mismatch, accept_parts

        kind: Any = cls
        if args:  # with variables, of which the elements may say the type, and all say the number
            kind = type(value) if isinstance(value, InlineArray) else None
            if type(value) in (list, tuple) and not has_variables(args[0]):
                kind = cls[args[0], len(value)]
            if kind is None:
                raise Mismatch(
                    a_(type(value).__name__), "an InlineArray", "make one: InlineArray[Float32, 4](*x), say"
                )
        of, count = kind._kind()
        if isinstance(value, (str, bytes, Number)) or not hasattr(value, "__len__"):
            raise Mismatch(a_(type(value).__name__), a_(kind.__name__), f"pass {count} values: a list, say")
        if len(value) != count:
            raise Mismatch(f"{len(value)} values", a_(kind.__name__))
        return accept_parts(kind, [of] * count, list(value))

    __weft_element__: Any = staticmethod(element_type)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        """The elements one after the other, each as it is by then."""
        return iter(self._values) if self._memory is None else map(self._memory.__getitem__, range(len(self)))

    def __getitem__(self, index: NumberLike) -> Any:
        """An element; by an index known only at run time, from memory into which all are put."""
        known = index.value if isinstance(index, Number) else python_number(index)
        if isinstance(known, int):
            known = _inside(known, len(self))
            return self._values[known] if self._memory is None else self._memory[known]
        if maybe_current() is None:
            refuse_index(index)
        return (self._memory or self._spilt())[index]

    def _spilt(self) -> Pointer[Any]:
        from weft.lang.allocate import local_memory

        dtype = element_type(self._kind()[0])
        memory = local_memory(dtype, len(self), max(16, dtype.alignment))
        for item in (
            one for value in self._values for one in structs_in(value)
        ):  # which have copies there from now on
            note_copy(item)
        for n, item in enumerate(self._values):
            memory.store(n, item)
        return memory

    def __weft_place__(self, index: NumberLike) -> Any:
        """Where an element lies; None where it does not change."""
        if self._memory is None or self._owner is not maybe_current():
            return None
        known = index.value if isinstance(index, Number) else python_number(index)
        if isinstance(known, int):
            _inside(known, len(self))
        found = self._memory.__weft_place__(index)
        return _Element(found.address, found.dtype, found.space, found.alignment)

    @property
    def values(self) -> tuple[Any, ...]:
        """The elements that it was made of; of one in memory none."""
        return self._values if self._memory is None else ()

    @property
    def in_memory(self) -> bool:
        """Whether its items lie in memory of the function at hand, where they are set."""
        return self._memory is not None and self._owner is maybe_current()

    def __weft_with__(self, part: Any, value: Any) -> Any:
        """The array with another item, by an index that may be known at run time only."""
        if isinstance(part, str):
            return replace_field(self, part, value)
        value = converted(type(self), "[...]", self._kind()[0], value)
        known = part.value if isinstance(part, Number) else python_number(part)
        if isinstance(known, int):
            known = _inside(known, len(self))
            return self.of([value if n == known else item for n, item in enumerate(self._items)])
        memory = self._spilt()
        memory[part] = value
        return self.of([memory[n] for n in range(len(self))])

    def __copy__(self) -> Self:
        return type(self)(*self)

    def __deepcopy__(self, memo: Any) -> Self:
        with copying(self, memo):
            return type(self)(*[copy.deepcopy(item, memo) for item in self])

    def __setitem__(self, index: NumberLike, value: Any) -> None:
        place = self.__weft_place__(index)
        if place is not None:
            place.store(converted(type(self), "[...]", self._kind()[0], value))
            return
        if maybe_current() is None:
            self._values = self.__weft_with__(index, value)._values
            return
        refuse(
            "inline-array",
            "this InlineArray is a copy, whose elements a helper cannot change",
            notes=("a helper is Python at compile time, which is given what the array holds",),
            hint="decorate the helper with @func, and return the array",
        )

    def __eq__(self, other: object) -> Any:
        from weft.lang.equality import equal_values

        if isinstance(other, (list, tuple, Number, int, float)):
            name = type(self).__name__
            message = f"`==` of {a_(name)} and {kind_of(cast('object', other))} would never hold"
            refuse("operand", message, hint=f"make an array of it, {name}(...), or compare the elements")
        if not isinstance(other, InlineArray):
            return NotImplemented
        return equal_values(self, other, type(self).__name__)

    __hash__: Any = object.__hash__

    def __dir__(self) -> list[str]:
        return []  # what it has is for weft

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._items))})"


class _Element(Place):
    """Where an element of an array in memory lies: a struct that is stored there has a copy."""

    __slots__ = ()

    def store(self, value: Any) -> None:
        """Write what lies here, and nothing beside it."""
        for one in structs_in(value):
            note_copy(one)
        super().store(value)


tell_of_methods(InlineArray)

if TYPE_CHECKING:
    _Array = InlineArray
    _Item = T | _Array | list[Any] | tuple[Any, ...]

    class _Typed:
        class InlineArray(_Array, Generic[T]):  # made by a call, whose brackets are no annotation
            def __init__(self, *items: _Item[T], fill: _Item[T] | None = None) -> None: ...
            def __iter__(self) -> Iterator[T]: ...
            def __getitem__(self, index: NumberLike) -> T: ...
            def __setitem__(self, index: NumberLike, value: _Item[T]) -> None: ...


def _inside(index: int, count: int) -> int:
    """An index, if it is one of ``count``."""
    if 0 <= index < count:
        return index
    message = f"index {index} is outside of this array, which has {count} elements"
    if maybe_current() is None:
        raise hush(IndexError(message))
    hint = f"use an index from 0 to {count - 1}"
    refuse("bounds", message, hint=f"{hint}, or guard the access by a condition known at compile time")


@functools.cache
def _array_class(of: Any, count: int) -> type[InlineArray]:
    from weft.lang.signature import describe_annotation

    try:
        element_type(of)
    except TypeError:
        shown = describe_annotation(of)
        hint = {"float": "write Float32 or Float64", "int": "write Int, or Int32", "bool": "write Bool"}
        refuse(
            "inline-array",
            f"InlineArray takes what memory can hold, not {shown}",
            hint=hint.get(shown, "write InlineArray[Float32, 4], say"),
        )
    name = f"InlineArray[{describe_annotation(of)}, {count}]"
    members = {
        "__slots__": (),
        "__weft_items__": (of, count),
        "__weft_brackets__": (InlineArray, (of, count)),
    }
    return Bracketed(name, (InlineArray,), members)
