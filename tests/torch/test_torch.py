"""Operations of ``weft.torch`` beside PyTorch's own: results, derivatives, tracing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
F: Any = torch.nn.functional

import weft.kernels  # noqa: E402
import weft.torch  # noqa: E402
from weft import LaunchError  # noqa: E402
from weft.torch import operations  # noqa: E402
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
        "sum": (of(3, 4, 5), (0, -1), False),
        "mean": (of(3, 4, 5), (1,), True),
        "prod": (of(3, 4, 5), (-1, 0), False),
        "max": (of(3, 4, 5), (1, 2), False),
        "min": (of(3, 4, 5), (-2,), True),
        "take": (of(3, 4, 5), torch.tensor([[0, 3], [-1, 3]], device=device), 1),
        "take_along_axis": (of(3, 1, 5), torch.tensor([[[0], [-1]]] * 3, device=device).roll(1, 0), 1),
        "sort": (of(3, 4, 5), 1, True),
        "topk": (of(3, 4, 5), -1, 3, False),
        "grouped_matmul": (of(6, 4), of(3, 4, 5), torch.tensor([2, 2, 5], device=device)),
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


def prod(x: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    for dim in sorted((d % x.dim() for d in dims), reverse=True):
        x = x.prod(dim, keepdim)
    return x


def take(x: Any, indices: Any, dim: int) -> Any:
    rows = x.index_select(dim, indices.flatten() % x.shape[dim])
    return rows.unflatten(dim, indices.shape)


def take_along_axis(x: Any, indices: Any, dim: int) -> Any:
    return torch.take_along_dim(x, indices % x.shape[dim], dim)


def sort(x: Any, dim: int, descending: bool) -> Any:
    return tuple(torch.sort(x, stable=True, dim=dim, descending=descending))


def topk(x: Any, dim: int, k: int, largest: bool) -> Any:
    return tuple(torch.topk(x, k, dim, largest))


def grouped_matmul(a: Any, b: Any, ends: Any) -> Any:
    limits = [0, *ends.tolist()]
    parts = [a[low:high] @ b[n] for n, (low, high) in enumerate(pairwise(limits))]
    return torch.cat([*parts, a[limits[-1] :] @ torch.zeros_like(b[0])])


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
    "sum": torch.sum,
    "mean": torch.mean,
    "prod": prod,
    "max": torch.amax,
    "min": torch.amin,
    "take": take,
    "take_along_axis": take_along_axis,
    "sort": sort,
    "topk": topk,
    "grouped_matmul": grouped_matmul,
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
        ours, theirs = ([y for y in made if y.is_floating_point()] for made in (ours, theirs))
        weights = [random(device, *y.shape, dtype=dtype, grad=False) for y in ours]
        mine = torch.autograd.grad(sum((y * w).sum() for y, w in zip(ours, weights, strict=True)), tensors)
        other = torch.autograd.grad(sum((y * w).sum() for y, w in zip(theirs, weights, strict=True)), tensors)
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_derivatives_by_differences(name: str, device: str) -> None:
    given = inputs(name, device)
    assert torch.autograd.gradcheck(getattr(torch.ops.weft, name), given, atol=1e-4)
    assert torch.autograd.gradgradcheck(getattr(torch.ops.weft, name), given, atol=1e-3)


def test_derivatives_of_rows_that_meet_no_key() -> None:
    given = (random("cpu", 1, 2, 3, 4), random("cpu", 1, 2, 5, 4), random("cpu", 1, 1, 2, 5, 4)[0])

    def met(q: Any, k: Any, v: Any) -> Any:
        return weft.torch.attention(q, k, v, causal=True, diagonal=-1)

    assert torch.autograd.gradcheck(met, given)
    assert torch.autograd.gradgradcheck(met, given)
    assert torch.autograd.grad(met(*given)[:, :, 0].sum(), given[0])[0].abs().sum() == 0


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


def batched(name: str) -> tuple[tuple[Any, ...], list[int]]:
    """Arguments of an operation, and which are tensors that may have one more axis."""
    given = inputs(name, "cpu")
    tensors = [n for n, x in enumerate(given) if isinstance(x, torch.Tensor)]
    return given, tensors[:2] if name == "grouped_matmul" else tensors  # ends that are turned would fall


def with_batches(given: Any, within: tuple[int, ...]) -> tuple[list[Any], list[int | None]]:
    """These arguments with three in place of one, on an axis of its own, and where that is."""
    dims = [(n % 2 if n in within else None) for n in range(len(given))]
    made = [
        x if dim is None else torch.stack([x.detach().roll(r, 0) for r in range(3)], dim)
        for x, dim in zip(given, dims, strict=True)
    ]
    return made, dims


def test_batches_of_vmap(name: str) -> None:
    given, tensors = batched(name)
    ours, theirs = getattr(torch.ops.weft, name), PEERS[name]
    for within in (c for size in range(1, len(tensors) + 1) for c in combinations(tensors, size)):
        args, dims = with_batches(given, within)
        each_of = [
            [x if d is None else x.select(d, r) for x, d in zip(args, dims, strict=True)] for r in range(3)
        ]
        want = [torch.stack(parts) for parts in zip(*[each(theirs(*a)) for a in each_of], strict=True)]
        torch.testing.assert_close(each(torch.vmap(ours, tuple(dims))(*args)), want, rtol=1e-9, atol=1e-9)


def test_a_batch_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    found: Any = vars(operations)["kernel_of"]

    def counting(name: str) -> Any:
        counted.append(name)
        return found(name)

    monkeypatch.setattr(operations, "kernel_of", counting)
    torch.vmap(weft.torch.softmax)(torch.rand(4, 5))
    torch.vmap(weft.torch.matmul, (0, None))(torch.rand(4, 2, 3), torch.rand(7, 3, 2))
    q = torch.rand(4, 1, 2, 3, 8)
    torch.vmap(weft.torch.attention)(q, q, q)
    assert counted == ["softmax", "matmul", "attention"]
    with pytest.raises(LaunchError, match="softmax: axis is -2, and x has 1 axis"):
        torch.vmap(weft.torch.softmax, (0, None))(torch.rand(4, 5), -2)


def test_transforms_of_torch_func(name: str) -> None:
    given, tensors = batched(name)
    at = tensors[-1] if name == "embedding" else 0
    call = getattr(weft.torch, name)
    names = {"layer_norm": ["eps"], "rms_norm": ["eps"], "rope": ["interleaved"]}
    names |= {"attention": ["causal", "diagonal", "scale"], "topk": ["dim", "k", "largest"]}
    kept = names.get(name, [])
    split = len(given) - len(kept)

    def ours(x: Any) -> Any:
        args = [x if n == at else t.detach() if n in tensors else t for n, t in enumerate(given)]
        made = call(*args[:split], **dict(zip(kept, args[split:], strict=True)))
        return each(made)[0].square().sum()

    def theirs(x: Any) -> Any:
        args = [x if n == at else t.detach() if n in tensors else t for n, t in enumerate(given)]
        return each(PEERS[name](*args))[0].square().sum()

    x = given[at].detach()
    func = torch.func
    torch.testing.assert_close(func.grad(ours)(x), func.grad(theirs)(x))
    torch.testing.assert_close(func.jacrev(func.grad(ours))(x), func.jacrev(func.grad(theirs))(x))
    batch = torch.stack([x, 2 * x])
    torch.testing.assert_close(torch.vmap(func.grad(ours))(batch), torch.vmap(func.grad(theirs))(batch))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch itself calls it here
def test_forward_derivatives_are_refused_rather_than_zero() -> None:
    x = torch.rand(3)
    with pytest.raises(LaunchError, match="softmax has no derivative forward"):
        torch.func.jvp(weft.torch.softmax, (x,), (x,))


def test_compiled_results_of_other_types() -> None:
    def compiled(function: Any, *args: Any) -> Any:
        def and_one(*given: Any) -> Any:
            return function(*given) + 1

        return torch.compile(and_one, fullgraph=True, backend="aot_eager")(*args)

    for kind, wide in ((torch.int32, torch.int64), (torch.bool, torch.int64), (torch.uint8, torch.uint64)):
        x = torch.tensor([1, 1, 0], dtype=kind)
        made = torch.compile(weft.torch.cumsum, fullgraph=True, backend="aot_eager")(x)
        assert (made.dtype, made.tolist()) == (wide, [1, 2, 2])
        with torch._subclasses.FakeTensorMode() as fakes:
            assert torch.ops.weft.cumsum(fakes.from_tensor(x), 0).dtype == wide
    bytes_ = torch.full((2, 2), 100, dtype=torch.int8)
    assert compiled(weft.torch.matmul, bytes_, bytes_).tolist() == [[20001, 20001]] * 2
    a, b = random("cpu", 3, grad=False), random("cpu", 2, 3, 4, grad=False)
    torch.testing.assert_close(compiled(weft.torch.matmul, a, b), a @ b + 1)
    torch.testing.assert_close(compiled(weft.torch.matmul, b.mT, a), b.mT @ a + 1)
    torch.testing.assert_close(compiled(weft.torch.matmul, a, a), a @ a + 1)


def test_derivatives_of_rows_that_are_counted_from_the_end() -> None:
    for kind in (torch.int64, torch.int8):
        weight, places = random("cpu", 3, 2), torch.tensor([0, -1, -1, -3], dtype=kind)
        weft.torch.embedding(places, weight).sum().backward()
        assert weight.grad.tolist() == [[2, 2], [0, 0], [2, 2]]


@pytest.mark.parametrize("interleaved", [False, True])
def test_derivatives_by_angles(interleaved: bool) -> None:
    x, cos, sin = random("cpu", 2, 3, 8), random("cpu", 3, 2), random("cpu", 3, 2)
    turned = partial(weft.torch.rope, interleaved=interleaved)
    for given in ((x, cos, sin), (x.detach(), cos, sin.detach())):
        assert torch.autograd.gradcheck(turned, given)
        assert torch.autograd.gradgradcheck(turned, given)


def test_refusals_show_the_programs_own_line() -> None:
    x = torch.rand(2, 3, requires_grad=True)

    def wrong_axis(t: Any) -> Any:
        return weft.torch.softmax(t, 4).sum()  # told here

    for wrong in (wrong_axis, torch.vmap(wrong_axis), torch.func.grad(wrong_axis)):
        with pytest.raises(LaunchError, match=r"softmax: axis is 4(.|\n)*told here"):
            wrong(x)
    for other in (x.detach().numpy(), [1.0]):
        with pytest.raises(LaunchError, match=r"takes tensors of PyTorch, not an? (ndarray|list)"):
            weft.torch.matmul(x, other)
    row = x.detach()[0]
    with torch._subclasses.FakeTensorMode() as fakes, pytest.raises(LaunchError, match="of 1 and 1 axes"):
        torch.ops.weft.matmul(*[fakes.from_tensor(row)] * 2)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumsum", "sum", "sort"])
def test_an_axis_that_is_not_there_is_told_where_it_is_traced(name: str) -> None:
    traced = torch.compile(partial(getattr(weft.torch, name), dim=2), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=r"dim is 2, and x has 2 axes(.|\n)*write a number from -2 to 1"):
        traced(random("cpu", 2, 3))


def test_axes_that_are_none_are_refused() -> None:
    wrong: list[Any] = ["a", 1.5, (0, "a")]
    for dim in wrong:
        with pytest.raises(LaunchError, match=r"dim is .*(.|\n)*write an int"):
            weft.torch.sum(random("cpu", 2, 3), dim=dim)
    with pytest.raises(LaunchError, match="sum takes tensors of PyTorch, not a list"):
        weft.torch.sum([1.0])
    with pytest.raises(LaunchError, match="names an axis twice"):
        weft.torch.sum(random("cpu", 2, 3), dim=(0, 0))


def test_derivatives_of_equals_zeros_and_nan() -> None:
    equal = torch.tensor([[1.0, 3, 3], [2, 2, 2], [1, torch.nan, 0]], dtype=torch.float64)
    zeros = torch.tensor([[0.0, 2, 3], [0, 4, 0], [1, 2, 3]], dtype=torch.float64)
    places = torch.tensor([3, -1, 3])

    def sorted_by(x: Any, dim: int) -> Any:
        return weft.torch.sort(x, dim)[0]

    def sorted_too(x: Any, dim: int) -> Any:
        return torch.sort(x, stable=True, dim=dim)[0]

    def taken(x: Any, _: int) -> Any:
        return weft.torch.take(x, places)

    def taken_too(x: Any, _: int) -> Any:
        return x.flatten()[places]

    works: list[tuple[Any, Any, Any]] = [
        (weft.torch.max, torch.amax, equal),
        (weft.torch.min, torch.amin, equal),
        (weft.torch.prod, torch.prod, zeros),
        (sorted_by, sorted_too, equal),
        (taken, taken_too, zeros),
    ]
    for ours, theirs, values in works:
        found: list[Any] = []
        for work in (ours, theirs):
            x = values.clone().requires_grad_()
            made = work(x, 1)
            made.backward(random("cpu", *made.shape, grad=False))
            found.append((made, x.grad))
        torch.testing.assert_close(found[0], found[1], equal_nan=True)
    x = zeros.requires_grad_()
    assert torch.autograd.gradgradcheck(partial(weft.torch.prod, dim=(0, 1)), (x,))


def test_the_cure_of_complex_tensors_works() -> None:
    x = torch.view_as_complex(random("cpu", 2, 3, 2, grad=False))
    with pytest.raises(LaunchError, match=r"pass torch.view_as_real\(x\)"):
        weft.kernels.transpose(x)
    made = weft.kernels.transpose(torch.view_as_real(x), (1, 0, 2))
    torch.testing.assert_close(torch.view_as_complex(made), x.T)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_tensors_without_elements_in_memory_are_refused() -> None:
    nested: Any = torch.nested
    for layout in (torch.strided, torch.jagged):
        parts = nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
        with pytest.raises(LaunchError, match=r"x is a nested torch.Tensor(.|\n)*x.unbind\(\)"):
            weft.kernels.sum(parts)
    zeros: Any = torch._efficientzerotensor((3,))  # as derivatives that are zero
    for _ in range(2):
        with pytest.raises(LaunchError, match=r"zeros without memory(.|\n)*x.clone\(\)"):
            weft.kernels.sum(zeros)
    assert weft.kernels.sum(zeros.clone()).item() == 0


def test_arguments_of_another_type_are_told_at_the_programs_line() -> None:
    made: Any = weft.torch
    x: Any = random("cpu", 3, 4, grad=False)
    four: Any = random("cpu", 1, 1, 2, 2, grad=False)
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: made.softmax(x, 1.0), "softmax: dim takes an int, not a float"),
        (lambda: made.topk(x, 1.0), "topk: k takes an int, not a float"),
        (lambda: made.layer_norm(x, 3.0), "weight takes a tensor or None, not a float"),
        (lambda: made.sort(x, -1, "no"), "sort: descending is 'no'"),
        (lambda: made.sum(x, 0, "no"), "sum: keepdim is 'no'"),
        (lambda: made.topk(x, 1, largest=0), "topk: largest is 0"),
        (lambda: made.attention(four, four, four, causal=1), "attention: causal is 1"),
        (lambda: torch.vmap(partial(made.softmax, dim=1.0))(x), "softmax: dim takes an int"),
    ]
    for call, words in wrong:
        with pytest.raises(LaunchError, match=words) as told:
            call()
        assert "test_torch.py" in str(told.value)
