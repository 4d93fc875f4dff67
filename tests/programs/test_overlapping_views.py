"""Copies between random views of one memory, against NumPy with the right side copied before."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from weft import DeviceError
from weft.gpu.host import DeviceContext
from weft.layout import Layout

# NumPy 2.4 is wrong about `t[12:279:2] = t[70:204]`: the expected half of a program copies by itself.
HEAD = """
from weft import Int32, func, kernel
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

@func
def give(a: LayoutTensor[Int32], b: LayoutTensor[Int32]):
    a[...] = b

@func
def add(a: LayoutTensor[Int32], b: LayoutTensor[Int32]):
    a[...] += b

def put(a, b):
    a[...] = b

@kernel
def run(whole: LayoutTensor[Int32]):
    {memory}
    {body}
    {back}

def expected(t):
    give = put = lambda a, b: np.copyto(a, b.copy())
    add = lambda a, b: np.copyto(a, a + b)
    {body}
"""
MEMORIES = {
    "global": "t = whole",
    "shared": "t = stack_allocation(Int32, Layout.row_major{shape}, address_space=AddressSpace.SHARED)",
    "local": "t = stack_allocation(Int32, Layout.row_major{shape})",
}


def part(choose: random.Random, extent: int, size: int) -> str:
    """A slice of so many places."""
    step = choose.choice([1, 1, 2, 3])
    while (size - 1) * step >= extent:
        step -= 1
    reach = (size - 1) * step + 1
    start = choose.randint(0, extent - reach)
    return f"{start}:{start + reach}:{step}" if step > 1 else f"{start}:{start + reach}"


def view(choose: random.Random, shape: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    """A view of these sizes, of all modes in some order or of some of them."""
    if len(sizes) < len(shape):
        left = sorted(choose.sample(range(len(shape)), len(sizes)))
        parts = [str(choose.randrange(extent)) for extent in shape]
        for mode, size in zip(left, sizes, strict=True):
            parts[mode] = part(choose, shape[mode], size)
        return f"t[{', '.join(parts)}]"
    order = list(range(len(shape)))
    choose.shuffle(order)
    of_mode = dict(zip(order, sizes, strict=True))
    parts = [part(choose, extent, of_mode[mode]) for mode, extent in enumerate(shape)]
    turned = f".transpose({', '.join(map(str, order))})" if len(shape) > 1 else ""
    return f"t[{', '.join(parts)}]{turned}"


def program(seed: int) -> tuple[tuple[int, ...], str]:
    """A shape, and a program over memory of that shape."""
    choose = random.Random(seed)
    shape = choose.choice([(90,), (9, 9), (20, 20), (12, 15), (5, 6, 7)])
    lines: list[str] = []
    for n in range(3):
        rank = choose.choice([len(shape), len(shape), max(1, len(shape) - 1)])
        size = min(shape)
        sizes = tuple(choose.randint(1 + size // 2, size) for _ in range(rank))
        one, other = view(choose, shape, sizes), view(choose, shape, sizes)
        call = choose.choice(["put", "put", "alias", "give", "add"])
        if len(shape) > 1 and rank > 1 and call in ("give", "add"):
            call = "put"  # of a function's own tensors it is not known that they are of one memory
        lines += [f"a{n} = {one}", f"put(a{n}, {other})"] if call == "alias" else [f"{call}({one}, {other})"]
    memory = choose.choice(list(MEMORIES))
    taken = MEMORIES[memory].format(shape=shape)
    back = "whole[...] = t" if memory != "global" else "pass"
    text = HEAD.format(
        memory=taken + ("\n    t[...] = whole" if memory != "global" else ""),
        body="\n    ".join(lines),
        back=back,
    )
    return shape, text


@pytest.mark.parametrize("seed", range(60))
def test_views_of_one_memory(seed: int, device: DeviceContext, load: Callable[[str], ModuleType]) -> None:
    shape, text = program(seed)
    module: Any = load("import numpy as np\n" + text)
    before = np.random.default_rng(seed).integers(-100, 100, shape).astype(np.int32)
    after = before.copy()
    module.expected(after)
    buffer = device.enqueue_create_buffer(np.int32, before.size)
    device.enqueue_copy(dst=buffer, src=before.reshape(-1))
    device.enqueue_function(module.run, buffer.tensor(Layout.row_major(*shape)), grid_dim=1, block_dim=1)
    with buffer.map_to_host() as host:
        assert np.array_equal(host.numpy().reshape(shape), after), text


ARGUMENTS = """
from weft import Int32, kernel
from weft.layout import LayoutTensor

@kernel
def assign(a: LayoutTensor[Int32], b: LayoutTensor[Int32]):
    a[:] = b

@kernel
def broadcast(t: LayoutTensor[Int32], row: LayoutTensor[Int32]):
    t[0:2] += row
    t[2:] = row
    t[1:, :] -= t[0:1]
    t[0:2] = t[3]
    t[:] *= row
"""


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # arrays of the host, on a GPU
def test_two_arguments_over_one_memory(device: DeviceContext, load: Callable[[str], ModuleType]) -> None:
    assign = load(ARGUMENTS).assign
    for shift in (-3, 0, 5):
        x = np.arange(200, dtype=np.int32)
        a, b = x[10 + shift : 150 + shift], x[10:150]
        after = x.copy()
        after[10 + shift : 150 + shift] = b
        device.enqueue_function(assign, a, b, grid_dim=1, block_dim=1)
        device.synchronize()
        assert np.array_equal(x, after)


def test_what_has_no_order_is_told(load: Callable[[str], ModuleType]) -> None:
    assign, cpu = load(ARGUMENTS).assign, DeviceContext(api="cpu")
    x = np.arange(100, dtype=np.int32).reshape(10, 10)
    cpu.enqueue_function(assign, x, x.T, grid_dim=1, block_dim=1)
    with pytest.raises(DeviceError, match="onto its own memory"):
        cpu.synchronize()


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # arrays of the host, on a GPU
@pytest.mark.parametrize("columns", [4, 200])
def test_rows_are_broadcast(columns: int, device: DeviceContext, load: Callable[[str], ModuleType]) -> None:
    broadcast = load(ARGUMENTS).broadcast
    t = np.random.default_rng(1).integers(-9, 9, (4, columns)).astype(np.int32)
    row, after = np.arange(columns, dtype=np.int32), t.copy()
    broadcast.function(after, row)
    device.enqueue_function(broadcast, t, row, grid_dim=1, block_dim=1)
    device.synchronize()
    assert np.array_equal(t, after)
