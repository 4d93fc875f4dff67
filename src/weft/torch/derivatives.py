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
    indices = _from_front(torch, indices, rows)  # -1 would be the row without a gradient
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


def sum(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g`` for each element."""
    return _spread(gradients[0], values), None, None


def mean(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g / n`` for each of ``n`` elements."""
    shape, dims, _ = values
    return _spread(gradients[0], values) / math.prod([shape[d] for d in dims]), None, None


def extreme(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g``, in equal parts for each of the elements that are as the result; nan where that is nan."""
    x, y = tensors
    _, dims, _ = values
    if not dims:
        return gradients[0], None, None
    same = x == _spread(y, values)
    return _spread(gradients[0], values) * same / same.sum(dims, keepdim=True), None, None


def prod(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g`` times what stands before an element and what stands behind it, which may be zeros."""
    (x,), (shape, dims, _) = tensors, values
    along = [d % len(shape) for d in dims]
    order = [*(n for n in range(len(shape)) if n not in along), *along]
    if not along:
        return gradients[0], None, None
    rows = _wide(torch, x).permute(order).flatten(len(shape) - len(along))
    one = torch.ones_like(rows[..., :1])
    before = torch.cat((one, rows[..., :-1]), -1).cumprod(-1)
    behind = torch.cat((one, rows.flip(-1)[..., :-1]), -1).cumprod(-1).flip(-1)
    others = (before * behind).reshape([shape[n] for n in order])
    others = others.permute([order.index(n) for n in range(len(order))])
    return (_spread(gradients[0], values) * others).to(x.dtype), None, None


def take(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """For each place the sum of the gradients of what was taken from it."""
    (g,), (indices,), (shape, dim) = gradients, tensors, values
    dim = dim % len(shape)
    rows = _wide(torch, g).reshape(*shape[:dim], -1, *shape[dim + 1 :]) if indices.numel() else g
    made = rows.new_zeros(shape)
    if indices.numel():
        made = made.index_add(dim, _from_front(torch, indices, shape[dim]).reshape(-1), rows)
    return made.to(g.dtype), None, None


def take_along_axis(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """The same for each row."""
    (g,), (indices,), (shape, dim) = gradients, tensors, values
    dim = dim % len(shape)
    wide = _wide(torch, g)
    whole = [*g.shape[:dim], shape[dim], *g.shape[dim + 1 :]]
    places = _from_front(torch, indices, shape[dim]).expand(g.shape)
    return wide.new_zeros(whole).scatter_add(dim, places, wide).sum_to_size(shape).to(g.dtype), None, None


def chosen(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """The gradients where the elements came from."""
    (g, _), (places,), (shape, dim) = gradients, tensors, values
    return g.new_zeros(shape).scatter(dim, places, g), None, None, None


def grouped_matmul(torch: Any, gradients: Given, tensors: Given, values: Given) -> Any:
    """``g @ b.T`` by the same operation; by ``b`` a product for each group over all rows, others being 0."""
    (g,), (a, b, ends) = gradients, tensors
    by_a = call("grouped_matmul", g, b.mT, ends)
    rows = torch.arange(a.shape[0], device=a.device)
    group = torch.searchsorted(ends.contiguous(), rows.to(ends.dtype), right=True)
    own = (group == torch.arange(b.shape[0], device=a.device).unsqueeze(1)).to(a.dtype)
    return by_a, (own.unsqueeze(1) * a.mT) @ g, None


def _spread(y: Any, values: Given) -> Any:
    """A result of a reduction, or its gradient, for each element."""
    shape, dims, keepdim = values
    for d in sorted([d % len(shape) for d in dims] if not keepdim else ()):
        y = y.unsqueeze(d)
    return y.expand(shape)


def _from_front(torch: Any, indices: Any, n: Any) -> Any:
    places = indices.to(torch.int64)
    return torch.where(places < 0, places + n, places)


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
