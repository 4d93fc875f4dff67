"""What is read from memory is a copy: it changes without the memory, until it is stored again."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import Float32, InlineArray, Int, Int32, Pointer, UInt32, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor


@struct
class Body:
    x: Float32
    w: InlineArray[Float32, 2]
    n: Int32

    def hit(self, by: Float32):
        self.x += by
        self.n += 1
        return self


@kernel
def stored_again(p: Pointer[Body], n: Int):
    for i in range(n):
        body = p[i]
        body.n += 1
        p[i] = body
        body = p[i].hit(2.0)
        body.w[i % 2] = 5.0
        p[i].x = body.x + body.w[0]


@kernel
def read_before_the_end(p: Pointer[Body], n: Int):
    total = p[0].w
    for i in range(1, n):
        total[0] += p[i].x
        total[1] -= Float32(p[i].n)

    def raised(k: Int):
        body = p[k]
        body.n += 10
        return body

    p[0] = raised(1)
    p[0].w = total


@kernel
def best_of_all(t: LayoutTensor[Body]):
    best = t[0]
    for body in t:
        if body.x > best.x:
            best = body
    best.n += 1
    best.w[1] = 7.0
    t[0].n = best.n


def bodies() -> Any:
    made: Any = np.zeros(3, np.dtype(Body))
    made["x"], made["w"], made["n"] = [1, 4, 2], [[1, 2], [3, 4], [5, 6]], [7, 8, 9]
    return made


def test_copies_are_stored_again_or_read(device: DeviceContext) -> None:
    wanted: dict[Any, Any] = {fn: bodies() for fn in (stored_again, read_before_the_end, best_of_all)}
    made = wanted[stored_again]
    made["n"] += 1
    made["x"] += 2 + np.array([5, 3, 5])
    made = wanted[read_before_the_end]
    made[0] = made[1]
    made[0]["n"], made[0]["w"] = 18, (1 + 4 + 2, 2 - 8 - 9)
    wanted[best_of_all][0]["n"] = 9
    for fn, expected in wanted.items():
        memory = device.enqueue_create_buffer(Body, 3)
        with memory.map_to_host() as host:
            host[:] = bodies()
        if fn is best_of_all:
            device.enqueue_function(fn, memory.tensor(Layout.row_major(3)), grid_dim=1, block_dim=1)
        else:
            device.enqueue_function(fn, memory, 3, grid_dim=1, block_dim=1)
        with memory.map_to_host() as host:
            assert np.array_equal(host.numpy(), expected), (fn, host.numpy(), expected)


@struct
class Random:
    state: UInt32

    def next(self):
        self.state = self.state * 1664525 + 1013904223
        return self, self.state


@kernel
def drawn(states: Pointer[Random], out: Pointer[UInt32], n: Int):
    i = global_idx.x
    if i < n:
        states[i], out[i] = states[i].next()
        state, more = states[i].next()
        out[i] ^= more
        for _ in range(i):
            state, more = state.next()
            out[i] += more
        states[i] = state


def test_random_numbers_whose_states_lie_in_memory(device: DeviceContext) -> None:
    states, out = device.enqueue_create_buffer(Random, 3), device.enqueue_create_buffer(UInt32, 3)
    with states.map_to_host() as host:
        host[:] = [(seed,) for seed in range(3)]
    device.enqueue_function(drawn, states, out, 3, grid_dim=1, block_dim=4)
    wanted: list[int] = []
    left: list[int] = []
    for seed in range(3):
        numbers = [seed]
        for _ in range(2 + seed):
            numbers.append((numbers[-1] * 1664525 + 1013904223) % 2**32)
        wanted.append(((numbers[1] ^ numbers[2]) + sum(numbers[3:])) % 2**32)
        left.append(numbers[-1])
    with out.map_to_host() as host:
        assert list(host) == wanted
    with states.map_to_host() as host:
        assert host.numpy()["state"].tolist() == left
