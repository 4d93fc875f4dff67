"""Layer and RMS norm: rows scaled by what their elements deviate.

Each thread has the count, the mean and the sum of squared deviations of its elements, found in two passes
over registers; those of two are joined by ``weft.algorithm.moments``.
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft import math
from weft.algorithm.moments import Moments, join
from weft.calls.planned import planned_but
from weft.kernels.copies import contiguous
from weft.kernels.normalizing import normalize
from weft.kernels.operands import Operands
from weft.kernels.row_memory import added, by_pairs, masked, type_of
from weft.kernels.scalars import as_number
from weft.lang import Float64

A = TypeVar("A")


class LayerNorm:
    """What ``rows`` asks of an operation."""

    state: Any = Moments

    @staticmethod
    def empty(kind: Any, lanes: int) -> Any:
        """Of no number."""
        zero = kind.splat(lanes, 0)
        return Moments(zero, zero, zero)

    @staticmethod
    def of(values: Any, there: Any, ats: Any) -> Any:
        """Of a thread's vectors."""
        kind: Any = type_of(values[0])
        zeroed = masked(values, there, 0)
        ones = [kind(1) if t is True else t.select(kind(1), kind(0)) for t in there]
        count = by_pairs(added, ones)
        mean = by_pairs(added, zeroed) / math.max(count, kind(1))
        squares = by_pairs(
            added, [(v - mean) * (v - mean) * one for v, one in zip(zeroed, ones, strict=True)]
        )
        return Moments(count, mean, squares), zeroed

    @staticmethod
    def merge(a: Any, b: Any) -> Any:
        """Of the numbers of both."""
        return join(a, b)

    @staticmethod
    def writer(all: Any, own: Any, n: Any, given: Any) -> Any:
        """Makes results of the elements; ``given`` is added to the variance."""
        scale = math.rsqrt(all.squares / all.count + given.cast(type(all.count)))

        def write(kept: Any, by: Any, plus: Any) -> Any:
            return _scaled((kept - all.mean) * scale, by, plus)

        return write


class RMSNorm(LayerNorm):
    """The same of squares alone."""

    state = None

    @staticmethod
    def empty(kind: Any, lanes: int) -> Any:
        """The sum of no squares."""
        return kind.splat(lanes, 0)

    @staticmethod
    def of(values: Any, there: Any, ats: Any) -> Any:
        """The sum of squares."""
        zeroed = masked(values, there, 0)
        return by_pairs(added, [value * value for value in zeroed]), zeroed

    @staticmethod
    def merge(a: Any, b: Any) -> Any:
        """Of the numbers of both."""
        return a + b

    @staticmethod
    def writer(all: Any, own: Any, n: Any, given: Any) -> Any:
        """Makes results of the elements; ``given`` is added to the mean square."""
        scale = math.rsqrt(all / type(all)(n) + given.cast(type(all)))

        def write(kept: Any, by: Any, plus: Any) -> Any:
            return _scaled(kept * scale, by, plus)

        return write


def _scaled(value: Any, by: Any, plus: Any) -> Any:
    value = value if by is None else value * by
    return value if plus is None else value + plus


@planned_but("out", "total")
def layer_norm(
    x: A,
    weight: Any = None,
    bias: Any = None,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    residual: Any = None,
    total: Any = None,
    out: Any = None,
) -> A:
    """Rows with mean 0 and variance 1: ``(x - mean) / sqrt(var + eps) * weight + bias``, along an axis.

    Short floats are Float32 within; the variance is that of the row itself (divided by n).

    Args:
        x: floating, of any shape and strides.
        weight: a number for each place along the axis, floating.
        bias: likewise.
        axis: along which means are taken.
        eps: what is added to the variance.
        residual: of the shape of ``x``, floating: what is added to ``x`` before.
        total: where the sum of both goes, of the shape and type of ``x``; it may be ``x`` or ``residual``.
        out: where the result goes; it may be ``x``.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import layer_norm
        >>> x = np.float32([[1, 2, 3], [10, 10, 40]])
        >>> layer_norm(x, weight=np.float32([1, 1, 2])).round(2)
        array([[-1.22,  0.  ,  2.45],
               [-0.71, -0.71,  2.83]], dtype=float32)
    """
    return _normed("layer_norm", LayerNorm, x, weight, bias, axis, eps, residual, total, out)


@planned_but("out", "total")
def rms_norm(
    x: A,
    weight: Any = None,
    *,
    axis: int = -1,
    eps: float = 1e-6,
    residual: Any = None,
    total: Any = None,
    out: Any = None,
) -> A:
    """Rows with a mean square of 1: ``x / sqrt(mean(x * x) + eps) * weight``. See ``layer_norm``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import rms_norm
        >>> x, stream = np.float32([[3, 4]]), np.float32([[0, 0]])
        >>> rms_norm(x, residual=stream, total=stream).round(3), stream
        (array([[0.849, 1.131]], dtype=float32), array([[3., 4.]], dtype=float32))
    """
    return _normed("rms_norm", RMSNorm, x, weight, None, axis, eps, residual, total, out)


def _normed(
    name: str,
    operation: Any,
    x: Any,
    weight: Any,
    bias: Any,
    axis: int,
    eps: float,
    residual: Any,
    total: Any,
    out: Any,
) -> Any:
    op = Operands(name, x=x, weight=weight, bias=bias, residual=residual)
    source = op["x"].of("float")
    along = op.axis(axis)
    vectors = [op.get("weight"), op.get("bias")]
    for vector in vectors:
        if vector is not None:
            vector.of("float").shaped((source.shape[along],), "along the axis x has")
    more, sums = op.get("residual"), None
    if more is not None:
        more.of("float").shaped(source.shape, "that of x is")
    if total is not None:
        sums = op.result(source.shape, source.dtype, total, name="total", same=[source, more])
    target = op.result(source.shape, source.dtype, out, same=[source])
    weights, biases = [None if vector is None else contiguous(op, vector) for vector in vectors]
    normalize(
        op,
        operation,
        source,
        target,
        along,
        more=more,
        total=sums,
        weight=weights,
        bias=biases,
        given=Float64(as_number(name, "eps", eps, 4)),
    )
    return op.give(target)
