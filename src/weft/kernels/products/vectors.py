"""Products of which one side is a vector, whose time is that of reading the other: ``gemv`` makes them."""

from __future__ import annotations

from weft.kernels import gemvs
from weft.kernels.products.problem import Problem

_MOST = 65535
"""Blocks along z of a grid."""


def takes(problem: Problem) -> bool:
    """Whether a product is one of these: of one row or column, of floats that nothing becomes of."""
    (m, n, k, z), ends, dtype = problem.extents, problem.ends, problem.a.dtype
    bare = not ends.terms and ends.alpha == 1 and ends.epilogue is None
    one = 1 in (m, n) and k > 0 and z <= _MOST and problem.groups is None
    return one and bare and dtype.is_float and dtype.bits > 8 and problem.out.dtype is dtype


def multiply(problem: Problem) -> None:
    """Queue the products."""
    op, a, b, out = problem.op, problem.a, problem.b, problem.out
    axis = 1 if problem.extents[1] == 1 else 2  # of the result, along which it is a vector
    matrix, vector = (a, b) if axis == 1 else (b, a)
    z, (_, rows, k) = problem.extents[3], matrix.shape
    gemvs.multiply(
        op,
        matrix.seen((z, rows, k), matrix.strides),
        vector.seen((z, k), (vector.strides[0], vector.strides[2])),
        out.seen((z, rows), (out.strides[0], out.strides[axis])),
    )
