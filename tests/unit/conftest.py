"""What the unit tests share."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from driver_played import CupyArray, Gpu, Stream
from weft.launch.native.code import native_code
from weft.runtime import drivers
from weft.runtime.cuda.context import Primary
from weft.runtime.cuda.driver import CudaDriver


@pytest.fixture
def weft(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command in a folder of the test's own."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "WEFT_DEVICE": "cpu"}
        command = [sys.executable, "-m", "weft", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)

    return run


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    native_code()  # which contexts do not wait for
    made = Gpu()
    entries = [ctypes.cast(each, ctypes.c_void_p).value or 0 for each in (made.native, made.extended)]
    driver = CudaDriver(made)
    monkeypatch.setattr(drivers, "find_driver", lambda *_: driver)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(Primary, "launch_addresses", lambda _: tuple(entries))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return made


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> type[CupyArray]:
    module = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: CupyArray.stream))
    monkeypatch.setitem(sys.modules, "cupy", cast("Any", module))
    kind = type("ndarray", (CupyArray,), {"__module__": "cupy"})
    monkeypatch.setattr(CupyArray, "stream", Stream(0))
    monkeypatch.setattr(CupyArray, "when_read", [])
    return kind
