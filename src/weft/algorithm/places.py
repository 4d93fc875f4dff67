"""Where an algorithm runs: in a given context, in that of its memory, or on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, cast

from weft.calls.recording import Made, active, launch
from weft.calls.spans import span_of
from weft.diagnostics import LaunchError, a_
from weft.dtype import DType, as_dtype
from weft.lang import Kernel
from weft.lang.above import above
from weft.lang.accept import Mismatch
from weft.lang.elements import element_type
from weft.lang.host_closures import memory_of
from weft.lang.number import Number
from weft.targets import find_target

if TYPE_CHECKING:
    from weft.calls.recording import Make
    from weft.gpu.host import DeviceBuffer, DeviceContext, DeviceStream
    from weft.lang import UInt8

_CPU_TILE = 1 << 14
_THREADS, _LEAST, _EACH, _SORTING = 256, 32, 8, 128
MANY, ROUNDS = 1 << 22, 16
"""Elements that keep all of a GPU busy when blocks take some often, and how often that is."""
MANY_DIGITS = 1 << 17
"""Elements from which on passes by digits take less time than merging (measured on an H200)."""
_SHARED = 1 << 15
"""Bytes of shared memory that a block takes."""
_PIECE = 256
"""Bytes of which pieces of given memory are multiples."""


class Where(TypedDict, total=False):
    """What a caller says of where an algorithm runs, as ``RunsOn`` takes it."""

    context: DeviceContext | None
    stream: DeviceStream | None
    scratch: DeviceBuffer[UInt8] | None


class RunsOn:
    """For ``with``: where an algorithm runs; what has no context of the user's is waited for.

    Args:
        values: memory, and functions that capture some.
        context: where it shall run; None for the context of the first memory among ``values`` that has one.
        stream: another stream of that context than its own.
        scratch: a buffer of bytes that ``make`` takes memory from, instead of allocating it.
    """

    def __init__(
        self,
        *values: Any,
        context: DeviceContext | None = None,
        stream: DeviceStream | None = None,
        scratch: DeviceBuffer[UInt8] | None = None,
    ) -> None:
        if context is not None and not hasattr(context, "enqueue_function"):
            raise LaunchError.here(
                "argument-type",
                f"context= takes a DeviceContext, not {a_(type(context).__name__)}",
                "make one: DeviceContext()",
                at=("context", 2),
            )
        if active.recording is not None:
            active.recording.read.extend(values)
        found = context or next((own for value in values for own in _contexts(value)), None)
        self.waits: bool = found is None
        self.context: DeviceContext = found or above().cpu()
        self.stream: DeviceStream | None = stream
        self._scratch, self._taken = scratch, 0
        if scratch is not None and getattr(scratch, "dtype", None) is not DType.uint8:
            hint = "make one: ctx.enqueue_create_buffer(UInt8, nbytes)"
            of = f" of {scratch.dtype}" if hasattr(scratch, "dtype") else ""
            message = f"scratch= takes a buffer of UInt8, not {a_(type(scratch).__name__)}{of}"
            raise LaunchError.here("argument-type", message, hint, at=("scratch", 6))

    @property
    def threads_are_loops(self) -> bool:
        """Whether a block's threads are a loop, so that one thread serves it best."""
        return find_target(self.context.target).threads == "loops"

    def launch(self, kernel: Kernel[...], grid: int, block: int, /, *given: Any, **arguments: Any) -> None:
        """Launch a kernel; a message then shows arguments of the user's call that have the same names."""
        where = {"grid_dim": grid, "block_dim": block, "stream": self.stream}
        launch(self.context, kernel, given, {**where, **arguments})

    def launch_over(self, kernel: Kernel[...], over: Any, /, *given: Any, **arguments: Any) -> None:
        """Launch a kernel for each element of a range."""
        launch(self.context, kernel, given, {"over": over, "stream": self.stream, **arguments})

    def make(self, kind: Any, size: int) -> Any:
        """Memory for so many elements, one at least."""
        scratch, dtype, size = self._scratch, as_dtype(kind), size or 1
        if scratch is None:
            return self._made(lambda context: context.enqueue_create_buffer(kind, size), result=False)
        begin, self._taken = self._taken, self._taken + -(-size * dtype.itemsize // _PIECE) * _PIECE
        if self._taken > len(scratch):
            message = f"scratch has {len(scratch)} bytes, and {self._taken} are needed here, if not more"
            raise LaunchError.here("argument-type", message, "make it larger", at=("scratch", 6))
        address = scratch.address + begin
        return type(scratch)(scratch.context, dtype, scratch.allocation, address, size)

    def one(self, kind: Any) -> Any:
        """Memory for one element that Python reads: of NumPy's where the device shares the host's memory."""
        dtype = as_dtype(kind)
        if not (self.context.info.shares_host and dtype.in_numpy and dtype.is_number):
            return self.result(lambda context: context.enqueue_create_buffer(kind, 1))
        import numpy as np

        self.waits = True
        return self.result(lambda context: np.empty(1, dtype.numpy))

    def result(self, make: Make) -> Any:
        """An array for the caller."""
        return self._made(make, result=True)

    def _made(self, make: Make, *, result: bool) -> Any:
        array = make(self.context)
        if active.recording is not None:
            span = span_of(array)
            noted = Made(_room, make, array, span.begin, span.end - span.begin)
            (active.recording.results if result else active.recording.scratch).append(noted)
        return array

    def wait(self) -> None:
        """Wait for what was launched."""
        (self.context if self.stream is None else self.stream).synchronize()

    def tile(self, kind: Any) -> tuple[int, int]:
        """How many threads a block has, and how many elements each, where shared memory has one for each."""
        if self.threads_are_loops:
            return 1, _CPU_TILE
        threads = _THREADS
        while threads > _LEAST and threads * element_type(kind).itemsize > _SHARED:
            threads //= 2
        return threads, _EACH

    def rounds(self, kind: Any, threads: int, each: int, n: int) -> int:
        """How often a block takes elements of ``n``: often if these are many, or one block has all then.

        An odd number, so that threads which read as many neighbours in shared memory do so from all banks.
        """
        most = (min(ROUNDS, _SHARED // (threads * element_type(kind).itemsize)) - 1) | 1
        tile = threads * each
        return most if threads > 1 and (n >= MANY or tile < n <= tile * most) else 1

    def sorting_tile(self, kind: Any) -> tuple[int, int, int, int]:
        """For sorting: threads, elements each, of which are inserted, and of which are merged at once."""
        if self.threads_are_loops:
            return 1, _CPU_TILE // 8, 16, _CPU_TILE
        each = _EACH
        while each > 1 and 2 * _SORTING * each * element_type(kind).itemsize > _SHARED:
            each //= 2
        return _SORTING, each, each, _EACH

    def has_digits(self, kind: Any, n: int) -> bool:
        """Whether so many elements are sorted by their digits: many numbers, by a GPU."""
        known = issubclass(kind, Number) and kind.dtype.bits > 8
        return known and not self.threads_are_loops and n >= MANY_DIGITS

    def __enter__(self) -> RunsOn:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.waits and kind is None:
            self.wait()
            if active.recording is not None:
                active.recording.waits = True


def _room(size: tuple[int, ...]) -> Make:
    """What makes memory of so many bytes."""
    return lambda context: context.enqueue_create_buffer(DType.uint8, size[0])


def _contexts(value: Any) -> list[Any]:
    try:
        return [memory.context for memory in memory_of(value) if hasattr(memory, "context")]
    except Mismatch:
        return []  # the launch says what is wrong


def overlap(one: Any, other: Any) -> bool:
    """Whether elements of one memory are another's; of what lies apart on a device the first is asked."""
    if hasattr(one, "__array_interface__") and hasattr(other, "__array_interface__"):
        import numpy as np

        return np.shares_memory(one, other)
    (begin, end), (first, last) = _ends(one), _ends(other)
    return begin < last and first < end


def are_same(one: Any, other: Any) -> bool:
    """Whether both are the same elements in the same order."""
    if hasattr(one, "__array_interface__") and hasattr(other, "__array_interface__"):
        places = [(x.__array_interface__["data"][0], x.shape, x.strides) for x in (one, other)]
        return places[0] == places[1]
    return _ends(one) == _ends(other)


def _ends(memory: Any) -> tuple[int, int]:
    """The first byte and the one behind the last; of memory that lies apart only the first."""
    view: Any = memory.to_layout_tensor() if hasattr(memory, "to_layout_tensor") else memory
    storage = getattr(view, "storage", view)
    begin = getattr(storage, "address", id(memory))
    if storage is view:
        return begin, begin + getattr(view, "nbytes", 1)
    size = int(view.size())
    dense = int(view.layout.cosize()) == size
    return begin, begin + storage.nbytes // len(storage) * (size if dense else 1)


def as_count(value: Any, name: str, position: int, least: int = 0) -> int:
    """A number of things, ``least`` or more, as an argument of that name and position.

    Raises:
        LaunchError: it is none.
    """
    try:
        count = index(value)
    except TypeError:
        count = -1
    if count < least or isinstance(value, bool):
        shown = repr(value) if isinstance(value, (int, float)) else a_(type(value).__name__)
        message = f"{name} takes a number of elements, not {shown}"
        first = f"write an int, {least} or more"
        if callable(value):
            first = "the function comes first, then the number"
        raise LaunchError.here("argument-type", message, first, at=(name, position))
    return count


def as_shape(value: Any, name: str, position: int) -> tuple[int, ...]:
    """Extents, as an int or a sequence of ints.

    Raises:
        LaunchError: they are none.
    """
    if isinstance(value, (tuple, list)):
        return tuple([as_count(extent, name, position) for extent in cast("Sequence[Any]", value)])
    return (as_count(value, name, position),)
