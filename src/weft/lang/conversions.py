"""A number in another format: converted, converted to what is nearest, its bits read anew."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from weft.abi.formats import bits_of, from_bits, limits, wrap
from weft.compiler.ir.core import Value
from weft.diagnostics import OBJECT, refuse
from weft.diagnostics.unfit import tell_of_methods
from weft.dtype import DType, DTypeLike, as_dtype
from weft.lang import arith
from weft.lang.elaboration import current
from weft.lang.simd import Lanes

if TYPE_CHECKING:
    from weft.lang.number import Number

    N = TypeVar("N", bound=Number)


def _format(to: Any) -> DType:
    """The number format that a type names, of a vector that of its lanes."""
    if isinstance(to, type) and issubclass(cast("type[Any]", to), Lanes):
        return cast("Any", to).dtype
    return as_dtype(to)


class Conversions(Lanes):
    """The conversions of a number."""

    __slots__ = ()

    @overload
    def cast(self, to: type[N]) -> N: ...

    @overload
    def cast(self, to: DTypeLike) -> Any: ...

    def cast(self, to: DTypeLike) -> Any:
        """The same value in another number format, lane by lane.

        Integers wrap around, floats round to nearest, float to integer truncates toward zero
        (outside the range: the nearest integer; nan: 0).
        """
        from weft.lang.lanes import of_format

        return of_format(_format(to), self.lanes)(self)

    @overload
    def saturating_cast(self, to: type[N]) -> N: ...

    @overload
    def saturating_cast(self, to: DTypeLike) -> Any: ...

    def saturating_cast(self, to: DTypeLike) -> Any:
        """``cast``, but what the format does not hold becomes the nearest number that it does; C++26's name.

        An integer does not wrap around, and no finite number becomes infinite or nan.
        As always, a float outside of the range of integers becomes the nearest of them, and nan 0.

        Example:
            >>> from weft import Float8_e4m3fn, Float32, Int32, Int8, UInt8
            >>> Int32(300).saturating_cast(UInt8), Int32(-300).saturating_cast(Int8), Int32(300).cast(UInt8)
            (UInt8(255), Int8(-128), UInt8(44))
            >>> Float32(1e9).saturating_cast(Float8_e4m3fn).cast(Float32), Float32(1e9).cast(Float8_e4m3fn)
            (Float32(448.0), Float8_e4m3fn(nan))
        """
        target, x = _format(to), cast("Number", self)
        if x.dtype.is_float and x.dtype.bits < 32:
            x = type(x).of(x.value).cast(DType.float32)
        source = x.dtype
        if target.kind == "bool" or source.kind == "bool" or (source.is_float and target.is_integer):
            return x.cast(target)
        low, high = limits(target)
        least, most = limits(source)
        if source.is_integer:
            low, high = int(low), int(high)
        held = x
        if high < most:
            held = (held > high).select(high, held)
        if low > least:
            held = (held < low).select(low, held)
        if source.is_float and math.isinf(wrap(target, math.inf)):
            held = (abs(x) > most).select(x, held)
        return held.cast(target)

    @overload
    def bitcast(self, to: type[N]) -> N: ...

    @overload
    def bitcast(self, to: DTypeLike) -> Any: ...

    def bitcast(self, to: DTypeLike) -> Any:
        """The same bits read as another format: of equal width lane by lane, else as that number of lanes.

        Example:
            >>> from weft import SIMD, Float32, UInt8, UInt32
            >>> Float32(1.0).bitcast(UInt32), UInt32(0x04030201).bitcast(SIMD[UInt8, 4])
            (UInt32(1065353216), SIMD[UInt8, 4](1, 2, 3, 4))
        """
        from weft.lang.lanes import known_lanes, of_format

        target, x = _format(to), cast("Number", self)
        lanes: int = getattr(to, "lanes", 1)
        if lanes == 1 and target.bits == x.dtype.bits:
            lanes = x.lanes
        cls = of_format(target, lanes)
        bits, wanted = x.lanes * x.dtype.bits, lanes * target.bits
        if bits != wanted or target.kind == "bool" or x.dtype.kind == "bool":
            refuse(
                "bitcast",
                f"{x.dtype if x.lanes == 1 else type(x).__name__} has {bits} bits, "
                f"{target if lanes == 1 else cls.__name__} has {wanted}; a bitcast needs equal widths",
                hint=f"convert by {OBJECT}.cast(...), or bitcast to a type of {bits} bits",
            )
        if isinstance(x.value, Value):
            return cls.of(arith.bitcast(current(), x.value, target, lanes))
        whole = sum(bits_of(x.dtype, lane) << n * x.dtype.bits for n, lane in enumerate(known_lanes(x)))
        each = [whole >> n * target.bits & (1 << target.bits) - 1 for n in range(lanes)]
        return cls(*[from_bits(target, part) for part in each])


tell_of_methods(Conversions)
