"""Complex numbers for kernels, written in weft: ``ComplexFloat32``, and lanes of them as ``ComplexSIMD``.

>>> from weft.complex import ComplexFloat64
>>> z = ComplexFloat64(3, 4)
>>> abs(z), z * z, z / 2
(Float64(5.0), (-7+24j), (1.5+2j))
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Complex
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast

from weft.diagnostics.modules import present
from weft.lang import SIMD, Float16, Float32, Float64, struct
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.python_number import python_number
from weft.math import atan2, cos, exp, hypot, sin

__all__ = ["ComplexFloat16", "ComplexFloat32", "ComplexFloat64", "ComplexSIMD"]

T = TypeVar("T", bound=Number)
N = TypeVar("N", bound=int)


class _Complex:
    """What complex numbers do; of the fields only ``re`` and ``im`` are known here."""

    if TYPE_CHECKING:
        re: Any
        im: Any

    @classmethod
    def from_polar(cls, size: NumberLike, phase: NumberLike) -> Self:
        """The number of this absolute value and angle, as ``cmath.rect``."""
        one: Any = cls.__dict__.get("__weft_types__", {}).get("T", Float32)
        angle: Any = phase if isinstance(phase, Number) else one(phase)
        return cls(size * cos(angle), size * sin(angle))  # pyright: ignore[reportCallIssue]

    def conj(self) -> Self:
        """The number with the other sign of ``im``."""
        return self._of(self.re, -self.im)

    def squared_norm(self) -> Any:
        """``re * re + im * im``."""
        return self.re * self.re + self.im * self.im

    def norm(self) -> Any:
        """The absolute value, as ``abs(z)``, which no squares overflow."""
        return hypot(self.re, self.im)

    def phase(self) -> Any:
        """The angle from the real axis, from -pi to pi."""
        return atan2(self.im, self.re)

    def polar(self) -> tuple[Any, Any]:
        """The absolute value and the angle."""
        return self.norm(), self.phase()

    def exp(self) -> Self:
        """``e ** z``."""
        size = exp(self.re)
        return self._of(size * cos(self.im), size * sin(self.im))

    def __abs__(self) -> Any:
        return self.norm()

    def __neg__(self) -> Self:
        return self._of(-self.re, -self.im)

    def __pos__(self) -> Self:
        return self

    def __add__(self, other: Any) -> Self:
        return self._with(other, lambda a, b, c, d: (a + c, b + d))

    def __sub__(self, other: Any) -> Self:
        return self._with(other, lambda a, b, c, d: (a - c, b - d))

    def __rsub__(self, other: Any) -> Self:
        return self._with(other, lambda a, b, c, d: (c - a, d - b))

    def __mul__(self, other: Any) -> Self:
        return self._with(other, lambda a, b, c, d: (a * c - b * d, a * d + b * c))

    def __truediv__(self, other: Any) -> Self:
        return self._with(other, _quotient)

    def __rtruediv__(self, other: Any) -> Self:
        return self._with(other, lambda a, b, c, d: _quotient(c, d, a, b))

    __radd__, __rmul__ = __add__, __mul__

    def _of(self, re: Any, im: Any) -> Any:
        """A number of these parts, in the type that they have."""
        wide = re if re.lanes >= im.lanes else im
        return cast("Any", ComplexSIMD)[number_class(re.dtype), wide.lanes](re, im)

    def _with(self, other: Any, function: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Any:
        """A function of the parts of both; NotImplemented of what is no number."""
        other, kind = python_number(other), number_class(self.re.dtype)
        if isinstance(other, _Complex):
            parts = other.re, other.im
        elif isinstance(other, complex):
            parts = kind(other.real), kind(other.imag)
        elif isinstance(other, (Number, bool, int, float)):
            parts = other if isinstance(other, Number) else kind(other), kind(0)
        else:
            return NotImplemented
        return self._of(*function(self.re, self.im, *parts))

    def __repr__(self) -> str:
        parts: list[Any] = [part.value for part in (self.re, self.im)]
        if self.re.lanes == 1 and all(isinstance(part, (int, float)) for part in parts):
            return repr(complex(*parts))
        return f"{type(self).__name__}({self.re!r}, {self.im!r})"


def _quotient(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any]:
    """``(a + b i) / (c + d i)`` by Smith's way, which NumPy goes too: no square overflows."""
    wide = abs(c) >= abs(d)
    large, small = wide.select(c, d), wide.select(d, c)
    ratio = (large == 0).select(0 * large, small / large)
    scale = large + small * ratio
    re = wide.select(a + b * ratio, a * ratio + b) / scale
    im = wide.select(b - a * ratio, b * ratio - a) / scale
    return re, im


@struct
class ComplexSIMD(_Complex, Generic[T, N]):
    """Lanes of complex numbers: ``ComplexSIMD[Float32, 4]``; ``ComplexFloat32`` is the one of one lane.

    A value with the fields ``re`` and ``im``, each ``SIMD[T, N]``. The operators take also real numbers and
    Python's ``complex``. In memory the parts lie as in NumPy's ``complex64`` and ``complex128``: arrays of
    these are memory of ``ComplexFloat32`` and ``ComplexFloat64``.

    Example:
        >>> import numpy as np
        >>> from weft import Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> from weft.gpu.host import DeviceContext
        >>> @kernel
        ... def square(z: Pointer[ComplexFloat32]):
        ...     z[global_idx.x] = z[global_idx.x] * z[global_idx.x] + 1j
        >>> ctx, z = DeviceContext(api="cpu"), np.array([1, 2j, 1 + 1j], np.complex64)
        >>> ctx.enqueue_function(square, z, grid_dim=1, block_dim=3)
        >>> ctx.synchronize()
        >>> z
        array([ 1.+1.j, -4.+1.j,  0.+3.j], dtype=complex64)
    """

    re: SIMD[T, N]
    im: SIMD[T, N]

    def __init__(self, re: Any = 0, im: Any = 0) -> None:
        if isinstance(re, complex):
            re, im = re.real, re.imag
        self.re, self.im = re, im

    @classmethod
    def __weft_given__(cls, value: Any) -> Any:
        """What is meant by an argument: by a number of Python's or NumPy's the complex number."""
        return cls(complex(value)) if isinstance(value, Complex) and not isinstance(value, Number) else value

    __repr__ = _Complex.__repr__


ComplexFloat16 = ComplexSIMD[Float16, Literal[1]]
ComplexFloat32 = ComplexSIMD[Float32, Literal[1]]
ComplexFloat64 = ComplexSIMD[Float64, Literal[1]]


present(globals())
