"""What the compiler knows of a value: the static part, and the IR values (leaves) that complete it.

One mechanism serves parameters, variables that control flow assigns, calls and results: a value is
taken apart into its spec and its leaves, and built again from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from weft.dtype import DType
from weft.ir.builder import current
from weft.ir.core import Value
from weft.ir.types import Type, of_dtype, pointer
from weft.lang.number import Number, number_class, value_of

__all__ = ["Leaf", "NumberSpec", "PointerSpec", "Spec", "StaticSpec", "TupleSpec", "leaves_of", "spec_of"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One machine value: the suffix of its name, its type, and what a host packs for it."""

    suffix: str
    type: Type
    dtype: DType
    pointer: bool = False


class Spec(Protocol):
    """The static part of a value; equal specs mean interchangeable code.

    A class whose values have one gives it by ``__weft_spec__()`` and their leaves by
    ``__weft_leaves__()``, as pointers, tensors and structs do.
    """

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        ...

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        ...

    def describe(self) -> str:
        """How a message names it."""
        ...


@dataclass(frozen=True, slots=True)
class NumberSpec:
    """A number of some class."""

    dtype: DType
    lanes: int = 1

    def leaves(self) -> Sequence[Leaf]:
        return (Leaf("", of_dtype(self.dtype, self.lanes), self.dtype),)

    def build(self, leaves: Sequence[Value]) -> Number:
        return number_class(self.dtype, self.lanes).of(leaves[0])

    def describe(self) -> str:
        return number_class(self.dtype, self.lanes).__name__


@dataclass(frozen=True, slots=True)
class PointerSpec:
    """An address of elements of one class in one address space."""

    dtype: DType
    space: int

    def leaves(self) -> Sequence[Leaf]:
        return (Leaf("", pointer(self.space), self.dtype, True),)

    def build(self, leaves: Sequence[Value]) -> Any:
        from weft.lang.pointer import Pointer

        return Pointer(leaves[0], self.dtype, self.space)

    def describe(self) -> str:
        return f"Pointer[{number_class(self.dtype).__name__}]"


@dataclass(frozen=True, slots=True)
class TupleSpec:
    """A tuple, item by item."""

    items: tuple[Spec, ...]

    def leaves(self) -> Sequence[Leaf]:
        return [
            Leaf(f"[{n}]{leaf.suffix}", leaf.type, leaf.dtype, leaf.pointer)
            for n, item in enumerate(self.items)
            for leaf in item.leaves()
        ]

    def build(self, leaves: Sequence[Value]) -> tuple[Any, ...]:
        return tuple(build_each(self.items, leaves))

    def describe(self) -> str:
        return f"({', '.join(i.describe() for i in self.items)})"


class StaticSpec:
    """Any Python object, known at compile time; equal where the objects are."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def leaves(self) -> Sequence[Leaf]:
        return ()

    def build(self, leaves: Sequence[Value]) -> Any:
        return self.value

    def describe(self) -> str:
        return f"{self.value!r} (known at compile time)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StaticSpec) or type(self.value) is not type(other.value):
            return False
        return self.value is other.value or bool(self.value == other.value)

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:
            return id(type(self.value))


def build_each(specs: Sequence[Spec], leaves: Sequence[Value]) -> list[Any]:
    """Several values from the concatenation of their leaves."""
    out: list[Any] = []
    start = 0
    for spec in specs:
        count = len(spec.leaves())
        out.append(spec.build(leaves[start : start + count]))
        start += count
    return out


def spec_of(value: Any) -> Spec:
    """The spec of any value; a Python object is static, whatever it is."""
    if isinstance(value, Number):
        return NumberSpec(value.dtype, value.lanes)
    if hasattr(type(value), "__weft_spec__"):
        return value.__weft_spec__()
    if type(value) is tuple:
        items: tuple[Any, ...] = value
        return TupleSpec(tuple(spec_of(v) for v in items))
    return StaticSpec(value)


def leaves_of(value: Any) -> list[Value]:
    """The IR values that complete ``spec_of(value)``."""
    if isinstance(value, Number):
        return [value_of(value, current())]
    if hasattr(type(value), "__weft_leaves__"):
        return value.__weft_leaves__()
    if type(value) is tuple:
        items: tuple[Any, ...] = value
        return [leaf for v in items for leaf in leaves_of(v)]
    return []
