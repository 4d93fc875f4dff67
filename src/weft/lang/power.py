"""``**`` with Python's meaning."""

from __future__ import annotations

from typing import Any, NoReturn

from weft.diagnostics import LEFT, RIGHT, refuse
from weft.dtype import DType
from weft.lang.above import above
from weft.lang.decorators import func
from weft.lang.elaboration import current, note_result
from weft.lang.fold import fold, has_lanes
from weft.lang.number import Number, constant, number_class, to_type, unify
from weft.lang.python_number import python_number


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent``: by squaring where the exponent is a known or an integer, else weft.math.pow.

    An integer to a negative power is a float in Python and an error in NumPy: a known one is refused, and of
    a run-time one it is asserted that it is not below 0.
    """
    base, exponent = python_number(base), python_number(exponent)
    if not isinstance(base, (Number, bool, int, float)) or not isinstance(
        exponent, (Number, bool, int, float)
    ):
        return NotImplemented
    if isinstance(base, Number) and isinstance(exponent, int):
        if exponent >= 0:
            return _squaring(base, exponent)
        if not base.dtype.is_float:
            _refuse_negative(exponent)
        if exponent >= -64:
            return 1.0 / _squaring(base, -exponent)
    cls, mark = unify("**", base, exponent)
    left, right = constant(base, cls), constant(exponent, cls)
    if cls.dtype.is_float:
        numbers = [
            cls(known) if known is not None and mark is None else cls.of(to_type(x, cls, current()), mark)
            for x, known in ((base, left), (exponent, right))
        ]
        made = above().pow(*numbers)
        note_result("**", numbers, made)
        return made
    for lane in right if has_lanes(right) else (right,):
        if lane is not None and lane < 0:
            _refuse_negative(lane)
    if left is not None and right is not None:
        return cls(fold("**", cls.dtype, left, right))
    b: Any = current()
    n: Any = cls.of(to_type(exponent, cls, b))
    if not isinstance(exponent, Number) or exponent.dtype.is_signed:
        b.assert_((n >= 0).all(), lambda: "an integer to a negative power is a float: write Float32(x) ** n")  # noqa: PT009
    base = cls.of(to_type(base, cls, b))
    made = _of_integers(base, n)
    if b.tells_overflow:
        # Float64 tells: but for powers of two, which it has exactly, no power of a whole number is within
        # 10**-11 of 2**63 or 2**64, and its own error is 10**-14 at most.
        wide = number_class(DType.float64, cls.lanes)
        power, least, end = _of_integers(wide(base), n), float(cls.dtype.least), cls.dtype.greatest + 1.0
        note_result("**", [base, n, cls((power < least) | (power >= end))], made)
    return made


def power_modulo(base: Number, exponent: Any, modulus: Any) -> Any:
    """``pow(base, exponent, modulus)`` of the host's integers, of the type in which base and modulus meet."""
    numbers: list[Any] = [python_number(each) for each in (base, exponent, modulus)]
    whole = [isinstance(x, Number) and not x.dtype.is_float and x.lanes == 1 for x in numbers]
    if not all(is_whole or isinstance(x, int) for is_whole, x in zip(whole, numbers, strict=True)):
        message = "pow(base, exponent, modulus) takes integers"
        refuse("operator", message, hint="convert them: pow(Int(x), n, m)")
    kind: Any = unify("%", base, modulus)[0]
    return kind(pow(int(base), int(exponent), constant(modulus, kind)))


def _refuse_negative(exponent: Any) -> NoReturn:
    hint = f"write Float32({LEFT}) ** {RIGHT}"
    refuse("int-power", f"an integer to the power {exponent} is a float", hint=hint)


def _squaring(base: Number, exponent: int) -> Any:
    result: Any = None
    square: Any = base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return type(base)(1) if result is None else result


@func
def _of_integers(base: Any, exponent: Any) -> Any:
    one = type(base)(1)
    result, square, left = one, base, exponent
    while (left > 0).any():
        result *= (left & 1 == 1).select(square, one)
        square *= square
        left >>= 1
    return result
