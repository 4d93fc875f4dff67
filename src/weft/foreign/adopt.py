"""Another library's array where a kernel's parameter is a Pointer or a LayoutTensor."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, cast, get_args, get_origin

from weft.dtype import DType
from weft.foreign.arrays import ForeignArray
from weft.foreign.elements import as_bytes, as_elements
from weft.foreign.read import Unreadable, reader_of
from weft.lang.accept import Mismatch, element_dtype, is_open
from weft.lang.elements import ElementType
from weft.lang.number import type_name
from weft.lang.pointer import Pointer
from weft.lang.records import ForeignStruct
from weft.layout import Layout
from weft.layout.tensor.tensor import LayoutTensor
from weft.runtime.buffers import Buffer
from weft.runtime.context import BaseContext


class _Takes(NamedTuple):
    """What a parameter takes: whether memory, as a LayoutTensor, of which type, in words; or anything."""

    annotation: Any
    memory: bool = False
    tensor: bool = False
    wanted: DType | None = None
    allowed: str = ""
    opened: bool = False


_known: dict[int, _Takes] = {}
"""By the annotation's identity, as annotations take long to hash, and some cannot be hashed."""
_ours: dict[type, bool] = {}
"""Whether a type's values are weft's memory: buffers, tensors."""
_MOST = 4096


def _takes(annotation: Any) -> _Takes:
    found = _known.get(id(annotation))
    if found is None:
        if len(_known) >= _MOST:
            _known.clear()
        found = _known[id(annotation)] = _looked_at(annotation)
    return found


def _looked_at(annotation: Any) -> _Takes:
    if is_open(annotation):
        return _Takes(annotation, True, True, None, "a tensor or array", True)
    origin: Any = get_origin(annotation) or annotation
    if not isinstance(origin, type) or not issubclass(origin, (Pointer, LayoutTensor)):
        return _Takes(annotation)
    tensor = issubclass(origin, LayoutTensor)
    wanted = element_dtype(annotation)
    allowed = f"a {'tensor' if tensor else 'buffer'} or array"
    return _Takes(
        annotation, True, tensor, wanted, allowed if wanted is None else f"{allowed} of {type_name(wanted)}"
    )


def _is_ours(kind: type[Any]) -> bool:
    found = _ours[kind] = issubclass(kind, (Buffer, LayoutTensor)) or hasattr(kind, "to_layout_tensor")
    return found


def adopt(context: BaseContext, annotation: Any, value: Any) -> Any:
    """A value as ``accept`` takes it: memory for a Pointer, a tensor for a LayoutTensor; others as they are.

    Raises:
        Mismatch: the array cannot be an argument of this parameter, in this context.
    """
    kind = cast("type[Any]", type(value))
    if kind is LayoutTensor:  # quickly, as launches have many of them
        found = _known.get(id(annotation))
        if found is not None and found.tensor:
            return value
    read = reader_of(value)
    if read is None:
        ours = _ours.get(kind)
        if not (_is_ours(kind) if ours is None else ours):
            return value
    _, memory, as_tensor, wanted, allowed, opened = _takes(annotation)
    if not memory or (opened and _is_buffer(value)):
        return value
    if read is None:
        return _as_one(value) if as_tensor else _as_memory(value)
    try:
        array = read(value)
    except Unreadable as found:
        raise Mismatch(found.found, allowed, found.hint * (not found.copied), copied=found.copied) from None
    if wanted is None and any(map(get_origin, get_args(annotation))):  # what others say is looked at later
        wanted = DType.uint8 if isinstance(array.dtype, ForeignStruct) else None
    array = _with_elements(array, wanted, allowed, "LayoutTensor" if as_tensor else "Pointer")
    wrong = array.misplaced(context)
    if wrong is not None:
        place, hint = wrong
        here = "the host" if context.info.shares_host else f"{context.api}:{context.id}"
        raise Mismatch(f"{array.describe()} on {place}", f"{allowed} on {here}", hint)
    alignment = (wanted or array.dtype).alignment
    if array.address % alignment:
        raise Mismatch(
            f"{array.describe()} at an address that is no multiple of {alignment} bytes",
            allowed,
            copied="x.clone()" if array.made_by == "torch.Tensor" else "x.copy()",
        )
    if as_tensor:
        if min(array.strides, default=0) < 0:
            found = f"{array.describe()} with strides {array.strides}, of which one is below 0"
            raise Mismatch(found, allowed, copied=array.advice.contiguous)
        return tensor_of(array)
    if not array.is_row_major:
        raise Mismatch(
            f"{array.describe()} with shape {array.shape} and strides {array.strides}, not contiguous",
            allowed,
            "or annotate LayoutTensor[...], which honours strides",
            copied=array.advice.contiguous,
        )
    return array


def _with_elements(array: ForeignArray, wanted: DType | None, allowed: str, kind: str) -> ForeignArray:
    """The array with elements of the wanted type, for a parameter of that kind."""
    if isinstance(wanted, ElementType):
        return as_elements(array, wanted, allowed)
    foreign = isinstance(array.dtype, ForeignStruct)
    if foreign and wanted is DType.uint8:
        return as_bytes(array)
    if foreign:
        like = {"complex64": "ComplexFloat32", "complex128": "ComplexFloat64"}.get(array.dtype.name)
        hint = f"annotate {kind}[{like}], of weft.complex" if like else ""
        raise Mismatch(
            array.describe(), allowed, hint or f"annotate {kind}[S], where S is a @struct like these"
        )
    if wanted is None or array.dtype is wanted:
        return array
    convert = array.advice.convert.format(name=wanted.name)
    instead = f"or annotate {kind}[{type_name(array.dtype)}]"
    if array.dtype is DType.uint8 and "memoryview" in convert:  # bytes, which may stand for anything
        convert = f"pass np.frombuffer(x, np.{wanted.name}) for the numbers that its bytes are"
    if "(" not in convert or convert.startswith("pass "):
        raise Mismatch(array.describe(), allowed, f"{convert}, {instead}")
    raise Mismatch(array.describe(), allowed, instead, copied=convert)


def _as_one(value: Any) -> Any:
    """A buffer as a tensor of one mode."""
    return view(value, layout_of((len(value),), (1,)), 1) if _is_buffer(value) else value


def _as_memory(value: Any) -> Any:
    """The memory of a tensor whose elements are one contiguous stretch in row-major order."""
    if _is_buffer(value):
        return value
    tensor: Any = value if _is_tensor(value) else value.to_layout_tensor()
    layout = tensor.layout
    plain = tensor.element is None and not tensor.masked and tensor.swizzle is None
    whole = plain and layout.is_static
    return tensor.storage if whole and layout == Layout.row_major(layout.shape) else value


def _is_buffer(value: object) -> bool:
    return isinstance(value, Buffer)


def _is_tensor(value: object) -> bool:
    return isinstance(value, LayoutTensor)


@lru_cache(maxsize=4096)
def layout_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    """The layout of an array."""
    return Layout(shape, strides)


def tensor_of(array: ForeignArray) -> LayoutTensor[Any]:
    """The array as a tensor: shape and strides are its layout."""
    return view(array, layout_of(array.shape, array.strides), 1)


view: Callable[[ForeignArray | Buffer[Any], Layout, int], LayoutTensor[Any]] = LayoutTensor.of
"""Memory through a layout, of which so many bytes of alignment are known."""
