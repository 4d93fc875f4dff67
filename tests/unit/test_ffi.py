"""Functions and structs of C: against libc, libm and ctypes."""

from __future__ import annotations

import ctypes
import math
from typing import Any, TypeVar

import numpy as np
import pytest

from weft import (
    SIMD,
    Bool,
    CompileError,
    Comptime,
    Float16,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int8,
    Int16,
    Int32,
    LaunchError,
    Pointer,
    UInt8,
    UInt16,
    UInt64,
    func,
    kernel,
    struct,
)
from weft.compile import compile_info
from weft.ffi import FunctionPointer, c_struct, external_call, function_pointer
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation


@func
def hypot(x: Float64, y: Float64) -> Float64:
    return external_call["hypot", Float64](x, y)


@func
def lower(c: UInt8) -> Int32:
    return external_call["tolower", Int32](c)


@func
def length(text: Pointer[UInt8]) -> UInt64:
    return external_call["strlen", UInt64](text)


def test_functions_of_libc() -> None:
    assert hypot(3.5, -0.25) == math.hypot(3.5, -0.25)
    assert lower(ord("Q")) == ord("q")
    assert length(np.frombuffer(bytearray(b"five!\0"), np.uint8)) == 5


@kernel
def hypots(x: Pointer[Float64], n: Int):
    if global_idx.x < n:
        x[global_idx.x] = external_call["hypot", Float64](x[global_idx.x], Float64(1.0))


def test_a_kernel_on_the_cpu_calls_c() -> None:
    x = np.linspace(0, 3, 100)
    expected = np.hypot(x, 1.0)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(hypots, x, 100, grid_dim=4, block_dim=32)
    ctx.synchronize()
    np.testing.assert_array_max_ulp(x, expected, 1)


@func
def ascending(a: Pointer[Int32], b: Pointer[Int32]) -> Int32:
    return Int32(-1) if a[0] < b[0] else Int32(a[0] > b[0])


@func
def sort(values: Pointer[Int32], n: Int) -> None:
    external_call["qsort", None](values, UInt64(n), UInt64(4), function_pointer(ascending))


def test_qsort_calls_a_func() -> None:
    values = np.random.default_rng(1).integers(-(2**31), 2**31, 1000).astype(np.int32)
    expected = np.sort(values)
    sort(values, len(values))
    assert values.tolist() == expected.tolist()


@func
def applied(f: FunctionPointer[[Int8, Int16, Bool], Int8], a: Int8, b: Int16, c: Bool) -> Int8:
    return f(a, b, c)


def test_a_function_of_ctypes_gets_narrow_numbers() -> None:
    seen: list[tuple[int, int, bool]] = []

    def see(a: int, b: int, c: bool) -> int:
        seen.append((a, b, c))
        return a - 1

    made = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_int8, ctypes.c_int16, ctypes.c_bool)(see)
    assert applied(made, -128, -3, True) == 127
    assert applied(made, 5, 32767, False) == 4
    assert seen == [(-128, -3, True), (5, 32767, False)]


@func
def odd(x: Int8) -> Bool:
    return x % 2 != 0


@func
def least(x: Int16) -> Int8:
    return Int8(x)


@struct
class Doors:
    odd: FunctionPointer[[Int8], Bool]
    least: FunctionPointer[[Int16], Int8]
    put: FunctionPointer[[Pointer[Int32], Float32], None]


@func
def put(p: Pointer[Int32], x: Float32) -> None:
    p[0] = Int32(x)


@func
def make_doors(doors: Pointer[Doors]) -> None:
    doors[0] = Doors(function_pointer(odd), function_pointer(least), function_pointer(put))


class CDoors(ctypes.Structure):
    _fields_ = [
        ("odd", ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int8)),
        ("least", ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_int16)),
        ("put", ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int32), ctypes.c_float)),
    ]


@func
def through_doors(doors: Pointer[Doors], out: Pointer[Int32]) -> Int32:
    held = doors[0]
    held.put(out, 7.5)
    return Int32(held.odd(3)) * 100 + Int32(doors[0].odd(-4)) * 10 + Int32(held.least(-1))


def test_functions_are_stored_and_called() -> None:
    """Stored by a @func, called through memory by another; the code of the first lives on."""
    doors, out = CDoors(), np.zeros(1, np.int32)
    make_doors(doors)
    assert through_doors(doors, out) == 99
    assert out[0] == 7
    assert [doors.odd(n) for n in (-3, -2, 127)] == [True, False, True]
    assert [doors.least(n) for n in (-32768, 255, 128)] == [0, -1, -128]


@struct
class Inner:
    a: Int8
    b: Int16


@struct
class Record:
    first: Bool
    inner: Inner
    second: Float64
    third: UInt8
    next: Pointer[Record]
    last: Float32


class CInner(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int8), ("b", ctypes.c_int16)]


class CRecord(ctypes.Structure):
    pass


CRecord._fields_ = [
    ("first", ctypes.c_bool),
    ("inner", CInner),
    ("second", ctypes.c_double),
    ("third", ctypes.c_uint8),
    ("next", ctypes.POINTER(CRecord)),
    ("last", ctypes.c_float),
]


@func
def read_all(p: Pointer[Record]) -> Any:
    r = p[0]
    return Int(r.first), Int(r.inner.a), Int(r.inner.b), r.second, Int(r.third), Float64(r.last)


@func
def write_parts(p: Pointer[Record], i: Int) -> None:
    p[i].inner.b = Int16(-2)
    p[i].last = 1.5
    p[i].third += 1
    p[i].next = p


@func
def exchange(p: Pointer[Record], i: Int, j: Int) -> None:
    held = p[i]
    p[i] = p[j]
    p[j] = held


def make_record(n: int) -> CRecord:
    return CRecord(bool(n % 2), CInner(-n, 300 * n), n + 0.25, 200 + n, None, -n / 2)


def shown(r: CRecord) -> tuple[Any, ...]:
    return int(r.first), r.inner.a, r.inner.b, r.second, r.third, r.last


def test_structs_lie_as_those_of_c() -> None:
    records = (CRecord * 3)(*map(make_record, range(3)))
    assert [read_all(r) for r in records] == [shown(make_record(n)) for n in range(3)]
    exchange(records, 0, 2)
    assert [shown(r) for r in records] == [shown(make_record(n)) for n in (2, 1, 0)]
    write_parts(records, 1)
    expected = make_record(1)
    expected.inner.b, expected.last, expected.third = -2, 1.5, 202
    assert shown(records[1]) == shown(expected)
    assert ctypes.addressof(records[1].next.contents) == ctypes.addressof(records)
    assert shown(records[0]) == shown(make_record(2))


POINT = np.dtype([("x", np.float32), ("y", np.float32)])


@struct
class Point:
    x: Float32
    y: Float32


@kernel
def turn(points: Pointer[Point], n: Int):
    i = global_idx.x
    if i < n:
        p = points[i]
        points[i] = Point(-p.y, p.x)


def test_structs_of_numpy() -> None:
    points = np.array([(n, n + 0.5) for n in range(10)], POINT)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(turn, points, 10, grid_dim=1, block_dim=16)
    ctx.synchronize()
    assert points["x"].tolist() == [-(n + 0.5) for n in range(10)]
    assert points["y"].tolist() == list(range(10))


def test_structs_on_a_gpu_are_plain_memory() -> None:
    text = str(compile_info(turn, target="sm_90"))
    assert text.count("ld.global") == 2
    assert text.count("st.global") == 2


@func
def parts_of(x: Float64) -> Any:
    """The address of a variable goes to C."""
    exponent = stack_allocation(Int32, 1)
    fraction = external_call["frexp", Float64](x, exponent)
    return fraction, Int(exponent[0])


@func
def found(keys: Pointer[Int32], n: Int, key: Int32) -> Int:
    wanted = stack_allocation(Int32, 1)
    wanted[0] = key
    at = external_call["bsearch", Pointer[Int32]](
        wanted, keys, UInt64(n), UInt64(4), function_pointer(ascending)
    )
    return Int(-1) if Int(at) == 0 else (Int(at) - Int(keys)) // 4


@func
def local_records() -> Float64:
    records = stack_allocation(Record, 2)
    records[0].second = 2.5
    records[1].second = 4.0
    records[1].next = records.address_space_cast(AddressSpace.GLOBAL)
    return records[1].second + records[1].next[0].second


def test_memory_of_the_function_and_pointers_from_c() -> None:
    assert parts_of(-24.5) == math.frexp(-24.5)
    keys = np.array([2, 3, 5, 7, 11], np.int32)
    assert [found(keys, 5, k) for k in (2, 11, 4)] == [0, 4, -1]
    assert local_records() == 6.5


@func
def at(address: UInt64, n: Int) -> Int32:
    return Pointer.from_address(address, Int32)[n]


def test_memory_at_an_address() -> None:
    data = np.arange(5, dtype=np.int32)
    assert at(data.ctypes.data, 3) == 3


def test_structs_that_differ_are_refused() -> None:
    class Other(ctypes.Structure):
        _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_double)]

    ctx = DeviceContext(api="cpu")
    for wrong, text in (
        (Other(), "`y` is float64, in Point float32"),
        (np.zeros(2, np.dtype([("x", "f4"), ("z", "f4")])), "it has no field `y`, unlike Point"),
        (np.zeros(3, np.uint8), "memory of Point, 8 bytes each, not 3 bytes"),
        (np.zeros(4, np.float32), "a buffer or array of Point, not a NumPy array of Float32"),
        (np.zeros(4, POINT)[::2], "not contiguous"),
    ):
        with pytest.raises(LaunchError, match=text):
            ctx.enqueue_function(turn, wrong, 1, grid_dim=1, block_dim=1)


def test_functions_that_differ_are_refused() -> None:
    def more(a: int, b: int) -> int:
        return a + b

    two = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_int8, ctypes.c_int8)(more)
    with pytest.raises(LaunchError, match=r"not a function of \(c_byte, c_byte\)"):
        applied(two, 1, 1, True)
    with pytest.raises(LaunchError, match="not an int"):
        applied(5, 1, 1, True)  # pyright: ignore[reportArgumentType]


@kernel
def hypots_32(x: Pointer[Float32]):
    x[0] = external_call["hypotf", Float32](x[0], x[1])


@kernel
def pointed(f: FunctionPointer[[Float32], Float32], x: Pointer[Float32]):
    x[0] = f(x[0])


@pytest.mark.parametrize("refused", [hypots_32, pointed], ids=lambda k: k.__name__)
def test_a_gpu_has_no_functions_of_c(refused: Any) -> None:
    with pytest.raises(CompileError, match="sm_90 has none of its functions"):
        compile_info(refused, target="sm_90")


def test_a_call_is_made_each_time() -> None:
    """What C does is not known, so calls are neither merged nor dropped."""
    text = str(compile_info(hypots_twice, target="x86-64", emission_kind="llvm-opt"))
    assert text.count("call double @weft_test_unknown") == 2


@kernel
def hypots_twice(x: Pointer[Float64]):
    external_call["weft_test_unknown", Float64](x[0])
    x[0] = external_call["weft_test_unknown", Float64](x[0])


@struct
class Part:
    flag: Bool
    half: UInt16


@struct
class Many:
    small: Int8
    wide: UInt64
    inner: Part
    row: InlineArray[Int16, 5]
    next: Pointer[Float64]
    call: FunctionPointer[[Int32], Int32]
    last: Float32


class CPart(ctypes.Structure):
    _fields_ = (("flag", ctypes.c_bool), ("half", ctypes.c_uint16))


class CMany(ctypes.Structure):
    _fields_ = (
        ("small", ctypes.c_int8),
        ("wide", ctypes.c_uint64),
        ("inner", CPart),
        ("row", ctypes.c_int16 * 5),
        ("next", ctypes.c_void_p),
        ("call", ctypes.c_void_p),
        ("last", ctypes.c_float),
    )


@struct(pack=1)
class Packed:
    kind: Int8
    value: Float64


@struct(align=32)
class Apart:
    value: Float64


@struct
class Halves:
    half: Float16


@struct
class Vectors:
    kind: Int8
    lanes: SIMD[Float32, 4]


@func
def row_sum(many: Pointer[Many]) -> Float32:
    total = Float32(0.0)
    for n in range(5):
        total += Float32(many[0].row[n])
    many[0].inner.flag = True
    return total + many[0].last


def test_structures_of_ctypes_from_structs() -> None:
    made = c_struct(Many)
    assert made is c_struct(Many)
    for one, other in ((made, CMany), (c_struct(Part), CPart)):
        places = [[(name, getattr(each, name).offset) for name, *_ in each._fields_] for each in (one, other)]
        assert places[0] == places[1]
        assert ctypes.sizeof(one) == ctypes.sizeof(other)
    assert ctypes.sizeof(c_struct(Packed)) == 9
    one = made(small=-1, row=(1, 2, 3, 4, 5), last=0.25)
    assert row_sum(one) == 15.25
    assert one.inner.flag


def test_what_ctypes_has_no_structure_for() -> None:
    for cls in (Apart, Vectors):
        with pytest.raises(CompileError, match="which is aligned further"):
            c_struct(cls)
    with pytest.raises(CompileError, match="ctypes has no float16"):
        c_struct(Halves)
    with pytest.raises(CompileError, match="is no @struct"):
        c_struct(int)


@func
def twice_the_same(x: Pointer[Float64]):
    one = external_call["j0", Float64](x[0], effects="none")
    x[2] = one + external_call["j0", Float64](x[0], effects="none")


@func
def twice_maybe_another(x: Pointer[Float64]):
    one = external_call["j0", Float64](x[0])
    x[2] = one + external_call["j0", Float64](x[0])


@kernel
def merged(x: Pointer[Float64]):
    twice_the_same(x)


@kernel
def called_twice(x: Pointer[Float64]):
    twice_maybe_another(x)


@pytest.mark.parametrize(("of", "calls"), [(merged, 1), (called_twice, 2)])
def test_effects_of_functions(of: Any, calls: int) -> None:
    text = str(compile_info(of, target="native", emission_kind="llvm-opt"))
    assert text.count("call double @j0(") == calls
    x = np.array([0.0, 4.0, 0.0])
    (twice_the_same if of is merged else twice_maybe_another)(x)
    assert x[2] == 2.0  # J0(0) is 1


def test_effects_that_say_nothing() -> None:
    @func
    def wrong(x: Float64) -> Float64:
        return external_call["sqrt", Float64](x, effects="pure")  # pyright: ignore[reportArgumentType]

    with pytest.raises(CompileError, match="effects='pure' says nothing"):
        wrong(1.0)


T = TypeVar("T", Float32, Float64)


@func
def in_order(a: Pointer[T], b: Pointer[T], *, down: Comptime[bool]) -> Int32:
    order = Int32(a[0] > b[0]) - Int32(a[0] < b[0])
    return -order if down else order


@func
def sort_each(narrow: Pointer[Float32], wide: Pointer[Float64], back: Pointer[Float64], n: UInt64):
    external_call["qsort", None](narrow, n, UInt64(4), function_pointer(in_order[Float32].bind(down=False)))
    external_call["qsort", None](wide, n, UInt64(8), function_pointer(in_order[Float64].bind(down=False)))
    external_call["qsort", None](back, n, UInt64(8), function_pointer(in_order[Float64].bind(down=True)))


def test_functions_over_types_are_given_theirs() -> None:
    values = [3.0, 1e-300, 2.5, -7.25]
    narrow, wide, back = np.array(values, np.float32), np.array(values), np.array(values)
    sort_each(narrow, wide, back, 4)
    assert narrow.tolist() == sorted(np.array(values, np.float32).tolist())
    assert wide.tolist() == sorted(values)
    assert back.tolist() == sorted(values, reverse=True)
