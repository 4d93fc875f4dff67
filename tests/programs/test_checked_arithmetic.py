"""Checks of arithmetic: as often as Python's integers and NumPy's floats say, and nowhere else."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

from weft import (
    DeviceError,
    Float32,
    Float64,
    Int,
    Int8,
    Int16,
    Int32,
    Pointer,
    UInt,
    UInt8,
    func,
    kernel,
    math,
)
from weft.abi.checks import CHECKS
from weft.diagnostics import Report
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
EVERY: frozenset[Any] = frozenset(CHECKS) - {"bounds"}
T = TypeVar("T")
OPS: Any = operator


@pytest.fixture
def ctx(device: DeviceContext) -> Iterator[DeviceContext]:
    with DeviceContext(api=device.api, checked=EVERY) as made:
        yield made


def launched(ctx: DeviceContext, program: Any, *arrays: Any, over: int = 0) -> None:
    """Launch and wait: a GPU waits for arrays of the host in the launch, and tells then."""
    ctx.enqueue_function(program, *arrays, over=over or len(arrays[0]))
    ctx.synchronize()


def found(ctx: DeviceContext, program: Any, *arrays: Any) -> dict[str, int]:
    """How often each kind of fault is reported, of a launch over the elements of arrays."""
    try:
        launched(ctx, program, *arrays)
    except DeviceError as error:
        return {report.code: report.count for report in error.reports}
    return {}


def binary(op: Callable[[Any, Any], Any]) -> Any:
    @kernel
    def program(x: Pointer[T], y: Pointer[T], out: Pointer[T]):
        i = global_idx.x
        out[i] = op(x[i], y[i])

    return program


PAIRS = [(int(a), int(b)) for a in range(-128, 128) for b in range(-128, 128)]
SHIFTS: set[Any] = {OPS.lshift, OPS.rshift}


def expected(op: Any, pairs: list[tuple[int, int]], low: int, high: int) -> dict[str, int]:
    counts = {"integer-overflow" if low else "integer-wrap": 0, "division-by-zero": 0, "shift-count": 0}
    bits = (high - low).bit_length()
    for a, b in pairs:
        if op in SHIFTS:
            counts["shift-count"] += not 0 <= b < bits
            if op is OPS.lshift and low and 0 <= b < bits:
                counts["integer-overflow"] += not low <= a << b <= high
        elif op in (OPS.floordiv, OPS.mod) and b == 0:
            counts["division-by-zero"] += 1
        elif not low <= op(a, b) <= high:
            counts["integer-overflow" if low else "integer-wrap"] += 1
    return {name: count for name, count in counts.items() if count}


OPERATORS: list[Any] = [
    OPS.add,
    OPS.sub,
    OPS.mul,
    OPS.floordiv,
    OPS.mod,
    *sorted(SHIFTS, key=repr),
]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_all_pairs_of_small_integers(ctx: DeviceContext, op: Any) -> None:
    for dtype, low in ((np.int8, -128), (np.uint8, 0)):
        pairs = [(a + low + 128, b + low + 128) for a, b in PAIRS]
        x, y = (np.array(side, dtype) for side in zip(*pairs, strict=True))
        assert found(ctx, binary(op), x, y, np.zeros_like(x)) == expected(op, pairs, low, low + 255)


@pytest.mark.parametrize("op", OPERATORS[:5], ids=lambda op: op.__name__)
def test_wide_integers(ctx: DeviceContext, op: Any) -> None:
    rng = np.random.default_rng(3)
    for dtype, low in ((np.int64, -(2**63)), (np.uint64, 0)):
        edges = [low, low + 1, low + 2**63 - 1, low + 2**64 - 1, 0, 1, 2, 3 * 2**30, 2**32]
        edges += [-1] if low else []
        numbers = [
            *edges,
            *(
                int(v) >> int(s)
                for v, s in zip(rng.integers(0, 2**63, 60), rng.integers(0, 63, 60), strict=True)
            ),
        ]
        pairs = [(a, b) for a in numbers for b in numbers]
        x, y = (np.array(side, dtype) for side in zip(*pairs, strict=True))
        assert found(ctx, binary(op), x, y, np.zeros_like(x)) == expected(op, pairs, low, low + 2**64 - 1)


@kernel
def negated(x: Pointer[Int8], out: Pointer[Int8]):
    i = global_idx.x
    out[i] = -x[i]


@kernel
def absolute(x: Pointer[Int8], out: Pointer[Int8]):
    i = global_idx.x
    out[i] = abs(x[i])


def test_operators_of_one_number(ctx: DeviceContext) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    for program in (negated, absolute):
        assert found(ctx, program, x, np.zeros_like(x)) == {"integer-overflow": 1}
        assert found(ctx, program, x[1:], np.zeros_like(x)) == {}


def converted(to: Any) -> Any:
    @kernel
    def program(
        a: Pointer[Int8],
        b: Pointer[UInt8],
        c: Pointer[Int16],
        d: Pointer[Int],
        e: Pointer[UInt],
        f: Pointer[Float64],
        out: Pointer[T],
    ):
        i = global_idx.x
        out[i] = a[i].cast(to)
        out[i] = b[i].cast(to)
        out[i] = c[i].cast(to)
        out[i] = d[i].cast(to)
        out[i] = e[i].cast(to)
        out[i] = f[i].cast(to)

    return program


INTEGERS = [(Int8, np.int8), (UInt8, np.uint8), (Int16, np.int16), (Int, np.int64), (UInt, np.uint64)]


@pytest.mark.parametrize(("to", "dtype"), INTEGERS, ids=lambda t: t.__name__)
def test_conversions(ctx: DeviceContext, to: Any, dtype: Any) -> None:
    """What does not fit is known of Python's integers, and of fractions that are exact."""
    least, most = (int(v) for v in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    arrays: list[Any] = []
    for _, kind in INTEGERS:
        ends = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        values = [v + d for v in (0, least, most, *ends) for d in (-1, 0, 1)]
        arrays.append(np.array([v if ends[0] <= v <= ends[1] else 0 for v in values], kind))
    near = [float(v) + d for v in (least, most) for d in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    arrays.append(np.array([*near, 1e30, -np.inf, np.nan, -0.99, 0.5], np.float64))
    expect = [
        sum(not np.isfinite(v) or not least <= int(Fraction(v.item())) <= most for v in x) for x in arrays
    ]
    with pytest.raises(DeviceError) as caught:
        launched(ctx, converted(to), *arrays, np.zeros(15, dtype))
    assert {report.code for report in caught.value.reports} == {"lossy-conversion"}
    counts = dict.fromkeys(range(6), 0) | {r.location.line - LINE: r.count for r in caught.value.reports}
    assert list(counts.values()) == expect


LINE = converted(Int8).definition.line + 11


@kernel
def quotients(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = x[i] / y[i]


@kernel
def products(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = x[i] * y[i]


@kernel
def roots(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = math.sqrt(x[i]) + math.exp(y[i])


def test_floats(ctx: DeviceContext) -> None:
    each = np.array([0.0, -0.0, 1.0, -2.0, 1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    x, y = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(each, each))
    finite = np.isfinite(x) & np.isfinite(y)
    out = np.zeros_like(x)
    with np.errstate(all="ignore"):
        bad = int((finite & ~np.isfinite(x / y)).sum())
        assert found(ctx, quotients, x, y, out) == {
            "not-finite": bad,
            "division-by-zero": int((y == 0).sum()),
        }
        bad = int((finite & ~np.isfinite(x * y)).sum())
        assert found(ctx, products, x, y, out) == {"not-finite": bad}
        plain = np.array([0.0, 1.0, 100.0], np.float32)
        assert found(ctx, roots, plain, plain[:2].repeat(2)[:3], out) == {}
        assert found(ctx, roots, -plain, np.array([0, 0, 0], np.float32), out) == {"not-finite": 2}
        assert found(ctx, roots, plain, plain, out) == {"not-finite": 1}


@kernel
def lanes(x: Pointer[Int32], out: Pointer[Int32]):
    i = global_idx.x
    out.store(4 * i, x.load(4 * i, width=4) * 65536)


@func
def scaled(v: Int32, by: Int32) -> Int32:
    return v * by


@kernel
def through_a_function(x: Pointer[Int32], out: Pointer[Int32]):
    i = global_idx.x
    out[i] = scaled(x[i], 65536)


def reports(ctx: DeviceContext, program: Any, *arrays: Any, over: int) -> tuple[Report, ...]:
    with pytest.raises(DeviceError) as caught:
        launched(ctx, program, *arrays, over=over)
    return caught.value.reports


def test_lanes_and_functions(ctx: DeviceContext) -> None:
    x = np.array([1, 2, 3, 32768, 5, 6, 7, 8], np.int32)
    (lane,) = reports(ctx, lanes, x, np.zeros_like(x), over=2)
    assert (lane.message, lane.count) == ("kernel 'lanes': a lane of `*` does not fit int32", 1)
    (inside,) = reports(ctx, through_a_function, x, np.zeros_like(x), over=8)
    assert inside.message == "kernel 'through_a_function': 32768 * 65536 does not fit int32"
    line = scaled.definition.line
    assert (inside.location.line, inside.location.column) == (line + 2, 11)
    caller = inside.location.inlined_at
    assert caller is not None
    assert caller.line == through_a_function.definition.line + 3


def test_what_is_not_asked_for_is_not_checked(device: DeviceContext) -> None:
    x = np.array([2**31 - 1], np.int32)
    for words in ({"bounds"}, {"wrap", "division", "shift", "nan", "conversion"}):
        with DeviceContext(api=device.api, checked=words) as ctx:  # pyright: ignore[reportArgumentType]
            assert found(ctx, through_a_function, x, np.zeros_like(x)) == {}
    with DeviceContext(api=device.api, checked="overflow") as ctx:
        assert found(ctx, through_a_function, x, np.zeros_like(x)) == {"integer-overflow": 1}


@kernel
def powers(x: Pointer[T], n: Pointer[T]):
    i = global_idx.x
    base: Any = x[i]
    x[i] = base ** n[i]


@pytest.mark.parametrize("kind", [Int, UInt, Int32, Int8, UInt8])
def test_powers_of_run_time(ctx: DeviceContext, kind: Any) -> None:
    """Of bases on both sides of where the type ends: as often as Python's integers do not fit."""
    least, greatest = kind.dtype.least, kind.dtype.greatest
    pairs: list[tuple[int, int]] = [(0, 0), (1, 60), (2, 7)]
    for n in range(2, 64):
        root = round((greatest + 1) ** (1 / n))
        for base in range(root - 2, root + 3):
            pairs += [(sign * base, n) for sign in (1, -1) if least <= sign * base <= greatest]
    bases, exponents = zip(*pairs, strict=True)
    type_ = np.dtype(kind.dtype.name)
    x = np.array(bases, type_)
    lost = [not least <= base**n <= greatest for base, n in pairs]
    with pytest.raises(DeviceError) as caught:
        launched(ctx, powers, x, np.array(exponents, type_))
    (report,) = caught.value.reports
    assert report.code == ("integer-overflow" if least else "integer-wrap")
    assert report.count == sum(lost)
    right = [base**n for (base, n), missed in zip(pairs, lost, strict=True) if not missed]
    assert x[~np.array(lost)].tolist() == right
