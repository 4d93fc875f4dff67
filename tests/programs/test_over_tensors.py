"""Python's loops and builtins over tensors, and addresses that are compared."""

from __future__ import annotations

import numpy as np

from weft import Float32, Int, Pointer, kernel
from weft.gpu import block_dim, global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor


@kernel
def over_tensor(x: LayoutTensor[Float32], out: Pointer[Float32]):
    i, j, k = global_idx
    width, *_ = block_dim
    total = Float32(0.0)
    for number, row in enumerate(x):
        for place, value in enumerate(reversed(row)):
            total += value * Float32(number + 1) * Float32(place + 1)
    for a, c in zip(x[0, :], x[:, 1], strict=False):
        total += a * c
    for tile in x.tiles(2, 3):
        total += tile[0, 0] * Float32(tile.dim(1))
    out[i + j + k] = total * Float32(width)


def test_tensors_are_run_over(device: DeviceContext) -> None:
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    buffers = device.enqueue_create_buffer(Float32, 20), device.enqueue_create_buffer(Float32, 2)
    device.enqueue_copy(dst=buffers[0], src=x.reshape(-1))
    device.enqueue_function(
        over_tensor, buffers[0].tensor(Layout.row_major(4, 5)), buffers[1], grid_dim=1, block_dim=2
    )
    found = np.empty(2, np.float32)
    device.enqueue_copy(dst=found, src=buffers[1])
    device.synchronize()
    wanted = sum(v * (n + 1) * (k + 1) for n, row in enumerate(x) for k, v in enumerate(row[::-1]))
    wanted += sum(a * c for a, c in zip(x[0], x[:, 1], strict=False))
    wanted += sum(x[n, k] * min(3, 5 - k) for n in (0, 2) for k in (0, 3))
    assert found.tolist() == [2 * wanted] * 2


@kernel
def sums_over_tensor(x: LayoutTensor[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        out[i] = sum(v * Float32(k) for k, v in enumerate(x[i, :])) + sum(sum(row) for row in x)
        out[n + i] = max(max(row) for row in x) - min(v for v in reversed(x[:, i]))
        out[2 * n + i] = sum(a * c for a, c in zip(x[i, :], x[:, 0], strict=False))
        if any(v > 8.0 for v in x[i, :]) and all(v < 19.0 for v in x[i, :] if v > 9.0):
            out[2 * n + i] += 1000.0


def test_builtins_run_over_tensors(device: DeviceContext) -> None:
    x = np.random.default_rng(3).permutation(20).astype(np.float32).reshape(4, 5)
    buffers = device.enqueue_create_buffer(Float32, 20), device.enqueue_create_buffer(Float32, 12)
    device.enqueue_copy(dst=buffers[0], src=x.reshape(-1))
    for layout in (Layout.row_major(4, 5), Layout.row_major(4, 5).dynamic()):
        device.enqueue_function(
            sums_over_tensor, buffers[0].tensor(layout), buffers[1], 4, grid_dim=1, block_dim=4
        )
        found = np.empty(12, np.float32)
        device.enqueue_copy(dst=found, src=buffers[1])
        device.synchronize()
        asked = [any(row > 8) and all(row[row > 9] < 19) for row in x]
        wanted = [
            [sum(v * k for k, v in enumerate(row)) + x.sum() for row in x],
            [x.max() - x[:, i].min() for i in range(4)],
            [sum(a * c for a, c in zip(row, x[:, 0], strict=False)) for row in x] + 1000 * np.array(asked),
        ]
        assert 0 < sum(asked) < 4
        assert found.tolist() == np.concatenate(wanted).tolist()


@kernel
def over_addresses(p: Pointer[Float32], out: Pointer[Int], n: Int):
    i, step = global_idx.x, block_dim.x
    at, end, count = p + i, p + n, Int(0)
    while at < end:
        at.store(Float32(i))
        at += step
        count += 1
    if at >= end and at != p and not at == p:
        out[i] = (end - at) * 100 + count + (at - p) * 1000


def test_addresses_are_compared(device: DeviceContext) -> None:
    values, out = device.enqueue_create_buffer(Float32, 10), device.enqueue_create_buffer(Int, 4)
    device.enqueue_function(over_addresses, values, out, 10, grid_dim=1, block_dim=4)
    with values.map_to_host() as host, out.map_to_host() as ends:
        assert list(host) == [0.0, 1.0, 2.0, 3.0] * 2 + [0.0, 1.0]
        assert list(ends) == [12 * 1000 - 200 + 3, 13 * 1000 - 300 + 3, 10 * 1000 + 2, 11 * 1000 - 100 + 2]
