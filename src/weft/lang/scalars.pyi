"""What type checkers read of the numbers: Python's and NumPy's are taken where one is annotated.

Python's types know no conversions, except of what a protocol describes. So each number is a protocol
here, of the attribute that all objects have, each with its own type: ``__class__``, which lists what is
taken. What a number can do comes from a base that is no protocol. ``isinstance`` asks by names of members
whether classes overlap: integers alone have ``~``, floats ``__class_getitem__``, which assignments skip. A
protocol cannot be called, but a class that is read off a field of type ``type[...]`` can: the names are of
such.
"""

# pyright: reportGeneralTypeIssues=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Annotated, Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from weft.lang import number

__all__ = [
    "SIMD",
    "BFloat16",
    "Bool",
    "Float8_e4m3fn",
    "Float8_e5m2",
    "Float16",
    "Float32",
    "Float64",
    "Floating",
    "Int",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Integer",
    "Number",
    "Scalar",
    "SignedInteger",
    "UInt",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UnsignedInteger",
]

# Which of weft's numbers one is; nothing is of these classes.
class IsNumber: ...
class IsInteger(IsNumber): ...
class IsSigned(IsInteger): ...
class IsUnsigned(IsInteger): ...
class IsFloating(IsNumber): ...
class IsBool(IsNumber): ...
class IsInt8(IsSigned): ...
class IsInt16(IsSigned): ...
class IsInt32(IsSigned): ...
class IsInt(IsSigned): ...
class IsUInt8(IsUnsigned): ...
class IsUInt16(IsUnsigned): ...
class IsUInt32(IsUnsigned): ...
class IsUInt(IsUnsigned): ...
class IsFloat8_e4m3fn(IsNumber): ...
class IsFloat8_e5m2(IsNumber): ...
class IsFloat16(IsFloating): ...
class IsBFloat16(IsFloating): ...
class IsFloat32(IsFloating): ...
class IsFloat64(IsFloating): ...

_Integral = int | np.bool | np.integer[Any]
"""What is taken for an integer beside weft's own."""
_Real = float | np.floating[Any] | _Integral
"""What is taken for a float beside weft's own."""

_ForInt8 = IsBool | IsInt8
_ForUInt8 = IsBool | IsUInt8
_ForUInt16 = _ForUInt8 | IsUInt16
_ForUInt32 = _ForUInt16 | IsUInt32
_ForUInt = _ForUInt32 | IsUInt
_ForInt16 = _ForInt8 | IsUInt8 | IsInt16
_ForInt32 = _ForInt16 | IsUInt16 | IsInt32
_ForInt = _ForInt32 | IsUInt32 | IsInt
_Exact = _ForInt | IsUInt
_ForFloat16 = _Exact | IsFloat8_e4m3fn | IsFloat8_e5m2 | IsFloat16
_ForBFloat16 = _Exact | IsFloat8_e4m3fn | IsFloat8_e5m2 | IsBFloat16
_ForFloat32 = _ForFloat16 | IsBFloat16 | IsFloat32
"""What of weft's numbers each takes without a conversion that is written; ``promote`` has the rule."""

class AnyBool(number.Number):
    def __invert__(self) -> Bool: ...

# Of which number an operator's operand is: to ask for a class takes less time than to compare protocols.
class AnyInt8(number.Number): ...
class AnyInt16(number.Number): ...
class AnyInt32(number.Number): ...
class AnyInt(number.Number): ...
class AnyUInt8(number.Number): ...
class AnyUInt16(number.Number): ...
class AnyUInt32(number.Number): ...
class AnyUInt(number.Number): ...
class AnyFloat8_e4m3fn(number.Number): ...
class AnyFloat8_e5m2(number.Number): ...
class AnyFloat16(number.Number): ...
class AnyBFloat16(number.Number): ...
class AnyFloat32(number.Number): ...
class AnyFloat64(number.Number): ...

class _Protocols:
    @runtime_checkable
    class Number(number.Number, Protocol):
        @property
        def __class__(self) -> type[_Real | IsNumber]: ...

    @runtime_checkable
    class Integer(Number, Protocol):
        @property
        def __class__(self) -> type[_Integral | IsInteger]: ...
        def __invert__(self) -> Self: ...

    @runtime_checkable
    class SignedInteger(Integer, Protocol):
        @property
        def __class__(self) -> type[_Integral | IsSigned]: ...

    @runtime_checkable
    class UnsignedInteger(Integer, Protocol):
        @property
        def __class__(self) -> type[_Integral | IsUnsigned]: ...

    @runtime_checkable
    class Floating(Number, Protocol):
        @property
        def __class__(self) -> type[_Real | IsFloating]: ...
        def __class_getitem__(cls, item: IsFloating) -> IsFloating: ...

    @runtime_checkable
    class Bool(AnyBool, Protocol):
        @property
        def __class__(self) -> type[_Integral | IsBool]: ...

    @runtime_checkable
    class Int8(SignedInteger, AnyInt8, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForInt8]: ...

    @runtime_checkable
    class Int16(SignedInteger, AnyInt16, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForInt16]: ...

    @runtime_checkable
    class Int32(SignedInteger, AnyInt32, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForInt32]: ...

    @runtime_checkable
    class Int(SignedInteger, AnyInt, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForInt]: ...

    @runtime_checkable
    class UInt8(UnsignedInteger, AnyUInt8, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForUInt8]: ...

    @runtime_checkable
    class UInt16(UnsignedInteger, AnyUInt16, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForUInt16]: ...

    @runtime_checkable
    class UInt32(UnsignedInteger, AnyUInt32, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForUInt32]: ...

    @runtime_checkable
    class UInt(UnsignedInteger, AnyUInt, Protocol):
        @property
        def __class__(self) -> type[_Integral | _ForUInt]: ...

    @runtime_checkable
    class Float8_e4m3fn(Number, AnyFloat8_e4m3fn, Protocol):
        @property
        def __class__(self) -> type[_Real | _Exact | IsFloat8_e4m3fn]: ...

    @runtime_checkable
    class Float8_e5m2(Number, AnyFloat8_e5m2, Protocol):
        @property
        def __class__(self) -> type[_Real | _Exact | IsFloat8_e5m2]: ...

    @runtime_checkable
    class Float16(Floating, AnyFloat16, Protocol):
        @property
        def __class__(self) -> type[_Real | _ForFloat16]: ...

    @runtime_checkable
    class BFloat16(Floating, AnyBFloat16, Protocol):
        @property
        def __class__(self) -> type[_Real | _ForBFloat16]: ...

    @runtime_checkable
    class Float32(Floating, AnyFloat32, Protocol):
        @property
        def __class__(self) -> type[_Real | _ForFloat32]: ...

    @runtime_checkable
    class Float64(Floating, AnyFloat64, Protocol):
        @property
        def __class__(self) -> type[_Real | _ForFloat32 | IsFloat64]: ...

class _Classes:
    Number: type[_Protocols.Number]
    Integer: type[_Protocols.Integer]
    SignedInteger: type[_Protocols.SignedInteger]
    UnsignedInteger: type[_Protocols.UnsignedInteger]
    Floating: type[_Protocols.Floating]
    Bool: type[_Protocols.Bool]
    Int8: type[_Protocols.Int8]
    Int16: type[_Protocols.Int16]
    Int32: type[_Protocols.Int32]
    Int: type[_Protocols.Int]
    UInt8: type[_Protocols.UInt8]
    UInt16: type[_Protocols.UInt16]
    UInt32: type[_Protocols.UInt32]
    UInt: type[_Protocols.UInt]
    Float8_e4m3fn: type[_Protocols.Float8_e4m3fn]
    Float8_e5m2: type[_Protocols.Float8_e5m2]
    Float16: type[_Protocols.Float16]
    BFloat16: type[_Protocols.BFloat16]
    Float32: type[_Protocols.Float32]
    Float64: type[_Protocols.Float64]

Number = _Classes.Number
Integer = _Classes.Integer
SignedInteger = _Classes.SignedInteger
UnsignedInteger = _Classes.UnsignedInteger
Floating = _Classes.Floating
Bool = _Classes.Bool
Int8 = _Classes.Int8
Int16 = _Classes.Int16
Int32 = _Classes.Int32
Int = _Classes.Int
UInt8 = _Classes.UInt8
UInt16 = _Classes.UInt16
UInt32 = _Classes.UInt32
UInt = _Classes.UInt
Float8_e4m3fn = _Classes.Float8_e4m3fn
Float8_e5m2 = _Classes.Float8_e5m2
Float16 = _Classes.Float16
BFloat16 = _Classes.BFloat16
Float32 = _Classes.Float32
Float64 = _Classes.Float64
Int64 = Int
UInt64 = UInt

T = TypeVar("T")
SIMD = Annotated
"""``SIMD[Float32, 4]``: a value of four lanes; ``SIMD[Float32, ...]`` of any number of them.

Type checkers read it as ``Float32``, whose operations it shares, and know no call of it: they take
``Float32.simd(1, 2, 3, 4)`` and ``Float32.splat(4, 0.0)``.
"""
Scalar = Annotated[T, "scalar"]
"""``Scalar[dtype]``: one number of a format, ``Float32`` of ``DType.float32``."""
