"""Memory that is given back when its last user is gone."""

from __future__ import annotations

import weakref

from weft.diagnostics import DeviceError
from weft.runtime.driver import Device, OutOfMemory

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


class Allocation:
    """Memory of a device, or of the host for a device.

    Buffers, their parts and NumPy views of them share it. When none is left, and all work queued
    by then has ended, the device has it back.

    Args:
        device: Whose memory.
        nbytes: How much; 0 is allowed.
        host: Host memory instead of the device's own.

    Raises:
        DeviceError: there is not so much memory.
    """

    __slots__ = ("__weakref__", "address", "device", "nbytes")

    def __init__(self, device: Device, nbytes: int, *, host: bool = False) -> None:
        self.device: Device = device
        self.nbytes: int = nbytes
        take, give_back = (device.host_alloc, device.host_free) if host else (device.alloc, device.free)
        try:
            self.address: int = take(max(1, nbytes))
        except OutOfMemory as error:
            free = "" if error.free is None else f"; {readable_bytes(error.free)} are free"
            place = "host memory" if host else f"memory on {device.info.name}"
            raise DeviceError.here(
                "out-of-memory",
                f"no {place} for {readable_bytes(nbytes)}{free}",
                label="asked for here",
                hint="free buffers by `close()`, or work on a part at a time",
            ) from error
        weakref.finalize(self, give_back, self.address).atexit = False


def readable_bytes(nbytes: int) -> str:
    """A number of bytes for people: ``640 bytes``, ``1.5 GiB``."""
    if nbytes < 1 << 14:
        return f"{nbytes} bytes"
    power = min((nbytes.bit_length() - 1) // 10, len(_UNITS))
    return f"{nbytes / 1024**power:.1f} {_UNITS[power - 1]}"
