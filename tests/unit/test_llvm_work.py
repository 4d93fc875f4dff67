"""What LLVM is spared of a kernel for a CPU: work that changes nothing of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weft import Float32, Int, Kernel, Pointer, config, kernel
from weft.compile import compile_info
from weft.compiler.llvm.worker import backend
from weft.gpu import block_dim, global_idx, thread_idx


@kernel
def added(a: Pointer[Float32], b: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        out[i] = a[i] + b[i]


@kernel
def strided(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    total = Float32(0)
    for i in range(thread_idx.x, n, 16):
        total += a[i]
    out[thread_idx.x] = total + a[block_dim.x]


@kernel
def masked(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    for i in range(0, n, 16):
        out[i] = a[i & 31]


def test_loops_over_threads_ask_behind_each_round() -> None:
    text = str(compile_info(added, emission_kind="llvm", target="native"))
    assert re.search(r"^body\d+:$", text, re.MULTILINE)
    assert not re.search(r"^for\d+:$", text, re.MULTILINE), text


@pytest.mark.parametrize(("kernel", "runs"), [(added, 0), (strided, 0), (masked, 1)])
def test_a_stride_is_no_mask(
    kernel: Kernel[...], runs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only masks cost a run of LLVM more, not how many rounds a loop has."""
    ran: list[object] = []
    real = backend._with_masks_unknown  # pyright: ignore[reportPrivateUsage]

    def noted(module: object, builder: object) -> object:
        ran.append(module)
        return real(module, builder)

    monkeypatch.setattr(backend, "_with_masks_unknown", noted)
    with config.scope(compile="in-process", cache_dir=tmp_path):
        compile_info(kernel, emission_kind="object", target="native")
    assert len(ran) == runs
