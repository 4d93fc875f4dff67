"""What Warp, Taichi and shading languages have for vectors and turns, and what to write here."""

from __future__ import annotations

from weft.diagnostics.instead import alike as _all

OF_TURNS = {
    **_all("q.rotate(v)", "quat_rotate transform_vector"),
    "quat_rotate_inv": "q.conjugate().rotate(v)",
    "quat_from_axis_angle": "quat.from_axis_angle(axis, angle), from weft.linalg",
    "quat_identity": "quat.identity(), from weft.linalg",
    "quat_inverse": "q.inverse()",
    "quat_to_matrix": "q.to_matrix()",
    "quat_slerp": "slerp(a, b, t), from weft.linalg",
    "cw_mul": "a * b",
    "cw_div": "a / b",
    "length_sq": "dot(v, v), from weft.linalg",
    "ddot": "sum(a.map(lambda p, q: p * q, b))",
    "randn": "randn(seed, i), from weft.random",
    "randi": "randint(seed, i, low, high), from weft.random",
    "select": "a if condition else b",
    "where": "a if condition else b",
    "identity": "mat33.identity(), from weft.linalg",
    **_all("x - floor(x), with floor of weft.math", "frac fract"),
    **_all("a + (b - a) * t", "lerp mix"),
    "sign": "copysign(1.0, x), from weft.math, which gives 1.0 for 0.0",
    "step": "0.0 if x < edge else 1.0",
    "smoothstep": "t * t * (3.0 - 2.0 * t), with t = clamp((x - a) / (b - a), 0.0, 1.0)",
    "matrix_from_cols": "mat33.from_columns(a, b, c), from weft.linalg",
    "matrix_from_rows": "mat33.from_rows(a, b, c), from weft.linalg",
    **_all(
        "there is none: write its iteration, or take a library's on the host",
        "svd3 svd polar_decompose qr3 eig3",
    ),
}
"""What to write, by name."""

_EVERYDAY = "step select where identity mix frac randn randi".split()
UNMISTAKABLE = {name: text for name, text in OF_TURNS.items() if name not in _EVERYDAY}
"""Those that are said of a name alone, which no program means otherwise."""
