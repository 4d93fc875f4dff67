"""The seven kernels run on the CPU, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.kernels import seven
from weft import Float32
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.math import ceildiv

Array = npt.NDArray[np.float32]


class _Runner:
    """Buffers made of arrays, a launch, and the result as an array again."""

    def __init__(self) -> None:
        self.ctx = DeviceContext(api="cpu")
        self.random = np.random.default_rng(7)

    def array(self, *shape: int) -> Array:
        return self.random.uniform(-1, 1, shape).astype(np.float32)

    def buffer(self, array: Array) -> Any:
        made: Any = self.ctx.enqueue_create_buffer(Float32, array.size)
        self.ctx.enqueue_copy(dst=made, src=array.reshape(-1))
        return made

    def out(self, *shape: int) -> tuple[Any, Array]:
        array = np.full(shape, np.nan, np.float32)
        return self.buffer(array), array

    def read(self, out: tuple[Any, Array]) -> Array:
        self.ctx.enqueue_copy(dst=out[1].reshape(-1), src=out[0])
        self.ctx.synchronize()
        return out[1]


def _vadd(r: _Runner) -> tuple[Array, Array]:
    n = 1000
    a, b, out = r.array(n), r.array(n), r.out(n)
    r.ctx.enqueue_function(
        seven.vadd, r.buffer(a), r.buffer(b), out[0], n, grid_dim=ceildiv(n, 256), block_dim=256
    )
    return r.read(out), a + b


def _gray(r: _Runner) -> tuple[Array, Array]:
    h, w = 37, 50
    image, out = r.array(h, w, 3), r.out(h, w)
    views = r.buffer(image).tensor(Layout.row_major(h, w, 3)), out[0].tensor(Layout.row_major(h, w))
    grid = (ceildiv(w, 16), ceildiv(h, 16))
    r.ctx.enqueue_function(seven.gray, *views, h, w, grid_dim=grid, block_dim=(16, 16))
    return r.read(out), image @ np.array([0.299, 0.587, 0.114], np.float32)


def _box(r: _Runner) -> tuple[Array, Array]:
    h, w = 37, 50
    image, out = r.array(2 * h, 2 * w), r.out(h, w)
    views = r.buffer(image).tensor(Layout.row_major(2 * h, 2 * w)), out[0].tensor(Layout.row_major(h, w))
    grid = (ceildiv(w, 16), ceildiv(h, 16))
    r.ctx.enqueue_function(seven.box, *views, h, w, factor=2, grid_dim=grid, block_dim=(16, 16))
    return r.read(out), image.reshape(h, 2, w, 2).mean(axis=(1, 3), dtype=np.float32)


def _matmul(kernel: Any) -> Callable[[_Runner], tuple[Array, Array]]:
    def run(r: _Runner) -> tuple[Array, Array]:
        m, n, k = 45, 70, 53
        a, b, out = r.array(m, k), r.array(k, n), r.out(m, n)
        grid = (ceildiv(n, 16), ceildiv(m, 16))
        r.ctx.enqueue_function(
            kernel, r.buffer(a), r.buffer(b), out[0], m, n, k, grid_dim=grid, block_dim=(16, 16)
        )
        return r.read(out), a @ b

    return run


def _bsum(r: _Runner) -> tuple[Array, Array]:
    n = 1000
    blocks = ceildiv(n, 256)
    values, out = r.array(n), r.out(blocks)
    r.ctx.enqueue_function(seven.bsum, r.buffer(values), out[0], n, grid_dim=blocks, block_dim=256)
    padded = np.zeros((blocks, 256), np.float32)
    padded.reshape(-1)[:n] = values
    return r.read(out), padded.sum(axis=1)


def _softmax(r: _Runner) -> tuple[Array, Array]:
    rows, columns = 5, 700
    values, out = r.array(rows, columns), r.out(rows, columns)
    r.ctx.enqueue_function(seven.softmax, r.buffer(values), out[0], columns, grid_dim=rows, block_dim=256)
    e = np.exp(values - values.max(axis=1, keepdims=True))
    return r.read(out), e / e.sum(axis=1, keepdims=True)


CHECKS: dict[str, Callable[[_Runner], tuple[Array, Array]]] = {
    "vadd": _vadd,
    "gray": _gray,
    "box": _box,
    "mm_naive": _matmul(seven.mm_naive),
    "mm_tiled": _matmul(seven.mm_tiled),
    "bsum": _bsum,
    "softmax": _softmax,
}


def check_all() -> list[tuple[str, float]]:
    """Each kernel's largest difference from NumPy.

    Raises:
        AssertionError: one is too large.
    """
    runner = _Runner()
    found: list[tuple[str, float]] = []
    for name, check in CHECKS.items():
        got, expected = check(runner)
        error = float(np.max(np.abs(got - expected)))
        assert error < 2e-5, f"{name} differs from NumPy by {error}"
        found.append((name, error))
    return found
