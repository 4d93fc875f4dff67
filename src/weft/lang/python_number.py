"""NumPy's scalars among the numbers that are known at compile time."""

from __future__ import annotations

from typing import Any, cast

from weft.lang.maybe import Maybe


def python_number(value: Any) -> Any:
    """A scalar of NumPy as the Python number that it is; anything else as it is.

    NumPy is not imported: what ``table[2]``, ``array.sum()`` and a loop over an array give says itself
    what it is. Like a literal, the number takes the type of what it meets. What may be None becomes the
    value, or None, where it is known which.

    >>> import numpy as np
    >>> python_number(np.int64(3)), python_number(np.float32(0.5)), python_number("3")
    (3, 0.5, '3')
    """
    cls = cast("type[Any]", type(value))
    if cls is int or cls is float:
        return value
    if cls is Maybe:
        return value.narrowed()
    if cls.__module__ == "numpy" and getattr(value, "shape", None) == () and value.dtype.kind in "biuf":
        number = value.item()
        return number if isinstance(number, (bool, int, float)) else float(number)
    return value
