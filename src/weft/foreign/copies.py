"""Copies from and to other libraries' arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.diagnostics import LaunchError
from weft.foreign.arrays import ForeignArray, HostArray
from weft.foreign.order import Ordered
from weft.foreign.read import Unreadable, reader_of
from weft.runtime.buffers import Buffer, DeviceBuffer

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext
    from weft.runtime.driver import Stream


def is_array(end: object) -> bool:
    """Whether an end of a copy is an array of another library than NumPy."""
    return not isinstance(end, Buffer) and not hasattr(end, "__array_interface__") and bool(reader_of(end))


def copy_arrays(context: BaseContext, stream: Stream, dst: Any, src: Any) -> tuple[Any, Any, Ordered]:
    """The ends of a copy as buffers and NumPy arrays, and in what order with their libraries it is queued.

    Raises:
        LaunchError: an array cannot be copied from or to by this context.
    """
    found: list[ForeignArray] = []
    ends = [_end(context, end, name, found) for end, name in ((dst, "dst"), (src, "src"))]
    return ends[0], ends[1], Ordered(context, stream, found, alone=False, recorded=bool(context.recording))


def _end(context: BaseContext, end: Any, name: str, found: list[ForeignArray]) -> Any:
    if not is_array(end):
        return end
    read = reader_of(end)
    assert read is not None
    at = (name, int(name == "src"))
    try:
        array = read(end)
    except Unreadable as wrong:
        raise LaunchError.here("copy-type", f"{name} is {wrong.found}", wrong.hint, at=at) from None
    if not array.is_row_major:
        raise LaunchError.here(
            "copy-contiguous",
            f"{name} is {array.describe()} of shape {array.shape} with strides {array.strides}, "
            "not one contiguous stretch in row-major order",
            f"pass {array.advice.contiguous}",
            at=at,
        )
    if name == "dst" and array.read_only:
        raise LaunchError.here(
            "copy-readonly", f"dst is {array.describe()} and read-only", array.read_only, at=at
        )
    found.append(array)
    if isinstance(array, HostArray):
        return array.numpy()
    array.lend(context)
    memory: Any = array  # what has an address and a number of bytes
    made: DeviceBuffer[Any] = DeviceBuffer(context, array.dtype, memory, array.address, array.size)
    return made
