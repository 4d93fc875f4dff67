"""weft.algorithm: loops by functions of the program against NumPy, on every device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import (
    Comptime,
    Float32,
    Float64,
    Floating,
    Int,
    Int8,
    Int32,
    Integer,
    PerformanceWarning,
    Pointer,
    Tensor,
    func,
    kernel,
    struct,
)
from weft.algorithm import elementwise, map, parallelize, tile, vectorize
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

Array = npt.NDArray[Any]


def tensor_of(device: DeviceContext, array: Array) -> LayoutTensor[Any]:
    buffer = device.enqueue_create_buffer(array.dtype, max(1, array.size))
    if array.size:
        device.enqueue_copy(dst=buffer[: array.size], src=np.ascontiguousarray(array).reshape(-1))
    return buffer.tensor(Layout.row_major(*array.shape))


def array_of(tensor: LayoutTensor[Any]) -> Array:
    with tensor.storage.map_to_host() as host:
        return np.array(host.numpy())[: int(np.prod(tensor.shape))].reshape(tensor.shape)


def bodies(x: Any, y: Any) -> list[Any]:
    """A function for each number of indices that sets y to twice x."""

    def none() -> None:
        y[0] = 2.0 * x[0]

    def one(i: Int) -> None:
        y[i] = 2.0 * x[i]

    def two(i: Int, j: Int) -> None:
        y[i, j] = 2.0 * x[i, j]

    @func
    def three(i: Int, j: Int, k: Int) -> None:
        y[i, j, k] = 2.0 * x[i, j, k]

    def four(i: Int, j: Int, k: Int, m: Int) -> None:
        y[i, j, k, m] = 2.0 * x[i, j, k, m]

    def five(a: Int, i: Int, j: Int, k: Int, m: Int) -> None:
        y[a, i, j, k, m] = 2.0 * x[a, i, j, k, m]

    return [none, one, two, three, four, five]


@pytest.mark.parametrize(
    "shape", [(), (7,), (0,), (3, 5), (2, 3, 4), (2, 0, 3), (2, 3, 2, 3), (2, 1, 3, 2, 2), (0, 2, 3, 4)]
)
def test_elementwise_calls_for_every_index_of_a_shape(device: DeviceContext, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape or (1,))
    x, y = tensor_of(device, array), tensor_of(device, np.zeros_like(array))
    elementwise(bodies(x, y)[len(shape)], shape)
    np.testing.assert_array_equal(array_of(y), 2 * array)


@settings(max_examples=15)
@given(n=st.integers(0, 200), width=st.sampled_from([1, 2, 4, 8]))
def test_elementwise_by_vectors(device: DeviceContext, n: int, width: int) -> None:
    array = np.arange(2 * n, dtype=np.float32).reshape(2, n)
    x, y = (
        t.storage.tensor(t.layout.dynamic()) for t in (tensor_of(device, array), tensor_of(device, array))
    )
    pitch = Int(n)

    def body(i: Int, j: Int, width: Comptime[int]) -> None:
        y.ptr.store(i * pitch + j, 10.0 * width + x.ptr.load(i * pitch + j, width=width))

    elementwise(body, (2, n), device, simd_width=width)
    widths = np.where(np.arange(n) < n // width * width, width, 1)
    np.testing.assert_array_equal(array_of(y), array + 10 * widths)


def test_what_a_function_captures_is_what_it_means_at_each_launch(device: DeviceContext) -> None:
    x = device.enqueue_create_buffer(Float32, 4)
    y = device.enqueue_create_buffer(Float32, 4)
    first, rate, added = x, Float32(0.5), 1.0

    def body(i: Int) -> None:
        x[i] = y[i] * rate + added

    y.enqueue_fill(8.0)
    seen: list[list[float]] = []
    for _ in range(2):
        elementwise(body, 4)
        with x.map_to_host() as host:
            seen.append(list(host))
        x, y, rate, added = y, x, rate + 1.0, added + 1.0
    assert seen == [[5.0] * 4, [5.0 * 1.5 + 2.0] * 4]
    assert x is first


def variants(device: DeviceContext) -> int:
    return len(device._loaded)  # pyright: ignore[reportPrivateUsage]


def test_functions_of_one_def_share_code(device: DeviceContext) -> None:
    y = device.enqueue_create_buffer(Float32, 4)

    def launch(added: float, constant: float) -> list[float]:
        x, more = device.enqueue_create_buffer(Float32, 4), Float32(added)

        def helper(i: Int) -> Float32:
            return y[i] + more

        def body(i: Int) -> None:
            x[i] = helper(i) if i > 1 else constant

        elementwise(body, 4)
        with x.map_to_host() as host:
            return list(host)

    y.enqueue_fill(1.0)
    assert launch(1.0, 7.0) == [7.0, 7.0, 2.0, 2.0]
    before = variants(device)
    assert launch(2.0, 7.0) == [7.0, 7.0, 3.0, 3.0]
    assert variants(device) == before
    assert launch(2.0, 8.0) == [8.0, 8.0, 3.0, 3.0]
    assert variants(device) == before + 1


def test_a_number_that_keeps_changing_is_warned_of(device: DeviceContext) -> None:
    x = device.enqueue_create_buffer(Float32, 4)

    def launch(time: Any) -> None:
        def body(i: Int) -> None:
            x[i] = time

        elementwise(body, 4)

    def steps(kind: Any) -> None:
        for step in range(40):
            launch(kind(step))

    with pytest.warns(PerformanceWarning, match="body has been compiled 32 times"):
        steps(float)
    before = variants(device)
    steps(Float32)
    assert variants(device) == before + 1


@struct
class Line:
    x: Pointer[Float32]
    slope: Float32

    def draw(self, i: Int) -> None:
        if i > 0:
            self.x[i] = self.slope * i


def shifted(x: Any, by: Any, i: Int, *, scale: Any = 1.0) -> None:
    if i != 2:
        x[i] += scale * by


def test_methods_and_partial_functions(device: DeviceContext) -> None:
    x = device.enqueue_create_buffer(Float32, 4)
    x.enqueue_fill(-1.0)
    elementwise(Line(x, Float32(2)).draw, 4)
    before = 0
    for by in (10.0, 20.0):
        elementwise(functools.partial(shifted, x, Float32(by), scale=Float32(0.5)), 4)
        before = before or variants(device)
    assert variants(device) == before
    with x.map_to_host() as host:
        assert list(host) == [14.0, 17.0, 4.0, 21.0]


class Waves:
    def __init__(self, device: DeviceContext) -> None:
        self.u, self.__v = (device.enqueue_create_buffer(Float32, 4) for _ in range(2))
        self.u.enqueue_fill(1.0)
        self.__v.enqueue_fill(2.0)
        self.factor = 3.0

    def step(self) -> list[float]:
        def body(i: Int) -> None:
            self.u[i] += self.factor * self.__v[i]

        elementwise(body, 4)
        self.u, self.__v = self.__v, self.u
        with self.__v.map_to_host() as host:
            return list(host)


def test_attributes_of_an_object_are_captured(device: DeviceContext) -> None:
    waves = Waves(device)
    assert waves.step() == [7.0] * 4
    before = variants(device)
    assert waves.step() == [2.0 + 3.0 * 7.0] * 4
    assert Waves(device).step() == [7.0] * 4
    assert variants(device) == before
    waves.factor = 0.5
    assert waves.step() == [7.0 + 0.5 * 23.0] * 4


class Gain:
    by: Any = 2.0


def test_attributes_of_classes_are_what_they_are_at_each_launch(device: DeviceContext) -> None:
    x, own = device.enqueue_create_buffer(Float32, 1), Gain()

    class Holder:
        @property
        def gain(self) -> Gain:
            return own

    holder = Holder()

    def body(i: Int) -> None:
        x[i] = own.by + 10 * holder.gain.by

    for by in (2.0, 3.0, 2.0):
        Gain.by = by
        elementwise(body, 1)
        with x.map_to_host() as host:
            assert host[0] == 11 * by


u: Any = None
scale = 2.0


def doubled(i: Int) -> None:
    u[i] = scale * u[i]


def test_globals_are_captured(device: DeviceContext) -> None:
    global u, scale
    for factor in (2.0, 3.0):
        scale = factor
        u = tensor_of(device, np.arange(5, dtype=np.float32))
        elementwise(doubled, 5)
        assert array_of(u).tolist() == [factor * n for n in range(5)]
    u = None


def test_tensors_of_the_host_are_captured(device: DeviceContext) -> None:
    x, y = Tensor.from_numpy(np.arange(6.0).reshape(2, 3), device), Tensor(np.float64, (3, 2), device)

    def turned(i: Int, j: Int) -> None:
        y[j, i] = 10.0 * x[i, j]

    elementwise(turned, (2, 3))
    assert y.numpy().tolist() == [[0.0, 30.0], [10.0, 40.0], [20.0, 50.0]]


def test_lists_that_functions_capture_are_what_they_hold(device: DeviceContext) -> None:
    def launch(table: list[float], dtype: Any) -> float:
        x = device.enqueue_create_buffer(dtype, 1)

        def body(i: Int) -> None:
            x[i] = table[0]

        elementwise(body, 1)
        with x.map_to_host() as host:
            return float(host[0])

    first, second = [1.0], [1.0]
    assert launch(first, Float32) == 1.0
    first[0] = 2.0
    assert launch(second, Float64) == 1.0  # whose code is that of the first, when it was the same
    assert launch(first, Float32) == 2.0
    assert launch(second, Float32) == 1.0


def test_memory_that_only_a_function_had_is_freed(device: DeviceContext) -> None:
    import weakref

    def launch() -> weakref.ref[Any]:
        x = device.enqueue_create_buffer(Float32, 4)

        def body(i: Int) -> None:
            x[i] = 1.0

        elementwise(body, 4)
        device.synchronize()
        return weakref.ref(x)

    gone = [launch() for _ in range(2)]
    assert [ref() for ref in gone] == [None, None]


@kernel
def apply(f: Callable[[Int], Int], out: Pointer[Int], n: Int):
    if global_idx.x < n:
        out[global_idx.x] = f(global_idx.x)


def test_lambdas_with_conditions(device: DeviceContext) -> None:
    three = device.enqueue_create_buffer(Int, 1)
    three.enqueue_fill(3)
    out = device.enqueue_create_buffer(Int, 6)
    functions: list[Callable[[Int], Int]] = [
        lambda i: i if i < three[0] or i == 4 else three[0] * i,
        lambda i: -i,
    ]
    for k in range(2):

        def more(i: Int, k: int = k) -> Int:
            return i + k + three[0]

        functions.append(more)
    found: list[list[int]] = []
    for f in functions:
        device.enqueue_function(apply, f, out, 6, over=6)
        with out.map_to_host() as host:
            found.append(list(host))
    assert found == [[0, 1, 2, 9, 4, 15], [0, -1, -2, -3, -4, -5], [*range(3, 9)], [*range(4, 10)]]


@pytest.mark.parametrize("workers", [None, 1, 3, 50, 1000])
def test_parallelize(device: DeviceContext, workers: int | None) -> None:
    x = tensor_of(device, np.arange(100, dtype=np.int32))

    def body(i: Int) -> None:
        x[i] = x[i] * x[i] + Int32(i)

    parallelize(body, 100, workers, device)
    parallelize(body, 0, workers, device)
    n = np.arange(100)
    np.testing.assert_array_equal(array_of(x), n * n + n)


@kernel
def loops(x: Pointer[Float32], n: Int, *, width: Comptime[int]):
    def times(i: Int, width: int) -> None:
        x.store(i, x.load(i, width=width) * 3.0)

    def plus(i: Int) -> None:
        x[i] += Float32(n)

    def width_of(i: Int, width: int) -> None:
        for k in range(width):
            x[i + k] += 1000.0 * width

    vectorize(times, n, simd_width=width)
    map(plus, n)
    tile(width_of, 2, n, tile_sizes=(16, 4))


@kernel
def fewer_than_none(x: Pointer[Float32], n: Int):
    def one(i: Int, width: int) -> None:
        x[i + 8] = 1.0

    vectorize(one, n, simd_width=4)
    map(lambda i: one(i, 1), n)
    tile(one, 0, n, tile_sizes=(4,))


def test_fewer_elements_than_none(device: DeviceContext) -> None:
    x = tensor_of(device, np.zeros(9, np.float32))
    device.enqueue_function(fewer_than_none, x.storage, -3, grid_dim=1, block_dim=1)
    assert not array_of(x).any()


@settings(max_examples=10)
@given(n=st.integers(0, 60), width=st.sampled_from([1, 4, 16]))
def test_loops_within_a_kernel(device: DeviceContext, n: int, width: int) -> None:
    array = np.arange(60, dtype=np.float32)
    x = tensor_of(device, array)
    device.enqueue_function(loops, x.storage, n, width=width, grid_dim=1, block_dim=1)
    expected, at = array.copy(), 2
    expected[:n] = expected[:n] * 3 + n
    for size in (16, 4, 1):
        while at + size <= n:
            expected[at : at + size] += 1000 * size
            at += size
    np.testing.assert_array_equal(array_of(x), expected)


def test_loops_that_python_calls() -> None:
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)

    def square(i: Int) -> None:
        y[i] = x[i] * x[i]

    map(square, 10)
    np.testing.assert_array_equal(y, x * x)
    parallelize(square, 10, 2)
    elementwise(square, 10)
    x[3] = 30.0
    shape: Any = (np.int64(10),)
    elementwise(square, shape)
    assert y[3] == 900.0


def test_functions_compile_for_a_gpu(
    ptx: Callable[..., str], cpu: DeviceContext, assemble: Callable[[str, str], str]
) -> None:
    x, y = (cpu.enqueue_create_buffer(Int, 8) for _ in range(2))

    def f(i: Int) -> Int:
        return y[i] * 3 if i > 2 else -y[i]

    code = ptx(apply, f, x, 8)
    assert "apply_param_2" in code
    assert "apply_param_3" not in code
    assert assemble(code, "sm_90") == ""


T = TypeVar("T", bound=Integer)
OFFSET = Int32(5)


@func
def grown(x: T, y: T) -> T:
    return x * 5 + y if OFFSET > 4 else y


@func
def sorted_out(x: Any) -> Int32:
    return OFFSET + 1


@sorted_out.register
def _(x: Floating) -> Int32:
    return OFFSET + 100


def test_functions_that_name_numbers_keep_their_brackets_and_overloads(device: DeviceContext) -> None:
    out = tensor_of(device, np.zeros((4, 4), np.int32))

    def each(i: Int) -> None:
        out[i, 0], out[i, 1] = sorted_out(i), sorted_out(Float32(i))
        out[i, 2], out[i, 3] = grown[Int32](2, i.cast(Int32)), grown[Int8](40, i.cast(Int8))

    elementwise(each, 4)
    assert array_of(out).tolist() == [[6, 105, 10 + i, 200 - 256 + i] for i in range(4)]
