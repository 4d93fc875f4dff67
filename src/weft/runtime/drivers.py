"""Which APIs weft knows, and their drivers, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from weft.config import settings
from weft.diagnostics import DeviceError, nearest
from weft.runtime.driver import Driver, DriverMissing, LoadObject

if TYPE_CHECKING:
    from weft.abi.artifact import LoadedCode


def _cuda(load_object: LoadObject) -> Driver:
    from weft.runtime.cuda.driver import cuda_driver

    return cuda_driver()


def _cpu(load_object: LoadObject) -> Driver:
    from weft.runtime.cpu.device import CpuDriver

    return CpuDriver(load_object)


DRIVERS: dict[str, Callable[[LoadObject], Driver]] = {"cuda": _cuda, "cpu": _cpu}
"""A factory for each API, the preferred first. It raises DriverMissing where the API cannot be used."""


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
    for api in DRIVERS:
        if device_count(api) > 0:
            return api
    return "cpu"
