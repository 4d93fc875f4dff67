"""Operations of ``weft.kernels`` as operations of PyTorch, each registered once with a derivative.

What PyTorch traces is a name, shapes and a formula for the derivative; the launch stays in the operation. So
``torch.compile`` takes it without a graph break, and derivatives may be derived again.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from weft.diagnostics import LaunchError
from weft.torch import batches, derivatives, selections
from weft.torch.calls import call, dispatched, functions, loaded
from weft.torch.operation import Operation, checked, kernel_of, summed_type


def _plain(name: str) -> Callable[..., Any]:
    def run(a: Any, b: Any) -> Any:
        return kernel_of(name)(a, b)

    return run


def _along(name: str) -> Callable[..., Any]:
    def run(x: Any, dim: int) -> Any:
        return kernel_of(name)(x, axis=dim)

    return run


def _same(x: Any, *_: Any) -> Any:
    return x.new_empty(x.shape)


def _same_along(x: Any, dim: int) -> Any:
    checked(x, dim)
    return x.new_empty(x.shape)


def _cumsum_like(x: Any, dim: int) -> Any:
    checked(x, dim)
    return x.new_empty(x.shape, dtype=summed_type(x))


def _norm(name: str, takes_bias: bool) -> Callable[..., Any]:
    def run(x: Any, weight: Any, *rest: Any) -> Any:
        *bias, eps = rest
        return kernel_of(name)(x, weight, *(bias if takes_bias else ()), eps=eps)

    return run


def _matmul_like(a: Any, b: Any) -> Any:
    torch = loaded.torch
    if min(a.dim(), b.dim()) < 2:
        message = f"weft::matmul: tensors of {a.dim()} and {b.dim()} axes, and each has two or more"
        raise LaunchError.here("argument-type", message, "call weft.torch.matmul, which takes vectors too")
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = torch.float32 if a.dtype.is_floating_point else torch.int32  # of products of bytes
    return a.new_empty((*lead, a.shape[-2], b.shape[-1]), dtype=wide if a.dtype.itemsize == 1 else a.dtype)


def _rope(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    return kernel_of("rope")(x, cos, sin, interleaved=interleaved)


def _kept(x: Any, cos: Any, sin: Any) -> tuple[Any, ...]:
    """What the derivative by the angles takes besides them."""
    return (x,) if cos.requires_grad or sin.requires_grad else ()


def _embedding_like(indices: Any, weight: Any) -> Any:
    return weight.new_empty((*indices.shape, weight.shape[1]))


def _attention(q: Any, k: Any, v: Any, causal: bool, diagonal: int, scale: float) -> Any:
    return kernel_of("attention")(q, k, v, causal=causal, diagonal=diagonal, scale=scale, return_lse=True)


def _attention_like(q: Any, *_: Any) -> Any:
    torch = loaded.torch
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    return q.new_empty(q.shape), q.new_empty(q.shape[:-1], dtype=wide)


OPERATIONS: dict[str, Operation] = {
    op.name: op
    for op in (
        Operation(
            "softmax",
            "(Tensor x, int dim) -> Tensor",
            _along("softmax"),
            _same_along,
            lambda given, y: ((y,), (given[1],)),
            derivatives.softmax,
            batches.along_a_dim("softmax"),
        ),
        Operation(
            "log_softmax",
            "(Tensor x, int dim) -> Tensor",
            _along("log_softmax"),
            _same_along,
            lambda given, y: ((y,), (given[1],)),
            derivatives.log_softmax,
            batches.along_a_dim("log_softmax"),
        ),
        Operation(
            "layer_norm",
            "(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor",
            _norm("layer_norm", True),
            _same,
            lambda given, y: (given[:3], given[3:]),
            derivatives.layer_norm,
            batches.by_rows("layer_norm"),
        ),
        Operation(
            "rms_norm",
            "(Tensor x, Tensor? weight, float eps) -> Tensor",
            _norm("rms_norm", False),
            _same,
            lambda given, y: (given[:2], given[2:]),
            derivatives.rms_norm,
            batches.by_rows("rms_norm"),
        ),
        Operation(
            "cumsum",
            "(Tensor x, int dim) -> Tensor",
            _along("cumsum"),
            _cumsum_like,
            lambda given, y: ((), (given[1],)),
            derivatives.cumsum,
            batches.along_a_dim("cumsum"),
        ),
        Operation(
            "matmul",
            "(Tensor a, Tensor b) -> Tensor",
            _plain("matmul"),
            _matmul_like,
            lambda given, y: (given, ()),
            derivatives.matmul,
            batches.matmul,
        ),
        Operation(
            "rope",
            "(Tensor x, Tensor cos, Tensor sin, bool interleaved) -> Tensor",
            _rope,
            _same,
            lambda given, y: ((*given[1:3], *_kept(*given[:3])), given[3:]),
            derivatives.rope,
            batches.by_rows("rope"),
        ),
        Operation(
            "embedding",
            "(Tensor indices, Tensor weight) -> Tensor",
            _plain("embedding"),
            _embedding_like,
            lambda given, y: (given[:1], (given[1].shape[0],)),
            derivatives.embedding,
            batches.by_rows("embedding"),
        ),
        Operation(
            "attention",
            "(Tensor q, Tensor k, Tensor v, bool causal, int diagonal, float scale) -> (Tensor, Tensor)",
            _attention,
            _attention_like,
            lambda given, made: ((*given[:3], *made), given[3:]),
            derivatives.attention,
            batches.attention,
        ),
        *selections.OPERATIONS,
    )
}


def register_all() -> None:
    """Make all operations known to PyTorch, as ``torch.ops.weft``; where there is none, calls are refused."""
    if importlib.util.find_spec("torch") is None:
        return
    loaded.torch = importlib.import_module("torch")
    for op in OPERATIONS.values():
        _register(loaded.torch, op)


def _register(torch: Any, op: Operation) -> None:
    def run(*args: Any) -> Any:
        return op.run(*[a.detach() if isinstance(a, torch.Tensor) else a for a in args])

    def setup(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        tensors, ctx.values = op.saved(inputs, output)
        ctx.save_for_backward(*tensors)

    def backward(ctx: Any, *gradients: Any) -> Any:
        return op.backward(torch, gradients, ctx.saved_tensors, ctx.values)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        message = (
            f"weft.torch.{op.name} has no derivative forward, which torch.func.jvp, jacfwd and hessian take"
        )
        hint = "take those backward: torch.func.jacrev, and jacrev(jacrev(f)) for a hessian"
        raise LaunchError.here("torch-op", message, hint)

    made: Any = torch.library.custom_op(f"weft::{op.name}", run, mutates_args=(), schema=op.schema)
    made.register_fake(op.like)
    made.register_autograd(backward, setup_context=setup)
    made.register_vmap(partial(op.batched, dispatched))
    parts: dict[str, Any] = {"forward": made, "setup_context": setup, "backward": backward, "jvp": jvp}
    parts["vmap"] = partial(op.batched, call)
    static = {name: staticmethod(part) for name, part in parts.items()}
    functions[op.name] = type(op.name, (torch.autograd.Function,), static)
