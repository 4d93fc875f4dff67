"""Arrays of other libraries that native code can read: their types have DLPack's exchange API.

The API is a struct of C functions, https://dmlc.github.io/dlpack/latest/python_spec.html; PyTorch has
it since 2.10.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from weft.foreign.arrays import ForeignArray
from weft.foreign.dlpack import capsule_pointer, is_capsule
from weft.lang.records import ForeignStruct
from weft.record import record
from weft.runtime.driver import DeviceInfo

_NAME = b"dlpack_exchange_api"
_MAJOR = 1
_REFUSES = {"torch": ("is_neg",)}
"""By library: methods that say that the memory is not what the array means."""


@record
class Exchange:
    """How native code reads another library's arrays: two functions like those of DLPack's exchange API."""

    read: int
    """The address of ``dltensor_from_py_object_no_sync``, or of what else fills in a ``DLTensor``."""
    stream_of: int
    """The address of ``current_work_stream``; 0 where ``read`` tells each array's stream."""
    device: int
    """The arrays' device: its kind in 32 bits, its number above."""
    refuses: tuple[str, ...] = ()
    """Methods that must return False of an array: what its memory alone does not show."""
    stream: int = 0
    """The stream that ``read`` must tell."""


class _Api(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p),
        ("current_work_stream", ctypes.c_void_p),
    )


def exchange_of(value: object, array: ForeignArray, info: DeviceInfo) -> Exchange | None:
    """How native code reads objects of a value's type that are where this array is; None where it cannot."""
    functions = _functions(type(value))
    if functions is None or array.hold or array.api is None or array.device_id is None:
        return None
    return Exchange(functions[0], functions[1], info.dlpack | array.device_id << 32, functions[2])


def has_interface(value: object, array: ForeignArray) -> bool:
    """Whether native code can read such objects by their CUDA array interface, with ``data.device_id``.

    So it is with CuPy's arrays. The interface tells the stream, but keeps no memory: the library must itself.
    """
    if not hasattr(type(value), "__cuda_array_interface__"):
        return False  # ``data`` of a NumPy array of bfloat16 raises
    reads = isinstance(getattr(getattr(value, "data", None), "device_id", None), int)
    return reads and array.api is not None and array.stream is not None and not array.hold


def has_buffer(value: object, array: ForeignArray) -> bool:
    """Whether native code can read such objects by the buffer protocol: NumPy's arrays of C's numbers."""
    kind = type(value)
    plain = (kind.__module__, kind.__name__) == ("numpy", "ndarray") and array.dtype.in_numpy
    return plain and not isinstance(array.dtype, ForeignStruct) and not array.read_only


@functools.cache
def _functions(kind: type) -> tuple[int, int, tuple[str, ...]] | None:
    capsule: Any = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None or not is_capsule(capsule, _NAME):
        return None
    api = _Api.from_address(capsule_pointer(capsule, _NAME))
    if api.major != _MAJOR or not api.tensor_from_object or not api.current_work_stream:
        return None
    roots = {b.__module__.partition(".")[0] for b in kind.__mro__}
    names = next((names for root, names in _REFUSES.items() if root in roots), ())
    return api.tensor_from_object, api.current_work_stream, tuple(map(sys.intern, names))
