"""Programs of the sort that authors write in their third week, beside NumPy and plain Python."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np
import pytest

from weft import CompileError, Float32, LaunchError
from weft.gpu.host import DeviceContext
from weft.layout import Layout


class Side(enum.Enum):
    LEFT = 1


HEADER = """
from weft import *
from weft.gpu import *
"""


def test_a_compile_time_parameter_of_any_type(device: DeviceContext, load: Any) -> None:
    source = """
@kernel
def shifted(x: Pointer[Float32], n: Int, *, by: Comptime = None, mode: "Comptime" = "add"):
    i = global_idx.x
    if i < n and by is not None:
        x[i] = x[i] + by if mode == "add" else x[i] * by
"""
    shifted = load(HEADER + source).shifted
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 2.0),
        ({"by": 3}, 5.0),
        ({"by": 0.5, "mode": "scale"}, 1.0),
    ]
    for given, expected in cases:
        x = device.enqueue_create_buffer("float32", 4)
        x.enqueue_fill(2.0)
        device.enqueue_function(shifted, x, 4, over=4, **given)
        with x.map_to_host() as host:
            assert np.array_equal(host, np.full(4, expected, np.float32))


ROWS = """
from weft.layout import Layout, LayoutTensor
from weft.linalg import vec3


@kernel
def put(t: LayoutTensor[Float32], v: vec3):
    i = global_idx.x
    w = vec3(t[i, 0], t[i, 1], t[i, 2])
    t[i] = v + w
    t[i] -= (1, 2, 3)
    t[i, 1:] *= [2.0, w.x]


@kernel
def columns(t: LayoutTensor[Int32], m: LayoutTensor[vec3], v: vec3):
    t[:2] = ((1, 2, 3, 4), (5, 6, 7, 8))
    t[:, 0] = (9, -t[1, 1], 11)
    v += vec3(t[0, 1:])
    t[2] = SIMD[Int32, 4](4, 3, 2, 1)
    m[0, :] = v  # a vector is an element there
"""


def test_rows_of_numbers(device: DeviceContext, load: Any) -> None:
    program = load(HEADER + ROWS)
    expected = np.arange(12, dtype=np.float32).reshape(4, 3)
    for layout in (Layout.row_major(4, 3), Layout.row_major(4, 3).dynamic()):
        t = device.enqueue_create_buffer("float32", 12)
        device.enqueue_copy(dst=t, src=expected)
        device.enqueue_function(program.put, t.tensor(layout), (0.5, 1.5, 2.5), over=4)
        made = expected + np.array([-0.5, -0.5, -0.5], np.float32)
        made[:, 1] *= 2
        made[:, 2] *= expected[:, 0]
        with t.map_to_host() as host:
            assert np.array_equal(np.reshape(host, (4, 3)), made)
    t = device.enqueue_create_buffer("int32", 12)
    vectors = device.enqueue_create_buffer(program.vec3, 4)
    tensors = t.tensor(Layout.row_major(3, 4)), vectors.tensor(Layout.row_major(2, 2))
    device.enqueue_function(program.columns, *tensors, (1, 2, 3), over=1)
    with t.map_to_host() as host, vectors.map_to_host() as elements:
        assert np.reshape(host, (3, 4)).tolist() == [[9, 2, 3, 4], [-6, 6, 7, 8], [4, 3, 2, 1]]
        assert [tuple(v) for v in elements[:2]] == [(3, 5, 7)] * 2


def test_too_few_numbers_for_a_row(device: DeviceContext, load: Any) -> None:
    program = load(HEADER + ROWS)
    t = device.enqueue_create_buffer("int32", 12)
    vectors = device.enqueue_create_buffer(program.vec3, 4).tensor(Layout.row_major(2, 2))
    with pytest.raises(CompileError, match="4 numbers side by side are not written to 3"):
        device.enqueue_function(program.columns, t.tensor(Layout.row_major(4, 3)), vectors, (1, 2, 3), over=1)


HANDED_ON = """
import functools

from weft.gpu import block, warp
from weft.layout import LayoutTensor


@func
def given(f, a, b):
    return f(a, b)


@func
def of_one(f, a):
    return f(a)


@kernel
def builtins(x: LayoutTensor[Float32], out: LayoutTensor[Float32], n: Int):
    i = thread_idx.x
    larger = max
    out[i, 0] = given(larger, x[i], 5.0) + given(functools.partial(min, 3.0), x[i], 7.0)
    out[i, 1] = block.reduce(x[i], max) + of_one(len, (x[i], x[i])) + of_one(round, x[i] / 4)
    out[i, 2] = given((sum, pow)[n == 0], (x[i], 1.0), x[i]) if False else of_one(sum, (x[i], 1.0))
    out[i, 3] = warp.reduce(x[i], sum)  # sum(a, b) of one lane each
    out[i, 4] = sum(x[i], 10.0) + sum(SIMD[Float32, 2](x[i], 1.0), x[i])
    out[i, 5] = 1.0 if of_one(any, (x[i] > 60, i == 3)) and larger is max else 0.0
"""


def test_builtins_that_are_handed_on(device: DeviceContext, load: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    given, out = device.enqueue_create_buffer("float32", 64), device.enqueue_create_buffer("float32", 6 * 64)
    device.enqueue_copy(dst=given, src=x)
    tensors = given.tensor(Layout.row_major(64)), out.tensor(Layout.row_major(64, 6))
    device.enqueue_function(load(HEADER + HANDED_ON).builtins, *tensors, 1, grid_dim=1, block_dim=64)
    expected = [
        np.maximum(x, 5) + np.minimum(x, 3),
        63 + 2 + np.round(x / 4),
        x + 1,
        x.reshape(2, 32).sum(axis=1).repeat(32),
        x + 10 + (2 * x + 1),
        (x > 60) | (x == 3),
    ]
    with out.map_to_host() as host:
        assert np.array_equal(np.reshape(host, (64, 6)), np.stack(expected, axis=1))


COUNTED = """
from weft.gpu import block, warp
from weft.layout import LayoutTensor


@kernel
def counted(x: LayoutTensor[Int32], out: LayoutTensor[Int]):
    i = thread_idx.x
    odd = x[i] % 2 == 1
    before = block.prefix_sum(odd, exclusive=True)
    out[i] = block.sum(odd), block.prefix_sum(odd), before, warp.prefix_sum(odd)
"""


def test_sums_of_bools_count_in_blocks_too(device: DeviceContext, load: Any) -> None:
    x = np.random.default_rng(0).integers(0, 9, 64, np.int32)
    given, out = device.enqueue_create_buffer("int32", 64), device.enqueue_create_buffer("int64", 4 * 64)
    device.enqueue_copy(dst=given, src=x)
    tensors = given.tensor(Layout.row_major(64)), out.tensor(Layout.row_major(64, 4))
    device.enqueue_function(load(HEADER + COUNTED).counted, *tensors, grid_dim=1, block_dim=64)
    odd = x % 2
    before = np.cumsum(odd)
    expected = np.full(64, odd.sum()), before, before - odd, np.cumsum(odd.reshape(2, 32), axis=1).reshape(-1)
    with out.map_to_host() as host:
        assert np.array_equal(np.reshape(host, (64, 4)), np.stack(expected, axis=1))


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (ctypes.c_float, "write Float32"),
        ("f8", "write Float64"),
        (np.dtype(">i4"), "write Int32"),
        (np.complex64, "write ComplexFloat32"),
        (tuple[Float32, Float32], "declare a @struct with these fields"),
        (np.dtype([("x", "f4"), ("y", "f4")]), "declare a @struct with these fields"),
        (Side, "give it the value of a member"),
    ],
)
def test_what_to_write_instead_of_a_type_of_elements(given: Any, hint: str) -> None:
    with pytest.raises(LaunchError, match="is not an element type") as told:
        DeviceContext(api="cpu").enqueue_create_buffer(given, 4)
    assert any(hint in text for text in told.value.diagnostics[0].hints)
