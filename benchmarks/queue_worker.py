"""What queueing a launch on the CPU takes the thread that queues: microseconds of processor time, as JSON.

The stream is held meanwhile, so that nothing runs beside it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from weft import Float32, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

LAUNCHES, N = 500, 64
SCALE = Float32(2.0)


@kernel
def scaled_sum(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32], n: Int) -> None:
    """Reads a number from around it, as kernels do."""
    if global_idx.x < n:
        out[global_idx.x] = x[global_idx.x] * SCALE + y[global_idx.x]


def least(ctx: DeviceContext, launch: Callable[[], object], rounds: int) -> float:
    """The least of several rounds."""
    times: list[float] = []
    for _ in range(rounds):
        go = threading.Event()
        ctx.enqueue_host_call(go.wait)
        start = time.thread_time()
        for _ in range(LAUNCHES):
            launch()
        times.append((time.thread_time() - start) / LAUNCHES * 1e6)
        go.set()
        ctx.synchronize()
    return min(times)


def main() -> None:
    ctx = DeviceContext(api="cpu")
    x, y, out = (ctx.enqueue_create_buffer(Float32, N) for _ in range(3))
    for buffer in (x, y, out):
        buffer.enqueue_fill(1.0)
    function: Any = scaled_sum
    figures = {
        "blocks": least(
            ctx, lambda: ctx.enqueue_function(function, x, y, out, N, grid_dim=2, block_dim=32), 40
        ),
        "over": least(ctx, lambda: ctx.enqueue_function(function, x, y, out, N, over=N), 40),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
