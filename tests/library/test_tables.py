"""What is known at compile time, indexed by what is known only at run time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    CompileError,
    Float16,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int8,
    Int32,
    Pointer,
    UInt8,
    kernel,
    math,
    struct,
)
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@struct
class Rule:
    limit: Int32
    weights: InlineArray[Float64, 2]
    lanes: SIMD[Float32, 2]


TAPS = [0.1, 0.2, 0.3, 0.4]
GRID = ((1, 2, 3), (4, 5, -6))
ENDS = {1: (2, 0), 0: (1, 2)}
SCALED = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
RULES = [Rule(Int32(n - 1), [0.1 * n, 0.5], Float32.splat(2, n)) for n in range(3)]
TYPED = (Float32(0.1), Float32(0.7))
FLAGS = [True, False, True]


@kernel
def look_up(x: Pointer[Float32], y: Pointer[Float64], n: Pointer[Int32], i: Int):
    x[0] = TAPS[i]
    y[0] = TAPS[i]
    first, *_, last = GRID[i]  # a tuple, in which each literal takes the type of what it meets
    n[0] = last + GRID[0][i] * GRID[-1][0]
    y[0] += 0.5 * first
    begin, end = ENDS[i]  # pyright: ignore[reportArgumentType] of a dict whose keys count from 0
    n[0] += 100 * begin + 1000 * end
    x[1] = SCALED[i, 2] + SCALED[1][i] + SCALED[i][i + 1]
    row = SCALED[i]
    x[2] = row[3] - row[i]
    rule = RULES[i]
    y[1] = RULES[i].weights[i] + rule.weights[1]
    n[1] = rule.limit
    x[3] = RULES[i].lanes.reduce_add() + TYPED[i]
    n[2] = Int32(3) if FLAGS[i] else Int32(4)


@pytest.mark.parametrize("i", [0, 1])
def test_elements_of_tables(device: DeviceContext, i: int) -> None:
    x, y = device.enqueue_create_buffer(Float32, 4), device.enqueue_create_buffer(Float64, 2)
    n = device.enqueue_create_buffer(Int32, 3)
    device.enqueue_function(look_up, x, y, n, i, grid_dim=1, block_dim=1)
    f32 = np.float32
    expected = [
        f32(TAPS[i]),
        SCALED[i, 2] + SCALED[1][i] + SCALED[i][i + 1],
        SCALED[i, 3] - SCALED[i, i],
        f32(2 * i) + f32([0.1, 0.7][i]),
    ]
    with x.map_to_host() as host:
        assert host[:].tolist() == [float(f32(v)) for v in expected]
    with y.map_to_host() as host:
        assert host[:].tolist() == [TAPS[i] + 0.5 * GRID[i][0], [0.1 * i, 0.5][i] + 0.5]
    with n.map_to_host() as host:
        begin, end = ENDS[i]
        assert host[:].tolist() == [
            GRID[i][2] + GRID[0][i] * 4 + 100 * begin + 1000 * end,
            i - 1,
            4 if i else 3,
        ]


def test_a_literal_takes_the_type_that_it_meets() -> None:
    """On a GPU each type has its own table in constant memory, and no table is there twice."""
    text = str(compile_info(look_up, target="sm_90"))
    # TAPS as Float32 and Float64, GRID, a row of it, SCALED, a row of it, RULES, TYPED, ENDS; FLAGS is code
    assert text.count(".const .align 16 .b8") == 9
    assert "ld.const" in text


ROWS: Any = [[1, 2], [3, 4]]
BLOCKS = [[(1, 2), (3, 4)], [(5, 6), (7, 8)]]
OF_BOTH = [[1, 2], (3, 4)]


@kernel
def print_row(n: Int):
    print(ROWS[n], f"{ROWS[n]!r}", BLOCKS[n])


def test_text_of_rows(capfd: pytest.CaptureFixture[str]) -> None:
    cpu = DeviceContext(api="cpu")
    cpu.enqueue_function(print_row, 1, grid_dim=1, block_dim=1)
    cpu.synchronize()
    assert capfd.readouterr().out == f"{ROWS[1]} {ROWS[1]} {BLOCKS[1]}\n"


@kernel
def changed_row(n: Pointer[Int32], i: Int):
    row = ROWS[i]
    row[0] = 5
    n[0] = ROWS[i][0]


@kernel
def grown_row(n: Pointer[Int32], i: Int):
    row = ROWS[i]
    row.append(5)
    n[0] = len(ROWS[i])


@kernel
def same_row(n: Pointer[Int32], i: Int):
    n[0] = 1 if ROWS[i] is ROWS[1] else 0


@kernel
def of_both(n: Pointer[Int32], i: Int):
    n[0] = OF_BOTH[i][0]


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (changed_row, "a row that an index of run time picks is a copy"),
        (grown_row, "a row that an index of run time picks is a copy"),
        (same_row, "`is` compares objects of Python's"),
        (of_both, "`OF_BOTH` is a list known at compile time"),
    ],
)
def test_rows_that_are_refused(refused: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        compile_info(refused, target="sm_90")


BASES = b"GATTACA\xff"


@kernel
def letters(x: Pointer[UInt8], n: Pointer[Int], i: Int):
    x[0] = BASES[i] | 0x20
    n[0] = BASES[i + 1] + 1000


@pytest.mark.parametrize("i", [0, 6])
def test_bytes_are_a_table(device: DeviceContext, i: int) -> None:
    x, n = device.enqueue_create_buffer(UInt8, 1), device.enqueue_create_buffer(Int, 1)
    device.enqueue_function(letters, x, n, i, grid_dim=1, block_dim=1)
    with x.map_to_host() as host:
        assert host[:].tolist() == [BASES[i] | 0x20]
    with n.map_to_host() as host:
        assert host[:].tolist() == [BASES[i + 1] + 1000]


HALVES = [0.5, 100.75, -7.3, 1.5]


@struct
class Half:
    x: Float16


@kernel
def functions_of_literals(out: Pointer[Float16], i: Int):
    made = Half(0.0)
    made.x = math.round(HALVES[i])
    out[0] = made.x
    out[1] = math.sqrt(HALVES[i + 1]) + made.x
    out[2] = math.fma(HALVES[i], 2.0, HALVES[i])
    out[3] = math.modf(HALVES[i + 1])[0]


def test_functions_of_literals(device: DeviceContext) -> None:
    """They are of the type that their result meets."""
    out = device.enqueue_create_buffer(Float16, 4)
    device.enqueue_function(functions_of_literals, out, 0, grid_dim=1, block_dim=1)
    a, c = np.float16(0.5), np.float16(100.75)
    with out.map_to_host() as host:
        assert host[:].tolist() == [float(v) for v in (np.rint(a), np.sqrt(c), np.float16(1.5), c - 100)]


LARGE = list(range(5000))
HUGE = [1e30, 1e39]
_many = np.arange(256 * 256, dtype=np.uint8).reshape(256, 256)


@kernel
def large(x: Pointer[Int], u: Pointer[UInt8]):
    i = global_idx.x
    x[i] = LARGE[4999 - i]
    u[i] = _many[i, 255 - i]


def test_large_tables(device: DeviceContext) -> None:
    x, u = device.enqueue_create_buffer(Int, 64), device.enqueue_create_buffer(UInt8, 64)
    device.enqueue_function(large, x, u, grid_dim=1, block_dim=64)
    with x.map_to_host() as host, u.map_to_host() as bytes_:
        assert host[:].tolist() == LARGE[:-65:-1]
        assert bytes_[:].tolist() == [_many[i, 255 - i] for i in range(64)]


RECORDS = np.zeros((2, 3), [("x", "f4"), ("at", [("row", "i4"), ("column", "i2")]), ("w", "f8", 2)])
RECORDS["x"] = SCALED[:2, :3]
RECORDS["at"]["row"], RECORDS["at"]["column"] = np.arange(6).reshape(2, 3), 7
RECORDS["w"] = np.arange(12).reshape(2, 3, 2) / 8
POINTS = np.rec.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype=[("n", "i4"), ("y", "f4")])


@kernel
def look_up_records(x: Pointer[Float32], n: Pointer[Int32], i: Int):
    x[0] = RECORDS[i, 2]["x"]
    x[1] = RECORDS[1, i]["w"][i].cast(Float32)
    here, after = POINTS[i], POINTS[i + 1]
    x[2] = here.y + after["y"]
    n[0] = RECORDS[i, i]["at"]["row"] * 10 + RECORDS[0, i]["at"]["column"]
    n[1] = POINTS[i]["n"] * POINTS.n[i]


@pytest.mark.parametrize("i", [0, 1])
def test_fields_of_records(device: DeviceContext, i: int) -> None:
    x, n = device.enqueue_create_buffer(Float32, 3), device.enqueue_create_buffer(Int32, 2)
    device.enqueue_function(look_up_records, x, n, i, grid_dim=1, block_dim=1)
    with x.map_to_host() as floats, n.map_to_host() as ints:
        wanted = [RECORDS[i, 2]["x"], RECORDS[1, i]["w"][i], POINTS[i].y + POINTS[i + 1]["y"]]
        assert list(floats) == wanted
        assert list(ints) == [
            RECORDS[i, i]["at"]["row"] * 10 + RECORDS[0, i]["at"]["column"],
            POINTS[i]["n"] ** 2,
        ]


@kernel
def whole_record(x: Pointer[Float32], i: Int):
    x[0] = POINTS[i]


@kernel
def no_field(x: Pointer[Float32], i: Int):
    x[0] = POINTS[i]["z"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (whole_record, "a Float32 is needed here, not a Record"),
        (no_field, "the records of this table have the fields n, y"),
    ],
)
def test_refused_records(wrong: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        compile_info(wrong, target="sm_90")


MANY = [np.arange(n, n + 2000, dtype=np.int32) for n in range(12)]  # of 8000 bytes each


@kernel
def of_many(out: Pointer[Int32], i: Int):
    for n, table in enumerate(MANY):
        out[n] = table[i] + MANY[0][i + 1]


def test_constant_memory_is_not_taken_twice_over(device: DeviceContext, assemble: Any) -> None:
    out = device.enqueue_create_buffer(Int32, 12)
    device.enqueue_function(of_many, out, 5, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        assert list(host) == [11 + n for n in range(12)]
    text = str(compile_info(of_many, target="sm_90", emission_kind="asm"))
    spaces = re.findall(r"(?m)^\.(const|global) \.align 16 \.b8 \S*table", text)
    assert spaces == ["const"] * 8 + ["global"] * 4
    assert assemble(text, "sm_90") == ""


def test_a_changed_table_is_noticed(device: DeviceContext) -> None:
    held: Any = [1, 2, 3]
    values = np.array([1, 2, 3], np.int32)

    @kernel
    def read(n: Pointer[Int32], i: Int):
        n[0] = held[i] + values[i]

    n, found = device.enqueue_create_buffer(Int32, 1), list[int]()

    def run() -> None:
        device.enqueue_function(read, n, 2, grid_dim=1, block_dim=1)
        with n.map_to_host() as host:
            found.append(int(host[0]))

    run()
    held[2] = 10
    run()
    values[2] = 100
    run()
    held = (7, 8, 9)
    run()
    assert found == [6, 13, 110, 109]


@kernel
def beyond(x: Pointer[Float32], i: Int):
    x[0] = SCALED[i, 4]


@kernel
def beyond_at_compile_time(x: Pointer[Float32]):
    x[0] = TAPS[4]


@kernel
def narrow(n: Pointer[Int8], i: Int):
    n[0] = LARGE[i]


@kernel
def infinite(x: Pointer[Float32], i: Int):
    x[0] = HUGE[i] * x[1]


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (beyond, "index 4 is outside of this memory, which has 4 elements"),
        (beyond_at_compile_time, "list index out of range"),
        (narrow, "does not fit Int8"),
        (infinite, r"1e\+39 in this table does not fit Float32"),
    ],
)
def test_refusals(refused: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        compile_info(refused, target="sm_90")
