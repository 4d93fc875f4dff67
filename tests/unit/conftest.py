"""What the unit tests share."""

from __future__ import annotations

import ctypes

import pytest

from driver_played import Gpu
from weft.runtime import drivers
from weft.runtime.cuda import CudaDriver
from weft.runtime.cuda_context import Primary


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    address = ctypes.cast(made.native, ctypes.c_void_p).value or 0
    driver = CudaDriver(made)
    monkeypatch.setattr(drivers, "find_driver", lambda *_: driver)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(Primary, "launch_addresses", lambda _: (address, 0))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return made
