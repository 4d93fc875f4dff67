"""Calls of ready kernels that are made again on a GPU, with arrays of PyTorch and CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from weft import LaunchError, kernels
from weft.kernels.operands import Operands
from weft.launch.native.code import native_code
from weft.tensor import device_of

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]
Work = tuple[Callable[[Any], Any], Callable[[Any], Any], str]


@pytest.fixture(scope="module")
def torch() -> Any:
    native_code()
    return pytest.importorskip("torch")


def works(torch: Any) -> list[Work]:
    """Operations, what they are to give, and the type of the matrices that they take."""
    dot = torch.nn.functional.scaled_dot_product_attention

    def heads(x: Any) -> Any:
        return x.view(1, 4, 128, 128)

    def attended(x: Any) -> Any:
        return kernels.attention(heads(x), heads(x), heads(x))

    return [
        (lambda x: kernels.softmax(x), lambda x: torch.softmax(x, -1), "float32"),
        (lambda x: kernels.sum(x), lambda x: x.sum(), "float32"),
        (lambda x: kernels.sum(x, 0), lambda x: x.sum(0), "float32"),
        (lambda x: kernels.cumsum(x, 1), lambda x: x.cumsum(1), "float32"),
        (lambda x: kernels.sort(x), lambda x: x.sort().values, "float32"),
        (lambda x: kernels.topk(x, 5)[1], lambda x: x.topk(5).indices, "float32"),
        (lambda x: kernels.transpose(x), lambda x: x.T, "float32"),
        (lambda x: kernels.matmul(x, x), lambda x: x @ x, "bfloat16"),
        (lambda x: kernels.matmul(x, x.T), lambda x: x @ x.T, "float32"),
        (lambda x: kernels.matmul(x, x, bias=x[0]), lambda x: x @ x + x[0], "bfloat16"),
        (attended, lambda x: dot(heads(x), heads(x), heads(x)), "bfloat16"),
    ]


def close(torch: Any, result: Any, expected: Any) -> None:
    wide = 3e-2 if result.dtype is torch.bfloat16 else 2e-3
    torch.testing.assert_close(result, expected.reshape(result.shape), rtol=wide, atol=10 * wide)


def only_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("decided anew")

    monkeypatch.setattr(Operands, "launch", fail)


def test_torch(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {
        kind: [torch.randn(256, 256, device="cuda").to(getattr(torch, kind)) for _ in range(3)]
        for kind in ("float32", "bfloat16")
    }
    for work, expected, kind in works(torch):
        close(torch, work(arrays[kind][0]), expected(arrays[kind][0]))
    only_planned(monkeypatch)
    for _ in range(2):
        for work, expected, kind in works(torch):
            for x in arrays[kind]:
                close(torch, work(x), expected(x))


def test_torch_on_streams_and_in_graphs(torch: Any) -> None:
    x = torch.randn(256, 256, device="cuda")
    held: list[Any] = []
    for work, expected, kind in works(torch):
        taken = x.to(getattr(torch, kind))
        work(taken)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                other = torch.randn(256, 256, device="cuda").to(taken.dtype)
                torch.cuda._sleep(100_000)
                close(torch, work(other), expected(other))
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            result = work(taken)
        taken.copy_(torch.randn(256, 256, device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        close(torch, result, expected(taken))
        held.append(graph)


def test_slices_of_one_tensor(torch: Any) -> None:
    whole = torch.randn(3, 2, 4, 256, 64, device="cuda", dtype=torch.bfloat16).transpose(0, 2)
    packed = torch.randn(2, 256, 3, 4, 64, device="cuda", dtype=torch.bfloat16)
    dot = torch.nn.functional.scaled_dot_product_attention
    for _ in range(3):
        q, k, v = (packed[:, :, n].transpose(1, 2) for n in range(3))
        close(torch, kernels.attention(q, k, v), dot(q, k, v))
        packed = torch.randn_like(packed)
    for n in range(4):
        close(torch, kernels.softmax(whole[n]), torch.softmax(whole[n], -1))
        odd = whole[n].reshape(-1)[n : n + 1000]
        close(torch, kernels.sum(odd), odd.float().sum().bfloat16())


def test_a_wait_of_the_context_waits_for_calls(torch: Any) -> None:
    ctx = device_of("cuda", 0).context
    x, out = torch.randn(2, 64, 1000, device="cuda")
    for _ in range(3):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            kernels.softmax(x, out=out)
            torch.cuda._sleep(10_000_000)
            kernels.softmax(x, out=out)
        ctx.synchronize()
        assert stream.query()


def test_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = pytest.importorskip("cupy")
    arrays = [cupy.random.normal(size=(32, 100)).astype("float32") for _ in range(3)]
    kernels.softmax(arrays[0])
    kernels.sum(arrays[0], 1)
    only_planned(monkeypatch)
    for x in arrays:
        powers = cupy.exp(x - x.max(1, keepdims=True))
        cupy.testing.assert_allclose(kernels.softmax(x), powers / powers.sum(1, keepdims=True), rtol=1e-4)
        cupy.testing.assert_allclose(kernels.sum(x, 1), x.sum(1), rtol=1e-4, atol=1e-4)


def test_tensors_on_another_device_are_refused_as_before(torch: Any) -> None:
    x = torch.randn(8, 8, device="cuda")
    for _ in range(2):
        kernels.matmul(x, x)
        with pytest.raises(LaunchError, match="arrays of one device"):
            kernels.matmul(x, x.cpu())
