"""Host memory that a device copies from fastest, with elements that Python reads and writes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex, TypeVar, cast, overload

from weft.abi.formats import elements_of, from_short_bits, unpack
from weft.diagnostics import LaunchError
from weft.diagnostics.arithmetic import not_in_arithmetic
from weft.diagnostics.hook import hush
from weft.diagnostics.instead import ON_HOST, instead
from weft.diagnostics.wholes import not_as_wholes
from weft.dtype import DType
from weft.runtime import unwaited
from weft.runtime.buffers import Buffer
from weft.runtime.instead import OF_HOST_BUFFERS
from weft.runtime.printing import format_sequence

if TYPE_CHECKING:
    import numpy.typing as npt

T = TypeVar("T")


@instead(OF_HOST_BUFFERS, ON_HOST)
class HostBuffer(Buffer[T]):
    """Host memory for copies to and from a device (pinned, where the device has such).

    It behaves like a one-dimensional array: index, slice, assign (``host[:] = range(20)``),
    iterate, print. ``np.asarray(host)`` is the same memory; the view stays valid after
    ``close``. An element reads as a NumPy scalar of its type, so it keeps its precision. What is compared
    are elements, ``host.numpy() == x``; a buffer as a whole is not, and is no condition.

    The elements of a struct are NumPy's records: ``host[i]["x"]``, ``host.numpy()["x"]``.
    NumPy has no bfloat16 and no floats of 8 bits. Such an element reads as a Python float, a slice as a
    float32 copy, and ``np.asarray(host)`` gives the bits as uint16 or uint8, ``np.asarray(host, np.float32)``
    the numbers. NumPy's functions refuse such a buffer.
    """

    __slots__ = ()
    space: ClassVar[Literal["device", "host"]] = "host"
    called = "HostBuffer"

    def numpy(self) -> npt.NDArray[Any]:
        """The elements as a NumPy array over the same memory, one-dimensional and writable."""
        if unwaited.written or unwaited.arrays:
            unwaited.check(self._allocation, self._address, self.nbytes)
        return array_over(self.allocation, self._address, self._size, self.dtype)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return array_as(self.numpy(), self, dtype, copy)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> npt.NDArray[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            part = self.numpy()[index]
            return part if self.dtype.in_numpy else from_short_bits(self.dtype, part)
        element = self.numpy()[self._checked(index)]
        return element if self.dtype.in_numpy else unpack(self.dtype, element.tobytes())

    def __setitem__(self, index: SupportsIndex | slice, value: object) -> None:
        array = self.numpy()
        where = index if isinstance(index, slice) else self._checked(index)
        try:
            array[where] = self._elements(value)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._refused(array, where, value, error) from error

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy()) if self.dtype.in_numpy else (self[i] for i in range(self._size))

    def __repr__(self) -> str:
        if self.closed:
            return f"<HostBuffer of {self._size} {self.dtype}, closed>"
        shown: Any = self[:]
        return f"HostBuffer({format_sequence(self.dtype, shown, self._size)})"

    def _checked(self, index: SupportsIndex) -> int:
        try:
            position = operator.index(index)
        except TypeError:
            message = f"an index of a HostBuffer is an integer or a slice, not {index!r}"
            raise hush(TypeError(message)) from None
        if not -self._size <= position < self._size:
            # The sequence protocol ends loops by IndexError, so it stays Python's own.
            message = f"index {position} is outside the HostBuffer, which has {self._size} elements"
            raise hush(IndexError(message))
        return position

    def _elements(self, value: object) -> Any:
        if isinstance(value, Iterable) and not isinstance(value, Sized):
            value = list(cast("Iterable[object]", value))
        if self.dtype.in_numpy:
            return self.dtype.taken(value)
        return elements_of(self.dtype, value[:] if isinstance(value, HostBuffer) else value)

    def _refused(
        self, array: npt.NDArray[Any], where: int | slice, value: object, error: Exception
    ) -> Exception:
        wanted = len(array[where]) if isinstance(where, slice) else 1
        if isinstance(value, Sized) and not isinstance(value, str) and len(value) not in (1, wanted):
            return LaunchError.here(
                "host-length",
                f"{len(value)} values for {wanted} elements of a HostBuffer of {self.dtype}",
                f"give {wanted} values, or one for all of them",
            )
        return LaunchError.here(
            "host-value",
            f"a HostBuffer of {self.dtype} cannot hold {value!r}: {error}",
            f"give a value that {self.dtype} holds, or make the buffer of another type",
        )


for _refused in (not_as_wholes, not_in_arithmetic):
    _refused(HostBuffer, lambda host: f"take {'.numpy()' if host.dtype.in_numpy else '[:]'} of it")


class _View:
    """Memory as NumPy imports it; the array keeps this object, and so the memory."""

    def __init__(self, owner: object, **interface: object) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, **interface}


def array_as(
    array: npt.NDArray[Any], of: Any, dtype: npt.DTypeLike | None, copy: bool | None
) -> npt.NDArray[Any]:
    """The elements of a buffer or a tensor as ``np.asarray(of, dtype)`` asks for them: numbers as floats."""
    import numpy as np

    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError(f"a {type(of).__name__} of {of.dtype} is an array of {dtype} only by copying")
    if not of.dtype.in_numpy and np.dtype(dtype).kind in "fc":
        array = from_short_bits(of.dtype, array)
    return array.astype(dtype)


def array_over(
    owner: object, address: int, size: int, dtype: DType, *, read_only: bool = False
) -> npt.NDArray[Any]:
    """Host memory as a NumPy array of one dimension that keeps its owner; bfloat16 as its bits."""
    import numpy as np

    kind = dtype.numpy
    array = np.asarray(_View(owner, shape=(size,), typestr=kind.str, data=(address, read_only)))
    return array if dtype.is_number else array.view(kind)
