"""What the tests of whole programs share: kernels from generated text, and launches over arrays."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft.gpu.host import DeviceContext

Load = Callable[[str], ModuleType]
Launch = Callable[[Any, Sequence[npt.NDArray[Any]], npt.NDArray[Any]], npt.NDArray[Any]]

_numbers = itertools.count()


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """``load(text)`` imports a module of this text, from a file, so that its functions have a source."""
    folder = tmp_path_factory.mktemp("generated")

    def load_text(text: str) -> ModuleType:
        path: Path = folder / f"generated_{next(_numbers)}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        linecache.getlines(str(path))
        path.unlink()
        return module

    return load_text


@pytest.fixture(scope="session")
def launch(device: DeviceContext) -> Launch:
    """``launch(kernel, inputs, output)`` runs ``kernel(n, *inputs, output)``, one thread per row."""
    ctx = device

    def launch_over(
        kernel: Any, inputs: Sequence[npt.NDArray[Any]], output: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        buffers: list[Any] = []
        for array in (*inputs, output):
            buffer: Any = ctx.enqueue_create_buffer(array.dtype.name, array.size)
            ctx.enqueue_copy(dst=buffer, src=array.reshape(-1))
            buffers.append(buffer)
        rows = len(inputs[0])
        ctx.enqueue_function(kernel, rows, *buffers, grid_dim=-(-rows // 32), block_dim=32)
        flat = np.empty(output.size, output.dtype)
        ctx.enqueue_copy(dst=flat, src=buffers[-1])
        ctx.synchronize()
        return flat.reshape(output.shape)

    return launch_over
