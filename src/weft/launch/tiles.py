"""Tiles of a tensor made on the host for kernels that have the hardware copy them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from weft.abi.artifact import KernelInfo
from weft.diagnostics import LaunchError, a_
from weft.dtype import DType
from weft.foreign.adopt import adopt
from weft.lang.accept import Mismatch
from weft.layout import LayoutTensor
from weft.layout.tensor.access import modes
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.context import BaseContext
from weft.runtime.driver import Launch, Tiled

if TYPE_CHECKING:
    from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile

_CHUNK = 16
_MOST_KNOWN = 1024
_BYTES, _TOGETHER = 128, 64
"""Of a descriptor, and descriptors for which memory is allocated together."""
_rooms = threading.Lock()
_MOST_AXES, _WIDEST, _LONGEST, _FARTHEST = 5, 256, 1 << 32, 1 << 40


class Descriptors(DeviceBuffer[Any]):
    """What the hardware reads of tiles. Nobody writes to it, so its users wait for nobody."""

    __slots__ = ()


class _Asked(threading.local):
    tiles: dict[int, tuple[Tiled, Any]] | None = None


asked: _Asked = _Asked()
"""Where somebody wants to know them, the tiles that this thread asks for, by the address of their descriptor:
with its buffer."""


class MakesTiles(BaseContext):
    """A context as it makes tiles."""

    _known: dict[Tiled, Any] | None = None
    """Descriptors that were made: one says where memory lies, so it serves whatever lies there again."""
    _left: list[Descriptors] | None = None
    """Room for more."""

    def create_tma_tile(
        self,
        x: Any,
        box: tuple[int, ...],
        *,
        swizzle: TensorMapSwizzle | None = None,
    ) -> TMATensorTile[Any]:
        """Tiles of a tensor for kernels that have the hardware copy them: ``weft.layout.tma_async``.

        Args:
            x: a tensor of 1 to 5 axes over memory of this device, or an array. Neighbours along its last axis
                are neighbours in memory; the other strides are multiples of 16 bytes.
            box: a tile's extents, 1 to 256 each; a row of it is a multiple of 16 bytes.
            swizzle: how it lies in shared memory; by default row by row. A row has as many bytes as it says.

        Returns:
            what a kernel's parameter ``TMATensorTile`` takes, for as long as the memory lives.

        Raises:
            LaunchError: the tensor or the box is of another kind.
            DeviceError: the driver is too old.
        """
        from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile

        swizzle = TensorMapSwizzle.SWIZZLE_NONE if swizzle is None else swizzle
        tensor = _tensor(self, x)
        return TMATensorTile[Any](tensor, box, swizzle, self.descriptor_of(described(tensor, box, swizzle)))

    def descriptor_of(self, tiles: Tiled) -> Any:
        """The buffer in which the hardware reads what tiles are: made once for what lies at one place."""
        found = None if self._known is None else self._known.get(tiles)
        if found is None:
            found = self._new_descriptor()
            self.device.write_at_once(found.address, self.device.describe_tiles(tiles) or bytes(_BYTES))
            if self.leaks is None:
                if self._known is None or len(self._known) >= _MOST_KNOWN:
                    self._known = {}
                self._known[tiles] = found
        if asked.tiles is not None:
            asked.tiles[found.address] = tiles, found
        return found

    def describe_tiles(self, kernel: KernelInfo, values: list[Any], memory: list[Any]) -> None:
        """Add to a launch's arguments where the tiles are described that it describes, or correct it."""
        asked = tiles_at(kernel, values)
        found = {slot: self.descriptor_of(tiles) for slot, tiles in asked.items()}
        known = [slot for slot in found if slot < len(values)]
        del memory[len(memory) - len(known) :]
        memory.extend(found.values())
        for slot, descriptor in found.items():
            values[slot : slot + 1] = [descriptor.address]

    def tiles_of(self, launch: Launch) -> dict[tuple[int, int], dict[int, Descriptors]] | None:
        """Of the tiles that a launch has described: slot, slot of their memory, its address, and the buffer.

        None where somebody looks for buffers that were not freed, so that none are kept.
        """
        kernel, words = launch.function.kernel, memoryview(launch.arguments).cast("Q")
        found = dict[tuple[int, int], dict[int, Descriptors]]()
        for slot, tiles in tiles_at(kernel, words).items() if kernel.tiles else ():
            known = None if self._known is None else self._known.get(tiles)
            if known is None:
                return None
            found[slot, kernel.tiles[slot].parameter] = {tiles.address: known}
        return found

    def _new_descriptor(self) -> Descriptors:
        """Room for a descriptor that nobody has used: memory for many is allocated together."""
        with _rooms:
            if not self._left:
                count = 1 if self.leaks is not None else _TOGETHER
                made: DeviceBuffer[Any] = self.enqueue_create_buffer(DType.uint64, count * _BYTES // 8)
                places = range(made.address, made.address + count * _BYTES, _BYTES)
                parts = [Descriptors(self, made.dtype, made.allocation, at, _BYTES // 8) for at in places]
                self._left = parts
            return self._left.pop()


def tiles_at(kernel: KernelInfo, values: Sequence[Any]) -> dict[int, Tiled]:
    """By slot, the tiles of its arguments that a launch with these machine values describes."""
    found: dict[int, Tiled] = {}
    for slot, asked in kernel.tiles.items():
        dtype, address = kernel.signature.parameters[asked.parameter].dtype.name, values[asked.parameter]
        found[slot] = Tiled(dtype, address, asked.extents, asked.strides, asked.box, asked.swizzle)
    return found


def described(tensor: LayoutTensor[Any], box: tuple[int, ...], swizzle: TensorMapSwizzle) -> Tiled:
    """What a driver is told of tiles.

    Raises:
        LaunchError: the hardware copies no such tiles.
    """
    axes = [*modes(tensor.layout)]
    if tensor.swizzle is not None:
        _refuse(f"{tensor.layout} is swizzled in memory", "give create_tma_tile() a swizzle instead")
    if any(not isinstance(n, int) for axis in axes for n in axis):
        _refuse(f"the layout {tensor.layout} has axes with several strides", "give a tensor of plain axes")
    extents, steps = ([int(axis[n]) for axis in axes] for n in (0, 1))  # pyright: ignore[reportArgumentType]
    size = tensor.dtype.itemsize
    strides = [step * size for step in steps]
    _check_memory(tensor, extents, strides)
    _check_box(box, len(extents), size, swizzle)
    return Tiled(tensor.dtype.name, tensor.storage.address, tuple(extents), tuple(strides), box, int(swizzle))


def _tensor(ctx: BaseContext, given: Any) -> LayoutTensor[Any]:
    try:
        tensor = adopt(ctx, LayoutTensor, given)
    except Mismatch as found:
        _refuse(f"tiles are of {found.allowed}, not {found.found}", found.hint)
    if not isinstance(tensor, LayoutTensor):
        hint = "give buffer.tensor(Layout.row_major(rows, columns)), or an array"
        _refuse(f"tiles are of a tensor, not {a_(type(given).__name__)}", hint)
    if not ctx.info.shares_host and getattr(tensor.storage, "api", ctx.api) is None:
        hint = "copy it to a buffer before, and give buffer.tensor(...)"
        _refuse(f"this {type(given).__name__} is memory of the host, which launches copy elsewhere", hint)
    if tensor.element is not None or tensor.masked:
        _refuse("tiles are of a plain tensor, not of vectors or a tile", "give the whole tensor")
    return cast("LayoutTensor[Any]", tensor)


def _check_memory(tensor: LayoutTensor[Any], extents: list[int], strides: list[int]) -> None:
    size, dtype = tensor.dtype.itemsize, tensor.dtype
    if not dtype.is_number or size > 8:
        _refuse(f"tiles are of numbers, not of {dtype}", "view the memory as UInt32")
    if not 1 <= len(extents) <= _MOST_AXES:
        _refuse(f"the tensor has {len(extents)} axes", f"tiles have 1 to {_MOST_AXES}")
    if strides[-1] != size:
        hint = "give the tensor transposed, and take its coordinates in that order"
        _refuse(f"neighbours along the last axis of {tensor.layout} are not neighbours in memory", hint)
    if any(n % _CHUNK or not 0 <= n < _FARTHEST for n in strides[:-1]):
        shown = ", ".join(map(str, strides))
        hint = "let rows begin at multiples of 16 bytes: make them longer"
        _refuse(f"the strides of {tensor.layout} of {dtype} are {shown} bytes", hint)
    if not all(1 <= n <= _LONGEST for n in extents):
        _refuse(f"the tensor's extents are {tuple(extents)}", f"each is 1 to {_LONGEST}")
    if tensor.storage.address % _CHUNK:
        _refuse("the tensor's memory begins at no multiple of 16 bytes", "begin at such an element")


def _check_box(given: Any, rank: int, size: int, swizzle: Any) -> None:
    box = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else ()
    if not box or len(box) != rank or not all(type(n) is int for n in box):
        _refuse(f"a tile of a tensor of {rank} axes has {rank} extents, not {given!r}", _example(rank), "box")
    if not all(1 <= n <= _WIDEST for n in box):
        _refuse(f"the tile's extents are {box}", f"each is 1 to {_WIDEST}", "box")
    row = box[-1] * size
    if row % _CHUNK:
        hint = f"let the last extent be a multiple of {_CHUNK // size}"
        _refuse(f"a row of the tile {box} has {row} bytes, no multiple of 16", hint, "box")
    from weft.layout.tma_async import TensorMapSwizzle

    if not isinstance(swizzle, TensorMapSwizzle):
        hint = "write TensorMapSwizzle.SWIZZLE_128B, say"
        _refuse(f"swizzle={swizzle!r} is no TensorMapSwizzle", hint, "swizzle")
    if swizzle and row != int(swizzle):
        hint = f"let the last extent be {swizzle // size}, or take another swizzle"
        _refuse(
            f"{swizzle.name} is for rows of {int(swizzle)} bytes; those of {box} have {row}", hint, "swizzle"
        )


def _example(rank: int) -> str:
    return f"write ({', '.join(['64'] * rank)}{',' * (rank == 1)})"


def _refuse(message: str, hint: str, part: str = "x") -> NoReturn:
    raise LaunchError.here("tensor-tile", message, hint, at=(part, {"x": 0, "box": 1}.get(part, 2)))
