"""Operations of ``weft.kernels`` for PyTorch: under autograd, ``torch.compile`` and as ``torch.ops.weft``.

They take and give tensors, where these lie. Forward they are weft's kernels; derivatives are formulas of
PyTorch's own (``weft.torch.derivatives``), which it compiles, and may be derived again. ``weft.kernels``
takes tensors too, and knows nothing of derivatives. PyTorch is optional, and loaded with this module.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

from weft.diagnostics import LaunchError
from weft.diagnostics.flags import as_flag
from weft.diagnostics.modules import present
from weft.torch.calls import call
from weft.torch.operations import register_all

__all__ = [
    "attention",
    "cumsum",
    "embedding",
    "grouped_matmul",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "min",
    "prod",
    "rms_norm",
    "rope",
    "softmax",
    "sort",
    "sum",
    "take",
    "take_along_axis",
    "topk",
]

A = TypeVar("A")
Dims = int | tuple[int, ...] | None
"""An axis, several, or None for all."""

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
    return call("rope", x, cos, sin, _flag("rope", "interleaved", interleaved))


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
    return call("attention", q, k, v, _flag("attention", "causal", causal), diagonal, scale)[0]


def grouped_matmul(a: A, b: A, ends: A) -> A:
    """``weft.kernels.grouped_matmul`` with derivatives by both; by ``b`` each group goes over all rows.

    Args:
        a: of shape ``(rows, k)``.
        b: of shape ``(groups, k, n)``.
        ends: where each group ends, integers that do not fall.
    """
    return call("grouped_matmul", a, b, ends)


def sum(x: A, dim: Dims = None, keepdim: bool = False) -> A:
    """``weft.kernels.sum`` with a derivative.

    Example:
        >>> import torch
        >>> import weft.torch
        >>> x = torch.ones(2, 3, requires_grad=True)
        >>> weft.torch.sum(x, dim=1)[0].backward()
        >>> x.grad.tolist()
        [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    return call("sum", x, _axes(x, dim), _flag("sum", "keepdim", keepdim))


def mean(x: A, dim: Dims = None, keepdim: bool = False) -> A:
    """``weft.kernels.mean`` with a derivative."""
    return call("mean", x, _axes(x, dim), _flag("mean", "keepdim", keepdim))


def prod(x: A, dim: Dims = None, keepdim: bool = False) -> A:
    """``weft.kernels.prod`` with a derivative, also where there are zeros."""
    return call("prod", x, _axes(x, dim), _flag("prod", "keepdim", keepdim))


def max(x: A, dim: Dims = None, keepdim: bool = False) -> A:
    """``weft.kernels.max`` with a derivative, which equals share, as of ``torch.amax``."""
    return call("max", x, _axes(x, dim), _flag("max", "keepdim", keepdim))


def min(x: A, dim: Dims = None, keepdim: bool = False) -> A:
    """``weft.kernels.min`` with a derivative, which equals share, as of ``torch.amin``."""
    return call("min", x, _axes(x, dim), _flag("min", "keepdim", keepdim))


def take(x: A, indices: A, dim: int | None = None) -> A:
    """``weft.kernels.take`` with a derivative by ``x``; None for all elements in row-major order."""
    of: Any = x
    flat = dim is None and hasattr(of, "reshape")
    return call("take", of.reshape(-1) if flat else x, indices, dim or 0)


def take_along_axis(x: A, indices: A, dim: int = -1) -> A:
    """``weft.kernels.take_along_axis`` with a derivative by ``x``."""
    return call("take_along_axis", x, indices, dim)


def sort(x: A, dim: int = -1, descending: bool = False) -> tuple[A, A]:
    """The elements of each row in order, with a derivative, and their places. Nan comes last."""
    return call("sort", x, dim, _flag("sort", "descending", descending))


def topk(x: A, k: int, dim: int = -1, largest: bool = True) -> tuple[A, A]:
    """``weft.kernels.topk`` with a derivative of the elements."""
    return call("topk", x, dim, k, _flag("topk", "largest", largest))


def _flag(operation: str, name: str, given: Any) -> bool:
    return given if isinstance(given, bool) else as_flag(operation, name, given)


def _axes(x: Any, dim: Any) -> tuple[Any, ...]:
    if dim is None:
        return tuple(range(x.dim() if hasattr(x, "dim") else 0))
    axes = tuple(cast("tuple[Any, ...]", dim)) if isinstance(dim, (tuple, list)) else (dim,)
    if not all(isinstance(axis, int) for axis in axes):
        hint = "write an int, or ints as a tuple"
        raise LaunchError.here("argument-type", f"dim is {dim!r}", hint, at=("dim", 1))
    return axes


present(globals())
