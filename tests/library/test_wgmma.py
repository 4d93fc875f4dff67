"""Products by warpgroups against NumPy, and the two ways to multiply that the benchmarks measure."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.kernels.products import launch_by_warpgroups, launch_by_warps

from weft import BFloat16, CompileError, Comptime, Float8_e4m3fn, Float16, Float32, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import barrier, thread_idx
from weft.gpu.host import DeviceContext
from weft.gpu.wgmma import (
    async_proxy_fence,
    swizzled,
    warpgroup_places,
    warpgroup_zero,
    wgmma_async,
    wgmma_wait,
)
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

Array = npt.NDArray[Any]


@kernel
def product(a: LayoutTensor[Any], b: LayoutTensor[Any], out: LayoutTensor[Float32], *, n: Comptime[int]):
    k, memory = a.shape[1], AddressSpace.SHARED
    allocate = cast(Any, stack_allocation)
    here_a = allocate(a.dtype, 64 * k, address_space=memory, alignment=1024)
    here_b = allocate(a.dtype, n * k, address_space=memory, alignment=1024)
    for i in range(thread_idx.x, 64 * k, 128):
        here_a[swizzled(a.dtype, i // k, i % k)] = a[i // k, i % k]
    for i in range(thread_idx.x, n * k, 128):
        here_b[swizzled(a.dtype, i // k, i % k)] = b[i // k, i % k]
    async_proxy_fence()
    barrier()
    sums = wgmma_wait(wgmma_async(here_a, here_b, warpgroup_zero(n), wait=1))
    for place, (row, column) in enumerate(warpgroup_places(n)):
        out[row, column] = sums[place]


def tensor(device: DeviceContext, kind: Any, numbers: Array) -> LayoutTensor[Any]:
    buffer = device.enqueue_create_buffer(kind, numbers.size)
    with buffer.map_to_host() as host:
        host[:] = numbers.reshape(-1).tolist()
    return buffer.tensor(Layout.row_major(*numbers.shape))


def found(out: LayoutTensor[Any], *shape: int) -> Array:
    with out.storage.map_to_host() as host:
        return host.numpy().reshape(shape).copy()


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-8, 9, shape)


def hopper(device: DeviceContext) -> None:
    if device.api == "cuda" and device.info.target != "sm_90":
        pytest.skip("needs an NVIDIA GPU of compute capability 9.0")


@pytest.mark.parametrize(("kind", "k"), [(Float16, 64), (BFloat16, 64), (Float8_e4m3fn, 128)])
@pytest.mark.parametrize("n", [8, 96])
def test_a_product_by_a_warpgroup(device: DeviceContext, kind: Any, k: int, n: int) -> None:
    hopper(device)
    a, b = numbers(64, k), numbers(n, k)
    out = tensor(device, Float32, np.zeros((64, n)))
    tiles = tensor(device, kind, a), tensor(device, kind, b), out
    device.enqueue_function(product, *tiles, grid_dim=1, block_dim=128, n=n)
    np.testing.assert_array_equal(found(out, 64, n), a @ b.T)


def test_a_product_by_warps_in_stages(device: DeviceContext) -> None:
    a, b = numbers(64, 320), numbers(64, 320)
    out = tensor(device, Float32, np.zeros((64, 64)))
    tiles = tensor(device, BFloat16, a), tensor(device, BFloat16, b), out
    launch_by_warps(device, *tiles, bm=32, bn=32, warp=(16, 16), stages=3)
    np.testing.assert_array_equal(found(out, 64, 64), a @ b.T)


def test_a_product_by_warpgroups_in_stages(device: DeviceContext) -> None:
    hopper(device)
    a, b = numbers(1024, 320), numbers(64, 320)
    out = tensor(device, Float32, np.zeros((1024, 64)))
    tiles = tensor(device, BFloat16, a), tensor(device, BFloat16, b), out
    launch_by_warpgroups(device, *tiles, bm=128, bn=32, stages=4)
    np.testing.assert_array_equal(found(out, 1024, 64), a @ b.T)


def test_it_is_for_hopper() -> None:
    @kernel
    def alone(x: Pointer[Float32]):
        tile = stack_allocation(Float16, 4096, address_space=AddressSpace.SHARED, alignment=1024)
        x[0] = wgmma_async(tile, tile, warpgroup_zero(8))[0]

    with pytest.raises(CompileError, match=r"sm_89 has no wgmma_async\(\)"):
        compile_info(alone, target="sm_89")
    text = str(compile_info(alone, target="sm_90"))
    assert ".target sm_90a\n" in text  # for this machine alone
    assert ".target sm_90a\n" in str(compile_info(alone, target="sm_90a"))
    assert text.count("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16") == 4


def test_tiles_are_in_shared_memory() -> None:
    @kernel
    def wrong(x: Pointer[Float16]):
        x[0] = wgmma_async(x, x, warpgroup_zero(8))[0].cast(Float16)

    with pytest.raises(CompileError, match=r"a of wgmma_async\(\) is float16 in AddressSpace.GLOBAL"):
        compile_info(wrong, target="sm_90a")


@pytest.mark.parametrize("n", [0, 4, 264])
def test_columns_are_eights(n: int) -> None:
    with pytest.raises(CompileError, match=f"8 to 256 columns, not {n}"):
        warpgroup_zero(n)
