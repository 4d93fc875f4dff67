"""Buffers: a stretch of memory, its element type and its owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar, overload

from weft.diagnostics import OBJECT, LaunchError, a_, elaborating, refuse
from weft.diagnostics.arithmetic import not_in_arithmetic
from weft.diagnostics.instead import ON_HOST, instead
from weft.diagnostics.wholes import not_as_wholes
from weft.dtype import DType, DTypeLike
from weft.runtime.allocation import Allocation
from weft.runtime.dim import as_index
from weft.runtime.here import Here
from weft.runtime.instead import OF_BUFFERS, OF_DEVICE_BUFFERS

if TYPE_CHECKING:
    from weft.lang.memory_types import LayoutTensor
    from weft.lang.number import NumberLike
    from weft.runtime.context import BaseContext
    from weft.runtime.copies import CopyEnd
    from weft.runtime.host_buffer import HostBuffer

T = TypeVar("T")


class MakesTensor(Protocol):
    """A layout: it makes a tensor of a buffer."""

    def tensor(self, buffer: Any, /) -> LayoutTensor[Any]:
        """The tensor over the buffer's elements."""
        ...


@instead(OF_BUFFERS, ON_HOST)
class Buffer(Here, Generic[T]):
    """What device and host buffers have in common. Contexts make them.

    A buffer keeps its memory, its context and its device alive. Several buffers may share memory
    (see ``sub_buffer``); it is free when none of them is left and no queued work uses it.
    """

    __weft_inside__ = "allocation called instead key lend lend_to_peer note_written space user"

    __slots__ = ("__weakref__", "_address", "_allocation", "_key", "_size", "context", "dtype")

    instead = (
        "send its elements: `np.array(host)` of a HostBuffer, or of `with buffer.map_to_host() as host:`"
    )

    space: ClassVar[Literal["device", "host"]]
    """Where the memory is."""
    called: ClassVar[str]
    """What a message calls it."""
    dtype: DType
    """The element type."""
    context: BaseContext
    """The context that made the buffer."""

    def __init__(self, context: BaseContext, dtype: DType, allocation: Allocation, address: int, size: int):
        self.context = context
        self.dtype = dtype
        self._allocation: Allocation | None = allocation
        self._address = address
        self._size = size
        self._key: object = context.keys[dtype]
        if context.leaks is not None and self.nbytes == allocation.nbytes:
            context.leaks.made(self)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return self._size * self.dtype.itemsize

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._allocation is None

    @property
    def allocation(self) -> Allocation:
        """The memory that the elements are in.

        Raises:
            LaunchError: the buffer is closed.
        """
        if self._allocation is None:
            raise LaunchError.here(
                "buffer-closed",
                f"this {self.called} of {self._size} {self.dtype} is closed",
                "use it before close() or inside its `with`; queued work may still be running then",
            )
        return self._allocation

    @property
    def address(self) -> int:
        """The address of the first element, in the memory where the buffer is.

        Raises:
            LaunchError: the buffer is closed.
        """
        if self._allocation is None:
            self.allocation  # noqa: B018
        return self._address

    passes_on = False
    """Whether every context of the device may use the memory, one after the other: that of a ``Tensor``."""

    def lend(self, context: BaseContext) -> bool:
        """Whether work of that context may use the memory; called before each such work is queued."""
        return context is self.context

    def lend_to_peer(self, context: BaseContext) -> None:
        """Note that work of a context with peer access is about to use the memory."""
        context.keep(self.allocation)
        self.note_written()

    def note_written(self) -> None:
        """Take notice that somebody whom nothing checks may write to the memory from now on."""
        self.allocation.device.note(self.address, self.nbytes, written=True)

    @property
    def user(self) -> BaseContext:
        """The context in whose order the memory is used."""
        return self.context

    @property
    def key(self) -> object:
        """The same for all open buffers of one context and element type; None once it is closed."""
        return self._key

    def unsafe_ptr(self) -> int:
        """The address of the first element; nothing checks what is done with it."""
        self.note_written()
        return self.address

    def close(self) -> None:
        """Give this handle up. The memory goes once no other handle, view or queued work uses it.

        Raises:
            LaunchError: it was closed before, in a context that is checked for ``leaks``.
        """
        if self.context.leaks is not None:
            self.context.leaks.closes(self)
        self._allocation = None
        self._key = None

    def __enter__(self) -> Self:
        self.allocation  # noqa: B018
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sub_buffer(self, offset: int, size: int) -> Self:
        """A part of this buffer, sharing its memory.

        Args:
            offset: Its first element.
            size: How many elements.

        Raises:
            LaunchError: the part is not within the buffer.
        """
        first, count = as_index(offset), as_index(size)
        if first is None or count is None:
            raise LaunchError.here(
                "sub-buffer-bounds",
                f"sub_buffer({offset!r}, {size!r}) is not given two ints",
                notes=["sub_buffer takes the first element and the number of elements"],
                hint="divide with `//` and convert with `int(...)`",
            )
        offset, size = first, count
        if offset < 0 or size < 0 or offset + size > self._size:
            raise LaunchError.here(
                "sub-buffer-bounds",
                f"sub_buffer({offset}, {size}) reaches outside the buffer, which has {self._size} elements",
                notes=["sub_buffer takes the first element and the number of elements"],
                hint=f"at most {max(0, self._size - max(0, offset))} elements are left from there",
            )
        address = self._address + offset * self.dtype.itemsize
        return type(self)(self.context, self.dtype, self.allocation, address, size)

    @overload
    def create_sub_buffer(self, offset: int, size: int) -> Self: ...
    @overload
    def create_sub_buffer(self, dtype: DTypeLike, offset: int, size: int) -> Self: ...
    def create_sub_buffer(self, *place: Any, **named: Any) -> Self:
        """The same by Mojo's name, and where the elements' type, which is the buffer's, comes first.

        Raises:
            LaunchError: the part is not within the buffer, or the elements are of another type.
        """
        dtype = named.pop("dtype", None)
        if len(place) + len(named) > 2 and dtype is None and as_index(place[0]) is None:
            dtype, place = place[0], place[1:]
        if dtype is not None and self.dtype != dtype:
            kind = getattr(dtype, "__name__", dtype)
            raise LaunchError.here(
                "buffer-dtype",
                f"a part of this buffer has elements of {self.dtype}, not of {kind}",
                hint="leave the type out; a kernel sees the bits as others by pointer.bitcast(...)",
            )
        return self.sub_buffer(*place, **named)

    def enqueue_fill(self, value: object) -> None:
        """Queue setting every element to a value."""
        self.context.enqueue_fill(self, value)

    def enqueue_copy_to(self, dst: CopyEnd) -> None:
        """Queue a copy of all elements into a buffer or NumPy array of the same length and type."""
        self.context.enqueue_copy(dst=dst, src=self)

    def enqueue_copy_from(self, src: CopyEnd) -> None:
        """Queue a copy of all elements from a buffer or NumPy array of the same length and type."""
        self.context.enqueue_copy(dst=self, src=src)

    def tensor(self, layout: MakesTensor) -> LayoutTensor[T]:
        """The elements seen through a layout: a tensor that shares this memory.

        Raises:
            LaunchError: this is no layout.
        """
        if not hasattr(layout, "tensor"):
            raise LaunchError.here(
                "tensor-layout",
                f"a buffer is seen through a Layout, not through {a_(type(layout).__name__)}",
                f"write Layout.row_major{layout!r}" if isinstance(layout, tuple) else "make a Layout",
            )
        return layout.tensor(self)


def share_nothing(buffers: Sequence[Buffer[Any]]) -> bool:
    """Whether no two of some open buffers share memory."""
    return len({buffer._allocation for buffer in buffers}) == len(buffers)  # pyright: ignore[reportPrivateUsage]


@instead(OF_DEVICE_BUFFERS, ON_HOST)
class DeviceBuffer(Buffer[T]):
    """Memory of a device, which kernels take as ``Pointer`` or, through a layout, as ``LayoutTensor``.

    The host does not see the elements; copy them to a host buffer or an array, or use
    ``map_to_host``. A slice is a part that shares memory: ``buffer[8:16]``.
    """

    __slots__ = ()

    space: ClassVar[Literal["device", "host"]] = "device"
    called = "DeviceBuffer"

    if TYPE_CHECKING:  # in a function that captures the buffer it is a Pointer

        @overload
        def __getitem__(self, part: slice) -> DeviceBuffer[T]: ...
        @overload
        def __getitem__(self, part: NumberLike) -> T: ...
        def __setitem__(self, part: NumberLike, value: T | NumberLike) -> None: ...

    def __getitem__(self, part: Any) -> Any:
        if not isinstance(part, slice):
            _refuse_in_kernels()
            raise LaunchError.here(
                "device-element",
                "elements of a DeviceBuffer are on the device and cannot be read one by one",
                "use `with buffer.map_to_host() as host:`, or copy to a host buffer or NumPy array",
            )
        start, stop, step = part.indices(self._size)
        if step != 1:
            raise LaunchError.here(
                "buffer-step",
                f"a part of a buffer is contiguous; the slice has step {step}",
                "leave out the step, and take every so many elements in the kernel",
            )
        return self.sub_buffer(start, max(0, stop - start))

    if not TYPE_CHECKING:

        def __setitem__(self, part: object, value: object) -> None:
            _refuse_in_kernels()
            raise LaunchError.here(
                "device-element",
                "elements of a DeviceBuffer are on the device and cannot be assigned from the host",
                "fill it by `buffer.enqueue_fill(value)`, copy an array into it by `ctx.enqueue_copy`, "
                "or use `with buffer.map_to_host() as host:`",
            )

    def map_to_host(self) -> MappedBuffer[T]:
        """For ``with``: the elements in a host buffer, copied back at the end of the block.

        It waits for the device twice and copies everything both ways, so it is for tests and first
        versions. If the block raises, nothing is copied back. After the block the host buffer is closed.

        Raises:
            LaunchError: the context is capturing.

        Example:
            >>> from weft import Float32
            >>> from weft.gpu.host import DeviceContext
            >>> buffer = DeviceContext(api="cpu").enqueue_create_buffer(Float32, 3)
            >>> with buffer.map_to_host() as host:
            ...     host[:] = [1.0, 2.0, 3.0]
            >>> with buffer.map_to_host() as host:
            ...     print(host)
            HostBuffer([1.0, 2.0, 3.0])
        """
        made = MappedBuffer(self)
        made.check()
        return made

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"0x{self._address:x}"
        return f"<DeviceBuffer of {self._size} {self.dtype} on {self.context.name}, {state}>"


for _refused in (not_as_wholes, not_in_arithmetic):
    _refused(DeviceBuffer, lambda _: "take host.numpy() in `with buffer.map_to_host() as host:`")


def _refuse_in_kernels() -> None:
    """Say no to elements of a buffer in a kernel that has captured it."""
    if elaborating.now:
        refuse(
            "captured-buffer",
            f"`{OBJECT}` is a DeviceBuffer of the host program; kernels reach memory by their parameters",
            hint=[
                f"give the kernel a parameter for it, annotated Pointer[...], and pass `{OBJECT}`",
                "in a function that is an argument, name it by a variable of its own, which is captured",
            ],
            part=OBJECT,
        )


class MappedBuffer(Generic[T]):
    """The context manager of ``DeviceBuffer.map_to_host``."""

    def __init__(self, device: DeviceBuffer[T]) -> None:
        self._device = device
        self._host: HostBuffer[T] | None = None

    def check(self) -> None:
        """Whether a mapping could begin.

        Raises:
            LaunchError: the context is capturing.
        """
        if self._device.context.recording is not None:
            raise LaunchError.here(
                "capture-synchronize",
                "map_to_host waits for the device, and within a capture nothing runs",
                "copy it to a host buffer: `ctx.enqueue_copy(dst=host, src=buffer)`",
            )

    if not TYPE_CHECKING:  # for a program that leaves the `with` out

        def __getitem__(self, index):
            raise LaunchError.here(
                "device-element",
                "map_to_host() has elements within its `with` block only",
                "write `with buffer.map_to_host() as host:`, and use host there",
            )

        def __setitem__(self, index, value):
            self[index]

    def __enter__(self) -> HostBuffer[T]:
        self.check()
        context = self._device.context
        host: HostBuffer[T] = context.enqueue_create_host_buffer(self._device.dtype, len(self._device))
        context.enqueue_copy(dst=host, src=self._device)
        context.synchronize()
        self._host = host
        return host

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        host, self._host = self._host, None
        if host is None:
            return
        try:
            if kind is None:
                context = self._device.context
                context.enqueue_copy(dst=self._device, src=host)
                context.synchronize()
        finally:
            host.close()  # what is written to it from now on would reach nothing
