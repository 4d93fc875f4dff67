"""What others' functions and methods of tiles are here."""

from __future__ import annotations

from weft.diagnostics.instead import alike

ELSEWHERE = {
    "relu": "weft.math.max(x, 0.0)",
    "maximum": "weft.math.max(x, y)",
    **alike("weft.math.clamp(x, low, high)", "clip clamp"),
    "minimum": "weft.math.min(x, y)",
    **alike("1.0 / (1.0 + exp(-x)), with exp of weft.math", "sigmoid"),
    "softmax": "the five lines: p = exp(x - x.max(axis=1)), then p / p.sum(axis=1)",
    "log_softmax": "y = x - x.max(axis=1), then y - log(exp(y).sum(axis=1))",
    **alike("x.sum(axis=1) / n, with n elements in a row", "mean"),
    **alike("x.reduce(lambda a, b: a * b, axis=1)", "prod"),
    **alike("x.shape, and multiply; len(x) is how many this thread holds", "size numel"),
    **alike("len(x.shape)", "ndim rank"),
    **alike("x.transpose()", "trans permute swapaxes T"),
    **alike("x.cast(Float16)", "astype to"),
    **alike("x.scan(lambda a, b: ...)", "associative_scan cumprod"),
    **alike("x.reshape(m, n); extents of 1 spread out by themselves", "view broadcast_to expand_dims"),
    **alike(
        "the number itself: layouts and strides say the rest",
        "multiple_of max_contiguous max_constancy assume",
    ),
    **alike(
        "a LayoutTensor: tile.load(x, (i, j), (64, 64))", "make_block_ptr make_tensor_descriptor advance"
    ),
    **alike("sort, from weft.kernels, or block.radix_sort(v), from weft.gpu", "sort topk argsort"),
    **alike("tile.gather(x, n - 1 - tile.arange(n))", "flip"),
    **alike("tile.atomic_add(counts, t, 1), of a tensor of counts", "histogram"),
    **alike("t.map(lambda i: randint(seed, i, low, high)), with randint of weft.random", "randint randint4x"),
    **alike("tile.store of each part: tiles are not joined", "cat join interleave concatenate stack"),
}
"""Functions and methods alike."""

OF_MODULE = {
    **ELSEWHERE,
    "program_id": "block_idx.x, from weft.gpu",
    "num_programs": "grid_dim.x, from weft.gpu",
    "cdiv": "ceildiv(a, b), from weft.math",
    "next_power_of_2": "tile.power_of_two(n)",
    "static_range": "unroll(range(n)), from weft",
    "constexpr": "Comptime[int], of a parameter behind the star",
    "static_assert": "constrained(condition, message), from weft",
    "device_assert": "assert condition, message",
    "device_print": "print(...)",
    "static_print": "print(...), in a helper",
    "debug_barrier": "barrier(), from weft.gpu",
    "atomic_cas": "Atomic.compare_exchange(pointer, expected, desired), from weft.atomic",
    "rand": "tile.arange(n).map(lambda i: rand(seed, i)), with rand of weft.random",
}
"""What Triton has in its module."""

OF_TILES = {
    **{name: f"write {text}" for name, text in ELSEWHERE.items()},
    "math.": "write weft.math.{name}({})",
    "@": "write tile.dot(a, b)",
    "[]=": "make another: tile.where(tile.arange(n) == i, x, {}), whose i-th element is x",
    **alike(
        "leave it out: a reduction along an axis keeps it, with extent 1, and t[:, 0] takes it away",
        "keepdims= keepdim= keep_dims=",
    ),
}
"""What a ``Tile`` says."""

OF_ARGUMENTS = alike(
    "leave it out: beyond the edges is other=; else tile.where(mask, t, 0.0) of what is loaded",
    "mask= other=",
)
"""Arguments that its functions have elsewhere."""
