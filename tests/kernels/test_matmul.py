"""weft.kernels.matmul against NumPy's in float64."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, found, placed
from weft import BFloat16, CompileError, DeviceError, Float8_e4m3fn, Float8_e5m2, Float32, LaunchError, func
from weft.gpu.host import DeviceContext
from weft.kernels import grouped_matmul, matmul
from weft.kernels.products import doubles, fragments, plain, routes
from weft.kernels.products.problem import Problem
from weft.lang.intrinsics import Feature
from weft.layout import Layout, LayoutTensor

CLOSE = {"e": 2e-3, "f": 3e-6, "d": 1e-13}


SHAPES = [(300, 520, 136), (5, 1000, 77), (129, 7, 2000), (1, 1, 3001), (1, 700, 900), (700, 1, 900)]
NARROW = [(8, 17000, 520), (9000, 20, 256)]


def close(result: Any, expected: Array, tolerance: float) -> None:
    result = found(result)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * 10)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Array, Array]:
    """Two batches of matrices, or vectors, that fit each other, with axes in any order and with gaps."""
    m, n, k = (draw(st.integers(0, 70)) for _ in range(3))
    lead = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    generator, kind = np.random.default_rng(draw(st.integers(0, 1000))), draw(st.sampled_from("efl"))

    def made(*matrix: int) -> Array:
        own = [extent if draw(st.booleans()) else 1 for extent in lead[draw(st.integers(0, len(lead))) :]]
        shape = (*own, *matrix)
        order = draw(st.permutations(range(len(shape))))
        wide = [shape[axis] for axis in order]
        gaps = draw(st.sampled_from([1, 1, 2]))
        values = generator.integers(-8, 9, [*wide[:-1], wide[-1] * gaps]).astype(kind)
        return values[..., ::gaps].transpose(np.argsort(order))

    a, b = made(m, k), made(k, n)
    some = draw(st.integers(0, 9))
    return (a[(0,) * (a.ndim - 1)] if some == 0 and m else a), (
        b[(0,) * (b.ndim - 2)][:, 0] if some in (0, 1) and n else b
    )


@settings(max_examples=12)
@given(both=matrices())
def test_any_matrices(device: DeviceContext, both: tuple[Array, Array]) -> None:
    a, b = both
    result = matmul(placed(device, a), placed(device, b))
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    if expected.ndim == 0:
        assert found(result) == expected
    else:
        np.testing.assert_array_equal(found(result), expected)  # sums of small integers are exact


@pytest.mark.parametrize(("m", "n", "k"), [*SHAPES, *NARROW])
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("kind", "ef")
def test_large_ones(device: DeviceContext, m: int, n: int, k: int, turned: str, kind: str) -> None:
    if device.info.shares_host and (turned or kind == "e"):
        pytest.skip("one way for all on a CPU")
    generator = np.random.default_rng(m + n)
    a, b = (generator.normal(size=shape).astype(kind) for shape in ((m, k), (k, n)))
    a, b = (np.asfortranarray(x) if name in turned else x for name, x in (("a", a), ("b", b)))
    right = a.astype(np.float64) @ b.astype(np.float64)
    result = [found(matmul(placed(device, a), placed(device, b))) for _ in range(2)]
    assert np.linalg.norm(result[0] - right) <= CLOSE[kind] * np.linalg.norm(right)
    np.testing.assert_array_equal(result[0].view(np.uint8), result[1].view(np.uint8))  # the same each time


def test_tf32_is_asked_for(device: DeviceContext) -> None:
    a, b = (np.random.default_rng(i).normal(size=(96, 96)).astype(np.float32) for i in range(2))
    right = a.astype(np.float64) @ b.astype(np.float64)
    exact, fast = (found(matmul(placed(device, a), placed(device, b), tf32=tf32)) for tf32 in (False, True))
    assert np.linalg.norm(exact - right) < 1e-6 * np.linalg.norm(right)
    assert np.linalg.norm(fast - right) < 2e-3 * np.linalg.norm(right)


@pytest.mark.parametrize("kind", "efd")
def test_ends(device: DeviceContext, kind: str) -> None:
    generator = np.random.default_rng(5)
    shapes = [(2, 40, 48), (48, 24), (24,), (40, 1), (2, 1, 24)]
    a, b, bias, rows, columns = (generator.normal(size=shape).astype(kind) for shape in shapes)
    more = generator.normal(size=24).astype(np.float32)
    scale = placed(device, more)

    def ends(x: Any, z: Any, i: Any, j: Any) -> Any:
        return (x if x > 0 else 0.5 * x) * scale[j] + i - z

    result = matmul(
        *(placed(device, x) for x in (a, b)),
        alpha=0.5,
        bias=placed(device, bias),
        scale_a=placed(device, rows),
        scale_b=placed(device, columns),
        epilogue=ends,
    )
    x = 0.5 * (a.astype(np.float64) @ b) * rows * columns + bias
    z, i = np.arange(2)[:, None, None], np.arange(40)[:, None]
    close(result, np.where(x > 0, x, 0.5 * x) * more + i - z, max(CLOSE[kind], 2e-6))


def test_the_result_goes_where_it_is_wanted(device: DeviceContext) -> None:
    a, b = (np.random.default_rng(i).integers(-9, 9, (3, 24, 24)).astype(np.float32) for i in range(2))
    for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        extents = [(3, 24, 24)[axis] for axis in order]
        wide = np.zeros((*extents[:-1], 2 * extents[-1]), np.float32)[..., ::2].transpose(np.argsort(order))
        out = placed(device, wide)
        assert matmul(placed(device, a), placed(device, b), out) is out
        np.testing.assert_array_equal(found(out), a @ b)


def short(device: DeviceContext, kind: Any, values: Array) -> LayoutTensor[Any]:
    buffer = device.enqueue_create_buffer(kind, values.size)
    with buffer.map_to_host() as host:
        host[:] = values.reshape(-1).tolist()
    return buffer.tensor(Layout.row_major(*values.shape))


@pytest.mark.parametrize("kinds", [(BFloat16,) * 2, (Float8_e4m3fn, Float8_e5m2)])
def test_short_floats(device: DeviceContext, kinds: tuple[Any, Any]) -> None:
    a, b = (np.random.default_rng(i).integers(-4, 5, (72, 72)) for i in range(2))
    result = matmul(short(device, kinds[0], a), short(device, kinds[1], b), dtype=Float32)
    np.testing.assert_array_equal(found(result), a @ b)
    if kinds[0] is Float8_e4m3fn:
        assert matmul(short(device, kinds[0], a), short(device, kinds[1], b)).dtype.name == "float32"


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_bytes_are_summed_in_more(device: DeviceContext, kind: Any) -> None:
    a, b = (np.random.default_rng(i).integers(0, 120, (40, 272)).astype(kind) for i in range(2))
    right = a.astype(np.int32) @ b.T.astype(np.int32)
    result = matmul(placed(device, a), placed(device, b.T))
    assert found(result).dtype == np.int32
    np.testing.assert_array_equal(found(result), right)
    scale = placed(device, np.full((40, 1), 0.25, np.float32))
    scaled = matmul(placed(device, a), placed(device, b.T), scale_a=scale, dtype=Float32)
    np.testing.assert_array_equal(found(scaled), right / 4)


@pytest.mark.parametrize("across", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(
    ("way", "shape"),
    [
        *((fragments, shape) for shape in (fragments.LARGE, fragments.MIDDLE, fragments.SMALL)),
        (plain, None),
        *((doubles, shape) for shape in (doubles.LARGE, doubles.SMALL)),
    ],
)
def test_ways_of_few_shapes(
    device: DeviceContext, way: Any, shape: Any, across: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sides along k and across it, with rows, columns and places along k beyond whole tiles."""

    def multiply(problem: Problem, *, tf32: bool) -> None:
        way.multiply(problem)

    monkeypatch.setattr(routes, "multiply", multiply)
    for name in ("LARGE", "MIDDLE", "SMALL") if shape else ():
        monkeypatch.setattr(way, name, shape, raising=False)
    kind = np.float64 if way is doubles else np.float16
    a, b = (np.random.default_rng(i).integers(-4, 5, (2, 70, 75)).astype(kind) for i in range(2))
    sides = a, b.transpose(0, 2, 1)
    left, right = (
        np.swapaxes(np.swapaxes(x, 1, 2).copy(), 1, 2) if turned else x.copy()
        for x, turned in zip(sides, across, strict=True)
    )
    result = matmul(placed(device, left), placed(device, right), bias=placed(device, a[0, 0, :70]))
    exact = a.astype(float) @ b.transpose(0, 2, 1) + a[0, 0, :70]
    np.testing.assert_array_equal(found(result), exact)


@pytest.mark.parametrize("splits", [2, 3, 7])
def test_float64_in_parts_of_k(device: DeviceContext, splits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of parts for which no place along k is left."""

    def way_of(problem: Problem) -> tuple[doubles.Shape, int]:
        return doubles.SMALL, splits

    def multiply(problem: Problem, *, tf32: bool) -> None:
        doubles.multiply(problem)

    monkeypatch.setattr(routes, "multiply", multiply)
    monkeypatch.setattr(doubles, "way_of", way_of)
    a, b = (np.random.default_rng(i).integers(-9, 9, (2, 37, 75)).astype(float) for i in range(2))
    result = matmul(
        placed(device, a), placed(device, b.transpose(0, 2, 1)), bias=placed(device, a[0, 0, :37])
    )
    np.testing.assert_array_equal(found(result), a @ b.transpose(0, 2, 1) + a[0, 0, :37])


def test_float64_by_tensor_cores(device: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU computes their products as lanes of a warp, where it is told to."""

    class Target:
        def supports(self, feature: Feature) -> bool:
            return feature is Feature.MMA

    def multiply(problem: Problem, *, tf32: bool) -> None:
        plain.multiply(problem)

    def target_of(name: str) -> Target:
        assert name
        return Target()

    monkeypatch.setattr(plain, "find_target", target_of)
    monkeypatch.setattr(routes, "multiply", multiply)
    a, b = (np.random.default_rng(i).normal(size=(2, 70, 75)) for i in range(2))
    result = matmul(placed(device, a), placed(device, b.transpose(0, 2, 1)))
    np.testing.assert_allclose(found(result), a @ b.transpose(0, 2, 1), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("a", "b", "biases"),
    [
        ((4, 3), (3,), [(4,), (1,), ()]),
        ((3,), (3, 5), [(5,), ()]),
        ((3,), (3,), [()]),
        ((2, 4, 3), (3,), [(2, 4), (4,), (2, 1)]),
        ((3,), (2, 6, 3, 5), [(2, 1, 5), (6, 1)]),
    ],
)
def test_the_bias_of_a_vector_is_spread_to_the_result(
    a: tuple[int, ...], b: tuple[int, ...], biases: list[tuple[int, ...]]
) -> None:
    some = np.random.default_rng(len(a))
    one, other = some.random(a), some.random(b)
    for shape in biases:
        bias = np.asarray(some.random(shape))
        np.testing.assert_allclose(matmul(one, other, bias=bias), one @ other + bias)
    with pytest.raises(LaunchError, match=f"not broadcast to {re.escape(str((one @ other).shape))}"):
        matmul(one, other, bias=np.ones((*(one @ other).shape, 2)))


@pytest.mark.parametrize("columns", [72, 75, 264])  # stored by the hardware where 16 bytes divide rows
@pytest.mark.parametrize("kind", "ef")
def test_groups_of_rows(device: DeviceContext, kind: str, columns: int) -> None:
    generator, stops = np.random.default_rng(3), [70, 70, 71, 300, 333]
    a, b = (generator.integers(-8, 9, shape).astype(kind) for shape in ((340, 40), (5, 40, columns)))
    out = placed(device, np.full((340, columns), 5, kind))
    ends = placed(device, np.array(stops, np.int32))

    def add(x: Any, i: Any, j: Any) -> Any:
        return x + i

    assert grouped_matmul(placed(device, a), placed(device, b), ends, out, epilogue=add) is out
    right, begin = np.full((340, columns), 5.0), 0
    for group, end in enumerate(stops):
        right[begin:end] = a[begin:end].astype(float) @ b[group] + np.arange(begin, end)[:, None]
        begin = end
    np.testing.assert_array_equal(found(out), right.astype(kind))
    with pytest.raises(LaunchError, match="ends is of shape"):
        grouped_matmul(placed(device, a), placed(device, b), placed(device, np.zeros(4, np.int32)))


@pytest.mark.parametrize("kind", "efd")
def test_rows_in_no_group_of_a_new_result_are_zero(device: DeviceContext, kind: str) -> None:
    a, b = np.ones((300, 64), kind), np.ones((2, 64, 96), kind)
    for _ in range(2):  # memory that was used before
        result = grouped_matmul(placed(device, a), placed(device, b), placed(device, np.array([0, 130])))
        right = np.where(np.arange(300)[:, None] < 130, np.full((300, 96), 64, kind), 0)
        np.testing.assert_array_equal(found(result), right)
        none = grouped_matmul(placed(device, a), placed(device, b[:0]), placed(device, np.zeros(0, np.int32)))
        np.testing.assert_array_equal(found(none), np.zeros((300, 96)))
        result, none = None, None
        placed(device, np.full((300, 96), np.nan, kind))


@pytest.mark.parametrize("stops", [[3, 1], [3, 9], [-3, 3], [1 << 40, 4]])
@pytest.mark.parametrize("kind", "ed")
def test_ends_that_are_none_are_told(device: DeviceContext, stops: list[int], kind: str) -> None:
    a, b, ends = np.ones((4, 64), kind), np.ones((2, 64, 64), kind), np.array(stops)

    def multiply() -> None:
        grouped_matmul(placed(device, a), placed(device, b), placed(device, ends))
        device.synchronize()

    with pytest.raises(DeviceError, match="grouped_matmul: ends fall, or go beyond the rows of a") as told:
        multiply()
    assert "test_matmul.py" in str(told.value)  # the caller's line, not the kernel's


def test_what_is_refused() -> None:
    x, y = np.ones((2, 3), np.float32), np.ones((4, 2), np.float32)
    cases: list[tuple[tuple[tuple[Any, ...], dict[str, Any]], str]] = [
        (((x, y), {}), "b is of 4 rows, and a has 3 columns"),
        (((x, y.astype(np.float64)), {}), "b is of Float64, and a of Float32"),
        (((np.ones((2, 2, 3), np.float32), np.ones((3, 3, 2), np.float32)), {}), "b is of leading axes (3,)"),
        (((x, x.T, np.ones((2, 3), np.float32)), {}), "out is of shape (2, 3), and the result's is (2, 2)"),
        (
            ((x, x.T), {"bias": np.ones(3, np.float32)}),
            "bias is of shape (3,), which is not broadcast to (2, 2)",
        ),
        (
            ((x.astype(np.int8), x.T.astype(np.int8)), {"alpha": 0.5}),
            "a is of Int8, and what is scaled is a float",
        ),
        (((np.ones((), np.float32), x), {}), "a is a number"),
        (((x, x.T), {"epilogue": 3}), "epilogue is an int"),
        (((x, x.T), {"dtype": int}), "dtype: int is not an element type"),
        (((x, x.T), {"dtype": np.bool_}), "dtype is Bool, and a product is of numbers"),
    ]
    for (args, named), words in cases:
        with pytest.raises(LaunchError) as refused:
            matmul(*args, **named)
        assert words in str(refused.value)


@func
def rectified(x: Float32) -> Float32:
    return x if x > 0 else 0.0


def doubled(x: Any, by: float = 2.0) -> Any:
    return by * x


def shifted(x: Any, i: Any, j: Any) -> Any:
    return x + 10 * j


def of_two(x: Any, i: Any) -> Any:
    return x


def of_a_batch(x: Any, z: Any, i: Any, j: Any) -> Any:
    return x


def of_any(x: Any, i: int = 0, j: int = 0) -> Any:
    return x


def scaled(x: Any, i: Any, j: Any, by: float = 2.0) -> Any:
    return by * x


def three(x: Any) -> int:
    return 3


def much(x: Any) -> str:
    return "much"


def test_functions_of_python_as_epilogues() -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    np.testing.assert_array_equal(matmul(x, x, epilogue=Float32), x @ x)
    numpys = {"exp": np.exp}
    for function, words in (
        (numpys["exp"], "is Python's and is not compiled(.|\n)*pass weft.math.exp"),
        (float, "exists only at run time"),
        (int, "exists only at run time"),
    ):
        with pytest.raises(CompileError, match=words):
            matmul(x, x, epilogue=function)


def test_an_epilogue_of_the_element_alone() -> None:
    a = np.array([[1, -2], [3, 4]], np.float32)
    product = a @ a
    right: list[tuple[Any, Any]] = [
        (rectified, np.maximum(product, 0)),
        (abs, abs(product)),
        (doubled, 2 * product),
        (shifted, product + [0, 10]),
        (scaled, 2 * product),
        (three, np.full((2, 2), 3)),
    ]
    for epilogue, expected in right:
        np.testing.assert_array_equal(matmul(a, a, epilogue=epilogue), expected)
    np.testing.assert_array_equal(matmul(a[None], a, epilogue=abs), abs(product)[None])
    for epilogue, message in (
        (of_two, "takes 2 arguments, 0 by default"),
        (of_a_batch, "takes 4 arguments, 0 by default"),
        (of_any, "takes 3 arguments, 2 by default"),
    ):
        with pytest.raises(LaunchError, match=message):
            matmul(a, a, epilogue=epilogue)
    with pytest.raises(LaunchError, match="takes 4 arguments, 1 by default") as caught:
        matmul(a[None], a, epilogue=scaled)  # whose last would be the column
    assert "or lambda x, z, i, j: ... of it" in str(caught.value)
    with pytest.raises(CompileError, match="the epilogue gives a str, not a number"):
        matmul(a, a, epilogue=much)
