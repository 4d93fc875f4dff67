"""Operations of ``weft.torch`` beside PyTorch's own: results, derivatives, tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
F: Any = torch.nn.functional

import weft.torch  # noqa: E402
from weft.torch.operations import OPERATIONS  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def random(device: str, *shape: int, dtype: Any = None, grad: bool = True) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    made = torch.randn(shape, generator=generator, dtype=torch.float64)
    return made.to(device=device, dtype=dtype or torch.float64).requires_grad_(grad)


def inputs(name: str, device: str, dtype: Any = None) -> tuple[Any, ...]:
    """Arguments of an operation, as PyTorch sees it."""

    def of(*shape: int) -> Any:
        return random(device, *shape, dtype=dtype)

    return {
        "softmax": (of(3, 4, 5), 1),
        "log_softmax": (of(3, 4, 5), -1),
        "layer_norm": (of(3, 2, 5), of(5), of(1, 5).detach()[0].requires_grad_(), 1e-5),
        "rms_norm": (of(3, 2, 5), of(5), 1e-6),
        "cumsum": (of(3, 4, 5), 1),
        "matmul": (of(2, 3, 4), of(1, 4, 5)),
        "rope": (of(2, 3, 8), of(3, 3).detach(), of(1, 3, 3)[0].detach(), True),
        "embedding": (torch.tensor([[0, 3, 3], [1, 0, 0]], device=device), of(4, 3)),
        "attention": (
            of(1, 4, 5, 8),
            of(1, 2, 6, 8),
            of(2, 1, 6, 8).detach().reshape(1, 2, 6, 8).requires_grad_(),
            True,
            1,
            0.3,
        ),
    }[name]


def attention(q: Any, k: Any, v: Any, causal: bool, diagonal: int, scale: float) -> Any:
    scores = q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT * scale
    met = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(diagonal)
    scores = scores.masked_fill(~met, -torch.inf) if causal else scores
    return scores.softmax(-1) @ v.repeat_interleave(q.shape[1] // v.shape[1], 1), scores.logsumexp(-1)


def layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def rms_norm(x: Any, weight: Any, eps: float) -> Any:
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def rope(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    turned, rest = x[..., : 2 * cos.shape[-1]], x[..., 2 * cos.shape[-1] :]
    one, two = turned.unflatten(-1, (-1, 2)).unbind(-1) if interleaved else turned.chunk(2, -1)
    made = one * cos - two * sin, two * cos + one * sin
    joined = torch.stack(made, -1).flatten(-2) if interleaved else torch.cat(made, -1)
    return torch.cat((joined, rest), -1)


PEERS: dict[str, Callable[..., Any]] = {
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "cumsum": torch.cumsum,
    "matmul": torch.matmul,
    "rope": rope,
    "embedding": F.embedding,
    "attention": attention,
}
"""The same by PyTorch."""


def each(made: Any) -> list[Any]:
    return [*made] if type(made) is tuple else [made]


@pytest.fixture(params=OPERATIONS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("device", DEVICES)
def test_results_and_derivatives_are_those_of_pytorch(name: str, device: str) -> None:
    for dtype in (torch.float64, torch.float32):
        given = inputs(name, device, dtype)
        tensors = [x for x in given if isinstance(x, torch.Tensor) and x.requires_grad]
        ours, theirs = each(getattr(torch.ops.weft, name)(*given)), each(PEERS[name](*given))
        torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
        weights = [random(device, *y.shape, dtype=dtype, grad=False) for y in ours]
        mine = torch.autograd.grad(sum((y * w).sum() for y, w in zip(ours, weights, strict=True)), tensors)
        other = torch.autograd.grad(sum((y * w).sum() for y, w in zip(theirs, weights, strict=True)), tensors)
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_derivatives_by_differences(name: str, device: str) -> None:
    given = inputs(name, device)
    assert torch.autograd.gradcheck(getattr(torch.ops.weft, name), given, atol=1e-4)
    assert torch.autograd.gradgradcheck(getattr(torch.ops.weft, name), given, atol=1e-3)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # opcheck itself asks, of PyTorch 2.14
@pytest.mark.parametrize("device", DEVICES)
def test_pytorch_may_trace_it(name: str, device: str) -> None:
    torch.library.opcheck(getattr(torch.ops.weft, name).default, inputs(name, device))


def test_compiled_as_one_graph() -> None:
    @torch.compile(fullgraph=True, backend="aot_eager")
    def loss(x: Any, w: Any) -> Any:
        return (weft.torch.layer_norm(weft.torch.softmax(x), w) * 2).sum()

    x, w = random("cpu", 3, 5), random("cpu", 5)
    want = (F.layer_norm(x.softmax(-1), (5,), w) * 2).sum()
    found = loss(x, w)
    torch.testing.assert_close(found, want)
    torch.testing.assert_close(torch.autograd.grad(found, (x, w)), torch.autograd.grad(want, (x, w)))


def test_strides_and_short_floats() -> None:
    x = random("cpu", 4, 6, dtype=torch.bfloat16, grad=False).t().requires_grad_()
    for ours, theirs in ((weft.torch.softmax, F.softmax), (weft.torch.log_softmax, F.log_softmax)):
        y, other = ours(x, dim=0), theirs(x, dim=0)
        assert y.dtype == torch.bfloat16
        torch.testing.assert_close(y, other)
        (mine,), (want,) = torch.autograd.grad(y[0].sum(), x), torch.autograd.grad(other[0].sum(), x)
        torch.testing.assert_close(mine, want, atol=1e-2, rtol=1e-2)
