"""NVIDIA's binding of the driver API: how it is found, and that it is not.

Alone, since most machines have none: who asks which devices there are loads nothing else of this room.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from typing import Any

from weft.runtime.driver import DriverMissing


def find_binding() -> Any:
    """The binding, where there is a driver to call through it.

    Raises:
        DriverMissing: this machine has no NVIDIA driver, or weft cannot use it.
    """
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    load: Callable[[str], object] = getattr(ctypes, "WinDLL", ctypes.CDLL)
    try:
        load(library)
    except OSError as error:
        raise DriverMissing(
            f"the NVIDIA driver's library {library} cannot be loaded here",
            "install NVIDIA's driver (no CUDA toolkit is needed)",
        ) from error
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise DriverMissing(
            "the Python package cuda-bindings, through which weft calls the NVIDIA driver, is not installed",
            "pip install cuda-bindings",
        ) from error
