"""What memory holds besides numbers: structs, arrays, vectors, pointers, each part where C puts it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, get_origin

from weft.abi.formats import elements_of as elements_of
from weft.abi.formats import numbers_of as numbers_of
from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I8, I64, Type, of_dtype
from weft.diagnostics import STORED, a_, refuse
from weft.dtype import DType, unaliased
from weft.lang import arith
from weft.lang.any_lanes import is_open
from weft.lang.elaboration import Elaboration
from weft.lang.fold import has_lanes
from weft.lang.generic import has_variables
from weft.lang.number import Number, number_class, to_type
from weft.lang.products import remade
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, build_each, spec_of
from weft.lang.structs import is_struct, struct_fields
from weft.record import record

if TYPE_CHECKING:
    import numpy as np


@record
class Laid:
    """How something lies in memory: its value's spec, size and alignment in bytes, and its parts."""

    spec: Spec
    size: int
    alignment: int
    fields: Mapping[str, tuple[int, DType]]
    """Of a struct the fields, with their offsets."""
    items: tuple[DType, int] | None = None
    """Of an array or a vector the type and the number of what it has."""

    def parts(self) -> list[tuple[int, DType]]:
        """The parts, with their offsets."""
        if self.items is None:
            return list(self.fields.values())
        item, count = self.items
        return [(n * item.itemsize, item) for n in range(count)]


class ElementType(DType):
    """An element type that is no number: a struct, an array, a vector, a pointer or a function."""

    __slots__ = ("_laid", "annotation")
    annotation: Any
    """How the type is written."""
    _laid: Laid | None

    def __init__(self, annotation: Any) -> None:
        from weft.lang.signature import describe_annotation

        super().__init__(describe_annotation(annotation), "element", 0)
        object.__setattr__(self, "annotation", annotation)
        object.__setattr__(self, "_laid", None)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__: Any = object.__hash__

    def __reduce__(self) -> Any:
        return element_type, (self.annotation,)

    def __call__(self, *value: Any) -> Any:
        """An element of this type."""
        return self.annotation(*value)

    def __repr__(self) -> str:
        return self.name

    @property
    def laid(self) -> Laid:
        """Where the parts lie; not before it is asked, since a struct may hold pointers to its like.

        Raises:
            CompileError: a field of a struct has no place in memory.
        """
        found = self._laid
        if found is None:
            found = _lay(self.annotation)
            object.__setattr__(self, "_laid", found)
        return found

    @property
    def itemsize(self) -> int:
        """Bytes that one element takes in memory, and from which the next is away."""
        return self.laid.size

    @property
    def alignment(self) -> int:
        """What addresses of elements are multiples of, in bytes."""
        return self.laid.alignment

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type of such elements; pointers and functions are addresses there."""
        import numpy as np

        laid = self.laid
        if laid.items is not None:
            inner = laid.items[0].numpy  # arrays of arrays are arrays of two dimensions
            return np.dtype((inner.base, (laid.items[1], *inner.shape)))
        if not isinstance(laid.spec, PartsSpec):
            return np.dtype("uint64")
        parts = list(laid.fields.values())
        described = {
            "names": list(laid.fields),
            "formats": [part.numpy for _, part in parts],
            "offsets": [offset for offset, _ in parts],
            "itemsize": laid.size,
        }
        return np.dtype(cast("Any", described))

    def taken(self, value: Any) -> Any:
        """A value as NumPy takes it for an element; several values in a list, each so."""
        if isinstance(value, list):
            return [self.taken(each) for each in cast("list[Any]", value)]
        return _as_numpy(value, self)

    def counted(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[int, str, str]:
        """How many of these a contiguous array has; of others, in what they differ and what to do."""
        from weft.lang.records import counted

        return counted(self, dtype, shape)

    def field(self, name: str) -> tuple[int, DType]:
        """A field's offset, and what lies there."""
        fields = self.laid.fields
        if name in fields:
            return fields[name]
        known = ", ".join(fields) or "no fields"
        message = f"{self} has no field `{name}`"
        refuse("unknown-attribute", message, notes=(f"it has {known}",), hint="declare it in the @struct")


def _as_numpy(value: Any, dtype: DType) -> Any:
    """A struct as a tuple of its fields, a vector or an array as a list; of short floats the bits."""
    kind: Any = value.__class__
    laid = dtype.laid if isinstance(dtype, ElementType) else None
    if is_struct(kind):
        value = tuple([getattr(value, name) for name in struct_fields(kind)])
    elif hasattr(kind, "__weft_items__"):
        value = list(value)
    elif issubclass(kind, Number):
        known: Any = value.value
        value = [*known] if has_lanes(known) else [known] * value.lanes if value.lanes > 1 else known
    if laid is None:
        return elements_of(dtype, value)
    parts = [*cast("list[Any]", value)] if isinstance(value, (list, tuple)) else None
    if parts is not None and isinstance(value, tuple) and len(parts) == len(laid.fields):
        return tuple([_as_numpy(part, of) for part, (_, of) in zip(parts, laid.fields.values(), strict=True)])
    if laid.items is None:
        return cast("Any", value)
    of = laid.items[0]
    return _as_numpy(value, of) if parts is None else [_as_numpy(part, of) for part in parts]


def element_type(of: object) -> DType:
    """The type of elements that are annotated so: of a number its format.

    Raises:
        TypeError: memory holds no such elements.
    """
    of = unaliased(of)
    annotation: Any = of
    if isinstance(annotation, DType):
        return annotation
    if isinstance(of, type) and issubclass(of, Number) and of.lanes == 1:
        return of.dtype
    origin: Any = get_origin(annotation) or annotation
    if not isinstance(origin, type) or not hasattr(origin, "__weft_element__") or has_variables(annotation):
        raise TypeError(f"{annotation!r} is not an element type")
    return _element_type(annotation)


_element_type = functools.cache(ElementType)


def _lay(annotation: Any) -> Laid:
    from weft.lang.accept import Mismatch, spec_of_annotation

    if is_struct(annotation):
        return _lay_struct(annotation)
    try:
        spec = spec_of_annotation(annotation)
    except Mismatch as wrong:
        refuse("element", f"{wrong.found} has no place in memory", hint=wrong.hint)
    if isinstance(spec, NumberSpec):
        size = spec.dtype.itemsize * spec.lanes
        return Laid(spec, size, size, {}, (spec.dtype, spec.lanes))
    counted: tuple[Any, int] | None = getattr(annotation, "__weft_items__", None)
    if counted is None:
        return Laid(spec, 8, 8, {})
    item = element_type(counted[0])
    return Laid(spec, item.itemsize * counted[1], item.alignment, {}, (item, counted[1]))


def _lay_struct(cls: type[Any]) -> Laid:
    fields: dict[str, tuple[int, DType]] = {}
    pack, alignment = cls.__weft_pack__ or 1 << 30, cls.__weft_align__
    end = 0
    for name, inner in struct_fields(cls).items():
        part = _field(cls, name, inner)
        step = min(part.alignment, pack)
        at = -(-end // step) * step
        fields[name] = at, part
        end, alignment = at + part.itemsize, max(alignment, step)
    spec = PartsSpec(tuple([_spec(part) for _, part in fields.values()]), cls)
    return Laid(spec, -(-end // alignment) * alignment, alignment, fields)


def _spec(dtype: DType) -> Spec:
    return dtype.laid.spec if isinstance(dtype, ElementType) else NumberSpec(dtype)


def _field(owner: type[Any], name: str, annotation: Any) -> DType:
    if annotation is owner:
        message = f"{owner.__name__}.{name} is {a_(owner.__name__)} itself, so that none would have an end"
        refuse("element", message, hint=f"hold its address: Pointer[{owner.__name__}]")
    if not is_open(annotation):
        try:
            return element_type(annotation)
        except TypeError:
            pass
    from weft.lang.signature import describe_annotation

    refuse(
        "element",
        f"{owner.__name__}.{name} is {a_(describe_annotation(annotation))}, which has no place in memory",
        hint="fields in memory are numbers, SIMD values, arrays, pointers, functions and structs of these",
    )


def memory_type(dtype: DType, lanes: int = 1) -> Type:
    """The type of elements in memory: Bool takes a byte there, and what is no number is bytes."""
    if dtype.kind in ("bool", "element"):
        return of_dtype(DType.uint8, lanes)
    return of_dtype(dtype, lanes)


def same_elements(one: Spec, other: Spec) -> bool:
    """Whether both are pointers to elements of one kind, in whatever address spaces."""
    return isinstance(one, PointerSpec) and isinstance(other, PointerSpec) and one.dtype is other.dtype


def moved(b: Elaboration, at: Value, offset: int) -> Value:
    """An address so many bytes on."""
    if not offset:
        return at
    return b.value("llvm.getelementptr", (at, b.constant(offset, I64)), at.type, {"elem_type": I8})


def aligned(alignment: int, offset: int) -> int:
    """To what an address is aligned that lies so many bytes behind one of an alignment."""
    both = alignment | offset
    return both & -both


def load_element(b: Elaboration, at: Value, dtype: DType, alignment: int) -> Any:
    """What lies at an address of an alignment."""
    spec = _spec(dtype)
    if isinstance(spec, PartsSpec):
        parts = cast("ElementType", dtype).laid.parts()
        return remade(
            spec.cls, [load_element(b, moved(b, at, o), part, aligned(alignment, o)) for o, part in parts]
        )
    (leaf,) = spec.leaves()
    boolean = leaf.dtype is DType.bool and not leaf.pointer
    kind = of_dtype(DType.uint8, leaf.type.lanes) if boolean else leaf.type
    attrs = {"alignment": min(dtype.alignment, alignment), "invariant": False, "volatile": False}
    value = b.value("llvm.load", (at,), kind, attrs)
    if boolean:
        value = arith.cast(b, value, DType.uint8, DType.bool)
    return build_each([spec], [value])[0]


def store_element(b: Elaboration, at: Value, dtype: DType, alignment: int, value: Any) -> None:
    """Put a value at an address of an alignment."""
    spec = _spec(dtype)
    if isinstance(spec, NumberSpec):
        data = to_type(value, number_class(spec.dtype, spec.lanes), b)
        if spec.dtype is DType.bool:
            data = arith.cast(b, data, DType.bool, DType.uint8)
    else:
        laid = cast("ElementType", dtype).laid
        if isinstance(spec, PartsSpec) and (laid.items is not None or type(value) is spec.cls):
            held = spec.cls.given(value) if laid.items else [getattr(value, name) for name in laid.fields]
            for (offset, part), one in zip(laid.parts(), held, strict=True):
                store_element(b, moved(b, at, offset), part, aligned(alignment, offset), one)
            return
        found = spec_of(value)
        if found != spec:
            _refuse_store(spec, found)
        (data,) = value.__weft_leaves__()
    attrs = {"alignment": min(dtype.alignment, alignment), "volatile": False}
    b.emit("llvm.store", (at, data), (), attrs)


def _refuse_store(spec: Spec, found: Spec) -> None:
    wanted, has, hint = a_(spec.describe()), a_(found.describe()), f"store {a_(spec.describe())}"
    if same_elements(found, spec):
        has, hint = "one of another address space", "give it by .address_space_cast(AddressSpace.GLOBAL)"
    elif getattr(found, "cls", None) is tuple:
        has, hint = "a tuple", f"write {spec.describe()}(*{STORED})"
    elif type(getattr(found, "value", None)).__name__ in ("list", "ndarray"):
        hint = f"write {spec.describe()}(*{STORED})"
    refuse("element", f"{wanted} is stored here, not {has}", hint=hint, part=STORED)
