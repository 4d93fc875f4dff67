"""``grouped_matmul``: groups of rows, each multiplied by a matrix of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from weft.calls.planned import planned_but
from weft.dtype import DTypeLike
from weft.kernels.copies import contiguous
from weft.kernels.integers import integers
from weft.kernels.operands import Operands
from weft.kernels.products import routes
from weft.kernels.products.call import places_of, result_type
from weft.kernels.products.groups import listed
from weft.kernels.products.problem import Ends, Problem, turned

A = TypeVar("A")


@planned_but("out")
def grouped_matmul(
    a: A,
    b: Any,
    ends: Any,
    out: Any = None,
    *,
    epilogue: Callable[..., Any] | None = None,
    dtype: DTypeLike | None = None,
) -> A:
    """Rows by groups, each of which is multiplied by a matrix of its own: the experts of a transformer.

    Group ``g`` has the rows from ``ends[g - 1]``, or 0, to ``ends[g]``, which are read on the device: nothing
    waits, and all groups are one launch.

    Args:
        a: of shape ``(rows, k)``.
        b: of shape ``(groups, k, n)``, and of the type of ``a``.
        ends: where each group ends, integers that do not fall and do not go beyond the rows; others are told
            by an assertion.
        out: where the result goes, of shape ``(rows, n)``. Rows behind the last group stay as they are; of a
            new result they are zero.
        epilogue: a function of an element, or of it and its row and column, as for ``matmul``.
        dtype: of the result, as for ``matmul``.

    Raises:
        LaunchError: the shapes or types do not fit.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import grouped_matmul
        >>> x, experts = np.ones((3, 2), np.float32), np.arange(8, dtype=np.float32).reshape(2, 2, 2)
        >>> grouped_matmul(x, experts, np.int32([1, 3]))
        array([[ 2.,  4.],
               [10., 12.],
               [10., 12.]], dtype=float32)
    """
    op = Operands("grouped_matmul", a=a, b=b, ends=ends)
    left, right, stops = op["a"], op["b"], integers(op, "ends")
    places = places_of("grouped_matmul", epilogue)
    kind = result_type(left, right, dtype)
    if len(left.shape) != 2 or len(right.shape) != 3 or right.shape[1] != left.shape[1]:
        right.refuse(f"of shape {right.shape}, and a of {left.shape}", "pass (rows, k) and (groups, k, n)")
    rows, (groups, _, n) = left.shape[0], right.shape
    stops.shaped((groups,), "b has as many matrices as")
    target = op.result((rows, n), kind, out)
    if rows and n:
        x, into = (o.seen((1, rows, o.shape[1]), (0, *o.strides)) for o in (left, target))
        stops = contiguous(op, stops)
        problem = Problem(op, x, turned(right), into, Ends(1.0, [], epilogue, places), stops, out is None)
        if groups:
            routes.multiply(problem, tf32=False)
        else:
            listed(problem, stops)
    return op.give(target)
