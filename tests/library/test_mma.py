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
    Int,
    Int8,
    Int32,
    Kernel,
    Pointer,
    UInt8,
    kernel,
)
from weft.compile import compile_info
from weft.gpu import barrier, lane_id, thread_idx
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
