"""What SIMD values can do with their lanes, against NumPy: on the host, on the CPU and on GPUs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    CompileError,
    DeviceError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    Pointer,
    UInt8,
    UInt16,
    UInt32,
    func,
    iota,
    kernel,
)
from weft.abi.formats import wrap
from weft.compile import compile_info
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
Moved = Callable[[Any, Any], Any]


def simd(kind: Any, lanes: int) -> Any:
    """The class of values of some lanes, which type checkers take for the type of one."""
    made: Any = SIMD
    return made[kind, lanes]


MOVES: dict[str, tuple[Moved, Callable[[Array, Array], Array]]] = {
    "slice": (lambda v, w: v[2:6].join(w[2:6]), lambda v, w: np.r_[v[2:6], w[2:6]]),
    "slice by name": (lambda v, w: v.slice(4, offset=3).join(w[:4]), lambda v, w: np.r_[v[3:7], w[:4]]),
    "step": (lambda v, w: v[::2].join(w[-1:-9:-2]), lambda v, w: np.r_[v[::2], w[-1:-9:-2]]),
    "reversed": (lambda v, w: v.reversed() + w, lambda v, w: v[::-1] + w),
    "split": (lambda v, w: v.split()[1].join(w.split()[0]), lambda v, w: np.r_[v[4:], w[:4]]),
    "interleave": (lambda v, w: v[:4].interleave(w[4:]), lambda v, w: np.c_[v[:4], w[4:]].ravel()),
    "deinterleave": (
        lambda v, w: v.deinterleave()[0].join(w.deinterleave()[1]),
        lambda v, w: np.r_[v[::2], w[1::2]],
    ),
    "rotate": (
        lambda v, w: v.rotate_left(3) - w.rotate_right(2),
        lambda v, w: np.roll(v, -3) - np.roll(w, 2),
    ),
    "shift": (
        lambda v, w: v.shift_left(3).join(w.shift_right(2))[1::2],
        lambda v, w: np.r_[v[3:], [0] * 3, [0] * 2, w[:-2]][1::2],
    ),
    "shuffle": (
        lambda v, w: v.shuffle(1, 9, 0, 8, 15, 7, 2, 2, other=w),
        lambda v, w: np.r_[v, w][[1, 9, 0, 8, 15, 7, 2, 2]],
    ),
    "insert": (
        lambda v, w: v.insert(3, 7).insert(-1, w[0]),
        lambda v, w: np.r_[v[:3], [7], v[4:7], w[:1]],
    ),
    "insert lanes": (lambda v, w: v.insert(3, w[:4]), lambda v, w: np.r_[v[:3], w[:4], v[7:]]),
    "select": (lambda v, w: (v < w).select(v, 3), lambda v, w: np.where(v < w, v, 3)),
    "iota": (
        lambda v, w: v + iota(cast("Any", type(v[0])), 8, 2, 3) * w,
        lambda v, w: v + (2 + 3 * np.arange(8)) * w,
    ),
    "lanes": (
        lambda v, w: type(v)(v[0], w[0], 1, v[1], w[1], 2, 0, v[2]),
        lambda v, w: np.r_[v[0], w[0], 1, v[1], w[1], 2, 0, v[2]],
    ),
}


def _moving(kind: Any, move: Moved) -> Any:
    def moved(x: Pointer[Any], y: Pointer[Any], out: Pointer[Any]) -> None:
        out.store(0, move(x.load(0, width=8), y.load(0, width=8)))

    moved.__annotations__ |= dict.fromkeys(("x", "y", "out"), cast("Any", Pointer)[kind])
    return kernel(moved)


@pytest.mark.parametrize("kind", [Float32, Int8, Float16, Float64, UInt16], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", MOVES)
def test_lanes_move_as_numpys_do(device: DeviceContext, kind: Any, name: str) -> None:
    move, expected = MOVES[name]
    v, w = np.array([5, 2, 9, 1, 7, 3, 8, 4]), np.array([1, 6, 2, 8, 3, 3, 5, 9])
    right = expected(v, w).astype(kind.dtype.name)
    x, y, out = (device.enqueue_create_buffer(kind, 8) for _ in range(3))
    device.enqueue_copy(dst=x, src=v.astype(kind.dtype.name))
    device.enqueue_copy(dst=y, src=w.astype(kind.dtype.name))
    device.enqueue_function(_moving(kind, move), x, y, out, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        np.testing.assert_array_equal(np.asarray(host), right)
    cls = simd(kind, 8)
    constant = move(cls(*v.tolist()), cls(*w.tolist()))  # on the host, without a compiler
    assert constant.value == tuple(right.tolist())


@pytest.mark.parametrize("kind", [Float32, Int32, Float64, BFloat16, Float16, Bool, UInt8])
def test_reductions(kind: Any) -> None:
    given = [3, 1, 0, 2] if kind is not Bool else [True, False, True, True]
    v = simd(kind, 4)(*given)

    functions: Any = operator
    combine = functions.or_ if kind is Bool else functions.mul

    @func
    def reduced(v: Any) -> Any:
        return v.reduce_min(), v.reduce_max(), v.reduce(combine), v[1]

    whole = [any(given)] if kind is Bool else [int(np.prod(given))]
    expected = (min(given), max(given), *whole, given[1])
    assert reduced(v) == expected
    assert (v.reduce_min(), v.reduce_max()) == expected[:2]


def test_masks() -> None:
    @func
    def masks(v: SIMD[Int32, 4], limit: Int32) -> tuple[Bool, Bool]:
        return (v < limit).any(), (v < limit).all()

    for limit in range(6):
        each = [n < limit for n in (1, 4, 2, 3)]
        assert masks(Int32.simd(1, 4, 2, 3), limit) == (any(each), all(each))
        assert bool((simd(Int32, 4)(1, 4, 2, 3) < limit).any()) == any(each)


@func
def _join_words(v: SIMD[UInt8, 4]) -> UInt32:
    return v.bitcast(UInt32)


@func
def _halves(x: UInt32) -> SIMD[Float16, 2]:
    return cast("Any", x).bitcast(simd(Float16, 2))


def test_bits_read_as_other_lanes() -> None:
    data = np.array([0xEF, 0xBE, 0xAD, 0xDE], np.uint8)
    word = int(data.view("<u4")[0])
    assert _join_words(UInt8.simd(*data.tolist())) == word
    assert simd(UInt8, 4)(*data.tolist()).bitcast(UInt32).value == word
    halves = np.array([1.5, -2.25], np.float16)
    assert _halves(int(halves.view("<u4")[0])) == (1.5, -2.25)


@kernel
def _masked(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    mask = iota(Int, 4) < n
    out.store(0, x.load(2, width=4, mask=mask, default=-1))
    out.store(4, x.load(4, width=4, alignment=16), mask=mask, alignment=16)
    out.store(8, x.load(0, width=4), mask=n > 2)


@pytest.mark.parametrize("kind", [Int8, UInt8, Int32, Int])
def test_powers_of_integers(device: DeviceContext, kind: Any) -> None:
    """Each lane has an exponent of its own, and wraps around as its type does."""

    @kernel
    def powers(x: Pointer[Any], n: Pointer[Any], out: Pointer[Any]):
        v, exponents = x.load(0, width=8), n.load(0, width=8)
        out.store(0, v**exponents)
        out.store(8, v ** n[1])
        out.store(16, 3**exponents)
        out.store(24, v ** x.element_type.simd(0, 1, 2, 3, 4, 5, 6, 7))

    bases, exponents = [0, 1, 2, 3, 5, 7, 11, 100], [0, 5, 62, 3, 1, 2, 0, 9]
    buffers = [device.enqueue_create_buffer(kind, n) for n in (8, 8, 32)]
    device.enqueue_copy(dst=buffers[0], src=np.array(bases, kind.dtype.numpy))
    device.enqueue_copy(dst=buffers[1], src=np.array(exponents, kind.dtype.numpy))
    device.enqueue_function(powers, *buffers, grid_dim=1, block_dim=1)
    exact = [a**n for a, n in zip(bases, exponents, strict=True)]
    exact += [a**5 for a in bases] + [3**n for n in exponents] + [a**n for n, a in enumerate(bases)]
    with buffers[2].map_to_host() as host:
        assert host[:].tolist() == [wrap(kind.dtype, v) for v in exact]


def test_powers_below_zero() -> None:
    @func
    def raised(v: SIMD[Int32, 4], n: SIMD[Int32, 4]) -> SIMD[Int32, 4]:
        return v**n

    called: Any = raised
    assert called((1, 2, 3, 4), (2, 3, 0, 1)) == (1, 8, 1, 4)
    with pytest.raises(DeviceError, match="an integer to a negative power is a float"):
        called((1, 2, 3, 4), (2, 3, -1, 1))


@pytest.mark.parametrize("n", range(5))
def test_masked_accesses(device: DeviceContext, n: int) -> None:
    given = np.arange(10, 18, dtype=np.float32)
    x, out = device.enqueue_create_buffer(Float32, 8), device.enqueue_create_buffer(Float32, 12)
    device.enqueue_copy(dst=x, src=given)
    device.enqueue_fill(out, 7)
    device.enqueue_function(_masked, x, out, n, grid_dim=1, block_dim=1)
    mask, seven = np.arange(4) < n, np.full(4, 7)
    whole = given[:4] if n > 2 else seven
    expected = np.r_[np.where(mask, given[2:6], -1), np.where(mask, given[4:8], 7), whole]
    with out.map_to_host() as host:
        np.testing.assert_array_equal(np.asarray(host), expected)


def test_a_mask_keeps_from_memory_that_is_not_there() -> None:
    """Behind the array's end lies no page: reading it would end the process."""
    import mmap

    page = mmap.PAGESIZE
    whole = np.frombuffer(mmap.mmap(-1, 2 * page), np.float32)
    ends = whole[: page // 4]
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(ends.ctypes.data + page), ctypes.c_size_t(page), 0) == 0

    @func
    def tail(x: Pointer[Float32], at: Int, n: Int) -> tuple[Float32, Float32]:
        offsets = at + iota(Int, 8)
        v = x.load(at, width=8, mask=offsets < n)
        x.store(at, v + 1, mask=offsets < n)
        w = x.gather(offsets, mask=offsets < n)
        x.scatter(offsets, w + 1, mask=offsets < n)
        return v.reduce_add(), w.reduce_add()

    ends[-3:] = 1, 2, 3
    assert tail(ends, ends.size - 3, ends.size) == (6.0, 9.0)
    np.testing.assert_array_equal(ends[-3:], [3, 4, 5])
    assert libc.mprotect(ctypes.c_void_p(ends.ctypes.data + page), ctypes.c_size_t(page), 3) == 0


@kernel
def _gathering(x: Pointer[Int32], at: Pointer[Int32], out: Pointer[Int32], limit: Int32):
    where = at.load(0, width=4)
    out.store(0, x.gather(where, mask=where < limit, default=where))
    (out + 4).scatter(where, x.load(0, width=4))
    out.store(12, x.strided_load(2, width=4))
    (out + 16).strided_store(x.load(4, width=4), 2)


def test_gather_and_scatter(device: DeviceContext) -> None:
    given, where = np.arange(100, 108, dtype=np.int32), np.array([7, 0, 3, 7], np.int32)
    x, at, out = (device.enqueue_create_buffer(Int32, n) for n in (8, 4, 24))
    device.enqueue_copy(dst=x, src=given)
    device.enqueue_copy(dst=at, src=where)
    device.enqueue_fill(out, 0)
    device.enqueue_function(_gathering, x, at, out, 5, grid_dim=1, block_dim=1)
    expected = np.zeros(24, np.int32)
    expected[:4] = np.where(where < 5, given[where], where)
    expected[4:12][where] = given[:4]  # of two writes to 7 the last counts
    expected[12:16], expected[16:24:2] = given[::2], given[4:]
    with out.map_to_host() as host:
        np.testing.assert_array_equal(np.asarray(host), expected)


def test_a_full_mask_is_one_access_of_a_gpu() -> None:
    @kernel
    def k(x: Pointer[Float32], n: Int):
        v = x.load(0, width=4, mask=iota(Int, 4) < n, alignment=16)
        x.store(4, v, mask=iota(Int, 4) < n, alignment=16)

    text = str(compile_info(k, target="sm_90"))
    assert "ld.global.v4" in text
    assert "st.global.v4" in text


def test_several_lanes_are_no_condition_and_no_number_on_the_host() -> None:
    """Python would take the tuple of lanes for true, whatever they are."""
    a, b = Float32.simd(1, 2, 3, 4), Float32.simd(1, 2, 3, 5)
    asked: list[Callable[[], object]] = [
        lambda: bool(a == b),
        lambda: not (a == b),
        lambda: 1 if a != a else 2,
        lambda: a in [b],
        lambda: bool(Float32.splat(4, 0.0)),
        lambda: max(a, b),
    ]
    for ask in asked:
        with pytest.raises(
            CompileError, match=r"a condition is one Bool, not a SIMD\[.*\n(.*\n)*.*\.all\(\)"
        ):
            ask()
    for convert in (int, float):
        with pytest.raises(CompileError, match=r"takes one number, not a SIMD\[.*\n(.*\n)*.*v\[0\]"):
            convert(cast("Any", a))
    assert (a == a).reduce_and()
    assert not (a == b).reduce_and()


def test_equal_lanes_as_text() -> None:
    assert str(Float32.splat(4, 1.5)) == str(Float32.simd(1.5, 1.5, 1.5, 1.5)) == "(1.5, 1.5, 1.5, 1.5)"
    assert f"{Int32.splat(2, 3):03d}" == "(003, 003)"
