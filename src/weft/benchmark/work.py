"""What a launch of a kernel does, as its author declares it: for ``weft profile`` and its roofline."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

from weft.lang.decorators import Kernel

P = ParamSpec("P")
Amount = float | Callable[P, Any]
"""A number, or a function of a launch's arguments."""

_declared: weakref.WeakKeyDictionary[object, tuple[Amount[...] | None, Amount[...]]] = (
    weakref.WeakKeyDictionary()
)


def declare_work(kernel: Kernel[P], *, flops: Amount[P] = 0, nbytes: Amount[P] | None = None) -> None:
    """Say how much a launch of a kernel computes and moves, which only its author knows.

    ``weft profile`` then tells how near to the device's limits a launch comes. Without it a launch is taken
    to read or write all of its arrays once, and to compute nothing.

    Args:
        kernel: the kernel.
        flops: its operations on floats, a product and a sum being two: a number, or a function that is
            called with a launch's arguments as ``enqueue_function`` got them.
        nbytes: how many bytes of memory it has to move at least, likewise.

    Example:
        >>> from weft import Float32, Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> @kernel
        ... def scale(x: Pointer[Float32], n: Int):
        ...     if global_idx.x < n:
        ...         x[global_idx.x] *= 2.0
        >>> declare_work(scale, flops=lambda x, n: n, nbytes=lambda x, n: 8 * n)
        >>> work_of(scale, (None, 1000), {})
        (8000, 1000)
    """
    _declared[kernel.definition] = (nbytes, flops)


def work_of(
    kernel: Kernel[...], args: tuple[object, ...], named: Mapping[str, object]
) -> tuple[float | None, float]:
    """The bytes and operations of a launch; None for bytes of which nothing was said."""
    nbytes, flops = _declared.get(kernel.definition, (None, 0))
    return _amount(nbytes, args, named) if nbytes is not None else None, _amount(flops, args, named)


def _amount(amount: Amount[...], args: tuple[object, ...], named: Mapping[str, Any]) -> float:
    return amount(*args, **named) if callable(amount) else amount
