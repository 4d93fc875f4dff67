"""What kernels written for a tile reach beside ``weft.kernels``, torch and Triton, on one GPU."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from examples import tiles

from benchmarks.kernels_table import Line, Peers, Work, measured
from benchmarks.measure import module, table, torch_on_gpu
from weft import tile
from weft.gpu.host import DeviceContext

SHARE = 0.9
"""Of what the hand-written kernel reaches."""


def run(options: argparse.Namespace) -> None:
    print("## Kernels written for a tile\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    peers = Peers(torch, module("cupy"), module("benchmarks.peers.library_triton"))
    print(f"{torch.cuda.get_device_name()}, medians of calls in turns\n")
    lines = [
        Line("softmax of 16384² float32", "GB/s", SHARE, "weft.kernels", softmax),
        Line("layer norm of 16384² float32", "GB/s", SHARE, "weft.kernels", layer_norm),
        Line("bf16 matmul 4096³", "TFLOP/s", SHARE, "weft.kernels", matmul),
        Line("attention 32 x 4096 x 128 bfloat16", "TFLOP/s", SHARE, "weft.kernels", attention),
    ]
    rows = [measured(line, peers, options.rounds or 15) for line in lines]
    table(("work", "unit", "tiles", "peers", "target"), rows)


def _close(torch: Any, right: Any, tolerance: float) -> Callable[[Any], bool]:
    return lambda found: bool(torch.allclose(found.float(), right.float(), rtol=tolerance, atol=tolerance))


def softmax(peers: Peers, size: int = 16384, threads: int = 512) -> Work:
    from weft import kernels

    torch, ctx = peers.torch, DeviceContext()
    x = torch.randn(size, size, device="cuda") * 4
    out, kernel = torch.empty_like(x), tile.tile_kernel(threads=threads)(tiles.softmax)

    def ours() -> Any:
        ctx.enqueue_function(kernel, x, out, grid_dim=size)
        return out

    cases = {"tiles": ours, "weft.kernels": lambda: kernels.softmax(x, out=out)}
    if peers.triton is not None:

        def triton() -> Any:
            peers.triton.softmax[(size,)](x, out, size, B=size, num_warps=32)
            return out

        cases["Triton"] = triton
    return Work(8 * size**2 / 1e9, cases, _close(torch, torch.softmax(x, dim=1), 1e-4))


def layer_norm(peers: Peers, size: int = 16384, threads: int = 256) -> Work:
    from weft import kernels

    torch, ctx = peers.torch, DeviceContext()
    x, out = torch.randn(size, size, device="cuda"), torch.empty(size, size, device="cuda")
    weight, bias = torch.randn(2, size, device="cuda")
    kernel, theirs = tile.tile_kernel(threads=threads)(tiles.layer_norm), torch.nn.functional.layer_norm

    def ours() -> Any:
        ctx.enqueue_function(kernel, x, weight, bias, out, grid_dim=size)
        return out

    cases = {"tiles": ours, "weft.kernels": lambda: kernels.layer_norm(x, weight, bias, out=out)}
    right = theirs(x, (size,), weight, bias)
    return Work(8 * size**2 / 1e9, cases, _close(torch, right, 1e-4))


def matmul(peers: Peers, size: int = 4096, threads: int = 256) -> Work:
    from weft import kernels

    torch, ctx = peers.torch, DeviceContext()
    a, b = torch.randn(2, size, size, device="cuda", dtype=torch.bfloat16)
    out, shape = torch.empty_like(a), (256, 128, 64)
    kernel = tile.tile_kernel(threads=threads)(tiles.matmul).bind(shape=shape, stages=4)

    def ours() -> Any:
        ctx.enqueue_function(kernel, a, b, out, grid_dim=(size // shape[1], size // shape[0]))
        return out

    cases = {
        "tiles": ours,
        "weft.kernels": lambda: kernels.matmul(a, b, out=out),
        "cuBLAS": lambda: torch.matmul(a, b, out=out),
    }
    return Work(2 * size**3 / 1e12, cases, _close(torch, torch.matmul(a, b), 2e-1))


def attention(peers: Peers, heads: int = 32, rows: int = 4096, width: int = 128) -> Work:
    from weft import kernels

    torch, ctx = peers.torch, DeviceContext()
    q, k, v = torch.randn(3, 1, heads, rows, width, device="cuda", dtype=torch.bfloat16)
    out, tall = torch.empty_like(q), 128
    kernel = tile.tile_kernel(threads=256)(tiles.attention).bind(rows=tall, keys=128, stages=2)

    def ours() -> Any:
        given = q[0], k[0], v[0], out[0], width**-0.5
        ctx.enqueue_function(kernel, *given, grid_dim=(rows // tall, heads))
        return out

    library = torch.nn.functional.scaled_dot_product_attention
    cases = {
        "tiles": ours,
        "weft.kernels": lambda: kernels.attention(q, k, v, out=out),
        "torch": lambda: library(q, k, v),
    }
    return Work(4 * q.numel() * rows / 1e12, cases, _close(torch, library(q, k, v), 2e-2), calls=2)
