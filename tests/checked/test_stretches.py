"""Checked contexts: numbers of a struct that are read or written together are checked as one access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import DeviceError, Float32, InlineArray, Int8, Int32, Pointer, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

CHECKS: Any = ["bounds", True]


@struct
class Part:
    a: Int8
    b: InlineArray[Float32, 3]


@struct
class Whole:
    n: Int32
    parts: InlineArray[Part, 2]
    last: Int8


@kernel
def turned(x: Pointer[Whole], y: Pointer[Whole], n: Int32):
    i = global_idx.x
    here = x + i
    one, n_again = here[0], here[0].n
    y[i] = x[n - 1 - i]
    if i % 2 == 0:
        y[i].parts[1] = one.parts[0]
        y[i].n = one.n + y[i].n + n_again


@pytest.mark.parametrize("checks", CHECKS)
def test_copies_are_whole(checks: Any) -> None:
    with DeviceContext(api="cpu", checked=checks) as ctx:
        x, y = (ctx.enqueue_create_buffer(Whole, 64) for _ in range(2))
        given = np.zeros(64, x.dtype.numpy)
        given["n"], given["last"] = np.arange(64), np.arange(64) % 5
        for n in range(2):
            given["parts"]["a"][:, n] = np.arange(64) + n
            given["parts"]["b"][:, n] = np.arange(192).reshape(64, 3) + 200 * n
        expected = given[::-1].copy()
        expected["parts"][::2, 1] = given["parts"][::2, 0]
        expected["n"][::2] += 2 * given["n"][::2]
        x.enqueue_copy_from(given)
        ctx.enqueue_function(turned, x, y, 64, grid_dim=2, block_dim=32)
        with y.map_to_host() as host:
            found = host.numpy()
            assert found["n"].tolist() == expected["n"].tolist()
            assert found["last"].tolist() == expected["last"].tolist()
            for name in ("a", "b"):
                assert np.array_equal(found["parts"][name], expected["parts"][name])


@pytest.mark.parametrize("checks", CHECKS)
def test_what_is_outside_is_told_once(checks: Any) -> None:
    with DeviceContext(api="cpu", checked=checks) as ctx:
        x, y = (ctx.enqueue_create_buffer(Whole, 64) for _ in range(2))
        for each in (x, y):
            each.enqueue_copy_from(np.zeros(64, each.dtype.numpy))
        ctx.enqueue_function(turned, x, y, 65, grid_dim=2, block_dim=32)
        with pytest.raises(DeviceError) as caught:
            ctx.synchronize()
    (report,) = caught.value.reports
    assert (report.code, report.verb, report.buffer, report.index) == ("out-of-bounds", "reads", "x", 64)
    assert report.location.line == turned.definition.line + 5


@kernel
def again(x: Pointer[Float32], y: Pointer[Float32]):
    here = x + global_idx.x
    y[global_idx.x] = sum([here[0] for _ in (1, 2, 3)]) + here[1]


@pytest.mark.parametrize("checks", CHECKS)
def test_one_place_several_times(checks: Any) -> None:
    x, y = np.arange(65, dtype=np.float32), np.zeros(64, np.float32)
    with DeviceContext(api="cpu", checked=checks) as ctx:
        ctx.enqueue_function(again, x, y, grid_dim=2, block_dim=32)
        ctx.synchronize()
    assert y.tolist() == (3 * x[:64] + x[1:]).tolist()
