"""Operations of ``weft.kernels`` as operations of PyTorch, each registered once with a derivative.

What PyTorch traces is a name, shapes and a formula for the derivative; the launch stays in the operation. So
``torch.compile`` takes it without a graph break, and derivatives may be derived again.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from weft.diagnostics import LaunchError
from weft.record import record
from weft.torch import derivatives


@record
class Operation:
    """What PyTorch is told of one."""

    name: str
    schema: str
    run: Callable[..., Any]
    """Of tensors that know nothing of derivatives."""
    like: Callable[..., Any]
    """Of the same arguments: new tensors of the result's shape and type."""
    saved: Callable[[Sequence[Any], Any], tuple[Any, Any]]
    """Of the inputs and the result: the tensors and the values that the derivative takes."""
    backward: Callable[..., Any]
    """Of the result's gradients and these: the gradients of the inputs."""


def _kernel(name: str) -> Callable[..., Any]:
    return getattr(importlib.import_module("weft.kernels"), name)


def _plain(name: str) -> Callable[..., Any]:
    def run(a: Any, b: Any) -> Any:
        return _kernel(name)(a, b)

    return run


def _along(name: str) -> Callable[..., Any]:
    def run(x: Any, dim: int) -> Any:
        return _kernel(name)(x, axis=dim)

    return run


def _same(x: Any, *_: Any) -> Any:
    return x.new_empty(x.shape)


def _norm(name: str, takes_bias: bool) -> Callable[..., Any]:
    def run(x: Any, weight: Any, *rest: Any) -> Any:
        *bias, eps = rest
        return _kernel(name)(x, weight, *bias, eps=eps) if takes_bias else _kernel(name)(x, weight, eps=eps)

    return run


def _matmul_like(a: Any, b: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*lead, a.shape[-2], b.shape[-1]))


def _rope(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    return _kernel("rope")(x, cos, sin, interleaved=interleaved)


def _embedding_like(indices: Any, weight: Any) -> Any:
    return weight.new_empty((*indices.shape, weight.shape[1]))


def _attention(q: Any, k: Any, v: Any, causal: bool, diagonal: int, scale: float) -> Any:
    return _kernel("attention")(q, k, v, causal=causal, diagonal=diagonal, scale=scale, return_lse=True)


def _attention_like(q: Any, *_: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    return q.new_empty(q.shape), q.new_empty(q.shape[:-1], dtype=wide)


OPERATIONS: dict[str, Operation] = {
    op.name: op
    for op in (
        Operation(
            "softmax",
            "(Tensor x, int dim) -> Tensor",
            _along("softmax"),
            _same,
            lambda given, y: ((y,), (given[1],)),
            derivatives.softmax,
        ),
        Operation(
            "log_softmax",
            "(Tensor x, int dim) -> Tensor",
            _along("log_softmax"),
            _same,
            lambda given, y: ((y,), (given[1],)),
            derivatives.log_softmax,
        ),
        Operation(
            "layer_norm",
            "(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor",
            _norm("layer_norm", True),
            _same,
            lambda given, y: (given[:3], given[3:]),
            derivatives.layer_norm,
        ),
        Operation(
            "rms_norm",
            "(Tensor x, Tensor? weight, float eps) -> Tensor",
            _norm("rms_norm", False),
            _same,
            lambda given, y: (given[:2], given[2:]),
            derivatives.rms_norm,
        ),
        Operation(
            "cumsum",
            "(Tensor x, int dim) -> Tensor",
            _along("cumsum"),
            _same,
            lambda given, y: ((), (given[1],)),
            derivatives.cumsum,
        ),
        Operation(
            "matmul",
            "(Tensor a, Tensor b) -> Tensor",
            _plain("matmul"),
            _matmul_like,
            lambda given, y: (given, ()),
            derivatives.matmul,
        ),
        Operation(
            "rope",
            "(Tensor x, Tensor cos, Tensor sin, bool interleaved) -> Tensor",
            _rope,
            _same,
            lambda given, y: (given[1:3], given[3:]),
            derivatives.rope,
        ),
        Operation(
            "embedding",
            "(Tensor indices, Tensor weight) -> Tensor",
            _plain("embedding"),
            _embedding_like,
            lambda given, y: (given[:1], (given[1].shape[0],)),
            derivatives.embedding,
        ),
        Operation(
            "attention",
            "(Tensor q, Tensor k, Tensor v, bool causal, int diagonal, float scale) -> (Tensor, Tensor)",
            _attention,
            _attention_like,
            lambda given, made: ((*given[:3], *made), given[3:]),
            derivatives.attention,
        ),
    )
}


class _Missing:
    """In place of the operations, where there is no PyTorch."""

    def __getattr__(self, name: str) -> Any:
        hint = "install it: pip install torch"
        raise LaunchError.here("torch-op", "weft.torch needs PyTorch, which is not installed", hint)


def register_all() -> Any:
    """All operations by their names: ``torch.ops.weft``."""
    if importlib.util.find_spec("torch") is None:
        return _Missing()
    torch: Any = importlib.import_module("torch")
    for op in OPERATIONS.values():
        _register(torch, op)
    return torch.ops.weft


def _register(torch: Any, op: Operation) -> None:
    def run(*args: Any) -> Any:
        return op.run(*[a.detach() if isinstance(a, torch.Tensor) else a for a in args])

    def setup(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        tensors, ctx.values = op.saved(inputs, output)
        ctx.save_for_backward(*tensors)

    def backward(ctx: Any, *gradients: Any) -> Any:
        return op.backward(torch, gradients, ctx.saved_tensors, ctx.values)

    made: Any = torch.library.custom_op(f"weft::{op.name}", run, mutates_args=(), schema=op.schema)
    made.register_fake(op.like)
    made.register_autograd(backward, setup_context=setup)
