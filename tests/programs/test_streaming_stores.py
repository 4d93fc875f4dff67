"""Launches that touch more than caches hold store past them: the same bytes, and none beside them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Float32, Float64, Int, Int32, Pointer, UInt8, config, kernel
from weft.atomic import Atomic
from weft.compiler.passes import streaming_stores as streams
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.launch import large as launches
from weft.launch.native import asks
from weft.memory import AddressSpace, stack_allocation
from weft.targets import find_target

LEAST = 16 * 1024
pytestmark = pytest.mark.skipif(
    not find_target("native").waits_for_streams, reason="no stores past caches are made for this processor"
)


@kernel
def added(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        c[i] = a[i] + b[i]


@kernel
def of_two_kinds(a: Pointer[Float32], c: Pointer[Float64], d: Pointer[Int32], n: Int):
    i = global_idx.x
    if 3 <= i < n:
        c[i - 3] = Float64(a[i]) * 2.0
        d[i] = Int32(a[i]) - 1


@kernel
def by_rows(a: Pointer[Float32], c: Pointer[Float32], width: Int, height: Int):
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        c[y * width + x] = a[x * height + y]


@kernel
def of_elements(a: Pointer[Float32], c: Pointer[Float32]):
    i = global_idx.x
    c[i] = a[i] + 1.0


@kernel
def through_shared(a: Pointer[Float32], c: Pointer[Float32], n: Int):
    shared = stack_allocation(Float32, 256, address_space=AddressSpace.SHARED)
    i, t = global_idx.x, thread_idx.x
    shared[t] = a[i] if i < n else Float32(0)
    barrier()
    c[i] = shared[255 - t]


@kernel
def in_place(c: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        c[i] = c[i] + 1.0


@kernel
def counted(a: Pointer[Float32], c: Pointer[Float32], count: Pointer[Int], n: Int):
    i = global_idx.x
    if i < n:
        c[i] = a[i]
        Atomic.fetch_add(count, 1)


@kernel
def told(a: Pointer[Float32], c: Pointer[Float32], count: Pointer[Int], n: Int):
    i = global_idx.x
    if i < n:
        c[i] = a[i]
    barrier()
    if thread_idx.x == 0:
        Atomic.fetch_add(count, 256)


@kernel
def left(a: Pointer[Float32], c: Pointer[Float32], n: Int):
    i = global_idx.x
    if i >= n or Int(a[i]) % 3 == 0:
        return
    c[i] = a[i]


@kernel
def of_bytes(a: Pointer[Float32], c: Pointer[UInt8], n: Int):
    i = global_idx.x
    if i < n:
        c[i] = UInt8(a[i])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, int]]:
    """How many arrays each kernel writes past the caches that was compiled for it, where little is much."""
    found: dict[str, int] = {}
    rewrite = streams.streaming_stores

    def counting(module: Any) -> None:
        rewrite(module)
        ops = [op.name for f in module.functions for op in f.body.walk()]
        found[module.name] = ops.count("weft.stream")

    patch = pytest.MonkeyPatch()
    with patch.context() as each, config.scope(cache_dir=Path(tmp_path_factory.mktemp("cache"))):
        each.setattr(streams, "streaming_stores", counting)
        each.setattr(streams, "large", lambda: LEAST)
        each.setattr(launches, "large", lambda: LEAST)
        yield found


@pytest.fixture(scope="module", params=[1, 3])
def host(request: pytest.FixtureRequest, made: dict[str, int]) -> Generator[DeviceContext]:
    with DeviceContext(api="cpu", threads=request.param) as ctx:
        yield ctx


def room(count: int, dtype: Any, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Elements so many bytes behind a line's beginning, and all around them."""
    size = np.dtype(dtype).itemsize
    whole = np.full(count * size + 256, 0xA5, np.uint8)
    begin = -whole.ctypes.data % 64 + 64 + offset * size
    return whole[begin : begin + count * size].view(dtype), whole


def check(part: np.ndarray, whole: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(part, wanted)
    assert np.count_nonzero(whole != 0xA5) <= part.nbytes
    begin = part.ctypes.data - whole.ctypes.data
    assert (whole[:begin] == 0xA5).all()
    assert (whole[begin + part.nbytes :] == 0xA5).all()


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 9000), offset=st.integers(0, 15), block=st.sampled_from([64, 256, 100]))
def test_any_length_anywhere(host: DeviceContext, n: int, offset: int, block: int) -> None:
    a, b = np.arange(n, dtype=np.float32), np.full(n, 0.5, np.float32)
    part, whole = room(n, np.float32, offset)
    host.enqueue_function(added, a, b, part, n, grid_dim=max(1, -(-n // block)), block_dim=block)
    host.synchronize()
    check(part, whole, a + b)


@pytest.mark.parametrize("offset", [0, 1, 5])
def test_two_arrays_of_two_kinds(host: DeviceContext, made: dict[str, int], offset: int) -> None:
    n = 5000
    a = np.arange(n, dtype=np.float32)
    (c, around_c), (d, around_d) = room(n - 3, np.float64, offset), room(n, np.int32, offset)
    d[:3] = 7
    host.enqueue_function(of_two_kinds, a, c, d, n, grid_dim=20, block_dim=256)
    host.synchronize()
    assert made["of_two_kinds"] == 2
    check(c, around_c, a[3:].astype(np.float64) * 2)
    check(d, around_d, np.concatenate([np.full(3, 7), a[3:] - 1]).astype(np.int32))


@pytest.mark.parametrize("width", [40, 64, 300])
def test_rows(host: DeviceContext, made: dict[str, int], width: int) -> None:
    a = np.random.default_rng(2).random((width, 70), np.float32)
    part, whole = room(70 * width, np.float32, 3)
    host.enqueue_function(
        by_rows, a.reshape(-1), part, width, 70, grid_dim=(-(-width // 32), 9), block_dim=(32, 8)
    )
    host.synchronize()
    check(part, whole, a.T.reshape(-1))
    assert made["by_rows"] == 1


def test_ranges_and_shared_memory(host: DeviceContext, made: dict[str, int]) -> None:
    n = 8192
    a = np.arange(n, dtype=np.float32)
    part, whole = room(n, np.float32, 1)
    host.enqueue_function(of_elements, a, part, over=n)
    host.synchronize()
    check(part, whole, a + 1)
    host.enqueue_function(through_shared, a, part, n, grid_dim=n // 256, block_dim=256)
    host.synchronize()
    check(part, whole, a.reshape(-1, 256)[:, ::-1].reshape(-1))
    assert (made["of_elements"], made["through_shared"]) == (1, 1)


@pytest.mark.parametrize("kind", [in_place, counted, told, left, of_bytes], ids=lambda kind: kind.__name__)
def test_what_is_read_told_or_small_is_stored_as_ever(
    host: DeviceContext, made: dict[str, int], kind: Any
) -> None:
    n = 4096
    a, count = np.arange(n, dtype=np.float32), np.zeros(1, np.int64)
    c = np.zeros(n, np.uint8 if kind is of_bytes else np.float32)
    args = {
        in_place: (c,),
        counted: (a, c, count),
        told: (a, c, count),
        left: (a, c),
        of_bytes: (a % 200, c),
    }[kind]
    host.enqueue_function(kind, *args, n, grid_dim=16, block_dim=256)
    host.synchronize()
    assert made[kind.__name__] == 0
    np.testing.assert_array_equal(
        c, {in_place: c * 0 + 1, of_bytes: a % 200, left: a * (a % 3 > 0)}.get(kind, a)
    )
    assert count[0] == (n if kind in (counted, told) else 0)


def test_one_place_launches_little_and_much(host: DeviceContext, made: dict[str, int]) -> None:
    sizes = [256, 512, 256, 8192, 16384, 256, 8192, 1023, 1024, 1025] * 4
    a, b = np.arange(1 << 14, dtype=np.float32), np.ones(1 << 14, np.float32)
    for n in sizes:
        part, whole = room(n, np.float32, 0)
        grid = -(-n // 64)
        host.enqueue_function(added, a, b, part, n, grid_dim=grid, block_dim=64)
        host.synchronize()
        check(part, whole, a[:n] + 1)
    assert made["added"] == 1
    assert launches.is_large(host.info, (16, 64))
    assert not launches.is_large(host.info, (15, 64))
    assert launches.small_grid(host.info, (64,), 1 << 30) == 15
    assert asks.small_grid is launches.small_grid
