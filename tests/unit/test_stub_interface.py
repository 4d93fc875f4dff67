"""The native reader of the CUDA array interface, beside the one in Python."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.foreign import read
from weft.foreign.dlpack import code_of
from weft.launch.native.code import native_code
from weft.launch.native.launcher import Launcher
from weft.launch.native.objects import supported

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")


class Tensor(ctypes.Structure):
    """DLPack's, the stream, and what the reader uses."""

    _fields_ = (
        ("data", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_int64),
        ("stream", ctypes.c_int64),
        ("table", ctypes.c_void_p),
        ("room", ctypes.c_int64 * 32),
    )


class Array:
    """What has the interface, on a device."""

    def __init__(self, interface: Any, device_id: Any = 0) -> None:
        self.interface = interface
        self.data = SimpleNamespace(device_id=device_id)

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.interface


def interface(**changes: Any) -> dict[str, Any]:
    plain = {
        "shape": (4, 3),
        "typestr": "<f4",
        "data": (4096, False),
        "strides": None,
        "stream": 1,
        "version": 3,
    }
    return plain | changes


def native(value: object) -> Tensor | None:
    """What the native reader makes of an object; None where it leaves it to Python."""
    reader = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(native_code().interface)
    launcher = Launcher((0, None), (0, 0), print, print)
    tensor = Tensor(byte_offset=-1, table=ctypes.addressof(launcher.table))
    try:
        status = reader(value, ctypes.addressof(tensor))
    except Exception:  # which the stub clears
        return None
    return None if status else tensor


def test_a_dense_array() -> None:
    found = native(Array(interface(), 3))
    assert found is not None
    assert (found.data, found.device_type, found.device_id, found.stream) == (4096, 2, 3, 1)
    assert (found.code, found.bits, found.lanes, found.byte_offset) == (2, 32, 1, 0)
    assert (found.ndim, found.shape[:2], bool(found.strides)) == (2, [4, 3], False)


@given(
    typestr=st.sampled_from(
        ["|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8"]
    ),
    shape=st.lists(st.integers(0, 2**40), max_size=8),
    steps=st.lists(st.integers(-(2**20), 2**20), min_size=8, max_size=8),
    strided=st.booleans(),
    address=st.integers(0, 2**62),
    stream=st.integers(1, 2**62),
)
def test_as_in_python(
    typestr: str, shape: list[int], steps: list[int], strided: bool, address: int, stream: int
) -> None:
    size = int(typestr[2])
    strides = tuple(size * step for step in steps[: len(shape)]) if strided else None
    array = Array(
        interface(typestr=typestr, shape=tuple(shape), strides=strides, data=(address, False), stream=stream)
    )
    expected = read._read_cuda_array_interface(array)  # pyright: ignore[reportPrivateUsage]
    found = native(array)
    assert found is not None
    assert (found.data, found.stream) == (expected.address, expected.stream)
    assert (found.code, found.bits) == code_of(expected.dtype)
    assert tuple(found.shape[: found.ndim]) == expected.shape
    if strides is not None:
        assert [found.strides[i] for i in range(found.ndim)] == steps[: len(shape)]


@pytest.mark.parametrize(
    "changes",
    [
        {"data": (4096, True)},
        {"data": (4096,)},
        {"data": ()},
        {"data": (None, False)},
        {"data": (2**70, False)},
        {"typestr": ">f4"},
        {"typestr": "<c8"},
        {"typestr": "<c16"},
        {"typestr": "<V2"},
        {"typestr": b"<f4"},
        {"mask": ()},
        {"stream": None},
        {"strides": (12, 3)},
        {"strides": (12,)},
        {"shape": [4, 3]},
        {"shape": (1,) * 17},
        {"shape": (4, "3")},
    ],
    ids=str,
)
def test_what_is_left_to_python(changes: dict[str, Any]) -> None:
    assert native(Array(interface(**changes))) is None


def test_what_has_no_interface_is_left_to_python() -> None:
    plain = interface()
    del plain["stream"]
    assert native(Array(plain)) is None
    assert native(object()) is None
    assert native(Array(interface(), "0")) is None
    nowhere = Array(interface())
    nowhere.data = None  # pyright: ignore[reportAttributeAccessIssue]
    assert native(nowhere) is None


def test_reading_keeps_nothing() -> None:
    plain = interface()
    array = Array(plain)
    before = sys.getrefcount(plain)
    for _ in range(100):
        native(array)
    plain["data"] = (4096, True)
    for _ in range(100):
        native(array)
    assert sys.getrefcount(plain) == before
