"""Operations of warps, against what NumPy makes of each 32 threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    Comptime,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    Pointer,
    UInt32,
    func,
    kernel,
    struct,
    unroll,
)
from weft.diagnostics import LaunchError
from weft.gpu import barrier, block, block_dim, global_idx, lane_id, thread_idx, warp, warp_id
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor

from .conftest import Launch

Array = npt.NDArray[Any]


def data(kind: Any, size: int = 128, seed: int = 1) -> Any:
    rng: Any = np.random.default_rng(seed)
    if np.dtype(kind).kind == "f":
        return rng.standard_normal(size).astype(kind)
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, size, dtype=kind, endpoint=True)


def lanes(width: int = 32) -> Array:
    return np.arange(32) % width


def of_lanes(x: Array, source: Array) -> Array:
    """What lane ``source[i]`` of each warp has."""
    return x.reshape(-1, 32)[:, source].reshape(-1)


def sources(how: str, by: int, width: int) -> Array:
    """CUDA's rules of where a lane reads, written out (Programming Guide, warp shuffle functions)."""
    found: list[int] = []
    for lane in range(32):
        first, within = lane // width * width, lane % width
        place = {"idx": by % width, "up": within - by, "down": within + by, "xor": (lane ^ by) - first}[how]
        known = place < width and (how == "xor" or place >= 0)  # xor reaches earlier groups, not later ones
        found.append(first + place if known else lane)
    return np.array(found)


@kernel
def shuffles(
    x: LayoutTensor[Any], out: LayoutTensor[Any], by: Int, *, how: Comptime[str], width: Comptime[int]
):
    i = global_idx.x
    value = x[i]
    if how == "idx":
        out[i] = warp.shuffle_idx(value, by, width=width)
    elif how == "up":
        out[i] = warp.shuffle_up(value, by, width=width)
    elif how == "down":
        out[i] = warp.shuffle_down(value, by, width=width)
    else:
        out[i] = warp.shuffle_xor(value, by, width=width)


@pytest.mark.parametrize("how", ["idx", "up", "down", "xor"])
@pytest.mark.parametrize("width", [4, 16, 32])
def test_shuffles(launch: Launch, how: str, width: int) -> None:
    x = data(np.float32)
    for by in (0, 1, 3, 7, 20):
        _, out = launch(shuffles, x, np.zeros_like(x), by, how=how, width=width, grid_dim=2, block_dim=64)
        np.testing.assert_array_equal(out, of_lanes(x, sources(how, by, width)))


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.float16, np.int32, np.int64, np.uint64, np.float64]
)
def test_numbers_of_each_width(launch: Launch, kind: Any) -> None:
    x = data(kind)
    _, out = launch(shuffles, x, np.zeros_like(x), 5, how="xor", width=32, grid_dim=1, block_dim=128)
    assert out.tobytes() == of_lanes(x, lanes() ^ 5).tobytes()


Vector: Any = SIMD[Float32, 4]


@struct
class Pair:
    number: Float64
    flag: Bool
    small: Int8


@kernel
def composites(x: LayoutTensor[Float64], out: LayoutTensor[Float64]):
    """Structs, tuples, vectors, flags and 16-bit floats, each from the next lane."""
    i = global_idx.x
    other = warp.shuffle_idx(Pair(x[i], x[i] > 0.0, Int8(i % 100)), lane_id() + 1)
    one, (two, three) = warp.shuffle_idx((Int32(i), (x[i], BFloat16(x[i]))), lane_id() + 1)
    four = warp.shuffle_idx(Vector(x[i], i, 2.0, 3.0), lane_id() + 1)
    out[i, 0], out[i, 1], out[i, 2] = other.number, other.flag.select(1.0, 0.0), Float64(other.small)
    out[i, 3], out[i, 4], out[i, 5] = Float64(one), two, Float64(three)
    out[i, 6], out[i, 7] = Float64(four[0]), Float64(four[1])


def test_values_of_several_numbers(launch: Launch) -> None:
    x = data(np.float32, 64).astype(np.float64)
    _, out = launch(composites, x, np.zeros((64, 8)), grid_dim=1, block_dim=64)
    i = of_lanes(np.arange(64), (lanes() + 1) % 32)
    short = (
        x[i].astype(np.float32).view(np.uint32) + 0x7FFF + (x[i].astype(np.float32).view(np.uint32) >> 16 & 1)
    ) & 0xFFFF0000
    expected = [x[i], x[i] > 0, i % 100, i, x[i], short.view(np.float32), x[i], i]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1).astype(np.float64))


@func
def times(a: Int32, b: Int32) -> Int32:
    return a * b


@kernel
def reductions(x: LayoutTensor[Any], out: LayoutTensor[Any], *, width: Comptime[int]):
    i = global_idx.x
    out[i, 0] = warp.sum(x[i], width=width)
    out[i, 1] = warp.min(x[i], width=width)
    out[i, 2] = warp.max(x[i], width=width)
    out[i, 3] = warp.prefix_sum(x[i], width=width)
    out[i, 4] = warp.prefix_sum(x[i], exclusive=True, width=width)
    out[i, 5] = warp.broadcast(x[i], 7)
    out[i, 6] = warp.reduce(x[i], lambda a, b: a * b, width=width)


@pytest.mark.parametrize(
    ("kind", "width"),
    [*((np.int32, width) for width in (1, 2, 8, 32)), (np.uint64, 16), (np.int8, 32), (np.uint64, 32)],
)
def test_reductions(launch: Launch, width: int, kind: Any) -> None:
    x = data(kind)
    _, out = launch(reductions, x, np.zeros((128, 7), kind), width=width, grid_dim=2, block_dim=64)
    groups = x.reshape(-1, width)
    before = np.cumsum(groups, axis=1, dtype=kind)
    columns = [
        groups.sum(axis=1, dtype=kind, keepdims=True),
        groups.min(axis=1, keepdims=True),
        groups.max(axis=1, keepdims=True),
        before,
        before - groups,
        None,
        groups.prod(axis=1, dtype=kind, keepdims=True),
    ]
    for n, column in enumerate(columns):
        expected = of_lanes(x, np.full(32, 7)) if column is None else np.broadcast_to(column, groups.shape)
        np.testing.assert_array_equal(out[:, n], expected.reshape(-1), str(n))


@kernel
def by_words(x: LayoutTensor[Any], out: LayoutTensor[Any]):
    i = global_idx.x
    out[i, 0] = warp.reduce(x[i], "add")
    out[i, 1] = warp.reduce(x[i], "and")
    out[i, 2] = warp.reduce(x[i], "or")
    out[i, 3] = warp.reduce(x[i], "xor")
    out[i, 4] = warp.max(x[i])
    out[i, 5] = warp.min(x[i])


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.uint32, np.int64])
def test_words_on_integers(launch: Launch, kind: Any) -> None:
    """In one instruction of GPUs from sm_80 on, up to 32 bits."""
    x = data(kind)
    x[32:64] |= 5
    x[64:96] &= 0x5A
    _, out = launch(by_words, x, np.zeros((128, 6), kind), grid_dim=2, block_dim=64)
    rows = x.reshape(4, 32)
    each = [np.add, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.maximum, np.minimum]
    for n, ufunc in enumerate(each):
        expected = np.repeat(ufunc.reduce(rows, axis=1, dtype=kind), 32)
        np.testing.assert_array_equal(out[:, n], expected, ufunc.__name__)


@kernel
def apart(x: LayoutTensor[Int32], out: LayoutTensor[Int32], *, width: Comptime[int], stride: Comptime[int]):
    i = global_idx.x
    out[i, 0] = warp.sum(x[i], width=width, stride=stride)
    out[i, 1] = warp.max(x[i], width=width, stride=stride)


@pytest.mark.parametrize(("width", "stride"), [(4, 8), (8, 4), (2, 4), (4, 1), (1, 16)])
def test_groups_of_lanes_apart(launch: Launch, width: int, stride: int) -> None:
    x = data(np.int32, 64)
    _, out = launch(
        apart, x, np.zeros((64, 2), np.int32), width=width, stride=stride, grid_dim=1, block_dim=64
    )
    groups = x.reshape(-1, width, stride)
    for n, expected in enumerate(
        (groups.sum(axis=1, keepdims=True, dtype=np.int32), groups.max(1, keepdims=True))
    ):
        np.testing.assert_array_equal(out[:, n], np.broadcast_to(expected, groups.shape).reshape(-1))


@struct
class Moments:
    """How many, their mean, and the sum of the squares of what they are apart from it."""

    count: Float64
    mean: Float64
    spread: Float64

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        apart = other.mean - self.mean
        mean = self.mean + apart * other.count / count
        spread = self.spread + other.spread + apart * apart * self.count * other.count / count
        return Moments(count, mean, spread)


@kernel
def variances(x: LayoutTensor[Float64], out: LayoutTensor[Float64]):
    i = global_idx.x
    of_warp = warp.sum(Moments(1.0, x[i], 0.0))
    of_block = block.sum(Moments(1.0, x[i], 0.0))
    pair = warp.sum(Vector(Float32(x[i]), Float32(-x[i]), 1.0, 0.0))
    out[i, 0], out[i, 1] = of_warp.mean, of_warp.spread
    out[i, 2], out[i, 3] = of_block.mean, of_block.spread
    out[i, 4], out[i, 5] = Float64(pair[0] + pair[1]), Float64(pair[2])


def test_structs_and_vectors_are_summed(launch: Launch) -> None:
    x = data(np.float64, 96)
    _, out = launch(variances, x, np.zeros((96, 6)), grid_dim=1, block_dim=96)
    rows = x.reshape(3, 32)
    expected = [
        np.repeat(rows.mean(axis=1), 32),
        np.repeat(rows.var(axis=1) * 32, 32),
        np.full(96, x.mean()),
        np.full(96, x.var() * 96),
        np.zeros(96),
        np.full(96, 32.0),
    ]
    np.testing.assert_allclose(out, np.stack(expected, axis=1), rtol=1e-12, atol=1e-12)


def test_sums_of_floats_are_the_same_in_all_lanes(launch: Launch) -> None:
    x = data(np.float32)
    _, out = launch(reductions, x, np.zeros((128, 7), np.float32), width=32, grid_dim=2, block_dim=64)
    groups = x.reshape(-1, 32)
    tree = groups
    for step in (1, 2, 4, 8, 16):
        tree = tree + tree[:, lanes() ^ step]
    np.testing.assert_array_equal(out[:, 0], tree.reshape(-1))
    np.testing.assert_allclose(out[:, 3], np.cumsum(groups, axis=1).reshape(-1), rtol=1e-4, atol=1e-5)


@kernel
def votes(x: LayoutTensor[Int32], bits: LayoutTensor[UInt32], flags: LayoutTensor[Int32]):
    i = global_idx.x
    bits[i, 0] = warp.ballot(x[i] > 0)
    bits[i, 1] = warp.match_any(x[i])
    bits[i, 2] = warp.match_any(Float32(x[i]))
    flags[i, 0] = warp.any(x[i] > 0).select(1, 0)
    flags[i, 1] = warp.all(x[i] > 0).select(1, 0)
    flags[i, 2] = warp.uniform(x[i] > 0).select(1, 0)
    flags[i, 3] = warp.match_all(x[i]).select(1, 0)
    bits[i, 3] = warp.match_any((x[i], Int8(lane_id() % 2)))
    flags[i, 4] = warp.elect_one_sync().select(1, 0)


def test_votes(launch: Launch) -> None:
    x = np.random.default_rng(5).integers(-2, 3, (5, 32)).astype(np.int32)
    x[1], x[2], x[3] = 2, -1, np.arange(32) + 1
    _, bits, flags = launch(
        votes,
        x.reshape(-1),
        np.zeros((160, 4), np.uint32),
        np.zeros((160, 5), np.int32),
        grid_dim=1,
        block_dim=160,
    )
    places = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for row, words, found in zip(x, bits.reshape(5, 32, 4), flags.reshape(5, 32, 5), strict=True):
        holds = row > 0
        assert set(words[:, 0].tolist()) == {int(places[holds].sum())}
        assert words[:, 1].tolist() == [int(places[row == one].sum()) for one in row]
        assert words[:, 2].tolist() == words[:, 1].tolist()
        halves = lanes(2)
        found_by_both = [int(places[(row == one) & (halves == n % 2)].sum()) for n, one in enumerate(row)]
        assert words[:, 3].tolist() == found_by_both
        assert found[:, 4].sum() == 1
        told = [holds.any(), holds.all(), holds.all() or not holds.any(), len(set(row.tolist())) == 1]
        assert (found[:, :4] == np.array(told, np.int32)).all()


@kernel
def alike(out: LayoutTensor[Float32], x: Float32, by: Int):
    """What all lanes have alike, handed on in each way."""
    i = global_idx.x
    out[i, 0] = warp.shuffle_idx(x + 1.0, lane_id() + by)
    out[i, 1] = warp.shuffle_xor(x + 2.0, 5)
    out[i, 2] = warp.sum(x + 3.0)
    out[i, 3] = block.sum(x + 4.0)


def test_what_all_lanes_have_alike(launch: Launch) -> None:
    (out, *_) = launch(alike, np.zeros((64, 4), np.float32), 0.5, 3, grid_dim=1, block_dim=64)
    np.testing.assert_array_equal(out, np.tile(np.array([1.5, 2.5, 3.5 * 32, 4.5 * 64], np.float32), (64, 1)))


@kernel
def squares(x: LayoutTensor[Int32], n: Int32):
    """A product that is made of one before it twice, which is followed once."""
    power = n
    for _ in unroll(range(40)):
        power = power * power
    x[global_idx.x] = warp.sum(x[global_idx.x]) * power


def test_squares_of_squares_are_followed_once(launch: Launch) -> None:
    (x, *_) = launch(squares, np.arange(32, dtype=np.int32), 3, grid_dim=1, block_dim=32)
    power = np.array(496 * pow(3, 1 << 40, 1 << 32) % (1 << 32), np.uint32).astype(np.int32)
    assert x.tolist() == [power] * 32


@kernel
def matches(x: LayoutTensor[Any], out: LayoutTensor[UInt32]):
    out[global_idx.x] = warp.match_any(x[global_idx.x])


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float16, np.float32, np.float64])
def test_matches_of_each_type(launch: Launch, kind: Any) -> None:
    """By ==: no nan is like another, and the two zeros are."""
    x = np.random.default_rng(9).integers(0, 4, 64).astype(kind)
    if np.dtype(kind).kind == "f":
        x[[3, 7, 40]] = np.nan
        x[[1, 5, 41]] = -0.0
        x[[2, 6, 42]] = 0.0
    _, out = launch(matches, x, np.zeros(64, np.uint32), grid_dim=1, block_dim=64)
    same = x.reshape(2, 32, 1) == x.reshape(2, 1, 32)
    np.testing.assert_array_equal(out, (same << np.arange(32, dtype=np.uint64)).sum(axis=2).reshape(-1))


@kernel
def some_warps(x: LayoutTensor[Int32], out: LayoutTensor[Int32], rounds: Int):
    """Warps that go their own ways: branches, loops of different lengths, returns, between barriers."""
    i = global_idx.x
    value = x[i]
    if warp_id() % 2 == 1:
        value = warp.sum(value)
        if warp_id() == 3:
            value += warp.shuffle_xor(value + Int32(lane_id()), 1)
    k = 0
    while k < warp_id():
        value += warp.shuffle_up(value, 1)
        k += 1
        if k == rounds:
            break
    out[i] = value
    barrier()
    if warp_id() == 2:
        return
    for n in range(rounds):
        if n == 2:
            continue
        value += warp.broadcast(out[(thread_idx.x + 32) % block_dim.x], n)
        barrier()
        out[i] = value
        barrier()
    out[i] += warp.max(value)


def went(x: Array, rounds: int) -> Array:
    value = x.reshape(4, 32).astype(np.int64)
    for w in (1, 3):
        value[w] = value[w].sum()
    value[3] += (value[3] + np.arange(32))[np.arange(32) ^ 1]
    for w in range(4):
        k = 0
        while k < w:
            value[w] += value[w][np.maximum(np.arange(32) - 1, 0)]
            k += 1
            if k == rounds:
                break
    out = value.copy()
    alive = [0, 1, 3]
    for n in range(rounds):
        if n == 2:
            continue
        seen = out.copy()
        for w in alive:
            value[w] += seen[(w + 1) % 4][n]
            out[w] = value[w]
    for w in alive:
        out[w] += value[w].max()
    return out.astype(np.int32).reshape(-1)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_warps_go_their_own_ways(launch: Launch, rounds: int) -> None:
    x = np.random.default_rng(7).integers(-50, 50, 128).astype(np.int32)
    _, out = launch(some_warps, x, np.zeros_like(x), rounds, grid_dim=1, block_dim=128)
    assert out.tolist() == went(x, rounds).tolist()


@kernel
def in_planes(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    number = thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)
    out[number, 0] = warp.sum(x[number])
    out[number, 1] = Int32(lane_id())
    out[number, 2] = Int32(warp_id())


@pytest.mark.parametrize("block", [(96, 1, 1), (8, 12, 1), (3, 4, 8), (1, 32, 3)], ids=str)
def test_blocks_of_several_axes(launch: Launch, block: tuple[int, int, int]) -> None:
    x = data(np.int32, 96)
    _, out = launch(in_planes, x, np.zeros((96, 3), np.int32), grid_dim=1, block_dim=block)
    numbers = np.arange(96)
    sums = np.repeat(x.reshape(3, 32).sum(axis=1, dtype=np.int32), 32)
    np.testing.assert_array_equal(out, np.stack([sums, numbers % 32, numbers // 32], axis=1))


@kernel
def through_memory(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """Lanes that write for each other, with no more than a barrier of the warp between."""
    i = global_idx.x
    for step in range(3):
        out[i] = x[i] + Int32(step)
        warp.syncwarp()
        x[i] = out[i ^ 1]
        warp.syncwarp()


def test_a_barrier_of_the_warp(launch: Launch) -> None:
    x = data(np.int32, 64)
    after, _ = launch(through_memory, x, np.zeros_like(x), grid_dim=1, block_dim=64)
    assert after.tolist() == (x[np.arange(64) ^ 1] + np.int32(3)).tolist()


@kernel
def parts(x: Pointer[Int32]):
    i = global_idx.x
    if x[i] > 0:
        x[i] = warp.sum(x[i])


def test_lanes_that_part(cpu: DeviceContext) -> None:
    """They are told of on a CPU; on a GPU the result would be any."""
    x = cpu.enqueue_create_buffer(Int32, 64)
    with x.map_to_host() as host:
        host[:] = [1] * 32 + [0] * 31 + [1]
    cpu.enqueue_function(parts, x, grid_dim=1, block_dim=64)
    with pytest.raises(
        Exception, match="threads of a warp part before an operation of the warp of kernel"
    ) as raised:
        cpu.synchronize()
    assert "not for thread (32, 0, 0)" in str(raised.value)


@kernel
def any_sum(x: Pointer[Float32]):
    x[global_idx.x] = warp.sum(x[global_idx.x])


def test_blocks_have_whole_warps(device: DeviceContext) -> None:
    x = device.enqueue_create_buffer(Float32, 64)
    x.enqueue_fill(1.0)
    for _ in range(12):  # native from the ninth on
        device.enqueue_function(any_sum, x, grid_dim=1, block_dim=64)
    for shape in (40, (8, 5), 1):
        with pytest.raises(LaunchError, match="all 32 lanes must be there; block_dim="):
            device.enqueue_function(any_sum, x, grid_dim=1, block_dim=shape)
    with pytest.raises(LaunchError, match="over= leaves out the threads"):
        device.enqueue_function(any_sum, x, over=64)
