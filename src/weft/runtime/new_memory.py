"""New memory for elements of a type, and what is refused of types and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from weft.diagnostics import LaunchError
from weft.dtype import DType, as_dtype, dtype_hint
from weft.runtime.allocation import Allocation
from weft.runtime.dim import as_index

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext


def allocate(
    context: BaseContext, like: Any, size: SupportsIndex, *, host: bool
) -> tuple[DType, Allocation, int, int]:
    """Memory for so many elements of a type: the type, the memory, where it begins, how many they are."""
    device = context.device
    if context.recording is not None:
        raise LaunchError.here(
            "capture-allocate",
            "a capture allocates no memory: a graph uses the same memory at every replay",
            "create buffers before the `with ctx.capture() as graph:` block",
        )
    try:
        dtype = as_dtype(like)
    except TypeError as error:
        raise LaunchError.here(
            "buffer-dtype", str(error), _element_hint(like, size), at=("dtype", 0)
        ) from error
    count = as_index(size)
    if count is None:
        raise LaunchError.here(
            "buffer-size",
            f"a buffer's size is its number of elements, an int; {size!r} is none",
            "write their product, or make what has a shape: Tensor(Float32, (m, n), ctx)"
            if isinstance(size, (tuple, list))
            else "divide with `//` and convert with `int(...)`",
            at=("size", 1),
        )
    if count < 0:
        raise LaunchError.here(
            "buffer-size",
            f"a buffer cannot have {count} elements",
            "write a size of 0 or more",
            at=("size", 1),
        )
    allocation = Allocation(device, count * dtype.itemsize, host=host)
    return dtype, allocation, allocation.address, count


def _element_hint(like: object, size: object) -> str:
    """What to write instead of ``like`` as the type of ``size`` elements."""
    if isinstance(like, int) and isinstance(size, (type, str)):
        return "write the element type first, then the number of elements"
    return dtype_hint(like)
