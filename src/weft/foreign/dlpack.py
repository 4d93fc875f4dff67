"""DLPack's structures: reading another library's capsule, and making one.

The format is the C header of https://dmlc.github.io/dlpack; both its forms are read, and the plain
one, which every library takes, is made.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

from weft.dtype import DType, as_dtype
from weft.record import record

CPU: Final = 1
CUDA: Final = 2
CUDA_HOST: Final = 3
CUDA_MANAGED: Final = 13
_READ_ONLY = 1
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6, "float8_e4m3fn": 10, "float8_e5m2": 12}
ELEMENTS: Final = tuple(
    as_dtype(name)
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float8_e4m3fn float8_e5m2 float16 bfloat16 float32 float64".split()
)
"""weft's element types."""


def code_of(dtype: DType) -> tuple[int, int]:
    """DLPack's code and bits of an element type."""
    return _CODES[dtype.name if dtype.kind == "float8" else dtype.kind], max(8, dtype.bits)


_BY_CODE = {code_of(dtype): dtype for dtype in ELEMENTS}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@record
class Described:
    """What a capsule says."""

    address: int
    element: DType | str
    """The type, or how to name one that weft does not have."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In elements; None for row-major order."""
    device: tuple[int, int]
    read_only: bool


capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
is_capsule = ctypes.pythonapi.PyCapsule_IsValid
is_capsule.restype, is_capsule.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


_COMPLEX = 5
"""The code of complex numbers."""


def read_capsule(capsule: Any) -> Described:
    """What a capsule describes. The memory stays while the capsule does."""
    read_only = False
    if is_capsule(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(capsule_pointer(capsule, b"dltensor_versioned"))
        tensor, read_only = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    else:
        tensor = _Managed.from_address(capsule_pointer(capsule, b"dltensor")).tensor
    rank = tensor.ndim
    named = f"complex{tensor.bits}" if tensor.code == _COMPLEX else ""
    element: DType | str = named or f"DLPack type {tensor.code} of {tensor.bits} bits"
    if tensor.lanes == 1:
        element = _BY_CODE.get((tensor.code, tensor.bits), element)
    strides = tuple(tensor.strides[:rank]) if tensor.strides else None
    return Described(
        (tensor.data or 0) + tensor.byte_offset,
        element,
        tuple(tensor.shape[:rank]) if rank else (),
        strides,
        (tensor.device_type, tensor.device_id),
        read_only,
    )


# Making a capsule. What it holds lies here, with the capsule, until its taker deletes it. A capsule that
# nobody took is found by nobody else's holding it: a destructor in Python would run at moments when
# Python code must not, such as while an exception is on its way.
_made: dict[int, tuple[_Managed, object, Any, Any]] = {}
_UNTAKEN = sys.getrefcount(object()) + 2


def _delete(address: int) -> None:
    _made.pop(address, None)


_deleter = _Deleter(_delete)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_NAME = b"dltensor"


def sweep() -> None:
    """Let go what capsules hold that nobody took and nobody has."""
    for address, (*_, capsule) in tuple(_made.items()):
        if sys.getrefcount(capsule) <= _UNTAKEN and is_capsule(capsule, _NAME):
            _delete(address)


def make_capsule(
    owner: object, address: int, dtype: DType, shape: tuple[int, ...], device: tuple[int, int]
) -> Any:
    """A capsule of row-major memory; ``owner`` keeps the memory until the capsule's taker is done."""
    if not dtype.is_number:
        raise BufferError(f"DLPack knows numbers alone, and no {dtype}")
    rank = len(shape)
    strides = [1] * rank
    for n in range(rank - 2, -1, -1):
        strides[n] = strides[n + 1] * shape[n + 1]
    sizes = (ctypes.c_int64 * (2 * rank))(*shape, *strides)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data, tensor.byte_offset, tensor.ndim = address, 0, rank
    tensor.device_type, tensor.device_id = device
    tensor.code, tensor.bits, tensor.lanes = *code_of(dtype), 1
    first = ctypes.addressof(sizes)
    tensor.shape = ctypes.cast(first, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(first + 8 * rank, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _deleter
    place = ctypes.addressof(managed)
    sweep()
    capsule = _new_capsule(place, _NAME, None)
    _made[place] = (managed, owner, sizes, capsule)
    return capsule
