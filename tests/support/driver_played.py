"""NVIDIA's driver, played: its functions succeed and give what a GPU of the tests has."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

__all__ = ["Binding", "CupyArray", "Gpu", "Stream", "always"]

_ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "MULTIPROCESSOR_COUNT": 132,
    "CLOCK_RATE": 1980000,
    "MEMORY_CLOCK_RATE": 3201000,
    "GLOBAL_MEMORY_BUS_WIDTH": 6144,
    "WARP_SIZE": 32,
    "MEMORY_POOLS_SUPPORTED": 1,
}
_NAMES = {2: "CUDA_ERROR_OUT_OF_MEMORY", 3: "CUDA_ERROR_NOT_INITIALIZED", 222: "CUDA_ERROR_UNSUPPORTED_PTX"}


def always(*values: Any) -> Callable[..., tuple[Any, ...]]:
    """A function of the driver that always gives the same."""

    def function(*args: Any) -> tuple[Any, ...]:
        return values

    return function


class Names:
    """Stands for an enumeration: a member is its name."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> str:
        return name.removeprefix(self._prefix)


class Binding:
    """Functions of the driver; those not written out succeed and give 0. ``returns`` replaces them."""

    def __init__(self, **returns: Callable[..., tuple[Any, ...]]) -> None:
        self.returns = returns
        self.calls: list[str] = []
        self.attributes = dict(_ATTRIBUTES)
        self.version = 13000
        self.free = 100 << 30
        self.CUdevice_attribute = Names("CU_DEVICE_ATTRIBUTE_")
        self.CUfunction_attribute = Names("CU_FUNC_ATTRIBUTE_")
        for name in (
            "stream_flags",
            "event_flags",
            "jit_option",
            "jitInputType",
            "memAllocationType",
            "streamWaitValue_flags",
        ):
            setattr(self, f"CU{name}", Names())
        self.CUmemLocationType = self.CUmemPool_attribute = Names()
        self.CUmemPoolProps = self.CUmemLocation = self.CUmemAccessDesc = SimpleNamespace
        self.CUmemAccess_flags = self.CUstreamCaptureMode = Names()
        self.linked = 1
        self.current = 0
        self.cuuint64_t = self.CUstream = int
        self.CU_MEMHOSTALLOC_PORTABLE = 1

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        def function(*args: Any) -> tuple[Any, ...]:
            self.calls.append(name)
            made = self.returns.get(name) or getattr(self, f"on_{name[2:]}", None)
            return made(*args) if made is not None else (0,)

        function.__name__ = name
        if not name.startswith("cu"):
            raise AttributeError(name)
        return function

    def on_DriverGetVersion(self) -> tuple[int, int]:
        return 0, self.version

    def on_DeviceGetCount(self) -> tuple[int, int]:
        return 0, 2

    def on_DeviceGet(self, ordinal: int) -> tuple[int, int]:
        return 0, ordinal

    def on_DeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"NVIDIA H200\0\0\0"

    def on_DeviceGetAttribute(self, name: str, device: int) -> tuple[int, int]:
        return 0, self.attributes[name]

    def on_DeviceTotalMem(self, device: int) -> tuple[int, int]:
        return 0, 150 << 30

    def on_DevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return 0, 4711 + device

    def on_CtxSetCurrent(self, context: int) -> tuple[int]:
        self.current = context
        return (0,)

    def of_context(self, handle: int) -> int:
        """A handle of what is made in the current context: it tells whose it is."""
        return handle + 100 * (self.current - 4711)

    def on_CtxGetStreamPriorityRange(self) -> tuple[int, int, int]:
        return 0, 0, -5

    def on_LinkCreate(self, count: int, options: Any, values: Any) -> tuple[int, int]:
        self.log = values[0]
        return 0, 8

    def on_LinkAddData(self, linker: int, kind: Any, text: bytes, *_: Any) -> tuple[int]:
        self.text = ctypes.create_string_buffer(text)
        return (0,)

    def on_LinkComplete(self, linker: int) -> tuple[int, int, int]:
        """The text itself stands for what is made of it."""
        return 0, ctypes.addressof(self.text), len(self.text)

    def on_StreamCreate(self, flags: Any) -> tuple[int, int]:
        return 0, self.of_context(1)

    def on_StreamCreateWithPriority(self, flags: Any, priority: int) -> tuple[int, int]:
        self.priority = priority
        return 0, self.of_context(2)

    def on_MemPoolCreate(self, properties: Any) -> tuple[int, Any]:
        return 0, "pool"

    def on_MemAllocFromPoolAsync(self, nbytes: int, pool: Any, stream: Any) -> tuple[int, int]:
        return (0, 4096) if nbytes <= self.free else (2, 0)

    def on_MemPoolGetAttribute(self, pool: Any, attribute: str) -> tuple[int, int]:
        return 0, 3 << 30 if "RESERVED" in attribute else 1 << 30

    def on_MemGetInfo(self) -> tuple[int, int, int]:
        return 0, 5 << 30, 150 << 30

    def on_ModuleLoadDataEx(self, *args: Any) -> tuple[int, int]:
        return 0, 5

    def on_ModuleGetFunction(self, module: Any, name: bytes) -> tuple[int, int]:
        return 0, 6

    def on_FuncGetAttribute(self, name: str, function: Any) -> tuple[int, int]:
        return 0, 640 if name == "MAX_THREADS_PER_BLOCK" else 1024

    def on_EventCreate(self, flags: Any) -> tuple[int, int]:
        return 0, self.of_context(8)

    def on_EventRecord(self, event: int, stream: int) -> tuple[int]:
        return (0 if event // 100 == stream // 100 else 400,)

    def on_DeviceCanAccessPeer(self, device: int, peer: int) -> tuple[int, int]:
        return 0, self.linked

    def on_GetErrorString(self, status: int) -> tuple[int, bytes]:
        return 0, f"text {status}".encode()

    def on_GetErrorName(self, status: int) -> tuple[int, bytes]:
        return 0, _NAMES.get(status, f"CUDA_ERROR_{status}").encode()


_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


_EXTENDED = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
_EXTENTS = [f"{what}Dim{axis}" for what in ("grid", "block") for axis in "XYZ"]


class _Words(ctypes.Structure):
    """What the driver's C functions read of the configuration of a launch with attributes."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in (*_EXTENTS, "sharedMemBytes")),
        *(("hStream", ctypes.c_void_p), ("attrs", ctypes.c_void_p), ("numAttrs", ctypes.c_uint)),
    )


class _Config(SimpleNamespace):
    """Such a configuration, as the binding has it."""

    def getPtr(self) -> int:
        known = {name: getattr(self, name) for name in (*_EXTENTS, "sharedMemBytes", "numAttrs")}
        self.words = _Words(hStream=int(self.hStream), **known)
        return ctypes.addressof(self.words)


class Gpu(Binding):
    """A driver that notes launches: who asked for it, grid, block and the slots of two arguments, or more."""

    slots = 2

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], list[int]]] = []
        self.memory = 0
        self.native = _LAUNCH(lambda *args: self.note("native", *args))
        self.extended = _EXTENDED(self.native_configured)
        self.CUlaunchConfig = _Config
        self.CUlaunchAttribute = lambda: SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))
        self.CUlaunchAttributeID = Names("CU_LAUNCH_ATTRIBUTE_")

    def on_MemAllocFromPoolAsync(self, nbytes: int, pool: Any, stream: Any) -> tuple[int, int]:
        self.memory += 1
        return 0, self.memory << 20

    def on_LaunchKernel(self, *args: Any) -> tuple[int]:
        return (self.note("python", *args),)

    def on_LaunchKernelEx(self, *args: Any) -> tuple[int]:
        return (self.note_configured("python", *args),)

    def native_configured(self, config: int, *args: int) -> int:
        return self.note_configured("native", _Words.from_address(config), *args)

    def note_configured(self, who: str, config: Any, function: Any, slots: int, extra: Any) -> int:
        extents = [getattr(config, name) for name in _EXTENTS]
        return self.note(who, function, *extents, config.sharedMemBytes, config.hStream, slots, extra)

    def note(self, who: str, *args: Any) -> int:
        slots = (ctypes.c_void_p * self.slots).from_address(args[9])
        values = [ctypes.c_uint64.from_address(slot or 0).value for slot in slots]
        self.launches.append((who, args[1:4], args[4:7], values))
        return 0


class Stream:
    """CuPy's, played."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class CupyArray:
    """An array of CuPy's, played: memory, and the stream that is current by then."""

    stream = Stream(0)
    when_read: ClassVar[list[Callable[[], object]]] = []

    def __init__(self, ptr: int, shape: tuple[int, ...], device_id: int = 0) -> None:
        self.data = SimpleNamespace(ptr=ptr, device_id=device_id)
        self.shape, self.dtype = shape, np.dtype(np.float32)
        self.strides = tuple(4 * math.prod(shape[n + 1 :]) for n in range(len(shape)))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        for function in self.when_read:
            function()
        data, stream = (self.data.ptr, False), self.stream.ptr or 1
        return {"shape": self.shape, "typestr": "<f4", "strides": None, "data": data, "stream": stream}
