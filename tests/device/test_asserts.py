"""Messages of assertions that fail in kernels: their values, as Python formats them, and their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import (
    BFloat16,
    DeviceError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Pointer,
    UInt64,
    func,
    kernel,
    struct,
)
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang import iota
from weft.memory import AddressSpace, stack_allocation


@struct
class Span:
    first: Int
    length: Float32


@kernel
def below(x: Pointer[Float32], limit: Float32):
    i = global_idx.x
    v = x[i]
    assert v < limit, f"x[{i:03d}] is {v}, {v:.2f}, not below {limit}: {(i, v)} {Span(i, v)} {v!r:>6}"
    x[i] = -v


@kernel
def every_type(a: Int8, b: UInt64, c: Float16, d: BFloat16, e: Float64, n: Int):
    assert n < 0, f"{a} {b} {c} {d} {e} {n < 3} {iota(Int, 4) * n}"


@kernel
def a_number_as_message(n: Int):
    assert n < 0, n * 2


@kernel
def without_values(n: Int):
    assert n < 0, "100% {} é"


@kernel
def nothing_said(n: Int):
    assert -5 < n < 0


@func
def checked(x: Pointer[Float32], i: Int, n: Int) -> Float32:
    assert i < n, f"{i} of {n}"
    return x[i]


@kernel
def in_a_loop_of_a_helper(x: Pointer[Float32], n: Int):
    here = stack_allocation(Float32, 8, address_space=AddressSpace.SHARED)
    here[thread_idx.x] = x[thread_idx.x]
    barrier()
    total = Float32(0)
    for i in range(10):
        if i % 2 == 0:
            total += checked(x, Int(i), n)
    barrier()
    x[thread_idx.x] = total + here[thread_idx.x]


@kernel
def divided(x: Pointer[Int], n: Int):
    i = global_idx.x
    assert i < n or x[i] != 0, (
        f"{100 // x[i + n - i]} of {x[i]}"
    )  # only where it fails is there anything to say
    x[i] = block_idx.x


@struct
class Part:
    at: Pointer[Int]
    count: Int


@func
def part_of(x: Pointer[Int], kind: Int) -> Part:
    match kind:
        case 0:
            return Part(x, 2)
        case 1:
            return Part(x + 2, 1)
        case _:
            assert False, f"there is no kind {kind}"  # noqa: B011, PT015


@func
def weight_of(x: Pointer[Int], n: Int):
    for i in range(n):
        if x[i] == 1:
            return 0.5
        if x[i] == 2:
            return 2
    assert False, "no weight"  # noqa: B011, PT015


@kernel
def by_kind(x: Pointer[Int], out: Pointer[Float32]):
    t = thread_idx.x
    part = part_of(x, x[t])
    barrier()
    total = weight_of(x, 8)
    for i in range(part.count):
        total += Float32(part.at[i])
        if total > 100.0:
            if t >= 0:
                assert False, f"too much: {total}"  # noqa: B011, PT015
            total = 0.0
    out[t] = total
    return
    assert False  # noqa: B011, PT015


def said(context: DeviceContext, kernel: Any, *arguments: Any, threads: int = 1) -> str:
    """The message of the assertion that fails, after the words that are always there."""
    context.enqueue_function(kernel, *arguments, grid_dim=1, block_dim=threads)
    with pytest.raises(DeviceError) as failed:
        context.synchronize()
    [found] = failed.value.diagnostics
    head = f"assertion failed in kernel {kernel.__name__!r}: "
    assert found.message.startswith(head)
    assert found.location is not None
    text = Path(__file__).read_text(encoding="utf-8").split("\n")[found.location.line - 1]
    assert text[found.location.column :].startswith("assert ")
    return found.message.removeprefix(head)


def test_values_are_formatted_as_python_does(any_context: DeviceContext) -> None:
    values = np.array([0.5, 1.5, 3.3, 1.0], np.float32)
    x = any_context.enqueue_create_buffer(Float32, 4)
    any_context.enqueue_copy(dst=x, src=values)
    v = "3.3"  # the fewest digits that give the Float32 back
    head = f"x[{2:03d}] is {v}, {float(values[2]):.2f}, not below {3.0}: "
    shown = f"(2, {v}) Span(first=2, length={v}) {v:>6}"
    assert said(any_context, below, x, 3.0, threads=4) == head + shown
    out = np.zeros(4, np.float32)
    any_context.enqueue_copy(dst=out, src=x)
    any_context.synchronize()
    assert np.array_equal(out, [-0.5, -1.5, values[2], -1.0])  # the thread whose assertion failed has ended


def test_every_type(any_context: DeviceContext) -> None:
    text = said(any_context, every_type, -7, 2**64 - 1, 0.5, 2.5, 1 / 3, 2)
    assert text == f"-7 {2**64 - 1} 0.5 2.5 {1 / 3} {True} [0, 2, 4, 6]"


def test_other_messages(any_context: DeviceContext) -> None:
    assert said(any_context, a_number_as_message, 21) == "42"
    assert said(any_context, without_values, 1) == "100% {} é"
    assert said(any_context, nothing_said, 3) == "-5 < n < 0"


def test_in_a_loop_of_a_helper_between_barriers(any_context: DeviceContext) -> None:
    x = any_context.enqueue_create_buffer(Float32, 10)
    any_context.enqueue_fill(x, 1.0)
    assert said(any_context, in_a_loop_of_a_helper, x, 5, threads=8) == "6 of 5"
    any_context.enqueue_fill(x, 1.0)
    any_context.enqueue_function(in_a_loop_of_a_helper, x, 9, grid_dim=1, block_dim=1)
    any_context.synchronize()
    with x.map_to_host() as host:
        assert host[0] == 6.0


def test_of_what_no_thread_should_come_to(any_context: DeviceContext) -> None:
    out = any_context.enqueue_create_buffer(Float32, 4)
    with out.map_to_host() as host:
        host[:] = np.zeros(4)

    def of(*kinds: int) -> Any:
        x = any_context.enqueue_create_buffer(Int, 8)
        any_context.enqueue_copy(dst=x, src=np.array([*kinds, 1, 1, 1, 1], np.int64))
        return x

    any_context.enqueue_function(by_kind, of(0, 1, 0, 1), out, grid_dim=1, block_dim=4)
    with out.map_to_host() as host:
        assert list(host) == [1.5, 0.5, 1.5, 0.5]
    assert said(any_context, by_kind, of(0, 1, 0, 5), out, threads=4) == "there is no kind 5"
    few = of(0, 0, 0, 0)
    with few.map_to_host() as host:
        host[4:] = [0, 0, 0, 0]
    assert said(any_context, by_kind, few, out, threads=4) == "no weight"
    with few.map_to_host() as host:
        host[:] = [0, 99, 0, 0, 0, 0, 0, 2]
    assert said(any_context, by_kind, few, out, threads=1) == "too much: 101.0"


def test_a_message_is_computed_only_on_failure(any_context: DeviceContext) -> None:
    x = any_context.enqueue_create_buffer(Int, 8)
    any_context.enqueue_fill(x, 0)
    any_context.enqueue_function(divided, x, 4, grid_dim=1, block_dim=4)  # the message would divide by zero
    any_context.synchronize()


def test_only_the_first_failure_is_told(any_context: DeviceContext) -> None:
    for _ in range(3):
        any_context.enqueue_function(a_number_as_message, 4, grid_dim=2, block_dim=32)
    with pytest.raises(DeviceError, match="'a_number_as_message': 8"):
        any_context.synchronize()
    any_context.synchronize()
    assert said(any_context, a_number_as_message, 5) == "10"


@kernel
def widened(a: BFloat16, b: Float16, c: Int8, d: BFloat16, out: Pointer[Float32]):
    out[0], out[1], out[2], out[3] = Float32(a), Float32(b), Float32(c), Float32(d)


def test_small_numbers_as_arguments(any_context: DeviceContext) -> None:
    out = any_context.enqueue_create_buffer(Float32, 4)
    any_context.enqueue_function(widened, 2.5, -0.5, -3, BFloat16(-1.0), out, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        assert list(host) == [2.5, -0.5, -3.0, -1.0]
