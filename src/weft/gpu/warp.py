"""Warps: the 32 threads that run together, and hand each other values without memory.

The lanes of a warp are threads that follow each other in their block, x counting fastest. Every operation is
for all 32 at once: a launch has blocks of whole warps, and lanes that take part in one come to it together,
or the whole warp does not: none of them may have returned. A value may be a number of
any type, a SIMD vector, a struct, or a tuple.

On an NVIDIA GPU, from compute capability 7.0 on, they are its instructions (``shfl.sync``, ``vote.sync``,
``match.sync``, ``redux.sync``; PTX ISA, "Parallel Synchronization and Communication Instructions").
On a CPU a warp is one vector where lanes read from others that are known at compile time, else 32 rounds of
a loop; threads of a warp that part before an operation are told of, where a GPU would go wrong.

Example:
    >>> from weft import Float32, Pointer, kernel
    >>> from weft.gpu import global_idx, lane_id, warp
    >>> from weft.gpu.host import DeviceContext
    >>> @kernel
    ... def sums(x: Pointer[Float32], out: Pointer[Float32]):
    ...     total = warp.sum(x[global_idx.x])  # in all lanes
    ...     if lane_id() == 0:
    ...         out[global_idx.x // warp.WARP_SIZE] = total
    >>> ctx = DeviceContext(api="cpu")
    >>> x, out = ctx.enqueue_create_buffer(Float32, 64), ctx.enqueue_create_buffer(Float32, 2)
    >>> with x.map_to_host() as host:
    ...     host[:] = range(64)
    >>> ctx.enqueue_function(sums, x, out, grid_dim=1, block_dim=64)
    >>> with out.map_to_host() as host:
    ...     print(host)
    HostBuffer([496.0, 1520.0])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.gpu.cluster import elect_one_sync
from weft.gpu.lanes import LANES, Shuffle, chosen, exchanged, lane_id, numbers_of, warp_barrier, warp_id
from weft.gpu.votes import Word, combined, has_reduction, matched, reduced, told
from weft.lang.number import NumberLike
from weft.lang.scalars import Bool, Int32, UInt32

__all__ = [
    "WARP_SIZE",
    "all",
    "any",
    "ballot",
    "broadcast",
    "elect_one_sync",
    "lane_id",
    "match_all",
    "match_any",
    "max",
    "min",
    "prefix_sum",
    "reduce",
    "shuffle_down",
    "shuffle_idx",
    "shuffle_up",
    "shuffle_xor",
    "sum",
    "syncwarp",
    "uniform",
    "warp_id",
]

T = TypeVar("T")
WARP_SIZE = LANES
"""Lanes of a warp, on every target that weft has."""


def shuffle_idx(value: T, lane: NumberLike, *, width: int = WARP_SIZE) -> T:
    """What ``value`` is in another lane.

    Args:
        value: each lane's own.
        lane: the number of the lane to read from, taken modulo ``width``; lanes may read from different ones.
        width: a power of two up to 32: each so many lanes are a group, and numbers count from its first.

    Returns:
        The value of that lane. PTX: ``shfl.sync.idx`` for each 32 bits. CUDA: ``__shfl_sync``.
    """
    return cast("T", exchanged(Shuffle.IDX, value, lane, _width(width)))


def shuffle_up(value: T, delta: NumberLike, *, width: int = WARP_SIZE) -> T:
    """What ``value`` is so many lanes below; one's own in the first lanes of a group, which have none there.

    As ``shuffle_idx``. PTX: ``shfl.sync.up``. CUDA: ``__shfl_up_sync``.
    """
    return cast("T", exchanged(Shuffle.UP, value, delta, _width(width)))


def shuffle_down(value: T, delta: NumberLike, *, width: int = WARP_SIZE) -> T:
    """What ``value`` is so many lanes above; one's own in the last lanes of a group, which have none there.

    As ``shuffle_idx``. PTX: ``shfl.sync.down``. CUDA: ``__shfl_down_sync``.
    """
    return cast("T", exchanged(Shuffle.DOWN, value, delta, _width(width)))


def shuffle_xor(value: T, mask: NumberLike, *, width: int = WARP_SIZE) -> T:
    """What ``value`` is in the lane whose number differs in the bits of ``mask``.

    One's own where that is in a later group. PTX: ``shfl.sync.bfly``. CUDA: ``__shfl_xor_sync``.
    """
    return cast("T", exchanged(Shuffle.XOR, value, mask, _width(width)))


def broadcast(value: T, lane: NumberLike = 0) -> T:
    """What ``value`` is in one lane, for all. As ``shuffle_idx``. PTX: ``shfl.sync.idx``."""
    return shuffle_idx(value, lane)


def reduce(value: T, function: Callable[[T, T], T] | Word, *, width: int = WARP_SIZE, stride: int = 1) -> T:
    """All lanes' values combined by ``function``, in all lanes.

    In log2(``width``) steps each lane takes in what the lane 1, 2, 4 ... away has: the order is the same on
    all devices, so are the results bit for bit, and all lanes have the same if the function commutes. PTX:
    ``shfl.sync.bfly`` for each step.

    Args:
        value: each lane's own: a number, a vector, a struct, a tuple.
        function: of two values, to which the order does not matter: ``lambda a, b: a * b``, a ``@func``; or
            ``"add"``, ``"and"``, ``"or"``, ``"xor"``, ``"min"``, ``"max"``. These are one instruction for
            integers up to 32 bits of all lanes on GPUs that have it (``redux.sync``, from sm_80 on).
        width: a power of two up to 32; each group of so many lanes has a result of its own.
        stride: how far the lanes of a group lie apart, a power of two; groups are side by side within that.

    Example:
        >>> from weft import Int32, Pointer, kernel
        >>> from weft.gpu import thread_idx, warp
        >>> from weft.gpu.host import DeviceContext
        >>> @kernel
        ... def of_groups(x: Pointer[Int32]):
        ...     i = thread_idx.x
        ...     x[i] = warp.reduce(x[i], "or", width=8)
        >>> ctx = DeviceContext(api="cpu")
        >>> x = ctx.enqueue_create_buffer(Int32, 32)
        >>> with x.map_to_host() as host:
        ...     host[:] = [i // 8 << i % 8 for i in range(32)]
        >>> ctx.enqueue_function(of_groups, x, grid_dim=1, block_dim=32)
        >>> with x.map_to_host() as host:
        ...     print(*list(host)[::8])
        0 255 510 511
    """
    span = _width(_width(width) * _width(stride))
    if width == WARP_SIZE and isinstance(function, str) and has_reduction(value):
        return cast("T", reduced(function, value))
    step = stride
    while step < span:
        value = combined(function, value, shuffle_xor(value, step))
        step *= 2
    return value


def sum(value: T, *, width: int = WARP_SIZE, stride: int = 1) -> T:
    """The sum of all lanes' values, in all lanes: ``reduce`` by ``"add"``."""
    return reduce(value, "add", width=width, stride=stride)


def max(value: T, *, width: int = WARP_SIZE, stride: int = 1) -> T:
    """The greatest of all lanes' numbers, in all lanes; of vectors, lane by lane: ``reduce`` by ``"max"``."""
    return reduce(value, "max", width=width, stride=stride)


def min(value: T, *, width: int = WARP_SIZE, stride: int = 1) -> T:
    """The least of all lanes' numbers, in all lanes; of vectors, lane by lane: ``reduce`` by ``"min"``."""
    return reduce(value, "min", width=width, stride=stride)


def prefix_sum(value: T, *, exclusive: bool = False, width: int = WARP_SIZE) -> T:
    """The sum of the values of this lane and all before it; ``exclusive``: of those before it alone.

    The first lane's is then 0. Of numbers, vectors, and structs that are added and made from 0. In
    log2(``width``) steps, after Hillis and Steele (1986). PTX: ``shfl.sync.up`` for each.
    """
    lane = lane_id().cast(Int32) % _width(width)
    total: Any = value
    step = 1
    while step < width:
        before: Any = shuffle_up(total, step, width=width)
        total = chosen(lane >= step, combined("add", before, total), total)
        step *= 2
    if exclusive:
        before = shuffle_up(total, 1, width=width)
        total = chosen(lane > 0, before, cast("Any", type(value))(0))
    return cast("T", total)


def ballot(predicate: Bool | bool) -> UInt32:
    """One bit for each lane, from the lowest: whether ``predicate`` holds there.

    PTX: ``vote.sync.ballot.b32``. CUDA: ``__ballot_sync``.
    """
    return cast("UInt32", told("ballot", predicate))


def any(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` holds in a lane. PTX: ``vote.sync.ballot``, compared. CUDA: ``__any_sync``."""
    return cast("Bool", told("any", predicate))


def all(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` holds in all lanes. PTX: ``vote.sync.ballot``, compared. CUDA: ``__all_sync``."""
    return cast("Bool", told("all", predicate))


def uniform(predicate: Bool | bool) -> Bool:
    """Whether ``predicate`` is the same in all lanes. PTX: ``vote.sync.ballot``, compared."""
    return cast("Bool", told("uni", predicate))


def match_any(value: Any) -> UInt32:
    """One bit for each lane: whether it has the same as this lane. CUDA: ``__match_any_sync``.

    Numbers are compared by ``==``, so nan matches nothing, and the two zeros match; all numbers of a vector
    or a struct must be the same. On an NVIDIA GPU each is one ``match.any.sync``.
    """
    return cast("UInt32", matched(value))


def match_all(value: Any) -> Bool:
    """Whether all lanes have the same, as ``match_any`` compares: with the first one's.

    PTX: ``shfl.sync.idx`` and ``vote.sync.ballot``. CUDA: ``__match_all_sync``.
    """
    first = broadcast(value)
    same = Bool(True)
    for one, other in zip(numbers_of(value), numbers_of(first), strict=True):
        for n in range(one.lanes):
            same &= one == other if one.lanes == 1 else one[n] == other[n]
    return all(same)


def syncwarp() -> None:
    """Wait until all lanes are here; what they wrote to memory is visible to each other then.

    PTX: ``bar.warp.sync``. CUDA: ``__syncwarp()``.
    """
    warp_barrier()


def _width(width: int) -> int:
    if type(width) is not int or width not in (1, 2, 4, 8, 16, WARP_SIZE):
        refuse(
            "lanes",
            f"lanes come in groups of a power of two up to {WARP_SIZE}, not {width!r}",
            hint="write width=16, say, known at compile time",
        )
    return width


present(
    globals(),
    called={
        "vote": "ballot(p)",
        "active_mask": "ballot(p): a bit for each lane; all lanes come to it, or none",
    },
)
