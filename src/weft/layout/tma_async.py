"""Tiles of a tensor that one thread has the hardware copy: the tensor memory accelerator of Hopper, TMA.

``ctx.create_tma_tile(x, box)`` says on the host which tensor, and how large a tile of it is; the kernel takes
a ``TMATensorTile`` and copies tiles by the coordinates of their first element. In shared memory a tile lies
row by row, *swizzled* if wanted, as ``weft.gpu.wgmma`` takes it. What lies outside of the tensor is read as
zero and not written.

NVIDIA GPUs do so from compute capability 9.0 (Hopper) on: ``cp.async.bulk.tensor``. Elsewhere the thread that
begins a copy makes it, so the same kernels run.

Example:
    >>> from weft import Float32, UInt64, kernel
    >>> from weft.gpu import barrier, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.gpu.mbarrier import SharedMemBarrier
    >>> from weft.layout import Layout, LayoutTensor
    >>> from weft.layout.tma_async import TMATensorTile
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def corner(x: TMATensorTile[Float32], out: LayoutTensor[Float32]):
    ...     tile = stack_allocation(Float32, 8, address_space=AddressSpace.SHARED, alignment=128)
    ...     arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=AddressSpace.SHARED))
    ...     if thread_idx.x == 0:
    ...         x.prefetch_descriptor()
    ...         arrived.init(1)
    ...         arrived.expect_bytes(x.nbytes)
    ...         x.async_copy(tile, arrived, (2, 4))
    ...     barrier()
    ...     arrived.wait(0)
    ...     out[thread_idx.x] = tile[thread_idx.x]
    >>> ctx = DeviceContext(api="cpu")
    >>> x, out = ctx.enqueue_create_buffer(Float32, 24), ctx.enqueue_create_buffer(Float32, 8)
    >>> with x.map_to_host() as host:
    ...     host[:] = range(24)
    >>> tile = ctx.create_tma_tile(x.tensor(Layout.row_major(3, 8)), (2, 4))
    >>> ctx.enqueue_function(corner, tile, out, grid_dim=1, block_dim=8)
    >>> with out.map_to_host() as host:
    ...     print(host)
    HostBuffer([20.0, 21.0, 22.0, 23.0, 0.0, 0.0, 0.0, 0.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import Any, Generic, TypeVar, cast

from weft.atomic import Atomic
from weft.diagnostics import a_, refuse
from weft.diagnostics.modules import present
from weft.dtype import DType
from weft.gpu.bulk import async_bulk_commit_group, async_bulk_wait_group, cache_hint, reduction_word
from weft.gpu.cluster import check, cluster_dim, map_shared_rank
from weft.gpu.mbarrier import SharedMemBarrier, count_in, has_hardware, shared_address
from weft.gpu.memory import CacheEviction
from weft.lang.accept import Accepted, Mismatch, element_dtype
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.intrinsics import inline_asm
from weft.lang.lanes import iota
from weft.lang.machine import note_copies, note_use, uses_thread
from weft.lang.number import NumberLike, type_name
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Bool, Int, Int32, UInt16, UInt64
from weft.lang.spec import Leaf, PointerSpec, Spec, leaves_of
from weft.layout.tensor.spec import TensorSpec
from weft.layout.tensor.tensor import LayoutTensor

__all__ = ["TMATensorTile", "TensorMapSwizzle"]

T = TypeVar("T")
_CHUNK = 16
_LINE = 128
_WHOLE = "a tile's last coordinate is at a multiple of 16 bytes"
_DESCRIPTOR = PointerSpec(UInt64.dtype, AddressSpace.GLOBAL)


class TensorMapSwizzle(IntEnum):
    """How the 16-byte pieces of a tile's rows lie in shared memory; the number is a row's bytes.

    In a tile whose rows are of 128 bytes, piece c of row r lies at ``c ^ (r % 8)``: see
    ``weft.gpu.wgmma.swizzled``. Narrower rows exchange fewer.
    """

    SWIZZLE_NONE = 0
    SWIZZLE_32B = 32
    SWIZZLE_64B = 64
    SWIZZLE_128B = 128


class TMATensorTile(Generic[T]):
    """Tiles of a tensor of ``T``, as ``ctx.create_tma_tile`` makes them and kernels take them.

    Coordinates are those of the tile's first element, in the order of the tensor's indices (Mojo's and CUDA's
    are the other way round). Each method is for one thread of a block, such as thread 0 or the one that
    ``elect_one_sync()`` names. Memory in a block is at a multiple of 128 bytes, of 1024 if it is swizzled by
    128.

    Mojo: ``TMATensorTile``. CUDA: ``CUtensorMap``.
    """

    __slots__ = ("box", "descriptor", "swizzle", "tensor")

    def __init__(self, tensor: Any, box: tuple[int, ...], swizzle: TensorMapSwizzle, descriptor: Any) -> None:
        self.tensor: LayoutTensor[T] = tensor
        """All of it."""
        self.box: tuple[int, ...] = box
        """The extents of a tile."""
        self.swizzle: TensorMapSwizzle = swizzle
        """How it lies in shared memory."""
        self.descriptor: Any = descriptor
        """What the hardware is told of it: a buffer on the host, a pointer in a kernel."""

    @property
    def dtype(self) -> DType:
        """The elements' type."""
        return self.tensor.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of a tile, which a barrier is to expect."""
        return prod(self.box) * self.dtype.itemsize

    # -- copies ---------------------------------------------------------------------------------
    def prefetch_descriptor(self) -> None:
        """Have the hardware look what the tile is: once in a block, before its first copy.

        PTX: ``fence.proxy.tensormap`` and ``prefetch.tensormap``.
        """
        uses_thread()
        note_use("tiles_looked_up")
        if has_hardware():
            text = "fence.proxy.tensormap::generic.acquire.sys [$0], 128; prefetch.tensormap [$0];"
            inline_asm(text, None, self.descriptor, constraints="l", effects="all")

    def async_copy(
        self,
        dst: Pointer[T],
        mem_barrier: SharedMemBarrier,
        coords: Sequence[NumberLike],
        *,
        eviction_policy: CacheEviction = CacheEviction.EVICT_NORMAL,
    ) -> None:
        """Begin to copy a tile to shared memory.

        Args:
            dst: where it goes.
            mem_barrier: what counts its ``nbytes`` bytes, also where some of them lie outside of the tensor.
            coords: its first element, below 0 too; the last coordinate at a multiple of 16 bytes.
            eviction_policy: how soon the L2 cache is to forget it.

        Raises:
            CompileError: the memory is not shared, of another type, or there are more or fewer coordinates.

        PTX: ``cp.async.bulk.tensor``.
        """
        at, hint = self._checked("async_copy()", dst, coords), cache_hint(eviction_policy)
        if has_hardware():
            self._load(dst, mem_barrier, at, hint)
        else:
            note_copies("begins", mem_barrier.word.value)
            _each_piece(self, dst, at, do=_loaded)
            note_copies("ends")
            count_in(mem_barrier, self.nbytes)

    def async_multicast_load(
        self,
        dst: Pointer[T],
        mem_barrier: SharedMemBarrier,
        coords: Sequence[NumberLike],
        multicast_mask: NumberLike,
        *,
        eviction_policy: CacheEviction = CacheEviction.EVICT_NORMAL,
    ) -> None:
        """Likewise to the same place in several blocks of the cluster; the barrier of each counts the bytes.

        Args:
            dst: where it goes in each of them.
            mem_barrier: as it lies in each of them.
            coords: as for ``async_copy``.
            multicast_mask: bit r is set for the block of rank r.
            eviction_policy: as for ``async_copy``.
        """
        check("async_multicast_load()")
        at, mask = self._checked("async_multicast_load()", dst, coords), UInt16(multicast_mask)
        hint = cache_hint(eviction_policy)
        if has_hardware():
            self._load(dst, mem_barrier, at, hint, mask)
        else:
            uses_thread()
            _copied_to_cluster(self, dst, mem_barrier.word, at, mask)

    def async_store(
        self,
        src: Pointer[T],
        coords: Sequence[NumberLike],
        *,
        eviction_policy: CacheEviction = CacheEviction.EVICT_NORMAL,
    ) -> None:
        """Begin to copy a tile from shared memory to the tensor, in a group of this thread's.

        Whoever wrote to the shared memory calls ``async_proxy_fence()`` before, and all meet at a
        ``barrier()``. ``commit_group()`` ends the group.

        Args:
            src: the tile.
            coords: its first element, not below 0; the last coordinate at a multiple of 16 bytes.
            eviction_policy: as for ``async_copy``.
        """
        at, hint = self._checked("async_store()", src, coords, least=0), cache_hint(eviction_policy)
        if has_hardware():
            self._store("cp.async.bulk.tensor.{}d.global.shared::cta.bulk_group", src, at, hint)
        else:
            _each_piece(self, src, at, do=_stored, stores=True)

    def async_reduce(self, src: Pointer[T], coords: Sequence[NumberLike], op: str = "add") -> None:
        """Likewise, but combine what the tensor holds with the tile, each element atomically.

        Args:
            src: the tile.
            coords: its first element, as for ``async_store``.
            op: as for ``weft.gpu.bulk.async_bulk_reduce``.
        """
        at = self._checked("async_reduce()", src, coords, least=0)
        reduction_word(self.dtype, op)
        if has_hardware():
            word = f"cp.reduce.async.bulk.tensor.{{}}d.global.shared::cta.{op}.tile.bulk_group"
            self._store(word, src, at, ("",))
        else:
            _each_piece(self, src, at, do=_combined, op=op, stores=True)

    def commit_group(self) -> None:
        """End a group of this thread's stores, as ``async_bulk_commit_group()`` does."""
        async_bulk_commit_group()

    def wait_group(self, n: int = 0, *, read: bool = False) -> None:
        """Wait for groups of this thread's stores, as ``async_bulk_wait_group(n)`` does."""
        async_bulk_wait_group(n, read=read)

    # -- how ------------------------------------------------------------------------------------
    def _checked(self, name: str, memory: Any, coords: Any, least: int | None = None) -> tuple[Int, ...]:
        uses_thread()
        note_use("tiles")
        if not isinstance(memory, Pointer):
            refuse("async-copy", f"{name} takes shared memory, not {kind_of(memory)}", hint="give a pointer")
        pointer = cast("Pointer[Any]", memory)
        if pointer.space != AddressSpace.SHARED or pointer.dtype != self.dtype:
            space = AddressSpace(pointer.space).name
            refuse(
                "async-copy",
                f"{name} of {self.dtype} takes AddressSpace.SHARED, "
                f"not {pointer.dtype} in AddressSpace.{space}",
                hint="make it with stack_allocation(..., address_space=AddressSpace.SHARED)",
            )
        if not isinstance(coords, tuple) or len(cast("tuple[Any, ...]", coords)) != len(self.box):
            message = f"{name} takes the {len(self.box)} coordinates of a tile's first element"
            refuse("async-copy", message, hint=f"write ({', '.join('ijklm'[: len(self.box)])})")
        at = tuple([Int(n) for n in cast("tuple[Any, ...]", coords)])
        known = [n.value for n in at if isinstance(n.value, int)]
        last = at[-1].value
        if isinstance(last, int) and last * self.dtype.itemsize % _CHUNK:
            refuse("async-copy", f"{name} begins at column {last} of {self.dtype}", hint=_WHOLE)
        if least is not None and min(known, default=least) < least:
            refuse("async-copy", f"{name} begins at {min(known)}", hint="a tile is stored from 0 on")
        return at

    def _load(
        self,
        dst: Pointer[T],
        barrier: SharedMemBarrier,
        at: tuple[Int, ...],
        hint: tuple[Any, ...],
        mask: Any = None,
    ) -> None:
        at = at if len(at) > 1 else (Int(0), *at)  # the hardware is told of rows
        rank = len(at)
        places = ", ".join(f"${2 + n}" for n in range(rank))
        (hinted, *policy), masks = hint, [] if mask is None else [mask]
        where = "".join([f", ${rank + 3 + n}" for n in range(len(masks) + len(policy))])
        inline_asm(
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
            f"{'.multicast::cluster' * len(masks)}{hinted} "
            f"[$0], [$1, {{{places}}}], [${rank + 2}]{where};",
            None,
            shared_address(dst),
            self.descriptor,
            *[n.cast(Int32) for n in reversed(at)],
            shared_address(barrier.word),
            *masks,
            *policy,
            constraints=",".join(["r", "l", *"r" * (rank + 1), *"h" * len(masks), *"l" * len(policy)]),
            effects="write",
        )

    def _store(self, instruction: str, src: Pointer[T], at: tuple[Int, ...], hint: tuple[Any, ...]) -> None:
        hinted, *policy = hint
        at = at if len(at) > 1 else (Int(0), *at)
        rank = len(at)
        places = ", ".join(f"${2 + n}" for n in range(rank))
        inline_asm(
            f"{instruction.format(rank)}{hinted} [$1, {{{places}}}], [$0]{f', ${rank + 2}' * len(policy)};",
            None,
            shared_address(src),
            self.descriptor,
            *[n.cast(Int32) for n in reversed(at)],
            *policy,
            self.tensor.ptr,  # which is written, as LLVM and the launch are to know
            constraints=",".join(["r", "l", *"r" * rank, *"l" * len(policy), "l"]),
            effects="write",
        )

    # -- the compiler's side --------------------------------------------------------------------
    def __weft_spec__(self) -> Spec:
        return TileSpec(cast("TensorSpec", self.tensor.__weft_spec__()), self.box, self.swizzle)

    def __weft_leaves__(self) -> list[Any]:
        return [*self.tensor.__weft_leaves__(), *leaves_of(self.descriptor)]

    @classmethod
    def __weft_accept__(cls, args: tuple[Any, ...], value: Any) -> Accepted:
        wanted = element_dtype(args)
        allowed = "a TMATensorTile" if wanted is None else f"a TMATensorTile of {type_name(wanted)}"
        if not isinstance(value, TMATensorTile):
            hint = "make one of a tensor: ctx.create_tma_tile(x, (64, 64))"
            raise Mismatch(a_(type(value).__name__), allowed, hint)
        tile = cast("TMATensorTile[Any]", value)
        if wanted is not None and tile.dtype is not wanted:
            found = type_name(tile.dtype)
            message = f"annotate TMATensorTile[{found}]"
            raise Mismatch(f"a TMATensorTile of {found}", allowed, message)
        spec, values = LayoutTensor.__weft_accept__((), tile.tensor)
        return TileSpec(cast("TensorSpec", spec), tile.box, tile.swizzle), [*values, tile.descriptor]

    @classmethod
    def __weft_spec_of_annotation__(cls, args: tuple[Any, ...], given: Any) -> Spec:
        if not isinstance(given, TMATensorTile):
            raise Mismatch("no tile", "a TMATensorTile", "give one: ctx.create_tma_tile(x, (64, 64))")
        return cls.__weft_accept__(args, given)[0]


@dataclass(frozen=True, slots=True)
class TileSpec:
    """Tiles of a tensor: its leaves, and the address of the descriptor."""

    tensor: TensorSpec
    box: tuple[int, ...]
    swizzle: TensorMapSwizzle

    def leaves(self) -> Sequence[Leaf]:
        """The tensor's, then the descriptor."""
        (leaf,) = _DESCRIPTOR.leaves()
        return [*self.tensor.leaves(), Leaf(".descriptor", leaf.type, leaf.dtype, True)]

    def build(self, leaves: Sequence[Any]) -> Any:
        """The tiles, from these."""
        *tensor, descriptor = leaves
        made = self.tensor.build(tensor), self.box, self.swizzle, _DESCRIPTOR.build([descriptor])
        return TMATensorTile[Any](*made)

    def describe(self) -> str:
        """How a message names it."""
        return f"TMATensorTile of {' x '.join(map(str, self.box))} of {self.tensor.describe()}"


# -- without hardware -------------------------------------------------------------------------------
@func
def _each_piece(
    tile: Any,
    memory: Any,
    at: Any,
    *,
    do: Comptime[Any],
    op: Comptime[str] = "",
    stores: Comptime[bool] = False,
) -> None:
    """Do something with 16 bytes after the other: there, in the tensor, which of them exist.

    What the hardware does not take fails here too.
    """
    assert Int(memory) % _LINE == 0, "a tile lies in shared memory at a multiple of 128 bytes"
    assert at[-1] * tile.dtype.itemsize % _CHUNK == 0, "a tile's last coordinate is at a multiple of 16 bytes"
    if stores:
        for n in at:
            assert n >= 0, "a tile is stored at coordinates from 0 on"
    wide, rows = tile.box[-1], tile.box[:-1]
    each = _CHUNK // tile.dtype.itemsize
    mask = max(tile.swizzle // _CHUNK - 1, 0)
    for r in range(prod(rows)):
        rest, there, exists = Int(r), Int(0), Bool(True)
        for mode in unroll(range(len(rows) - 1, -1, -1)):
            place = at[mode] + rest % rows[mode]
            rest //= rows[mode]
            exists = exists & (place >= 0) & (place < tile.tensor.dim(mode))
            there += place * tile.tensor.layout.stride[mode]
        for c in range(wide // each):
            first = at[len(rows)] + c * each
            lanes = iota(Int, each, first)
            held = (lanes >= 0) & (lanes < tile.tensor.dim(len(rows))) & exists
            turned = c ^ (r * wide * tile.dtype.itemsize // _LINE & mask)
            do(memory + (r * wide + turned * each), tile.tensor.ptr + (there + first), held, op)


def _loaded(here: Any, there: Any, held: Any, _: str) -> None:
    here.store(0, there.load(0, width=held.lanes, mask=held), alignment=_CHUNK)


def _stored(here: Any, there: Any, held: Any, _: str) -> None:
    there.store(0, here.load(0, width=held.lanes, alignment=_CHUNK), mask=held)


def _combined(here: Any, there: Any, held: Any, op: str) -> None:
    for n in range(held.lanes):
        _combined_if(here + n, there + n, held[n], op=op)


@func
def _combined_if(here: Any, there: Any, held: Bool, *, op: Comptime[str]) -> None:
    if held:
        getattr(Atomic, f"fetch_{op}")(there, here[0])


@func
def _copied_to_cluster(tile: Any, dst: Any, word: Any, at: Any, blocks: UInt16) -> None:
    for rank in range(cluster_dim.x * cluster_dim.y * cluster_dim.z):
        if blocks.cast(Int) >> rank & 1 == 1:
            _each_piece(tile, map_shared_rank(dst, rank), at, do=_loaded)
            count_in(SharedMemBarrier(cast("Any", map_shared_rank(word, rank))), tile.nbytes)


present(globals())
