"""Complex numbers for kernels, written in weft: ``ComplexFloat32``, and lanes of them as ``ComplexSIMD``.

>>> from weft.complex import ComplexFloat64
>>> z = ComplexFloat64(3, 4)
>>> abs(z), z * z, z / 2
(Float64(5.0), (-7+24j), (1.5+2j))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Complex
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast, overload

from weft.diagnostics import a_, refuse
from weft.diagnostics.modules import present
from weft.lang import SIMD, Float16, Float32, Float64, struct
from weft.lang.as_python import AsPython, beside_arrays
from weft.lang.elaboration import maybe_current
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.python_number import python_number
from weft.math import atan2, copysign, cos, hypot, nan, plane, sin
from weft.math.dispatch import floating

__all__ = ["ComplexFloat16", "ComplexFloat32", "ComplexFloat64", "ComplexSIMD"]

T = TypeVar("T", bound=Number)
X = TypeVar("X", bound=Number)
N = TypeVar("N", bound=int)
_FUNCTIONS = "abs, conj, exp, log, norm, phase, polar, squared_norm, sqrt and **"
_PRODUCTS = 100
"""Up to this exponent a power is made of products, as NumPy's."""


def _as_array(number: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """A number as NumPy has one of these parts, of halves a complex64; lanes as an array."""
    import numpy as np

    re, im = np.asarray(number.re), np.asarray(number.im)
    made = np.empty(re.shape, np.complex128 if re.dtype == np.float64 else np.complex64)
    made.real, made.imag = re, im
    return made if dtype is None else made.astype(dtype)


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
        return cls(*_turned(size, angle))  # pyright: ignore[reportCallIssue]

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
        """``e ** z``, as ``weft.math.exp(z)``."""
        return self._of(*floating("exp", plane.exp, plane.exp, self.re, self.im))

    def log(self) -> Self:
        """The natural logarithm, whose angle is from -pi to pi; as ``weft.math.log(z)``."""
        return self._of(floating("log", plane.log_size, plane.log_size, self.re, self.im), self.phase())

    def sqrt(self) -> Self:
        """The square root right of the imaginary axis; as ``weft.math.sqrt(z)``."""
        return self._of(*floating("sqrt", plane.sqrt, plane.sqrt, self.re, self.im))

    def __pow__(self, exponent: Any) -> Any:
        """A power: of an integer known at compile time by products, of all else by logarithms."""
        exponent = python_number(exponent)
        if isinstance(exponent, complex) and exponent.imag == 0:
            exponent = exponent.real
        if isinstance(exponent, float) and exponent.is_integer():
            exponent = int(exponent)
        if isinstance(exponent, int) and abs(exponent) <= _PRODUCTS:
            return _power(self, exponent) if exponent >= 0 else 1 / _power(self, -exponent)
        parts = self._parts(exponent)
        if parts is None:
            return NotImplemented
        if isinstance(exponent, (_Complex, complex)):
            made = (self.log() * exponent).exp()
        else:
            made = self._of(*_turned(self.norm() ** parts[0], self.phase() * parts[0]))
        # 0 has no logarithm: a power of it is 0 or 1, and nothing of exponents below 0
        zero, one, unknown = (number_class(made.re.dtype, made.re.lanes)(n) for n in (0, 1, nan))
        base, unit = (self.re == 0) & (self.im == 0), (parts[0] == 0) & (parts[1] == 0)
        im = ((parts[0] > 0) | unit).select(zero, unknown)
        return self._of(unit.select(one, base.select(im, made.re)), (unit | base).select(im, made.im))

    def __weft_unlike__(self, other: object) -> Any:
        """Whether it is the number that something of another type is; of lanes, whether all are."""
        parts = self._parts(other)
        if parts is None:
            return NotImplemented
        same: Any = (self.re == parts[0]) & (self.im == parts[1])
        same = same.reduce_and() if same.lanes > 1 else same
        return same if maybe_current() is not None else bool(same)

    def __weft_elements__(self, function: Any, operands: Sequence[Any]) -> Any:
        """What functions of ``weft.math`` give for it: those that it has itself."""
        name = function.args[0] if isinstance(function, functools.partial) else function.__name__
        if name == "pow" and operands[0] is self:
            return self ** operands[1]
        if name not in ("exp", "log", "sqrt"):
            message = f"{name} of weft.math takes real numbers, not {a_(type(self).__name__)}"
            refuse("operand", message, hint=f"compute with z.re and z.im; z has {_FUNCTIONS}")
        return getattr(self, name)()

    __array_priority__ = AsPython.__array_priority__
    __array__ = beside_arrays(_as_array)

    def __complex__(self) -> complex:
        return complex(float(self.re), float(self.im))

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

    def __rpow__(self, other: Any) -> Any:
        parts = self._parts(other)
        return NotImplemented if parts is None else self._of(*parts) ** self

    __radd__, __rmul__ = __add__, __mul__

    def _of(self, re: Any, im: Any) -> Any:
        """A number of these parts, in the type that they have."""
        wide = re if re.lanes >= im.lanes else im
        return cast("Any", ComplexSIMD)[number_class(re.dtype), wide.lanes](re, im)

    def _parts(self, other: Any) -> tuple[Any, Any] | None:
        """The parts of another number; None of what is none."""
        other, kind = python_number(other), number_class(self.re.dtype)
        if isinstance(other, _Complex):
            return other.re, other.im
        if isinstance(other, complex):
            return kind(other.real), kind(other.imag)
        if isinstance(other, (Number, bool, int, float)):
            return other if isinstance(other, Number) else kind(other), kind(0)
        return None

    def _with(self, other: Any, function: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Any:
        """A function of the parts of both; NotImplemented of what is no number."""
        parts = self._parts(other)
        return NotImplemented if parts is None else self._of(*function(self.re, self.im, *parts))

    def __repr__(self) -> str:
        parts: list[Any] = [part.value for part in (self.re, self.im)]
        if self.re.lanes == 1 and all(isinstance(part, (int, float)) for part in parts):
            return repr(complex(*parts))
        return f"{type(self).__name__}({self.re!r}, {self.im!r})"


def _power(z: Any, exponent: int) -> Any:
    made: Any = None
    while exponent:
        if exponent & 1:
            made = z if made is None else made * z
        exponent >>= 1
        z = z * z if exponent else z
    return z._of(*[number_class(z.re.dtype, z.re.lanes)(n) for n in (1, 0)]) if made is None else made


def _turned(size: Any, angle: Any) -> tuple[Any, Any]:
    """The parts of the number of this size and angle; without an angle even an infinity has no ``im``."""
    sine = sin(angle)
    return size * cos(angle), (sine == 0).select(sine * copysign(sine * 0 + 1, size), size * sine)


def _quotient(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any]:
    """``(a + b i) / (c + d i)`` by Smith's way, which NumPy goes too: no square overflows."""
    wide = abs(c) >= abs(d)
    large, small = wide.select(c, d), wide.select(d, c)
    ratio = small / large
    scale = large + small * ratio
    re = wide.select(a + b * ratio, a * ratio + b)
    im = wide.select(b - a * ratio, b * ratio - a)
    none = (c == 0) & (d == 0)  # where the parts are divided by 0, each with its own sign
    scale = none.select(abs(c), scale)
    return none.select(a, re) / scale, none.select(b, im) / scale


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

    if TYPE_CHECKING:

        @overload
        def __init__(self: ComplexSIMD[X, Any], re: X, im: X) -> None: ...
        @overload
        def __init__(self, re: Any = 0, im: Any = 0) -> None: ...

        def __eq__(self, other: object, /) -> Any: ...

    def __init__(self, re: Any = 0, im: Any = 0) -> None:
        if isinstance(re, complex):
            if im != 0:
                message = f"{type(self).__name__} takes a complex number, or two parts"
                refuse("conversion", message, hint=f"write {re} + {im}j, or its parts")
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
