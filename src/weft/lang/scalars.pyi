"""What type checkers read of the numbers: where one is annotated, Python's numbers are taken as well.

Python's types know no conversions, except of what a protocol describes. So each number is a protocol
here, of a method that Python's numbers have and no other number has with the same result; what it can
do comes from a base that is no protocol. A protocol cannot be called, but a class that is read off a
field of type ``type[...]`` can: the names are of such.
"""

# pyright: reportGeneralTypeIssues=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Annotated, Literal, Protocol, TypeVar, runtime_checkable

from weft.lang.number import Number as Number

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

class Integer(Number): ...
class SignedInteger(Integer): ...
class UnsignedInteger(Integer): ...
class Floating(Number): ...
class AnyBool(Number): ...

class _Protocols:
    @runtime_checkable
    class Bool(AnyBool, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["Bool"]: ...

    @runtime_checkable
    class Int8(SignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["Int8"]: ...

    @runtime_checkable
    class Int16(SignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["Int16"]: ...

    @runtime_checkable
    class Int32(SignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["Int32"]: ...

    @runtime_checkable
    class Int(SignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["Int"]: ...

    @runtime_checkable
    class UInt8(UnsignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["UInt8"]: ...

    @runtime_checkable
    class UInt16(UnsignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["UInt16"]: ...

    @runtime_checkable
    class UInt32(UnsignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["UInt32"]: ...

    @runtime_checkable
    class UInt(UnsignedInteger, Protocol):
        def __getnewargs__(self) -> tuple[int] | Literal["UInt"]: ...

    @runtime_checkable
    class Float8_e4m3fn(Number, Protocol):
        def __getnewargs__(self) -> tuple[float] | Literal["Float8_e4m3fn"]: ...

    @runtime_checkable
    class Float8_e5m2(Number, Protocol):
        def __getnewargs__(self) -> tuple[float] | Literal["Float8_e5m2"]: ...

    @runtime_checkable
    class Float16(Floating, Protocol):
        def __getnewargs__(self) -> tuple[float] | Literal["Float16"]: ...

    @runtime_checkable
    class BFloat16(Floating, Protocol):
        def __getnewargs__(self) -> tuple[float] | Literal["BFloat16"]: ...

    @runtime_checkable
    class Float32(Floating, Protocol):
        def __getnewargs__(self) -> tuple[float] | Literal["Float32"]: ...

    @runtime_checkable
    class Float64(Floating, Protocol):
        def __getnewargs__(self) -> tuple[float] | Literal["Float64"]: ...

class _Classes:
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
Scalar = Annotated[T, "scalar"]
