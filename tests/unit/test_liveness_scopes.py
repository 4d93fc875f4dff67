"""Variables of comprehensions and inner functions are no variables of the loop around them."""

from __future__ import annotations

from weft import Comptime, Float32, Int, Kernel, Pointer, kernel, unroll
from weft.gpu.host import DeviceContext


@kernel
def comprehension(out: Pointer[Float32], n: Int, *, m: Comptime[int]):
    for _ in range(n):
        held = [out[i] + 1.0 for i in unroll(range(m))]
        for i in unroll(range(m)):
            out[i] = held[i]


@kernel
def inner_function(out: Pointer[Float32], n: Int, *, m: Comptime[int]):
    def add(by: Int) -> None:
        for q in unroll(range(m)):
            i = by + q
            out[i] += 1.0

    for _ in range(n):
        add(Int(0))
        held = [out[j] for j in unroll(range(m))]
        for i in unroll(range(m)):
            out[i] = held[i]


@kernel
def read_around(out: Pointer[Float32], n: Int, *, m: Comptime[int]):
    i = Int(0)

    def last() -> Float32:
        ones = [Float32(1.0 + i - i) for i in unroll(range(m))]
        return ones[0] * Float32(i)  # the kernel's, not the comprehension's

    for k in range(n):
        i = k
        out[k] = last()
    out[n] = Float32(i)


def run(function: Kernel[...], n: int, m: int, size: int) -> list[float]:
    ctx = DeviceContext(api="cpu")
    out = ctx.enqueue_create_buffer(Float32, size)
    out.enqueue_fill(0)
    ctx.enqueue_function(function, out, n, grid_dim=1, block_dim=1, m=m)
    with out.map_to_host() as host:
        return [float(x) for x in host]


def test_a_comprehension_and_a_loop_share_a_name() -> None:
    assert run(comprehension, 3, 4, 5) == [3.0] * 4 + [0.0]


def test_an_inner_function_and_a_loop_share_a_name() -> None:
    assert run(inner_function, 3, 4, 5) == [3.0] * 4 + [0.0]


def test_what_an_inner_function_reads_beside_a_comprehension_is_carried() -> None:
    assert run(read_around, 4, 2, 5) == [0.0, 1.0, 2.0, 3.0, 3.0]
