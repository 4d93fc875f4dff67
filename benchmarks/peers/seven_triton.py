"""The seven kernels in Triton, and one to warm up with."""
# pyright: basic, reportMissingImports=false, reportArgumentType=false, reportOperatorIssue=false

import triton
import triton.language as tl


@triton.jit
def scale(a, f, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(a + o, tl.load(a + o, mask=o < n) * f, mask=o < n)


@triton.jit
def vadd(a, b, c, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(c + o, tl.load(a + o, mask=m) + tl.load(b + o, mask=m), mask=m)


@triton.jit
def gray(rgb, out, h, w, B: tl.constexpr):
    x = tl.program_id(0) * B + tl.arange(0, B)
    y = tl.program_id(1)
    m = (x < w) & (y < h)
    p = (y * w + x) * 3
    r = tl.load(rgb + p, mask=m)
    g = tl.load(rgb + p + 1, mask=m)
    b = tl.load(rgb + p + 2, mask=m)
    tl.store(out + y * w + x, 0.299 * r + 0.587 * g + 0.114 * b, mask=m)


@triton.jit
def box(src, out, h, w, F: tl.constexpr, B: tl.constexpr):
    x = tl.program_id(0) * B + tl.arange(0, B)
    y = tl.program_id(1)
    m = (x < w) & (y < h)
    s = tl.zeros((B,), tl.float32)
    for j in tl.static_range(F):
        for i in tl.static_range(F):
            s += tl.load(src + (y * F + j) * (w * F) + x * F + i, mask=m)
    tl.store(out + y * w + x, s * (1.0 / (F * F)), mask=m)


@triton.jit
def mm_naive(a, b, c, M, N, K, B: tl.constexpr):
    # one output row segment per program, scalar k loop
    row = tl.program_id(1)
    col = tl.program_id(0) * B + tl.arange(0, B)
    m = col < N
    s = tl.zeros((B,), tl.float32)
    for i in range(K):
        s += tl.load(a + row * K + i) * tl.load(b + i * N + col, mask=m, other=0.0)
    tl.store(c + row * N + col, s, mask=m)


@triton.jit
def mm_tiled(a, b, c, M, N, K, B: tl.constexpr):
    r = tl.program_id(1) * B + tl.arange(0, B)
    q = tl.program_id(0) * B + tl.arange(0, B)
    k = tl.arange(0, B)
    s = tl.zeros((B, B), tl.float32)
    for t in range(0, K, B):
        inside_a = (r[:, None] < M) & ((t + k)[None, :] < K)
        inside_b = ((t + k)[:, None] < K) & (q[None, :] < N)
        x = tl.load(a + r[:, None] * K + (t + k)[None, :], mask=inside_a, other=0.0)
        y = tl.load(b + (t + k)[:, None] * N + q[None, :], mask=inside_b, other=0.0)
        s = tl.dot(x, y, s, input_precision="ieee")
    tl.store(c + r[:, None] * N + q[None, :], s, mask=(r[:, None] < M) & (q[None, :] < N))


@triton.jit
def bsum(src, out, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(src + o, mask=o < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v, axis=0))


@triton.jit
def softmax(src, out, cols, B: tl.constexpr):
    o = tl.arange(0, B)
    base = tl.program_id(0) * cols
    v = tl.load(src + base + o, mask=o < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + base + o, e / tl.sum(e, axis=0), mask=o < cols)
