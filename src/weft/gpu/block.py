"""Blocks: what all threads of a block do together, by warps first and then through shared memory.

All threads of the block come to an operation, as to a barrier, or none. Blocks may have one to three axes,
and have whole warps: a multiple of 32 threads, which are counted x fastest. Steps have the same order on all
devices, so results are the same bit for bit. Each operation has its own shared memory and waits until it may
be used again, so that operations may follow each other, also in loops.

Example:
    >>> from weft import Float32, Pointer, kernel
    >>> from weft.gpu import block, global_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.math import exp
    >>> @kernel
    ... def softmax(x: Pointer[Float32]):
    ...     i = global_idx.x
    ...     power = exp(x[i] - block.max(x[i]))
    ...     x[i] = power / block.sum(power)
    >>> ctx = DeviceContext(api="cpu")
    >>> x = ctx.enqueue_create_buffer(Float32, 64)
    >>> x.enqueue_fill(3.0)
    >>> ctx.enqueue_function(softmax, x, grid_dim=1, block_dim=64)
    >>> with x.map_to_host() as host:
    ...     print(host[0])
    0.015625
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft.atomic import Atomic
from weft.bit import pop_count
from weft.diagnostics import refuse
from weft.dtype import as_dtype
from weft.gpu import warp
from weft.gpu.lanes import block_threads, lane_id, warp_id
from weft.gpu.sync import barrier
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.machine import threads_are_loops
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Bool, Int, Int32, UInt32
from weft.memory import stack_allocation

__all__ = [
    "all",
    "any",
    "broadcast",
    "count",
    "exchange",
    "histogram",
    "max",
    "min",
    "prefix_sum",
    "radix_sort",
    "reduce",
    "sum",
]

T = TypeVar("T")
_WARPS = 32
_MOST = 1024


def reduce(value: T, function: Callable[[T, T], T]) -> T:
    """All threads' values combined by ``function``, in all threads.

    Each warp combines its own (``warp.reduce``), then each thread the warps' results in their order. Two
    barriers; shared memory for 32 values.

    Args:
        value: each thread's own: a number, a vector or a struct.
        function: of two values, to which the order does not matter: ``lambda a, b: a * b``, a ``@func``.
    """
    return cast("T", _reduced(value, function))


@func
def _reduced(value: Any, function: Any) -> Any:
    parts = stack_allocation(_type_of(value), _WARPS, address_space=AddressSpace.SHARED)
    own = warp.reduce(value, function)
    if lane_id() == 0:
        parts[warp_id()] = own
    barrier()
    if _by_one():
        if _thread() == 0:
            parts[0] = _in_order(parts, function)
        barrier()
        total = parts[0]
    else:
        total = _in_order(parts, function)
    barrier()
    return total


@func
def _in_order(parts: Any, function: Any) -> Any:
    total = parts[0]
    for n in range(1, block_threads() // warp.WARP_SIZE):
        total = function(total, parts[n])
    return total


def _by_one() -> bool:
    """Whether one thread combines what warps have made, and not all: they take turns on a CPU."""
    return threads_are_loops()


@func
def _before(parts: Any) -> tuple[Any, Any]:
    """Of the warps' parts, which all have written: the sum of those before this warp's, and of all."""
    barrier()
    kind = parts.element_type
    earlier, every = kind(0), kind(0)
    warps = block_threads() // warp.WARP_SIZE
    if _by_one():
        if _thread() == 0:
            for n in range(warps):
                part = parts[n]
                parts[n] = every
                every += part
            parts[_WARPS] = every
        barrier()
        earlier, every = parts[warp_id()], parts[_WARPS]
    else:
        for n in range(warps):
            if n == warp_id():
                earlier = every
            every += parts[n]
    return earlier, every


def sum(value: T) -> T:
    """The sum of all threads' values, in all threads. Two barriers."""
    return reduce(value, _add)


def max(value: T) -> T:
    """The greatest of all threads' numbers, in all threads. Two barriers."""
    return reduce(value, _greater)


def min(value: T) -> T:
    """The least of all threads' numbers, in all threads. Two barriers."""
    return reduce(value, _less)


def _add(a: Any, b: Any) -> Any:
    return a + b


def _greater(a: Any, b: Any) -> Any:
    from weft.math import max as greater

    return greater(a, b)


def _less(a: Any, b: Any) -> Any:
    from weft.math import min as less

    return less(a, b)


def prefix_sum(value: T, *, exclusive: bool = False) -> T:
    """The sum of the values of this thread and all before it; ``exclusive``: of those before it alone.

    Two barriers; shared memory for 32 values.
    """
    return cast("T", _scanned(value, exclusive=exclusive))


@func
def _scanned(value: Any, *, exclusive: Comptime[bool]) -> Any:
    parts = stack_allocation(_type_of(value), _WARPS + 1, address_space=AddressSpace.SHARED)
    through = warp.prefix_sum(value)
    if lane_id() == warp.WARP_SIZE - 1:
        parts[warp_id()] = through
    before, _ = _before(parts)
    barrier()
    if exclusive:
        last = warp.shuffle_up(through, 1)
        return before + (lane_id() > 0).select(last, _type_of(value)(0))
    return before + through


def broadcast(value: T, thread: NumberLike = 0) -> T:
    """What ``value`` is in the thread of this number, for all. Two barriers; shared memory for one value."""
    return cast("T", _broadcast(value, Int(thread)))


@func
def _broadcast(value: Any, thread: Int) -> Any:
    place = stack_allocation(_type_of(value), 1, address_space=AddressSpace.SHARED)
    if _thread() == thread:
        place[0] = value
    barrier()
    found = place[0]
    barrier()
    return found


def exchange(value: T, thread: NumberLike, *, most: int = _MOST) -> T:
    """What ``value`` is in another thread; threads may read from different ones. Two barriers.

    Args:
        value: each thread's own.
        thread: the number of the thread to read from, x counting fastest.
        most: how many threads the block has at most; shared memory is taken for so many values.
    """
    return cast("T", _exchanged(value, Int(thread), most=most))


@func
def _exchanged(value: Any, thread: Int, *, most: Comptime[int]) -> Any:
    places = stack_allocation(_type_of(value), most, address_space=AddressSpace.SHARED)
    places[_thread()] = value
    barrier()
    found = places[thread]
    barrier()
    return found


def count(predicate: Bool | bool) -> Int32:
    """In how many threads ``predicate`` holds, for all. Two barriers. CUDA: ``__syncthreads_count``."""
    return _counted(Bool(predicate))


@func
def _counted(predicate: Bool) -> Int32:
    parts = stack_allocation(Int32, _WARPS + 1, address_space=AddressSpace.SHARED)
    here = pop_count(warp.ballot(predicate)).cast(Int32)
    if lane_id() == 0:
        parts[warp_id()] = here
    _, total = _before(parts)
    barrier()
    return total


def any(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` holds in a thread. Two barriers. CUDA: ``__syncthreads_or``."""
    return count(predicate) > 0


def all(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` holds in all threads. Two barriers. CUDA: ``__syncthreads_and``."""
    return count(predicate) == block_threads().cast(Int32)


def histogram(bin: NumberLike, *, bins: int) -> Pointer[UInt32]:
    """How many threads have each number from 0 to below ``bins``: shared memory of the block.

    Numbers outside are not counted. The memory is the same at each call of this length, and may be read until
    the next. Three barriers; one atomic update of shared memory a thread.
    """
    return cast("Pointer[UInt32]", _histogram(Int(bin), bins=bins))


@func
def _histogram(bin: Int, *, bins: Comptime[int]) -> Any:
    counts = stack_allocation(UInt32, bins, address_space=AddressSpace.SHARED)
    barrier()  # nobody reads the last one any more
    for n in range(_thread(), bins, block_threads()):
        counts[n] = 0
    barrier()
    if 0 <= bin < bins:
        Atomic.fetch_add(counts + bin, 1, scope="block")
    barrier()
    return counts


def radix_sort(key: T, *, descending: bool = False, most: int = _MOST) -> T:
    """The keys of the block in order: thread 0 is given the least, and so on.

    Bit by bit from the lowest, each pass keeping the order of equal bits; three barriers a bit. Shared memory
    for ``most`` keys.

    Args:
        key: a number of any width, each thread's own. Floats are ordered by their bits: -0 before 0, nan of a
            clear sign behind infinity.
        descending: the greatest first.
        most: how many threads the block has at most.
    """
    given: Any = key
    if not isinstance(given, Number) or given.lanes != 1 or given.dtype.kind == "bool":
        refuse(
            "lanes",
            f"radix_sort() sorts numbers, not {type(given).__name__}",
            hint="sort the numbers' keys; what goes with them is found by their places",
        )
    return cast("T", _sorted(given, descending=descending, most=most))


@func
def _sorted(key: Any, *, descending: Comptime[bool], most: Comptime[int]) -> Any:
    kind = _type_of(key)
    width = kind.dtype.bits
    word: Any = number_class(as_dtype(f"uint{width}"))
    top = word(1) << (width - 1)
    bits: Any = key.bitcast(word)
    if kind.dtype.is_float:
        bits ^= (bits >= top).select(~word(0), top)
    elif kind.dtype.is_signed:
        bits ^= top
    if descending:
        bits = ~bits
    places = stack_allocation(word, most, address_space=AddressSpace.SHARED)
    parts = stack_allocation(Int32, _WARPS + 1, address_space=AddressSpace.SHARED)
    before_me = (UInt32(1) << lane_id().cast(UInt32)) - 1
    thread = _thread()
    for n in range(width):
        low = (bits >> word(n)) & word(1) == word(0)
        lows = warp.ballot(low)
        if lane_id() == 0:
            parts[warp_id()] = pop_count(lows).cast(Int32)
        earlier, every = _before(parts)
        rank = Int(earlier + pop_count(lows & before_me).cast(Int32))
        places[low.select(rank, Int(every) + thread - rank)] = bits
        barrier()
        bits = places[thread]
        barrier()
    if descending:
        bits = ~bits
    if kind.dtype.is_float:
        bits ^= (bits >= top).select(top, ~word(0))
    elif kind.dtype.is_signed:
        bits ^= top
    return bits.bitcast(kind)


def _type_of(value: object) -> Any:
    return type(value)


def _thread() -> Int:
    """The thread's number in its block."""
    return warp_id() * warp.WARP_SIZE + lane_id()
