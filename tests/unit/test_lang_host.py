"""What a body may call while it is compiled, and what belongs to the host."""

from __future__ import annotations

import datetime
import io
import logging
import math
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import CompileError, DType, Float32, Int, Pointer, Tensor, func, kernel
from weft.benchmark import Bench, keep, run
from weft.compile import compile_info
from weft.gpu.host import DeviceContext, Dim
from weft.lang.host import host_object, instead_of
from weft.layout import Layout
from weft.math import sin
from weft.sys import is_gpu

CTX = DeviceContext(api="cpu")
BUFFER = CTX.enqueue_create_buffer(Float32, 4)
RNG = np.random.default_rng(3)

OF_THE_HOST: list[Any] = [
    time.time,
    time.perf_counter,
    random.random,
    random.Random.random,
    np.random.rand,
    np.random.default_rng,
    RNG.random,
    os.getcwd,
    os.environ.get,
    io.StringIO,
    sys.exit,
    sys.stdout.write,
    datetime.datetime.now,
    logging.getLogger("weft").info,
    threading.Lock,
    socket.socket,
    subprocess.run,
    Path.read_text,
    np.load,
    np.save,
    DeviceContext,
    CTX.synchronize,
    CTX.enqueue_function,
    BUFFER.enqueue_fill,
    BUFFER.map_to_host,
    CTX.create_stream,
    Tensor.from_numpy,
    weft.cpu,
    compile_info,
    run,
    Bench,
]
AT_COMPILE_TIME: list[Any] = [
    len,
    print,
    min,
    math.sqrt,
    np.sin,
    np.zeros,
    np.hanning,
    np.float32,
    os.path.basename,
    str.upper,
    "a".upper,
    Dim,
    DType,
    Layout.row_major,
    sin,
    is_gpu,
    keep,
    lambda x: x,  # pyright: ignore[reportUnknownLambdaType]
]


@pytest.mark.parametrize("callee", OF_THE_HOST, ids=lambda c: getattr(c, "__qualname__", repr(c)))
def test_of_the_host(callee: Any) -> None:
    assert instead_of(callee)


@pytest.mark.parametrize("callee", AT_COMPILE_TIME, ids=lambda c: getattr(c, "__qualname__", repr(c)))
def test_at_compile_time(callee: Any) -> None:
    assert instead_of(callee) == ""


def test_the_rooms_are_there() -> None:
    package = Path(weft.__file__).parent
    rooms: frozenset[str] = vars(weft)["_HOST"]
    assert rooms
    assert all((package / room).is_dir() or (package / f"{room}.py").is_file() for room in rooms)


def test_host_objects() -> None:
    assert host_object(CTX)
    assert host_object(BUFFER)
    assert host_object(CTX.create_stream())
    assert not any(map(host_object, (1, "a", Dim(3), Layout(4), np.zeros(2), [CTX], Float32, DeviceContext)))


def window(n: int) -> list[float]:
    """A helper: ordinary Python, called while a kernel is compiled."""
    return np.hanning(n).tolist()


@dataclass
class App:
    context: DeviceContext
    size: int

    def twice(self) -> int:
        return 2 * self.size


APP = App(CTX, 21)


@func
def legitimate(x: Float32) -> Any:
    total = x * math.sqrt(4.0) + len(window(5)) + min(1, 2)
    for weight in window(5):
        total += weight
    table = np.arange(4)
    table[0] = 100
    total += int(table.sum()) + APP.twice() + len(BUFFER) + CTX.info.warp_size
    if is_gpu():
        total += 1000.0
    return total + Dim(3).x + DType.float32.bits + Layout.row_major(3, 4).size()


def test_what_is_known_is_computed() -> None:
    expected = 2.0 * 1.5 + 5 + 1 + np.hanning(5).sum() + 106 + 42 + 4 + CTX.info.warp_size + 3 + 32 + 12
    assert legitimate(1.5) == pytest.approx(expected)


def test_a_local_name_hides_a_module(tmp_path: Path) -> None:
    @func
    def hidden(time: Int) -> Any:
        return time.cast(Float32)

    assert hidden(3) == 3.0


def _made(context: DeviceContext) -> Any:
    @kernel
    def captured(p: Pointer[Float32]) -> None:
        p[0] = 1.0
        context.synchronize()

    return captured


def test_a_captured_context() -> None:
    made: Callable[..., Any] = _made(CTX)
    with pytest.raises(CompileError, match=r"`context\.synchronize` belongs to the host"):
        compile_info(made, target="native")


@kernel
def large_table(p: Pointer[Float32], n: Int) -> None:
    table = np.arange(1 << 20)  # not copied at each branch
    if n > 0:
        p[0] = float(table[3])


def test_large_arrays_cost_nothing() -> None:
    assert "3.0" in str(compile_info(large_table, target="native", emission_kind="ir"))
