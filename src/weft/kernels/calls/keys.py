"""What a call of a ready kernel decides from: its arguments, but for the addresses of arrays.

Two calls of one key launch the same kernels by the same grids, over the memory of their own arrays. What is
told apart of an array is its type, its shape and strides, its place, the stream on which its library uses it
now, and where it lies within 16 bytes, the widest access of a thread.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple, cast

from weft.dtype import DType
from weft.foreign.arrays import mapping_under
from weft.layout import LayoutTensor
from weft.runtime.buffers import DeviceBuffer
from weft.tensor import Tensor

ALIGNED = 15
"""These bits of an address are part of the key."""
_MOST_ITEMS = 16
Found = tuple[Any, Any]
"""Of an argument: what the key has of it, and the address of an array, None for what is none."""
_Reader = Callable[[Any], Found | None]
_Address = Callable[[Any], int]


class Key(NamedTuple):
    """What a call is told apart by, the arrays that it was given, and where these lie."""

    key: tuple[Any, ...]
    arrays: list[Any]
    addresses: list[int]


def key_of(function: object, args: tuple[Any, ...], named: Mapping[str, Any]) -> Key | None:
    """The key of a call; None where an argument is of a kind that is not told apart."""
    parts: list[Any] = [function, len(args), *named]
    arrays: list[Any] = []
    addresses: list[int] = []
    for value in (*args, *named.values()) if named else args:
        kind = cast("type[Any]", type(value))
        read = _readers.get(kind)
        if read is None:
            read = _readers[kind] = _reader_of(kind)
        found = read(value)
        if found is None:
            return None
        part, address = found
        parts.append(part)
        if address is not None:
            arrays.append(value)
            addresses.append(address)
    return Key(tuple(parts), arrays, addresses)


def address_of(array: Any) -> int:
    """Where an array lies that an operation has made."""
    return _addresses[type(array)](array)


def _refused(value: Any) -> None:
    return None


def _nothing(value: Any) -> Found:
    return None, None


def _as_it_is(value: Any) -> Found:
    return (type(value), value), None


def _float(value: float) -> Found:
    return (float, value, math.copysign(1.0, value)), None


def _tuple(value: tuple[Any, ...]) -> Found | None:
    if len(value) > _MOST_ITEMS:
        return None
    parts: list[Any] = [tuple]
    for item in value:
        found = _readers.get(cast("type[Any]", type(item)), _refused)(item)
        if found is None or found[1] is not None:
            return None
        parts.append(found[0])
    return tuple(parts), None


def _buffer(value: DeviceBuffer[Any]) -> Found | None:
    key = value.key  # of a context and a type; None where Python is to have a look
    if key is None:
        return None
    address = value.address
    return (DeviceBuffer, key, len(value), address & ALIGNED), address


def _layout_tensor(value: LayoutTensor[Any]) -> Found | None:
    storage, layout = value.storage, value.layout
    key = getattr(storage, "key", None)
    if key is None or value.element is not None or value.edges is not None or value.swizzled is not None:
        return None
    address = storage.address
    return (LayoutTensor, key, layout.shape, layout.stride, address & ALIGNED), address


def _tensor(value: Tensor[Any]) -> Found | None:
    storage: Any = value.storage
    key = storage.key
    if key is None:
        return None
    address = storage.address
    return (Tensor, key, value.shape, address & ALIGNED), address


def _address_of_storage(value: Any) -> int:
    return value.storage.address


_addresses: dict[type[Any], _Address] = {
    DeviceBuffer: attrgetter("address"),
    LayoutTensor: _address_of_storage,
    Tensor: _address_of_storage,
}


def _numpy() -> tuple[_Address, _Reader]:
    import numpy as np

    def address(value: Any) -> int:
        return value.__array_interface__["data"][0]

    def read(value: Any) -> Found | None:
        strides = value.strides
        if (strides and min(strides) < 0) or (value.base is not None and mapping_under(value) is not None):
            return None
        at = address(value)
        place = value.flags.writeable, at & ALIGNED
        return (np.ndarray, value.shape, strides, value.dtype, place), at

    return address, read


def _torch() -> tuple[_Address, _Reader]:
    torch: Any = sys.modules["torch"]
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def read(tensor: Any) -> Found | None:
        if current is None or not tensor.is_cuda or tensor.is_neg():
            return None
        try:
            address = tensor.data_ptr()
        except RuntimeError:  # a tensor of a transformation, without memory
            return None
        index = tensor.get_device()
        where = index, current(index), address & ALIGNED
        return (torch, tensor.shape, tensor.stride(), tensor.dtype, where), address

    return torch.Tensor.data_ptr, read


def _cupy() -> tuple[_Address, _Reader]:
    cupy: Any = sys.modules["cupy"]
    current = cupy.cuda.get_current_stream

    def read(array: Any) -> Found | None:
        strides, memory = array.strides, array.data
        if strides and min(strides) < 0:
            return None
        address = memory.ptr
        where = memory.device_id, current().ptr, address & ALIGNED
        return (cupy, array.shape, strides, array.dtype, where), address

    return attrgetter("data.ptr"), read


_LIBRARIES: dict[tuple[str, str], Callable[[], tuple[_Address, _Reader]]] = {
    ("numpy", "ndarray"): _numpy,
    ("torch", "Tensor"): _torch,
    ("torch", "Parameter"): _torch,
    ("cupy", "ndarray"): _cupy,
}


def _reader_of(kind: type[Any]) -> _Reader:
    if issubclass(kind, type):  # a class of numbers, such as BFloat16
        return _as_it_is
    make = _LIBRARIES.get((kind.__module__.partition(".")[0], kind.__name__))
    if make is None:
        return _refused
    _addresses[kind], read = make()
    return read


_readers: dict[type[Any], _Reader] = {
    type(None): _nothing,
    **dict.fromkeys((bool, int, str, DType), _as_it_is),
    float: _float,
    tuple: _tuple,
    DeviceBuffer: _buffer,
    LayoutTensor: _layout_tensor,
    Tensor: _tensor,
}
