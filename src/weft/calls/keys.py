"""What a call of the library decides from: its arguments, but for the addresses of arrays.

Two calls of one key launch the same kernels by the same grids, over the memory of their own arrays. What is
told apart of an array is its type, its shape and strides, its place, the stream on which its library uses it
now, and where it lies within 16 bytes, the widest access of a thread.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import FunctionType
from typing import Any, cast

from weft.calls.functions import read_function
from weft.dtype import DType
from weft.foreign.arrays import mapping_under
from weft.lang.decorators import Func
from weft.lang.number import Number
from weft.lang.told_apart import told_apart
from weft.layout import LayoutTensor
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.context import BaseContext
from weft.tensor import Tensor

ALIGNED = 15
"""These bits of an address are part of the key."""
_MOST_ITEMS = 16
FUNCTIONS = (FunctionType, Func)
"""Classes of functions."""
Key = tuple[Any, ...]
_Reader = Callable[[Any, list[Any], list[Any], list[int]], bool]
"""Adds what the key has of an argument, as much for each of a kind, to the first list, and an array and its
address to the others; whether the argument is told apart."""
_Address = Callable[[Any], int]


def key_of(
    function: object, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Key, list[Any], list[int]] | None:
    """What a call is told apart by, the arrays that it was given, and where these lie.

    None where an argument is of a kind that is not told apart.
    """
    parts: list[Any] = [function, len(args), *named]
    arrays: list[Any] = []
    addresses: list[int] = []
    for value in (*args, *named.values()) if named else args:
        kind = cast("type[Any]", type(value))
        read = _readers.get(kind) or _found(kind)
        if not read(value, parts, arrays, addresses):
            return None
    return tuple(parts), arrays, addresses


def address_of(array: Any) -> _Address:
    """What tells where arrays of this one's kind lie, which an operation makes."""
    kind = cast("type[Any]", type(array))
    if kind not in _addresses:
        _found(kind)
    return _addresses[kind]


def _found(kind: type[Any]) -> _Reader:
    """The reader of a kind not met before, or of functions, which tuples cannot hold."""
    if kind in FUNCTIONS:
        return _function
    read = _readers[kind] = _reader_of(kind)
    return read


def _function(value: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    def read(captured: Any) -> bool:
        kind, held = cast("type[Any]", type(captured)), len(arrays)
        known = (_readers.get(kind) or _found(kind))(captured, parts, arrays, addresses)
        return known and (kind is not tuple or len(arrays) == held)  # whose arrays would be constants

    return read_function(value, parts, read)


def _refused(value: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    return False


def _as_it_is(value: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    parts += type(value), value
    return True


def _number(value: Number, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    held = value.value
    if type(held) is float:
        parts += type(value), held, math.copysign(1.0, held)
    else:
        parts += (type(value), held) if type(held) in (int, bool) else told_apart(value)
    return True


def _scalar(value: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    parts += type(value), value.tobytes()
    return True


def _context(value: BaseContext, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    parts.append(value.keys[DType.uint8])  # an object of its own, which does not keep it
    return True


def _float(value: float, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    parts += float, value, math.copysign(1.0, value)
    return True


def _tuple(value: tuple[Any, ...], parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    items: list[Any] = [tuple]
    whole = len(value) <= _MOST_ITEMS
    for item in value if whole else ():
        kind = cast("type[Any]", type(item))
        whole = whole and _readers.get(kind, _refused)(item, items, arrays, addresses)
    parts.append(tuple(items))
    return whole


def _buffer(value: DeviceBuffer[Any], parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    key = value.key  # of a context and a type; None where Python is to have a look
    if key is None:
        return False
    address = value.address
    parts += DeviceBuffer, key, len(value), address & ALIGNED
    arrays.append(value)
    addresses.append(address)
    return True


def _layout_tensor(
    value: LayoutTensor[Any], parts: list[Any], arrays: list[Any], addresses: list[int]
) -> bool:
    storage, layout = value.storage, value.layout
    key = getattr(storage, "key", None)
    if key is None or value.element is not None or value.edges is not None or value.swizzled is not None:
        return False
    address = storage.address
    parts += LayoutTensor, key, layout.shape, layout.stride, address & ALIGNED
    arrays.append(value)
    addresses.append(address)
    return True


def _tensor(value: Tensor[Any], parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
    storage: Any = value.storage
    if storage.key is None:
        return False
    address = storage.address
    parts += Tensor, storage.key, value.shape, address & ALIGNED
    arrays.append(value)
    addresses.append(address)
    return True


def _address_of_storage(value: Any) -> int:
    return value.storage.address


def _numpy() -> tuple[_Address, _Reader]:
    import numpy as np

    def address_of(value: Any) -> int:
        return value.__array_interface__["data"][0]

    def read(value: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
        strides = value.strides
        if (strides and min(strides) < 0) or (value.base is not None and mapping_under(value) is not None):
            return False
        address = address_of(value)
        parts += np.ndarray, value.shape, strides, value.dtype, value.flags.writeable, address & ALIGNED
        arrays.append(value)
        addresses.append(address)
        return True

    return address_of, read


def _torch() -> tuple[_Address, _Reader]:
    torch: Any = sys.modules["torch"]
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def read(tensor: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
        if current is None or not tensor.is_cuda or tensor.is_neg():
            return False
        try:
            address = tensor.data_ptr()
        except RuntimeError:  # a tensor of a transformation, without memory
            return False
        index = tensor.get_device()
        place = address & ALIGNED
        parts += torch, tensor.shape, tensor.stride(), tensor.dtype, index, current(index), place
        arrays.append(tensor)
        addresses.append(address)
        return True

    return torch.Tensor.data_ptr, read


def _cupy() -> tuple[_Address, _Reader]:
    cupy: Any = sys.modules["cupy"]
    current = cupy.cuda.get_current_stream

    def read(array: Any, parts: list[Any], arrays: list[Any], addresses: list[int]) -> bool:
        strides, memory = array.strides, array.data
        if strides and min(strides) < 0:
            return False
        address, index = memory.ptr, memory.device_id
        parts += cupy, array.shape, strides, array.dtype, index, current().ptr, address & ALIGNED
        arrays.append(array)
        addresses.append(address)
        return True

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
    if issubclass(kind, Number):
        return _number
    if issubclass(kind, BaseContext):
        return _context
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, (numpy.number, numpy.bool_)):
        return _scalar
    make = _LIBRARIES.get((kind.__module__.partition(".")[0], kind.__name__))
    if make is None:
        return _refused
    _addresses[kind], read = make()
    return read


_readers: dict[type[Any], _Reader] = {
    **dict.fromkeys((type(None), bool, int, str, DType), _as_it_is),
    float: _float,
    tuple: _tuple,
    DeviceBuffer: _buffer,
    LayoutTensor: _layout_tensor,
    Tensor: _tensor,
}
_addresses: dict[type[Any], _Address] = {
    DeviceBuffer: attrgetter("address"),
    LayoutTensor: _address_of_storage,
    Tensor: _address_of_storage,
}
