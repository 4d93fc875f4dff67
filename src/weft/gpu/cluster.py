"""Clusters: blocks that run at the same time, near each other, and reach each other's shared memory.

A launch makes them: ``ctx.enqueue_function(..., cluster_dim=2)`` puts neighbouring blocks of the grid
together by two. GPUs of NVIDIA have them from compute capability 9.0 (Hopper) on, and CPUs run them. In a
launch without ``cluster_dim`` every block is a cluster of its own.

Example:
    >>> from weft import Float32, Pointer, kernel
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.gpu import block_rank_in_cluster, cluster_sync, global_idx, map_shared_rank, thread_idx
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def swap_blocks(x: Pointer[Float32]):
    ...     mine = stack_allocation(Float32, 128, address_space=AddressSpace.SHARED)
    ...     mine[thread_idx.x] = x[global_idx.x]
    ...     cluster_sync()
    ...     theirs = map_shared_rank(mine, 1 - block_rank_in_cluster())
    ...     x[global_idx.x] = theirs[thread_idx.x]
    ...     cluster_sync()  # no block may end while another reads its memory
    >>> ctx = DeviceContext(api="cpu")
    >>> x = ctx.enqueue_create_buffer(Float32, 6)
    >>> with x.map_to_host() as host:
    ...     host[:] = range(6)
    >>> ctx.enqueue_function(swap_blocks, x, grid_dim=2, block_dim=3, cluster_dim=2)
    >>> with x.map_to_host() as host:
    ...     print(host)
    HostBuffer([3.0, 4.0, 5.0, 0.0, 1.0, 2.0])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.lang.hints import kind_of
from weft.lang.intrinsics import Feature, current_target, inline_asm, llvm_intrinsic
from weft.lang.machine import (
    grid_value,
    group_barrier,
    note_use,
    shared_stride,
    threads_are_loops,
    uses_thread,
)
from weft.lang.number import Number, NumberLike
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Bool, Int, UInt32
from weft.lang.spec import PointerSpec
from weft.layout import LayoutTensor

__all__ = [
    "block_id_in_cluster",
    "block_rank_in_cluster",
    "cluster_arrive",
    "cluster_dim",
    "cluster_idx",
    "cluster_sync",
    "cluster_wait",
    "elect_one_sync",
    "map_shared_rank",
]

T = TypeVar("T")


def check(name: str) -> None:
    """The target has clusters."""
    target = current_target()
    uses_thread()
    note_use("clusters")
    if not target.supports(Feature.CLUSTERS):
        refuse(
            "unsupported",
            f"{name} is not known on {target.name}, which has no clusters of blocks",
            hint="clusters need an NVIDIA GPU of compute capability 9.0 or newer, such as an H100",
        )


def _register(name: str) -> Int:
    return Int(llvm_intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}", UInt32, effects="none"))


class ClusterDimensions:
    """Three numbers x, y and z, each read where it is used."""

    __slots__ = ("_made", "_name", "_register")

    def __init__(self, register: str, name: str, made: Callable[[Int, Int], Int] | None = None) -> None:
        self._register = register
        self._name = name
        self._made = made
        """Of the block's place and the blocks of a cluster, where threads are loops."""

    def _along(self, axis: str) -> Int:
        check(f"{self._name}.{axis}")
        if not threads_are_loops():
            return _register(f"{self._register}.{axis}")
        size = grid_value("cluster_dim", axis)
        return size if self._made is None else self._made(grid_value("block_id", axis), size)

    @property
    def x(self) -> Int:
        """Along x."""
        return self._along("x")

    @property
    def y(self) -> Int:
        """Along y."""
        return self._along("y")

    @property
    def z(self) -> Int:
        """Along z."""
        return self._along("z")


cluster_idx: ClusterDimensions = ClusterDimensions(
    "clusterid", "cluster_idx", lambda block, size: block // size
)
"""The cluster's place in the grid, counted in clusters: ``x``, ``y`` and ``z``."""
cluster_dim: ClusterDimensions = ClusterDimensions("cluster.nctaid", "cluster_dim")
"""How many blocks a cluster has, along ``x``, ``y`` and ``z``."""
block_id_in_cluster: ClusterDimensions = ClusterDimensions(
    "cluster.ctaid", "block_id_in_cluster", lambda block, size: block % size
)
"""The block's place in its cluster: ``x``, ``y`` and ``z``, each from 0 to below ``cluster_dim``."""


def block_rank_in_cluster() -> Int:
    """The block's number in its cluster, from 0; x counts fastest. PTX: ``%cluster_ctarank``."""
    check("block_rank_in_cluster()")
    if not threads_are_loops():
        return _register("cluster.ctarank")
    row = block_id_in_cluster.y + cluster_dim.y * block_id_in_cluster.z
    return block_id_in_cluster.x + cluster_dim.x * row


def cluster_arrive() -> None:
    """Say that this thread is here, and go on.

    What it wrote before is visible to the others after their ``cluster_wait``. All threads of the cluster
    that still run must call it, and then ``cluster_wait``, before they call it again. PTX:
    ``barrier.cluster.arrive``.
    """
    check("cluster_arrive()")
    if threads_are_loops():
        return  # what was done before is done when the wait ends
    llvm_intrinsic("llvm.nvvm.barrier.cluster.arrive.aligned", None)


def cluster_wait() -> None:
    """Wait until every thread of the cluster has called ``cluster_arrive``. PTX: ``barrier.cluster.wait``."""
    check("cluster_wait()")
    if threads_are_loops():
        group_barrier("cluster")
        return
    llvm_intrinsic("llvm.nvvm.barrier.cluster.wait.aligned", None)


def cluster_sync() -> None:
    """Wait until every thread of the cluster is here; their writes to memory are visible then.

    It is ``cluster_arrive()`` and ``cluster_wait()``, and what ``barrier()`` is to a block.
    """
    check("cluster_sync()")
    cluster_arrive()
    cluster_wait()


def elect_one_sync() -> Bool:
    """Whether this is the lane that acts for its warp, where one is enough: to start a copy, to arrive.

    All lanes come to it, and it is the same one each time. PTX: ``elect.sync`` from sm_90 on; elsewhere it is
    the first lane.
    """
    from weft.gpu.votes import elected

    return cast("Bool", elected())


@overload
def map_shared_rank(memory: LayoutTensor[T], rank: NumberLike) -> LayoutTensor[T]: ...
@overload
def map_shared_rank(memory: Pointer[T], rank: NumberLike) -> Pointer[T]: ...
def map_shared_rank(memory: Any, rank: NumberLike) -> Any:
    """Another block's copy of the same shared memory: what ``memory`` is in the block of this rank.

    It is read and written like one's own, after a ``cluster_sync()`` by which the other block runs and has
    written it (PTX: ``mapa.shared::cluster``). No block may end while another still uses its memory: end
    with a ``cluster_sync()``.

    Args:
        memory: shared memory of this block, as a pointer or a tensor.
        rank: the other block's ``block_rank_in_cluster()``.

    Raises:
        CompileError: the memory is not shared memory, or the target has no clusters.
    """
    check("map_shared_rank()")
    given = cast("object", memory)
    tensor = cast("LayoutTensor[Any]", given) if isinstance(given, LayoutTensor) else None
    found_pointer = cast("object", given if tensor is None else tensor.ptr)
    pointer = cast("Pointer[Any]", found_pointer)
    if not isinstance(found_pointer, Pointer) or pointer.space != AddressSpace.SHARED:
        found = kind_of(cast("object", given))
        if isinstance(found_pointer, Pointer):
            found = f"memory of AddressSpace.{AddressSpace(pointer.space).name}"
        refuse(
            "address-space",
            f"map_shared_rank() takes a pointer or a tensor of AddressSpace.SHARED, not {found}",
            hint="make it with stack_allocation(..., address_space=AddressSpace.SHARED)",
        )
    number = rank.cast(UInt32) if isinstance(rank, Number) else UInt32(rank)
    if threads_are_loops():
        behind = (Int(number) - block_rank_in_cluster()) * shared_stride()
        return _like(memory, Pointer.from_address(Int(pointer) + behind, pointer.dtype))
    # not the intrinsic, which tells LLVM that the memory stays out of others' sight
    mapped = inline_asm(
        "mapa.shared::cluster.u64 $0, $1, $2;",
        PointerSpec(pointer.dtype, AddressSpace.SHARED_CLUSTER),
        pointer,
        number,
        constraints="=l,l,r",
        effects="write",
    )
    return _like(memory, mapped)


def _like(memory: Any, mapped: Any) -> Any:
    """What ``memory`` is, elsewhere."""
    given = cast("object", memory)
    if not isinstance(given, LayoutTensor):
        return mapped
    tensor = cast("LayoutTensor[Any]", given)
    return LayoutTensor[Any].of(mapped, tensor.layout, tensor.alignment, tensor.element)


present(globals())
