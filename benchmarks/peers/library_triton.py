"""What Triton does of ``benchmarks/library.py``."""

# pyright: basic, reportMissingImports=false, reportArgumentType=false, reportOperatorIssue=false
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    held = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    power = tl.exp(held - tl.max(held, axis=0))
    tl.store(out + row * n + at, power / tl.sum(power, axis=0), mask=at < n)


@triton.jit
def add_all(x, parts, n, steps, B: tl.constexpr):
    at = tl.arange(0, B)
    first = tl.program_id(0).to(tl.int64) * steps * B
    total = tl.zeros((B,), tl.float32)
    for step in range(steps):
        place = first + step * B + at
        total += tl.load(x + place, mask=place < n, other=0.0)
    tl.store(parts + tl.program_id(0), tl.sum(total, axis=0))
