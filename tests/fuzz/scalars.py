"""The model's numbers: Python's operators, one rounding or wrap after every operation.

Nothing of weft is used. Integers are Python's, cut to their width; floats are NumPy's scalars, and those of
16 bits are computed in single precision and rounded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.fuzz.kinds import BOOL, INT, KINDS, Kind, bits_of, convert, literal, meet, of_bits, saturated

__all__ = ["Number", "ScalarType", "as_kind", "number_of"]


def _binary(name: str, reverse: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        if not isinstance(other, (Number, bool, int, float)):
            return NotImplemented
        return operate(name, other, self) if reverse else operate(name, self, other)

    return method


def _compare(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        if not isinstance(other, (Number, bool, int, float)):
            return NotImplemented
        if isinstance(other, float) and not self.kind.is_float:
            return Number(BOOL, getattr(operator, name)(int(self.value), other))
        _, x, y = both(self, other)
        return Number(BOOL, bool(getattr(x, f"__{name}__")(y)))

    return method


class Number:
    """A number of some format."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: Kind, value: Any) -> None:
        self.kind = kind
        self.value = value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        if not self.kind.is_integer:
            raise TypeError(f"{self.kind.name} as an index")
        return self.value

    def __int__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"{self.kind.name}({self.value!r})"

    def __str__(self) -> str:
        if self.kind.name == "Float32" and np.isfinite(self.value):  # the fewest digits, in Python's notation
            return repr(float(np.format_float_scientific(self.value, unique=True)))
        return str(self.value)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(float(self.value) if self.kind.is_float else self.value, spec)

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("truediv"), _binary("truediv", True)
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _binary("floordiv", True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", True)
    __and__, __rand__ = _binary("and"), _binary("and", True)
    __or__, __ror__ = _binary("or"), _binary("or", True)
    __xor__, __rxor__ = _binary("xor"), _binary("xor", True)
    __lshift__, __rlshift__ = _binary("lshift"), _binary("lshift", True)
    __rshift__, __rrshift__ = _binary("rshift"), _binary("rshift", True)
    __lt__ = _compare("lt")
    __le__ = _compare("le")
    __gt__ = _compare("gt")
    __ge__ = _compare("ge")
    __eq__ = _compare("eq")
    __ne__ = _compare("ne")
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> Number:
        return Number(self.kind, -self.value if self.kind.is_float else self.kind.wrap(-self.value))

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return Number(self.kind, abs(self.value) if self.kind.is_float else self.kind.wrap(abs(self.value)))

    def __round__(self) -> Number:
        return Number(INT, convert(np.rint(self.value), self.kind, INT))

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __invert__(self) -> Number:
        return Number(self.kind, not self.value if self.kind is BOOL else self.kind.wrap(~self.value))

    def __pow__(self, other: Any) -> Any:
        if self.kind.is_float:
            return _squares(self, other)
        kind, a, n = both(self, other)
        return _power(kind, a, n)

    def __rpow__(self, other: Any) -> Any:
        kind, n, a = both(self, other)
        return _power(kind, a, n)

    def cast(self, to: Any) -> Number:
        return Number(to.kind, convert(self.value, self.kind, to.kind))

    def saturating_cast(self, to: Any) -> Number:
        return Number(to.kind, saturated(self.value, self.kind, to.kind))

    def bitcast(self, to: Any) -> Number:
        return Number(to.kind, of_bits(to.kind, bits_of(self.kind, self.value)))

    def select(self, true: Any, false: Any) -> Any:
        if not isinstance(true, Number) and not isinstance(false, Number):
            return true if self.value else false  # vectors
        kind = both(true, false)[0] if isinstance(true, Number) else both(false, true)[0]
        return as_kind(true if self.value else false, kind)


def as_kind(value: Any, kind: Kind) -> Number:
    """A number or a literal in some format."""
    if isinstance(value, Number):
        return value if value.kind is kind else Number(kind, convert(value.value, value.kind, kind))
    return Number(kind, literal(value, kind))


def number_of(value: Any) -> Any:
    """A raw number of Python as the literal that nothing types."""
    if isinstance(value, bool):
        return Number(BOOL, value)
    if isinstance(value, int):
        return Number(INT, INT.wrap(value))
    return Number(KINDS["Float32"], np.float32(value)) if isinstance(value, float) else value


def both(a: Number, c: Any) -> tuple[Kind, Any, Any]:
    """The format in which two operands meet, and both in it."""
    if isinstance(c, Number):
        if a.kind is c.kind:
            return a.kind, a.value, c.value
        kind = meet(a.kind, c.kind)
        if kind is None:
            raise TypeError(f"{a.kind.name} meets {c.kind.name}")
        return kind, convert(a.value, a.kind, kind), convert(c.value, c.kind, kind)
    if not isinstance(c, (bool, int, float)):
        raise TypeError(f"{a.kind.name} meets {c!r}")
    if isinstance(c, float) and not a.kind.is_float:
        raise TypeError(f"{a.kind.name} meets {c!r}")
    kind = INT if a.kind is BOOL and not isinstance(c, bool) else a.kind
    return kind, convert(a.value, a.kind, kind), literal(c, kind)


def _power(kind: Kind, a: int, n: int) -> Number:
    """An integer to a power, which below 0 is an assertion that fails."""
    assert n >= 0
    return Number(kind, kind.wrap(pow(a, n, 1 << 64)))


def _squares(base: Number, exponent: int) -> Any:
    """A float to a literal power: by squaring, as the guide of `**` says."""
    if exponent < 0:
        return 1.0 / _squares(base, -exponent)
    result: Any = None
    square: Any = base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return as_kind(1, base.kind) if result is None else result


def _shift(kind: Kind, n: int) -> int:
    return n if 0 <= n < kind.bits else kind.bits


INTEGER: dict[str, Callable[[Kind, int, int], int]] = {
    "add": lambda k, a, c: a + c,
    "sub": lambda k, a, c: a - c,
    "mul": lambda k, a, c: a * c,
    "floordiv": lambda k, a, c: a // c if c else 0,
    "mod": lambda k, a, c: a % c if c else 0,
    "and": lambda k, a, c: a & c,
    "or": lambda k, a, c: a | c,
    "xor": lambda k, a, c: a ^ c,
    "lshift": lambda k, a, n: a << _shift(k, n),
    "rshift": lambda k, a, n: a >> _shift(k, n),
}


FLOAT: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
}


def operate(name: str, a: Any, c: Any) -> Number:
    """One operation of two operands, of which one is a number."""
    if isinstance(a, Number):
        kind, x, y = both(a, c)
    else:
        kind, y, x = both(c, a)
    if kind is BOOL:
        if name in ("and", "or", "xor"):
            return Number(BOOL, bool(INTEGER[name](kind, int(x), int(y))))
        kind = INT
        x, y = int(x), int(y)
    if not kind.is_float:
        return Number(kind, kind.wrap(INTEGER[name](kind, x, y)))
    found = FLOAT[name](x, y)
    return Number(kind, literal(float(found), kind) if kind.name == "BFloat16" else found)


class ScalarType:
    """``Int32`` and its kin: converts what it is called with."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __call__(self, value: Any = 0) -> Number:
        return as_kind(value, self.kind)
