"""Another library's array as memory: where it is, of what type and shape, on which stream it is used."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.config import settings
from weft.diagnostics import LaunchError, a_
from weft.dtype import DType
from weft.lang.number import type_name
from weft.runtime.host_buffer import array_over

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft.runtime.context import BaseContext


class ForeignArray:
    """Memory of another library's array. It takes the place of a buffer."""

    __slots__ = (
        "address",
        "advice",
        "api",
        "device_id",
        "dtype",
        "hold",
        "made_by",
        "nbytes",
        "owner",
        "read_only",
        "shape",
        "size",
        "stream",
        "stream_owner",
        "strides",
    )

    def __init__(
        self,
        owner: object,
        address: int,
        dtype: DType,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        *,
        made_by: str,
        advice: Advice,
        api: str | None = None,
        device_id: int | None = 0,
        stream: int | None = None,
        stream_owner: object = None,
        hold: bool = True,
        read_only: str = "",
    ) -> None:
        self.owner: object = owner
        """What keeps the memory alive."""
        self.address: int = address
        self.dtype: DType = dtype
        self.shape: tuple[int, ...] = shape
        self.strides: tuple[int, ...]
        self.size: int
        self.strides, self.size = _compact(shape, strides)
        self.nbytes: int = self.size * dtype.itemsize
        self.made_by: str = made_by
        """How a message names the array's type."""
        self.advice: Advice = advice
        self.api: str | None = api
        """The API whose memory it is; None for memory of the host."""
        self.device_id = device_id
        """The device's number; None where only its driver knows."""
        self.stream: int | None = stream
        """The driver's handle of the stream on which the library uses the array now."""
        self.stream_owner: object = stream_owner
        self.hold: bool = hold
        """Whether the library may reuse the memory while queued work still uses it."""
        self.read_only: str = read_only
        """Where nobody may write to it: what to do instead."""

    def __len__(self) -> int:
        """How many elements the memory spans."""
        return self.size

    @property
    def allocation(self) -> ForeignArray:
        """The memory: what has ``address`` and ``nbytes``."""
        return self

    @property
    def place(self) -> str:
        """Where the memory is, in words."""
        return "the host" if self.api is None else f"{self.api}:{self.device_id}"

    def describe(self) -> str:
        """The array, in words."""
        return f"{a_(self.made_by)} of {type_name(self.dtype)}"

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are one contiguous stretch in row-major order."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if stride != expected:
                return 0 in self.shape
            expected *= extent
        return True

    def misplaced(self, context: BaseContext) -> tuple[str, str] | None:
        """Where the memory is and what to do instead, if a launch of a context cannot use it."""
        here = f"{context.api}:{context.id}"
        if self.api is None:
            if context.info.shares_host:
                return None
            if context.recording is not None:
                return self.place, f"a graph copies no arrays: before the capture, {self.to_device(here)}"
            return None if settings().host_arrays == "copy" else (self.place, self.to_device(here))
        if self.device_id is None:  # a context's own where nothing tells
            alike = self.api == context.api and self.address
            self.device_id = context.device.owner_of(self.address) if alike else context.id
        if self.api == context.api and self.device_id == context.id:
            return None
        if context.info.shares_host:
            return self.place, self.advice.to_host + ", or use a DeviceContext of the GPU"
        other = f"use DeviceContext({self.device_id}), or "
        return self.place, other + self.to_device(here)

    def to_device(self, place: str) -> str:
        """What to do for the array to be on a device."""
        element = type_name(self.dtype)
        return self.advice.to_device.format(place=place, element=element, size=self.size)

    def lend(self, context: BaseContext) -> bool:
        """Let work of a context use the memory.

        Raises:
            LaunchError: the memory is on another device.
        """
        wrong = self.misplaced(context)
        if wrong is not None:
            raise LaunchError.here(
                "array-device",
                f"{self.describe()} is on {wrong[0]}; this context uses memory of {context.api}:{context.id}",
                wrong[1],
            )
        return True

    def of(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> ForeignArray:
        """The memory from its beginning, as other elements."""
        made = object.__new__(type(self))
        for name in ForeignArray.__slots__:
            setattr(made, name, getattr(self, name))
        made.dtype, made.shape = dtype, shape
        made.strides, made.size = _compact(shape, strides)
        made.nbytes = made.size * dtype.itemsize
        return made

    def sub_buffer(self, offset: int, size: int) -> ForeignArray:
        """A part of the memory."""
        part = self.of(self.dtype, (size,), (1,))
        part.address = self.address + offset * self.dtype.itemsize
        return part

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"<{self.made_by} of {self.dtype} ({extents}) on {self.place}, 0x{self.address:x}>"


def mapping_of(memory: object) -> mmap.mmap | None:
    """The mapping that the memory of a NumPy array is part of: of a file, or shared with other processes."""
    return mapping_under(memory.owner) if isinstance(memory, ForeignArray) else None


def mapping_under(held: object) -> mmap.mmap | None:
    """The mapping that an array, or what it is a view of, lies in."""
    while held is not None and not isinstance(held, mmap.mmap):
        held = held.obj if isinstance(held, memoryview) else getattr(held, "base", None)
    return held


class HostArray(ForeignArray):
    """Memory of the host, whose elements Python sees."""

    __slots__ = ()

    def numpy(self) -> npt.NDArray[Any]:
        """The elements that the memory spans, one-dimensional, over the same memory."""
        return array_over(self, self.address, self.size, self.dtype, read_only=bool(self.read_only))

    def __getitem__(self, index: int) -> Any:
        return self.numpy()[index]

    def __setitem__(self, index: int, value: Any) -> None:
        if self.read_only:
            raise LaunchError.here("array-readonly", f"the {self.made_by} is read-only", self.read_only)
        self.numpy()[index] = self.dtype.taken(value)


class Advice(NamedTuple):
    """What the user of a library writes instead of what weft refuses."""

    contiguous: str
    convert: str
    to_host: str
    to_device: str


def _compact(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> tuple[tuple[int, ...], int]:
    """Strides in elements, with those that mean nothing as in row-major order, and the elements spanned."""
    steps: list[int] = []
    expected, span = 1, 1
    for n in range(len(shape) - 1, -1, -1):
        extent = shape[n]
        step = expected if strides is None or extent <= 1 else strides[n]
        steps.append(step)
        expected = step * extent
        span = 0 if extent == 0 or span == 0 else span + (extent - 1) * step
    steps.reverse()
    return tuple(steps), span
