"""Ready kernels beside PyTorch, at shapes that models and analyses have every day, as replays of a graph."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.measure import table, torch_on_gpu
from benchmarks.replays import replayed

Case = tuple[str, Callable[[], Any], Callable[[], Any]]
"""What is done, by weft and by PyTorch; results are the same, or pairs of which the first are."""
NEAR = 0.95
"""Below that share of PyTorch's speed a case is marked."""


def run(options: argparse.Namespace) -> None:
    print("## Ready kernels at everyday shapes\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    print(f"{torch.cuda.get_device_name()}, medians in µs of replays in turns; speed beside PyTorch's\n")
    rows, logs = list[list[str]](), list[float]()
    chosen = [name for name in options.kernels.split(",") if name]
    for name, ours, theirs in cases(torch):
        if chosen and name.split()[0] not in chosen:
            continue
        _compare(torch, name, ours(), theirs())
        times = replayed(torch, {"weft": ours, "torch": theirs}, options.rounds or 5)
        ratio = times["torch"] / times["weft"]
        logs.append(math.log(ratio))
        shown = [f"{1e6 * times[who]:.1f}" for who in ("weft", "torch")]
        rows.append([name, *shown, f"{ratio:.2f}", "" if ratio >= NEAR else "slower"])
    table(["work", "weft", "torch", "speed", ""], rows)
    near = sum(row[-1] == "" for row in rows)
    print(f"geometric mean {math.exp(statistics.mean(logs)):.2f}; {near} of {len(rows)} at {NEAR} or more\n")


def _compare(torch: Any, name: str, ours: Any, theirs: Any) -> None:
    """What both give is the same, as near as 16-bit floats are."""
    pair: list[Any] = [x[0] if isinstance(x, tuple) else x for x in (ours, theirs)]
    found, right = pair[0].double(), pair[1].double()
    assert found.shape == right.shape, f"{name}: {found.shape}"
    error = float((found - right).norm() / right.norm().clamp(min=1e-30))
    assert error < 1e-2, f"{name}: {error}"


def cases(torch: Any) -> Iterator[Case]:
    """All of them, one after the other, since the arrays of all would not fit."""
    yield from _rows(torch)
    yield from _along(torch)
    yield from _sorts(torch)
    yield from _moves(torch)
    yield from _attention(torch)
    yield from _products(torch)


def _normal(torch: Any, *shape: int, dtype: str = "bfloat16") -> Any:
    return torch.randn(*shape, device="cuda").to(getattr(torch, dtype))


def _rows(torch: Any) -> Iterator[Case]:
    from weft import kernels as own

    functional = torch.nn.functional
    for shape in ((8, 32000), (64, 128256), (2048, 128256), (4096, 50257), (32768, 1024), (65536, 77)):
        x = _normal(torch, *shape)
        out = torch.empty_like(x)
        yield (
            f"softmax {shape} bfloat16",
            lambda x=x, out=out: own.softmax(x, out=out),
            lambda x=x: torch.softmax(x, -1),
        )
    for shape in ((1, 1 << 24), (8, 1 << 21), (32768, 1024), (1 << 18, 64)):
        x = _normal(torch, *shape, dtype="float32")
        out = torch.empty_like(x)
        yield (
            f"softmax {shape} float32",
            lambda x=x, out=out: own.softmax(x, out=out),
            lambda x=x: torch.softmax(x, -1),
        )
    for shape in ((1, 4096), (64, 8192), (8192, 768), (8192, 4096), (16384, 1600)):
        x, w = _normal(torch, *shape), _normal(torch, shape[1])
        out = torch.empty_like(x)
        yield (
            f"layer_norm {shape} bfloat16",
            lambda x=x, w=w, out=out: own.layer_norm(x, w, w, out=out),
            lambda x=x, w=w: functional.layer_norm(x, (x.shape[1],), w, w),
        )
        yield (
            f"rms_norm {shape} bfloat16",
            lambda x=x, w=w, out=out: own.rms_norm(x, w, eps=1e-6, out=out),
            lambda x=x, w=w: functional.rms_norm(x, (x.shape[1],), w, 1e-6),
        )


def _along(torch: Any) -> Iterator[Case]:
    from weft import kernels as own

    for axes in ((0, 2, 3), (2, 3)):
        x = _normal(torch, 64, 256, 56, 56, dtype="float32")
        yield (
            f"mean (64, 256, 56, 56) along {axes}",
            lambda x=x, axes=axes: own.mean(x, axes),
            lambda x=x, axes=axes: torch.mean(x, axes),
        )
    for shape in ((64, 128256), (1 << 20, 8), (1 << 18, 64), (4096, 4096), (1000, 1001), (1 << 24, 1)):
        x = _normal(torch, *shape, dtype="float32") + 1
        for axis in (0, 1):
            if shape[axis] == 1:
                continue
            both: list[tuple[Any, Any]] = [
                (own.sum, torch.sum),
                (own.max, torch.amax),
                (own.argmax, torch.argmax),
            ]
            for ours, theirs in both:
                yield (
                    f"{ours.__name__} {shape} along {axis}",
                    lambda x=x, a=axis, f=ours: f(x, a),
                    lambda x=x, a=axis, f=theirs: f(x, a),
                )
            if shape[0] * shape[1] < 1 << 23:
                yield (
                    f"cumsum {shape} along {axis}",
                    lambda x=x, a=axis: own.cumsum(x, a),
                    lambda x=x, a=axis: torch.cumsum(x, a),
                )


def _sorts(torch: Any) -> Iterator[Case]:
    from weft import kernels as own

    for shape, k in (((64, 128256), 50), ((1, 1 << 22), 1000), ((4096, 4096), 8), ((16384, 256), 4)):
        x = _normal(torch, *shape, dtype="float32")
        yield (
            f"topk {shape} {k}",
            lambda x=x, k=k: own.topk(x, k),
            lambda x=x, k=k: torch.topk(x, k),
        )
    for shape in ((1, 1 << 20), (4096, 1024), (64, 128256), (1 << 16, 64)):
        x = _normal(torch, *shape, dtype="float32")
        yield f"sort {shape}", lambda x=x: own.sort(x), lambda x=x: torch.sort(x)
        yield f"argsort {shape}", lambda x=x: own.argsort(x), lambda x=x: torch.argsort(x, stable=True)


def _moves(torch: Any) -> Iterator[Case]:
    from weft import kernels as own

    for shape, axes in (
        ((8, 2048, 32, 128), (0, 2, 1, 3)),
        ((64, 3, 224, 224), (0, 2, 3, 1)),
        ((8, 16, 32, 64, 16), (4, 2, 0, 3, 1)),
    ):
        x = _normal(torch, *shape)
        yield (
            f"transpose {shape} {axes}",
            lambda x=x, axes=axes: own.transpose(x, axes),
            lambda x=x, axes=axes: x.permute(axes).contiguous(),
        )
    weights = _normal(torch, 128256, 4096)
    for count in (1, 64, 8192):
        ids = torch.randint(0, 128256, (count,), device="cuda")
        yield (
            f"embedding {count} of 4096",
            lambda ids=ids: own.embedding(ids, weights),
            lambda ids=ids: torch.nn.functional.embedding(ids, weights),
        )
    for rows, columns in ((4096, 14336), (14336, 4096), (128256, 4096)):
        w, x = _normal(torch, rows, columns), _normal(torch, columns)
        yield f"gemv {rows} x {columns}", lambda w=w, x=x: own.gemv(w, x), lambda w=w, x=x: w @ x
        for m in (8, 32):
            y = _normal(torch, m, columns)
            yield (
                f"matmul {m} x {rows} x {columns}",
                lambda y=y, w=w: own.matmul(y, w.t()),
                lambda y=y, w=w: y @ w.t(),
            )


def _attention(torch: Any) -> Iterator[Case]:
    from weft import kernels as own

    functional = torch.nn.functional
    for batch, heads, few, length in ((1, 32, 8, 512), (4, 32, 8, 1024), (1, 32, 8, 2000), (16, 12, 12, 197)):
        q = _normal(torch, batch, heads, length, 64 if heads == 12 else 128)
        k, v = (_normal(torch, batch, few, length, q.shape[-1]) for _ in range(2))
        causal = heads != 12
        yield (
            f"attention {batch} x {heads} ({few}) x {length} x {q.shape[-1]}{', causal' * causal}",
            lambda q=q, k=k, v=v, c=causal: own.attention(q, k, v, causal=c),
            lambda q=q, k=k, v=v, c=causal: functional.scaled_dot_product_attention(
                q, k, v, is_causal=c, enable_gqa=True
            ),
        )
    for heads, length, width in ((8, 1024, 256), (32, 512, 80), (128, 64, 32)):
        q, k, v = (_normal(torch, 1, heads, length, width) for _ in range(3))
        yield (
            f"attention 1 x {heads} x {length} x {width}",
            lambda q=q, k=k, v=v: own.attention(q, k, v),
            lambda q=q, k=k, v=v: functional.scaled_dot_product_attention(q, k, v),
        )
    for batch, length in ((1, 512), (1, 2048), (1, 8192), (4, 2048), (32, 4096), (128, 1024)):
        q = _normal(torch, batch, 32, 128)
        k, v = (_normal(torch, batch, 8, length, 128) for _ in range(2))
        yield (
            f"decode_attention {batch} x 32 (8) x {length}",
            lambda q=q, k=k, v=v: own.decode_attention(q, k, v),
            lambda q=q, k=k, v=v: functional.scaled_dot_product_attention(
                q[:, :, None], k, v, enable_gqa=True
            )[:, :, 0],
        )


def _products(torch: Any) -> Iterator[Case]:
    from weft import kernels as own

    for m, n in ((1 << 20, 8), (1 << 20, 100), (8, 1 << 20)):
        a, x = _normal(torch, m, n, dtype="float32"), _normal(torch, n, dtype="float32")
        yield f"gemv {m} x {n} float32", lambda a=a, x=x: own.gemv(a, x), lambda a=a, x=x: a @ x
    for dtype, shape in (
        ("float32", (8, 1, 4096, 4096)),
        ("float32", (32, 128, 128, 64)),
        ("bfloat16", (32, 128, 128, 64)),
        ("float32", (1, 512, 512, 512)),
        ("bfloat16", (1, 512, 512, 512)),
        ("float64", (1, 2048, 2048, 2048)),
    ):
        z, m, n, k = shape
        a, b = _normal(torch, z, m, k, dtype=dtype), _normal(torch, z, k, n, dtype=dtype)
        yield (
            f"matmul {z} x {m} x {n} x {k} {dtype}",
            lambda a=a, b=b: own.matmul(a, b),
            lambda a=a, b=b: a @ b,
        )
