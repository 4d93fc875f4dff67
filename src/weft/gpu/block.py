"""Blocks: what all threads of a block do together, by warps first and then through shared memory.

All threads of the block come to an operation, as to a barrier, or none. Blocks may have one to three axes,
and have whole warps: a multiple of 32 threads, which are counted x fastest. Steps have the same order on
all devices, so results are the same bit for bit. They are there on NVIDIA GPUs from compute capability 7.0
on and on CPUs, made of ``weft.gpu.warp`` and ``barrier()`` where no instruction is named. Operations wait
until their shared memory may be used again, so that they may follow each other, also in loops; but for those
of ``histogram`` and ``radix_sort`` it is one place for all of a kernel.

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
from typing import Any, Literal, TypeVar, cast, overload

from weft.atomic import Atomic
from weft.bit import pop_count
from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import as_dtype
from weft.gpu import warp
from weft.gpu.lanes import block_thread, block_threads, chosen, lane_id, warp_id
from weft.gpu.sorting import ordered, sorted_keys, unordered
from weft.gpu.votes import Word, combined, has_reduction, reduced
from weft.lang.allocate import shared_memory
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import block_barrier, threads_are_loops
from weft.lang.number import Number, NumberLike
from weft.lang.places import integer
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Bool, Int, Int32, UInt32
from weft.memory import stack_allocation

__all__ = [
    "all",
    "any",
    "blocked_to_striped",
    "broadcast",
    "count",
    "exchange",
    "histogram",
    "max",
    "min",
    "prefix_sum",
    "radix_sort",
    "reduce",
    "striped_to_blocked",
    "sum",
]

T = TypeVar("T")
V = TypeVar("V")
_WARPS = 32
_MOST = 1024


def _barrier() -> None:
    """Wait for all threads of the block, of which none has returned."""
    block_barrier(whole=threads_are_loops())


def reduce(value: T, function: Callable[[T, T], T] | Word) -> T:
    """All threads' values combined by ``function``, in all threads.

    Each warp combines its own (``warp.reduce``) and writes one value, and then each the values of all warps,
    as a tree again, as CUB's ``BlockReduce`` does. Two barriers; shared memory for 32 values; no bank
    conflicts.

    Args:
        value: each thread's own: a number, a vector or a struct.
        function: of two values, to which the order does not matter: ``lambda a, b: a * b``, a ``@func``; or
            one of the words that ``warp.reduce`` takes.
    """
    return cast("T", _reduced(value, function))


@func
def _reduced(value: Any, function: Any) -> Any:
    own = warp.reduce(value, function)  # of Bools a sum is an Int
    parts = _scratch(_type_of(own), _WARPS)
    if lane_id() == 0:
        parts[warp_id()] = own
    _barrier()
    if threads_are_loops():
        if block_thread() == 0:  # whose function can wait for no others, and so use no scratch
            _combine_in_turn(parts, function)
        _barrier()
        total = parts[0]
        _barrier()
    else:
        warps, lane = _warps().cast(Int32), lane_id().cast(Int32)
        part = parts[(lane < warps).select(lane, 0)]
        _barrier()
        total = _of_warps(part, warps, lane, function)
    return total


@func
def _combine_in_turn(parts: Any, function: Any) -> None:
    """What lanes do in ``_of_warps``, by one thread; the first part is the result."""
    warps, step = _warps(), Int(1)
    while step < warps:
        for n in range(0, warps - step, 2 * step):
            parts[n] = combined(function, parts[n], parts[n + step])
        step *= 2


def _of_warps(total: Any, warps: Any, lane: Any, function: Any) -> Any:
    """What the warps have made, each in the lane of its number, combined, in all lanes."""
    if isinstance(function, str) and has_reduction(total):
        if function in ("add", "xor"):
            total = (lane < warps).select(total, _type_of(total)(0))
        return reduced(function, total)
    step = 1
    while step < _WARPS:
        total = chosen(lane + step < warps, combined(function, total, warp.shuffle_down(total, step)), total)
        step *= 2
    return warp.broadcast(total)


def sum(value: T) -> T:
    """The sum of all threads' values, in all threads. Two barriers."""
    return reduce(value, "add")


def max(value: T) -> T:
    """The greatest of all threads' numbers, in all threads. Two barriers."""
    return reduce(value, "max")


def min(value: T) -> T:
    """The least of all threads' numbers, in all threads. Two barriers."""
    return reduce(value, "min")


def prefix_sum(value: T, *, exclusive: bool = False) -> T:
    """The sum of the values of this thread and all before it; ``exclusive``: of those before it alone.

    By warps, and then by each warp over the warps' sums, as CUB's ``BlockScan`` does. Two barriers; shared
    memory for 32 values; no bank conflicts.
    """
    return cast("T", _scanned(value, exclusive=exclusive))


@func
def _scanned(value: Any, *, exclusive: Comptime[bool]) -> Any:
    through = warp.prefix_sum(value)
    parts = _scratch(_type_of(through), _WARPS)
    if lane_id() == warp.WARP_SIZE - 1:
        parts[warp_id()] = through
    _barrier()
    if threads_are_loops():
        if block_thread() == 0:
            _scan_in_turn(parts)
        _barrier()
        before = parts[warp_id()]
        _barrier()
    else:
        lane = lane_id().cast(Int32)
        has_part = lane < _warps().cast(Int32)
        part = chosen(has_part, parts[has_part.select(lane, 0)], parts.element_type(0))
        _barrier()
        before = warp.shuffle_idx(warp.prefix_sum(part, exclusive=True), warp_id())
    if exclusive:
        last = warp.shuffle_up(through, 1)
        return combined("add", before, chosen(lane_id() > 0, last, _type_of(through)(0)))
    return combined("add", before, through)


@func
def _scan_in_turn(parts: Any) -> None:
    """What lanes do elsewhere, by one thread: the parts become the sums of those before."""
    warps, step = _warps(), Int(1)
    while step < warps:
        for n in range(warps - 1, step - 1, -1):
            parts[n] = combined("add", parts[n - step], parts[n])
        step *= 2
    for n in range(warps - 1, 0, -1):
        parts[n] = parts[n - 1]
    parts[0] = parts.element_type(0)


def broadcast(value: T, thread: NumberLike = 0) -> T:
    """What ``value`` is in the thread of this number, for all. Two barriers; shared memory for one value.

    On a CPU an assertion fails where the block has no such thread; a GPU has no register for that.
    """
    return cast("T", _broadcast(value, Int(integer(thread, "the number of a thread"))))


@func
def _broadcast(value: Any, thread: Int) -> Any:
    if threads_are_loops():
        assert 0 <= thread < block_threads(), "the block has no such thread"
    place = _scratch(_type_of(value), 1)
    if block_thread() == thread:
        place[0] = value
    _barrier()
    found = place[0]
    _barrier()
    return found


def exchange(value: T, thread: NumberLike, *, most: int = _MOST) -> T:
    """What ``value`` is in another thread; threads may read from different ones. Two barriers.

    On a CPU an assertion fails where the block has no such thread.

    Args:
        value: each thread's own.
        thread: the number of the thread to read from, x counting fastest.
        most: how many threads the block has at most; shared memory is taken for so many values.
    """
    return cast("T", _exchanged(value, Int(integer(thread, "the number of a thread")), most=most))


@func
def _exchanged(value: Any, thread: Int, *, most: Comptime[int]) -> Any:
    if threads_are_loops():
        assert 0 <= thread < block_threads() <= most, "the block has no such thread"
    places = _scratch(_type_of(value), most)
    places[block_thread()] = value
    _barrier()
    found = places[thread]
    _barrier()
    return found


def count(predicate: Bool | bool) -> Int32:
    """In how many threads ``predicate`` holds, for all; it is a barrier.

    PTX: ``barrier.cta.red.popc``. CUDA: ``__syncthreads_count``.
    """
    return cast("Int32", _asked("popc", Bool(predicate)))


def any(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` holds in a thread; it is a barrier.

    PTX: ``barrier.cta.red.or``. CUDA: ``__syncthreads_or``.
    """
    return cast("Bool", _asked("or", Bool(predicate)))


def all(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` holds in all threads; it is a barrier.

    PTX: ``barrier.cta.red.and``. CUDA: ``__syncthreads_and``.
    """
    return cast("Bool", _asked("and", Bool(predicate)))


def _asked(word: Literal["popc", "or", "and"], predicate: Bool) -> Any:
    if not threads_are_loops() and current_target().supports(Feature.NVVM):
        name = f"llvm.nvvm.barrier.cta.red.{word}.aligned.all"
        kind = Int32 if word == "popc" else Bool
        return llvm_intrinsic(name, kind, Int32(0), predicate, effects="block")
    found = reduce(pop_count(warp.ballot(predicate)).cast(Int32), "add") // warp.WARP_SIZE
    if word == "popc":
        return found
    return found > 0 if word == "or" else found == block_threads().cast(Int32)


def histogram(bin: NumberLike, *, bins: int) -> Pointer[UInt32]:
    """How many threads have each number from 0 to below ``bins``: shared memory of the block.

    Numbers outside are not counted. As CUB's ``BlockHistogram`` by atomics (PTX: ``red.shared``). The memory
    is the same at each call of this length, and may be read until the next. Three barriers; one atomic
    update of shared memory a thread.
    """
    return cast("Pointer[UInt32]", _histogram(Int(integer(bin, "the number of a bin")), bins=bins))


@func
def _histogram(bin: Int, *, bins: Comptime[int]) -> Any:
    counts = stack_allocation(UInt32, bins, address_space=AddressSpace.SHARED)
    _barrier()  # nobody reads the last one any more
    for n in range(block_thread(), bins, block_threads()):
        counts[n] = 0
    _barrier()
    if 0 <= bin < bins:
        Atomic.fetch_add(counts + bin, 1, scope="block")
    _barrier()
    return counts


def blocked_to_striped(items: T, *, most: int = _MOST) -> T:
    """Of threads with several items that follow each other, each so many that lie a block apart.

    Thread ``t``'s item ``n`` is number ``t * N + n`` of the block before, and ``n * threads + t`` afterwards,
    as memory is written best. Two barriers; shared memory for all items; no bank conflicts for numbers of 32
    bits, if each thread has an odd number of them or 2, 4, 8, 16 or 32. CUB: ``BlockExchange``.

    Args:
        items: an ``InlineArray`` or a ``SIMD`` vector.
        most: how many threads the block has at most; shared memory is taken for the items of so many.
    """
    return cast("T", _rearranged(items, striped=True, most=most))


def striped_to_blocked(items: T, *, most: int = _MOST) -> T:
    """The other way: of items that lie a block apart, as memory is read best, those that follow each other.

    Thread ``t``'s item ``n`` is number ``n * threads + t`` of the block before, and ``t * N + n`` afterwards.
    """
    return cast("T", _rearranged(items, striped=False, most=most))


@func
def _rearranged(items: Any, *, striped: Comptime[bool], most: Comptime[int]) -> Any:
    count = len(items)
    kind = _type_of(items[0])
    room: int = _spread(count * most, count)
    places = _scratch(kind, room)
    thread, threads = block_thread(), block_threads()
    near = [_spread(thread * count + n, count) for n in range(count)]
    far = [_spread(n * threads + thread, count) for n in range(count)]
    for n, place in enumerate(near if striped else far):
        places[place] = items[n]
    _barrier()
    found = _type_of(items)(*[places[place] for place in (far if striped else near)])
    _barrier()
    return found


def _spread(place: Any, count: int) -> Any:
    """Where an item lies, so that every ``count``-th of them is in another bank."""
    return place if count % 2 else place + place // warp.WARP_SIZE


@overload
def radix_sort(key: T, *, descending: bool = False, most: int = _MOST) -> T: ...
@overload
def radix_sort(key: T, value: V, *, descending: bool = False, most: int = _MOST) -> tuple[T, V]: ...
def radix_sort(key: Any, value: Any = None, *, descending: bool = False, most: int = _MOST) -> Any:
    """The keys of the block in order: thread 0 is given the least, and so on; and what goes with them.

    Five bits a pass from the lowest, each keeping the order of equal digits. Three barriers a pass, 21 for
    32 bits, and two more for values (after CUB's ``BlockRadixRankMatch``). Shared memory for ``most`` keys
    and up to 1088 counters, for values also for ``most`` of these and of 32 bits. Threads of a warp with the
    same digit are found by votes. On a CPU one thread sorts, eight bits a pass.

    Args:
        key: a number of any width, each thread's own. Floats are ordered by their bits: -0 before 0, nan of a
            clear sign behind infinity.
        value: what goes with it: anything that ``exchange`` takes.
        descending: the greatest first; equal keys keep their order.
        most: how many threads the block has at most.

    Returns:
        the key, or the key and its value.
    """
    given: Any = key
    if not isinstance(given, Number) or given.lanes != 1 or given.dtype.kind == "bool":
        refuse(
            "lanes",
            f"radix_sort() sorts numbers, not {type(given).__name__}",
            hint="sort by a number, and give the rest as its value: radix_sort(key, value)",
        )
    if value is None:
        return unordered(sorted_keys(ordered(given, descending), most=most)[0], type(given), descending)
    bits, source = sorted_keys(ordered(given, descending), most=most, sources=True)
    return unordered(bits, type(given), descending), exchange(value, source, most=most)


def _scratch(kind: Any, count: int) -> Any:
    """Shared memory for what threads hand each other at once, up to the barrier that ends the operation."""
    return shared_memory(as_dtype(kind), count, scratch=True)


def _type_of(value: object) -> Any:
    """The type of what threads put into shared memory for each other."""
    if isinstance(value, (bool, int, float)):
        message = f"{value!r} is the same in all threads"
        refuse("lanes", message, hint="give a number that each thread has its own of, such as Float32(x)")
    if value is None or isinstance(value, tuple):
        message = (
            f"threads of a block exchange numbers, vectors and structs, not {kind_of(cast('object', value))}"
        )
        refuse("lanes", message, hint="give its values one by one, or make a @struct of it")
    return type(value)


def _warps() -> Int:
    """How many warps the block has."""
    return block_threads() // warp.WARP_SIZE


present(
    globals(),
    called=dict.fromkeys(
        ("prefix_max", "prefix_min"), "reduce(...) for one result, or a scan of weft.algorithm on the host"
    ),
)
