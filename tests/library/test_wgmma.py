"""Products by warpgroups against NumPy, and the product of matrices by them that the benchmarks measure."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.kernels.products import launch_by_warpgroups

from ptxas import find_ptxas
from weft import (
    SIMD,
    BFloat16,
    CompileError,
    Comptime,
    Float8_e4m3fn,
    Float8_e5m2,
    Float16,
    Float32,
    Int8,
    Int32,
    Pointer,
    UInt8,
    kernel,
)
from weft.compile import compile_info
from weft.gpu import barrier, lane_id, thread_idx, warp_id
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


@kernel
def any_product(
    a: LayoutTensor[Any],
    b: LayoutTensor[Any],
    out: LayoutTensor[Any],
    *,
    n: Comptime[int],
    b_major: Comptime[Literal["k", "n"]],
    held: Comptime[bool],
    a_major: Comptime[Literal["k", "m"]] = "k",
):
    """Of ``a`` in memory, in rows along k or m, or in registers, and of ``b`` in rows along k or n."""
    k, memory, lane = a.shape[1], AddressSpace.SHARED, lane_id()
    allocate, number = cast(Any, stack_allocation), cast(Any, SIMD)
    here_a = allocate(a.dtype, 64 * k, address_space=memory, alignment=1024)
    here_b = allocate(b.dtype, -(-n // 64) * 64 * k, address_space=memory, alignment=1024)
    for i in range(thread_idx.x, 64 * k, 128):
        at = (i // k, i % k) if a_major == "k" else (i % k, i // k)
        here_a[swizzled(a.dtype, *at)] = a[i // k, i % k]
    for i in range(thread_idx.x, n * k, 128):
        row, column = i // k, i % k
        place = swizzled(b.dtype, row, column)
        if b_major == "n":
            place = row // 64 * (64 * 64) + swizzled(b.dtype, column, row % 64)
        here_b[place] = b[row, column]
    async_proxy_fence()
    barrier()
    left: Any = here_a
    if held:
        each = 4 // a.dtype.itemsize
        row, column = warp_id() % 4 * 16 + lane // 4, lane % 4 * each
        places = [(row + r % 2 * 8, r // 2 * 4 * each + column + i) for r in range(4) for i in range(each)]
        left = [
            number[a.dtype, 4 * each](*[a[at, 8 * each * s + along] for at, along in places])
            for s in range(4)
        ]
    zero = warpgroup_zero(n, cast(Any, out.element_type))
    sums = wgmma_wait(wgmma_async(left, here_b, zero, wait=1, a_major=a_major, b_major=b_major))
    for place, (row, column) in enumerate(warpgroup_places(n)):
        out[row, column] = sums[place]


FORMS: list[tuple[Any, Any, Any, int, str]] = [
    (Float32, Float32, Float32, 16, "k"),
    (Float16, Float16, Float16, 24, "k"),
    (Float8_e5m2, Float8_e4m3fn, Float16, 8, "k"),
    (Int8, Int8, Int32, 24, "k"),
    (UInt8, UInt8, Int32, 64, "k"),
    (BFloat16, BFloat16, Float32, 128, "n"),
    (Float16, Float16, Float32, 40, "n"),
    (BFloat16, BFloat16, Float32, 152, "n"),
]


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of rows of one column
@pytest.mark.parametrize("held", [False, True], ids=["memory", "registers"])
@pytest.mark.parametrize(("left", "right", "sums", "n", "b_major"), FORMS)
def test_every_form(
    device: DeviceContext, left: Any, right: Any, sums: Any, n: int, b_major: str, held: bool
) -> None:
    hopper(device)
    k = 128 // left.dtype.itemsize
    a, b = numbers(64, k), numbers(n, k)
    if left is UInt8:
        a, b = abs(a), abs(b)
    out = tensor(device, sums, np.zeros((64, n)))
    tiles = tensor(device, left, a), tensor(device, right, b), out
    options: dict[str, Any] = {"n": n, "b_major": b_major, "held": held}
    options["a_major"] = "m" if b_major == "n" and not held else "k"
    device.enqueue_function(any_product, *tiles, grid_dim=1, block_dim=128, **options)
    with out.storage.map_to_host() as host:
        made = np.array([float(x) for x in host]).reshape(64, n)
    np.testing.assert_array_equal(made, (a @ b.T).astype(np.float16 if sums is Float16 else np.int64))


@pytest.mark.parametrize("held", [False, True], ids=["memory", "registers"])
@pytest.mark.parametrize(("left", "right", "sums", "n", "b_major"), FORMS)
def test_the_assembler_takes_every_form(
    left: Any, right: Any, sums: Any, n: int, b_major: Any, held: bool, tmp_path: Path
) -> None:
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("needs NVIDIA's assembler")

    @kernel
    def alone(x: Pointer[Float32]):
        allocate, memory, number = cast(Any, stack_allocation), AddressSpace.SHARED, cast(Any, SIMD)
        a = allocate(left, 1024, address_space=memory, alignment=1024)
        b = allocate(right, 1024, address_space=memory, alignment=1024)
        fragment = number[left, 16 // left.dtype.itemsize]
        parts = [x.load(4 * s, width=4).bitcast(fragment) for s in range(4)] if held else a
        zero = warpgroup_zero(n, sums)
        for i, each in enumerate(wgmma_wait(wgmma_async(parts, b, zero, wait=1, b_major=b_major))):
            x[i] = each.cast(Float32)

    (tmp_path / "it.ptx").write_text(str(compile_info(alone, target="sm_90")), encoding="utf-8")
    command = [ptxas, "-arch", "sm_90a", "it.ptx", "-o", "it.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def refused(a: Any, b: Any, sums: Any, n: int, **more: Any) -> str:
    @kernel
    def wrong(out: Pointer[Float32]):
        allocate, memory = cast(Any, stack_allocation), AddressSpace.SHARED
        left = allocate(a, 4096, address_space=memory, alignment=1024)
        right = allocate(b, 4096, address_space=memory, alignment=1024)
        out[0] = wgmma_async(left, right, warpgroup_zero(n, sums), **more)[0].cast(Float32)

    with pytest.raises(CompileError) as error:
        compile_info(wrong, target="cpu")
    return str(error.value)


def test_what_is_no_form_is_refused() -> None:
    assert "wgmma_async() does not multiply float16 with bfloat16" in refused(Float16, BFloat16, Float32, 8)
    assert "sums of bfloat16 are float32 in wgmma_async(), not float16" in refused(
        BFloat16, BFloat16, Float16, 8
    )
    assert "multiplies int8 with 40 columns by none of its forms" in refused(Int8, Int8, Int32, 40)
    assert "takes no a of float32 with a_major='m'" in refused(Float32, Float32, Float32, 8, a_major="m")
    assert "takes no b of float32 with b_major='n'" in refused(Float32, Float32, Float32, 8, b_major="n")


def test_a_product_by_warpgroups_in_stages(device: DeviceContext) -> None:
    hopper(device)
    a, b = numbers(1024, 320), numbers(64, 320)
    out = tensor(device, Float32, np.zeros((1024, 64)))
    tiles = tensor(device, BFloat16, a), tensor(device, BFloat16, b), out
    launch_by_warpgroups(device, *tiles, bm=128, bn=32, stages=4)
    np.testing.assert_array_equal(found(out, 1024, 64), a @ b.T)


@kernel
def of_fragments(
    a: LayoutTensor[Float16], b: LayoutTensor[Float16], out: LayoutTensor[Float32], *, n: Comptime[int]
):
    """``a @ b`` twice over, of as many fragments as ``a`` has columns for."""
    k, lane, eight = b.shape[0], lane_id(), cast(Any, SIMD)[Float16, 8]
    here = cast(Any, stack_allocation)(Float16, n * k, address_space=AddressSpace.SHARED, alignment=1024)
    for i in range(thread_idx.x, n * k, 128):
        row, column = i // n, i % n
        here[column // 64 * (k * 64) + swizzled(Float16, row, column % 64)] = b[row, column]
    async_proxy_fence()
    barrier()
    row, column = warp_id() % 4 * 16 + lane // 4, lane % 4 * 2
    places = [(row + r % 2 * 8, r // 2 * 8 + column + i) for r in range(4) for i in range(2)]
    left: list[Any] = [eight(*[a[at, 16 * s + along] for at, along in places]) for s in range(k // 16)]
    once = wgmma_async(left, here, warpgroup_zero(n), wait=None, b_major="n")
    other = wgmma_async(left, here, warpgroup_zero(n), wait=None, b_major="n")
    once = wgmma_wait(once, 1)
    for place, (row, column) in enumerate(warpgroup_places(n)):
        out[row, column] = once[place]
    barrier()
    other = wgmma_wait(other)
    for place, (row, column) in enumerate(warpgroup_places(n)):
        out[row, column] += other[place]


@pytest.mark.parametrize("k", [16, 48, 176])
def test_any_number_of_fragments(device: DeviceContext, k: int) -> None:
    hopper(device)
    a, b = numbers(64, k), numbers(k, 128)
    out = tensor(device, Float32, np.zeros((64, 128)))
    tiles = tensor(device, Float16, a), tensor(device, Float16, b), out
    device.enqueue_function(of_fragments, *tiles, grid_dim=1, block_dim=128, n=128)
    np.testing.assert_array_equal(found(out, 64, 128), 2 * (a @ b))


def test_what_is_known_to_be_zero_is_not_added() -> None:
    layouts = [Layout.row_major(*shape) for shape in ((64, 32), (32, 64), (64, 64))]
    text = str(compile_info(of_fragments, *layouts, n=64, target="sm_90"))
    assert text.count("setp.ne.b32 p, 0, 0") == 2  # of two products
    assert "wgmma.wait_group.sync.aligned 1;" in text


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
