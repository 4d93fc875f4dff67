"""Softmax and its logarithm along an axis.

The greatest element and the sum of powers are found in one pass (Milakov, Gimelshein: "Online normalizer
calculation for softmax", 2018): each thread keeps both of what it has met, and pairs are joined by scaling
the sum of the smaller. ``weft.kernels.rows`` says how rows are spread over threads.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from weft import math
from weft.calls.planned import planned_but
from weft.kernels.normalizing import normalize
from weft.kernels.operands import Operands
from weft.kernels.row_memory import added, by_pairs, masked
from weft.lang import no_contraction, struct
from weft.math import machine

A = TypeVar("A")
T = TypeVar("T")
LOG2E = 1.4426950408889634
HUGE = 2.0**17
"""Above that floats of 16 bits lie 1024 apart and more."""


@struct
class Running(Generic[T]):
    """The greatest of some numbers, and the sum of e to the power of what each is less."""

    most: T
    total: T


def short_power(x: Any) -> Any:
    """``e**x`` for results of 16 bits."""
    return machine.exp2(x * LOG2E) if machine.has_exp2(x) else math.exp(x)


class Softmax:
    """What ``rows`` asks of an operation."""

    state = Running
    power = staticmethod(machine.exp)

    @staticmethod
    def empty(kind: Any, lanes: int) -> Any:
        """Of no number."""
        return Running(kind.splat(lanes, -math.inf), kind.splat(lanes, 0.0))

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """Of a thread's vectors, and what it keeps of them: the powers."""
        values = masked(values, there, -math.inf)
        most = values[0]
        for value in values[1:]:
            most = math.max(most, value)
        base = _finite(most)
        powers = [cls.power(value - base) for value in values]
        total = powers[0]
        for power in powers[1:]:
            total += power
        return Running(most, total), powers

    @classmethod
    def merge(cls, a: Any, b: Any) -> Any:
        """Of the numbers of both."""
        most = math.max(a.most, b.most)
        base = _finite(most)
        return Running(most, a.total * cls.power(a.most - base) + b.total * cls.power(b.most - base))

    @classmethod
    def of_lanes(cls, state: Any) -> Any:
        """Of all lanes together."""
        most = state.most.reduce_max()
        return Running(most, (state.total * cls.power(state.most - _finite(most))).reduce_add())

    @classmethod
    def writer(cls, all: Any, own: Any, n: Any, given: Any) -> Any:
        """Makes results of what a thread has kept, ``own`` of which is known, and ``all`` of the row.

        Without ``own`` it has kept the elements.
        """
        if own is None:
            base, scale = _finite(all.most), 1.0 / all.total
        else:
            base, scale = None, cls.power(own.most - all.most) / all.total  # 0 of nothing but -inf

        def write(kept: Any, by: Any, plus: Any) -> Any:
            return (kept if base is None else cls.power(kept - base)) * scale

        return write


class LogSoftmax(Softmax):
    """Likewise; a thread keeps the numbers themselves."""

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """Of a thread's vectors, and these."""
        values = masked(values, there, -math.inf)
        return super().of(values, [True] * len(values), ats)[0], values

    @classmethod
    def writer(cls, all: Any, own: Any, n: Any, given: Any) -> Any:
        """Makes results of the elements."""
        log = math.log(all.total)

        def write(kept: Any, by: Any, plus: Any) -> Any:
            return kept - all.most - log

        return write


def _quarters(x: Any) -> Any:
    """``2**(4 * x)``."""
    return machine.exp2(4 * x)


class ShortSoftmax(Softmax):
    """Of floats of 16 bits: ``most`` is times ``LOG2E / 4`` here, which takes fewer instructions.

    What that is rounded to is taken off all numbers alike. Of ``HUGE`` ones it would be a power without end;
    but they lie so far apart that any factor makes a power of 0 of what is less than the greatest.
    """

    power = staticmethod(_quarters)

    @classmethod
    def of(cls, values: Any, there: Any, ats: Any) -> Any:
        """As of longer ones."""
        values = masked(values, there, -math.inf)
        top = by_pairs(math.max, values)
        with no_contraction():  # what is taken off is what is kept
            most = top * (LOG2E / 4)
        huge = math.abs(top) > HUGE
        factor, base = huge.select(0.25, LOG2E), _finite(huge.select(top * 0.25, most * 4))
        powers = [machine.exp2(math.fma(value, factor, -base)) for value in values]
        return Running(most, by_pairs(added, powers)), powers


class ShortLogSoftmax(LogSoftmax):
    """Likewise."""

    power = staticmethod(short_power)


def _finite(most: Any) -> Any:
    """What is taken off: a number also where all elements are -inf."""
    return (most == -math.inf).select(0.0, most)


@planned_but("out")
def softmax(x: A, axis: int = -1, *, out: Any = None) -> A:
    """Powers of e, divided by their sum along an axis: ``exp(x) / exp(x).sum(axis)``, without overflow.

    Short floats are Float32 within. A row with a nan or inf becomes nan, and so does one of -inf alone.

    Args:
        x: floating, of any shape and strides.
        axis: along which results add up to 1.
        out: where the result goes: of the shape and type of ``x``, which it may be.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import softmax
        >>> softmax(np.float32([[0, 0], [1000, 0]]))
        array([[0.5, 0.5],
               [1. , 0. ]], dtype=float32)
    """
    return _softmax("softmax", (Softmax, ShortSoftmax), x, axis, out)


@planned_but("out")
def log_softmax(x: A, axis: int = -1, *, out: Any = None) -> A:
    """The logarithm of ``softmax``, also where that would be 0: ``x - log(exp(x).sum(axis))``.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import log_softmax
        >>> log_softmax(np.float32([1000, 0]))
        array([    0., -1000.], dtype=float32)
    """
    return _softmax("log_softmax", (LogSoftmax, ShortLogSoftmax), x, axis, out)


def _softmax(name: str, operations: tuple[Any, Any], x: Any, axis: int, out: Any) -> Any:
    op = Operands(name, x=x)
    source = op["x"].of("float")
    along = op.axis(axis)
    target = op.result(source.shape, source.dtype, out, same=[source])
    short = source.dtype.bits < 32 and not op.threads_are_loops  # a CPU has no fast powers of its own
    normalize(op, operations[short], source, target, along)
    return op.give(target)
