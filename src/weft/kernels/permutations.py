"""Arrays with their axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError
from weft.kernels.copies import copy
from weft.kernels.operands import Operands

A = TypeVar("A")


@planned_but("out")
def transpose(x: A, axes: Sequence[int] | None = None, *, out: Any = None) -> A:
    """The elements with the axes in another order, as ``numpy.transpose``, in memory of their own.

    Args:
        x: an array of elements of 1, 2, 4, 8 or 16 bytes, of any shape and strides.
        axes: which axis of ``x`` each axis of the result is; in the opposite order without it.
        out: where the result goes, of any strides.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import transpose
        >>> transpose(np.arange(6).reshape(2, 3))
        array([[0, 3],
               [1, 4],
               [2, 5]])
        >>> transpose(np.zeros((2, 3, 4)), (0, 2, 1)).shape
        (2, 4, 3)
    """
    op = Operands("transpose", x=x)
    source = op["x"]
    rank = len(source.shape)
    order = range(rank - 1, -1, -1) if axes is None else op.axes(axes, name="axes")
    if len(order) != rank:
        message = f"transpose: axes are {tuple(order)}, and x has {rank}"
        raise LaunchError.here("argument-type", message, "name each axis of x once", at=("axes", 1))
    shape = tuple(source.shape[n] for n in order)
    target = op.result(shape, source.dtype, out)
    copy(op, source.seen(shape, tuple(source.strides[n] for n in order)), target)
    return op.give(target)
