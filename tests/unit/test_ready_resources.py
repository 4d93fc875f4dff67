"""Ready kernels as they are chosen for an H200, which is played: what each uses, and that it spills nothing.

What spills nevertheless stands in ``docs/performance.md``, with the reason.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import pytest

import weft.kernels as ready
from driver_played import Gpu, always
from weft import BFloat16, Float32, Float64, Int8, Int32, Int64, Tensor, UInt8, UInt32
from weft.gpu.host import DeviceContext
from weft.runtime.cuda import toolkit

Make = Callable[..., Any]
SPILLS: dict[str, int] = {
    "layer_norm, weight and bias": 16,
    "rms_norm": 16,
    "gemv_int4, zeros": 48,
}
"""Bytes that are known to be spilled at most; others spill none."""


def _decoded(t: Make) -> Any:
    keys = [t(BFloat16, 2, 8, 8192, 80) for _ in range(2)]
    return ready.decode_attention(t(BFloat16, 2, 32, 80), *keys)


CALLS: dict[str, Callable[[Make], Any]] = {
    "sum": lambda t: ready.sum(t(Float32, 1 << 22)),
    "argmax": lambda t: ready.argmax(t(Float32, 512, 4096), axis=1),
    "softmax": lambda t: ready.softmax(t(Float32, 512, 16384)),
    "softmax across": lambda t: ready.softmax(t(Float32, 512, 4096), axis=0),
    "layer_norm": lambda t: ready.layer_norm(t(Float32, 512, 16384)),
    "layer_norm, weight and bias": lambda t: ready.layer_norm(
        t(Float32, 512, 16384), *(t(Float32, 16384) for _ in range(2))
    ),
    "softmax of a cluster": lambda t: ready.softmax(t(BFloat16, 64, 128256)),
    "softmax between vectors": lambda t: ready.softmax(t(Float32, 64, 16381)),
    "softmax of few long rows": lambda t: ready.softmax(t(Float32, 1, 1 << 22)),
    "layer_norm of few long rows": lambda t: ready.layer_norm(t(Float32, 1, 1 << 22)),
    "rms_norm": lambda t: ready.rms_norm(t(Float32, 512, 1024), t(Float32, 1024)),
    "cumsum": lambda t: ready.cumsum(t(Float32, 1 << 22)),
    "cumsum of short rows": lambda t: ready.cumsum(t(Float32, 64, 1000)),
    "sort": lambda t: ready.sort(t(UInt32, 1 << 22)),
    "argsort": lambda t: ready.argsort(t(UInt32, 1 << 22)),
    "sort of short rows": lambda t: ready.sort(t(Float32, 64, 1024)),
    "argsort of short rows of 8 bytes": lambda t: ready.argsort(t(Int64, 64, 512)),
    "topk of short rows of 2 bytes": lambda t: ready.topk(t(BFloat16, 64, 1024), 4),
    "sort_by_key": lambda t: ready.sort_by_key(t(UInt32, 1 << 22), t(Float32, 1 << 22)),
    "topk": lambda t: ready.topk(t(Float32, 1 << 22), 100),
    "histogram": lambda t: ready.histogram(t(UInt8, 1 << 22), 256, (0, 256)),
    "transpose": lambda t: ready.transpose(t(Float32, 1024, 1024)),
    "take": lambda t: ready.take(t(Float32, 1000, 256), t(Int64, 100), axis=0),
    "embedding": lambda t: ready.embedding(t(Int64, 100), t(BFloat16, 1000, 4096)),
    "rope": lambda t: ready.rope(t(BFloat16, 2, 8, 512, 128), *(t(Float32, 512, 64) for _ in range(2))),
    "attention": lambda t: ready.attention(*(t(BFloat16, 2, 8, 1024, 80) for _ in range(3)), causal=True),
    "decode_attention": _decoded,
    "gemv": lambda t: ready.gemv(t(Float32, 8192, 8192), t(Float32, 8192)),
    "gemv_int8": lambda t: ready.gemv_int8(t(Int8, 8192, 8192), t(Float32, 8192), t(BFloat16, 8192)),
    "gemv_int4": lambda t: ready.gemv_int4(t(UInt8, 8192, 4096), t(BFloat16, 8192, 128), t(BFloat16, 8192)),
    "gemv_int4, zeros": lambda t: ready.gemv_int4(
        t(UInt8, 8192, 4096), t(BFloat16, 8192, 128), t(BFloat16, 8192), zeros=t(UInt8, 8192, 128)
    ),
    "matmul": lambda t: ready.matmul(t(Float32, 1024, 1024), t(Float32, 1024, 1024)),
    "matmul of BFloat16": lambda t: ready.matmul(t(BFloat16, 4096, 4096), t(BFloat16, 4096, 4096)),
    "matmul of Float64": lambda t: ready.matmul(t(Float64, 2048, 2048), t(Float64, 2048, 2048)),
    "matmul of small Float64": lambda t: ready.matmul(t(Float64, 256, 256), t(Float64, 256, 256)),
    "matmul of small BFloat16": lambda t: ready.matmul(t(BFloat16, 256, 256), t(BFloat16, 256, 256)),
    "matmul of batches": lambda t: ready.matmul(t(BFloat16, 32, 128, 64), t(BFloat16, 32, 64, 128)),
    "softmax between elements": lambda t: ready.softmax(t(BFloat16, 4096, 77)),
    "grouped_matmul": lambda t: ready.grouped_matmul(
        t(BFloat16, 8192, 1024), t(BFloat16, 8, 1024, 4096), t(Int32, 8)
    ),
    "attention of 64 features": lambda t: ready.attention(*(t(BFloat16, 8, 16, 1024, 64) for _ in range(3))),
    "attention of 128 features": lambda t: ready.attention(*(t(BFloat16, 2, 8, 1024, 128) for _ in range(3))),
    "decode_attention of 128": lambda t: ready.decode_attention(
        t(BFloat16, 2, 32, 128), *(t(BFloat16, 2, 8, 8192, 128) for _ in range(2))
    ),
    "matmul of integers": lambda t: ready.matmul(t(Int32, 512, 512), t(Int32, 512, 512)),
}


def allowed(asked: str, _: Any) -> tuple[int, int]:
    """What a function has: of threads as many as any, of memory of its own none."""
    return 0, 1024 if "THREADS" in asked else 0


OF_MEMORY = re.compile(r"\b(ld|st|atom|red)\.(?!param|shared|local)|\bcp\.")
"""Instructions of PTX that touch global memory."""


MEMORY = ctypes.create_string_buffer(1 << 20)
"""All that the played driver gives, also to contexts that end after their test."""


def always_bytes(*_: Any) -> bytes:
    """A description of tiles, which the driver's own library would make."""
    return bytes(128)


@pytest.mark.parametrize("name", CALLS)
def test_what_a_ready_kernel_spills(name: str, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    if toolkit.find_tool("ptxas") is None:
        pytest.skip("no ptxas here")
    texts: list[str] = []

    def loaded(text: bytes, *_: Any) -> tuple[int, int]:
        texts.append(text.partition(b"\0")[0].decode())
        return 0, 5

    address = ctypes.addressof(MEMORY)
    monkeypatch.setattr("weft.runtime.cuda.device.tensor_map", always_bytes)
    gpu.slots = 0
    gpu.returns["cuMemHostAlloc"] = gpu.returns["cuMemAlloc"] = always(0, address)  # where assertions tell
    gpu.returns["cuModuleGetGlobal"] = always(0, address, 8)
    gpu.returns["cuModuleLoadDataEx"] = loaded
    gpu.returns["cuOccupancyMaxActiveClusters"] = always(0, 66)
    gpu.returns["cuFuncGetAttribute"] = allowed
    ctx = DeviceContext(api="cuda")

    def made(dtype: Any, *shape: int) -> Any:
        return Tensor(dtype, shape, ctx)

    CALLS[name](made)
    assert texts
    spilled = [toolkit.assemble(text)[1].spill_stores for text in texts]
    assert max(spilled) <= SPILLS.get(name, 0)
    for early in [text for text in texts if "griddepcontrol.wait" in text]:
        before = early[early.index(".entry") : early.index("griddepcontrol.wait")]
        assert not OF_MEMORY.search(before), "read or written while what was before may still run"
