"""Arrays of every library in weft.kernels: what comes back, where it runs, what is refused."""

from __future__ import annotations

import builtins
import itertools
import random
import re
import sys
from typing import Any, cast

import numpy as np
import pytest

from placed_arrays import found, placed
from weft import BFloat16, Float32, LaunchError, Tensor, kernels
from weft.gpu.host import DeviceBuffer, DeviceContext
from weft.interop import as_tensor
from weft.kernels import attention, histogram, matmul, softmax, sort_by_key, sum, topk, transpose
from weft.kernels.places import is_reached, lie_apart, merged
from weft.layout import Layout, LayoutTensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Q = np.ones((1, 1, 3, 4), np.float32)


def test_the_result_is_of_the_arrays_kind(device: DeviceContext) -> None:
    buffer = device.enqueue_create_buffer("float32", 6)
    device.enqueue_copy(dst=buffer, src=X.reshape(-1))
    total: DeviceBuffer[Any] = sum(buffer)
    assert isinstance(total, DeviceBuffer)
    assert (len(total), found(total.tensor(Layout.row_major(1)))[0]) == (1, 15.0)
    tensor = Tensor.from_numpy(X, device)
    turned = transpose(tensor)
    assert isinstance(turned, Tensor)
    assert (turned.shape, turned.device) == ((3, 2), tensor.device)
    np.testing.assert_array_equal(turned.numpy(), X.T)
    assert isinstance(transpose(placed(device, X)), LayoutTensor)
    assert sum(tensor, out=buffer[2:3]) is not None
    assert found(buffer.tensor(Layout.row_major(6)))[2] == 15.0


def test_host_arrays_are_there_when_the_call_returns() -> None:
    assert sum(X) == 15.0
    shared: Any = memoryview(X.data)
    assert isinstance(sum(shared), np.ndarray)
    np.testing.assert_array_equal(found(transpose(as_tensor(X))), X.T)
    np.testing.assert_array_equal(transpose(X[::-1, ::2]), X[::-1, ::2].T)


def test_bfloat16_by_its_bits() -> None:
    tensor = Tensor(BFloat16, (1, 1000))
    tensor.numpy()[...] = np.full((1, 1000), 0.5, np.float32).view(np.uint32) >> 16
    assert sum(tensor).numpy() == np.float32(500.0).view(np.uint32) >> 16


def test_axes_that_are_one_in_memory() -> None:
    assert merged((2, 3, 4), (12, 4, 1), (24, 8, 2)) == ((24,), [(1,), (2,)])
    assert merged((2, 3, 4), (12, 4, 1), (1, 2, 6)) == ((2, 3, 4), [(12, 4, 1), (1, 2, 6)])
    assert merged((5, 1, 2), (2, 99, 1)) == ((10,), [(1,)])
    assert merged((1, 1), (7, 7)) == ((1,), [(0,)])


def test_arguments_that_are_no_arrays_are_refused() -> None:
    with pytest.raises(LaunchError, match="softmax: x is a list") as caught:
        softmax([1.0, 2.0])
    assert "help: make an array of it: np.array" in str(caught.value)
    with pytest.raises(LaunchError, match="x is of Int, which is no float"):
        softmax(np.arange(3))
    with pytest.raises(LaunchError, match="axis is 1, and x has 1 axis\n"):
        softmax(X[0], 1)


REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("take", (X, None), {}, "indices is a NoneType"),
    ("matmul", (X, None), {}, "b is a NoneType"),
    ("matmul", (X, X.T), {"alpha": "2"}, "alpha is '2'"),
    ("layer_norm", (X,), {"eps": None}, "eps is None"),
    ("rms_norm", (X,), {"eps": np.zeros(2)}, "eps is an ndarray"),
    ("histogram", (X, True, (0, 1)), {}, "bins is True"),
    ("histogram", (X, 0, (0, 1)), {}, "bins is 0"),
    ("histogram", (X, 2, 5), {}, "range= takes two finite numbers, not 5"),
    ("topk", (X, 1.0), {}, "k is 1.0"),
    ("attention", (Q, Q, Q), {"diagonal": 2}, "diagonal is 2, and causal is False"),
    ("attention", (Q, Q, Q), {"causal": True, "diagonal": 0.5}, "diagonal is 0.5"),
    ("attention", (Q, Q, Q), {"scale": 1j}, "scale is a complex"),
    ("grouped_matmul", (X, X[None].T, np.array([2])), {"epilogue": {}}, "epilogue is a dict"),
]


@pytest.mark.parametrize(("name", "args", "named", "message"), REFUSED)
def test_arguments_of_another_kind_are_refused_by_their_name(
    name: str, args: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(LaunchError, match=f"{name}: {message}"):
        getattr(kernels, name)(*args, **named)


@pytest.mark.parametrize("half", [np.float32(0.5), np.array(0.5), Float32(0.5)])
def test_numbers_may_be_numpys_and_wefts(half: Any) -> None:
    np.testing.assert_array_equal(attention(Q, Q, Q, scale=half), attention(Q, Q, Q, scale=0.5))
    np.testing.assert_array_equal(matmul(X, X.T, alpha=half), X @ X.T / 2)
    one: Any = np.int64(1)
    assert topk(X, one)[0].tolist() == [[2], [5]]
    ends: Any = np.array([0, 8])
    assert histogram(X, one, ends).tolist() == [6]


@pytest.mark.parametrize(
    ("call", "names", "hint"),
    [
        ("attention", {"attn_mask": None}, "there is causal=, with diagonal="),
        ("matmul", {"transpose_b": True}, "pass a transposed view: x.T"),
        ("sort", {"stable": True}, "leave it out: equals keep their order"),
        ("sum", {"dtype": np.float64}, "convert the array first"),
        ("cumsum", {"dtype": np.float64}, "convert the array first"),
        ("sum", {"where": X > 0}, "set the others before to what changes nothing"),
        ("max", {"initial": 0}, "combine it with the result"),
        ("cumsum", {"reverse": True}, "pass it reversed, x[::-1]"),
        ("layer_norm", {"gamma": X}, "write weight=gamma"),
        ("histogram", {"min": 0}, "write range=(low, high)"),
    ],
)
def test_names_that_other_libraries_have_are_told_of(call: str, names: dict[str, Any], hint: str) -> None:
    with pytest.raises(LaunchError, match=f"help: {re.escape(hint)}"):
        getattr(kernels, call)(*[Q] * (3 if call == "attention" else 1 + (call == "matmul")), **names)


def test_results_that_cannot_be_written_are_refused() -> None:
    constant = X.copy()
    constant.flags.writeable = False
    for out, message in (
        (constant, "out is an array that is read-only"),
        (np.zeros((2, 1), np.float32), "out is of shape \\(2, 1\\), and the result's is \\(2, 3\\)"),
        (np.zeros((2, 3)), "out is of Float64, not of Float32"),
        (np.broadcast_to(np.zeros(3, np.float32), (2, 3)), "read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (2, 3), (0, 4)), "at the same place"),
        (np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (2, 3), (8, 4)), "at the same place"),
    ):
        with pytest.raises(LaunchError, match=message):
            softmax(X, out=out)
    shared = np.zeros((3, 3), np.float32)
    with pytest.raises(LaunchError, match="out is memory that x has too in another order"):
        softmax(shared[1:], out=shared[:-1])
    with pytest.raises(LaunchError, match="out is memory that x has too"):
        transpose(shared, out=shared)


def test_results_lie_between_what_is_read() -> None:
    """As columns of a wider matrix do, or one of the queries, keys and values of one buffer."""
    wide = np.random.default_rng(0).standard_normal((5, 3, 8)).astype(np.float32)
    expected = np.exp(wide[:, 0]) / np.exp(wide[:, 0]).sum(-1, keepdims=True)
    softmax(wide[:, 0], out=wide[:, 2])
    np.testing.assert_allclose(wide[:, 2], expected, rtol=1e-6)
    np.testing.assert_allclose(softmax(wide[:, 0], out=wide[:, 1, ::-1]), expected, rtol=1e-6)
    crossed = np.lib.stride_tricks.as_strided(np.zeros(11, np.float32), (3, 3), (12, 8))
    np.testing.assert_array_equal(transpose(X[:, :2].T, out=crossed[:2, :2]), X[:, :2])
    with pytest.raises(LaunchError, match="out is memory that x has too"):
        softmax(wide[:, :, :4], out=wide[:, :, 3:7])


def test_two_results_have_memory_of_their_own() -> None:
    x, room, f = np.arange(8), np.zeros(20, np.int64), np.zeros((2, 3), np.float32)
    for out in (
        (room[:8], room[4:12]),
        (room[7::-1], room[11:3:-1]),
        (room[7::-1], room[4:12]),
        (room[:16:2], room[14::-2]),
    ):
        with pytest.raises(LaunchError, match="out is memory that the other result has too"):
            topk(x, 8, out=out)
        with pytest.raises(LaunchError, match="out is memory that the other result has too"):
            sort_by_key(x, x.copy(), out=out)
    with pytest.raises(LaunchError, match="out is memory that total has too"):
        kernels.rms_norm(X, residual=X, total=f[::-1], out=f)
    topk(x, 8, out=(room[:16:2], room[1:16:2]))
    assert room[:16].tolist() == [n for n in range(7, -1, -1) for _ in range(2)]
    topk(x, 8, out=(room[14::-2], room[15::-2]))
    assert room[:16].tolist() == [n for n in range(8) for _ in range(2)]


@pytest.mark.parametrize("seed", range(3))
def test_places_that_meet_are_all_found(seed: int) -> None:
    some = random.Random(seed)
    for _ in range(1000):
        lines = [(some.randint(-12, 12), some.randint(1, 5)) for _ in range(some.randint(0, 4))]
        steps = [[step * n for n in range(count)] for step, count in lines]
        places = [builtins.sum(each) for each in itertools.product(*steps)]
        distance = some.randint(-40, 40)
        assert lie_apart(lines) == (len({*places}) == len(places)), lines
        assert is_reached(distance, lines) == (distance in places), (distance, lines)


def test_results_without_elements_may_be_given() -> None:
    empty = np.zeros((3, 0), np.float32)  # whose strides NumPy makes 0
    assert softmax(empty, out=empty) is empty


def test_formats_that_numpy_has_not(device: DeviceContext) -> None:
    a, b = np.full((1, 2), 0.25, np.float32), np.ones((2, 1), np.float32)
    out = Tensor(BFloat16, (1, 1))
    assert matmul(a, b, out, dtype=BFloat16) is out
    assert out.numpy() == np.float32(0.5).view(np.uint32) >> 16
    if "ml_dtypes" not in sys.modules:
        with pytest.raises(LaunchError, match="NumPy has no bfloat16") as caught:
            matmul(a, b, dtype=BFloat16)
        assert "help: import ml_dtypes, which adds it; or pass out=" in str(caught.value)


def test_ml_dtypes() -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    one = np.ones((2, 1, 3, 4), ml_dtypes.float8_e4m3fn)
    other = np.broadcast_to(np.full((2, 1, 4, 3), 0.5, ml_dtypes.float8_e5m2)[:, :, :, :1], (2, 1, 4, 1))
    both = np.broadcast_to(one, (2, 2, 3, 4)), np.ascontiguousarray(other.transpose(1, 0, 2, 3))
    for _ in range(12):  # by Python, and natively
        np.testing.assert_array_equal(matmul(*both), np.full((2, 2, 3, 1), 2, np.float32))
        keys, values = sort_by_key(np.array([2, 1]), np.array([0.5, 1], ml_dtypes.bfloat16))
        assert (keys.tolist(), values.tolist(), values.dtype.name) == ([1, 2], [1, 0.5], "bfloat16")


@pytest.mark.gpu
def test_arrays_of_two_devices_are_refused() -> None:
    with pytest.raises(
        LaunchError, match="x on cuda:0 and out on cpu:0: an operation takes arrays of one device"
    ):
        softmax(placed(DeviceContext(api="cuda"), X), out=np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_pytorch(place: str) -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32, device=place).reshape(2, 3)
    for given in (x, x.T, x.bfloat16()):
        result = softmax(given, 0)
        assert (type(result), result.dtype, result.device) == (torch.Tensor, given.dtype, given.device)
        assert torch.allclose(result, torch.softmax(given, 0), atol=1e-2)
    out = torch.empty((), device=place)
    assert sum(x, out=out) is out
    assert out.item() == 15.0


@pytest.mark.gpu
def test_a_graph_of_pytorchs_records_what_runs() -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.zeros(4, 40_000, device="cuda")
    for operation in (softmax, sum):
        operation(x, 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        powers, totals = softmax(x), sum(x, 1)
    x.copy_(torch.randn(4, 40_000))
    graph.replay()
    assert torch.allclose(powers, torch.softmax(x, 1), rtol=1e-4)
    assert torch.allclose(totals, x.sum(1), rtol=1e-3, atol=1e-2)


@pytest.mark.gpu
def test_cupy() -> None:
    cupy: Any = pytest.importorskip("cupy")
    x = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
    with cupy.cuda.Stream():
        result = transpose(x[::-1])
        assert isinstance(result, cupy.ndarray)
        assert (result == x[::-1].T).all()


def test_jax() -> None:
    jax: Any = pytest.importorskip("jax")
    x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    result = transpose(x)
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(np.asarray(result), X.T)
    short = transpose(x.astype("bfloat16"))
    assert isinstance(short, jax.Array)
    assert short.dtype == "bfloat16"
    np.testing.assert_array_equal(np.asarray(short, np.float32), X.T)
    with pytest.raises(LaunchError, match="read-only"):
        softmax(x, out=x)


def test_what_jax_traces_and_its_complex_numbers_are_told() -> None:
    """As JAX has them: what is traced has no elements, complex numbers come by DLPack."""

    class ShapedTracer:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("the method __array__() was called on a traced array")

    ShapedTracer.__module__ = "jax._src.core"
    with pytest.raises(LaunchError, match=r"called on a traced array(.|\n)*call it outside of jax.jit"):
        softmax(cast("Any", ShapedTracer()))

    class Shared:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **named: Any) -> Any:
            return self.array.__dlpack__(**named)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    with pytest.raises(LaunchError, match=r"a Shared of complex64(.|\n)*x.real and x.imag"):
        transpose(cast("Any", Shared(np.zeros((2, 3), np.complex64))))


def test_tensors_go_to_the_context_of_a_buffer(device: DeviceContext) -> None:
    """A tensor's memory serves every context of its device, a buffer's its own."""
    other = DeviceContext(api=device.api)
    buffer = device.enqueue_create_buffer(Float32, 6)
    device.enqueue_copy(dst=buffer, src=X.ravel())
    matrix = buffer.tensor(Layout.row_major(2, 3))
    for _ in range(2):  # the second time by a plan
        tensor: Any = Tensor.from_numpy(X.T.copy(), other)
        pairs: list[tuple[Any, Any]] = [(tensor, matrix), (matrix, tensor)]
        for given in pairs:
            right = np.matmul(*[X.T if one is tensor else X for one in given])
            made = kernels.matmul(*given)
            own = made.numpy() if isinstance(made, Tensor) else found(made)
            np.testing.assert_allclose(own, right, rtol=1e-6)
        assert softmax(Tensor.from_numpy(X, other), out=matrix) is matrix
        np.testing.assert_allclose(found(matrix), softmax(X), rtol=1e-6)
        device.enqueue_copy(dst=buffer, src=X.ravel())
    with pytest.raises(LaunchError, match="the argument `b` of matmul belongs to another DeviceContext"):
        kernels.matmul(matrix, other.enqueue_create_buffer(Float32, 6).tensor(Layout.row_major(3, 2)))


def test_results_go_to_arrays_that_are_reversed() -> None:
    memory = np.zeros((2, 3), np.float32)
    softmax(X, out=memory[::-1, ::-1])
    np.testing.assert_array_equal(memory[::-1, ::-1], softmax(X))
    values, places = np.zeros((2, 2), np.float32), np.zeros((2, 2), np.int64)
    topk(X, 2, out=(values[::-1], places[:, ::-1]))
    np.testing.assert_array_equal(values, [[5, 4], [2, 1]])
    np.testing.assert_array_equal(places, [[1, 2], [1, 2]])
    added = np.zeros_like(X)
    kernels.layer_norm(X, residual=X, total=added[::-1])
    np.testing.assert_array_equal(added[::-1], 2 * X)
    own = X.copy()
    kernels.cumsum(own, out=own[:, ::-1])  # it is read before it is written
    np.testing.assert_array_equal(own[:, ::-1], np.cumsum(X, 1))


@pytest.mark.parametrize("add", [False, True])
def test_elements_are_put_to_arrays_that_are_reversed(add: bool) -> None:
    line, places = np.ones(4, np.float32), np.array([0, -1])
    given = line[::-1]
    assert kernels.put(given, places, np.array([5, 7], np.float32), add=add) is given
    np.testing.assert_array_equal(line, [7 + add, 1, 1, 5 + add])
    matrix = np.ones((2, 3), np.float32)
    kernels.put_along_axis(
        matrix[:, ::-1], np.array([[0], [2]]), np.array([[5], [7]], np.float32), 1, add=add
    )
    np.testing.assert_array_equal(matrix, [[1, 1, 5 + add], [7 + add, 1, 1]])


def test_reversed_arrays_that_nobody_may_write_to_are_refused() -> None:
    fixed, alike = X.copy(), np.lib.stride_tricks.as_strided(X[1:], (2, 3), (-4, 0))
    fixed.flags.writeable = False
    with pytest.raises(LaunchError, match="out is an array that is read-only"):
        softmax(X, out=fixed[::-1])
    with pytest.raises(LaunchError, match="elements lie at the same place"):
        softmax(X, out=alike)


def test_hosts_arrays_beside_a_buffer_for_the_result() -> None:
    context = DeviceContext(api="cpu")
    totals = context.enqueue_create_buffer("float32", 2)
    for factor in (1, 2):  # the second call is a plan
        sum(factor * X, axis=1, out=totals)
        with totals.map_to_host() as there:
            assert list(there) == [3 * factor, 12 * factor]


def test_arrays_between_multiples_of_their_elements_are_refused_by_name() -> None:
    memory = np.zeros(X.nbytes + 1, np.uint8)
    between = memory[1:].view(X.dtype).reshape(X.shape)
    calls: list[tuple[str, Any]] = [
        ("sum: x", lambda: sum(between)),
        ("matmul: b", lambda: matmul(X.T, between)),
        ("softmax: out", lambda: softmax(X, out=between)),
    ]
    for name, call in calls:
        words = f"{name} is a NumPy array of Float32 at an address that is no multiple of 4 bytes"
        for _ in range(2):
            with pytest.raises(LaunchError, match=words) as told:
                call()
            assert "test_operands.py" in str(told.value)
    assert sum(between[:0]) == 0
    np.testing.assert_array_equal(sum(memory[1:]), 0)  # bytes lie anywhere
