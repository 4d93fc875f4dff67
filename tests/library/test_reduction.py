"""weft.algorithm's reductions, scans and sorting against functools, itertools and NumPy, on every device.

Each runs as the device does it, and on the CPU once more in blocks of many threads, as a GPU does.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import BFloat16, Float16, Float32, Float64, Int, Int32, Int64, LaunchError, UInt16, UInt32, struct
from weft.algorithm import (
    cumsum,
    elementwise,
    map_reduce,
    max,
    mean,
    min,
    places,
    product,
    reduce,
    scan,
    sort,
    stencil,
    sum,
    variance,
)
from weft.algorithm.places import RunsOn
from weft.compiler.frontend.options import PLAIN, CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu.host import DeviceContext
from weft.launch.arguments import examine
from weft.launch.ranges import describe_over
from weft.layout import Layout
from weft.tensor import Tensor

Array = npt.NDArray[Any]
SIZES = [0, 1, 2, 7, 8, 9, 255, 256, 2047, 2049, 5000, 40001]
random_arrays = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["as it is", "many"])
def ctx(device: DeviceContext, request: pytest.FixtureRequest) -> Iterator[DeviceContext]:
    """The device; and as if a CPU's blocks had many threads, and few elements were many."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many":
            patch.setattr(RunsOn, "threads_are_loops", False)
            patch.setattr(places, "MANY", 3000)
        yield device


def on(device: DeviceContext, array: Array) -> Any:
    """A buffer with the elements of an array."""
    buffer = device.enqueue_create_buffer(array.dtype, array.size + 1)
    if array.size:
        device.enqueue_copy(dst=buffer[: array.size], src=np.ascontiguousarray(array).reshape(-1))
    return buffer[: array.size]


def elements(buffer: Any) -> Array:
    with buffer.map_to_host() as host:
        return np.array(host.numpy())


def integers(n: int, seed: int = 0, low: int = -1000, high: int = 1000) -> Array:
    return np.random.default_rng(seed).integers(low, high, n)


@struct
class Affine:
    """``x -> a * x + b``: joining two is associative and not commutative."""

    a: Int
    b: Int

    def then(self, g: Affine) -> Affine:
        return Affine(g.a * self.a, g.a * self.b + g.b)


def affine(n: int, seed: int = 0) -> tuple[Array, list[tuple[int, int]]]:
    a, b = integers(n, seed, -3, 4) | 1, integers(n, seed + 1, -5, 6)
    records = np.zeros(n, [("a", np.int64), ("b", np.int64)])
    records["a"], records["b"] = a, b
    return records, list(zip(a.tolist(), b.tolist(), strict=True))


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def then(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
    return wrapped(g[0] * f[0]), wrapped(g[0] * f[1] + g[1])


@pytest.mark.parametrize("n", SIZES)
def test_reduce_keeps_the_order(ctx: DeviceContext, n: int) -> None:
    records, pairs = affine(n)
    buffer: Any = ctx.enqueue_create_buffer(Affine, n + 1)[:n]
    if n:
        ctx.enqueue_copy(dst=buffer, src=records)
    found = reduce(lambda f, g: f.then(g), buffer, Affine(2, 1), context=ctx)
    assert (int(found.a), int(found.b)) == functools.reduce(then, pairs, (2, 1))


@random_arrays
@given(n=st.integers(1, 6000), seed=st.integers(0, 99), dtype=st.sampled_from("bilBL"))
def test_sums_and_extremes(device: DeviceContext, n: int, seed: int, dtype: str) -> None:
    array = integers(n, seed, 0, 120).astype(dtype)
    x = on(device, array)
    assert sum(x) == array.sum()
    assert (min(x), max(x)) == (array.min(), array.max())
    assert mean(x) == pytest.approx(array.mean())
    few = integers(20, seed, 1, 4).astype(dtype)
    assert product(on(device, few)) == few.prod()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sums_of_floats(device: DeviceContext, dtype: Any) -> None:
    array = np.random.default_rng(3).normal(size=10_000).astype(dtype)
    x = on(device, array)
    exact = array.astype(np.float64).sum()
    assert sum(x) == pytest.approx(exact, abs=1e-2 if dtype is not np.float64 else 1e-9)
    assert sum(x) == sum(x)
    assert mean(x) == pytest.approx(exact / array.size, abs=1e-5)
    array[::3] = np.nan
    assert max(on(device, array)) == np.nanmax(array)
    assert np.isnan(min(on(device, array[::3])))


def test_the_types_that_accumulate(device: DeviceContext) -> None:
    x = on(device, np.full(3000, 100, np.int8))
    assert reduce(lambda a, b: a + b, x) == int(np.full(3000, 100, np.int8).sum(dtype=np.int8))
    assert reduce(lambda a, b: a + b, x, Int32(0)) == 300_000
    assert reduce(lambda a, b: a + b, x, np.int64(0)) == 300_000
    assert reduce(lambda a, b: a + b, x, Float32(0.5)) == 300_000.5
    assert reduce(lambda a, b: a + b, x, 5) == (300_000 + 5 + 128) % 256 - 128
    short = device.enqueue_create_buffer(BFloat16, 1000)
    short.enqueue_fill(1.0)
    assert sum(short) == 1000.0
    assert sum(device.enqueue_create_buffer(Float16, 4)[:0]) == 0.0
    flags = on(device, integers(1000, 1, 0, 2).astype(np.bool_))
    assert sum(flags) == elements(flags).sum()
    assert reduce(lambda a, b: a or b, flags) is True
    assert reduce(lambda a, b: a and b, flags) is False


def test_a_result_that_stays_on_the_device(device: DeviceContext) -> None:
    x, out = on(device, integers(5000)), device.enqueue_create_buffer(Int64, 2)
    out.enqueue_fill(7)
    assert reduce(lambda a, b: a + b, x, out=out) is None
    assert elements(out).tolist() == [integers(5000).sum(), 7]
    reduce(lambda a, b: a + b, x[:0], 3, out=out)
    assert elements(out).tolist() == [3, 7]


@pytest.mark.parametrize("n", [0, 1, 1000, 5000])
def test_map_reduce_by_what_functions_capture(ctx: DeviceContext, n: int) -> None:
    a, b = integers(n, 1).astype(np.float64), integers(n, 2).astype(np.float64)
    x, y, shift = on(ctx, a), on(ctx, b), Float64(2.0)
    found = map_reduce(lambda i: x[i] * (y[i] + shift), lambda p, q: p + q, n, 0.0, context=ctx)
    assert found == (a * (b + 2.0)).sum()
    longest = map_reduce(lambda i: i if x[i] > 0.0 else -1, max_of, n, -1, context=ctx)
    assert longest == (np.flatnonzero(a > 0)[-1] if (a > 0).any() else -1)


def max_of(a: Any, b: Any) -> Any:
    return a if a > b else b


def test_tensors_in_row_major_order(device: DeviceContext) -> None:
    array = integers(6 * 50 * 7).reshape(6, 50, 7).astype(np.int32)
    whole = on(device, array)
    columns = whole.tensor(Layout((50, 6 * 7), (1, 50)))
    strided = array.reshape(42, 50).T
    for tensor, elements_in_order in [(whole.tensor(Layout.row_major(6, 50, 7)), array), (columns, strided)]:
        expected = next(v for v in elements_in_order.ravel() if v > 900)
        assert reduce(lambda a, b: a if a > 900 else b, tensor) == expected
        assert sum(tensor) == array.sum()
    if device.api == "cpu":
        assert sum(array) == array.sum()
        assert sum(array[::2, :, ::-1][:, ::3].copy()) == array[::2, :, ::-1][:, ::3].sum()
        assert sum(array[::2, ::3]) == array[::2, ::3].sum()
        assert sum(Tensor.from_numpy(array)) == array.sum()


@pytest.mark.parametrize("n", SIZES)
def test_scan_keeps_the_order(ctx: DeviceContext, n: int) -> None:
    records, pairs = affine(n, 7)
    src, dst = (ctx.enqueue_create_buffer(Affine, n + 1)[:n] for _ in range(2))
    if n:
        ctx.enqueue_copy(dst=src, src=records)
    for init, exclusive in [(None, False), (Affine(2, 1), False), (Affine(2, 1), True)]:
        scan(lambda f, g: f.then(g), src, dst, init, exclusive=exclusive)
        initial = None if init is None else (2, 1)
        expected = list(itertools.accumulate(pairs, then, initial=initial))
        expected = expected[:n] if exclusive else expected[len(expected) - n :]
        assert [(int(r["a"]), int(r["b"])) for r in elements(dst)] == expected


@random_arrays
@given(n=st.integers(0, 6000), seed=st.integers(0, 99), dtype=st.sampled_from("bl"))
def test_running_sums(device: DeviceContext, n: int, seed: int, dtype: str) -> None:
    array = integers(n, seed, 0, 120).astype(dtype)
    x, sums = on(device, array), on(device, np.zeros(n, np.int64))
    cumsum(sums, x)
    assert elements(sums).tolist() == array.cumsum().tolist()
    scan(lambda a, b: a if a > b else b, x, x)
    assert elements(x).tolist() == np.maximum.accumulate(array).tolist()

    def index(i: Int) -> Int:
        return i

    scan(lambda a, b: a + b, index, sums, 0, exclusive=True, context=device)
    assert elements(sums).tolist() == [i * (i - 1) // 2 for i in range(n)]


@random_arrays
@given(
    n=st.one_of(st.sampled_from(SIZES), st.integers(0, 10_000)),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["b", "L", "f"]),
)
def test_sort(ctx: DeviceContext, n: int, seed: int, dtype: str) -> None:
    array = integers(n, seed, 0, 120).astype(dtype)
    if array.dtype.kind == "f":
        array[::5] = np.nan
        array[1::5] = -np.inf
    x = on(ctx, array)
    sort(x)
    np.testing.assert_array_equal(elements(x), np.sort(array))


NUMBERS = {"float32": Float32, "uint16": UInt16, "int64": Int64}


def _always(place: RunsOn, kind: Any, n: int) -> bool:
    return True


@pytest.mark.parametrize("kind", [np.float32, np.uint16, np.int64])
def test_many_numbers_are_sorted_by_digits(
    device: DeviceContext, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    """As a GPU does from some millions on; what is equal keeps its order, as the two zeros show."""
    monkeypatch.setattr(RunsOn, "has_digits", _always)
    rng = np.random.default_rng(8)
    x: Any = rng.integers(0, 1 << 15, 9001).astype(kind)
    if kind is np.float32:
        x = (x - 1000) * np.float32(1e-3)
        x[::500], x[1::500], x[2::700] = 0.0, -0.0, np.nan
        x[5:8] = np.inf, -np.inf, -np.nan
    elif kind is not np.uint16:
        x = (x - (1 << 14)) * np.array(99999, kind)
    buffer = device.enqueue_create_buffer(NUMBERS[x.dtype.name], x.size)
    device.enqueue_copy(dst=buffer, src=x)
    sort(buffer)
    found = np.empty_like(x)
    device.enqueue_copy(dst=found, src=buffer)
    device.synchronize()
    expected = np.sort(x, kind="stable")
    np.testing.assert_array_equal(found, expected)
    if kind is np.float32:
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))


@random_arrays
@given(n=st.integers(0, 6000), seed=st.integers(0, 99))
def test_sorting_is_stable(ctx: DeviceContext, n: int, seed: int) -> None:
    array = integers(n, seed, 0, 40)
    keys, order = on(ctx, array), on(ctx, np.arange(n, dtype=np.int32))
    sort(order, lambda i, j: keys[i] > keys[j])

    def compare(i: int, j: int) -> int:
        return int(array[j] - array[i])

    descending = sorted(range(n), key=functools.cmp_to_key(compare))
    assert elements(order).tolist() == descending
    digit = UInt32(10)
    sort(order, key=lambda i: keys[i] % Int(digit))
    assert elements(order).tolist() == sorted(descending, key=lambda i: array[i] % 10)


@struct
class Named:
    rank: Int32
    weight: Float32
    name: Int

    def __lt__(self, other: Named) -> Any:
        return self.rank < other.rank or (self.rank == other.rank and self.weight > other.weight)


@pytest.mark.parametrize("n", [1, 100, 3000])
def test_sorting_structs(device: DeviceContext, n: int) -> None:
    fields = np.dtype([("rank", "i4"), ("weight", "f4"), ("name", "i8")])
    records = np.zeros(n, fields)
    records["rank"], records["weight"] = integers(n, 1, 0, 5), integers(n, 2, 0, 9)
    records["name"] = np.arange(n)
    x: Any = device.enqueue_create_buffer(Named, n)
    device.enqueue_copy(dst=x, src=records)
    sort(x)
    expected = sorted(records.tolist(), key=lambda r: (r[0], -r[1]))
    assert elements(x).tolist() == expected
    sort(x, key=lambda r: r.name)
    assert elements(x).tolist() == records.tolist()


def test_host_arrays_are_sorted_where_they_lie() -> None:
    array = integers(3000)
    every_third = array.copy()
    sort(every_third[::3])
    expected = array.copy()
    expected[::3] = np.sort(array[::3])
    assert every_third.tolist() == expected.tolist()


class Compiling:
    """In place of a context of a GPU: what is launched there is compiled for it."""

    target = "sm_90"

    def __init__(self, cpu: DeviceContext) -> None:
        self.cpu = cpu
        self.enqueue_create_buffer = cpu.enqueue_create_buffer
        self.codes: dict[str, str] = {}

    def enqueue_function(self, kernel: Any, *given: Any, over: Any = None, **named: Any) -> None:
        place = ("grid_dim", "block_dim", "stream")
        taken, problems = examine(self.cpu, kernel, given, {n: v for n, v in named.items() if n not in place})
        assert not problems
        rank = 1 if isinstance(over, int) else len(over or ())
        options = CompileOptions(over=describe_over(rank, (2, 1))) if rank else PLAIN
        elaborated = elaborate_kernel(kernel, taken.specs.by_name, self.target, options)
        self.codes[kernel.__name__] = str(elaborated.emit("asm"))


@dataclasses.dataclass(frozen=True)
class Weights:
    first: Float32
    second: Float32


def test_what_is_known_of_a_captured_dataclass_is_no_argument_of_its_elements(cpu: DeviceContext) -> None:
    there: Any = Compiling(cpu)
    x, known, pair = on(cpu, np.zeros(8, np.float32)), Weights(Float32(0.5), Float32(0.25)), (Int(3), "text")

    def body(i: Int) -> None:
        weights = known
        x[i] = weights.first * Float32(i) + weights.second + Float32(pair[0])

    elementwise(body, 8, there)
    assert "st.global" in there.codes["elementwise"]


def test_the_kernels_of_a_gpu_are_taken_by_its_assembler(
    cpu: DeviceContext, assemble: Callable[[str, str], str]
) -> None:
    there: Any = Compiling(cpu)
    x, weights = on(cpu, integers(9000)), on(cpu, integers(9000).astype(np.float32))
    structs: Any = cpu.enqueue_create_buffer(Affine, 9000)
    scan(lambda f, g: f.then(g), structs, structs, Affine(1, 0), context=there)
    sort(x, lambda i, j: weights[i] < weights[j], context=there)
    table, made = (cpu.enqueue_create_buffer(Float32, 9000).tensor(Layout.row_major(90, 100)) for _ in "ab")
    scan(lambda a, b: a + b, table, made, axis=0, context=there)
    variance(table, axis=1, context=there)
    stencil(lambda a: a[0, -1] + a[0, 1], table, made, context=there)
    assert sorted(there.codes) == [
        *("merge_runs", "neighborhoods", "reduce", "reduce_stretches", "scan", "scan_stretches"),
        *("sort_tiles", "variances"),
    ]
    for code in there.codes.values():
        assert assemble(code, "sm_90") == ""
    assert "ld.shared" in there.codes["sort_tiles"]


def test_a_scan_into_other_places_of_what_it_reads_is_refused(cpu: DeviceContext) -> None:
    """Which would read what it has written; the same places, and those between, are as NumPy's."""
    numbers = np.arange(1, 13)
    x, rows, buffer = numbers.copy(), numbers.copy().reshape(6, 2), cpu.enqueue_create_buffer(Int, 12)
    buffer.enqueue_fill(1)
    tensor = buffer.tensor(Layout.row_major(12))
    for src, dst in ((x[:10], x[1:11]), (x[1:11], x[:10]), (tensor[0:10], tensor[1:11])):
        with pytest.raises(LaunchError, match="dst has elements of src in other places"):
            scan(lambda a, b: a + b, src, dst)
    scan(lambda a, b: a + b, rows[:, 0], rows[:, 1])
    assert rows[:, 1].tolist() == np.cumsum(numbers[::2]).tolist()
    scan(lambda a, b: a + b, x[::-1], x)
    assert x.tolist() == np.cumsum(numbers[::-1]).tolist()
    scan(lambda a, b: a + b, tensor[0:6], tensor[6:12])
    with buffer.map_to_host() as host:
        assert host.numpy().tolist() == [1] * 6 + [1, 2, 3, 4, 5, 6]
