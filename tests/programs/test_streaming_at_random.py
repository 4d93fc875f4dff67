"""Random kernels whose stores go past the caches, beside the same code where they do not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import config
from weft.compiler.passes import streaming_stores as streams
from weft.gpu.host import DeviceContext
from weft.launch import large as launches
from weft.targets import find_target

pytestmark = pytest.mark.skipif(
    not find_target("native").waits_for_streams, reason="no stores past caches are made for this processor"
)
HEAD = """
from weft import Float32, Float64, Int, Int32, Pointer, kernel
from weft.gpu import global_idx


@kernel
def made(
    a: Pointer[Float32],
    b: Pointer[Int32],
    c: Pointer[Float32],
    d: Pointer[Int32],
    e: Pointer[Float64],
    n: Int,
    m: Int,
):
    i = global_idx.x
"""
FLOATS = (
    "a[i]",
    "a[i] * 2.0 + 1.0",
    "Float32(b[i])",
    "a[i] + a[n - 1 - i]",
    "max(a[i], 0.5)",
    "(a[i] if b[i] > 3 else 2.0)",
)
INTS = ("b[i]", "b[i] * 3 - 1", "Int32(i)", "b[i] ^ 5", "Int32(a[i])")
TESTS = ("b[i] % 3 == 0", "a[i] > 0.3", "i % 5 != 2", "i > m", "i >= m and i < n - m")


def program(choose: random.Random) -> str:
    one = choose.choice
    start, test = one([0, 3, 7]), one(TESTS)
    guard, pad = one(
        [
            ("if i >= n:\n        return", "    "),
            (f"if i >= n or {test}:\n        return", "    "),
            (f"if {start} <= i < n:", "        "),
            (f"if i < n and {test}:", "        "),
        ]
    )
    stores = {
        "c": one(
            [
                f"c[i + {choose.randint(0, 9)}] = {one(FLOATS)}",
                f"c[n - 1 - i] = {one(FLOATS)}",
                f"for j in range(m):\n{pad}    c[j * n + i] = {one(FLOATS)} + Float32(j)",
            ]
        ),
        "d": one(
            [f"d[i + m] = {one(INTS)}", f"for j in range(3):\n{pad}    d[3 * i + j] = {one(INTS)} + Int32(j)"]
        ),
        "e": one([f"e[i + 1] = Float64({one(FLOATS)})", f"e[2 * i + 1] = Float64({one(FLOATS)})"]),
    }
    lines = [stores[name] for name in choose.sample("cde", choose.randint(1, 3))]
    at = choose.randint(0, len(lines) - 1)
    if choose.random() < 0.3:
        lines[at] = f"if {one(TESTS)}:\n{pad}    " + lines[at].replace("\n", "\n    ")
    elif choose.random() < 0.2:
        lines.insert(at, f"if {one(TESTS)}:\n{pad}    return")
    return "".join([HEAD, f"    {guard}\n", *(f"{pad}{line}\n" for line in lines)])


OUTS = [np.empty(10000, kind) for kind in (np.float32, np.int32, np.float64)]


def left(kernel: Any, seed: int, least: int, patch: pytest.MonkeyPatch, folder: Path) -> list[bytes]:
    """What a kernel leaves of three arrays that begin anywhere, and of what lies around them."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    n, m, block = choose.choice([1, 200, 777, 3000]), choose.randint(0, 3), choose.choice([32, 100, 256])
    a, b = rng.random(n + 16, np.float32), rng.integers(0, 20, n + 16).astype(np.int32)
    parts: list[Any] = []
    for out in OUTS:
        out.fill(-7)
        parts.append(out[-out.ctypes.data % 64 // out.itemsize + choose.randint(1, 15) :])
    patch.setattr(streams, "large", lambda: least)
    patch.setattr(launches, "large", lambda: least)
    patch.setattr(streams, "_SHORTEST", 1)
    folder = folder / str(least)
    with config.scope(cache_dir=folder), DeviceContext(api="cpu", threads=1 + seed % 2) as ctx:
        ctx.enqueue_function(kernel, a, b, *parts, n, m, grid_dim=-(-n // block), block_dim=block)
        ctx.synchronize()
    return [out.tobytes() for out in OUTS]


def test_the_same_is_left(load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rewrite, made = streams.streaming_stores, list[bool]()

    def noted(module: Any) -> None:
        rewrite(module)
        made.append(any(op.name == "weft.stream" for f in module.functions for op in f.body.walk()))

    monkeypatch.setattr(streams, "streaming_stores", noted)
    for seed in range(40):
        text = program(random.Random(seed))
        kernel = load(text).made
        past, usual = (left(kernel, seed, least, monkeypatch, tmp_path) for least in (0, 1 << 60))
        assert past == usual, text
    assert sum(made) > 10
