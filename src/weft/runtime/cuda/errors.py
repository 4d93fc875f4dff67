"""Checking of driver calls, and what a failed one means for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weft.abi.artifact import KernelInfo
from weft.diagnostics import DeviceError, caller_location

OUT_OF_MEMORY = 2
ELSEWHERE = (201, 400)
"""Of a launch: the calling thread is in no context, or in another, and the stream has none of its own."""
_NOT_READY = 600
_AFTER = (
    "start the program anew; NVIDIA's newer drivers keep a fault until the process ends, "
    "with older ones a new DeviceContext works"
)

FAULTS: dict[int, str] = {
    214: "the memory had an error that could not be corrected",
    220: "the link between GPUs had an error that could not be corrected",
    700: "a thread accessed memory at an address where nothing is allocated",
    702: "it ran longer than the system allows on a GPU that also drives a display",
    709: "another library in this process has reset the GPU",
    710: "an assertion failed",
    714: "the stack of a thread was corrupted or overflowed",
    715: "a thread met an illegal instruction",
    716: "a thread accessed memory at an address that is not a multiple of the access's size",
    717: "a thread used an address of another address space than the instruction's",
    718: "a thread jumped outside of the code",
    719: "a thread stopped it (a trap), or it accessed shared or local memory out of bounds",
    721: "it ended without giving back its tensor memory",
}
"""Failures after which the driver accepts no more work in the context, by their status."""


class CudaFailure(Exception):
    """A driver call that did not succeed."""

    def __init__(self, function: str, status: int, name: str, text: str) -> None:
        super().__init__(f"{function}: {name}, {text}")
        self.function = function
        self.status = status
        self.name = name
        self.text = text


class Cuda:
    """The binding, called and checked: ``cuda(cuda.cu.cuMemAlloc, 256)`` gives what the call gives."""

    __slots__ = ("count", "cu", "pid", "version")

    def __init__(self, binding: Any) -> None:
        self.cu: Any = binding
        self.pid: int = os.getpid()
        self.count: int = 1
        """How many GPUs this process sees."""
        self.version: int = 0
        """Version of the driver, as 13000 for 13.0."""

    def __call__(self, function: Callable[..., tuple[Any, ...]], *args: Any) -> Any:
        """Call a function of the driver.

        Raises:
            CudaFailure: it returned anything but success.
        """
        result = function(*args)
        if result[0]:
            raise self.failure(function.__name__, result[0])
        count = len(result)
        return None if count == 1 else result[1] if count == 2 else list(result[1:])

    def ready(self, query: Callable[..., tuple[Any, ...]], handle: Any) -> bool:
        """Whether ``cuStreamQuery`` or ``cuEventQuery`` finds the work ended.

        Raises:
            CudaFailure: work failed.
        """
        (status,) = query(handle)
        if not status:
            return True
        if status == _NOT_READY:
            return False
        raise self.failure(query.__name__, status)

    def failure(self, function: str, status: Any) -> CudaFailure:
        """The failure for a status, in the driver's words."""
        _, text = self.cu.cuGetErrorString(status)
        _, name = self.cu.cuGetErrorName(status)
        return CudaFailure(
            function,
            int(status),
            name.decode() if name else f"status {int(status)}",
            text.decode() if text else "a status that this driver does not explain",
        )


def version_text(version: int) -> str:
    """A version of CUDA for people: ``13.0``."""
    return f"{version // 1000}.{version % 1000 // 10}"


def fault_error(failure: CudaFailure, launched: Mapping[str, Iterable[KernelInfo]]) -> DeviceError:
    """The error for a fault, which one of the kernels launched before has made, by their devices."""
    names = {
        place: [repr(name) for name in dict.fromkeys(kernel.signature.name for kernel in kernels)]
        for place, kernels in launched.items()
    }
    if len(names) == 1:
        [(device, found)] = names.items()
        where = f" on {device}"
    else:
        found = [f"{name} on {place}" for place, own in names.items() for name in own]
        where = ""
    if len(found) == 1:
        who = f"kernel {found[0]}"
    elif found:
        who = f"one of the kernels {', '.join(found[:-1])} and {found[-1]}"
    else:
        who = "work"
    return DeviceError.at(
        "device-fault",
        f"{who} failed{where}: {FAULTS[failure.status]} ({failure.name})",
        caller_location(),
        label="noticed here",
        notes=("the context of this device is lost, and with it the contents of its buffers",),
        hints=(_AFTER, "`compute-sanitizer python ...` names the thread and the access that failed"),
    )


def lost_error(device: str, reason: str) -> DeviceError:
    """The error for whatever is asked of a context after a fault."""
    return DeviceError.at(
        "context-lost",
        f"the context of {device} was lost: {reason}",
        caller_location(),
        hints=(_AFTER,),
    )
