"""What this machine has, and what a kernel is being compiled for."""

from __future__ import annotations

from weft.lang.elaboration import maybe_current
from weft.runtime.drivers import DRIVERS, device_count, find_driver
from weft.targets import Feature

__all__ = ["has_accelerator", "has_nvidia_gpu_accelerator", "is_cpu", "is_gpu", "is_nvidia_gpu"]


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
