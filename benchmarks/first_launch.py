"""A fresh process: how long weft takes from import to the first vector addition's result."""

from __future__ import annotations

import json
import sys
import time

start = time.perf_counter()

import weft  # noqa: E402
from benchmarks.kernels.pictures import vector_addition  # noqa: E402
from weft.gpu.host import DeviceContext  # noqa: E402

imported = time.perf_counter()


def main() -> None:
    n = 1 << 20
    ctx = DeviceContext(api=sys.argv[1])
    a, b, c = (ctx.enqueue_create_buffer(weft.Float32, n) for _ in range(3))
    for buffer in (a, b):
        buffer.enqueue_fill(1.0)
    ctx.synchronize()
    ready = time.perf_counter()
    ctx.enqueue_function(vector_addition, a, b, c, n, grid_dim=n // 256, block_dim=256)
    ctx.synchronize()
    launched = time.perf_counter()
    with c[:16].map_to_host() as host:
        assert all(x == 2.0 for x in host)
    print(json.dumps({"import": imported - start, "context": ready - imported, "launch": launched - ready}))


if __name__ == "__main__":
    main()
