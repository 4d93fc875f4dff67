"""Barriers that not all threads of a block come to, and assertions that end threads, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import CompileError, DeviceError, Int, Int32, Pointer, func, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, thread_idx
from weft.gpu.host import DeviceContext

X = Pointer[Int32]
Ints = npt.NDArray[np.int32]


@kernel
def rounds_by_thread(x: X, out: X, n: Int):
    for _ in range(thread_idx.x):
        barrier()
    out[thread_idx.x] = 7


@kernel
def some_threads(x: X, out: X, n: Int):
    if thread_idx.x < 3:
        barrier()
    out[thread_idx.x] = 7


@kernel
def every_other_thread(x: X, out: X, n: Int):
    if thread_idx.x % 2 == 0:
        out[thread_idx.x] = 1
    else:
        barrier()


@kernel
def leaves_by_thread(x: X, out: X, n: Int):
    for _ in range(n):
        if thread_idx.x + n == n + 5:
            break
        barrier()


@func
def waits(x: X, n: Int) -> None:
    if n == 4:
        return
    barrier()


@kernel
def helper_by_thread(x: X, out: X, n: Int):
    waits(x, Int(thread_idx.x))


@pytest.mark.parametrize(
    "wrong", [rounds_by_thread, some_threads, every_other_thread, leaves_by_thread, helper_by_thread]
)
def test_refused_where_threads_are_certain_to_part(cpu: DeviceContext, wrong: Any) -> None:
    out = np.zeros(8, np.int32)
    with pytest.raises(CompileError, match=r"error\[barrier-(diverged|return)\]"):
        cpu.enqueue_function(wrong, out, out, 3, grid_dim=1, block_dim=8)


def test_the_refusal_shows_barrier_and_decision(cpu: DeviceContext) -> None:
    out = np.zeros(8, np.int32)
    with pytest.raises(CompileError) as caught:
        cpu.enqueue_function(some_threads, out, out, 3, grid_dim=1, block_dim=8)
    text = str(caught.value)
    assert "not all threads of a block come to this barrier" in text
    assert "if thread_idx.x < 3:\n" in text
    assert "threads of a block part here" in text
    assert "barrier()\n" in text


@kernel
def if_data(x: X, out: X, n: Int):
    t = thread_idx.x
    if x[t] > 0:
        barrier()
    out[t] = 7


@kernel
def range_of_data(x: X, out: X, n: Int):
    t = thread_idx.x
    for _ in range(x[t]):
        barrier()
    out[t] = 7


@kernel
def while_data(x: X, out: X, n: Int):
    t = thread_idx.x
    i = Int32(0)
    while i < x[t]:
        barrier()
        i += 1
    out[t] = 7


@kernel
def break_by_data(x: X, out: X, n: Int):
    t = thread_idx.x
    for i in range(4):
        if x[t] > i + 2:
            break
        barrier()
    out[t] = 7


@kernel
def continue_in_nested_loops(x: X, out: X, n: Int):
    t = thread_idx.x
    for i in range(2):
        for j in range(3):
            if x[t] > i + j:
                continue
            barrier()
    out[t] = 7


@func
def leaves(x: X, t: Int) -> Int32:
    if x[t] > 2:
        return Int32(3)
    barrier()
    return Int32(7)


@kernel
def helper_by_data(x: X, out: X, n: Int):
    t = Int(thread_idx.x)
    value = leaves(x, t)
    barrier()
    out[t] = 7 + 0 * value


@kernel
def kept_across(x: X, out: X, n: Int):
    """The decision was taken before a barrier, and by what threads count."""
    t = thread_idx.x
    count = Int32(0)
    for i in range(n):
        if x[t] > i:
            count += 1
    barrier()
    if count > 1:
        barrier()
    out[t] = 7


BY_DATA: list[Any] = [
    if_data,
    range_of_data,
    while_data,
    break_by_data,
    continue_in_nested_loops,
    helper_by_data,
    kept_across,
]


@pytest.mark.parametrize("api", ["cpu", "interpreter"])
@pytest.mark.parametrize("by_data", BY_DATA)
def test_a_block_whose_threads_part_stops(by_data: Any, api: str) -> None:
    cpu = DeviceContext(api=api)
    x, out = np.array([3, 3, 0, 3, 3, 3, 3, 3], np.int32), np.full(8, -1, np.int32)
    cpu.enqueue_function(by_data, x, out, 3, grid_dim=2, block_dim=8)
    with pytest.raises(DeviceError) as caught:
        cpu.synchronize()
    text = str(caught.value)
    assert f"threads of a block part before a barrier of kernel '{by_data.__name__}'" in text
    assert "block (0, 0, 0)" in text
    assert "thread (0, 0, 0)" in text
    assert "thread (2, 0, 0)" in text
    assert "the barrier" in text
    assert (out != 7).any()
    for same in (0, 3):  # the context goes on, and threads that agree are right
        x[:], out[:] = same, -1
        cpu.enqueue_function(by_data, x, out, 3, grid_dim=1, block_dim=8)
        cpu.synchronize()
        assert (out == 7).all()


@kernel
def the_same_for_all(x: X, out: X, n: Int):
    t = Int(thread_idx.x)
    if t < block_dim.x:
        barrier()
    if t // 1024 == 0:
        barrier()
    if t * 0 == 0 and t < 2000:
        barrier()
    if t + block_idx.x * block_dim.x < n:
        barrier()
    for _ in range((t + 2000) // 1024):
        barrier()
    if thread_idx.y == 0:
        barrier()
    out[t] = 7


def test_decisions_that_mention_the_thread_but_are_the_same(cpu: DeviceContext) -> None:
    out = np.zeros(16, np.int32)
    cpu.enqueue_function(the_same_for_all, out, out, 16, grid_dim=1, block_dim=16)
    cpu.synchronize()
    assert (out == 7).all()


@kernel
def left_before(x: X, out: X, n: Int):
    """Threads that have returned are asked nothing: GPUs do not wait for them either."""
    t = thread_idx.x
    goes_on = x[t] > 0
    barrier()
    if not goes_on:
        return
    if goes_on:
        barrier()
    out[t] = 7
    for _ in range(x[t]):
        barrier()
        if x[t] == 2:
            return


@pytest.mark.parametrize("x", [[0, 2, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1]])
def test_threads_that_have_returned(cpu: DeviceContext, x: list[int]) -> None:
    out = np.zeros(4, np.int32)
    cpu.enqueue_function(left_before, np.array(x, np.int32), out, 3, grid_dim=1, block_dim=4)
    cpu.synchronize()
    assert out.tolist() == [7 * (v > 0) for v in x]


@kernel
def uniform_only(x: X, out: X, n: Int):
    t = Int(thread_idx.x)
    stride = block_dim.x // 2
    turn = 0
    while stride > 0:
        if t < stride:
            out[t] += out[t + stride]
        barrier()
        stride //= 2
        turn += 1
        if turn > n and block_idx.x == 3:
            break
    for i in range(turn, n, 2):
        if i % 3 == n:
            continue
        barrier()


def test_decisions_that_are_known_to_be_the_same_cost_nothing() -> None:
    assert "weft$parted" not in str(compile_info(uniform_only, emission_kind="llvm", target="x86-64"))
    assert "weft$parted" in str(compile_info(if_data, emission_kind="llvm", target="x86-64"))


@given(
    x=st.lists(st.integers(-1, 3), min_size=1, max_size=6),
    turns=st.integers(0, 3),
    gone=st.integers(-1, 2),
)
@settings(max_examples=60, deadline=None)
def test_random_decisions(x: list[int], turns: int, gone: int) -> None:
    """A block stops if and only if its threads part, whichever have returned by then."""
    out = np.full(len(x), -1, np.int32)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(
        random_decisions, np.array(x, np.int32), out, turns, gone, grid_dim=1, block_dim=len(x)
    )
    left = [v for v in x if v != gone]
    waits_for = [[v > turn for v in left] for turn in range(turns)]
    parted = any(len(set(waiting)) > 1 for waiting in waits_for)
    if parted:
        with pytest.raises(DeviceError, match="threads of a block part"):
            ctx.synchronize()
    else:
        ctx.synchronize()
        assert out.tolist() == [-1 if v == gone else sum(v > turn for turn in range(turns)) for v in x]


@kernel
def random_decisions(x: X, out: X, turns: Int, gone: Int):
    t = thread_idx.x
    value = x[t]
    barrier()
    if value == gone:
        return
    count = Int32(0)
    for turn in range(turns):
        if value > turn:
            barrier()
            count += 1
    out[t] = count


# -- assertions ---------------------------------------------------------------------------------


@func
def positive(value: Int32) -> Int32:
    assert value > 0, f"{value} is not positive"
    return value * 2


@func
def in_a_loop(x: X, n: Int) -> Int32:
    total = Int32(0)
    for i in range(n):
        total += positive(x[i])
    return total


@func
def waits_then_asks(value: Int32) -> Int32:
    barrier()
    if value > 100:
        return Int32(0)
    checked = positive(value)
    barrier()
    return checked


@kernel
def nested(x: X, out: X):
    t = thread_idx.x
    out[t] = positive(positive(x[t])) // 2


@kernel
def in_loops(x: X, out: X):
    t = thread_idx.x
    for _ in range(3):
        out[t] = in_a_loop(x + t, Int(1))
        i = Int32(0)
        while i < positive(x[t]):
            i += 1
            out[t] = positive(x[t])


@kernel
def before_barriers(x: X, out: X):
    t = thread_idx.x
    value = positive(x[t])
    barrier()
    out[t] = value
    barrier()
    out[t] = value


@kernel
def with_barriers(x: X, out: X):
    t = thread_idx.x
    for _ in range(2):
        value = waits_then_asks(x[t])
        out[t] = value


@kernel
def in_the_kernel(x: X, out: X):
    t = thread_idx.x
    assert x[t] > 0, f"{x[t]} is not positive"
    barrier()
    out[t] = x[t] * 2


@pytest.mark.parametrize("asserts", [nested, in_loops, before_barriers, with_barriers, in_the_kernel])
@pytest.mark.parametrize("wrong", [(), (2,), (0, 7), tuple(range(8))])
def test_a_failed_assertion_ends_its_thread(cpu: DeviceContext, asserts: Any, wrong: tuple[int, ...]) -> None:
    x = np.arange(1, 9, dtype=np.int32)
    x[list(wrong)] *= -1
    out = np.full(8, -99, np.int32)
    cpu.enqueue_function(asserts, x, out, grid_dim=1, block_dim=8)
    if wrong:
        with pytest.raises(DeviceError, match=rf"{x[wrong[0]]} is not positive") as caught:
            cpu.synchronize()
        assert f"thread ({wrong[0]}, 0, 0)" in str(caught.value)
    else:
        cpu.synchronize()
    assert out.tolist() == [v * 2 if v > 0 else -99 for v in x.tolist()]


@func
def stores_behind(x: X, value: Int32) -> Int32:
    result = positive(value)
    x[0] = 5
    return result


def test_a_failed_assertion_ends_a_call_from_python() -> None:
    x = np.zeros(1, np.int32)
    assert stores_behind(x, Int32(3)) == 6
    x[0] = 0
    with pytest.raises(DeviceError, match="-3 is not positive"):
        stores_behind(x, Int32(-3))
    assert x[0] == 0
