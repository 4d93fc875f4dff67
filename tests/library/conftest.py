"""Running a kernel on NumPy arrays, and compiling it for an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft.compiler.pipeline import elaborate_kernel
from weft.gpu.host import DeviceContext
from weft.lang.accept import accept
from weft.lang.decorators import Kernel
from weft.lang.signature import parameters
from weft.layout import Layout

Array = npt.NDArray[Any]
Launch = Callable[..., list[Array]]
Ptx = Callable[..., str]


@pytest.fixture(scope="session")
def cpu() -> DeviceContext:
    return DeviceContext(api="cpu")


def _layout(array: Array, dynamic: bool) -> Layout:
    layout = Layout.row_major(*array.shape)
    return layout.dynamic() if dynamic else layout


def _arguments(ctx: DeviceContext, arguments: tuple[Any, ...], dynamic: bool) -> tuple[list[Any], list[Any]]:
    """The arguments with arrays as tensors over buffers, and these buffers."""
    buffers: list[Any] = []
    out: list[Any] = []
    for value in arguments:
        if not isinstance(value, np.ndarray):
            out.append(value)
            continue
        array = cast("Array", value)
        buffer = ctx.enqueue_create_buffer(str(array.dtype), array.size)
        ctx.enqueue_copy(dst=buffer, src=np.ascontiguousarray(array).reshape(-1))
        buffers.append((buffer, array))
        out.append(buffer.tensor(_layout(array, dynamic)))
    return out, buffers


@pytest.fixture(scope="session")
def launch(device: DeviceContext) -> Launch:
    """``launch(kernel, *arguments, grid_dim=, block_dim=)``: what the arrays among the arguments become.

    It runs on every device in turn. Each array is passed as a row-major LayoutTensor, with run-time
    extents where ``dynamic=True``.
    """

    def run(kernel: Kernel[Any], *arguments: Any, dynamic: bool = False, **options: Any) -> list[Array]:
        passed, buffers = _arguments(device, arguments, dynamic)
        device.enqueue_function(kernel, *passed, **options)
        results: list[Array] = []
        for buffer, array in buffers:
            result = np.empty(array.size, array.dtype)
            device.enqueue_copy(dst=result, src=buffer)
            results.append(cast("Array", result.reshape(array.shape)))
        device.synchronize()
        return results

    return run


@pytest.fixture(scope="session")
def ptx(cpu: DeviceContext) -> Ptx:
    """``ptx(kernel, *arguments, target=, kind=)``: the code for arguments as ``launch`` takes them."""

    def compiled(
        kernel: Kernel[Any],
        *arguments: Any,
        dynamic: bool = False,
        target: str = "sm_90",
        kind: Any = "asm",
        **named: Any,
    ) -> str:
        passed, _ = _arguments(cpu, arguments, dynamic)
        known = parameters(kernel.definition)
        values = {**dict(zip([p.name for p in known], passed, strict=False)), **kernel.bound, **named}
        specs = {p.name: accept(p, values[p.name])[0] for p in known}
        text = elaborate_kernel(kernel, specs, target).emit(kind)
        assert isinstance(text, str)
        return text

    return compiled
