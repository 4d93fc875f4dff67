"""Float16 and BFloat16 in all that numbers are used for, against NumPy rounded once."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    BFloat16,
    Float8_e4m3fn,
    Float8_e5m2,
    Float16,
    Float32,
    InlineArray,
    Int,
    Int16,
    Pointer,
    kernel,
    struct,
)
from weft.atomic import Atomic
from weft.gpu import barrier, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.linalg import mat22, vec4
from weft.math import fma, sqrt
from weft.math import max as greater
from weft.memory import AddressSpace, stack_allocation

Array = npt.NDArray[Any]
SIZE = 64
KINDS: list[Any] = [Float16, BFloat16]


def rounded(values: Any, kind: Any) -> Array:
    """Numbers in a format, by NumPy alone."""
    if kind is Float16:
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float32)
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def run(device: DeviceContext, kind: Any, body: Any, *inputs: Array, count: int) -> Array:
    """What a kernel of pointers writes to the last of them."""
    body.__annotations__ |= dict.fromkeys(list(body.__annotations__), cast("Any", Pointer)[kind])
    buffers = [device.enqueue_create_buffer(kind, SIZE) for _ in inputs]
    for buffer, array in zip(buffers, inputs, strict=True):
        with buffer.map_to_host() as host:
            host[:] = array
    out = device.enqueue_create_buffer(kind, count)
    device.enqueue_fill(out, 0)
    device.enqueue_function(kernel(body), *buffers, out, grid_dim=1, block_dim=SIZE)
    with out.map_to_host() as host:
        return np.array(host[:], np.float32)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_arithmetic_is_rounded_once(device: DeviceContext, kind: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = (rounded(rng.uniform(0.1, 30, SIZE), kind) for _ in range(2))

    def body(x: Any, y: Any, out: Any):
        i = thread_idx.x
        p, q = x[i], y[i]
        results = (p + q, p - q, p * q, p / q, sqrt(p), -p, abs(q), p % q, p * 0.1, fma(p, q, 1.5))
        for n, result in enumerate(results):
            out[SIZE * n + i] = result
        out[SIZE * 10 + i] = 1.0 if p < q else 0.25

    found = run(device, kind, body, a, b, count=SIZE * 11).reshape(11, SIZE)
    tenth = rounded([0.1], kind)
    wide = a.astype(np.float64), b.astype(np.float64)
    expected = [
        a + b,
        a - b,
        a * b,
        a / b,
        np.sqrt(a),
        -a,
        b,
        np.mod(a, b),
        a * tenth,
        wide[0] * wide[1] + 1.5,
    ]
    for n, (one, other) in enumerate(zip(found, [*expected, np.where(a < b, 1, 0.25)], strict=True)):
        np.testing.assert_array_equal(one, rounded(other, kind), err_msg=str(n))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_lanes_shared_memory_and_atomics(device: DeviceContext, kind: Any) -> None:
    a = rounded(np.arange(SIZE) % 7 - 2, kind)

    def body(x: Any, out: Any):
        i = thread_idx.x
        here = stack_allocation(kind, SIZE, address_space=AddressSpace.SHARED)
        here[i] = x[i]
        barrier()
        out[4 + i] = here[SIZE - 1 - i]
        Atomic.fetch_add(out, x[i])
        Atomic.fetch_max(out + 1, x[i])
        if i == 0:
            v = here.load(4, width=4) * 2 + 0.5
            out[2] = (v > 1.0).select(v, 0.25).reduce_add()
            out[3] = v.reversed().fma(2, 1)[1] + Int(3)

    found = run(device, kind, body, a, count=SIZE + 4)
    v = a[4:8] * 2 + 0.5
    expected = [a.sum(), a.max(), np.where(v > 1, v, 0.25).sum(), v[2] * 2 + 1 + 3, *a[::-1]]
    np.testing.assert_array_equal(found, expected)


@kernel
def chosen_bits(x: Pointer[BFloat16], other: Pointer[Int16], out: Pointer[Int16], n: Int):
    """An integer, or the bits of a number, by what a loop that may make no round leaves."""
    i, found = Int(thread_idx.x), other[thread_idx.x]
    half = x[thread_idx.x]
    barrier()
    while i < n:
        found = (half if half == half else BFloat16(1.5)).bitcast(Int16)
        i += SIZE
    out[thread_idx.x] = found


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_an_integer_stays_what_it_is_beside_the_bits_of_a_number(device: DeviceContext) -> None:
    signalling = np.full(SIZE, 0x7F81, np.int16)  # read as BFloat16, a nan that conversions change
    numbers = device.enqueue_create_buffer(BFloat16, SIZE)
    device.enqueue_fill(numbers, 2.0)
    found = np.zeros(SIZE, np.int16)
    device.enqueue_function(chosen_bits, numbers, signalling, found, 5, grid_dim=1, block_dim=SIZE)
    device.synchronize()
    assert found.tolist() == [0x4000] * 5 + [0x7F81] * (SIZE - 5)


@kernel
def greater_and_rounded(x: Pointer[BFloat16], out: Pointer[Int16]):
    i = thread_idx.x
    out[i] = Int16(greater(x[i], x[SIZE - 1 - i]))
    out[SIZE + i] = Int16(round(x[i]))


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
@pytest.mark.parametrize("level", range(4))
def test_each_level_of_optimisation_knows_numbers(device: DeviceContext, level: int) -> None:
    context = DeviceContext(api=device.info.api, opt_level=level)
    values = rounded(np.arange(SIZE) / 2 - 3, BFloat16)
    numbers = context.enqueue_create_buffer(BFloat16, SIZE)
    with numbers.map_to_host() as host:
        host[:] = values
    found = np.zeros(2 * SIZE, np.int16)
    context.enqueue_function(greater_and_rounded, numbers, found, grid_dim=1, block_dim=SIZE)
    context.synchronize()
    wanted = [*np.trunc(np.maximum(values, values[::-1])), *np.round(values)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("kind", [Float16, BFloat16, Float8_e4m3fn, Float8_e5m2, Float32])
def test_tensors_of_the_host_hold_numbers(kind: Any) -> None:
    """What is assigned to a part of one is a number, also where NumPy has but the bits of the type."""
    cpu = DeviceContext(api="cpu")
    memory: Any = cpu.enqueue_create_host_buffer(kind, 8)
    tensor = memory.tensor(Layout.row_major(2, 4))
    wide: Any = cpu.enqueue_create_host_buffer(Float32, 8)
    numbers = wide.tensor(Layout.row_major(2, 4))
    expected = np.full((2, 4), 1.5, np.float32)

    def check() -> None:
        assert [[float(tensor[i, j]) for j in range(4)] for i in range(2)] == expected.tolist()

    tensor.fill(1.5)
    check()
    tensor[0] = [1.0, 2.0, 3.0, 4.0]
    tensor[1, 1:3] = 2.5
    expected[0], expected[1, 1:3] = [1.0, 2.0, 3.0, 4.0], 2.5
    check()
    tensor[:, 2:] = mat22(5, 6, 7, 8)
    expected[:, 2:] = [[5, 6], [7, 8]]
    check()
    tensor[1] = vec4(0.5, 1.0, -2.0, 4.0)
    expected[1] = [0.5, 1.0, -2.0, 4.0]
    check()
    numbers[:] = tensor
    assert wide[:].tolist() == expected.reshape(-1).tolist()
    numbers[0] = numbers[1]
    tensor.copy_from(numbers)
    expected[0] = expected[1]
    check()
    tensor.vectorize[1, 2]()[0, 1] = (3.0, 0.25)
    expected[0, 2:] = [3.0, 0.25]
    check()
    assert list(map(float, tensor.vectorize[1, 2]()[0, 1])) == [3.0, 0.25]


@struct
class Held:
    lanes: SIMD[BFloat16, 2]
    items: InlineArray[Float8_e4m3fn, 2]
    one: BFloat16


@kernel
def read_held(p: Pointer[Held], out: Pointer[Float32]):
    out[0], out[1] = p[1].lanes[1], Float32(p[1].items[1])
    out[2] = p[1].one


def test_structs_of_the_host_hold_numbers() -> None:
    """A struct that is written to memory of the host, or that fills a buffer, has its numbers there."""
    cpu, of = DeviceContext(api="cpu"), cast("Any", Held)
    value = of((1.0, 2.0), InlineArray[Float8_e4m3fn, 2](0.5, 1.5), 1.25)
    memory: Any = cpu.enqueue_create_host_buffer(of, 2)
    filled = cpu.enqueue_create_buffer(of, 2)
    filled.enqueue_fill(value)
    out = np.zeros(3, np.float32)
    for given in (value, ((1.0, 2.0), (0.5, 1.5), 1.25), None):
        if given is not None:
            memory[1] = given
        cpu.enqueue_function(read_held, filled if given is None else memory, out, over=1)
        cpu.synchronize()
        assert out.tolist() == [2.0, 1.5, 1.25]
        out[:] = 0
