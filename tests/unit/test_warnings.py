"""What is legal and hardly meant so: when there is a warning, and when not. `weft explain` has the texts."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft.math
from weft import (
    CompileError,
    CompileWarning,
    Comptime,
    Float32,
    Float64,
    Int,
    Int16,
    Int32,
    Kernel,
    Pointer,
    UInt8,
    UInt32,
    UInt64,
    func,
    kernel,
    struct,
    tile,
    unroll,
)
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import barrier, block_idx, global_idx, lane_id, thread_idx
from weft.gpu.host import DeviceContext
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation
from weft.random import Random


def codes_of(fn: Kernel[...], target: str = "sm_90", **types: Any) -> list[str]:
    """The codes of the warnings about a kernel, by line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compile_info(fn, target=target, emission_kind="ir", **types).warnings
    return [d.code for d in found]


# -- results that nobody uses -------------------------------------------------------------------------


@func
def total(x: Pointer[Float32], n: Int) -> Float32:
    found = Float32(0.0)
    for i in range(n):
        found += x[i]
    return found


@func
def stored(x: Pointer[Float32], value: Float32) -> Float32:
    x[0] = value
    return value


@func
def told(x: Float32) -> Float32:
    print(x)
    return x


@func
def checked(x: Float32) -> Float32:
    assert x > 0.0
    return x


@func
def through(x: Pointer[Float32], value: Float32) -> Float32:
    return stored(x, value)


@struct
class Pair:
    a: Float32
    b: Float32

    def swapped(self) -> Pair:
        return Pair(self.b, self.a)


@kernel
def results_dropped(x: Pointer[Float32], n: Int):
    total(x, n)
    of_own_memory(x[0])
    x[0].cast(Int)
    min(x[0], x[1])
    abs(x[0])
    weft.math.sqrt(x[0])
    pair = Pair(x[0], x[1])
    pair.swapped()
    random = Random(seed=1)
    random.step()  # which changes its object
    stored(x, Float32(1.0)) + 1.0  # pyright: ignore[reportUnusedExpression]
    x.load(n)
    pair.a = Float32.simd(x[0], x[1]).reduce_add()


def test_results_that_nobody_uses() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(results_dropped, target) == ["unused-result"] * 9


@func
def of_own_memory(x: Float32) -> Float32:
    held = stack_allocation(Float32, Layout.row_major(2))
    held.fill(x)
    return held[1]


@func
def applied(f: Callable[[Float32], Float32], x: Float32) -> Float32:
    return f(x)


@kernel
def results_of_effects(x: Pointer[Float32], count: Pointer[Int32], n: Int):
    for size in unroll([2, 64]):
        held = stack_allocation(Float32, Layout.row_major(size, size))
        held.fill(x[3])
        held.tile[2, 2](0, 0).fill(x[4])
        x[4] = held[0, 0]
    calls = 0

    def counted(x: Float32) -> Float32:
        nonlocal calls
        calls += 1
        return x

    counted(x[5])
    applied(counted, x[5])
    x[6] = Float32(calls)
    stored(x, Float32(1.0))
    through(x, Float32(1.0))
    told(x[0])
    checked(x[0])
    Atomic.fetch_add(count, Int32(1))
    x.load(0, volatile=True)
    _ = total(x, n)
    stack = [x[0], x[1] + 1.0]
    stack.pop()
    seen = dict[str, Any]()
    seen.setdefault("sum", x[0] + x[1])
    x[2] = stack[0] + seen["sum"]
    if n > 3 and stored(x, Float32(2.0)) > 1.0:
        x[3] = 0.0


def test_what_a_call_does_beside_its_result_is_meant() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(results_of_effects, target) == []


# -- comparisons and shifts of one outcome ------------------------------------------------------------

NOTHING = math.nan


@kernel
def comparisons(x: Pointer[Float32], u: UInt32, n: Int):
    if x[0] == NOTHING or x[1] != float("nan"):
        x[2] = 1.0
    if n > 2 and u >= 0:
        x[3] = 1.0
    if 0 > u:
        x[4] = 1.0
    x[5] = Float32(Int32(n) << 32)
    x[6] = Float32(n >> -1)
    x[7] = Float32(n % 0) + Float32(Int32(n) // 0)


def test_comparisons_and_shifts_of_one_outcome() -> None:
    found = ["constant-comparison"] * 4 + ["shift-width"] * 2 + ["zero-divisor"] * 2
    assert codes_of(comparisons) == codes_of(comparisons, "native") == found


@func
def clamped(x, low: Comptime[int]):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    return x if x >= low else x * 0  # pyright: ignore[reportUnknownVariableType]


@func
def negative(x):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    return x < 0  # pyright: ignore[reportUnknownVariableType]


@func
def shifted(x: Any) -> Any:
    return (x << 40) >= 0


@kernel
def right_comparisons(x: Pointer[Float32], u: UInt32, n: Int):
    if u > 0 or u <= 0 or n >= 0 or x[0] < math.inf or x[0] != x[0]:
        x[0] = 1.0
    if negative(u) or shifted(u) or clamped(u, low=0) > 3:
        x[1] = 1.0
    x[2] = Float32(u << 31) + Float32(n << 63) + Float32(u << UInt32(n)) + abs(Float32(max(u, 0)))


def test_right_comparisons_and_shifts() -> None:
    assert codes_of(right_comparisons) == codes_of(right_comparisons, "native") == []


# -- unsigned numbers counted down ------------------------------------------------------------------------


@kernel
def counted_down(x: Pointer[Float32], n: UInt32, m: UInt64, few: UInt8):
    for i in range(n - 1, -1, -1):
        x[i] = 0.0
    last = m - 1
    for i in range(last, 0, -2):
        x[i] = 1.0
    for i in range(few - 2, -1, -1):
        x[i] = 2.0
    size = n
    while x[0] > 0.0:
        for i in range(size - 1, -1, -1):
            x[i] = 3.0
        size += 1


def test_unsigned_numbers_counted_down() -> None:
    assert codes_of(counted_down) == codes_of(counted_down, "native") == ["countdown"] * 4


@func
def rounds_of(n: Any) -> Int:
    rounds = Int(0)
    for _ in range(n - 1, -1, -1):
        rounds += 1
    return rounds


@kernel
def right_countdowns(x: Pointer[Float32], n: UInt32, m: UInt32, k: UInt32, i: Int, few: Comptime[int]):
    for j in range(UInt32(8) - 1, -1, -1):
        x[j] = 0.0
    for j in range(few - 1, -1, -1):
        x[j] = 0.0
    for j in reversed(range(n)):
        x[j] = 0.0
    for j in range(n)[::-1]:
        x[j] = 0.0
    for j in range(Int(n) - 1, -1, -1):
        x[j] = 0.0
    for j in range(i - 1, -1, -1):
        x[j] = 0.0
    for j in range(max(n, 1) - 1, -1, -1):
        x[j] = 0.0
    for j in range((UInt32(1) << n) - 1, -1, -1):
        x[j] = 0.0
    for j in range(n - 1):
        x[j] = 0.0
    if m > 0:
        for j in range(m - 1, -1, -1):
            x[j] = 0.0
    size = k
    while size != 0:
        for j in range(size - 1, -1, -1):
            x[j] = 0.0
        size -= 1
    x[0] = Float32(rounds_of(n))


def test_right_countdowns() -> None:
    assert codes_of(right_countdowns, few=3) == codes_of(right_countdowns, "native", few=3) == []


def test_what_is_written_instead_of_a_countdown() -> None:
    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float32, 2)

    @kernel
    def rounds(x: Pointer[Float32], n: UInt32):
        x[0], x[1] = 0.0, 0.0
        for _ in reversed(range(n)):
            x[0] += 1.0
        for _ in range(Int(n) - 1, -1, -1):
            x[1] += 1.0

    for n in range(4):
        ctx.enqueue_function(rounds, x, n, grid_dim=1, block_dim=1)
        with x.map_to_host() as host:
            assert host.numpy().tolist() == [len(range(n - 1, -1, -1))] * 2


# -- copies that are not waited for ------------------------------------------------------------------------


@func
def begun(x: Pointer[Float32], tile: Pointer[Float32]):
    async_copy(x + thread_idx.x, tile + thread_idx.x, size=4)


@func
def awaited(tile: Pointer[Float32]) -> Float32:
    async_copy_wait_group(0)
    barrier()
    return tile[31 - thread_idx.x]


@kernel
def copied(x: Pointer[Float32], *, waits: Comptime[bool]):
    tile = stack_allocation(Float32, 64, address_space=AddressSpace.SHARED)
    begun(x, tile)
    async_copy(x + 32 + thread_idx.x, tile + 32 + thread_idx.x, size=4)
    async_copy_commit_group()
    if waits:
        x[thread_idx.x] = awaited(tile)
    else:
        barrier()
        x[thread_idx.x] = tile[31 - thread_idx.x]


def test_copies_that_are_not_waited_for() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(copied, target, waits=False) == ["unawaited-copy"]
        assert codes_of(copied, target, waits=True) == []


# -- conditions that C groups otherwise ----------------------------------------------------------------------


@kernel
def as_in_c(x: Pointer[Int32], n: Int, m: Int):
    i = global_idx.x
    if i < n & i > 2:
        x[i] += 1
    while x[0] == 1 | m < n:
        x[0] += 1


@kernel
def as_in_python(x: Pointer[Int32], n: Int, m: Int):
    i, flags, MASK = global_idx.x, x[0], x[1]
    if (i < n) & (i > 2) or i < n & m or 0 < i < n or i < n + m < 7:
        x[i] += 1
    if 0 < flags & 6 < 4 or 0 < flags & MASK < 4:
        x[i] += 1


def test_conditions_that_c_groups_otherwise() -> None:
    assert codes_of(as_in_c, "native") == ["chained-condition", "chained-condition"]
    assert codes_of(as_in_python, "native") == []


# -- places of tiles that count elements -------------------------------------------------------------------


@tile.tile_kernel(threads=32)
def by_elements(x: LayoutTensor[Float32], *, extent: Comptime[int]):
    i = block_idx.x * extent
    tile.store(x, (i, block_idx.y), tile.load(x, (block_idx.x, extent * block_idx.y), (extent, 32)))


@tile.tile_kernel(threads=32)
def by_tiles(x: LayoutTensor[Float32], *, extent: Comptime[int]):
    i, j = block_idx.x, block_idx.y
    for k in range(2):
        tile.store(x, (2 * i + k, j), tile.load(x, (2 * i, j * 8), (extent, 32)))
    x.tile[extent, 1](i, 3 * j)[0, 0] = 1.0


def test_places_of_tiles_that_count_elements() -> None:
    tensor = Layout.row_major(100, 100)
    assert codes_of(by_elements, x=tensor, extent=32) == ["tile-place", "tile-place"]
    assert codes_of(by_elements, x=tensor, extent=4) == ["tile-place"]  # 4 of 32 columns may be meant
    assert codes_of(by_tiles, x=tensor, extent=32) == []
    assert codes_of(by_tiles, x=tensor, extent=16) == []


# -- quotients of integers by way of floats ---------------------------------------------------------------


@kernel
def quotients(x: Pointer[Float32], n: Int, m: Int32):
    x[Int(n / 2.0)] = 1.0
    x[Int(Float32(n) / Float32(m))] = 1.0
    x[Int(weft.math.floor(Float32(n) / 2.0))] = 1.0
    x[Int(weft.math.ceil(Float32(n) / 2.0))] = 1.0
    x[(n / 3.0).cast(Int32)] = 1.0
    x[int(n / 3.0)] = 1.0


def test_quotients_by_way_of_floats() -> None:
    assert codes_of(quotients) == codes_of(quotients, "native") == ["float-quotient"] * 6


@kernel
def right_quotients(x: Pointer[Float32], n: Int, m: Int32, small: Int16):
    x[Int(n / 2.5)] = 1.0
    x[Int(round(n / 2.0))] = 1.0
    x[Int(x[n] / 2.0)] = 1.0
    x[Int(n * 0.5)] = 1.0
    x[Int(small / 2.0)] = 1.0
    x[Int(Float64(n) / Float64(m))] = 1.0
    x[Int(8.0 * (n / 2.0))] = 1.0


def test_floats_that_become_integers() -> None:
    assert codes_of(right_quotients) == codes_of(right_quotients, "native") == []


# -- Float64 that crept in -----------------------------------------------------------------------------

TAPS = np.array([0.25, 0.5, 0.25])
SHORT_TAPS = TAPS.astype(np.float32)


@kernel
def by_table(x: Pointer[Float32], n: Int):
    for i in range(n):
        if x[i] < TAPS[i % 3]:
            x[i] = Float32(x[i] + 2.0 * TAPS[i % 2])


@kernel  # pyright: ignore[reportUnknownArgumentType]
def by_number(x: Pointer[Float32], a):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    total = 0.0
    for i in range(3):
        total += 2.0 * a * x[i]  # pyright: ignore[reportUnknownVariableType]
    x[0] = Float32(total)  # pyright: ignore[reportUnknownArgumentType]


def test_float64_that_nobody_wished() -> None:
    assert codes_of(by_table) == ["float-widening"]
    number: Kernel[...] = by_number  # pyright: ignore[reportUnknownVariableType]
    assert codes_of(number, a=Float64) == ["float-widening"]
    assert codes_of(number, a=Float32) == []
    assert codes_of(by_table, "native") == codes_of(number, "native", a=Float64) == []  # as fast there


@kernel
def mean(x: Pointer[Float32], n: Int):
    total = Float64(0.0)
    for i in range(n):
        total += x[i]
    x[0] = Float32(total / n)


@kernel
def declared(x: Pointer[Float32], a: Float64):
    x[0] = Float32(a * x[0])


@kernel
def said(x: Pointer[Float32], n: Int):
    x[0] = Float32(Float64(x[0]) * TAPS[n]) + x[1] * SHORT_TAPS[n]


@kernel
def of_doubles(x: Pointer[Float32], y: Pointer[Float64], n: Int):
    y[0] = x[0] * TAPS[n]


@kernel
def of_both(x: Pointer[Float32], a: Float64, n: Int):
    x[0] = Float32(x[0] * (a + TAPS[n]))


def test_float64_that_is_wished() -> None:
    for fn in (mean, declared, said, of_doubles, of_both):
        assert codes_of(fn) == []


# -- indices that are made by dividing ------------------------------------------------------------------


@kernel
def divided(x: Pointer[Float32], y: Pointer[Float32], n: Int, m: Int32, size: Int):
    total = Float32(0.0)
    for k in range(size):
        total += x[(k + 1) % n] + x[k // n]
        j = Int32(k)
        j //= m
        total += x[j + 1]
    at = Int(0)
    while at < size:
        row = at // n
        y[row] = total
        at += 1


@kernel
def split(x: Pointer[Float32], n: Int, m: Int):
    i = global_idx.x
    row, column = i // n, i % n
    if column < m:
        x[row * m + column] = 1.0
    x[i // m + n] = x[i % m]


@func
def gathered(x: Pointer[Float32], n: UInt64) -> Float32:
    total = Float32(0.0)
    for k in range(n):
        total += x[k * 7 % n]
    return total


@kernel
def divided_by_function(x: Pointer[Float32], n: Int):
    x[0] = gathered(x, UInt64(n))


def test_indices_that_are_made_by_dividing() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(divided, target) == ["index-division"] * 3
        assert codes_of(split, target) == ["index-division"] * 2
        assert codes_of(split, target, over=1) == ["index-division"] * 2
        assert codes_of(divided_by_function, target) == ["index-division"]


@kernel
def right_divisions(
    x: Pointer[Float32], y: Pointer[Float32], n: Int, m: UInt32, few: Comptime[int], wide: Int
):
    i = global_idx.x
    x[i % n] = x[(i + 1) // wide]  # once a thread
    row = i // n
    for k in range(n):
        x[k % few] = x[k // 12] + x[k % 8] + x[row + i % wide]
        x[UInt32(k) % m] = Float32(k % n) + x[UInt32(k) // m]
        x[k >> n] = 1.0 / Float32(k // n)
        if k % n == 0:
            y[k] = x[k]
        j = k + 1
        y[j - n if j >= n else j] = x[j]
        q = k // n  # weft: ignore[index-division]
        y[q] = x[(lane_id() + 1) % wide]  # the same in each round
    for d in range(-1, 2):
        y[i] += x[(i + d) % n]


@kernel
def divided_once(x: Pointer[Float32], n: Int, m: Int):
    i = global_idx.x
    q = i // n
    x[q] = x[i - q * n]
    x[i // m] = Float32(i % m)


@kernel
def split_for_much_work(x: Pointer[Float32], n: Int, m: Int):
    i = global_idx.x
    row, column = i // n, i % n
    for k in range(m):
        x[row * n + column] += Float32(k)


def test_divisions_that_do_not_weigh() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(right_divisions, target, few=3) == []
        assert codes_of(divided_once, target) == codes_of(split_for_much_work, target) == []


@kernel
def by_library(x: Pointer[Float32], n: Int, m: Int):
    for k in range(m):
        x[weft.math.ceildiv(k, n)] = x[weft.math.ceildiv(n, k + 1)]


def test_divisions_of_the_library_are_its_own() -> None:
    assert codes_of(by_library) == codes_of(by_library, "native") == []


# -- how they are given -------------------------------------------------------------------------------


@kernel
def dropped(x: Pointer[Float32]):
    x[0] + Float32(global_idx.x)  # pyright: ignore[reportUnusedExpression]


@kernel
def silenced(x: Pointer[Float32]):
    x[global_idx.x].cast(Float64)  # weft: ignore[unused-result]


def test_a_line_silences_its_warning() -> None:
    assert codes_of(silenced) == []


def test_a_warning_shows_the_line_and_what_to_write() -> None:
    with pytest.warns(CompileWarning) as given:
        compile_info(dropped, target="sm_90", emission_kind="ir")
    [warning] = given
    assert (warning.filename, warning.lineno) == (dropped.definition.file, dropped.definition.line + 2)
    text = str(warning.message)
    assert text.startswith("warning[unused-result]: `x[0] + Float32(global_idx.x)` is computed")
    assert text.endswith("= help: assign it to a variable, or to `_`; or leave it out")


def test_each_place_warns_once(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "from weft import Float32, Pointer, kernel\n"
        "from weft.compile import compile_info\n"
        "@kernel\n"
        "def odd(x: Pointer[Float32]):\n"
        "    x[0].cast(Float32)\n"
        "    x[1].cast(Float32)\n"
        "for target in ('sm_90', 'sm_80', 'native'):\n"
        "    print(len(compile_info(odd, target=target, emission_kind='ir').warnings))\n"
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "2\n2\n2\n"
    assert done.stderr.count("CompileWarning: warning[unused-result]") == 2
    filtered = [sys.executable, "-W", "ignore:warning[unused-result]", file]
    assert subprocess.run(filtered, capture_output=True, text=True, timeout=60, check=True).stderr == ""


def test_a_filter_makes_errors_of_them() -> None:
    cpu = DeviceContext(api="cpu")
    x = cpu.enqueue_create_buffer(Float32, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        with pytest.raises(CompileError, match=r"^error\[unused-result\]: ") as error:
            cpu.enqueue_function(dropped, x, grid_dim=1, block_dim=4)
    assert [d.code for d in error.value.diagnostics] == ["unused-result"]
