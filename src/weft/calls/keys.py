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

from weft.abi.formats import pack
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

ALIGNED, WORD = 15, 8
"""These bits of an address are part of the key."""
_MOST_ITEMS = 16
FUNCTIONS = (FunctionType, Func)
"""Classes of functions."""
Key = tuple[Any, ...]


class Given:
    """What a call is given, read so far."""

    __slots__ = ("addresses", "arrays", "numbers", "parts")

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        """What the key has."""
        self.arrays: list[Any] = []
        self.addresses: list[int] = []
        """Where these lie."""
        self.numbers: list[int] = []
        """weft's numbers that functions capture, as words of a launch: the key has their types alone."""

    def memory(self, array: Any, address: int) -> None:
        """Add an array, and where it lies."""
        self.arrays.append(array)
        self.addresses.append(address)


_Reader = Callable[[Any, Given], bool]
"""Adds what there is to know of an argument, to the key as much for each of a kind; whether that is all."""
_Address = Callable[[Any], int]


def key_of(function: object, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Key, Given] | None:
    """What a call is told apart by, and what else it is given.

    None where an argument is of a kind that is not told apart.
    """
    given = Given([function, len(args), *named])
    for value in (*args, *named.values()) if named else args:
        kind = cast("type[Any]", type(value))
        read = _readers.get(kind) or _found(kind)
        if not read(value, given):
            return None
    return tuple(given.parts), given


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


def _function(value: Any, given: Given) -> bool:
    def read(captured: Any) -> bool:
        kind, held = cast("type[Any]", type(captured)), len(given.arrays)
        if isinstance(captured, Number) and captured.lanes == 1:
            given.parts.append(kind)
            given.numbers.append(_word(captured))
            return True
        known = (_readers.get(kind) or _found(kind))(captured, given)
        return known and (kind is not tuple or len(given.arrays) == held)  # whose arrays would be constants

    return read_function(value, given.parts, read)


def _word(number: Number) -> int:
    """A number as a word of a launch's arguments."""
    return int.from_bytes(pack(number.dtype, number.value).ljust(WORD, b"\0"), "little", signed=True)


def _refused(value: Any, given: Given) -> bool:
    return False


def _as_it_is(value: Any, given: Given) -> bool:
    given.parts += type(value), value
    return True


def _number(value: Number, given: Given) -> bool:
    held = value.value
    if type(held) is float:
        given.parts += type(value), held, math.copysign(1.0, held)
    else:
        given.parts += (type(value), held) if type(held) in (int, bool) else told_apart(value)
    return True


def _scalar(value: Any, given: Given) -> bool:
    given.parts += type(value), value.tobytes()
    return True


def _context(value: BaseContext, given: Given) -> bool:
    given.parts.append(value.keys[DType.uint8])  # an object of its own, which does not keep it
    return True


def _float(value: float, given: Given) -> bool:
    given.parts += float, value, math.copysign(1.0, value)
    return True


def _tuple(value: tuple[Any, ...], given: Given) -> bool:
    parts, given.parts = given.parts, [tuple]
    whole = len(value) <= _MOST_ITEMS
    for item in value if whole else ():
        kind = cast("type[Any]", type(item))
        whole = whole and _readers.get(kind, _refused)(item, given)
    items, given.parts = given.parts, parts
    given.parts.append(tuple(items))
    return whole


def _buffer(value: DeviceBuffer[Any], given: Given) -> bool:
    key = value.key  # of a context and a type; None where Python is to have a look
    if key is None:
        return False
    address = value.address
    given.parts += DeviceBuffer, key, len(value), address & ALIGNED
    given.memory(value, address)
    return True


def _layout_tensor(value: LayoutTensor[Any], given: Given) -> bool:
    storage, layout = value.storage, value.layout
    key = getattr(storage, "key", None)
    if key is None or value.element is not None or value.edges is not None or value.swizzled is not None:
        return False
    address = storage.address
    given.parts += LayoutTensor, key, layout.shape, layout.stride, address & ALIGNED
    given.memory(value, address)
    return True


def _tensor(value: Tensor[Any], given: Given) -> bool:
    storage: Any = value.storage
    if storage.key is None:
        return False
    address = storage.address
    given.parts += Tensor, storage.key, value.shape, address & ALIGNED
    given.memory(value, address)
    return True


def _address_of_storage(value: Any) -> int:
    return value.storage.address


def _numpy() -> tuple[_Address, _Reader]:
    import numpy as np

    def address_of(value: Any) -> int:
        return value.__array_interface__["data"][0]

    def read(value: Any, given: Given) -> bool:
        strides = value.strides
        if (strides and min(strides) < 0) or (value.base is not None and mapping_under(value) is not None):
            return False
        address = address_of(value)
        given.parts += np.ndarray, value.shape, strides, value.dtype, value.flags.writeable, address & ALIGNED
        given.memory(value, address)
        return True

    return address_of, read


def _torch() -> tuple[_Address, _Reader]:
    torch: Any = sys.modules["torch"]
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def read(tensor: Any, given: Given) -> bool:
        stream: Any = None
        if (
            tensor.is_neg()
            or tensor.is_nested
            or not (tensor.is_cpu or (tensor.is_cuda and current is not None))
        ):
            return False
        try:
            address = tensor.data_ptr()
        except RuntimeError:  # a tensor of a transformation, without memory
            return False
        if address == 0 and tensor.numel():  # zeros that are kept nowhere
            return False
        index = tensor.get_device()
        if tensor.is_cuda and current is not None:
            stream = current(index)
        place = address & ALIGNED
        given.parts += torch, tensor.shape, tensor.stride(), tensor.dtype, index, stream, place
        given.memory(tensor, address)
        return True

    return torch.Tensor.data_ptr, read


def _cupy() -> tuple[_Address, _Reader]:
    cupy: Any = sys.modules["cupy"]
    current = cupy.cuda.get_current_stream

    def read(array: Any, given: Given) -> bool:
        strides, memory = array.strides, array.data
        if strides and min(strides) < 0:
            return False
        address, index = memory.ptr, memory.device_id
        given.parts += cupy, array.shape, strides, array.dtype, index, current().ptr, address & ALIGNED
        given.memory(array, address)
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
