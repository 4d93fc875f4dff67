"""The GPU's jobs in Triton."""
# pyright: basic, reportMissingImports=false, reportArgumentType=false, reportOperatorIssue=false

import triton
import triton.language as tl


@triton.jit
def grayscale(i, o, n, B: tl.constexpr):
    p = tl.program_id(0) * B + tl.arange(0, B)
    m = p < n
    r = tl.load(i + p * 3, mask=m)
    g = tl.load(i + p * 3 + 1, mask=m)
    b = tl.load(i + p * 3 + 2, mask=m)
    tl.store(o + p, r * 0.299 + g * 0.587 + b * 0.114, mask=m)


@triton.jit
def downsample(i, o, W, n, B: tl.constexpr):
    p = tl.program_id(0) * B + tl.arange(0, B)
    m = p < n
    k = p % 3
    q = p // 3
    half = W // 2
    base = ((q // half) * 2 * W + (q % half) * 2) * 3 + k
    s = tl.load(i + base, mask=m) + tl.load(i + base + 3, mask=m)
    s += tl.load(i + base + W * 3, mask=m) + tl.load(i + base + W * 3 + 3, mask=m)
    tl.store(o + p, s * 0.25, mask=m)


@triton.jit
def scalar_add(v, n, s, B: tl.constexpr):
    p = tl.program_id(0) * B + tl.arange(0, B)
    m = p < n
    tl.store(v + p, tl.load(v + p, mask=m) + s, mask=m)


@triton.jit
def vector_addition(a, b, c, n, B: tl.constexpr):
    p = tl.program_id(0) * B + tl.arange(0, B)
    m = p < n
    tl.store(c + p, tl.load(a + p, mask=m) + tl.load(b + p, mask=m), mask=m)
