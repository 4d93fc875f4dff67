"""A tile that walks along a mode of its tensor: ``tensor.tiled_iterator[bm, bn](i, j, axis=1)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from weft.diagnostics import refuse
from weft.lang.number import NumberLike
from weft.lang.scalars import Int
from weft.lang.spec import Leaf, Spec, leaves_of, spec_of
from weft.layout.algebra.values import add, ceildiv, mod, sub
from weft.layout.tensor.access import coordinate
from weft.record import record

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor

T = TypeVar("T")


class LayoutTensorIter(Generic[T]):
    """One tile after the other along a mode; a value, which variables hold and loops carry.

    ``it.get()`` is the tile where it stands, ``it[n]`` the one ``n`` places further on, ``it + n`` and
    ``it.next()`` are iterators that stand there, and ``for tile in it`` goes on to the end as a loop of the
    device. A circular one begins again behind the last tile: the stages of a buffer that is filled and used
    in turn. Made by ``LayoutTensor.tiled_iterator``.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, func
        >>> from weft.layout import LayoutTensor
        >>> @func
        ... def later(t: LayoutTensor[Float32]) -> Float32:
        ...     total = 0.0
        ...     it = t.tiled_iterator[2, 2](1, 0, axis=1)
        ...     while total < 20.0:
        ...         total += it.get()[0, 0]
        ...         it += 1
        ...     for tile in it:
        ...         total += 100.0 * tile[1, 1]
        ...     return total
        >>> later(np.arange(32, dtype=np.float32).reshape(4, 8))
        6034.0
    """

    __slots__ = ("axis", "circular", "position", "sizes", "tensor")

    def __init__(
        self,
        tensor: LayoutTensor[T],
        sizes: tuple[int, ...],
        position: tuple[Any, ...],
        axis: int,
        circular: bool,
    ) -> None:
        self.tensor: LayoutTensor[T] = tensor
        self.sizes: tuple[int, ...] = sizes
        """The extents of a tile."""
        self.position: tuple[Any, ...] = position
        """Where it stands, counted in tiles."""
        self.axis: int = axis
        """Along which it walks."""
        self.circular: bool = circular

    def __weft_spec__(self) -> Spec:
        parts = spec_of((self.tensor, *self.position))
        return IteratorSpec(LayoutTensorIter, parts, self.sizes, self.axis, self.circular)

    def __weft_leaves__(self) -> list[Any]:
        return [leaf for part in (self.tensor, *self.position) for leaf in leaves_of(part)]

    def __weft_carried__(self) -> LayoutTensorIter[T]:
        """As a variable that control flow assigns holds it: it may stand anywhere."""
        tensor = self.tensor.__weft_carried__()
        place = self._moved(Int(self.position[self.axis]))
        return LayoutTensorIter(tensor, self.sizes, place, self.axis, self.circular)

    def _moved(self, to: Any) -> tuple[Any, ...]:
        return (*self.position[: self.axis], to, *self.position[self.axis + 1 :])

    def _count(self) -> Any:
        return ceildiv(self.tensor.dim(self.axis), self.sizes[self.axis])

    def __add__(self, steps: NumberLike) -> LayoutTensorIter[T]:
        """The iterator that stands so many tiles further on."""
        to = add(self.position[self.axis], coordinate(steps))
        to = mod(to, self._count()) if self.circular else to
        return LayoutTensorIter(self.tensor, self.sizes, self._moved(to), self.axis, self.circular)

    def next(self, steps: NumberLike = 1) -> LayoutTensorIter[T]:
        """``it + steps``, by Mojo's name."""
        return self + steps

    def get(self) -> LayoutTensor[T]:
        """The tile where it stands, ``masked`` as ``LayoutTensor.tile`` has it; empty behind the end."""
        return self.tensor.tile[self.sizes](*self.position)

    def __getitem__(self, steps: NumberLike) -> LayoutTensor[T]:
        """The tile so many places further on."""
        return (self + steps).get()

    def __weft_loop__(self) -> tuple[Any, Callable[[Any], LayoutTensor[T]]]:
        count = self._count()
        return count if self.circular else sub(count, self.position[self.axis]), self.__getitem__

    def __iter__(self) -> Iterator[LayoutTensor[T]]:
        """The tiles from here to the end; of a circular one all of them once."""
        length, at = self.__weft_loop__()
        return map(at, range(length))


@record
class IteratorSpec:
    """What the compiler knows of an iterator: its tensor, its tiles, and what is known of where it stands."""

    cls: type[Any]
    parts: Spec
    sizes: tuple[int, ...]
    axis: int
    circular: bool

    def leaves(self) -> Sequence[Leaf]:
        """Those of the tensor, then the place along each mode."""
        return self.parts.leaves()

    def build(self, leaves: Sequence[Any]) -> Any:
        """The iterator, from its leaves."""
        tensor, *position = self.parts.build(leaves)
        return self.cls(tensor, self.sizes, tuple(position), self.axis, self.circular)

    def describe(self) -> str:
        """How a message names it."""
        return f"LayoutTensorIter of tiles {self.sizes}"


class Iterating(Generic[T]):
    """``tensor.tiled_iterator``."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: LayoutTensor[T]) -> None:
        self._tensor = tensor

    def __getitem__(self, sizes: NumberLike | tuple[NumberLike, ...]) -> Callable[..., LayoutTensorIter[T]]:
        tensor = self._tensor
        every = tuple([int(coordinate(s)) for s in (sizes if isinstance(sizes, tuple) else (sizes,))])

        def at(*position: NumberLike, axis: int = 0, circular: bool = False) -> LayoutTensorIter[T]:
            places = tuple([coordinate(part) for part in position])
            tensor.tile[every](*places)  # refuses what is no place of a tile
            if not 0 <= axis < tensor.rank:
                refuse(
                    "rank",
                    f"axis={axis} is no mode of {tensor.layout}",
                    f"its modes are 0 to {tensor.rank - 1}",
                )
            return LayoutTensorIter(tensor, every, places, axis, circular)

        return at
