"""The scalar types: ``Int``, ``Float32`` and the rest; each is the one-lane form of its ``SIMD``."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, TypeVar

from weft.diagnostics import refuse
from weft.dtype import DType, as_dtype, made_by
from weft.lang.any_lanes import any_lanes
from weft.lang.number import CLASSES, Number, number_class

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


class Integer(Number):
    """Any integer: a bound of type variables, or of a parameter that takes all of them."""

    __slots__ = ()


class SignedInteger(Integer):
    """Any integer with a sign."""

    __slots__ = ()


class UnsignedInteger(Integer):
    """Any integer without a sign."""

    __slots__ = ()


class Floating(Number):
    """Any float: a bound of type variables, or of a parameter that takes all of them.

    Example:
        >>> from typing import TypeVar
        >>> from weft import Float64, Floating, func
        >>> T = TypeVar("T", bound=Floating)
        >>> @func
        ... def lerp(a: T, b: T, t: T) -> T:
        ...     return a + (b - a) * t
        >>> lerp(1.0, 3.0, 0.25), lerp(Float64(1), Float64(2), Float64(0.5))
        (1.5, 1.5)
    """

    __slots__ = ()


class Bool(Number):
    """True or False; ``a.select(x, y)`` chooses, ``& | ^ ~`` combine without branching."""

    __slots__ = ()
    dtype = DType.bool


class Int8(SignedInteger):
    """Signed integer of 8 bits: -128 to 127, wrapping around."""

    __slots__ = ()
    dtype = DType.int8


class Int16(SignedInteger):
    """Signed integer of 16 bits: -32768 to 32767, wrapping around."""

    __slots__ = ()
    dtype = DType.int16


class Int32(SignedInteger):
    """Signed integer of 32 bits: -2147483648 to 2147483647, wrapping around."""

    __slots__ = ()
    dtype = DType.int32


class Int(SignedInteger):
    """Signed integer of 64 bits, what Python's ``int`` literals and all indices become.

    ``Int64`` is the same class.
    """

    __slots__ = ()
    dtype = DType.int64


class UInt8(UnsignedInteger):
    """Unsigned integer of 8 bits: 0 to 255, wrapping around."""

    __slots__ = ()
    dtype = DType.uint8


class UInt16(UnsignedInteger):
    """Unsigned integer of 16 bits: 0 to 65535, wrapping around."""

    __slots__ = ()
    dtype = DType.uint16


class UInt32(UnsignedInteger):
    """Unsigned integer of 32 bits: 0 to 4294967295, wrapping around."""

    __slots__ = ()
    dtype = DType.uint32


class UInt(UnsignedInteger):
    """Unsigned integer of 64 bits: 0 to 2**64 - 1, wrapping around. ``UInt64`` is the same class."""

    __slots__ = ()
    dtype = DType.uint64


class Float8_e4m3fn(Number):
    """A float of 8 bits to store: 4 bits of precision, up to 448, no infinity; convert it to compute."""

    __slots__ = ()
    dtype = DType.float8_e4m3fn


class Float8_e5m2(Number):
    """A float of 8 bits to store: 3 bits of precision, up to 57344; convert it to compute."""

    __slots__ = ()
    dtype = DType.float8_e5m2


class Float16(Floating):
    """IEEE 754 half precision: 11 bits of precision, up to 65504."""

    __slots__ = ()
    dtype = DType.float16


class BFloat16(Floating):
    """The upper half of a Float32: its range (up to 3.4e38), with 8 bits of precision."""

    __slots__ = ()
    dtype = DType.bfloat16


class Float32(Floating):
    """IEEE 754 single precision, 24 bits: what float literals become where nothing else types them."""

    __slots__ = ()
    dtype = DType.float32


class Float64(Floating):
    """IEEE 754 double precision, 53 bits."""

    __slots__ = ()
    dtype = DType.float64


Int64 = Int
UInt64 = UInt

for _cls in (
    Bool,
    Int8,
    Int16,
    Int32,
    Int,
    UInt8,
    UInt16,
    UInt32,
    UInt,
    Float8_e4m3fn,
    Float8_e5m2,
    Float16,
    BFloat16,
    Float32,
    Float64,
):
    CLASSES[_cls.dtype.name, 1] = made_by[_cls.dtype.name] = _cls

if TYPE_CHECKING:
    T = TypeVar("T")
    SIMD = Annotated
    Scalar = Annotated[T, "scalar"]
else:

    class Scalar:
        """``Scalar[dtype]``: the class of one number of a format, ``Float32`` of ``DType.float32``."""

        def __class_getitem__(cls, item):
            """The class; a type variable is itself."""
            return item if isinstance(item, TypeVar) else SIMD[item, 1]

    class SIMD:
        """``SIMD[Float32, 4]``: the class of values of four lanes.

        ``SIMD[Float32, ...]`` annotates a field or a parameter that takes any number of lanes.
        Type checkers read it as ``Float32``, whose operations it shares; to build a value in code
        that they check, write ``Float32.splat(4, 0.0)``.
        """

        def __new__(cls, *_args):
            """Refused: a class comes of ``SIMD[Float32, 4]``."""
            refuse("simd", "SIMD needs its element type and lanes", hint="write SIMD[Float32, 4](...)")

        def __class_getitem__(cls, item):
            """The class of a number of lanes: a power of two; ``...`` in an annotation for any."""
            dtype, lanes = item if isinstance(item, tuple) and len(item) == 2 else (item, 1)
            if isinstance(dtype, TypeVar) or isinstance(lanes, TypeVar):
                return GenericAlias(cls, (dtype, lanes))
            is_open, lanes = lanes is ..., 1 if lanes is ... else lanes
            if isinstance(lanes, Number):
                lanes = int(lanes)
            if not isinstance(lanes, int) or lanes < 1 or lanes & (lanes - 1):
                refuse(
                    "simd",
                    f"SIMD takes a power of two as its number of lanes, not {lanes!r}",
                    hint="write SIMD[Float32, 4], say",
                )
            try:
                kind = as_dtype(dtype)
            except TypeError:
                shown = getattr(dtype, "__name__", repr(dtype))
                hint = {
                    "float": "write Float32 or Float64",
                    "int": "write Int, or Int32",
                    "bool": "write Bool",
                }
                refuse(
                    "simd",
                    f"SIMD takes a number format of weft's, not {shown}",
                    hint=hint.get(shown, "write SIMD[Float32, 4], say"),
                )
            return any_lanes(kind) if is_open else number_class(kind, lanes)

        @staticmethod
        def __weft_arguments__(found):
            number = isinstance(found, type) and issubclass(found, Number)
            return (number_class(found.dtype), found.lanes) if number else ()
