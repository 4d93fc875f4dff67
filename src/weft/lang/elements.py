"""What memory holds besides numbers: structs, pointers and functions, each part where C puts it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, get_origin

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I8, I64, of_dtype
from weft.diagnostics import STORED, a_, refuse
from weft.dtype import DType, as_dtype
from weft.lang import arith
from weft.lang.elaboration import Elaboration
from weft.lang.number import number_class, to_type
from weft.lang.spec import NumberSpec, PointerSpec, Spec, build_each, spec_of
from weft.lang.structs import StructSpec, is_struct, struct_fields
from weft.record import record

__all__ = [
    "Placed",
    "element_of",
    "load_element",
    "memory_element",
    "moved",
    "placed",
    "same_elements",
    "store_element",
]


@record
class Placed:
    """What lies in memory: its size and alignment in bytes, and of a struct the fields with their offsets."""

    spec: Spec
    size: int
    alignment: int
    fields: Mapping[str, tuple[int, Placed]]

    def field(self, name: str) -> tuple[int, Placed]:
        """A field's offset, and what lies there."""
        found = self.fields.get(name)
        if found is not None:
            return found
        known = ", ".join(self.fields) or "no fields"
        message = f"{self.spec.describe()} has no field `{name}`"
        refuse("unknown-attribute", message, notes=(f"it has {known}",), hint="declare it in the @struct")


def memory_element(annotation: Any) -> bool:
    """Whether memory can hold what is annotated so, and it is no number: a struct, a pointer, a function."""
    return is_struct(annotation) or hasattr(get_origin(annotation), "__weft_in_memory__")


def element_of(to: Any) -> tuple[DType, Any]:
    """The type of elements, and the annotation of those that are no numbers, whose bytes the type then is.

    Raises:
        TypeError: it is neither.
    """
    return (DType.uint8, to) if memory_element(to) else (as_dtype(to), None)


@functools.cache
def placed(annotation: Any) -> Placed:
    """Where what is annotated so has its parts.

    Raises:
        CompileError: a field of a struct has no place in memory.
    """
    if not is_struct(annotation):
        from weft.lang.accept import Mismatch, spec_of_annotation

        try:
            return _placed(spec_of_annotation(annotation))
        except Mismatch as wrong:
            refuse("element", f"{wrong.found} has no place in memory", hint=wrong.hint)
    fields: dict[str, tuple[int, Placed]] = {}
    specs: list[tuple[str, Spec]] = []
    end, alignment = 0, 1
    for name, inner in struct_fields(annotation).items():
        part = _field(annotation, name, inner)
        at = -(-end // part.alignment) * part.alignment
        fields[name] = at, part
        specs.append((name, part.spec))
        end, alignment = at + part.size, max(alignment, part.alignment)
    size = -(-end // alignment) * alignment
    return Placed(StructSpec(annotation, tuple(specs)), size, alignment, fields)


def _field(owner: type[Any], name: str, annotation: Any) -> Placed:
    number = isinstance(getattr(annotation, "dtype", None), DType) and not hasattr(
        annotation, "weft_any_lanes"
    )
    if number or memory_element(annotation):
        return placed(annotation)
    from weft.lang.signature import describe_annotation

    refuse(
        "element",
        f"{owner.__name__}.{name} is {a_(describe_annotation(annotation))}, which has no place in memory",
        hint="fields in memory are numbers, SIMD values, pointers, functions and structs of these",
    )


def _placed(spec: Spec) -> Placed:
    size = 8
    if isinstance(spec, NumberSpec):
        size = spec.dtype.itemsize * spec.lanes
    return Placed(spec, size, size, {})


def same_elements(one: Spec, other: Spec) -> bool:
    """Whether both are pointers to elements of one kind, in whatever address spaces."""
    if not isinstance(one, PointerSpec) or not isinstance(other, PointerSpec):
        return False
    return (one.dtype, one.element) == (other.dtype, other.element)


def moved(b: Elaboration, at: Value, offset: int) -> Value:
    """An address so many bytes on."""
    if not offset:
        return at
    return b.value("llvm.getelementptr", (at, b.constant(offset, I64)), at.type, {"elem_type": I8})


def load_element(b: Elaboration, at: Value, part: Placed) -> Any:
    """What lies at an address."""
    spec = part.spec
    if isinstance(spec, StructSpec):
        values = [load_element(b, moved(b, at, offset), inner) for offset, inner in part.fields.values()]
        made: Any = object.__new__(spec.cls)
        for name, value in zip(part.fields, values, strict=True):
            object.__setattr__(made, name, value)
        return made
    (leaf,) = spec.leaves()
    boolean = leaf.dtype is DType.bool
    kind = of_dtype(DType.uint8, leaf.type.lanes) if boolean else leaf.type
    attrs = {"alignment": part.alignment, "invariant": False, "volatile": False}
    value = b.value("llvm.load", (at,), kind, attrs)
    if boolean:
        value = arith.cast(b, value, DType.uint8, DType.bool)
    return build_each([spec], [value])[0]


def store_element(b: Elaboration, at: Value, part: Placed, value: Any) -> None:
    """Put a value at an address."""
    spec = part.spec
    if isinstance(spec, NumberSpec):
        data = to_type(value, number_class(spec.dtype, spec.lanes), b)
        if spec.dtype is DType.bool:
            data = arith.cast(b, data, DType.bool, DType.uint8)
    elif isinstance(spec, StructSpec) and type(value) is spec.cls:
        for name, (offset, inner) in part.fields.items():
            store_element(b, moved(b, at, offset), inner, getattr(value, name))
        return
    else:
        found = spec_of(value)
        if found != spec:
            space = same_elements(found, spec)
            wanted, has = (
                a_(spec.describe()),
                "one of another address space" if space else a_(found.describe()),
            )
            refuse(
                "element",
                f"{wanted} is stored here, not {has}",
                hint="give it by .address_space_cast(AddressSpace.GLOBAL)" if space else f"store {wanted}",
                part=STORED,
            )
        (data,) = value.__weft_leaves__()
    b.emit("llvm.store", (at, data), (), {"alignment": part.alignment, "volatile": False})
