"""What messages say to write instead of what is refused does what the refused program does in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft.math
from weft import Float32, Float64, InlineArray, Int, Pointer, func, kernel, struct
from weft.gpu.host import DeviceContext

GIVEN = np.array([1, 2, 3, 4], np.float32)


@struct
class Point:
    x: Float32
    y: Float32


POINTS = [Point(1.0, 2.0), Point(3.0, 4.0)]


@kernel
def point_of_a_table(p: Pointer[Float32], n: Int):
    p[0] = POINTS[n % 2].y


@kernel
def moved_in_a_function(p: Pointer[Float32], n: Int):
    point = Point(1.0, 2.0)

    def moved():
        nonlocal point
        for i in range(n):
            point.x += p[i]

    moved()
    p[0] = point.x


@kernel
def first_of_a_loop(p: Pointer[Float32], n: Int):
    found = -1
    for i in range(n):
        if p[i] > 2.0:
            found = i
            break
    p[0] = found


@kernel
def first_of_pairs(p: Pointer[Float32], n: Int):
    found = (7, 8)
    for item in zip(range(1, n), range(n), strict=False):
        found = item
        break
    p[0] = found[0]


@kernel
def last(p: Pointer[Float32], n: Int):
    found = -1
    for item in reversed(range(n)):
        found = item
        break
    p[0] = found


@func
def first_above(p: Pointer[Float32], n: Int) -> Int:
    for i in range(n):
        for j in range(i):
            if p[i] > p[j] + 1.0:
                return i + 10 * j
    return -1


@kernel
def first_of_two_loops(p: Pointer[Float32], n: Int):
    p[0] = first_above(p, n)


@kernel
def seen_in_a_list(p: Pointer[Float32], n: Int):
    seen = [0] * 8
    seen = InlineArray[Int, 8](*seen)
    seen[n] += 3
    seen[2 * n % 8] -= 1
    p[0] = seen[0] + 10 * seen[2] + 100 * seen[4]


@kernel
def rounded_to_tens(p: Pointer[Float32], n: Int):
    p[0] = Int(weft.math.round(Float64(n * 5) / 10)) * 10 + weft.math.round(p[n % 4] * 0.37 * 10.0) / 10.0


@kernel
def chosen_by_a_bool(p: Pointer[Float32], n: Int):
    p[0] = p[Int(n > 2)]


def python(name: str, n: int) -> float:
    """What was meant, by Python."""
    p = [float(x) for x in GIVEN]
    meant: dict[str, Any] = {
        "point_of_a_table": [2.0, 4.0][n % 2],
        "moved_in_a_function": 1.0 + sum(p[:n]),
        "first_of_a_loop": next((i for i in range(n) if p[i] > 2.0), -1),
        "first_of_pairs": next(zip(range(1, n), range(n), strict=False), (7, 8))[0],
        "last": next(reversed(range(n)), -1),
        "seen_in_a_list": (seen := [3 * (k == n) - (k == 2 * n % 8) for k in range(8)])[0]
        + 10 * seen[2]
        + 100 * seen[4],
        "rounded_to_tens": float(np.float32(round(n * 5, -1) + np.float32(round(p[n % 4] * 0.37, 1)))),
        "chosen_by_a_bool": p[n > 2],
        "first_of_two_loops": next((i + 10 * j for i in range(n) for j in range(i) if p[i] > p[j] + 1.0), -1),
    }
    return meant[name]


def test_cures_do_what_was_meant(device: DeviceContext):
    for made in (
        point_of_a_table,
        moved_in_a_function,
        first_of_a_loop,
        first_of_pairs,
        last,
        first_of_two_loops,
        seen_in_a_list,
        rounded_to_tens,
        chosen_by_a_bool,
    ):
        for n in range(5):
            buffer = device.enqueue_create_buffer(Float32, 4)
            device.enqueue_copy(dst=buffer, src=GIVEN)
            device.enqueue_function(made, buffer, n, grid_dim=1, block_dim=1)
            with buffer.map_to_host() as host:
                assert host[0] == python(made.definition.name, n), (made, n)
