"""The CUDA driver API through NVIDIA's binding.

Only NVIDIA's driver is needed, no CUDA toolkit.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import suppress
from functools import cache
from typing import Any

from weft.diagnostics import DeviceError
from weft.runtime.cuda.context import primary_of
from weft.runtime.cuda.device import CudaDevice, device_info
from weft.runtime.cuda.errors import Cuda, CudaFailure, version_text
from weft.runtime.driver import DeviceInfo, DriverMissing

_OLDEST = 11040
"""The first driver version with all that is used here."""
_NO_DEVICE = 100


class CudaDriver:
    """The driver of the API ``cuda``.

    Raises:
        DriverMissing: the driver does not start, or is too old.
    """

    api = "cuda"

    def __init__(self, binding: Any) -> None:
        self._cuda = cuda = Cuda(binding)
        self._infos: dict[int, DeviceInfo] = {}
        assembler = threading.Thread(target=_load_assembler, name="weft's look for the driver's assembler")
        assembler.start()
        try:
            cuda(binding.cuInit, 0)
            version = cuda(binding.cuDriverGetVersion)
            cuda.count = cuda(binding.cuDeviceGetCount)
        except CudaFailure as failure:
            if failure.status == _NO_DEVICE:
                raise DriverMissing("the NVIDIA driver finds no GPU") from failure
            raise DriverMissing(
                f"the NVIDIA driver does not start: {failure.text} ({failure.name})",
                "`nvidia-smi` shows whether the driver works; in a container, the GPU must be passed in",
            ) from failure
        finally:
            assembler.join()
        if version < _OLDEST:
            raise DriverMissing(
                f"the NVIDIA driver is too old: it is of CUDA {version_text(version)}, "
                f"and weft needs {version_text(_OLDEST)}",
                "install a newer driver (no CUDA toolkit is needed)",
            )
        cuda.version = version

    def device_count(self) -> int:
        """How many GPUs this process sees."""
        return self._cuda.count

    def device_info(self, device_id: int) -> DeviceInfo:
        """What the GPU of this number is."""
        if device_id not in self._infos:
            self._infos[device_id] = device_info(self._cuda, device_id)
        return self._infos[device_id]

    def open(self, device_id: int, threads: int | None = None) -> CudaDevice:
        """A handle with its own streams; memory and code are shared by all handles of the GPU."""
        info = self.device_info(device_id)
        if threads is not None:
            raise DeviceError.here(
                "device-threads",
                f"threads={threads} is how many threads of the host run kernels; {info.name} has its own",
                "write api='cpu', or leave threads out",
                at=("threads", 0),
            )
        return CudaDevice(primary_of(self._cuda, device_id, info))


def _load_assembler() -> None:
    """Have the library at hand with which the driver assembles: the first time takes 2 to 4 ms less."""
    with suppress(OSError):  # the driver finds it or says so
        ctypes.CDLL("libnvidia-ptxjitcompiler.so.1")


@cache
def cuda_driver(binding: Any) -> CudaDriver:
    """The driver of this process, through NVIDIA's binding.

    Raises:
        DriverMissing: weft cannot use it.
    """
    return CudaDriver(binding)
