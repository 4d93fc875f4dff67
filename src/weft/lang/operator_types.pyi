"""What type checkers read in place of the operators of numbers: of which type the result is.

Both operands are asked, so each type says only what it meets and stays of its own type; ``promote`` has the
rule. An operator is a descriptor here, since what it takes depends on the type of the number at hand.
"""

from __future__ import annotations

from typing import Any, Never, Protocol, TypeVar, overload

from weft.lang.number import Number
from weft.lang.scalars import (
    AnyBFloat16,
    AnyBool,
    AnyFloat8_e4m3fn,
    AnyFloat8_e5m2,
    AnyFloat16,
    AnyFloat32,
    AnyFloat64,
    AnyInt,
    AnyInt8,
    AnyInt16,
    AnyInt32,
    AnyUInt,
    AnyUInt8,
    AnyUInt16,
    AnyUInt32,
    BFloat16,
    Bool,
    Float8_e4m3fn,
    Float8_e5m2,
    Float16,
    Float32,
    Float64,
    Floating,
    Int,
    Int8,
    Int16,
    Int32,
    UInt,
    UInt8,
    UInt16,
    UInt32,
)

N = TypeVar("N", bound=Number)
S = TypeVar("S", covariant=True)
L = TypeVar("L", contravariant=True)

_Float8 = Float8_e4m3fn | Float8_e5m2
_Integers = Bool | Int8 | Int16 | Int32 | Int | UInt8 | UInt16 | UInt32 | UInt
_ForFloat16 = _Integers | _Float8 | Float16
_ForBFloat16 = _Integers | _Float8 | BFloat16
_ForFloat32 = _Integers | _Float8 | Float16 | BFloat16 | Float32
_ForInt16 = Bool | Int8 | UInt8 | Int16
_ForInt32 = _ForInt16 | UInt16 | Int32
_ForInt = _ForInt32 | UInt32 | Int
_ForUInt16 = Bool | UInt8 | UInt16
_ForUInt32 = _ForUInt16 | UInt32
_ForUInt = _ForUInt32 | UInt

class OfFloat(Protocol[S, L]):
    """A float with what it is at least as wide as."""

    def __call__(self, other: L | float, /) -> S: ...

class OfInteger(Protocol[S, L]):
    """An integer with such; a float literal makes it a Float32."""

    @overload
    def __call__(self, other: L | int, /) -> S: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, other: float, /) -> Float32: ...

class OfBits(Protocol[S, L]):
    """An integer with such, and no float."""

    def __call__(self, other: L | int, /) -> S: ...

class OfBools(Protocol):
    """A Bool with another, which stays one."""

    @overload
    def __call__(self, other: AnyBool | bool, /) -> Bool: ...
    @overload
    def __call__(self, other: int, /) -> Int: ...

class OfQuotient(Protocol):
    """An integer divided: by a float literal alone."""

    def __call__(self, other: float, /) -> Float32: ...

class OfNothing(Protocol):
    """No operand."""

    def __call__(self, other: Never, /) -> Never: ...

class OfAny(Protocol[N]):
    """What a type variable or a class such as ``Floating`` stands for: with the same, or an integer."""

    @overload
    def __call__(self, other: N | _Integers | float, /) -> N: ...
    @overload
    def __call__(self, other: Number, /) -> Any: ...

class Unbound:
    """What a protocol sees of an operator, such as the one that ``sum`` asks for: it does not bind it."""

    def __call__(self, other: Any, modulo: None = None, /) -> Any: ...

class Arithmetic(Unbound):
    """``+ - * // % **``."""

    @overload
    def __get__(self, instance: AnyBool, owner: Any) -> OfInteger[Int, Bool]: ...
    @overload
    def __get__(self, instance: AnyUInt8, owner: Any) -> OfInteger[UInt8, Bool | UInt8]: ...
    @overload
    def __get__(self, instance: AnyInt8, owner: Any) -> OfInteger[Int8, Bool | Int8]: ...
    @overload
    def __get__(self, instance: AnyUInt16, owner: Any) -> OfInteger[UInt16, _ForUInt16]: ...
    @overload
    def __get__(self, instance: AnyInt16, owner: Any) -> OfInteger[Int16, _ForInt16]: ...
    @overload
    def __get__(self, instance: AnyUInt32, owner: Any) -> OfInteger[UInt32, _ForUInt32]: ...
    @overload
    def __get__(self, instance: AnyInt32, owner: Any) -> OfInteger[Int32, _ForInt32]: ...
    @overload
    def __get__(self, instance: AnyUInt, owner: Any) -> OfInteger[UInt, _ForUInt]: ...
    @overload
    def __get__(self, instance: AnyInt, owner: Any) -> OfInteger[Int, _ForInt]: ...
    @overload
    def __get__(self, instance: AnyFloat8_e4m3fn | AnyFloat8_e5m2, owner: Any) -> OfNothing: ...
    @overload
    def __get__(self, instance: AnyFloat16, owner: Any) -> OfFloat[Float16, _ForFloat16]: ...
    @overload
    def __get__(self, instance: AnyBFloat16, owner: Any) -> OfFloat[BFloat16, _ForBFloat16]: ...
    @overload
    def __get__(self, instance: AnyFloat32, owner: Any) -> OfFloat[Float32, _ForFloat32]: ...
    @overload
    def __get__(self, instance: AnyFloat64, owner: Any) -> OfFloat[Float64, Number]: ...
    @overload
    def __get__(self, instance: N, owner: Any) -> OfAny[N]: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...

class Division(Unbound):
    """``/``."""

    @overload
    def __get__(self, instance: _Integers, owner: Any) -> OfQuotient: ...
    @overload
    def __get__(self, instance: AnyFloat8_e4m3fn | AnyFloat8_e5m2, owner: Any) -> OfNothing: ...
    @overload
    def __get__(self, instance: AnyFloat16, owner: Any) -> OfFloat[Float16, _ForFloat16]: ...
    @overload
    def __get__(self, instance: AnyBFloat16, owner: Any) -> OfFloat[BFloat16, _ForBFloat16]: ...
    @overload
    def __get__(self, instance: AnyFloat32, owner: Any) -> OfFloat[Float32, _ForFloat32]: ...
    @overload
    def __get__(self, instance: AnyFloat64, owner: Any) -> OfFloat[Float64, Number]: ...
    @overload
    def __get__(self, instance: N, owner: Any) -> OfAny[N]: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...

class Bitwise(Unbound):
    """``& | ^``."""

    @overload
    def __get__(self, instance: AnyBool, owner: Any) -> OfBools: ...
    @overload
    def __get__(self, instance: AnyUInt8, owner: Any) -> OfBits[UInt8, Bool | UInt8]: ...
    @overload
    def __get__(self, instance: AnyInt8, owner: Any) -> OfBits[Int8, Bool | Int8]: ...
    @overload
    def __get__(self, instance: AnyUInt16, owner: Any) -> OfBits[UInt16, _ForUInt16]: ...
    @overload
    def __get__(self, instance: AnyInt16, owner: Any) -> OfBits[Int16, _ForInt16]: ...
    @overload
    def __get__(self, instance: AnyUInt32, owner: Any) -> OfBits[UInt32, _ForUInt32]: ...
    @overload
    def __get__(self, instance: AnyInt32, owner: Any) -> OfBits[Int32, _ForInt32]: ...
    @overload
    def __get__(self, instance: AnyUInt, owner: Any) -> OfBits[UInt, _ForUInt]: ...
    @overload
    def __get__(self, instance: AnyInt, owner: Any) -> OfBits[Int, _ForInt]: ...
    @overload
    def __get__(self, instance: AnyFloat8_e4m3fn | AnyFloat8_e5m2 | Floating, owner: Any) -> OfNothing: ...
    @overload
    def __get__(self, instance: N, owner: Any) -> OfAny[N]: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...

class Rounding:
    """``round``: to an Int; to digits what a function gave to Python, which is a number of Python's."""

    @overload
    def __call__(self, ndigits: None = None, /) -> Int: ...
    @overload
    def __call__(self, ndigits: int, /) -> float: ...
