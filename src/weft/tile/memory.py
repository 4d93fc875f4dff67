"""Tiles out of tensors and into them."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, TypeVar, cast

from weft.atomic import Atomic
from weft.diagnostics import STORED, a_, refuse
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.machine import note_use
from weft.lang.number import Number, NumberLike, number_class, type_name
from weft.lang.python_number import python_number
from weft.lang.scalars import Bool
from weft.layout import LayoutTensor
from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import modes
from weft.layout.tensor.edge import absent
from weft.tile.distribution import Distribution, Shape, blocked, first_of
from weft.tile.exchange import in_vectors
from weft.tile.making import block_threads
from weft.tile.registers import joined, lane, pieces
from weft.tile.shapes import checked
from weft.tile.tile import Tile

__all__ = ["atomic_add", "gather", "load", "scatter", "store"]

T = TypeVar("T")
Places = NumberLike | Sequence[NumberLike]
_WIDEST = 16


def load(
    tensor: LayoutTensor[T],
    at: Places | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    other: float = 0,
    like: Tile[Any] | None = None,
) -> Tile[T]:
    """A tile out of a tensor, by all threads of the block, 16 bytes at once where memory lies so.

    Args:
        tensor: the tensor; or, without ``at`` and ``shape``, the tile itself: ``x.tile[64, 64](i, j)``.
        at: which tile, counted in tiles: a number for each axis.
        shape: its extents, powers of two, known at compile time.
        other: what elements are that lie beyond the tensor's edges.
        like: a tile whose distribution this one is to have, such as a sum that it is added to.

    Raises:
        CompileError: extents are no powers of two, or the tensor has another number of axes.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, tile
        >>> from weft.gpu.host import DeviceContext
        >>> @tile.tile_kernel(threads=32)
        ... def total(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
        ...     out[0] = tile.load(x, 0, 128).sum()
        >>> out = np.zeros(1, np.float32)
        >>> ctx = DeviceContext(api="cpu")
        >>> ctx.enqueue_function(total, np.ones(100, np.float32), out, grid_dim=1)
        >>> ctx.synchronize()
        >>> print(out)
        [100.]
    """
    found, extents = _tile_of("load", tensor, at, shape, other)
    if like is not None and like.shape != extents:
        refuse(
            "tile-shape",
            f"a tile of {extents} is not loaded like one of {like.shape}",
            hint="load tiles of one shape",
        )
    distribution = _for_memory(found, extents) if like is None else like.distribution
    return Tile[T](distribution, _loaded(found, distribution))


def store(tensor: LayoutTensor[Any], at: Any, value: Any = None) -> None:
    """Write a tile to a tensor: ``store(out, (i, j), t)``, or ``store(out.tile[m, n](i, j), t)``.

    What reaches beyond the tensor's edges is not written. The elements become those of the tensor's type.

    Args:
        tensor: the tensor; without ``at``, the tile itself.
        at: which tile of the value's shape, counted in tiles: a number for each axis.
        value: the tile; or a number for all elements of ``tensor``.

    Raises:
        CompileError: the tile has other extents, or the tensor another number of axes.
    """
    if value is None:
        at, value = None, at
    if not isinstance(value, Tile):
        if at is not None and not _has_tile(at):
            message = f"tile.store() is given {kind_of(value)}, which says no extents, and where it goes"
            hint = "write tile.full((4, 64), x), or name the tile itself: tile.store(x.tile[4, 64](i, j), y)"
            refuse("tile-shape", message, hint=hint)
        found, extents = _tile_of("store", tensor, at, None, 0)
        distribution = _for_memory(found, extents)
        value = Tile[Any](distribution, number_class(found.dtype, distribution.count)(value))
    given = cast("Tile[Any]", value)
    if at is not None and isinstance(tensor, LayoutTensor):
        _check_axes(tensor, given)
    found, extents = _tile_of("store", tensor, at, given.shape if at is not None else None, 0)
    if extents != given.shape:
        refuse(
            "tile-shape",
            f"a tile of {given.shape} elements is not stored to one of {extents}",
            hint="give both the same extents; .reshape(...) and .T change a tile's",
        )
    given = given.cast(found.dtype) if given.dtype != found.dtype else given
    width = _WIDEST // found.dtype.itemsize
    if _unit(found, _axis(found)) and given.distribution.vector(_axis(found)) < width:
        given = Tile[Any](*in_vectors(given.distribution, given.values, _axis(found), width))
    _store(found, given)


def gather(
    tensor: LayoutTensor[T], index: Tile[Any], *, mask: Tile[Any] | None = None, other: float = 0
) -> Tile[T]:
    """Elements of a vector by a tile of their indices.

    Args:
        tensor: of one axis.
        index: of integers; they are not checked, as no index of run time is.
        mask: where to read at all: a tile of Bools.
        other: what elements are where ``mask`` does not hold.
    """
    _check_vector("gather", tensor)
    parts = [index] if mask is None else [index, mask]

    def read(*each: Any) -> Any:
        pointer = tensor.address(each[0])
        return pointer[0] if mask is None else pointer.load(0, mask=each[1], default=other)

    return parts[0].map(read, *parts[1:])


def scatter(
    tensor: LayoutTensor[Any], index: Tile[Any], value: Any, *, mask: Tile[Any] | None = None
) -> None:
    """Write elements of a vector by a tile of their indices; of several for one place, some one.

    Args:
        tensor: of one axis.
        index: of integers, which are not checked.
        value: a tile that goes with ``index``, or a number; its elements become those of the tensor's type.
        mask: where to write at all: a tile of Bools.
    """
    _check_vector("scatter", tensor)
    _scatter(
        tensor, index, _like(value, index, tensor), _like(True if mask is None else mask, index), way="store"
    )


def atomic_add(
    tensor: LayoutTensor[Any], index: Tile[Any], value: Any, *, mask: Tile[Any] | None = None
) -> None:
    """Add to elements of a vector by a tile of their indices, where other threads add too. As ``scatter``.

    What is added to integers is integers.
    """
    _check_vector("atomic_add", tensor)
    added: Any = value
    if isinstance(added, float) or (isinstance(added, (Tile, Number)) and added.dtype.is_float):
        if not tensor.dtype.is_float:
            message = f"tile.atomic_add() would add a fraction to elements of {type_name(tensor.dtype)}"
            refuse("operand", message, hint=f"convert it: t.cast({type_name(tensor.dtype)})")
    _scatter(
        tensor, index, _like(value, index, tensor), _like(True if mask is None else mask, index), way="add"
    )


def _like(value: Any, index: Tile[Any], tensor: Any = None) -> Tile[Any]:
    """A tile as ``index`` is distributed, of the tensor's type."""
    kind = Bool if tensor is None else number_class(tensor.dtype)

    def one(_: Any, x: Any) -> Any:
        return x.cast(kind) if isinstance(x, Number) else kind(x)

    return index.map(one, value)


@func
def _scatter(tensor: Any, index: Any, value: Any, mask: Any, *, way: Comptime[str]) -> None:
    if first_of(index.distribution.replicas):
        for n in _numbers(len(index)):
            if mask[n]:
                if way == "add":
                    Atomic.fetch_add(tensor.address(index[n]), value[n])
                else:
                    tensor.address(index[n])[0] = value[n]


def _numbers(count: int) -> list[int]:
    return list(range(count))


def _places(at: Any) -> tuple[Any, ...]:
    return tuple(cast("Any", at)) if isinstance(at, (tuple, list)) else (at,)


def _has_tile(at: Any) -> bool:
    return any(isinstance(place, Tile) for place in _places(at))


def _tile_of(name: str, tensor: Any, at: Any, shape: Any, other: float) -> tuple[Any, Shape]:
    """The tensor that is the tile, and its extents."""
    note_use("warps")
    if not isinstance(tensor, LayoutTensor):
        hint = "annotate the parameter LayoutTensor[Float32], say"
        refuse("operand", f"tile.{name}() takes a tensor, not {a_(type(tensor).__name__)}", hint=hint)
    found = cast("LayoutTensor[Any]", tensor)
    if not isinstance(python_number(other), (int, float)):
        message = f"tile.{name}(): other= is {kind_of(other)}, no number that is known at compile time"
        refuse("operand", message, hint="write other=0.0, say; by a mask and tile.where() it may be any")
    if at is None and shape is None:
        return found, checked(tuple([extent for extent, _ in modes(found.layout)]))
    places = _places(at)
    if shape is None or _has_tile(at):
        message = f"tile.{name}() takes which tile it is and its extents"
        hint = f"write tile.{name}(x, i, 128), the i-th tile of 128; by a tile of indices tile.gather(x, t)"
        refuse(
            "tile-shape",
            message,
            hint=hint if name == "load" else hint.replace("gather(x, t)", "scatter(x, t, value)"),
        )
    extents = checked(shape)
    if len(extents) != found.rank or len(places) != found.rank:
        _refuse_rank(name, found, len(extents), len(places))
    for mode, place in enumerate(places):
        if is_static(place) and place < 0:
            hint = f"the last one is ceildiv(x.dim({mode}), {extents[mode]}) - 1"
            refuse("bounds", f"tile.{name}() was given place {place}: tiles count from 0", hint=hint)
    return found.tile[extents](*places, default=other), extents


def _check_axes(tensor: LayoutTensor[Any], given: Tile[Any]) -> None:
    """Refuse a tile that only has to lose axes of extent 1, such as a sum along one."""
    long = [extent for extent in given.shape if extent > 1]
    if len(given.shape) > tensor.rank >= len(long):
        kept = ", ".join(map(str, long or [1]))
        message = f"a tile of {given.shape} elements has more axes than the tensor, which has {tensor.rank}"
        hint = f"leave out what a reduction left of its axis: {STORED}.reshape({kept})"
        refuse("rank", message, hint=hint, part=STORED, about=given)


def _refuse_rank(name: str, tensor: LayoutTensor[Any], extents: int, places: int) -> None:
    refuse(
        "rank",
        f"tile.{name}() was given {extents} extents and {places} places for a tensor of {tensor.rank} axes",
        hint="give a number for each axis: tile.load(x, (i, j), (64, 64)); x[n] is a row of a matrix",
    )


def _check_vector(name: str, tensor: LayoutTensor[Any]) -> None:
    """Refuse a tensor of which one index says no element."""
    if tensor.rank != 1:
        axes = "no axis" if tensor.rank == 0 else f"{tensor.rank} axes"
        message = f"tile.{name}() goes by one index for each element, and the tensor has {axes}"
        hint = "x[n] is a row of a matrix; all of x is a vector if it is passed so: x.reshape(-1)"
        refuse("rank", message, hint=hint)


def _axis(tensor: LayoutTensor[Any]) -> int:
    """The axis along which memory runs."""
    strides = [stride for _, stride in modes(tensor.layout)]
    ones = [n for n, stride in enumerate(strides) if is_static(stride) and stride == 1]
    longest = [n for n in ones if tensor.layout.shape == 1 or _extent(tensor, n) > 1]
    return (longest or ones or [len(strides) - 1])[-1]


def _unit(tensor: LayoutTensor[Any], axis: int) -> bool:
    """Whether neighbours along an axis are neighbours in memory."""
    stride = [stride for _, stride in modes(tensor.layout)][axis]
    return is_static(stride) and stride == 1


def _extent(tensor: LayoutTensor[Any], axis: int) -> int:
    return [extent for extent, _ in modes(tensor.layout)][axis]  # pyright: ignore[reportReturnType]


def _for_memory(tensor: LayoutTensor[Any], shape: Shape) -> Distribution:
    fast = _axis(tensor)
    order = (fast, *[n for n in reversed(range(len(shape))) if n != fast])
    return blocked(shape, block_threads(), _WIDEST // tensor.dtype.itemsize, order)


def _accesses(tensor: Any, distribution: Distribution) -> tuple[Any, int, int, list[tuple[Any, ...]]]:
    """The tensor with its fast axis last, the width of an access, its alignment, and where each begins."""
    fast, rank = _axis(tensor), len(distribution.shape)
    width = min(distribution.vector(fast), _WIDEST // tensor.dtype.itemsize)
    turned = rank == 2 and fast == 0
    if turned:
        tensor = tensor.transpose()
    strides = [stride for _, stride in modes(tensor.layout)]
    if not (turned or fast == rank - 1) or not (is_static(strides[-1]) and strides[-1] == 1):
        width = 1  # as of a last axis of one element, along which there is no vector
    size = tensor.dtype.itemsize
    alignment = gcd(tensor.alignment, width * size)
    for stride in strides[:-1]:
        alignment = gcd(alignment, size * (stride if is_static(stride) else 1))
    first = distribution.of_thread()
    places: list[tuple[Any, ...]] = []
    for n in range(0, distribution.count, width):
        more = distribution.of_register(n)
        place = tuple([a + b for a, b in zip(first, more, strict=True)])
        places.append(place[::-1] if turned else place)
    return tensor, width, alignment, places


def _loaded(tensor: Any, distribution: Distribution) -> Any:
    tensor, width, alignment, places = _accesses(tensor, distribution)
    nothing = number_class(tensor.dtype, width)(tensor.default)
    return joined([_read(tensor, place, width, alignment, nothing) for place in places])


def _read(tensor: Any, place: Sequence[Any], width: int, alignment: int, nothing: Any) -> Any:
    if absent(tensor, place):
        return nothing
    return tensor.load(*place, width=width, alignment=alignment) if width > 1 else tensor[tuple(place)]


@func
def _store(tensor: Any, value: Any) -> None:
    replicas = value.distribution.replicas
    if replicas == 0 or first_of(replicas):
        _written(tensor, value)


def _written(tensor: Any, value: Any) -> None:
    tensor, width, alignment, places = _accesses(tensor, value.distribution)
    for place, piece in zip(places, pieces(value.values, width), strict=True):
        if absent(tensor, place):
            continue
        if width > 1:
            tensor.store(*place, value=piece, alignment=alignment)
        else:
            tensor[tuple(place)] = lane(piece, 0)
