"""Arrays of the host in a launch on a device with memory of its own: copied there, and back where written.

Arrays that overlap share memory there too. What is copied back was written by a kernel that has ended well,
and of an array with gaps only its own elements are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.abi.artifact import Argument
from weft.diagnostics import LaunchError, caller_location, note_slow
from weft.foreign.arrays import HostArray, mapping_of
from weft.runtime.allocation import Allocation
from weft.runtime.driver import Copy, Stream
from weft.runtime.host_buffer import HostBuffer

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft.runtime.context import BaseContext

_ALIGNED = 256
"""Memory of a device is aligned to this, so that an array is as aligned there as it is here."""
_told: set[tuple[str, int]] = set()
"""Where in programs there has been a warning."""


class _Stretch(NamedTuple):
    """Memory of the host, what keeps it, and what stands for it on the device."""

    start: int
    end: int
    owners: tuple[object, ...]
    there: Allocation

    @property
    def address(self) -> int:
        return self.there.address + self.start % _ALIGNED


class HostCopies:
    """What a launch has in place of the host's arrays among its arguments. False where there are none.

    Args:
        context: where the launch is.
        arguments: the pointers that the kernel takes.
        memory: the memory that they are given.

    Raises:
        DeviceError: the device has not so much memory.
        LaunchError: two arrays may be of one file, of which nothing tells.
    """

    def __init__(self, context: BaseContext, arguments: Sequence[Argument], memory: Sequence[Any]) -> None:
        pinned = [m.allocation for m in memory if isinstance(m, HostBuffer)]
        self._arrays = {
            argument.name: m
            for argument, m in zip(arguments, memory, strict=True)
            if isinstance(m, HostArray) and m.nbytes and not any(_lies_in(m, place) for place in pinned)
        }
        self._written = [a.name for a in arguments if a.written and a.name in self._arrays]
        if self._arrays:
            self._check_files()
            self._warn(context)
        self._stretches = [
            _Stretch(start, end, owners, Allocation(context.device, end - start + start % _ALIGNED))
            for start, end, owners in _merged(self._arrays.values())
        ]

    def __bool__(self) -> bool:
        return bool(self._arrays)

    def address_of(self, name: str, here: int) -> int:
        """Where the device has what an argument has at an address."""
        if name not in self._arrays:
            return here
        first = self._arrays[name].address
        stretch = next(s for s in self._stretches if s.start <= first < s.end)
        return stretch.address + here - stretch.start

    def bring(self, stream: Stream) -> None:
        """Copy to the device, once all that was queued has ended: it may write to these arrays."""
        stream.synchronize()
        for s in self._stretches:
            stream.copy(Copy("h2d", s.address, s.start, s.end - s.start, None, s.owners))

    def take_back(self, stream: Stream) -> None:
        """Copy back what the kernel may have written, and wait for that.

        Raises:
            DeviceError: the kernel failed. What the threads wrote until then is there, as on the
                CPU; after a fault the arrays are as they were.
        """
        if not self._written:
            return
        parted: list[tuple[HostArray, npt.NDArray[Any]]] = []
        for name in self._written:
            array = self._arrays[name]
            there, here, owner = self.address_of(name, array.address), array.address, array.owner
            if array.size != math.prod(array.shape):
                parted.append((array, array.numpy().copy()))
                owner = parted[-1][1]
                here = owner.ctypes.data
            stream.copy(Copy("d2h", here, there, array.nbytes, owner))
        try:
            stream.synchronize()
        finally:
            for array, found in parted:
                _elements(array, array.numpy())[...] = _elements(array, found)

    def _check_files(self) -> None:
        maps = {id(m): _file_of(a) for a in self._arrays.values() if (m := mapping_of(a)) is not None}
        apart = None not in maps.values() and len({*maps.values()}) == len(maps)
        if self._written and len(maps) > 1 and not apart:
            raise LaunchError.here(
                "array-mapped",
                "arguments lie in several mappings of files, which may share memory that copies would not",
                "pass what is only read as `np.array(x)`",
            )

    def _warn(self, context: BaseContext) -> None:
        place = caller_location()
        where = (place.file, place.line) if place else ("", 0)
        if where in _told:
            return
        here = f"{context.api}:{context.id}"
        each = [f"`{name}`, {array.describe()}," for name, array in self._arrays.items()]
        back = f" and {' and '.join(f'`{name}`' for name in self._written)} back" if self._written else ""
        note_slow(
            f"this launch copies {' and '.join(each)} from the host to {here}{back}, and waits for that. "
            f"Where speed matters, {next(iter(self._arrays.values())).to_device(here)}",
            place,
        )
        _told.add(where)


def _file_of(array: HostArray) -> tuple[int, int] | None:
    """Which file an ``np.memmap`` maps; None where that is not known."""
    held: Any = array.owner
    while held is not None and not hasattr(held, "filename"):
        held = getattr(held, "base", None)
    name: Any = getattr(held, "filename", None)
    try:
        status = os.stat(name)
    except (OSError, TypeError):
        return None
    return status.st_dev, status.st_ino


def _lies_in(array: HostArray, place: Any) -> bool:
    """Whether an array is part of memory that a device uses as it is."""
    return place.address <= array.address and array.address + array.nbytes <= place.address + place.nbytes


def _merged(arrays: Iterable[HostArray]) -> list[tuple[int, int, tuple[object, ...]]]:
    """From where to where the host's memory is used, those together that overlap, and what keeps it."""
    found: list[tuple[int, int, tuple[object, ...]]] = []
    for array in sorted(arrays, key=lambda a: a.address):
        start, end, owners = array.address, array.address + array.nbytes, (array.owner,)
        if found and start < found[-1][1]:
            first, last, others = found.pop()
            start, end, owners = first, max(end, last), (*others, *owners)
        found.append((start, end, owners))
    return found


def _elements(array: HostArray, span: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The elements of an array in memory like that which it spans."""
    from numpy.lib.stride_tricks import as_strided

    return as_strided(span, array.shape, [stride * array.dtype.itemsize for stride in array.strides])
