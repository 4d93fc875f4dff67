"""What this machine has, and what a kernel is being compiled for."""

from __future__ import annotations

from typing import Any

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import as_dtype
from weft.lang.elaboration import maybe_current
from weft.lang.elements import ElementType
from weft.runtime.drivers import DRIVERS, device_count, find_driver
from weft.targets import Feature

__all__ = [
    "align_of",
    "has_accelerator",
    "has_nvidia_gpu_accelerator",
    "is_cpu",
    "is_gpu",
    "is_nvidia_gpu",
    "offset_of",
    "size_of",
]


def size_of(dtype: Any) -> int:
    """Bytes from an element in memory to the next: of a number, a SIMD value, a struct, a pointer.

    Example:
        >>> from weft import Float32, Float64, Int8, struct
        >>> @struct
        ... class Mass:
        ...     kind: Int8
        ...     value: Float64
        >>> size_of(Mass), align_of(Mass), offset_of(Mass, "value"), size_of(Float32)
        (16, 8, 8, 4)
    """
    return as_dtype(dtype).itemsize


def align_of(dtype: Any) -> int:
    """What addresses of elements in memory are multiples of, in bytes."""
    return as_dtype(dtype).alignment


def offset_of(cls: type[Any], field: str) -> int:
    """Bytes from the beginning of a struct in memory to one of its fields.

    Raises:
        CompileError: it has no such field.
    """
    dtype = as_dtype(cls)
    if not isinstance(dtype, ElementType) or not dtype.laid.fields:
        refuse("element", f"{dtype} has no fields", hint="give a @struct")
    return dtype.field(field)[0]


def has_accelerator() -> bool:
    """Whether this machine has a device other than its CPU that weft can use.

    Example:
        >>> from weft.gpu.host import DeviceContext
        >>> ctx = DeviceContext()        # an accelerator, or else the CPU
        >>> has_accelerator() or ctx.api == "cpu"
        True
    """
    here = (find_driver(api) for api in DRIVERS if device_count(api) > 0)
    return any(not driver.device_info(0).shares_host for driver in here)


def has_nvidia_gpu_accelerator() -> bool:
    """Whether this machine has an NVIDIA GPU that weft can use."""
    return device_count("cuda") > 0


def is_cpu() -> bool:
    """Whether the code runs on a CPU; in a kernel it is known at compile time."""
    return not is_gpu()


def is_gpu() -> bool:
    """Whether the code is compiled for a GPU.

    In a kernel it is known at compile time, so ``if is_gpu():`` compiles one branch only. Python
    itself runs on the CPU.

    Example:
        >>> is_gpu()
        False
    """
    builder = maybe_current()
    return builder is not None and builder.target.threads == "hardware"


def is_nvidia_gpu() -> bool:
    """Whether the code is compiled for an NVIDIA GPU; in a kernel it is known at compile time."""
    builder = maybe_current()
    return builder is not None and builder.target.supports(Feature.NVVM)


present(globals())
