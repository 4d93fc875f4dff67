"""``Tile``: elements of a rectangle in the registers of a block's threads, with the operators of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, overload

from weft.diagnostics import INDEX, LEFT, RIGHT, VALUE, refuse
from weft.diagnostics.instead import instead
from weft.dtype import DType, DTypeLike, as_dtype
from weft.lang.generic import K
from weft.lang.hints import kind_of, refuse_quotient
from weft.lang.number import Number, NumberLike, number_class, of_integers, type_name
from weft.lang.operators import ARITHMETIC, BITWISE, define_operators, function_of, part_by_part
from weft.lang.scalars import Bool, Int32, UInt32
from weft.lang.spec import Leaf, NumberSpec, Spec, is_composite, leaves_of
from weft.record import record
from weft.tile.distribution import Distribution, Shape, blocked
from weft.tile.exchange import distributed
from weft.tile.instead import OF_TILES
from weft.tile.registers import each_lane
from weft.tile.running import Running

__all__ = ["Tile"]

T = TypeVar("T")
R = TypeVar("R")
_of: Any = operator  # some of its functions have no types


@instead(OF_TILES)
@part_by_part
class Tile(Generic[T]):
    """Elements that the threads of a block hold together; made by ``weft.tile.load``, ``zeros`` and others.

    ``+ - * / // % ** & | ^ << >>``, comparisons and the functions of ``weft.math`` go element by element,
    with numbers and with tiles whose extents are the same or 1. A tile is a value: variables, loops and
    functions carry it. All threads of the block come to its methods together.

    ``t[n]`` is this thread's n-th element, and ``t.map(f)`` applies any function, so that code of threads
    goes with code of tiles; ``t.indices()`` says where each element lies.

    Attributes:
        distribution: which thread holds what.
    """

    __slots__ = ("_values", "distribution")
    __weft_loop_hint__ = (
        "reduce it: t.sum(), t.max(); or loop over unroll(range(len(t))): t[n] is this thread's n-th element"
    )
    distribution: Distribution

    def __init__(self, distribution: Distribution, values: Any) -> None:
        self.distribution = distribution
        self._values = values

    @property
    def values(self) -> Any:
        """This thread's elements, a number or a vector; of a product that still runs, when it has ended."""
        return self._values.ended() if isinstance(self._values, Running) else self._values

    @property
    def running(self) -> Running | None:
        """The product whose sums these are, if nobody may have waited for it."""
        return self._values if isinstance(self._values, Running) else None

    # -- as the language takes it ---------------------------------------------------------------
    def __weft_spec__(self) -> Spec:
        return TileSpec(Tile, self.distribution, self._values.dtype)

    def __weft_leaves__(self) -> list[Any]:
        return leaves_of(self.values)

    def __weft_carried__(self) -> Tile[T]:
        values = self.values
        return Tile(self.distribution, values.of(leaves_of(values)[0]))

    def __weft_elements__(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        return together(function, *operands)

    __array_ufunc__ = None  # NumPy's numbers leave what stands on their right to the tile

    def __weft_number_hint__(self) -> str:
        """What to write where a number is needed."""
        if max(self.shape) == 1:
            return f"take its number, {VALUE}[0]; a reduction without axis= is one"
        return f"go element by element, {VALUE}.map(lambda x: ...), or reduce it: {VALUE}.sum()"

    # -- facts ----------------------------------------------------------------------------------
    @property
    def shape(self) -> Shape:
        """The extents."""
        return self.distribution.shape

    @property
    def dtype(self) -> DType:
        """The elements' type."""
        return self._values.dtype

    @property
    def element_type(self) -> type[T]:
        """What an element is, such as ``Float32``."""
        return cast("type[T]", number_class(self.dtype))

    def __repr__(self) -> str:
        extents = " x ".join(map(str, self.shape))
        return f"<tile of {extents} {self.dtype}, {len(self)} in each thread>"

    # -- of one thread --------------------------------------------------------------------------
    def __len__(self) -> int:
        """How many elements each thread holds."""
        return self.distribution.count

    @overload
    def __getitem__(self, number: int) -> T: ...

    @overload
    def __getitem__(self, number: slice | EllipsisType | tuple[Any, ...] | None) -> Tile[T]: ...

    def __getitem__(self, number: Any) -> Any:
        """One of this thread's elements, by a number known at compile time.

        ``t[:, None]`` adds an axis, and ``t[:, 0]`` takes one of extent 1 away.
        """
        if _is_spread(number):
            from weft.tile.shapes import spread

            return spread(self, cast("Any", number) if isinstance(number, tuple) else (number,))
        if not isinstance(number, int):
            message = (
                f"brackets of a tile take a number of this thread's, or `:` and None, not {kind_of(number)}"
            )
            hint = "load the part that is meant: tile.load(t, (first,), (n,))"
            if isinstance(number, Number):
                hint = "count with unroll(range(len(tile))), whose numbers are known at compile time"
            refuse("index", message, hint=hint, part=INDEX)
        if not 0 <= number < len(self):
            message = f"element {number} of a thread that holds {len(self)} of a tile"
            refuse("bounds", message, hint="count with unroll(range(len(tile)))")
        return self.values if len(self) == 1 else self.values[number]

    def indices(self) -> list[tuple[Any, ...]]:
        """Of each of this thread's elements, its index in the tile."""
        first = self.distribution.of_thread()
        every = map(self.distribution.of_register, range(len(self)))
        return [tuple([a + b for a, b in zip(first, more, strict=True)]) for more in every]

    def map(self, function: Callable[..., R], *others: Any) -> Tile[R]:
        """A function of one element, and of those of other tiles and numbers, applied to each.

        Args:
            function: a ``@func``, a lambda or a helper, which is given numbers.
            others: broadcast as operands of ``+`` are.
        """
        return together(lambda *each: each_lane(function, each), self, *others)

    # -- as another tile ------------------------------------------------------------------------
    @part_by_part
    def cast(self, dtype: type[K] | DTypeLike) -> Tile[K]:
        """The elements as another type, as ``x.cast`` converts numbers."""
        return Tile(self.distribution, self.values.cast(as_dtype(dtype)))

    def distributed(self, like: Tile[Any] | Distribution) -> Tile[T]:
        """The same elements held as another tile's are: through shared memory, where threads swap them.

        A tile of extents 1 is spread out to ``like``'s.
        """
        to = like.distribution if isinstance(like, Tile) else like
        shape = joined(self.shape, to.shape)
        if shape != to.shape:
            _refuse_shapes(self.shape, to.shape)
        return Tile(to, distributed(self.distribution, self.values, to))

    def reshape(self, *shape: int | tuple[int, ...]) -> Tile[T]:
        """The elements in their order (the last axis fastest) as a tile of other extents; nothing moves.

        One extent may be -1: what is left for it.
        """
        from weft.tile.shapes import reshaped

        return reshaped(self, shape)

    def transpose(self) -> Tile[T]:
        """A matrix with its axes the other way round; nothing moves."""
        if len(self.shape) != 2:
            refuse("shape", f"a tile of {len(self.shape)} axes is not transposed", hint="transpose a matrix")
        rows, columns = self.shape
        return Tile(self.distribution.moved((1, 0), (columns, rows)), self.values)

    @property
    def T(self) -> Tile[T]:
        """``transpose()``."""
        return self.transpose()

    def where(self, true: Any, false: Any) -> Tile[Any]:
        """Element by element: ``true`` where this tile of Bools holds, else ``false``."""
        if self.dtype.kind != "bool":
            found = type_name(self.dtype)
            refuse(
                "operand", f"where() chooses by a tile of Bools, not of {found}", hint="compare first: t != 0"
            )
        return together(chosen, self, true, false)

    # -- along an axis --------------------------------------------------------------------------
    @overload
    def reduce(self, function: Callable[[Any, Any], Any], axis: None = None) -> Any: ...

    @overload
    def reduce(self, function: Callable[[Any, Any], Any], axis: int) -> Tile[Any]: ...

    def reduce(self, function: Callable[[Any, Any], Any], axis: int | None = None) -> Any:
        """All elements along an axis, combined by a function of two numbers or vectors.

        The order is the same each time; it does not matter to the function. The axis stays, with extent 1, so
        that the result goes with the tile: ``x / x.sum(axis=1)``. Without an axis, a number for all threads.
        """
        from weft.tile.reductions import reduced

        return reduced(self, function, axis)

    @overload
    def sum(self, axis: None = None) -> Any: ...

    @overload
    def sum(self, axis: int) -> Tile[Any]: ...

    def sum(self, axis: int | None = None) -> Any:
        """The sum along an axis, or of all elements; of Bools their number, as Int32.

        Integers of less than 32 bits are summed in 32, as Triton does.
        """
        return _counted(self).reduce(_of.add, axis)

    @overload
    def max(self, axis: None = None) -> T: ...

    @overload
    def max(self, axis: int) -> Tile[T]: ...

    def max(self, axis: int | None = None) -> Any:
        """The greatest along an axis, or of all; of a nan and a number, the number."""
        from weft.math import max

        return self.reduce(max, axis)

    @overload
    def min(self, axis: None = None) -> T: ...

    @overload
    def min(self, axis: int) -> Tile[T]: ...

    def min(self, axis: int | None = None) -> Any:
        """The least along an axis, or of all; of a nan and a number, the number."""
        from weft.math import min

        return self.reduce(min, axis)

    @overload
    def any(self, axis: None = None) -> Bool: ...

    @overload
    def any(self, axis: int) -> Tile[Bool]: ...

    def any(self, axis: int | None = None) -> Any:
        """Whether some element holds, of a tile of Bools."""
        return self._asked().reduce(_of.or_, axis) != 0

    @overload
    def all(self, axis: None = None) -> Bool: ...

    @overload
    def all(self, axis: int) -> Tile[Bool]: ...

    def all(self, axis: int | None = None) -> Any:
        """Whether all elements hold, of a tile of Bools."""
        return self._asked().reduce(_of.and_, axis) != 0

    def _asked(self) -> Tile[Int32]:
        if self.dtype.kind != "bool":
            found = type_name(self.dtype)
            refuse("operand", f"any() and all() ask Bools, not {found}", hint="compare first: (t > 0).any()")
        return self.cast(Int32)

    @overload
    def argmax(self, axis: None = None) -> Int32: ...

    @overload
    def argmax(self, axis: int) -> Tile[Int32]: ...

    def argmax(self, axis: int | None = None) -> Any:
        """Where along an axis, or in all, the greatest is; the first of several. Nan is left out."""
        from weft.tile.reductions import best

        return best(self, axis, _of.gt)

    @overload
    def argmin(self, axis: None = None) -> Int32: ...

    @overload
    def argmin(self, axis: int) -> Tile[Int32]: ...

    def argmin(self, axis: int | None = None) -> Any:
        """Where along an axis, or in all, the least is; the first of several. Nan is left out."""
        from weft.tile.reductions import best

        return best(self, axis, _of.lt)

    def scan(self, function: Callable[[Any, Any], Any], axis: int = -1) -> Tile[Any]:
        """Of each element, it and all before it along an axis combined by an associative function."""
        from weft.tile.scans import scanned

        return scanned(self, function, axis)

    def cumsum(self, axis: int = -1) -> Tile[Any]:
        """The sum of each element and all before it along an axis, in the type that ``sum`` has."""
        return _counted(self).scan(_of.add, axis)

    # -- operators ------------------------------------------------------------------------------
    def __neg__(self) -> Tile[T]:
        return together(_of.neg, self)

    def __pos__(self) -> Tile[T]:
        return self

    def __abs__(self) -> Tile[T]:
        return together(_of.abs, self)

    def __invert__(self) -> Tile[T]:
        return together(_of.invert, self)

    if TYPE_CHECKING:

        def _with(self, other: Operand) -> Tile[T]: ...

        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _with
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _with
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _with
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _with

    def __eq__(self, other: object) -> Tile[Bool]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return together(_of.eq, self, other)

    def __ne__(self, other: object) -> Tile[Bool]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return together(_of.ne, self, other)

    def __lt__(self, other: Operand) -> Tile[Bool]:
        return together(_of.lt, self, other)

    def __le__(self, other: Operand) -> Tile[Bool]:
        return together(_of.le, self, other)

    def __gt__(self, other: Operand) -> Tile[Bool]:
        return together(_of.gt, self, other)

    def __ge__(self, other: Operand) -> Tile[Bool]:
        return together(_of.ge, self, other)

    __hash__: Any = object.__hash__

    def __contains__(self, value: NumberLike) -> Bool:
        return (self == value).any()

    def __float__(self) -> NoReturn:
        self._refuse_one("float")

    def __int__(self) -> NoReturn:
        self._refuse_one("int")

    def _refuse_one(self, name: str) -> NoReturn:
        refuse("operand", f"{name}() takes one number, not a Tile", hint=self.__weft_number_hint__())

    def __bool__(self) -> bool:
        if max(self.shape) == 1:
            hint = f"ask its number, {VALUE}[0]; a reduction without axis= is one"
            refuse("condition", "a tile is no condition, also with one element", hint=hint)
        hint = (
            "choose with .where(a, b), or ask .any() or .all() of it; two go together by `a & b`, `a | b`; "
            "max and min of elements are those of weft.math"
        )
        refuse("condition", "a tile has many elements, and is no condition", hint=hint)


Operand = Tile[Any] | NumberLike


@record
class TileSpec:
    """What the compiler knows of a tile: who holds what, of which type."""

    cls: type[Any]
    distribution: Distribution
    dtype: DType

    def _number(self) -> NumberSpec:
        return NumberSpec(self.dtype, self.distribution.count)

    def leaves(self) -> Sequence[Leaf]:
        """This thread's elements, as a vector."""
        return self._number().leaves()

    def build(self, leaves: Sequence[Any]) -> Any:
        """The tile, from its leaves."""
        return self.cls(self.distribution, self._number().build(leaves))

    @property
    def number_hint(self) -> str:
        """What to write where a number may be in its place."""
        one = max(self.distribution.shape) == 1
        return "a reduction without axis= is a number: t.sum()" if one else ""

    def describe(self) -> str:
        """How a message names it."""
        extents = ", ".join(map(str, self.distribution.shape))
        return f"Tile[{type_name(self.dtype)}] of ({extents}), held as {self.distribution}"


@part_by_part
def _power(base: Any, exponent: Any) -> Any:
    """``base ** exponent``; of integers that run time knows, one by one."""
    late = isinstance(exponent, Number) and exponent.dtype.is_integer and exponent.lanes > 1
    return each_lane(_of.pow, (base, exponent)) if late else base**exponent


@part_by_part
def _operator(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    function = _power if name == "pow" else function_of(name)
    if name == "truediv":
        return lambda self, other: _quotient(self, other, swapped)
    if swapped:
        return lambda self, other: together(function, other, self)
    return lambda self, other: together(function, self, other)


@part_by_part
def _quotient(tile: Tile[Any], other: Any, swapped: bool) -> Tile[Any]:
    if of_integers(tile) and of_integers(other):
        refuse_quotient(f"a tile of {type_name(tile.dtype)}", RIGHT if swapped else LEFT)
    return together(_of.truediv, *((other, tile) if swapped else (tile, other)))


define_operators(Tile, ARITHMETIC + BITWISE, _operator)


def _is_spread(index: Any) -> bool:
    """Whether brackets only say where an axis is added or taken away: ``[:, None]``, ``[:, 0]``."""
    parts = cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)
    kept = [part is None or part is Ellipsis or is_whole(part) for part in parts]
    return any(kept) and all(keeps or is_first(part) for keeps, part in zip(kept, parts, strict=True))


def is_first(part: Any) -> bool:
    """Whether a part of an index is the element of an axis of extent 1."""
    return type(part) is int and part in (0, -1)


def is_whole(part: Any) -> bool:
    """Whether a part of an index is ``:``."""
    whole: Any = part
    return isinstance(part, slice) and whole.start is whole.stop is whole.step is None


@part_by_part
def chosen(condition: Any, true: Any, false: Any) -> Any:
    """``condition.select``, as a function."""
    return condition.select(true, false)


@part_by_part
def _counted(tile: Tile[Any]) -> Tile[Any]:
    """What is summed: Bools and integers of less than 32 bits as such of 32, as Triton has it."""
    dtype = tile.dtype
    if dtype.is_float or dtype.bits >= Int32.dtype.bits:
        return tile
    return tile.cast(UInt32 if dtype.kind == "uint" else Int32)


def joined(*shapes: Shape) -> Shape:
    """The extents of what is computed of tiles of these: alike, or 1, from the last on.

    Raises:
        CompileError: they differ otherwise.
    """
    rank = max(map(len, shapes))
    every = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    found = tuple([max(extents) for extents in zip(*every, strict=True)])
    for shape in every:
        if any(own not in (1, extent) for own, extent in zip(shape, found, strict=True)):
            _refuse_shapes(*shapes[:2])
    return found


def _refuse_shapes(one: Shape, other: Shape) -> None:
    refuse(
        "tile-shape",
        f"tiles of {one} and of {other} elements do not go together",
        notes=("extents are the same, or 1, counted from the last axis, as in NumPy",),
        hint="load tiles of one shape; a reduction leaves its axis as 1, and .reshape(n, 1) makes a column",
    )


@part_by_part
def together(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of vectors, applied to tiles and numbers, that are first spread out to one distribution.

    That is the first tile's that has all extents; where none has, that of memory's order.
    """
    tiles: list[Tile[Any]] = [operand for operand in operands if isinstance(operand, Tile)]
    shape = joined(*[t.shape for t in tiles])
    to = next((t.distribution for t in tiles if t.shape == shape), None)
    if to is None:
        to = blocked(shape, 1 << len(tiles[0].distribution.threads), 16 // max(1, tiles[0].dtype.itemsize))
    made = function(*[_spread(operand, to) for operand in operands])
    if isinstance(made, tuple):  # of sincos and its like
        return tuple([Tile[Any](to, values) for values in cast("tuple[Any, ...]", made)])
    return Tile[Any](to, made)


@part_by_part
def _spread(operand: Any, to: Distribution) -> Any:
    if isinstance(operand, Tile):
        tile = cast("Tile[Any]", operand)
        if tile.distribution == to:
            return tile.values
        missing = len(to.shape) - len(tile.shape)
        if missing:
            axes = [n + missing for n in range(len(tile.shape))]
            tile = Tile[Any](tile.distribution.moved(axes, (1,) * missing + tile.shape), tile.values)
        return distributed(tile.distribution, tile.values, to)
    if isinstance(operand, Number) and operand.lanes == 1 and to.count > 1:
        return number_class(operand.dtype, to.count)(operand)
    if getattr(operand, "ndim", 0) or (is_composite(operand) and not isinstance(operand, Number)):
        message = f"a tile computes with tiles and numbers, not with {kind_of(operand)}"
        hint = (
            "load a tile of it: tile.load(x, i, 128), the i-th of 128; by a tile of indices tile.gather(x, t)"
        )
        refuse("operand", message, hint=hint)
    return operand
