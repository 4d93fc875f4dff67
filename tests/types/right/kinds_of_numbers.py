"""Numbers asked which they are: checkers tell one kind from another where it is."""

from typing import assert_type

from weft import Bool, Float32, Float64, Int32, Number, UInt8, func


@func
def by_integer(x: Int32 | UInt8) -> Int32:
    if isinstance(x, UInt8):
        assert_type(x, UInt8)
        return Int32(x) + 1
    return Int32(x)


@func
def by_float(x: Float32 | Float64) -> Float64:
    if isinstance(x, Float32):
        assert_type(x, Float32)
        return Float64(x) * 2.0
    return Float64(x)


@func
def by_bool(x: Bool | Float32) -> Float32:
    if isinstance(x, Bool):
        assert_type(x, Bool)
        return x.select(Float32(1), 0.0)
    return Float32(x)


@func
def by_any(x: Number) -> Float32:
    if isinstance(x, UInt8):
        assert_type(x, UInt8)
        return x * 0.5
    return Float32(7)


assert (by_integer(UInt8(2)), by_integer(Int32(2))) == (3, 2)
assert (by_float(Float32(2)), by_float(Float64(2))) == (4.0, 2.0)
assert (by_bool(Bool(True)), by_bool(Float32(3))) == (1.0, 3.0)
assert (by_any(UInt8(3)), by_any(Int32(3))) == (1.5, 7.0)
