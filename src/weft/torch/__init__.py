"""Operations of ``weft.kernels`` for PyTorch: under autograd, ``torch.compile`` and as ``torch.ops.weft``.

They take and give tensors, where these lie. Forward they are weft's kernels; derivatives are formulas of
PyTorch's own (``weft.torch.derivatives``), which it compiles, and may be derived again. ``weft.kernels``
takes tensors too, and knows nothing of derivatives. PyTorch is optional, and loaded with this module.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

from weft.diagnostics.modules import present
from weft.torch.calls import call
from weft.torch.operations import register_all

__all__ = [
    "attention",
    "cumsum",
    "embedding",
    "layer_norm",
    "log_softmax",
    "matmul",
    "rms_norm",
    "rope",
    "softmax",
]

A = TypeVar("A")

register_all()


def softmax(x: A, dim: int = -1) -> A:
    """``weft.kernels.softmax`` with a derivative.

    Example:
        >>> import torch
        >>> import weft.torch
        >>> x = torch.tensor([0.0, 0.0], requires_grad=True)
        >>> weft.torch.softmax(x)[0].backward()
        >>> x.grad
        tensor([ 0.2500, -0.2500])
    """
    return call("softmax", x, dim)


def log_softmax(x: A, dim: int = -1) -> A:
    """``weft.kernels.log_softmax`` with a derivative."""
    return call("log_softmax", x, dim)


def layer_norm(x: A, weight: A | None = None, bias: A | None = None, *, eps: float = 1e-5) -> A:
    """``weft.kernels.layer_norm`` along the last axis, with derivatives by all three."""
    return call("layer_norm", x, weight, bias, eps)


def rms_norm(x: A, weight: A | None = None, *, eps: float = 1e-6) -> A:
    """``weft.kernels.rms_norm`` along the last axis, with derivatives by both."""
    return call("rms_norm", x, weight, eps)


def cumsum(x: A, dim: int = -1) -> A:
    """``weft.kernels.cumsum`` with a derivative, which is a sum of the same kind."""
    return call("cumsum", x, dim)


def matmul(a: A, b: A) -> A:
    """``weft.kernels.matmul`` with derivatives by both, which are products of the same kind.

    Args:
        a: of shape ``(..., m, k)``, or ``(k,)``: one row, which the result has not.
        b: of shape ``(..., k, n)``, or ``(k,)``; leading axes are broadcast.
    """
    left, right = cast("Any", a), cast("Any", b)
    row, column = (hasattr(x, "unsqueeze") and x.dim() == 1 for x in (left, right))
    made = call("matmul", left.unsqueeze(0) if row else left, right.unsqueeze(1) if column else right)
    made = made.squeeze(-1) if column else made
    return made.squeeze(-1 if column else -2) if row else made


def rope(x: A, cos: A, sin: A, *, interleaved: bool = False) -> A:
    """``weft.kernels.rope`` along the last axis but one, with derivatives by all three."""
    return call("rope", x, cos, sin, interleaved)


def embedding(indices: A, weight: A) -> A:
    """``weft.kernels.embedding`` with a derivative by ``weight``; ``indices`` are integers."""
    return call("embedding", indices, weight)


def attention(q: A, k: A, v: A, *, causal: bool = False, diagonal: int = 0, scale: float | None = None) -> A:
    """``weft.kernels.attention`` with derivatives, for which the scores of all heads are in memory.

    Args:
        q: queries (batch, head, row, feature).
        k: keys, of as many heads or of fewer, each of which serves several.
        v: values, of the shape of ``k``.
        causal: whether row ``i`` meets keys up to ``i + diagonal`` only.
        diagonal: as of ``torch.tril``.
        scale: of scores; by default ``1 / sqrt(features)``.
    """
    of: Any = q
    scale = 1 / math.sqrt(of.shape[-1]) if scale is None else scale
    return call("attention", q, k, v, causal, diagonal, scale)[0]


present(globals())
