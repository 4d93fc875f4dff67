"""Which APIs weft knows, and their drivers, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from weft.config import MOST_CPU_THREADS, settings
from weft.diagnostics import DeviceError, LaunchError, a_, nearest
from weft.runtime.dim import as_index
from weft.runtime.driver import Device, Driver, DriverMissing, LoadObject, Toolkit

if TYPE_CHECKING:
    from weft.abi.artifact import LoadedCode


def _cuda(load_object: LoadObject) -> Driver:
    from weft.runtime.cuda.binding import find_binding

    binding = find_binding()  # before the rest is loaded, which is for nothing where there is none
    from weft.runtime.cuda.driver import cuda_driver

    return cuda_driver(binding)


def _cpu(load_object: LoadObject) -> Driver:
    from weft.runtime.cpu.device import CpuDriver

    return CpuDriver(load_object)


def _interpreter(load_object: LoadObject) -> Driver:
    from weft.runtime.interpreter.device import InterpreterDriver

    return InterpreterDriver(load_object)


DRIVERS: dict[str, Callable[[LoadObject], Driver]] = {"cuda": _cuda, "cpu": _cpu, "interpreter": _interpreter}
"""A factory for each API, the preferred first. It raises DriverMissing where the API cannot be used."""


def toolkit(format: str) -> Toolkit | None:
    """The vendor's own assembler and disassembler for code of that format, where one is known."""
    if format != "ptx":
        return None
    from weft.runtime.cuda import toolkit

    return toolkit


def no_loader(code: bytes, entries: Sequence[str], externals: dict[str, int]) -> LoadedCode:
    """Stands where nobody provided a loader of object files."""
    raise RuntimeError(f"nothing here loads machine code, so {', '.join(entries)} cannot run")


@cache
def _made(api: str, load_object: LoadObject) -> Driver:
    return DRIVERS[api](load_object)


def known_api(api: str) -> str:
    """The API itself, if weft knows it.

    Raises:
        DeviceError: it does not; the message names those that it knows.
    """
    if isinstance(api, str) and api in DRIVERS:  # pyright: ignore[reportUnnecessaryIsInstance]
        return api
    raise DeviceError.here(
        "unknown-api",
        f"there is no device API {api!r}; weft knows {', '.join(map(repr, DRIVERS))}",
        _api_hint(str(api).lower()),
        at=("api", 9),
    )


def _api_hint(api: str) -> str:
    """What to write instead of the name of something else, of devices in general or of one of them."""
    known, _, number = api.partition(":")
    if known in DRIVERS and number.isdecimal():
        return f"write DeviceContext({number}, api={known!r})"
    if known in ("gpu", "accelerator", "nvidia", "default"):
        best = next(iter(DRIVERS))
        return f"leave api out for the best device here, or write api={best!r}, for NVIDIA's GPUs"
    meant = nearest(api, DRIVERS)
    return f"did you mean {meant!r}?" if meant else "write api='cpu', which every machine has"


def find_driver(api: str, load_object: LoadObject = no_loader) -> Driver:
    """The driver of an API.

    Raises:
        DeviceError: weft does not know the API, or this machine cannot use it.
    """
    try:
        return _made(known_api(api), load_object)
    except DriverMissing as error:
        instead = "DeviceContext(api='cpu') runs the same kernels on this machine's processor"
        hints = [hint for hint in (error.hint, instead) if hint]
        raise DeviceError.here("api-missing", f"no {api!r} device: {error.reason}", hint=hints) from error


def device_count(api: str) -> int:
    """How many devices an API has here; 0 where it cannot be used.

    Raises:
        DeviceError: weft does not know the API.
    """
    try:
        return _made(known_api(api), no_loader).device_count()
    except DriverMissing:
        return 0


def is_everywhere(api: str) -> bool:
    """Whether every machine has such a device, the host: which is known without its driver."""
    return api == "cpu"


def open_device(driver: Driver, device_id: object, threads: object) -> tuple[int, Device]:
    """The number of a driver's device, and a handle to it that takes so many threads of the host.

    Raises:
        LaunchError: one of them is no number that can be asked for.
        DeviceError: there is no such device, or it is none of the host's.
    """
    number = as_index(device_id)
    if number is None:
        api, _, place = str(device_id).partition(":")
        meant = f"write api={api!r}" + (f", device_id={place}" if place else "")
        raise LaunchError.here(
            "device-id",
            f"device_id is a device's number, an int; {device_id!r} is {a_(type(device_id).__name__)}",
            meant if api in DRIVERS else 'write api="cpu", say, or nothing for the first GPU',
            at=("device_id", 0),
        )
    count = driver.device_count()
    if not 0 <= number < count:
        has = "one device, number 0" if count == 1 else f"{count} devices, numbered from 0"
        raise DeviceError.here(
            "device-id",
            f"there is no device {number} of api {driver.api!r}; this machine has {has}",
            "leave device_id out to take the first",
            at=("device_id", 0),
        )
    taken = None if threads is None else as_index(threads) or 0
    if taken is None or 1 <= taken <= MOST_CPU_THREADS:
        return number, driver.open(number, taken)
    raise LaunchError.here(
        "device-threads",
        f"threads={threads!r} is no number of threads from 1 to {MOST_CPU_THREADS}",
        "leave it out for as many as this process has cores",
        at=("threads", 0),
    )


def default_api() -> str:
    """What ``DeviceContext()`` takes: ``WEFT_DEVICE``, else the first API here that has a device.

    Raises:
        DeviceError: ``WEFT_DEVICE`` names no API that weft knows.
    """
    wanted = settings().device
    if wanted is not None and wanted not in DRIVERS:
        message = f"WEFT_DEVICE={wanted} is none of {', '.join(DRIVERS)}"
        raise DeviceError.at(
            "setting", message, None, hints=("leave it unset: the best device that is here",)
        )
    if wanted is not None:
        return wanted
    return next(api for api in DRIVERS if is_everywhere(api) or device_count(api) > 0)


def meant_api(api: str | None) -> str:
    """What a context takes that names this API, or none: the interpreter where all are to take that.

    Raises:
        DeviceError: weft does not know the API, or that of ``WEFT_DEVICE``.
    """
    found = default_api() if api is None else known_api(api)
    return "interpreter" if settings().interpret else found
