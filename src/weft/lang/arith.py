"""Arithmetic on IR values with Python's meaning, for every number format.

Integers wrap around at their width. ``//`` and ``%`` round toward minus infinity as in Python;
where Python raises (division by zero) the result is 0, as NumPy gives, since a kernel cannot raise.
Shifts by the width or more give what Python's unbounded integers would, cut to the width.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

from weft.abi.formats import bits_of, from_bits, wrap
from weft.compiler.ir.core import Attribute, Op, Value
from weft.compiler.ir.types import F32, I1, IntType, of_dtype, vector
from weft.dtype import DType
from weft.lang.elaboration import FAST_MATH, Elaboration, maybe_current
from weft.targets import Feature

_EXACT: dict[str, Attribute] = {"fastmath": "none"}
_CONTRACT: dict[str, Attribute] = {"fastmath": "contract"}
_FAST: dict[str, Attribute] = {"fastmath": FAST_MATH}
_FASTMATH = {str(given["fastmath"]): given for given in (_EXACT, _CONTRACT, _FAST)}


@contextmanager
def _floats(allowed: dict[str, Attribute]) -> Generator[None]:
    b = maybe_current()
    if b is None:
        yield
        return
    before, b.fastmath = b.fastmath, str(allowed["fastmath"])
    try:
        yield
    finally:
        b.fastmath = before


def no_contraction() -> AbstractContextManager[None]:
    """Keep products and sums apart within ``with``, where a target would fuse them into fma.

    Plain Python that a kernel calls may use it, as ``weft.math`` does: what it computes is then the same
    bit by bit on every device. Outside of kernels it does nothing.
    """
    return _floats(_EXACT)


def contraction() -> AbstractContextManager[None]:
    """Let a product and a sum become one fma within ``with``, as GPUs do anyway: it is rounded once.

    It is for what the code within says itself; what functions compute that it calls is as it was.

    Example:
        >>> from weft import Float32, func
        >>> from weft.lang import contraction
        >>> @func
        ... def polynomial(x: Float32) -> Float32:
        ...     with contraction():
        ...         return (x * x + 3.0) * x + 1.0
        >>> polynomial(2.0)
        15.0
    """
    return _floats(_CONTRACT)


def fast_math() -> AbstractContextManager[None]:
    """Let floats be computed within ``with`` as if they were real numbers, but for nan and infinity.

    Sums may be made in another order, so that a thread's loop over an array becomes vectors; a division
    may become a product; -0.0 may be 0.0; and products and sums are fused. Results differ in their last bits
    from those of exact code, and from device to device. It is for what the code within says itself.
    ``@kernel(fast_math=True)`` and ``@func(fast_math=True)`` say it of a whole body.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, Int, Pointer, func
        >>> from weft.lang import fast_math
        >>> @func
        ... def total(x: Pointer[Float32], n: Int) -> Float32:
        ...     sum = Float32(0.0)
        ...     with fast_math():
        ...         for i in range(n):
        ...             sum += x[i]
        ...     return sum
        >>> total(np.arange(100, dtype=np.float32), 100)
        4950.0
    """
    return _floats(_FAST)


def constant_of(d: DType, value: Value) -> int | float | bool | None:
    """The number of the format ``d`` that an IR value is known to be, or None.

    The IR's integers have no sign, so a constant may have been written as one of another format.
    """
    owner = value.owner
    if isinstance(owner, Op) and owner.spec.name == "arith.constant":
        found = owner.attrs["value"]
        if d.kind == "float8" and isinstance(found, int):
            return from_bits(d, found & 0xFF)
        return wrap(d, found) if isinstance(found, (bool, int, float)) else None
    return None


def known_difference(d: DType, x: Value, y: Value) -> int | None:
    """``y - x`` where that is known, as of ``i`` and ``i + 4``: both are the same but for a constant."""
    (one, less), (other, more) = _stepped(d, x), _stepped(d, y)
    return int(wrap(d, more - less)) if _is_same(one, other) else None


def _stepped(d: DType, value: Value) -> tuple[Value, int]:
    """What a constant is added to, and the constant."""
    owner = value.owner
    if isinstance(owner, Op) and owner.name in ("arith.addi", "arith.subi"):
        one, other = owner.operands
        if (by := constant_of(d, other)) is not None:
            base, more = _stepped(d, one)
            return base, more + int(by) if owner.name == "arith.addi" else more - int(by)
        if owner.name == "arith.addi" and (by := constant_of(d, one)) is not None:
            base, more = _stepped(d, other)
            return base, more + int(by)
    return value, 0


def _is_same(x: Value, y: Value, deep: int = 4) -> bool:
    """Whether two values were computed alike from the same ones."""
    one, other = x.owner, y.owner
    if x is y or not isinstance(one, Op) or not isinstance(other, Op):
        return x is y
    alike = one.name == other.name and one.attrs == other.attrs and x.type == y.type
    alike = alike and one.spec.pure and len(one.results) == 1
    pairs = zip(one.operands, other.operands, strict=True)
    return alike and deep > 0 and all(_is_same(a, b, deep - 1) for a, b in pairs)


def literal(b: Elaboration, d: DType, number: bool | int | float, lanes: int = 1) -> Value:
    """The IR value of a number that the format ``d`` holds."""
    return b.constant(bits_of(d, number) if d.kind == "float8" else number, of_dtype(d, lanes))


def select(b: Elaboration, c: Value, x: Value, y: Value) -> Value:
    """``x`` where ``c`` holds, else ``y``."""
    return b.value("arith.select", (c, x, y), x.type)


def _i1_like(value: Value):
    return I1 if value.type.lanes == 1 else vector(value.type.lanes, I1)


def compare(b: Elaboration, op: str, d: DType, x: Value, y: Value) -> Value:
    """``op`` is one of eq, ne, lt, le, gt, ge; comparisons with nan are false, but ``ne`` true."""
    if d.is_float:
        predicate = "une" if op == "ne" else "o" + op
        return b.value("arith.cmpf", (x, y), _i1_like(x), {"predicate": predicate})
    predicate = op if op in ("eq", "ne") else ("s" if d.is_signed else "u") + op
    return b.value("arith.cmpi", (x, y), _i1_like(x), {"predicate": predicate})


def _simple(int_op: str, float_op: str | None = None) -> Callable[[Elaboration, DType, Value, Value], Value]:
    def emit(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
        if d.is_float and float_op:
            return b.value(float_op, (x, y), x.type, _FASTMATH[b.fastmath])
        return b.value(int_op, (x, y), x.type)

    return emit


def _safe_divisor(b: Elaboration, d: DType, y: Value) -> tuple[Value, Value | None, Value | None]:
    """A divisor that cannot trap, and where it was 0 and (signed) -1."""
    known = constant_of(d, y)
    if known is not None and known not in (0, -1):
        return y, None, None
    one = b.constant(1, y.type)
    zero = compare(b, "eq", d, y, b.constant(0, y.type))
    if not d.is_signed:
        return select(b, zero, one, y), zero, None
    minus = compare(b, "eq", d, y, b.constant(-1, y.type))
    odd = b.value("arith.ori", (zero, minus), zero.type)
    return select(b, odd, one, y), zero, minus


def _power_of_two(d: DType, y: Value) -> int | None:
    known = constant_of(d, y)
    if isinstance(known, int) and known > 0 and known & (known - 1) == 0:
        return known.bit_length() - 1
    return None


def _int_floordiv(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    shift = _power_of_two(d, y)
    if shift is not None:
        name = "arith.shrsi" if d.is_signed else "arith.shrui"
        return b.value(name, (x, b.constant(shift, x.type)), x.type) if shift else x
    safe, zero, minus = _safe_divisor(b, d, y)
    if not d.is_signed:
        q = b.value("arith.divui", (x, safe), x.type)
    else:
        q = b.value("arith.divsi", (x, safe), x.type)
        r = b.value("arith.subi", (x, b.value("arith.muli", (q, safe), x.type)), x.type)
        q = b.value("arith.subi", (q, _one_where(b, _signs_differ(b, d, r, safe), x)), x.type)
        if minus is not None:
            q = select(b, minus, b.value("arith.subi", (b.constant(0, x.type), x), x.type), q)
    return q if zero is None else select(b, zero, b.constant(0, x.type), q)


def _one_where(b: Elaboration, c: Value, like: Value) -> Value:
    return select(b, c, b.constant(1, like.type), b.constant(0, like.type))


def _signs_differ(b: Elaboration, d: DType, r: Value, y: Value) -> Value:
    """Where a non-zero remainder has the other sign than the divisor."""
    zero = b.constant(0, r.type)
    known = constant_of(d, y)
    if known is not None:
        return compare(b, "lt" if known > 0 else "gt", d, r, zero)
    mixed = compare(b, "lt", d, b.value("arith.xori", (r, y), r.type), zero)
    return b.value("arith.andi", (mixed, compare(b, "ne", d, r, zero)), mixed.type)


def _int_mod(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    shift = _power_of_two(d, y)
    if shift is not None:
        return b.value("arith.andi", (x, b.constant((1 << shift) - 1, x.type)), x.type)
    safe, zero, minus = _safe_divisor(b, d, y)
    if not d.is_signed:
        r = b.value("arith.remui", (x, safe), x.type)
    else:
        r = b.value("arith.remsi", (x, safe), x.type)
        fixed = b.value("arith.addi", (r, safe), x.type)
        r = select(b, _signs_differ(b, d, r, safe), fixed, r)
        if minus is not None:
            r = select(b, minus, b.constant(0, x.type), r)
    return r if zero is None else select(b, zero, b.constant(0, x.type), r)


def _float_divmod(b: Elaboration, d: DType, x: Value, y: Value) -> tuple[Value, Value]:
    """CPython's float_divmod, on lanes (Objects/floatobject.c); a quotient by 0 is that of ``/``, as NumPy's.

    Of 16 bits it is computed in single precision and rounded once, likewise.
    """
    if d.bits == 16:
        single = [_cast_float(b, v, d, DType.float32) for v in (x, y)]
        quotient, rest = _float_divmod(b, DType.float32, *single)
        return _cast_float(b, quotient, DType.float32, d), _cast_float(b, rest, DType.float32, d)
    zero = b.constant(0.0, x.type)
    if b.target.exact_remainder:
        mod = b.value("arith.remf", (x, y), x.type, _EXACT)
    else:
        from weft.lang.number import number_class
        from weft.lang.remainder import remainder

        cls = number_class(d, x.type.lanes)
        mod = remainder(cls.of(x), cls.of(y)).value
    div = b.value("arith.divf", (b.value("arith.subf", (x, mod), x.type, _EXACT), y), x.type)
    has = compare(b, "ne", d, mod, zero)
    negative_y, negative_m = compare(b, "lt", d, y, zero), compare(b, "lt", d, mod, zero)
    differ = b.value("arith.andi", (has, b.value("arith.xori", (negative_y, negative_m), has.type)), has.type)
    mod2 = select(b, differ, b.value("arith.addf", (mod, y), x.type, _EXACT), mod)
    div2 = select(b, differ, b.value("arith.subf", (div, b.constant(1.0, x.type)), x.type, _EXACT), div)
    mod3 = select(b, has, mod2, b.value("math.copysign", (zero, y), x.type))
    floor = b.value("math.floor", (div2,), x.type)
    more = compare(b, "gt", d, b.value("arith.subf", (div2, floor), x.type, _EXACT), b.constant(0.5, x.type))
    floor = select(b, more, b.value("arith.addf", (floor, b.constant(1.0, x.type)), x.type, _EXACT), floor)
    ratio = b.value("arith.divf", (x, y), x.type, _EXACT)
    small = b.value("math.copysign", (zero, ratio), x.type)
    div3 = select(b, compare(b, "ne", d, div2, zero), floor, small)
    return select(b, compare(b, "eq", d, y, zero), ratio, div3), mod3


def _floordiv(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    return _float_divmod(b, d, x, y)[0] if d.is_float else _int_floordiv(b, d, x, y)


def _mod(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    return _float_divmod(b, d, x, y)[1] if d.is_float else _int_mod(b, d, x, y)


def _in_width(b: Elaboration, d: DType, y: Value) -> Value | None:
    known = constant_of(d, y)
    if isinstance(known, int) and 0 <= known < d.bits:
        return None
    return b.value("arith.cmpi", (y, b.constant(d.bits, y.type)), _i1_like(y), {"predicate": "ult"})


def _masked(b: Elaboration, d: DType, y: Value) -> Value:
    """A count that is always valid.

    LLVM 22 takes ``y < 64 ? x << y : 0`` to be PTX's shift, which saturates but reads only the low 32
    bits of the count; it does not know the masked form.
    """
    return b.value("arith.andi", (y, b.constant(d.bits - 1, y.type)), y.type)


def _shl(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    inside = _in_width(b, d, y)
    if inside is None:
        return b.value("arith.shli", (x, y), x.type)
    return select(b, inside, b.value("arith.shli", (x, _masked(b, d, y)), x.type), b.constant(0, x.type))


def _shr(b: Elaboration, d: DType, x: Value, y: Value) -> Value:
    name = "arith.shrsi" if d.is_signed else "arith.shrui"
    inside = _in_width(b, d, y)
    if inside is None:
        return b.value(name, (x, y), x.type)
    if d.is_signed:
        return b.value(name, (x, select(b, inside, y, b.constant(d.bits - 1, x.type))), x.type)
    return select(b, inside, b.value(name, (x, _masked(b, d, y)), x.type), b.constant(0, x.type))


BINARY: dict[str, Callable[[Elaboration, DType, Value, Value], Value]] = {
    "+": _simple("arith.addi", "arith.addf"),
    "-": _simple("arith.subi", "arith.subf"),
    "*": _simple("arith.muli", "arith.mulf"),
    "/": _simple("arith.divf", "arith.divf"),
    "//": _floordiv,
    "%": _mod,
    "&": _simple("arith.andi"),
    "|": _simple("arith.ori"),
    "^": _simple("arith.xori"),
    "<<": _shl,
    ">>": _shr,
}


def negate(b: Elaboration, d: DType, x: Value) -> Value:
    """``-x``."""
    if d.is_float:
        return b.value("arith.negf", (x,), x.type)
    return b.value("arith.subi", (b.constant(0, x.type), x), x.type)


def absolute(b: Elaboration, d: DType, x: Value) -> Value:
    """``abs(x)``; the least of the signed integers stays as it is."""
    if d.is_float:
        return b.value("math.absf", (x,), x.type)
    if not d.is_signed:
        return x
    negative = compare(b, "lt", d, x, b.constant(0, x.type))
    return select(b, negative, negate(b, d, x), x)


def fma(b: Elaboration, d: DType, x: Value, y: Value, z: Value) -> Value:
    """``x * y + z``, rounded once, also where the target has it in longer formats only."""
    if d.bits > 16 or b.target.supports(Feature.SMALL_FMA):
        return b.value("math.fma", (x, y, z), x.type)
    wide = DType.float64
    x, y, z = (_cast_float(b, v, d, wide) for v in (x, y, z))
    product = b.value("arith.mulf", (x, y), x.type, _EXACT)
    total = b.value("arith.addf", (product, z), x.type, _EXACT)
    if d.kind == "bfloat":  # whose range is so wide that a double may be rounded here
        total = _to_odd(b, product, z, total)
    return _cast_float(b, total, wide, d)


def _to_odd(b: Elaboration, x: Value, y: Value, total: Value) -> Value:
    """The sum of two doubles for rounding again: where not exact, the neighbour with an odd last digit."""

    def step(name: str, one: Value, other: Value) -> Value:
        return b.value(name, (one, other), one.type, _EXACT if name[-1] == "f" else {})

    d, bits = DType.float64, DType.int64
    back = step("arith.subf", total, x)
    first, second = step("arith.subf", x, step("arith.subf", total, back)), step("arith.subf", y, back)
    error = step("arith.addf", first, second)
    zero, raw = b.constant(0.0, total.type), bitcast(b, total, bits)
    one, none = b.constant(1, raw.type), b.constant(0, raw.type)
    more = compare(b, "gt", d, error, zero)
    inexact = step("arith.ori", more, compare(b, "lt", d, error, zero))
    even = compare(b, "eq", bits, step("arith.andi", raw, one), none)
    outward = compare(b, "eq", DType.bool, more, compare(b, "gt", d, total, zero))
    moved = select(b, outward, step("arith.addi", raw, one), step("arith.subi", raw, one))
    odd = select(b, step("arith.andi", inexact, even), moved, raw)
    return bitcast(b, odd, d)


def _within(b: Elaboration, x: Value, d: DType, most: int) -> Value:
    """An integer, or what of -most to most is next to it.

    Beyond 65519 all are infinite in Float16, which LLVM forgets of integers with few digits that another
    conversion follows: it leaves the first out (InstCombine, ``isKnownExactCastIntToFP``). ``most`` is odd.
    """
    for order, end in (("gt", most), ("lt", -most))[: 1 + d.is_signed]:
        limit = b.constant(end, x.type)
        x = select(b, compare(b, order, d, x, limit), limit, x)
    return x


def cast(b: Elaboration, x: Value, source: DType, target: DType) -> Value:
    """``x`` as another number format: integers wrap, floats round, float to integer truncates.

    A float outside the integer's range gives the nearest integer, nan gives 0 (never undefined).
    """
    if source is target:
        return x
    to = of_dtype(target, x.type.lanes)
    if "float8" in (source.kind, target.kind):
        return _cast_bytes(b, x, source, target)
    if target.kind == "bool":
        return compare(b, "ne", source, x, b.constant(0.0 if source.is_float else 0, x.type))
    if source.is_float:
        if target.is_float:
            return _cast_float(b, x, source, target)
        return b.value(f"llvm.intr.fpto{'s' if target.is_signed else 'u'}i.sat", (x,), to)
    if target.kind == "bfloat" and source.bits > 24:  # targets go through float32, and would round twice
        wide = cast(b, _odd(b, x, source), source, DType.float64)
        return _cast_float(b, _as_single(b, wide), DType.float64, target)
    if target is DType.float16 and source.bits > 16:
        x = _within(b, x, source, 131071)
    if target.is_float:
        return b.value("arith.sitofp" if source.is_signed else "arith.uitofp", (x,), to)
    if to is x.type:
        return x
    if target.bits < source.bits:
        return b.value("arith.trunci", (x,), to)
    return b.value("arith.extsi" if source.is_signed else "arith.extui", (x,), to)


def _cast_bytes(b: Elaboration, x: Value, source: DType, target: DType) -> Value:
    """To or from a float of 8 bits, which is an integer to the machine."""
    from weft.lang.narrow import narrowed, widened
    from weft.lang.number import number_class

    lanes, single = x.type.lanes, DType.float32
    with no_contraction():
        if source.kind == "float8":
            found = widened(number_class(DType.uint8, lanes).of(x), source)
            return cast(b, found.value, single, target)
        wide = DType.float64 if source.bits > 16 and source is not single else single
        number = number_class(wide, lanes).of(cast(b, x, source, wide))
        return narrowed(number, target).value


def _odd(b: Elaboration, x: Value, d: DType) -> Value:
    """An integer that a double holds and that rounds like ``x``: its last digit says if there were others."""
    if d.bits < 64:
        return x
    one, zero, low = b.constant(1 << 11, x.type), b.constant(0, x.type), b.constant(0x7FF, x.type)
    tail = b.value("arith.andi", (x, low), x.type)
    sticky = select(b, compare(b, "ne", d, tail, zero), one, zero)
    odd = b.value("arith.ori", (b.value("arith.subi", (x, tail), x.type), sticky), x.type)
    size = x if not d.is_signed else b.value("arith.xori", (x, _shr(b, d, x, b.constant(63, x.type))), x.type)
    large = compare(b, "ge", DType.uint64, size, b.constant(DType.float64.greatest, x.type))
    return select(b, large, odd, x)


def _as_single(b: Elaboration, x: Value) -> Value:
    """A double of no more digits than a float32 has; the last says if there were others.

    LLVM makes one conversion of an integer to double and on to bfloat16 (InstCombine), which it then
    takes through float32: that must not round.
    """
    bits = bitcast(b, x, DType.int64)
    one, zero = b.constant(1 << 29, bits.type), b.constant(0, bits.type)
    tail = b.value("arith.andi", (bits, b.constant((1 << 29) - 1, bits.type)), bits.type)
    sticky = select(b, compare(b, "ne", DType.int64, tail, zero), one, zero)
    bits = b.value("arith.ori", (b.value("arith.subi", (bits, tail), bits.type), sticky), bits.type)
    return bitcast(b, bits, DType.float64)


def _cast_float(b: Elaboration, x: Value, source: DType, target: DType) -> Value:
    to = of_dtype(target, x.type.lanes)
    if source.bits == target.bits:  # float16 and bfloat16 meet in float32
        wide = F32 if to.lanes == 1 else vector(to.lanes, F32)
        return b.value("arith.truncf", (b.value("arith.extf", (x,), wide),), to)
    return b.value("arith.extf" if target.bits > source.bits else "arith.truncf", (x,), to)


def bitcast(b: Elaboration, x: Value, target: DType, lanes: int = 0) -> Value:
    """The same bits read as another format of the same width, or as so many lanes."""
    to = of_dtype(target, lanes or x.type.lanes)
    same = isinstance(to.scalar, IntType) and isinstance(x.type.scalar, IntType)
    if to is x.type or (same and to.lanes == x.type.lanes):
        return x
    return b.value("arith.bitcast", (x,), to)
