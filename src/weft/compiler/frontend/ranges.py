"""``range`` over run-time values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from weft.compiler.ir.core import Value
from weft.diagnostics import VALUE, a_, refuse
from weft.dtype import DType
from weft.lang.elaboration import Elaboration
from weft.lang.number import Number, number_class, to_type, unify, value_of
from weft.lang.promote import fits
from weft.lang.python_number import python_number

__all__ = ["Range"]


class Range:
    """Python's range: a loop where ``for`` runs over it; where anything else does, its known items."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, *args: Any) -> None:
        if not 1 <= len(args) <= 3:
            refuse(
                "range",
                f"range takes 1 to 3 arguments, not {len(args)}",
                hint="write range(stop), range(start, stop) or range(start, stop, step)",
            )
        args = tuple(map(python_number, args))
        for value in args:
            if not isinstance(value, (Number, int)) or isinstance(value, bool) or _is_float(value):
                hint = "count in integers and compute the rest from them"
                if callable(value):
                    hint = "call it: write the parentheses"
                elif isinstance(value, Number):
                    hint = "convert it: Int(...)"
                refuse(
                    "range",
                    f"range takes integers, not {a_(type(value).__name__)}",
                    hint=hint,
                    part=VALUE if value is args[0] else value,
                )
        self.start, self.stop, self.step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        if isinstance(self.step, int) and self.step == 0:
            refuse("range", "the step of a range cannot be 0", hint="write 1, or leave it out", part=0)

    def bounds(self, b: Elaboration) -> tuple[tuple[Value, Value, Value], Callable[[Value], Number]]:
        """Start, stop and step as IR values of one type, and what makes the index of one of these.

        Loops count with a sign and must not wrap around: UInt32, and Int32 in steps other than 1, count in
        64 bits; UInt64 counts how often it runs. (An Int stays so far from 2**63 that no step passes it.)
        """
        cls, wide = self._class(), number_class(DType.int64)
        given: tuple[Any, Any, Any] = (self.start, self.stop, self.step)
        if cls is wide or (cls.dtype.is_signed and isinstance(self.step, int) and self.step in (1, -1)):
            start, stop, step = (to_type(v, cls, b) for v in given)
            return (start, stop, step), cls.of
        index: Callable[[Any], Number] = cls
        if cls.dtype is DType.uint64:
            given, index = (0, self.length(), 1), self.at
        start, stop, step = (value_of(wide(v), b) for v in given)
        return (start, stop, step), lambda v: index(wide.of(v))

    def length(self) -> Any:
        """How many numbers there are, as far as an Int can say: an int, or an Int."""
        if not any(isinstance(v, Number) for v in (self.start, self.stop, self.step)):
            return len(self.known())
        signed, unsigned = number_class(DType.int64), number_class(DType.uint64)
        wide = unsigned if self._class() is unsigned else signed
        start, stop = wide(self.start), wide(self.stop)
        (low, high), by = self._upwards(start, stop)
        some: Any = low < high
        if wide is unsigned and isinstance(self.stop, int) and self.stop < 0:
            some = number_class(DType.bool)(self.step < 0)
        count: Any = unsigned(high) - unsigned(low)
        if not isinstance(by, int) or by > 1:
            count = (count - 1) // by + 1
        if wide is unsigned or not (isinstance(self.start, int) and self.start >= 0):
            count = (count >> 63 != 0).select((1 << 63) - 1, count)
        return (some & (by != 0)).select(signed(count), 0)

    def _upwards(self, start: Any, stop: Any) -> tuple[tuple[Any, Any], Any]:
        """The two with the one first where this range begins if it goes up, and how far its steps are."""
        signed, unsigned = number_class(DType.int64), number_class(DType.uint64)
        if not isinstance(self.step, Number):
            return (start, stop) if self.step > 0 else (stop, start), abs(self.step)
        up: Any = (self.step > 0) | isinstance(self.step, unsigned)
        by = unsigned(up.select(signed(self.step), -signed(self.step)))
        return (up.select(start, stop), up.select(stop, start)), by

    def surely_runs(self) -> bool:
        """Whether it is known to have a number in it."""
        return not self.is_open() and bool(self.known())

    def is_open(self) -> bool:
        """Whether only run time knows one of its bounds."""
        return any(map(_is_late, (self.start, self.stop, self.step)))

    def __dir__(self) -> list[str]:
        return ["start", "step", "stop"]

    def __weft_spec__(self) -> None:
        if self.is_open():
            refuse(
                "escaped",
                "a range with a bound known only at run time belongs to the code that made it",
                hint="choose, pass or return its bounds, and write range(start, stop, step) where it is used",
            )

    def meets(self, value: Any) -> Any:
        """Whether its steps meet a number that lies between its ends."""
        unsigned = number_class(DType.uint64)
        bits = [unsigned(v if isinstance(v, Number) else v % (1 << 64)) for v in (self.start, value)]
        (low, high), by = self._upwards(*bits)
        return (high - low) % by == 0

    def at(self, number: Any) -> Any:
        """The number at a place."""
        if not isinstance(number, Number):
            known: Any = self.known()
            return known[number]
        wide, cls = number_class(DType.int64), self._class()
        found: Any = wide(self.start) + number * wide(self.step)
        return cls(found)

    def _class(self) -> type[Number]:
        """The type of its numbers: that of its ends, or Int where ``2 * i`` would leave that soon.

        Literals have to fit; the end may be -1 for unsigned numbers that go down to 0.
        """
        cls = wide = number_class(DType.int64)
        for n, value in enumerate([v for v in (self.start, self.stop, self.step) if isinstance(v, Number)]):
            if n and cls.dtype.bits < 32 and value.dtype.bits < 32:
                cls = wide
            else:
                cls = type(value) if n == 0 else unify("range", cls(0), value)[0]
        cls = cls if cls.dtype.bits >= 32 else wide
        for literal in (self.start, self.stop):
            if isinstance(literal, int) and not (literal is self.stop and literal == cls.dtype.least - 1):
                fits(literal, cls)
        return cls

    def known(self) -> range:
        """The same range as Python's.

        Raises:
            CompileError: a bound exists only at run time.
        """
        for value in (self.start, self.stop, self.step):
            if isinstance(value, Number) and isinstance(value.value, Value):
                refuse(
                    "not-compile-time",
                    "this range has a bound known only at run time, so it cannot be unrolled",
                    hint="write a `for` statement over range(...), or make the bound a Comptime parameter",
                )
        return range(int(self.start), int(self.stop), int(self.step))

    def __eq__(self, other: object) -> Any:
        """Whether they give the same numbers, as Python compares ranges."""
        if isinstance(other, range):
            other = Range(other.start, other.stop, other.step)
        if not isinstance(other, Range):
            return NotImplemented
        if not (self.is_open() or other.is_open()):
            return self.known() == other.known()
        count = self.length()
        same = (self.start == other.start) & ((count == 1) | (self.step == other.step))
        return (count == other.length()) & ((count == 0) | same)

    def __ne__(self, other: object) -> Any:
        same: Any = self.__eq__(other)
        return same if same is NotImplemented else same ^ True

    def __hash__(self) -> int:
        return hash(self.known())

    def __iter__(self) -> Iterator[int]:
        return iter(self.known())

    def __len__(self) -> int:
        return self.length()

    def __getitem__(self, index: Any) -> Any:
        index = python_number(index)
        asked: tuple[Any, ...] = (index,)
        if isinstance(index, slice):
            part = cast("slice[Any, Any, Any]", index)
            asked = (part.start, part.stop, part.step)
        if not any(_is_late(v) for v in (self.start, self.stop, self.step, *asked)):
            return cast("Any", self.known())[index]
        if isinstance(index, slice):
            return self._part(cast("slice[Any, Any, Any]", index))
        if not isinstance(index, (Number, int)) or _is_float(index):
            kind = type(cast("object", index)).__name__
            hint = "convert it: Int(...)"
            refuse("index", f"a range of run time is indexed by an Int, not {a_(kind)}", hint)
        if isinstance(index, int) and index < 0:
            return self.at(self.length() + index)
        return self.at(index if isinstance(index, Number) else number_class(DType.int64)(index))

    def _part(self, part: slice[Any, Any, Any]) -> Range:
        """A slice, as ``slice.indices`` has it; its numbers are Ints."""
        by, wide = python_number(1 if part.step is None else part.step), number_class(DType.int64)
        if not isinstance(by, int) or by == 0 or self._class() is number_class(DType.uint64):
            what = (
                "UInt64 is not cut"
                if isinstance(by, int) and by
                else "run time is cut in known steps, other than 0"
            )
            refuse("index", f"a range of {what}", hint="write its ends: range(r[1], n)")
        count: Any = wide(self.length())
        least, most = (wide(0), count) if by > 0 else (wide(-1), count - 1)

        def end(given: Any, otherwise: Any) -> Any:
            if given is None:
                return otherwise
            at: Any = wide(given)
            at = (at < 0).select(at + count, at)
            at = (at < least).select(least, at)
            return (at > most).select(most, at)

        ends = (end(part.start, least if by > 0 else most), end(part.stop, most if by > 0 else least))
        start, step = wide(self.start), wide(self.step)
        return Range(*(start + at * step for at in ends), step * by if _is_late(step) else int(step) * by)


def _is_late(value: Any) -> bool:
    return isinstance(value, Number) and isinstance(value.value, Value)


def _is_float(value: Any) -> bool:
    return isinstance(value, Number) and not value.dtype.is_integer
