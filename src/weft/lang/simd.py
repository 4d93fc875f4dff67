"""What a vector has beside operators: its lanes, picked, joined, chosen and combined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, overload

from weft.diagnostics import INDEX, OBJECT, STORED, VALUE, a_, refuse
from weft.diagnostics.unfit import tell_of_methods
from weft.lang.operators import Operators

if TYPE_CHECKING:
    from weft.lang.number import Number, NumberLike
    from weft.lang.scalars import Bool

    N = TypeVar("N", bound=Number)


_of: Any = operator


class Lanes(Operators):
    """The lanes of a number; most of what moves them is ``shuffle``."""

    __slots__ = ()
    if TYPE_CHECKING:
        lanes: ClassVar[int]

    # -- made of lanes ------------------------------------------------------------------------
    @classmethod
    def splat(cls, lanes: int, value: NumberLike = 0) -> Self:
        """``SIMD[cls, lanes]`` with ``value`` in every lane; spelled so that type checkers follow."""
        from weft.lang.lanes import wide

        return wide(cls, lanes)(cast("Any", cls)(value))

    @classmethod
    def simd(cls, *lanes: NumberLike) -> Self:
        """``SIMD[cls, n]`` of ``n`` lanes that are given; spelled so that type checkers follow.

        Example:
            >>> from weft import Float32
            >>> Float32.simd(1, 2, 3, 4).reversed()
            SIMD[Float32, 4](4.0, 3.0, 2.0, 1.0)
        """
        from weft.lang.lanes import wide

        return wide(cls, len(lanes))(*lanes)

    # -- chosen -------------------------------------------------------------------------------
    @overload
    def select(self, true: N, false: N | int | float) -> N: ...

    @overload
    def select(self, true: int | float, false: N) -> N: ...

    @overload
    def select(self, true: Any, false: Any) -> Any: ...

    def select(self, true: Any, false: Any) -> Any:
        """Lane by lane: ``true`` where this Bool holds, else ``false``. Both are evaluated."""
        from weft.lang.lanes import select

        return select(cast("Number", self), true, false)

    def __getitem__(self, lane: NumberLike | slice) -> Self:
        from weft.lang.lanes import extract, sliced

        number = cast("Number", self)
        return sliced(number, lane) if isinstance(lane, slice) else extract(number, lane)

    def __setitem__(self, lane: NumberLike | slice, value: NumberLike) -> None:
        """Of a variable in a kernel or ``@func``, which then holds other lanes; elsewhere it is refused."""
        kind = a_(type(self).__name__)
        if self.lanes == 1:
            refuse("item-assignment", f"{kind} is one number", hint=f"write {OBJECT} = {STORED}", part=INDEX)
        refuse(
            "item-assignment",
            f"the lanes of {kind} are assigned in kernels and @funcs alone",
            notes=(f"{kind} is a value like a number: changing a lane makes a new one",),
            hint=f"write {OBJECT} = {OBJECT}.insert({INDEX}, {STORED})",
        )

    def __weft_with__(self, part: Any, value: Any) -> Any:
        from weft.lang.lanes import with_lanes

        return with_lanes(cast("Number", self), part, value)

    def insert(self, lane: NumberLike, value: NumberLike) -> Self:
        """These lanes with one replaced; by a vector, as many from a lane known at compile time on."""
        from weft.lang.lanes import insert

        return insert(cast("Number", self), lane, value)

    def shuffle(self, *lanes: int, other: Any = None) -> Self:
        """The lanes picked by number; numbers from ``lanes`` on pick from ``other``."""
        from weft.lang.lanes import shuffle

        return shuffle(cast("Number", self), lanes, other)

    # -- moved --------------------------------------------------------------------------------
    def slice(self, width: int, *, offset: int = 0) -> Self:
        """``width`` lanes from ``offset`` on, as ``v[offset : offset + width]``."""
        return self.shuffle(*range(offset, offset + width))

    def join(self, other: Self) -> Self:
        """These lanes, and then those of ``other``."""
        return self.shuffle(*range(2 * self.lanes), other=other)

    def split(self) -> tuple[Self, Self]:
        """The first half of the lanes, and the second."""
        half = self.lanes // 2
        return self.shuffle(*range(half)), self.shuffle(*range(half, self.lanes))

    def interleave(self, other: Self) -> Self:
        """The lanes of both in turn: ``a[0], b[0], a[1], b[1], ...``."""
        return self.shuffle(*[lane for n in range(self.lanes) for lane in (n, n + self.lanes)], other=other)

    def deinterleave(self) -> tuple[Self, Self]:
        """The lanes with even numbers, and those with odd ones."""
        return self.shuffle(*range(0, self.lanes, 2)), self.shuffle(*range(1, self.lanes, 2))

    def reversed(self) -> Self:
        """The lanes, last to first."""
        return self.shuffle(*range(self.lanes)[::-1])

    def rotate_left(self, by: int) -> Self:
        """Each lane ``by`` places toward lane 0, and the first ones at the end."""
        return self.shuffle(*[(n + by) % self.lanes for n in range(self.lanes)])

    def rotate_right(self, by: int) -> Self:
        """Each lane ``by`` places away from lane 0, and the last ones at the start."""
        return self.rotate_left(-by)

    def shift_left(self, by: int) -> Self:
        """Each lane ``by`` places toward lane 0, and 0 in those that are left."""
        if not 0 <= by <= self.lanes:
            refuse(
                "lane",
                f"{self.lanes} lanes cannot be moved {by} places",
                hint=f"move them 0 to {self.lanes} places; the other way is a method of its own",
                part=by,
            )
        return self.shuffle(*range(by, by + self.lanes), other=0)

    def shift_right(self, by: int) -> Self:
        """Each lane ``by`` places away from lane 0, and 0 in those that are left."""
        return self.reversed().shift_left(by).reversed()

    # -- combined -----------------------------------------------------------------------------
    def reduce(self, combine: Callable[[Self, Self], Self], width: int = 1) -> Self:
        """All lanes combined by a function of two vectors: halves first, until ``width`` lanes are left.

        Example:
            >>> from weft import Int32
            >>> Int32.simd(1, 2, 3, 4).reduce(lambda a, b: a * b)
            Int32(24)
        """
        found = self
        while found.lanes > width:
            found = combine(*found.split())
        return found

    def fma(self, by: NumberLike, plus: NumberLike) -> Self:
        """``self * by + plus``, rounded once."""
        from weft.lang.lanes import fma

        return fma(cast("Number", self), by, plus)

    def reduce_add(self) -> Self:
        """The sum of the lanes."""
        return self.reduce(_of.add)

    def reduce_mul(self) -> Self:
        """The product of the lanes."""
        return self.reduce(_of.mul)

    def reduce_min(self) -> Self:
        """The smallest lane."""
        return self.reduce(lambda a, c: (a < cast("Any", c)).select(a, c))

    def reduce_max(self) -> Self:
        """The largest lane."""
        return self.reduce(lambda a, c: (a > cast("Any", c)).select(a, c))

    def reduce_or(self) -> Self:
        """Whether (Bool) or which bits (integers) any lane has."""
        return self.reduce(_of.or_)

    def reduce_and(self) -> Self:
        """Whether (Bool) or which bits (integers) all lanes have."""
        return self.reduce(_of.and_)

    def any(self) -> Bool:
        """Whether any lane of this Bool holds, as NumPy's."""
        return self._mask("any").reduce_or()

    def all(self) -> Bool:
        """Whether all lanes of this Bool hold, as NumPy's."""
        return self._mask("all").reduce_and()

    def _mask(self, name: str) -> Any:
        number = cast("Number", self)
        if number.dtype.kind != "bool":
            refuse(
                "operand",
                f"{name} asks lanes of Bool, not {a_(type(self).__name__)}",
                hint=f"compare it first: ({OBJECT} != 0).{name}()",
                part=VALUE,
            )
        return self


tell_of_methods(Lanes)
