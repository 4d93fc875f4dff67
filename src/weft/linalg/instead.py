"""What others' methods of vectors and matrices are here, where they are functions."""

from __future__ import annotations

from weft.diagnostics.instead import alike

_FUNCTIONS = {
    **alike("normalize({})", "normalized unit"),
    **alike("norm({})", "magnitude mag len"),
    **alike("dot({0}, {0})", "norm_sqr length_sq length_squared norm_squared"),
    "outer_product": "outer({}, other)",
    "T": "transpose({})",
    **{name: name + "({})" for name in ("norm", "length", "normalize", "inverse", "transpose", "trace")},
    **{name: name + "({})" for name in ("determinant", "diag")},
    **{name: name + "({}, other)" for name in ("dot", "cross", "distance", "outer", "reflect")},
}

OF_PARTS = {
    **{name: f"write {text}, from weft.linalg" for name, text in _FUNCTIONS.items()},
    **{name: f"write {name}(*{{}})" for name in ("min", "max")},
    **{name: f"write {name}({{}})" for name in ("sum", "any", "all")},
    **alike("write {}.cast(Float32)", "astype to"),
    "math.": "write {}.map({name}), with {name} of weft.math",
    "+": "go number by number: v.map(lambda p: ...), v.map(lambda p, q: ..., w)",
    **alike("make a vector of it: {kind}(...)", "+list +tuple"),
    "<": "compare their numbers, all(p < q for p, q in zip(a, b)); weft.math.min and max take vectors,"
    " number by number",
}
"""What vectors, matrices and quaternions say."""

OF_VECTORS = {
    **alike("write weft.math.{name}({})", "math. round clamp"),
}
"""What vectors say otherwise: functions of ``weft.math`` take them."""
