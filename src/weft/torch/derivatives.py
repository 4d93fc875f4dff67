"""The derivatives of operations, by formulas of PyTorch's own, which it compiles and derives further.

Each is given PyTorch, the gradients of the results, and the tensors and the values that were kept. Sums of
16-bit floats are Float32 within.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft.torch.calls import call

Given = Sequence[Any]


def softmax(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``y * (g - sum(g * y))``."""
    (g,), (y,), (dim,) = gradients, tensors, values
    wide_g, wide_y = _wide(torch, g), _wide(torch, y)
    return (wide_y * (wide_g - (wide_g * wide_y).sum(dim, keepdim=True))).to(y.dtype), None


def log_softmax(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g - exp(y) * sum(g)``."""
    (g,), (y,), (dim,) = gradients, tensors, values
    wide_g, wide_y = _wide(torch, g), _wide(torch, y)
    return (wide_g - wide_y.exp() * wide_g.sum(dim, keepdim=True)).to(y.dtype), None


def layer_norm(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """With ``n`` the normalized row, ``h = g * weight``: ``(h - mean(h) - n * mean(h * n)) / deviation``."""
    x, weight, bias = tensors
    wide = _wide(torch, x)
    wide = wide - wide.mean(-1, keepdim=True)
    along, dweight, g = _normed(torch, gradients[0], wide, x, weight, values[0], centred=True)
    dbias = None if bias is None else _over_rows(g).to(bias.dtype)
    return along, dweight, dbias, None


def rms_norm(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """With ``n`` the normalized row, ``h = g * weight``: ``(h - n * mean(h * n)) / rms``."""
    x, weight = tensors
    along, dweight, _ = _normed(torch, gradients[0], _wide(torch, x), x, weight, values[0], centred=False)
    return along, dweight, None


def cumsum(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """Sums from the other end, by the same operation."""
    (g,), (dim,) = gradients, values
    return call("cumsum", g.flip(dim), dim).flip(dim), None


def matmul(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g @ b.T`` and ``a.T @ g``, by the same operation, added up where a leading axis was broadcast."""
    (g,), (a, b) = gradients, tensors
    by_a, by_b = call("matmul", g, b.mT), call("matmul", a.mT, g)
    return by_a.sum_to_size(a.shape), by_b.sum_to_size(b.shape)


def rope(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """Turned back: by the same angles, negative; ``x`` is kept where the angles have a derivative."""
    (g,), (cos, sin, *kept), (interleaved,) = gradients, tensors, values
    along = call("rope", g, cos, -sin, interleaved)
    if not kept:
        return along, None, None, None
    (x1, x2), (g1, g2) = (_pairs(_wide(torch, t), cos.shape[-1], interleaved) for t in (*kept, g))
    dcos, dsin = g1 * x1 + g2 * x2, g2 * x1 - g1 * x2
    return along, dcos.sum_to_size(cos.shape).to(cos.dtype), dsin.sum_to_size(sin.shape).to(sin.dtype), None


def embedding(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """For each row of the weights the sum of the gradients where it was taken, as PyTorch has it."""
    (g,), (indices,), (rows,) = gradients, tensors, values
    indices = indices.to(torch.int64)
    indices = torch.where(indices < 0, indices + rows, indices)  # -1 would be the row without a gradient
    return None, torch.ops.aten.embedding_dense_backward(g, indices, rows, -1, False)


def attention(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``P = exp(scores - lse)``, ``dV = P.T @ g``, ``dS = P * (g @ V.T - sum(g * out) + g_lse)``.

    The scores of all heads are in memory meanwhile.
    """
    q, k, v, out, lse = tensors
    causal, diagonal, scale = values
    g, g_lse = (None if one is None else _wide(torch, one) for one in gradients)
    groups = q.shape[1] // k.shape[1]
    wide_q, wide_out = _wide(torch, q), _wide(torch, out)
    wide_k, wide_v = (_wide(torch, t).repeat_interleave(groups, 1) for t in (k, v))
    scores = wide_q @ wide_k.mT * scale
    if causal:
        met = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(diagonal)
        scores = torch.where(met, scores, -math.inf)
        lse = torch.where(lse == -math.inf, 0, lse)  # of rows that meet no key: no inf times 0
    weights = (scores - lse.unsqueeze(-1)).exp()
    if g is None:
        g = torch.zeros_like(wide_out)
    inner = g @ wide_v.mT - (g * wide_out).sum(-1, keepdim=True)
    if g_lse is not None:
        inner = inner + g_lse.unsqueeze(-1)
    dscores = weights * inner * scale
    heads = (k.shape[0], k.shape[1], groups, k.shape[2], k.shape[3])
    dk = (dscores.mT @ wide_q).reshape(heads).sum(2).to(k.dtype)
    dv = (weights.mT @ g).reshape(heads).sum(2).to(v.dtype)
    return (dscores @ wide_k).to(q.dtype), dk, dv, None, None, None


def _wide(torch: Any, x: Any) -> Any:
    return x if x.dtype == torch.float64 else x.to(torch.float32)


def _pairs(x: Any, k: int, interleaved: bool) -> tuple[Any, Any]:
    """The features that are turned, as the first and the second ones of their pairs."""
    x = x[..., : 2 * k]
    return (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :k], x[..., k:])


def _over_rows(g: Any) -> Any:
    return g.reshape(-1, g.shape[-1]).sum(0)


def _normed(
    torch: Any, g: Any, row: Any, x: Any, weight: Any, eps: float, *, centred: bool
) -> tuple[Any, Any, Any]:
    """The gradients of a row and of its weights, and the result's; of a row whose mean is taken off."""
    factor = (row.square().mean(-1, keepdim=True) + eps).rsqrt()
    normed, g = row * factor, _wide(torch, g)
    inner = g if weight is None else g * _wide(torch, weight)
    dx = inner - normed * (inner * normed).mean(-1, keepdim=True)
    if centred:
        dx = dx - inner.mean(-1, keepdim=True)
    dweight = None if weight is None else _over_rows(g * normed).to(weight.dtype)
    return (dx * factor).to(x.dtype), dweight, g
