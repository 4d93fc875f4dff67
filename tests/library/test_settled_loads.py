"""What threads read of shared memory at known places, where they are loops: once, where that is right.

A block of one thread has no races, so that each kernel means what Python makes of its text.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import Int32, Pointer, kernel
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.compiler.passes.settled import settled_loads
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

N = 40


@kernel
def stored_before(out: Pointer[Int32], a: Pointer[Int32], n: Int32):
    shared = stack_allocation(Int32, Layout.row_major(4), address_space=AddressSpace.SHARED)
    shared[0] = a[0]
    one = shared[0]
    barrier()
    two = shared[0]  # once
    shared[0] = two + 5
    three = shared[0]
    for i in range(n):
        four = shared[0]
        shared[0] = four * 3 + a[Int32(i) % 4]
        if i % 3 == 2:
            barrier()
        out[4 + i] = four + shared[0]
    out[0], out[1], out[2] = one, two, three


@kernel
def around_loops(out: Pointer[Int32], a: Pointer[Int32], n: Int32):
    shared = stack_allocation(Int32, Layout.row_major(4), address_space=AddressSpace.SHARED)
    shared[1] = 7
    barrier()
    i = Int32(0)
    while i < n:
        before = shared[1]
        barrier()
        if a[i % 4] % 2 == 0:
            shared[1] = before + i
            i += 1
            continue
        barrier()
        after = shared[1]  # once
        barrier()
        shared[1] = after * 2 + before
        i += 1
        if i == n - 1:
            break
        barrier()
        out[4 + i] = shared[1]  # once
    out[0] = shared[1]
    barrier()
    out[1] = shared[1]  # once


@kernel
def conditions(out: Pointer[Int32], a: Pointer[Int32], n: Int32):
    shared = stack_allocation(Int32, Layout.row_major(4), address_space=AddressSpace.SHARED)
    shared[2] = n
    barrier()
    rounds = Int32(0)
    while shared[2] > 0 and rounds < 30:  # once
        left = shared[2]  # once
        barrier()
        shared[2] = left - 1 - a[left % 4] % 2
        barrier()
        if shared[2] % 2 == 0:  # once
            shared[3] = left
            barrier()
            out[4 + rounds] = shared[3]  # once
        rounds += 1
    out[0] = rounds
    Atomic.fetch_add(shared.ptr + 2, 3)
    out[1] = shared[2]


@kernel
def rounds(out: Pointer[Int32], a: Pointer[Int32], n: Int32):
    shared = stack_allocation(Int32, Layout.row_major(4), address_space=AddressSpace.SHARED)
    shared[0] = n
    barrier()
    for i in range(n):
        out[4 + i] = shared[0]
        barrier()
        shared[0] = shared[0] + a[i % 4]  # once
    out[0] = shared[0]
    barrier()
    out[1] = shared[0]  # once
    for i in range(n):
        out[14 + i] = shared[0]  # once
        barrier()
        shared[0] = shared[0] * 2 + a[i % 4]  # once
        barrier()
    out[2] = shared[0]  # once


def python(text: Callable[..., Any], a: np.ndarray, n: int) -> np.ndarray:
    """The kernel's text with the names that Python has for them, for a block of one thread."""

    class Shared(list[int]):
        ptr = 0

    shared = Shared([0] * 4)
    out = np.zeros(N, np.int32)

    def fetch_add(at: int, value: int) -> None:
        shared[at] += value

    def allocated(*given: Any, **named: Any) -> Any:
        return shared

    def as_it_is(function: Any) -> Any:
        return function

    known: dict[str, Any] = {
        "stack_allocation": allocated,
        "barrier": lambda: None,
        "Atomic": type("Atomic", (), {"fetch_add": staticmethod(fetch_add)}),
        "Int32": int,
        "Pointer": {int: None},
        "Layout": Layout,
        "AddressSpace": AddressSpace,
        "kernel": as_it_is,
    }
    exec(textwrap.dedent(inspect.getsource(text)), known)
    known[text.__name__](out, [int(x) for x in a], n)
    return out


KERNELS = [stored_before, around_loops, conditions, rounds]


@pytest.mark.parametrize("which", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("a", [(1, 2, 3, 4), (2, 2, 2, 2), (1, 3, 5, 7), (3, 4, 1, 1)])
@pytest.mark.parametrize("n", [0, 1, 5, 8])
def test_one_thread(device: DeviceContext, which: Any, a: tuple[int, ...], n: int) -> None:
    out, given = device.enqueue_create_buffer(Int32, N), device.enqueue_create_buffer(Int32, 4)
    out.enqueue_fill(0)
    device.enqueue_copy(dst=given, src=np.array(a, np.int32))
    device.enqueue_function(which, out, given, n, grid_dim=1, block_dim=1)
    found = np.zeros(N, np.int32)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    assert found.tolist() == python(which.definition.function, np.array(a), n).tolist()


@kernel
def scaled(out: Pointer[Int32], a: Pointer[Int32], n: Int32):
    shared = stack_allocation(Int32, Layout.row_major(2), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    if t == n:
        shared[0], shared[1] = a[t], a[t] * 2
    barrier()
    first, second = shared[0], shared[1]
    barrier()
    if t == 1:
        shared[0] = 100 + block_idx.x.cast(Int32)
    barrier()
    for i in range(Int32(t), 64, 16):
        out[block_idx.x * 64 + i] = first * 10000 + second * 100 + shared[0] + a[i % 16]


def test_many_threads(device: DeviceContext) -> None:
    a = np.arange(16, dtype=np.int32) + 3
    out, given = device.enqueue_create_buffer(Int32, 192), device.enqueue_create_buffer(Int32, 16)
    device.enqueue_copy(dst=given, src=a)
    for n in (0, 5, 15):
        device.enqueue_function(scaled, out, given, n, grid_dim=3, block_dim=16)
        found = np.zeros(192, np.int32)
        device.enqueue_copy(dst=found, src=out)
        device.synchronize()
        wanted = (n + 3) * 10000 + (n + 3) * 200 + 100 + np.repeat(np.arange(3), 64) + np.tile(a, 12)
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("which", KERNELS, ids=lambda k: k.__name__)
def test_which_they_are(which: Any) -> None:
    specs = {
        p: spec_of_annotation(t) for p, t in (("out", Pointer[Int32]), ("a", Pointer[Int32]), ("n", Int32))
    }
    [function] = [f for f in elaborate_kernel(which, specs, "x86-64").module.functions if f.kernel]
    definition = which.definition
    lines, first = inspect.getsourcelines(definition.function)
    wanted = {first + n for n, line in enumerate(lines) if line.endswith("# once\n")}
    assert {op.loc[0] for op in settled_loads(function)} == wanted


def test_they_are_read_once() -> None:
    """Both places that are read behind the first barrier, outside of the loops over threads."""
    text = str(compile_info(scaled, target="x86-64", emission_kind="llvm"))
    arrays = [line for line in text.splitlines() if " = alloca i32, i64 %" in line]
    assert arrays == []
