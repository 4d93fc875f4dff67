"""Launches over a range: ``ctx.enqueue_function(k, ..., over=(height, width))``.

The kernel is only its per-element body, and ``global_idx`` is the element: x counts along the last
extent, y along the one before, z along the first of three.
"""

from __future__ import annotations

from typing import Any

from weft.gpu.indices import global_idx

__all__ = ["inside"]


def inside(extents: list[Any]) -> Any:
    """Whether this thread's ``global_idx`` lies in the range, whose x extent comes first."""
    indices = (lambda: global_idx.x, lambda: global_idx.y, lambda: global_idx.z)
    result: Any = None
    for index, extent in zip(indices, extents, strict=False):
        here = index() < extent
        result = here if result is None else result & here
    return result
