"""Bits of integers: counting, finding, turning and reversing them. The names are Mojo's.

All take an integer of the language or a ``SIMD`` of them, and give one of the same type. Python ints, which
have no width, are taken where the result does not depend on one. A scalar of NumPy's counts as such an int,
and as an integer of its own type where a width is needed. What is known is computed at once, on the host too.

Example:
    >>> from weft import UInt32, func
    >>> from weft.bit import count_leading_zeros, next_power_of_two, pop_count
    >>> @func
    ... def gray(x: UInt32) -> UInt32:
    ...     return pop_count(x ^ (x >> 1)) + count_leading_zeros(x)
    >>> gray(6), next_power_of_two(100), count_leading_zeros(UInt32(6))
    (31, 128, UInt32(29))
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from weft.diagnostics import a_, refuse
from weft.diagnostics.modules import present
from weft.dtype import as_dtype
from weft.lang.bits import is_known, of_bits
from weft.lang.hints import kind_of, number_hint
from weft.lang.intrinsics import current_target, llvm_intrinsic
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.promote import fits
from weft.lang.python_number import python_number
from weft.lang.scalars import Bool, UInt32, UInt64

__all__ = [
    "bit_reverse",
    "bit_width",
    "byte_permute",
    "byte_swap",
    "count_leading_zeros",
    "count_trailing_zeros",
    "funnel_shift_left",
    "funnel_shift_right",
    "is_power_of_two",
    "log2_ceil",
    "log2_floor",
    "next_power_of_two",
    "pop_count",
    "prev_power_of_two",
    "rotate_bits_left",
    "rotate_bits_right",
]

T = TypeVar("T", bound=Number | int)
N = TypeVar("N", bound=Number)


def pop_count(x: T) -> T:
    """How many bits are 1.

    Raises:
        CompileError: it is no integer, or a negative int of Python.
    """
    n: Any = python_number(x)
    if _is_int(n) and (n >= 0 or not _of_a_width(x)):
        _check("pop_count", n >= 0, n)
        return n.bit_count()
    return _call("pop_count", "ctpop", x)


def count_leading_zeros(x: N) -> N:
    """How many bits above the highest 1 are 0; all of them for 0."""
    return _call("count_leading_zeros", "ctlz", x, Bool(False))


def count_trailing_zeros(x: T) -> T:
    """How many bits below the lowest 1 are 0; for 0, as many as the type has.

    Raises:
        CompileError: it is no integer, or Python's 0.
    """
    n: Any = python_number(x)
    if _is_int(n) and (n != 0 or not _of_a_width(x)):
        _check("count_trailing_zeros", n != 0, n)
        return cast("T", (n & -n).bit_length() - 1)
    return _call("count_trailing_zeros", "cttz", x, Bool(False))


def bit_width(x: T) -> T:
    """How many bits the magnitude needs, as Python's ``int.bit_length``: 0 for 0, 4 for 8 and for -8."""
    number: Any = python_number(x)
    if _is_int(number):
        return number.bit_length()
    number = _integer("bit_width", x)
    cls: Any = _class(number)
    if cls.dtype.is_signed:  # the least one's magnitude is itself, read as unsigned
        number = (number < 0).select(-number, number)
    return cls(cls.dtype.bits) - count_leading_zeros(number)


def log2_floor(x: T) -> T:
    """The greatest ``n`` with ``2**n <= x``; ``x`` from 1 on."""
    n: Any = _positive("log2_floor", x)
    return bit_width(n) - 1


def log2_ceil(x: T) -> T:
    """The least ``n`` with ``x <= 2**n``; ``x`` from 1 on."""
    n: Any = _positive("log2_ceil", x)
    return bit_width(n - 1)


def is_power_of_two(x: Any) -> Any:
    """Whether exactly one bit is 1 and the number is positive."""
    x = python_number(x)
    x = x if _is_int(x) else _integer("is_power_of_two", x)
    power = (x & (x - 1)) == 0
    return x > 0 and power if _is_int(x) else power & (x > 0)


def next_power_of_two(x: T) -> T:
    """The least power of two that is not less than ``x``; it is 1 for what is less than 1.

    The result wraps where the type does not hold it.
    """
    number: Any = python_number(x)
    if _is_int(number):
        return cast("T", 1 << max(0, number - 1).bit_length())
    number = _integer("next_power_of_two", x)
    cls: Any = _class(number)
    return (number <= 1).select(cls(1), cls(1) << bit_width(number - 1))


def prev_power_of_two(x: T) -> T:
    """The greatest power of two that is not greater than ``x``; 0 for what is less than 1."""
    number: Any = python_number(x)
    if _is_int(number):
        return cast("T", 1 << (number.bit_length() - 1) if number > 0 else 0)
    number = _integer("prev_power_of_two", x)
    cls: Any = _class(number)
    return (number < 1).select(cls(0), cls(1) << (bit_width(number) - 1))


def byte_swap(x: N) -> N:
    """The bytes in the reverse order."""
    number: Any = _integer("byte_swap", x)
    return number if number.dtype.bits == 8 else _call("byte_swap", "bswap", number)


def bit_reverse(x: N) -> N:
    """The bits in the reverse order."""
    return _call("bit_reverse", "bitreverse", x)


def rotate_bits_left(x: N, count: NumberLike) -> N:
    """The bits moved up by ``count``, modulo the width; what leaves at the top comes in at the bottom."""
    return _moved("rotate_bits_left", "fshl", x, x, count)


def rotate_bits_right(x: N, count: NumberLike) -> N:
    """The bits moved down by ``count``, modulo the width; what leaves at the bottom comes in at the top."""
    return _moved("rotate_bits_right", "fshr", x, x, count)


def funnel_shift_left(high: N | int, low: N, count: NumberLike) -> N:
    """The upper half of ``high`` and ``low``, put together and moved up by ``count`` modulo the width."""
    return _moved("funnel_shift_left", "fshl", high, low, count)


def funnel_shift_right(high: N | int, low: N, count: NumberLike) -> N:
    """The lower half of ``high`` and ``low``, put together and moved down by ``count`` modulo the width."""
    return _moved("funnel_shift_right", "fshr", high, low, count)


def byte_permute(low: UInt32, high: UInt32, selector: UInt32 | int) -> UInt32:
    """Four of eight bytes, as CUDA's ``__byte_perm``.

    The bytes of ``low`` are numbers 0 to 3, those of ``high`` 4 to 7. The lower three bits of the ``n``-th
    hexadecimal digit of ``selector``, from the lowest, say which of them is byte ``n`` of the result.

    Example:
        >>> from weft import UInt32, func
        >>> from weft.bit import byte_permute
        >>> @func
        ... def mixed(a: UInt32, b: UInt32) -> UInt32:
        ...     return byte_permute(a, b, 0x7610)
        >>> hex(mixed(0x33221100, 0x77665544))
        '0x77661100'
    """
    low, high = (_word("byte_permute", part) for part in (low, high))
    selector = UInt32(_whole("byte_permute", selector))  # whose upper bits say nothing
    if not is_known(low, high, selector) and current_target().has_intrinsic("llvm.nvvm.prmt"):
        # a fourth bit would repeat the byte's sign
        return llvm_intrinsic("llvm.nvvm.prmt", UInt32, low, high, selector & 0x7777, effects="none")
    both = UInt64(high) << 32 | UInt64(low)
    found = UInt32(0)
    for n in range(4):
        place = UInt64(selector >> 4 * n & 7) * 8
        found = found | (both >> place & 255).cast(UInt32) << 8 * n
    return found


def _class(number: Number) -> Any:
    return type(number)


def _moved(name: str, intrinsic: str, high: Any, low: Any, count: Any) -> Any:
    """Two halves of one type, of which one may be a literal, moved by any integer."""
    count, halves = _whole(name, count), [python_number(half) for half in (high, low)]
    known = [half for half in halves if isinstance(half, Number)]
    for n, half in enumerate(halves):
        if _is_int(half) and known:
            fits(half, _class(known[0]))
            halves[n] = _class(known[0])(half)
    high, low = (_integer(name, half) for half in (halves if known else (high, low)))
    if high.dtype is not low.dtype:
        message = f"{name} takes halves of one type, not {type(high).__name__} and {type(low).__name__}"
        refuse("mixed-types", message, hint=f"convert one of them: {type(high).__name__}(x)")
    return _call(name, intrinsic, high, low, count)


def _whole(name: str, count: Any) -> Any:
    """An integer of any type, of run time or Python's."""
    number = python_number(count)
    return number if _is_int(number) else _integer(name, number)


def _word(name: str, part: Any) -> Any:
    """An integer of at most 32 bits as their bits."""
    number = _whole(name, part)
    if _is_int(number):
        fits(number, UInt32)
    elif number.dtype.bits > 32:
        message = f"{name} takes integers of 32 bits, not {a_(type(number).__name__)}"
        refuse(
            "argument-type", message, hint="write UInt32(x) for its lower half, UInt32(x >> 32) for the upper"
        )
    return UInt32(number)


def _of_a_width(x: object) -> bool:
    """Whether it is an integer whose type has a width: the language's or NumPy's."""
    return not isinstance(x, int) and isinstance(_typed(x), Number)


def _typed(x: Any) -> Any:
    """A scalar of NumPy's as a number of its type; anything else as it is."""
    number = python_number(x)
    of_numpy = type(x).__module__ == "numpy" and _is_int(number)
    return number_class(as_dtype(x.dtype))(number) if of_numpy else number


def _is_int(x: object) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _integer(name: str, x: Any) -> Any:
    number: Any = _typed(x)
    if isinstance(number, Number) and number.dtype.is_integer:
        return number
    hint = number_hint(x) or "give an integer, as Int32(x)"
    if hasattr(cast("Any", type(x)), "__weft_elements__") and hasattr(number, "map"):
        hint = f"apply it to each number: x.map({name})"
    if _is_int(x):
        hint = f"a Python int has no width: write {name}(Int32(x)), say"
    elif isinstance(x, Number) and x.dtype.is_float:
        hint = f"write x.bitcast(DType.int{x.dtype.bits}) for its bits, or convert it, as Int(x)"
    refuse("argument-type", f"{name} takes integers, not {kind_of(x)}", hint=hint)


def _call(name: str, intrinsic: str, x: Any, *others: Any) -> Any:
    return of_bits(intrinsic, _integer(name, x), *others)


def _check(name: str, right: bool, x: object) -> None:
    if not right:
        refuse(
            "argument-type",
            f"{name}({x}) depends on a width, which a Python int has not",
            hint="write Int32(x)",
        )


def _positive(name: str, x: Any) -> Any:
    number = python_number(x)
    if not _is_int(number):
        return _integer(name, number)
    if number < 1:
        refuse("argument-type", f"{name}({number}): there is no logarithm of what is less than 1")
    return number


__weft_computes__ = True
"""Its functions do nothing else, so a call whose result nobody reads can be told of."""

present(globals())
