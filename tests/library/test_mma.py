"""Products of matrices by warps, their fragments and loads, and copies beside the threads, against NumPy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    BFloat16,
    CompileError,
    Comptime,
    Float8_e4m3fn,
    Float8_e5m2,
    Float16,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int8,
    Int32,
    Kernel,
    Pointer,
    UInt8,
    kernel,
    unroll,
)
from weft.compile import compile_info
from weft.gpu import barrier, block_idx, grid_sync, lane_id, thread_idx, warp_id
from weft.gpu.host import DeviceContext
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.mma import SHAPES, ld_matrix, mma, st_matrix
from weft.layout import Layout, LayoutTensor
from weft.layout.tensor_core import TensorCore
from weft.memory import AddressSpace, stack_allocation

Array = npt.NDArray[Any]
Shape = tuple[int, int, int]
PRODUCTS: list[tuple[Any, Any, Shape]] = [
    (Float16, Float32, (16, 8, 8)),
    (Float16, Float32, (16, 8, 16)),
    (Float16, Float16, (16, 8, 8)),
    (Float16, Float16, (16, 8, 16)),
    (BFloat16, Float32, (16, 8, 8)),
    (BFloat16, Float32, (16, 8, 16)),
    (Float32, Float32, (16, 8, 4)),
    (Float32, Float32, (16, 8, 8)),
    (Float64, Float64, (8, 8, 4)),
    (Float64, Float64, (16, 8, 4)),
    (Float64, Float64, (16, 8, 8)),
    (Float64, Float64, (16, 8, 16)),
    (Int8, Int32, (16, 8, 16)),
    (Int8, Int32, (16, 8, 32)),
    (UInt8, Int32, (16, 8, 16)),
    (UInt8, Int32, (16, 8, 32)),
    (Float8_e4m3fn, Float32, (16, 8, 32)),
    (Float8_e5m2, Float32, (16, 8, 32)),
]


@kernel
def product(
    a: LayoutTensor[Any],
    b: LayoutTensor[Any],
    out: LayoutTensor[Any],
    *,
    shape: Comptime[Shape],
    transposed: Comptime[bool],
    shared: Comptime[bool],
):
    core = TensorCore(out.dtype, a.dtype, shape, transposed)
    if shared:
        here_a = stack_allocation(cast(Any, a.dtype), a.layout, address_space=AddressSpace.SHARED)
        here_b = stack_allocation(cast(Any, b.dtype), b.layout, address_space=AddressSpace.SHARED)
        for i in range(lane_id(), a.size(), 32):
            here_a.ptr[i] = a.ptr[i]
        for i in range(lane_id(), b.size(), 32):
            here_b.ptr[i] = b.ptr[i]
        barrier()
        d = core.mma_op(core.load_a(here_a), core.load_b(here_b), core.load_c(out))
    else:
        d = core.mma_op(core.load_a(a), core.load_b(b), core.load_c(out))
    core.store_d(out, d)


def tensor(device: DeviceContext, kind: Any, numbers: Array) -> LayoutTensor[Any]:
    buffer = device.enqueue_create_buffer(kind, numbers.size)
    with buffer.map_to_host() as host:
        host[:] = numbers.reshape(-1).tolist()
    return buffer.tensor(Layout.row_major(*numbers.shape))


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of many variants
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize(("kind", "sums", "shape"), PRODUCTS)
def test_products_of_tiles(device: DeviceContext, kind: Any, sums: Any, shape: Shape, shared: bool) -> None:
    m, n, k = shape
    transposed = shared == (k % 16 == 0)  # both ways, of registers by rows and by columns
    rng = np.random.default_rng(k)
    low = 0 if kind is UInt8 else -8
    a, b, c = (rng.integers(low, 9, extents) for extents in ((m, k), (k, n), (m, n)))
    out = tensor(device, sums, c)
    options: dict[str, Any] = {"shape": shape, "transposed": transposed, "shared": shared}
    right = tensor(device, kind, b.T if transposed else b)
    device.enqueue_function(product, tensor(device, kind, a), right, out, grid_dim=1, block_dim=32, **options)
    with out.storage.map_to_host() as host:
        found = np.array([float(x) for x in host]).reshape(m, n)
    np.testing.assert_array_equal(found, a @ b + c)  # of small integers all sums are exact


def test_tf32_leaves_out_thirteen_bits(device: DeviceContext) -> None:
    @kernel
    def once(out: Pointer[Float32], x: Float32):
        d = mma(Float32.splat(4, x), Float32.splat(2, 1.0), Float32.splat(4, 0.0))
        out[lane_id()] = d[0]

    out = device.enqueue_create_buffer(Float32, 32)
    device.enqueue_function(once, out, 1.0 + 2.0**-10 + 2.0**-11 + 2.0**-20, grid_dim=1, block_dim=32)
    with out.map_to_host() as host:
        assert set(host) == {8 * (1.0 + 2.0**-10)}


@kernel
def in_turns(
    a: Pointer[Float32], b: Pointer[Float32], out: Pointer[Float32], n: Int, *, width: Comptime[int]
):
    """Some by a branch; sums in variables and in an array, and what is the same in all lanes."""
    lane = lane_id()
    sums, others = Float32.splat(4, 1.5), InlineArray[SIMD[Float32, 4], 2](fill=Float32.splat(4, 0.0))
    for i in range(n):
        left = a.load((32 * i + lane) * 4, width=4)
        if i % width != 1:
            sums = mma(left, b.load((32 * i + lane) * 2, width=2), sums)
            others[0] = sums
        else:
            others[1] = mma(left, Float32.splat(2, 2.0), others[1])
            sums = mma(left, Float32.splat(2, 0.5), sums) - others[1]
        others[0] = mma(left + 1.0, b.load(lane * 2, width=2), others[0])
    out.store(lane * 4, sums)
    out.store((32 + lane) * 4, others[0])
    out.store((64 + lane) * 4, others[1])


def tf32(x: Array) -> Array:
    return (x.view(np.uint32) & 0xFFFFE000).view(np.float32)


def by_lanes(a: Array, b: Array, c: Array) -> Array:
    """The product of fragments of Float32, 16 x 8 x 8, whose sums are added in the order of the lanes."""
    made = np.zeros((32, 4), np.float32)
    for lane, place in np.ndindex(32, 4):
        g, column = lane // 4, 2 * (lane % 4) + place % 2
        total = np.float32(0)
        for t, r in np.ndindex(4, 2):
            total += tf32(a)[4 * g + t, 2 * r + place // 2] * tf32(b)[4 * column + t, r]
        made[lane, place] = c[lane, place] + total
    return made


@pytest.mark.parametrize("n", [0, 1, 5])
def test_products_among_branches_and_variables(device: DeviceContext, n: int) -> None:
    rng = np.random.default_rng(n)
    small = device.api == "cuda"  # how a tensor core rounds sums is its own matter: these are exact
    a, b = (
        (rng.integers(-3, 4, (n + 1, 32, k)) if small else rng.normal(size=(n + 1, 32, k))).astype(np.float32)
        for k in (4, 2)
    )
    x, y, out = (device.enqueue_create_buffer(Float32, size) for size in (a.size, b.size, 3 * 128))
    device.enqueue_copy(dst=x, src=a.reshape(-1))
    device.enqueue_copy(dst=y, src=b.reshape(-1))
    device.enqueue_function(in_turns, x, y, out, n, grid_dim=1, block_dim=32, width=3)
    sums, others = np.full((32, 4), 1.5, np.float32), np.zeros((2, 32, 4), np.float32)
    for i in range(n):
        if i % 3 != 1:
            sums = by_lanes(a[i], b[i], sums)
            others[0] = sums
        else:
            others[1] = by_lanes(a[i], np.full((32, 2), 2, np.float32), others[1])
            sums = by_lanes(a[i], np.full((32, 2), 0.5, np.float32), sums) - others[1]
        others[0] = by_lanes(a[i] + np.float32(1), b[0], others[0])
    found = np.empty(3 * 128, np.float32)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    np.testing.assert_array_equal(found.reshape(3, 32, 4), [sums, *others])


@kernel
def of_some_warps(x: Pointer[Float64], out: Pointer[Float64]):
    lane = lane_id()
    if warp_id() == 1:
        out.store(2 * lane, mma(x[lane], x[32 + lane], x.load(64 + 2 * lane, width=2)))
    elif warp_id() == 2:
        for _ in range(warp_id()):
            out.store(64 + 2 * lane, mma(x[lane], x[32 + lane], Float64.splat(2, 1.0)))
    barrier()
    out[128 + thread_idx.x] = Float64(thread_idx.x)


@kernel
def around_a_barrier_of_the_grid(x: Pointer[Float64], out: Pointer[Float64]):
    lane, number = lane_id(), block_idx.x.cast(Float64)
    sums = mma(x[lane], x[32 + lane], x.load(64 + 2 * lane, width=2))
    grid_sync()
    out.store((32 * block_idx.x + lane) * 2, mma(x[lane] + number, x[32 + lane], sums))


def test_products_by_some_warps_and_around_barriers(device: DeviceContext) -> None:
    numbers = np.random.default_rng(1).integers(-4, 5, 128).astype(np.float64)
    a, b, c = numbers[:32].reshape(8, 4), numbers[32:64].reshape(8, 4).T, numbers[64:].reshape(8, 8)
    x, out = (device.enqueue_create_buffer(Float64, n) for n in (128, 224))
    device.enqueue_copy(dst=x, src=numbers)

    def found() -> Array:
        held = np.empty(224)
        device.enqueue_copy(dst=held, src=out)
        device.synchronize()
        return held

    device.enqueue_function(of_some_warps, x, out, grid_dim=1, block_dim=96)
    right = [(a @ b + c).reshape(-1), (a @ b + 1).reshape(-1), np.arange(96)]
    np.testing.assert_array_equal(found(), np.concatenate(right))
    device.enqueue_function(around_a_barrier_of_the_grid, x, out, grid_dim=2, block_dim=32, cooperative=True)
    right = [a @ b + c + (a + number) @ b for number in range(2)]
    np.testing.assert_array_equal(found()[:128].reshape(2, 8, 8), right)


@kernel
def many(a: Pointer[BFloat16], b: Pointer[BFloat16], out: Pointer[Float32], *, count: Comptime[int]):
    """As many products as a tile of a warp has, and more."""
    lane = lane_id()
    sums = (Float32.splat(4, 0.0),) * count
    for _ in range(2):
        left, right = a.load(8 * lane, width=8), b.load(4 * lane, width=4)
        sums = tuple([mma(left, right, sums[i] + i) for i in unroll(range(count))])
    for i in unroll(range(count)):
        out.store((32 * i + lane) * 4, sums[i])


def test_many_products_are_as_many_calls(device: DeviceContext) -> None:
    a, b, out = (
        device.enqueue_create_buffer(kind, n)
        for kind, n in ((BFloat16, 256), (BFloat16, 128), (Float32, 100 * 128))
    )
    a.enqueue_fill(2.0)
    b.enqueue_fill(3.0)
    device.enqueue_function(many, a, b, out, grid_dim=1, block_dim=32, count=100)  # pyright: ignore[reportArgumentType]
    with out.map_to_host() as host:
        found = np.array(list(host)).reshape(100, 128)
    np.testing.assert_array_equal(found, np.broadcast_to(2 * (96 + np.arange(100)[:, None]), (100, 128)))
    text = str(compile_info(many, target="cpu", emission_kind="llvm", count=100))
    assert text.count("call void @func$multiplied_apart(") == 100  # and the product itself stands there once
    assert text.count("define internal void @func$multiplied_apart(") == 1


@kernel
def matrices(x: Pointer[Float16], out: Pointer[Float16], *, width: Comptime[int], turned: Comptime[bool]):
    rows = stack_allocation(Float16, 256, address_space=AddressSpace.SHARED)
    again = stack_allocation(Float16, 256, address_space=AddressSpace.SHARED)
    for i in range(8):
        rows[8 * lane_id() + i] = again[8 * lane_id() + i] = x[8 * lane_id() + i]
    barrier()
    held = ld_matrix(rows + 8 * lane_id(), width, transpose=turned)
    out.store(lane_id() * width, held)
    st_matrix(again + 8 * lane_id(), 2 * held, transpose=turned)
    barrier()
    for i in range(8):
        out[256 + 8 * lane_id() + i] = again[8 * lane_id() + i]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_matrices_are_loaded_and_stored(device: DeviceContext, width: int, turned: bool) -> None:
    numbers = np.arange(256, dtype=np.float16)
    x, out = device.enqueue_create_buffer(Float16, 256), device.enqueue_create_buffer(Float16, 512)
    device.enqueue_copy(dst=x, src=numbers)
    out.enqueue_fill(0)
    device.enqueue_function(matrices, x, out, grid_dim=1, block_dim=32, width=width, turned=turned)
    found = np.empty(512, np.float16)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    each = numbers.reshape(4, 8, 8)
    seen = each.transpose(0, 2, 1) if turned else each
    pairs = seen.reshape(4, 32, 2)[: width // 2].transpose(1, 0, 2)  # by lanes
    np.testing.assert_array_equal(found[: 32 * width], pairs.reshape(-1))
    each = np.concatenate([2 * each[: width // 2], each[width // 2 :]])
    np.testing.assert_array_equal(found[256:], each.reshape(-1))


@kernel
def through_shared(
    x: Pointer[Int8], out: Pointer[Int8], n: Int, *, size: Comptime[int], stages: Comptime[int]
):
    tile = stack_allocation(Int8, 64 * size * stages, address_space=AddressSpace.SHARED, alignment=16)
    for stage in range(stages):
        at = (64 * stage + thread_idx.x) * size
        left = min(max(n - at, 0), size)
        async_copy(x + at, tile + at, size=size, src_size=left)
        async_copy_commit_group()
    for stage in range(stages):
        async_copy_wait_group(0)
        barrier()
        for i in range(size):
            at = 64 * size * stage + 64 * i + thread_idx.x
            out[at] = tile[at]


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("n", [0, 1, 500, 64 * 12])
def test_copies_beside_the_threads(device: DeviceContext, size: int, n: int) -> None:
    total = 64 * size * 3
    numbers = np.random.default_rng(n).integers(-128, 128, total, dtype=np.int8)
    x, out = (device.enqueue_create_buffer(Int8, total) for _ in range(2))
    device.enqueue_copy(dst=x, src=numbers)
    device.enqueue_function(through_shared, x, out, n, grid_dim=1, block_dim=64, size=size, stages=3)
    found = np.empty(total, np.int8)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    np.testing.assert_array_equal(found, np.where(np.arange(total) < n, numbers, 0))


def made(a: Any, b: Any, c: Any) -> Kernel[...]:
    @kernel
    def wrong(out: Pointer[Float32]):
        out[0] = mma(a(0), b(0), c(0))[0].cast(Float32)

    return wrong


@pytest.mark.parametrize(
    ("fragments", "target", "words"),
    [
        (
            (SIMD[Float16, 4], SIMD[Float16, 4], SIMD[Float32, 4]),
            "sm_90",
            "a lane has of a, b and c 4, 2 and 4 (16 x 8 x 8) or 8, 4 and 4 (16 x 8 x 16) elements",
        ),
        (
            (SIMD[Int32, 4], SIMD[Int32, 2], SIMD[Int32, 4]),
            "sm_90",
            "tensor cores multiply bfloat16, float16",
        ),
        (
            (SIMD[Float16, 8], SIMD[Float16, 4], SIMD[Float32, 4]),
            "sm_75",
            "sm_75 has no mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        ((SIMD[Float16, 4], SIMD[Float16, 2], SIMD[Float32, 4]), "sm_70", "compile for sm_80 or later"),
    ],
)
def test_what_there_is_not_is_refused(fragments: tuple[Any, Any, Any], target: str, words: str) -> None:
    with pytest.raises(CompileError) as error:
        compile_info(made(*fragments), target=target)
    assert words in str(error.value)


def test_the_table_is_of_fragments() -> None:
    for (a, _, count, _), shape in SHAPES.items():
        assert count * 32 == shape.m * shape.k, (a, shape)


def test_tiles_have_the_shape_of_the_product() -> None:
    @kernel
    def wrong(out: LayoutTensor[Float32]):
        core = TensorCore(Float32, Float16, (16, 8, 16))
        core.store_d(out, core.zero())

    with pytest.raises(CompileError, match="d is 16 x 8 of float32 here, not 8 x 16 of float32"):
        compile_info(wrong, target="sm_80", out=Layout.row_major(8, 16))
