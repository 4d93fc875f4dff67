"""What ``weft.kernels`` reaches beside torch, CuPy and Triton, on one GPU: a line of the table for each work.

A line is a function under ``@line``: it makes the inputs and gives the cases, of which the first is weft's.
All cases of a line are measured by events of one stream, in turns.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from benchmarks.measure import in_turns, module, table, torch_on_gpu
from benchmarks.replays import recorded

Case = Callable[[], Any]


@dataclass
class Peers:
    """The libraries that are there; None in place of what is not."""

    torch: Any
    cupy: Any
    triton: Any
    """This repository's kernels for Triton."""


@dataclass
class Work:
    """What a line measures."""

    amount: float
    """What a call does, in the line's unit times seconds: GB or TFLOP."""
    cases: dict[str, Case]
    """By the library's name, weft first. A case gives its result."""
    right: Callable[[Any], bool] | None = None
    """Whether a result is right; each case's first one is asked for it."""
    calls: int = 5


@dataclass
class Line:
    """A line of the table."""

    title: str
    unit: str
    target: float
    """What weft is to reach, in the unit; or, with ``of``, times what that case reaches."""
    of: str
    make: Callable[[Peers], Work] = field(repr=False)


LINES: dict[str, Line] = {}


def line(title: str, unit: str, target: float, of: str = "") -> Callable[[Callable[[Peers], Work]], Line]:
    """Make a function a line of the table, by the function's name."""

    def add(make: Callable[[Peers], Work]) -> Line:
        made = LINES[make.__name__] = Line(title, unit, target, of, make)
        return made

    return add


def run(options: argparse.Namespace) -> None:
    print("## Ready kernels\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    peers = Peers(torch, module("cupy"), module("benchmarks.peers.library_triton"))
    print(f"{torch.cuda.get_device_name()}, medians of calls in turns\n")
    rows = [
        measured(LINES[name], peers, options.rounds or 15)
        for name in (options.kernels.split(",") if options.kernels else LINES)
    ]
    table(("work", "unit", "weft", "peers", "target"), rows)


def measured(line: Line, peers: Peers, rounds: int) -> list[str]:
    """A row of the table."""
    torch, work = peers.torch, line.make(peers)
    for name, case in work.cases.items():
        result = case()
        torch.cuda.synchronize()
        assert work.right is None or work.right(result), f"{line.title}: {name} is wrong"

    def timed(case: Case) -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        case()
        begin.record()
        for _ in range(work.calls):
            case()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / (1e3 * work.calls)

    times = in_turns({name: lambda c=case: timed(c) for name, case in work.cases.items()}, rounds)
    reached = {name: work.amount / statistics.median(got) for name, got in times.items()}
    ours, *others = reached.items()
    aim = line.target * reached.get(line.of, 1.0)
    verdict = "reached" if ours[1] >= aim else "**missed**"
    shown = ", ".join(f"{name} {shown_number(value)}" for name, value in others)
    return [line.title, line.unit, shown_number(ours[1]), shown, f"{shown_number(aim)}: {verdict}"]


def shown_number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _close(torch: Any, right: Any, tolerance: float = 1e-4) -> Callable[[Any], bool]:
    return lambda found: bool(torch.allclose(found.float(), right.float(), rtol=tolerance, atol=tolerance))


@line("sum of 1 GiB float32", "GB/s", 4250)
def sum(peers: Peers) -> Work:
    from weft import kernels

    torch, n = peers.torch, 1 << 28
    x = torch.rand(n, device="cuda")
    cases: dict[str, Case] = {"weft": lambda: kernels.sum(x), "torch": x.sum}
    if peers.cupy is not None:
        own = peers.cupy.from_dlpack(x)
        cases["CuPy"] = lambda: torch.from_dlpack(own.sum())
    return Work(4 * n / 1e9, cases, _close(torch, x.double().sum()))


@line("softmax of 16384² float32", "GB/s", 4150)
def softmax(peers: Peers, size: int = 16384) -> Work:
    from weft import kernels

    torch = peers.torch
    x = torch.randn(size, size, device="cuda") * 4
    out, kept = torch.empty_like(x), torch.softmax(x, dim=1)
    cases: dict[str, Case] = {
        "weft": lambda: kernels.softmax(x, out=out),
        "torch": lambda: torch.softmax(x, dim=1, out=out),
        "torch's copy": lambda: out.copy_(kept),
    }
    if peers.triton is not None:

        def triton() -> Any:
            peers.triton.softmax[(size,)](x, out, size, B=size, num_warps=32)
            return out

        cases["Triton"] = triton
    return Work(8 * size**2 / 1e9, cases, _close(torch, kept))


@line("layer norm of 16384² float32", "GB/s", 4100)
def layer_norm(peers: Peers, size: int = 16384) -> Work:
    from weft import kernels

    torch = peers.torch
    x, out = torch.randn(size, size, device="cuda"), torch.empty(size, size, device="cuda")
    weight, bias = torch.randn(2, size, device="cuda")
    theirs = torch.nn.functional.layer_norm
    cases: dict[str, Case] = {
        "weft": lambda: kernels.layer_norm(x, weight, bias, out=out),
        "torch": lambda: theirs(x, (size,), weight, bias),
    }
    return Work(8 * size**2 / 1e9, cases, _close(torch, theirs(x, (size,), weight, bias)))


@line("transpose of 16384² float32", "GB/s", 4000)
def transpose(peers: Peers, size: int = 16384) -> Work:
    from weft import kernels

    torch = peers.torch
    x, out = torch.rand(size, size, device="cuda"), torch.empty(size, size, device="cuda")
    kept = x.t().contiguous()
    cases: dict[str, Case] = {
        "weft": lambda: kernels.transpose(x, out=out),
        "torch": lambda: out.copy_(x.t()),
    }
    return Work(8 * size**2 / 1e9, cases, lambda found: bool(torch.equal(found, kept)))


ODD = [
    *((4096, 16, 4096), (16, 4096, 4096), (8192, 64, 8192), (64, 8192, 8192), (128, 128, 65536)),
    *((256, 256, 32768), (1000, 1000, 1000), (1001, 999, 1003), (3000, 5000, 700), (2048, 2048, 2048)),
    *((512, 512, 8192), (777, 4096, 4096), (4096, 777, 4096), (100, 20000, 512), (20000, 100, 512)),
    *((1, 8192, 8192), (5000, 5000, 5000), (1536, 1536, 6144), (11008, 128, 4096), (4095, 4097, 2049)),
]
"""Rows, columns and depth of products that are tall, thin, ragged or deep."""


def _products(peers: Peers, dtype: str, *shapes: tuple[int, int, int], turned: bool = False) -> Work:
    """Products of these shapes, one after the other; of ``b`` transposed where ``turned``."""
    from weft import kernels

    torch, given = peers.torch, list[tuple[Any, Any, Any]]()
    for m, n, k in shapes:
        a, b = (torch.randn(*e, device="cuda").to(getattr(torch, dtype)) for e in ((m, k), (k, n)))
        out = torch.empty(m, n, device="cuda", dtype=a.dtype)
        given.append((a, b.t().contiguous().t() if turned else b, out))
    torch.backends.cuda.matmul.allow_tf32 = False
    rights = [(a @ b).float() for a, b, _ in given]

    def all_by(multiply: Callable[[Any, Any, Any], Any]) -> Case:
        def case() -> list[Any]:
            for a, b, out in given:
                multiply(a, b, out)
            return [out for _, _, out in given]

        return case

    def right(found: list[Any]) -> bool:
        return all(
            bool((x.float() - y).norm() <= 5e-3 * y.norm()) for x, y in zip(found, rights, strict=True)
        )

    cases: dict[str, Case] = {
        "weft": all_by(kernels.matmul),
        "cuBLAS": all_by(lambda a, b, out: torch.matmul(a, b, out=out)),
    }
    return Work(2e-12 * fsum(m * n * k for m, n, k in shapes), cases, right)


@line("float32 matmul 4096³ without tensor cores", "TFLOP/s", 50)
def matmul_float32(peers: Peers) -> Work:
    return _products(peers, "float32", (4096, 4096, 4096))


@line("bf16 matmul 8192³", "TFLOP/s", 1.05, of="cuBLAS")
def matmul_8192(peers: Peers) -> Work:
    return _products(peers, "bfloat16", (8192, 8192, 8192), turned=True)


@line("bf16 matmul 4096³", "TFLOP/s", 1.05, of="cuBLAS")
def matmul_4096(peers: Peers) -> Work:
    return _products(peers, "bfloat16", (4096, 4096, 4096), turned=True)


@line("bf16 matmul, 20 odd shapes one after the other", "TFLOP/s", 1.0, of="cuBLAS")
def matmul_odd(peers: Peers) -> Work:
    return _products(peers, "bfloat16", *ODD)


def _near(right: Any) -> Callable[[Any], bool]:
    """Whether a product is close to this one, in Float32."""
    return lambda found: bool((found.float() - right).norm() <= 5e-3 * right.norm())


@line("fp8 matmul 8192³ into bf16, b along k", "TFLOP/s", 1.0, of="torch")
def matmul_fp8(peers: Peers, size: int = 8192) -> Work:
    from weft import kernels

    torch = peers.torch
    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    out, one = torch.empty(size, size, device="cuda", dtype=torch.bfloat16), torch.ones((), device="cuda")
    how = {"out_dtype": torch.bfloat16, "use_fast_accum": True}
    cases: dict[str, Case] = {
        "weft": lambda: kernels.matmul(a, b.t(), out=out, dtype="bfloat16"),
        "torch": lambda: torch._scaled_mm(a, b.t(), one, one, **how),
    }
    return Work(2e-12 * size**3, cases, _near(a.float() @ b.float().t()))


@line("int8 matmul 8192³, b along k", "TOP/s", 1.0, of="torch")
def matmul_int8(peers: Peers, size: int = 8192) -> Work:
    from weft import kernels

    torch = peers.torch
    a, b = torch.randint(-100, 100, (2, size, size), device="cuda", dtype=torch.int8)
    out = torch.empty(size, size, device="cuda", dtype=torch.int32)
    cases: dict[str, Case] = {
        "weft": lambda: kernels.matmul(a, b.t(), out=out),
        "torch": lambda: torch._int_mm(a, b.t(), out=out),
    }
    return Work(2e-12 * size**3, cases, _near(a.float() @ b.float().t()))


@line("float32 matmul 8192³ by tf32, b along k", "TFLOP/s", 1.0, of="cuBLAS")
def matmul_tf32(peers: Peers, size: int = 8192) -> Work:
    from weft import kernels

    torch = peers.torch
    a, b = torch.randn(2, size, size, device="cuda")
    out, right = torch.empty(size, size, device="cuda"), a @ b.t()

    def cublas() -> Any:
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.matmul(a, b.t(), out=out)
        torch.backends.cuda.matmul.allow_tf32 = False
        return out

    cases: dict[str, Case] = {
        "weft": lambda: kernels.matmul(a, b.t(), out=out, tf32=True),
        "cuBLAS": cublas,
    }
    return Work(2e-12 * size**3, cases, _near(right))


@line("bf16 matmul of 8 groups of 1024 rows by 4096²", "TFLOP/s", 1.0, of="torch")
def matmul_grouped(peers: Peers, groups: int = 8, rows: int = 8192, size: int = 4096) -> Work:
    from weft import kernels

    torch = peers.torch
    x = torch.randn(rows, size, device="cuda", dtype=torch.bfloat16)
    experts = torch.randn(groups, size, size, device="cuda", dtype=torch.bfloat16)
    ends = torch.arange(1, groups + 1, device="cuda", dtype=torch.int32) * (rows // groups)
    out = torch.empty_like(x)
    cases: dict[str, Case] = {
        "weft": lambda: kernels.grouped_matmul(x, experts, ends, out=out),
        "torch": lambda: torch._grouped_mm(x, experts, offs=ends),
    }
    right = torch.bmm(x.view(groups, -1, size), experts).view(rows, size)
    return Work(2e-12 * rows * size**2, cases, _near(right.float()))


def _attention(peers: Peers, causal: bool, rows: int = 8192, heads: int = 32, width: int = 128) -> Work:
    from weft import kernels

    torch = peers.torch
    q, k, v = torch.randn(3, 2, heads, rows, width, device="cuda", dtype=torch.bfloat16)
    out, library = torch.empty_like(q), torch.nn.functional.scaled_dot_product_attention

    def by(backend: Any) -> Case:
        def case() -> Any:
            with torch.nn.attention.sdpa_kernel(backend):
                return library(q, k, v, is_causal=causal)

        return case

    backends = torch.nn.attention.SDPBackend
    cases: dict[str, Case] = {
        "weft": lambda: kernels.attention(q, k, v, causal=causal, out=out),
        "cuDNN": by(backends.CUDNN_ATTENTION),
        "FlashAttention-2": by(backends.FLASH_ATTENTION),
    }
    amount = 4 * q.numel() * rows / (2e12 if causal else 1e12)
    return Work(amount, cases, _close(torch, cases["cuDNN"](), 2e-2), calls=2)


@line("attention 2 x 32 x 8192 x 128 bfloat16", "TFLOP/s", 1.0, "cuDNN")
def attention(peers: Peers) -> Work:
    return _attention(peers, causal=False)


@line("causal attention, same size", "TFLOP/s", 1.0, "cuDNN")
def causal_attention(peers: Peers) -> Work:
    return _attention(peers, causal=True)


@line("attention of 1 query to 131072 keys, 32 heads on 8, bfloat16", "GB/s", 0.9, "torch's copy")
def decode_attention(peers: Peers, keys: int = 1 << 17, heads: int = 32, shared: int = 8) -> Work:
    from weft import kernels

    torch = peers.torch
    q = torch.randn(1, heads, 128, device="cuda", dtype=torch.bfloat16)
    k, v = torch.randn(2, 1, shared, keys, 128, device="cuda", dtype=torch.bfloat16)
    pages = torch.randperm(keys // 64, device="cuda", dtype=torch.int32)[None]
    paged = [
        x.view(shared, keys // 64, 64, 128).transpose(0, 1)[pages[0].argsort()].contiguous() for x in (k, v)
    ]
    out, copied = torch.empty_like(q), torch.empty_like(k)
    library = torch.nn.functional.scaled_dot_product_attention
    kept = library(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]

    def copy() -> Any:
        copied.copy_(k)  # as many bytes read and written as keys and values have
        return kept

    cases: dict[str, Case] = {
        "weft": lambda: kernels.decode_attention(q, k, v, out=out),
        "weft, of pages of 64": lambda: kernels.decode_attention(q, *paged, page_table=pages, out=out),
        "torch": lambda: library(q[:, :, None], k, v, enable_gqa=True)[:, :, 0],
        "torch's copy": copy,
    }
    return Work(4 * k.numel() / 1e9, cases, _close(torch, kept, 2e-2), calls=20)


@line("inclusive scan of 2^28 float32", "GB/s", 4000)
def scan(peers: Peers) -> Work:
    from weft import kernels

    torch, n = peers.torch, 1 << 28
    x, out = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
    cases: dict[str, Case] = {
        "weft": lambda: kernels.cumsum(x, out=out),
        "torch": lambda: torch.cumsum(x, 0, out=out),
    }
    if peers.cupy is not None:
        own, made = peers.cupy.from_dlpack(x), peers.cupy.from_dlpack(out)
        cases["CuPy"] = lambda: torch.from_dlpack(peers.cupy.cumsum(own, out=made))
    return Work(8 * n / 1e9, cases, _close(torch, torch.cumsum(x, 0, dtype=torch.float64), 1e-3))


@line("radix sort of 2^27 uint32 keys", "Gkeys/s", 1.0, "CuPy")
def sort(peers: Peers) -> Work:
    from weft import kernels

    torch, n = peers.torch, 1 << 27
    signed = torch.randint(-(2**31), 2**31 - 1, (n,), device="cuda", dtype=torch.int32)
    x, out = signed.view(torch.uint32), torch.empty_like(signed).view(torch.uint32)
    cases: dict[str, Case] = {"weft": lambda: kernels.sort(x, out=out)}
    if peers.cupy is not None:
        own = peers.cupy.from_dlpack(signed).view(peers.cupy.uint32)
        cases["CuPy"] = lambda: peers.cupy.sort(own)
    cases["torch, int32"] = lambda: torch.sort(signed)
    return Work(n / 1e9, cases, calls=2)


@line("gemv float32 8192", "GB/s", 3800)
def gemv(peers: Peers, size: int = 8192) -> Work:
    from weft import kernels

    torch = peers.torch
    a, x = torch.rand(size, size, device="cuda"), torch.rand(size, device="cuda")
    out = torch.empty(size, device="cuda")
    cases: dict[str, Case] = {
        "weft": lambda: kernels.gemv(a, x, out=out),
        "torch": lambda: torch.mv(a, x, out=out),
        "weft, transposed": lambda: kernels.gemv(a.t(), x),
    }
    return Work(4 * size**2 / 1e9, cases, calls=20)


@line("int4 gemv 8192, groups of 128, bfloat16", "GB/s", 3635)
def gemv_int4(peers: Peers, size: int = 8192, group: int = 128, several: int = 8) -> Work:
    """Of several matrices in turn, which the L2 cache does not hold together."""
    from weft import kernels

    torch = peers.torch
    kind: Any = {"device": "cuda", "dtype": torch.bfloat16}
    packed = torch.randint(0, 256, (several, size, size // 2), device="cuda", dtype=torch.uint8)
    scales, x = torch.rand(size, size // group, **kind), torch.randn(size, **kind)
    out = torch.empty(size, **kind)
    numbers = torch.stack((packed[-1] & 15, packed[-1] >> 4), 2).reshape(size, size).double() - 8
    exact = (numbers * scales.double().repeat_interleave(group, 1)) @ x.double()

    def multiply() -> Any:
        for matrix in packed:
            kernels.gemv_int4(matrix, scales, x, out=out)
        return out

    amount = several * (packed[0].nbytes + scales.nbytes) / 1e9
    return Work(amount, {"weft": recorded(torch, multiply, 1)}, _close(torch, exact, 1e-2), calls=3)
