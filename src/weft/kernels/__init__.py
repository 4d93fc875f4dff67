"""Ready kernels at the card's limit, for arrays of every library.

Each takes arrays of NumPy, PyTorch, CuPy or JAX, and weft's tensors and buffers, of any shape and stride, and
runs where they lie: on a GPU in the order of their library's own work. The result is of the first array's
library, or ``out``. Sums of 16-bit floats are Float32 within, and results are the same bit for bit each time
where the documentation does not say otherwise.

>>> import numpy as np
>>> from weft.kernels import softmax
>>> softmax(np.array([[1.0, 1000.0], [1.0, 0.0]]), axis=0)
array([[0.5, 1. ],
       [0.5, 0. ]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diagnostics.modules import present

if TYPE_CHECKING:
    from weft.kernels.attentions import attention, decode_attention
    from weft.kernels.gathering import embedding, put, put_along_axis, take, take_along_axis
    from weft.kernels.gemvs import gemv
    from weft.kernels.histograms import histogram
    from weft.kernels.norms import layer_norm, rms_norm
    from weft.kernels.permutations import transpose
    from weft.kernels.products.call import matmul
    from weft.kernels.products.grouped import grouped_matmul
    from weft.kernels.quantized import gemv_int4, gemv_int8, pack_int4, unpack_int4
    from weft.kernels.reductions import (
        all,
        any,
        argmax,
        argmin,
        count_nonzero,
        max,
        mean,
        min,
        prod,
        sum,
    )
    from weft.kernels.rotary import rope
    from weft.kernels.scans import cumprod, cumsum, scan
    from weft.kernels.softmaxes import log_softmax, softmax
    from weft.kernels.sorts import argsort, sort, sort_by_key, topk

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "attention",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "decode_attention",
    "embedding",
    "gemv",
    "gemv_int4",
    "gemv_int8",
    "grouped_matmul",
    "histogram",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "min",
    "pack_int4",
    "prod",
    "put",
    "put_along_axis",
    "rms_norm",
    "rope",
    "scan",
    "softmax",
    "sort",
    "sort_by_key",
    "sum",
    "take",
    "take_along_axis",
    "topk",
    "transpose",
    "unpack_int4",
]

_LATER = {
    **dict.fromkeys(("attention", "decode_attention"), "weft.kernels.attentions"),
    **dict.fromkeys(
        ("embedding", "put", "put_along_axis", "take", "take_along_axis"), "weft.kernels.gathering"
    ),
    "histogram": "weft.kernels.histograms",
    "rope": "weft.kernels.rotary",
    **dict.fromkeys(("layer_norm", "rms_norm"), "weft.kernels.norms"),
    "transpose": "weft.kernels.permutations",
    **dict.fromkeys(
        ("all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "sum"),
        "weft.kernels.reductions",
    ),
    "grouped_matmul": "weft.kernels.products.grouped",
    "matmul": "weft.kernels.products.call",
    **dict.fromkeys(("log_softmax", "softmax"), "weft.kernels.softmaxes"),
    **dict.fromkeys(("cumprod", "cumsum", "scan"), "weft.kernels.scans"),
    **dict.fromkeys(("argsort", "sort", "sort_by_key", "topk"), "weft.kernels.sorts"),
    **dict.fromkeys(("gemv",), "weft.kernels.gemvs"),
    **dict.fromkeys(("gemv_int4", "gemv_int8", "pack_int4", "unpack_int4"), "weft.kernels.quantized"),
}
"""Where each operation lies, which is loaded when it is asked for: in no module of its own name."""

_CALLED = {
    "gather": "take_along_axis(x, indices, axis), or take(x, indices, axis)",
    "index_select": "take(x, indices, axis)",
    "scatter": "put_along_axis(x, indices, values, axis), or put(x, indices, values, axis)",
    **dict.fromkeys(("index_put", "index_copy"), "put(x, indices, values, axis)"),
    "scatter_add": "put_along_axis(x, indices, values, axis, add=True), or put",
    "index_add": "put(x, indices, values, axis, add=True)",
    "permute": "transpose(x, axes)",
    "radix_sort": "sort(x), or sort_by_key(keys, values)",
    "sort_pairs": "sort_by_key(keys, values)",
    "reduce": "sum, prod, max, min or mean",
    "amax": "max(x, axis)",
    "amin": "min(x, axis)",
    "bincount": "histogram(x, bins, range=(0, bins))",
    "cummax": 'scan(x, "max")',
    "cummin": 'scan(x, "min")',
    "paged_attention": "decode_attention(q, k, v, page_table=pages, lengths=lengths)",
    "linear": "matmul(x, transpose(weight), bias=bias)",
    "matvec": "gemv(a, x)",
    "dot": "matmul(a, b)",
    "norm": "sum(x * x, axis), and take its root",
    "median": "sort(x, axis), and take the middle of each row",
}
"""What other libraries call what is here."""

present(globals(), _LATER, _CALLED)
