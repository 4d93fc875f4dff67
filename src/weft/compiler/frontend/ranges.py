"""``range`` over run-time values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft.compiler.ir.core import Value
from weft.diagnostics import VALUE, a_, refuse
from weft.dtype import DType
from weft.lang.elaboration import Elaboration
from weft.lang.number import Number, number_class, to_type, unify, value_of
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
                refuse(
                    "range",
                    f"range takes integers, not {a_(type(value).__name__)}",
                    hint="convert it: Int(...)"
                    if isinstance(value, Number)
                    else "count in integers and compute the rest from them",
                    part=VALUE if value is args[0] else value,
                )
        self.start, self.stop, self.step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        if isinstance(self.step, int) and self.step == 0:
            refuse("range", "the step of a range cannot be 0", hint="write 1, or leave it out", part=0)

    def bounds(self, b: Elaboration) -> tuple[tuple[Value, Value, Value], Callable[[Value], Number]]:
        """Start, stop and step as IR values of one type, and what makes the index of one of these.

        Loops count with a sign and must not wrap around: an index without sign, or a narrow one in
        steps other than 1, counts in 64 bits. (So indices stay below 2**63, and so far from it that
        a step does not pass it.)
        """
        cls, given = self._class(), (self.start, self.stop, self.step)
        d, unit = cls.dtype, isinstance(self.step, int) and self.step in (1, -1)
        if d is DType.int64 or (d.is_signed and unit):
            start, stop, step = (to_type(v, cls, b) for v in given)
            return (start, stop, step), cls.of
        wide = number_class(DType.int64)
        start, stop, step = (value_of(wide(v), b) for v in given)
        return (start, stop, step), lambda v: cls(wide.of(v))

    def length(self) -> Any:
        """How many numbers there are: an int, or an Int."""
        if not any(isinstance(v, Number) for v in (self.start, self.stop, self.step)):
            return len(self.known())
        wide, unsigned = number_class(DType.int64), number_class(DType.uint64)
        start, stop = wide(self.start), wide(self.stop)
        if not isinstance(self.step, Number) and abs(self.step) == 1:
            low, high = (start, stop) if self.step == 1 else (stop, start)
            return (low < high).select(high - low, 0)
        step = wide(self.step)
        up: Any = step > 0
        low, high = up.select(start, stop), up.select(stop, start)
        count = (unsigned(high) - unsigned(low) - 1) // unsigned(up.select(step, -step)) + 1
        return ((low < high) & (step != 0)).select(wide(count), 0)

    def at(self, number: Any) -> Any:
        """The number at a place."""
        if not isinstance(number, Number):
            known: Any = self.known()
            return known[number]
        wide, cls = number_class(DType.int64), self._class()
        found: Any = wide(self.start) + number * wide(self.step)
        return cls(found)

    def _class(self) -> type[Number]:
        """The type of its numbers."""
        cls = number_class(DType.int64)
        for n, value in enumerate([v for v in (self.start, self.stop, self.step) if isinstance(v, Number)]):
            cls = type(value) if n == 0 else unify("range", cls(0), value)[0]
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

    def __iter__(self) -> Iterator[int]:
        return iter(self.known())

    def __len__(self) -> int:
        return len(self.known())

    def __getitem__(self, index: int) -> int:
        return self.known()[index]


def _is_float(value: Any) -> bool:
    return isinstance(value, Number) and not value.dtype.is_integer
