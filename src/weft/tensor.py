"""Tensors that own their data: on the CPU, where Python sees the elements, or on an accelerator."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Self, SupportsIndex, TypeVar, cast, overload

from weft.diagnostics import LaunchError, a_
from weft.diagnostics.arithmetic import not_in_arithmetic
from weft.diagnostics.hook import hush
from weft.diagnostics.instead import OF_CLASS, ON_HOST, instead
from weft.diagnostics.modules import present
from weft.diagnostics.spelt import Spelt
from weft.diagnostics.wholes import not_as_wholes
from weft.dtype import DType, DTypeLike, as_dtype
from weft.foreign import dlpack
from weft.foreign.read import Unreadable, reader_of
from weft.lang.number import type_name
from weft.launch.context import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.runtime.buffers import Buffer, DeviceBuffer
from weft.runtime.context import BaseContext
from weft.runtime.drivers import default_api
from weft.runtime.host_buffer import HostBuffer, array_as
from weft.runtime.instead import OF_TENSORS, OF_TENSORS_THEMSELVES

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft.runtime.allocation import Allocation

__all__ = ["Device", "Tensor", "accelerator", "cpu"]

T = TypeVar("T")
Shape = SupportsIndex | Iterable[SupportsIndex]
Index = SupportsIndex | slice | tuple[SupportsIndex | slice, ...]

_LEGACY_STREAM, _NO_STREAM = 1, -1
"""How other libraries name the default stream, and the wish not to be waited for."""


class Device:
    """A place where tensors live: ``cpu`` or ``accelerator``. Equal if it is the same machine."""

    def __init__(self, context: DeviceContext) -> None:
        self.context = context
        """The context in which the device's tensors are made and copied."""

    @property
    def api(self) -> str:
        """The API's name, such as ``cpu``."""
        return self.context.api

    @property
    def id(self) -> int:
        """The device's number among those of its API."""
        return self.context.id

    @property
    def name(self) -> str:
        """The device's name as its maker writes it."""
        return self.context.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.api, self.id) == (other.api, other.id)

    def __hash__(self) -> int:
        return hash((self.api, self.id))

    def __repr__(self) -> str:
        return f"<Device {self.api}:{self.id}, {self.name}>"


@cache
def device_of(api: str, device_id: int) -> Device:
    """The device of a number of an API."""
    return Device(DeviceContext(device_id, api=api))


def cpu() -> Device:
    """This machine's processor.

    Example:
        >>> cpu().api
        'cpu'
    """
    return device_of("cpu", 0)


def accelerator(device_id: int = 0) -> Device:
    """The device that ``DeviceContext()`` takes: the best one here, which is the CPU where no GPU is.

    Args:
        device_id: which of them, from 0.

    Raises:
        DeviceError: there is no such device.
    """
    return device_of(default_api(), device_id)


@instead(OF_TENSORS, ON_HOST)
@instead(OF_TENSORS_THEMSELVES, OF_CLASS)
class Tensor(Spelt, Generic[T]):
    """Elements of ``T`` in row-major order, which the tensor owns.

    Where a kernel's parameter is a ``LayoutTensor[T]``, a tensor is an argument, of any context of its
    device. Reading a tensor waits for the work that uses it, and so does a launch in another context.

    Args:
        dtype: the element type: ``Float32``, ``DType.float32`` or ``"float32"``.
        shape: its extents, or one number for a vector. The elements are undefined.
        device: where the elements are: ``cpu`` (the default), ``accelerator``, or a context.

    Raises:
        LaunchError: type or shape are none.
        DeviceError: there is not so much memory.

    Example:
        >>> from weft import Float32, Tensor, accelerator, cpu
        >>> image = Tensor(Float32, (2, 3))
        >>> for y in range(2):
        ...     for x in range(3):
        ...         image[y, x] = 10.0 * y + x
        >>> on_device = image.to(accelerator())       # kernels take it now
        >>> on_device.to(cpu()).numpy().sum()
        np.float32(36.0)
    """

    __slots__ = ("__weakref__", "_view", "device", "dtype", "shape", "storage")
    __weft_view__ = "_view"
    """Where native code finds what ``to_layout_tensor`` gives."""

    device: Device
    """Where the elements are."""
    dtype: DType
    """The element type."""
    shape: tuple[int, ...]
    """The extents."""
    storage: Buffer[T]
    """The memory: a HostBuffer on the CPU, a DeviceBuffer elsewhere."""

    @overload
    def __init__(
        self, dtype: type[T], shape: Shape, device: Device | DeviceContext | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Tensor[Any], dtype: DTypeLike, shape: Shape, device: Device | DeviceContext | None = None
    ) -> None: ...
    def __init__(self, dtype: Any, shape: Shape, device: Device | DeviceContext | None = None) -> None:
        place = _as_device(device)
        extents = _as_shape(shape)
        context, size = place.context, math.prod(extents)
        if context.info.shares_host:
            host: HostBuffer[T] = context.enqueue_create_host_buffer(dtype, size)
            storage = _HostStorage[T](context, host.dtype, host.allocation, host.address, size)
        else:
            made: DeviceBuffer[T] = context.enqueue_create_buffer(dtype, size)
            storage = _DeviceStorage[T](context, made.dtype, made.allocation, made.address, size)
        self._set(place, extents, storage)

    def _set(self, device: Device, shape: tuple[int, ...], storage: Buffer[T]) -> None:
        self.device, self.shape, self.storage, self.dtype = device, shape, storage, storage.dtype
        self._view: LayoutTensor[T] | None = None

    @staticmethod
    def from_numpy(array: npt.ArrayLike, device: Device | DeviceContext | None = None) -> Tensor[Any]:
        """A tensor with the elements of an array, copied.

        Args:
            array: an array, or what NumPy makes one of.
            device: where the tensor is to be.

        Raises:
            LaunchError: the array's type is no element type.

        Example:
            >>> import numpy as np
            >>> Tensor.from_numpy(np.ones((4, 5), np.float32)).shape
            (4, 5)
        """
        import numpy as np

        found = np.asarray(array)
        if found.dtype.names is not None:
            raise LaunchError.here(
                "buffer-dtype",
                "the array has structs, and nothing says which of the program's they are",
                "make it of the struct, and copy: `t = Tensor(S, shape)`, then `t[:] = array` on the CPU, "
                "`ctx.enqueue_copy(dst=t.storage, src=array)` elsewhere",
            )
        source = np.ascontiguousarray(found)
        made: Tensor[Any] = Tensor(found.dtype.name, found.shape, device)
        context = made.device.context
        context.enqueue_copy(dst=made.storage, src=source.astype(source.dtype.newbyteorder("="), copy=False))
        return made

    @staticmethod
    def from_dlpack(source: Any) -> Tensor[Any]:
        """A tensor over the memory of another library's array, which both share.

        On a GPU, what is queued now on the array's stream comes before what weft does with the tensor.
        Later work of the two libraries is not ordered; give kernels the array itself for that.

        Args:
            source: an array with ``__dlpack__``, of NumPy, PyTorch, CuPy and others; contiguous.

        Raises:
            LaunchError: its memory cannot be shared.

        Example:
            >>> import numpy as np
            >>> array = np.zeros(3, np.float32)
            >>> tensor = Tensor.from_dlpack(array)
            >>> tensor[1] = 5.0
            >>> array
            array([0., 5., 0.], dtype=float32)
        """
        import numpy as np

        if not hasattr(source, "__dlpack__"):
            raise LaunchError.here(
                "dlpack",
                f"{a_(type(source).__name__)} does not offer its memory by __dlpack__",
                "Tensor.from_numpy(...) copies anything that NumPy makes an array of",
            )
        kind = source.__dlpack_device__()[0]
        if kind in (dlpack.CUDA, dlpack.CUDA_MANAGED):
            return _from_gpu(source)
        if kind not in (dlpack.CPU, dlpack.CUDA_HOST):
            raise LaunchError.here(
                "dlpack",
                "the array's memory is neither the host's nor a GPU's",
                "copy it to the host first",
            )
        if getattr(getattr(source, "flags", None), "writeable", True) is False:
            raise LaunchError.here("dlpack", "the array is read-only", "copy it with Tensor.from_numpy(...)")
        try:
            array: npt.NDArray[Any] = np.from_dlpack(source)
        except (BufferError, RuntimeError, TypeError) as error:
            raise LaunchError.here("dlpack", f"the array's memory cannot be shared: {error}") from error
        if not array.flags.c_contiguous:
            raise LaunchError.here(
                "dlpack",
                f"the array of shape {array.shape} with strides {array.strides} bytes is not contiguous",
                "copy it with Tensor.from_numpy(...)",
            )
        place = cpu()
        dtype = as_dtype(array.dtype.name)
        owner: Any = _Foreign(array)
        storage = _HostStorage[Any](place.context, dtype, owner, array.ctypes.data, array.size)
        storage.foreign = True
        return Tensor.over(place, tuple(array.shape), storage)

    @staticmethod
    def over(device: Device, shape: tuple[int, ...], storage: Buffer[Any]) -> Tensor[Any]:
        """The tensor of these parts, unchecked."""
        made = cast("Tensor[Any]", object.__new__(Tensor))
        made._set(device, shape, storage)
        return made

    @property
    def rank(self) -> int:
        """The number of extents."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.storage)

    @property
    def layout(self) -> Layout:
        """Where the elements lie: row-major."""
        return self.to_layout_tensor().layout

    def to_layout_tensor(self) -> LayoutTensor[T]:
        """The tensor as kernels see it: a view of the same memory."""
        if self._view is None:
            self._view = LayoutTensor(self.storage, Layout.row_major(self.shape))
        return self._view

    def to(self, device: Device | DeviceContext) -> Tensor[T]:
        """The tensor on a device: itself where it is there already, else a copy.

        Raises:
            DeviceError: there is not so much memory.
        """
        place = _as_device(device)
        if place == self.device:
            return self
        made: Tensor[Any] = Tensor(self.dtype, self.shape, place)
        if made.device.context.info.shares_host:
            made.numpy()[...] = self.numpy()
        elif isinstance(self.storage, _HostStorage):
            made.device.context.enqueue_copy(dst=made.storage, src=self.numpy())
        else:
            made.device.context.enqueue_copy(dst=made.storage, src=self.storage)
        return made

    def move_to(self, device: Device | DeviceContext) -> Tensor[T]:
        """Like ``to``, but where the tensor moves it gives its memory up and cannot be used again."""
        made = self.to(device)
        if made is not self:
            self.close()
        return made

    def close(self) -> None:
        """Give the memory up."""
        self.storage.close()
        self._view = None

    def fill(self, value: object) -> None:
        """Set every element to a value.

        Raises:
            LaunchError: it does not fit the element type.
        """
        self.device.context.enqueue_fill(self.storage, value)

    # Elements

    def numpy(self) -> npt.NDArray[Any]:
        """The elements as an array, once all work on them has ended.

        On the CPU it is the same memory, elsewhere a copy. Of a format that NumPy has not, such as
        bfloat16, the bits come.
        """
        storage = self.storage
        if isinstance(storage, _HostStorage):
            storage.wait()
            return self._shaped(storage.numpy())
        import numpy as np

        context = storage.context
        if isinstance(storage, _DeviceStorage):
            storage.wait()
        made = np.empty(self.size, self.dtype.numpy)
        context.enqueue_copy(dst=made, src=storage)
        context.synchronize()
        return self._shaped(made)

    def _shaped(self, flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Elements as NumPy has them, by the extents; of vectors with one for the lanes."""
        return flat.reshape((*self.shape, *flat.shape[1:]))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return array_as(self.numpy(), self, dtype, copy)

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        info = self.device.context.info
        if info.shares_host or not info.dlpack:
            return self._elements("__dlpack__").__dlpack__(stream=stream, **options)
        kind, _ = options.get("dl_device") or self.__dlpack_device__()
        if options.get("copy") or kind != info.dlpack:
            raise BufferError("a Tensor shares its memory and does not copy it: take tensor.to(cpu()) first")
        storage = self.storage
        if stream != _NO_STREAM and isinstance(storage, _DeviceStorage):
            storage.hand_over(stream or _LEGACY_STREAM)
        return dlpack.make_capsule(
            storage.allocation, storage.address, self.dtype, self.shape, self.__dlpack_device__()
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        info = self.device.context.info
        if info.shares_host or not info.dlpack:
            self._elements("__dlpack__")
        return info.dlpack, self.device.id

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        storage = self.storage
        if (
            self.device.context.info.dlpack != dlpack.CUDA
            or not isinstance(storage, _DeviceStorage)
            or not (self.dtype.in_numpy and self.dtype.is_number)
        ):
            raise AttributeError(
                "only a Tensor of a GPU, of numbers that NumPy has, has __cuda_array_interface__"
            )
        storage.hand_over(_LEGACY_STREAM)
        return {
            "shape": self.shape,
            "typestr": self.dtype.numpy.str,
            "data": (storage.address, False),
            "strides": None,
            "stream": _LEGACY_STREAM,
            "version": 3,
        }

    def __getitem__(self, index: Index) -> Any:
        """An element as a NumPy scalar; for slices, an array over the same memory."""
        elements = self._elements("reading elements")
        try:
            return elements[index]
        except (IndexError, TypeError) as error:
            hush(error)
            raise

    def __setitem__(self, index: Index, value: object) -> None:
        elements, taken = self._elements("writing elements"), cast("Any", self.dtype.taken(value))
        try:
            elements[index] = taken
        except (IndexError, TypeError, ValueError) as error:
            hush(error)
            raise

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a Tensor without extents has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"<Tensor of {type_name(self.dtype)} ({extents}) on {self.device.name}>"

    def _elements(self, what: str) -> npt.NDArray[Any]:
        if not self.device.context.info.shares_host:
            raise LaunchError.here(
                "device-element",
                f"{what} needs them on the CPU; this tensor is on {self.device.name}",
                "take tensor.to(cpu()) first",
            )
        if not self.dtype.in_numpy:
            raise LaunchError.here(
                "device-element", f"NumPy has no {self.dtype}", "tensor.numpy() holds the bits"
            )
        return self.numpy()


def _elements_of(tensor: Tensor[Any]) -> str:
    return f"take {'.numpy()' if tensor.dtype.in_numpy else '.to(cpu()).storage[:]'} of it"


not_as_wholes(Tensor, _elements_of)
not_in_arithmetic(Tensor, _elements_of, lambda tensor: not tensor.device.context.info.shares_host)


def _from_gpu(source: Any) -> Tensor[Any]:
    read = reader_of(source)
    try:
        array = None if read is None else read(source)
    except Unreadable as found:
        raise LaunchError.here("dlpack", f"this is {found.found}", found.hint) from None
    if array is None:
        raise LaunchError.here("dlpack", f"{a_(type(source).__name__)} is not read by weft", "copy it first")
    if not array.is_row_major:
        raise LaunchError.here(
            "dlpack",
            f"the array of shape {array.shape} with strides {array.strides} is not contiguous",
            f"pass {array.advice.contiguous}",
        )
    place = cpu() if array.api is None else device_of(array.api, array.device_id or 0)
    array.lend(place.context)
    owner: Any = array
    storage = _DeviceStorage[Any](place.context, array.dtype, owner, array.address, array.size)
    storage.foreign = True
    if array.stream is not None:
        guest = place.context.device.adopt_stream(array.stream, array.stream_owner)
        if guest is not None:
            place.context.stream.follow(guest)
    return Tensor.over(place, array.shape, storage)


class _Foreign:
    """Another library's memory, kept while this is."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array
        self.address: int = array.ctypes.data
        self.nbytes: int = array.nbytes


class _Lending(Buffer[T]):
    """Memory that every context of its device may use, one after the other."""

    passes_on = True
    foreign = False
    """Whether the memory would not wait for queued work before it is freed."""
    _user: BaseContext | None = None
    _whole: _Lending[T] | None = None
    """What this is a part of, which knows who uses the memory."""

    def __init__(self, context: BaseContext, dtype: DType, allocation: Allocation, address: int, size: int):
        super().__init__(context, dtype, allocation, address, size)
        self._key = None  # which lets native code launch without ``lend``

    def lend(self, context: BaseContext) -> bool:
        own = self.context
        if (context.api, context.id) != (own.api, own.id):
            return False
        self._pass_to(context)
        if self.foreign or context is not own:
            context.keep(self)
        elif self._allocation is not None and self._whole is None:
            self._key = own.keys[self.dtype]
        return True

    @property
    def _root(self) -> _Lending[T]:
        """What knows who uses the memory."""
        return self if self._whole is None else self._whole

    def lend_to_peer(self, context: BaseContext) -> None:
        self._pass_to(context)
        context.keep(self)

    def _pass_to(self, context: BaseContext) -> None:
        whole = self._root
        if whole._user is not context:
            whole.wait()
            whole._user = context
            whole._key = None

    def sub_buffer(self, offset: int, size: int) -> Self:
        part = super().sub_buffer(offset, size)
        part.foreign, part._whole = self.foreign, self._root
        return part

    @property
    def user(self) -> BaseContext:
        return self._root._user or self.context

    def hand_over(self, handle: int) -> None:
        """Have another library's stream wait for the context that used the memory last."""
        user = self.user if not self.user.closed else self.context
        if user.closed:
            return
        guest = user.device.adopt_stream(handle, None)
        if guest is not None:
            guest.follow(user.stream)

    def wait(self) -> None:
        """Wait for the context that used the memory last."""
        user = self._root._user
        if user is not None and not user.closed:
            user.synchronize()


class _HostStorage(_Lending[T], HostBuffer[T]):
    called = "Tensor"


class _DeviceStorage(_Lending[T], DeviceBuffer[T]):
    called = "Tensor"


def _as_device(device: Device | DeviceContext | None) -> Device:
    if device is None:
        return cpu()
    if isinstance(device, Device):
        return device
    if isinstance(device, DeviceContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        return Device(device)
    raise LaunchError.here(
        "tensor-device",
        f"a tensor is on a Device, not on {a_(type(device).__name__)}",
        "write cpu(), accelerator(), or give a DeviceContext",
        at=("device", 2),
    )


def _as_shape(shape: Shape) -> tuple[int, ...]:
    try:
        extents = (
            tuple(map(operator.index, shape)) if isinstance(shape, Iterable) else (operator.index(shape),)
        )
    except TypeError:
        extents = (-1,)
    if min(extents, default=0) < 0:
        raise LaunchError.here(
            "tensor-shape",
            f"a shape is one extent or a tuple of them, each 0 or more; {shape!r} is none",
            "write e.g. Tensor(Float32, (height, width))",
        )
    return extents


present(globals())
