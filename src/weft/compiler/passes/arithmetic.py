"""Checks of the user's own arithmetic, at what ``weft.computed`` says of each operator.

The result is there already; a check asks, of operands and result, whether it is the true one. It is so of
overflow as in H. Warren: Hacker's Delight, 2-13.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.types import I1, I16, I32, I64, FloatType, Type, of_dtype, vector
from weft.compiler.passes.faults import NewSite, site_at, tell
from weft.dtype import DType, as_dtype


def check_arithmetic(kernel: Function, checks: frozenset[str], new_site: NewSite) -> None:
    """Have a kernel check what it computes, in place."""
    _Checked(kernel, checks, new_site).region(kernel.body)


def forget_arithmetic(module: Module) -> None:
    """Leave out what was noted for such checks."""
    for f in module.functions:
        _forget(f.body)


def _forget(region: Region) -> None:
    region.ops[:] = [op for op in region.ops if op.name != "weft.computed"]
    for op in region.ops:
        if "span" in op.attrs:
            op.attrs = {name: value for name, value in op.attrs.items() if name != "span"}
        for inner in op.regions:
            _forget(inner)


class _Done(NamedTuple):
    """What was computed: by which operator, of numbers of which format, in which."""

    what: str
    source: DType
    d: DType
    operands: tuple[Value, ...]
    result: Value


class _Checked:
    """The body of one kernel."""

    def __init__(self, kernel: Function, checks: frozenset[str], new_site: NewSite) -> None:
        self.kernel, self.checks, self.new_site = kernel, checks, new_site
        self.b = Builder()

    def region(self, region: Region) -> None:
        """Check what is computed in a region."""
        ops, region.ops[:] = region.ops[:], []
        b = self.b
        with b.into(region):
            for op in ops:
                for inner in op.regions:
                    self.region(inner)
                b.live, b.loc = True, op.loc
                if op.name == "weft.computed":
                    self.check(op)
                else:
                    region.ops.append(op)

    def check(self, op: Op) -> None:
        """Tell of an operator whose result is not what it should be."""
        b, (*operands, result) = self.b, op.operands
        what, source, d = (str(op.attrs[name]) for name in ("what", "source", "dtype"))
        done = _Done(what, as_dtype(source), as_dtype(d), tuple(operands), result)
        plain = result.type.lanes == 1
        for word, kind, wrong_where in _CHECKS:
            wrong = wrong_where(b, done) if word in self.checks else None
            if wrong is None:
                continue
            pieces = (done.source,) * len(operands) if plain else ()
            site = self.new_site(site_at(self.kernel, op, kind, pieces, name=what, result=done.d))
            if not plain:
                attrs = {"intrin": f"llvm.vector.reduce.or.{wrong.type.suffix}", "effects": "none"}
                wrong = b.emit("llvm.call_intrinsic", (wrong,), (I1,), attrs).result
            with b.into(Region()) as happens:
                tell(b, site, tuple([_word(b, v) for v in operands]) if plain else ())
            b.branch(wrong, happens)


def _word(b: Builder, v: Value) -> Value:
    """A number in 64 bits."""
    if isinstance(v.type, FloatType):
        v = b.value("arith.bitcast", (v,), {16: I16, 32: I32, 64: I64}[v.type.bits])
    return v if v.type is I64 else b.value("arith.extui", (v,), I64)


def _mask(v: Value) -> Type:
    return I1 if v.type.lanes == 1 else vector(v.type.lanes, I1)


def _compare(b: Builder, predicate: str, x: Value, y: Value) -> Value:
    return b.value("arith.cmpi", (x, y), _mask(x), {"predicate": predicate})


def _like(b: Builder, v: Value, number: int) -> Value:
    return b.constant(number, v.type)


def _negative(b: Builder, v: Value) -> Value:
    return _compare(b, "slt", v, _like(b, v, 0))


def _signed(b: Builder, done: _Done) -> Value | None:
    """Where a signed integer does not hold what was computed."""
    what, _, d, operands, r = done
    if not d.is_signed or not d.is_integer:
        return None
    x, y = operands[0], operands[-1]
    if what == "**":
        return _lost_power(b, done)
    if what == "+":
        return _negative(b, b.arith("andi", b.arith("xori", x, r), b.arith("xori", y, r)))
    if what == "-":
        return _negative(b, b.arith("andi", b.arith("xori", x, y), b.arith("xori", x, r)))
    if what == "*":
        return _lost(b, x, y, r, signed=True)
    if what == "<<":
        fits = _compare(b, "ult", y, _like(b, y, d.bits))
        back = b.arith("shrsi", r, b.arith("andi", y, _like(b, y, d.bits - 1)))
        return b.arith("andi", fits, _compare(b, "ne", back, x))
    if what not in ("//", "negate", "absolute"):
        return None
    least = _compare(b, "eq", x, _like(b, x, int(d.least)))
    return least if what != "//" else b.arith("andi", least, _compare(b, "eq", y, _like(b, y, -1)))


def _unsigned(b: Builder, done: _Done) -> Value | None:
    """The same of unsigned ones."""
    what, _, d, operands, r = done
    if d.is_signed or not d.is_integer or d.kind == "bool":
        return None
    x, y = operands[0], operands[-1]
    if what == "**":
        return _lost_power(b, done)
    if what == "+":
        return _compare(b, "ult", r, x)
    if what == "-":
        return _compare(b, "ult", x, y)
    if what == "negate":
        return _compare(b, "ne", x, _like(b, x, 0))
    return _lost(b, x, y, r, signed=False) if what == "*" else None


def _lost_power(b: Builder, done: _Done) -> Value:
    """Where a power does not fit, which its third operand says (``lang/power.py``)."""
    return _compare(b, "ne", done.operands[2], _like(b, done.operands[2], 0))


def _lost(b: Builder, x: Value, y: Value, r: Value, *, signed: bool) -> Value:
    """Where a product does not fit: divided again it is not what it was."""
    zero, mask = _compare(b, "eq", x, _like(b, x, 0)), _mask(x)
    odd = zero if not signed else b.arith("ori", zero, _compare(b, "eq", x, _like(b, x, -1)))
    safe = b.value("arith.select", (odd, _like(b, x, 1), x), x.type)
    differs = _compare(b, "ne", b.arith("divsi" if signed else "divui", r, safe), y)
    lost = b.arith("andi", differs, b.value("arith.xori", (odd, b.constant(True, mask)), mask))
    if not signed:
        return lost
    least = _compare(b, "eq", y, _like(b, y, -(1 << y.type.scalar.bits - 1)))
    minus = _compare(b, "eq", x, _like(b, x, -1))
    return b.arith("ori", lost, b.arith("andi", minus, least))


def _zero(b: Builder, done: _Done) -> Value | None:
    """Where the divisor is zero."""
    return _is_zero(b, done.operands[1]) if done.what in ("/", "//", "%") else None


def _is_zero(b: Builder, y: Value) -> Value:
    if not isinstance(y.type.scalar, FloatType):
        return _compare(b, "eq", y, _like(b, y, 0))
    return b.value("arith.cmpf", (y, b.constant(0.0, y.type)), _mask(y), {"predicate": "oeq"})


def _far(b: Builder, done: _Done) -> Value | None:
    """Where the count of a shift is not within the width."""
    if done.what not in ("<<", ">>"):
        return None
    count = done.operands[1]
    return _compare(b, "uge", count, _like(b, count, done.d.bits))


def _made(b: Builder, done: _Done) -> Value | None:
    """Where a result is NaN or infinite, and no operand is."""
    r = done.result
    if not isinstance(r.type.scalar, FloatType):
        return None
    wrong = b.value("arith.xori", (_finite(b, r), b.constant(True, _mask(r))), _mask(r))
    for x in done.operands:
        if isinstance(x.type.scalar, FloatType):
            wrong = b.arith("andi", wrong, _finite(b, x))
    return wrong


def _finite(b: Builder, x: Value) -> Value:
    """Where a float is a number: what is not gives NaN when it is taken from itself."""
    difference = b.value("arith.subf", (x, x), x.type, {"fastmath": "none"})
    return b.value("arith.cmpf", (difference, difference), _mask(x), {"predicate": "ord"})


def _unfit(b: Builder, done: _Done) -> Value | None:
    """Where an integer is not what was converted to it."""
    what, source, d, (x, *_), r = done
    if what != "cast" or "float8" in (source.kind, d.kind) or d.kind == "bool" or not d.is_integer:
        return None
    if source.is_float:
        wide, mask = x, _mask(x)
        if source.bits < 64:
            wide = b.value("arith.extf", (x,), of_dtype(DType.float64, x.type.lanes))
        low, high = float(d.least), float(d.greatest) + 1
        below = {"predicate": "oge" if low - 1 == low else "ogt"}
        least = b.value(
            "arith.cmpf", (wide, b.constant(low if low - 1 == low else low - 1, wide.type)), mask, below
        )
        most = b.value("arith.cmpf", (wide, b.constant(high, wide.type)), mask, {"predicate": "olt"})
        return b.value("arith.xori", (b.arith("andi", least, most), b.constant(True, mask)), mask)
    if source.kind == "bool":
        return None
    wrong: list[Value] = []
    if d.bits < source.bits:
        extend = "arith.extsi" if d.is_signed else "arith.extui"
        wrong.append(_compare(b, "ne", b.value(extend, (r,), x.type), x))
    if source.is_signed and not d.is_signed:
        wrong.append(_negative(b, x))
    elif d.is_signed and not source.is_signed and d.bits <= source.bits:
        wrong.append(_negative(b, r))
    return functools.reduce(functools.partial(b.arith, "ori"), wrong) if wrong else None


def _outside(b: Builder, done: _Done) -> Value | None:
    """Where an index of a tensor is not within its mode."""
    if done.what != "index":
        return None
    index, extent = done.operands
    return _compare(b, "uge", index, extent)


_CHECKS: tuple[tuple[str, str, Callable[..., Value | None]], ...] = (
    ("bounds", "out-of-bounds", _outside),
    ("overflow", "integer-overflow", _signed),
    ("wrap", "integer-wrap", _unsigned),
    ("division", "division-by-zero", _zero),
    ("shift", "shift-count", _far),
    ("nan", "not-finite", _made),
    ("conversion", "lossy-conversion", _unfit),
)
"""By the words that ask for them: the code of what is found, and where that is so of a result."""
