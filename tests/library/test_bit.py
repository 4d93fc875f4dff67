"""weft.bit against Python's integers, for every integer type and for vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from weft import SIMD, CompileError, DType, Float32, Int, Int32, Pointer, UInt8, UInt32, bit, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@kernel
def all_of_one(x: Any, y: Any, out: Any, n: Int):
    """Each function's result, one column each."""
    i = global_idx.x
    if i < n:
        a, b = x[i], y[i]
        out[0 * n + i] = bit.pop_count(a)
        out[1 * n + i] = bit.count_leading_zeros(a)
        out[2 * n + i] = bit.count_trailing_zeros(a)
        out[3 * n + i] = bit.bit_width(a)
        out[4 * n + i] = bit.byte_swap(a)
        out[5 * n + i] = bit.bit_reverse(a)
        out[6 * n + i] = bit.rotate_bits_left(a, b)
        out[7 * n + i] = bit.rotate_bits_right(a, b)
        out[8 * n + i] = bit.funnel_shift_left(a, b, 3)
        out[9 * n + i] = bit.funnel_shift_right(a, b, 3)
        out[10 * n + i] = x.dtype(1) if bit.is_power_of_two(a) else x.dtype(0)
        out[11 * n + i] = bit.next_power_of_two(a)
        out[12 * n + i] = bit.prev_power_of_two(a)


def expected(a: int, b: int, bits: int, signed: bool) -> list[int]:
    """The same by Python, as bits."""
    top = 1 << bits
    u, v = a % top, b % top
    digits = f"{u:0{bits}b}"
    turn = v % bits
    both = u << bits | v
    next_one = 1 if a <= 1 else 1 << (a - 1).bit_length()
    return [
        digits.count("1"),
        len(digits) - len(digits.lstrip("0")),
        len(digits) - len(digits.rstrip("0")) if u else bits,
        a.bit_length(),
        int.from_bytes(u.to_bytes(bits // 8, "little"), "big"),
        int(digits[::-1], 2),
        u << turn | u >> (bits - turn),
        u >> turn | u << (bits - turn),
        both << 3 >> bits,
        both >> 3,
        int(a > 0 and digits.count("1") == 1),
        next_one,
        1 << (a.bit_length() - 1) if a > 0 else 0,
    ]


@pytest.mark.parametrize("name", TYPES)
def test_each_type(device: DeviceContext, name: str) -> None:
    info = np.iinfo(name)
    random = np.random.default_rng(5)
    edges = [info.min, info.min + 1, -1, 0, 1, 2, 3, 64, info.max - 1, info.max, info.max // 2 + 1]
    a = np.array([e for e in edges if e >= info.min], name)
    a = np.concatenate([a, random.integers(info.min, info.max, 50, name, endpoint=True)])
    b = random.integers(info.min, info.max, len(a), name, endpoint=True)
    buffers = [device.enqueue_create_buffer(name, size) for size in (len(a), len(a), 13 * len(a))]
    for buffer, values in zip(buffers, (a, b), strict=False):
        device.enqueue_copy(dst=buffer, src=values)
    device.enqueue_function(all_of_one, *buffers, len(a), over=len(a))  # pyright: ignore[reportCallIssue]
    with buffers[2].map_to_host() as host:
        found = np.array(host.numpy()).reshape(13, len(a))
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        told = [n % 2**info.bits for n in expected(x, y, info.bits, info.min < 0)]
        assert [int(n) % 2**info.bits for n in found[:, i]] == told, (x, y)


@kernel
def of_lanes(x: Pointer[Int32], y: Pointer[UInt32]):
    v = x.load(0, width=4)
    x.store(0, bit.pop_count(v) + bit.count_leading_zeros(v) * 100)
    for n in range(4):
        y[n] = bit.byte_permute(y[n], y[n + 4], y[n + 8])


def test_vectors_and_bytes(device: DeviceContext) -> None:
    x, y = device.enqueue_create_buffer(Int32, 4), device.enqueue_create_buffer(UInt32, 12)
    device.enqueue_copy(dst=x, src=np.array([0, 5, -1, 1 << 20], np.int32))
    parts = np.random.default_rng(6).integers(0, 2**32, 12, np.uint32)
    device.enqueue_copy(dst=y, src=parts)
    device.enqueue_function(of_lanes, x, y, grid_dim=1, block_dim=1)
    with x.map_to_host() as host:
        assert list(host) == [3200, 2902, 32, 1101]
    with y.map_to_host() as host:
        for n in range(4):
            octets = parts[n : n + 8 : 4].tobytes()
            told = bytes(octets[int(parts[n + 8]) >> 4 * k & 7] for k in range(4))
            assert int(host[n]).to_bytes(4, "little") == told


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 127, 128, 129, 2**40 + 1])
def test_ints_of_python(n: int) -> None:
    assert 2 ** bit.log2_floor(n) <= n < 2 ** (bit.log2_floor(n) + 1)
    assert 2 ** bit.log2_ceil(n) >= n > 2 ** (bit.log2_ceil(n) - 1)
    assert bit.next_power_of_two(n) == 2 ** bit.log2_ceil(n)
    assert bit.prev_power_of_two(n) == 2 ** bit.log2_floor(n)
    assert bit.is_power_of_two(n) == (n.bit_count() == 1)
    assert (bit.pop_count(n), bit.bit_width(n)) == (n.bit_count(), n.bit_length())
    assert n % 2 ** (bit.count_trailing_zeros(n) + 1) == 2 ** bit.count_trailing_zeros(n)


@func
def wrong(x: UInt8) -> UInt8:
    five: Any = 5
    return x + bit.count_leading_zeros(five)


def test_what_has_no_width() -> None:
    with pytest.raises(CompileError, match=r"count_leading_zeros takes integers, not an int"):
        wrong(UInt8(1))
    for call in (
        lambda: bit.pop_count(-1),
        lambda: bit.count_trailing_zeros(0),
        lambda: bit.log2_floor(0),
        lambda: bit.log2_ceil(True),
    ):
        with pytest.raises(CompileError):
            call()


@func
def width_of(v: SIMD[Int32, 2]) -> SIMD[Int32, 2]:
    return bit.log2_ceil(v)


def test_logarithms_of_lanes() -> None:
    lanes: Any = (1, 1000)
    assert width_of(lanes) == (0, 10)


@func
def _beside_a_literal(x: UInt8) -> tuple[UInt8, UInt8]:
    return bit.funnel_shift_left(5, x, 3), bit.funnel_shift_right(5, x, 3)


def test_a_literal_half_is_of_the_type_of_the_other() -> None:
    both = 5 << 8 | 0xE1
    assert _beside_a_literal(0xE1) == ((both << 3 >> 8) & 255, (both >> 3) & 255)


def test_ints_of_numpy_are_those_of_python() -> None:
    n: Any = np.int64(40)
    assert (bit.pop_count(n), bit.count_trailing_zeros(n), bit.bit_width(n)) == (2, 3, 6)
    assert (bit.next_power_of_two(n), bit.prev_power_of_two(n), bit.is_power_of_two(n)) == (64, 32, False)
    assert (bit.log2_floor(n), bit.log2_ceil(n)) == (5, 6)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("numbers_of", ["weft", "numpy"])
def test_constants_of_a_type_are_computed_on_the_host(name: str, numbers_of: str) -> None:
    cls: Any = getattr(np if numbers_of == "numpy" else DType, name)
    info = np.iinfo(name)
    for a in (info.min, info.max, 0, 1, 6, 77):
        x, y = cls(int(a)), cls(77)
        found: list[Any] = [
            bit.pop_count(x),
            bit.count_leading_zeros(x),
            bit.count_trailing_zeros(x),
            bit.bit_width(x),
            bit.byte_swap(x),
            bit.bit_reverse(x),
            bit.rotate_bits_left(x, y),
            bit.rotate_bits_right(x, y),
            bit.funnel_shift_left(x, y, 3),
            bit.funnel_shift_right(x, y, 3),
            bit.is_power_of_two(x),
            bit.next_power_of_two(x) if a < info.max or numbers_of == "weft" else 0,
            bit.prev_power_of_two(x),
        ]
        told = [n % 2**info.bits for n in expected(int(a), 77, info.bits, info.min < 0)]
        told[-2] = told[-2] if a < info.max or numbers_of == "weft" else 0
        assert [int(n) % 2**info.bits for n in found] == told, a
        assert found[1].dtype == name


def test_lanes_and_bytes_on_the_host() -> None:
    counts = bit.pop_count(Int32.simd(0, 5, -1, 1 << 20))
    assert [int(counts[n]) for n in range(4)] == [0, 2, 32, 1]
    assert hex(bit.byte_permute(UInt32(0x33221100), UInt32(0x77665544), 0x7610)) == "0x77661100"
    assert type(bit.funnel_shift_left(cast("Any", np.int64(5)), UInt8(0xE1), 3)) is UInt8


to_bits: Any = bit
REFUSED: list[tuple[Callable[[Any, Any, Any], Any], list[str]]] = [
    (
        lambda x, y, z: to_bits.rotate_bits_left(x, y),
        ["rotate_bits_left takes integers, not a Float32", "write x.bitcast(DType.int32) for its bits"],
    ),
    (lambda x, y, z: to_bits.funnel_shift_right(x, x, 2.5), ["takes integers, not a float"]),
    (
        lambda x, y, z: to_bits.funnel_shift_left(x, z, 3),
        ["funnel_shift_left takes halves of one type, not UInt32 and Int", "convert one of them: UInt32(x)"],
    ),
    (lambda x, y, z: to_bits.funnel_shift_left(2**40, x, 3), ["1099511627776 does not fit UInt32"]),
    (
        lambda x, y, z: to_bits.byte_permute(x, z, 0x3210),
        [
            "byte_permute takes integers of 32 bits, not an Int",
            "UInt32(x) for its lower half, UInt32(x >> 32)",
        ],
    ),
    (lambda x, y, z: to_bits.byte_permute(y, x, 0), ["takes integers, not a Float32"]),
    (lambda x, y, z: to_bits.byte_permute(x, 2**32, 0), ["does not fit UInt32"]),
]


@pytest.mark.parametrize(("compute", "told"), REFUSED)
def test_what_would_be_cut_is_refused(compute: Any, told: list[str]) -> None:
    @func
    def computed(x: UInt32, y: Float32, z: Int) -> Any:
        return compute(x, y, z)

    with pytest.raises(CompileError) as caught:
        computed(1, 1.5, 2)
    assert all(text in str(caught.value) for text in told)


def test_counts_of_other_types() -> None:
    @func
    def moved(x: UInt8, n: Int) -> Any:
        selected = bit.byte_permute(UInt32(x), UInt32(5), cast("Any", n))
        return bit.rotate_bits_left(x, n), bit.rotate_bits_right(x, 2**70 + 3), selected

    assert moved(0b10010000, 1001) == (0b00100001, 0b00010010, 0x90 << 24)
