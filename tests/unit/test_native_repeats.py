"""Launches written as programs write them, with values made anew each time, are made natively."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import struct as struct_
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from driver_played import Gpu, always
from weft import (
    BFloat16,
    Bool,
    Comptime,
    Float32,
    Float64,
    Int,
    Int32,
    LaunchError,
    Pointer,
    Tensor,
    UInt32,
    kernel,
    struct,
    tile,
)
from weft.algorithm import reduce
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext, Dim
from weft.launch.context import AFTER
from weft.launch.native.objects import supported
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TMATensorTile
from weft.runtime.cuda.device import CudaDevice
from weft.tile import tile_kernel

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")

Call = Callable[[DeviceContext, Any], object]


def anew(value: int) -> int:
    """An int that is no other object."""
    return int(str(value))


def told(launch: tuple[str, tuple[int, ...], tuple[int, ...], list[int]]) -> tuple[Any, ...]:
    """What the driver was told; the second argument has 32 bits, and the slot's others are nobody's."""
    _, grid, block, (x, second) = launch
    return grid, block, x, second & 0xFFFFFFFF


@kernel
def scale(x: Pointer[Float32], factor: Int32):
    x[global_idx.x] *= factor.cast(Float32)


@kernel
def numbers(x: Pointer[Float64], n: Int32, m: UInt32, size: Int, factor: Float64, flag: Bool):
    if flag:
        x[global_idx.x] = n.cast(Float64) + m.cast(Float64) + size.cast(Float64) * factor


@kernel
def element(x: LayoutTensor[Float32], out: LayoutTensor[Float32], *, factor: Comptime[int]):
    out[global_idx.y, global_idx.x] = x[global_idx.y, global_idx.x] * factor


def tuples(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, 3, grid_dim=(anew(4), anew(1)), block_dim=(anew(32),))


def dims(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, 3, grid_dim=Dim(anew(4)), block_dim=Dim(16, 2))


def ints(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, anew(30_000), grid_dim=anew(400), block_dim=anew(512))


def shared(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, 3, grid_dim=4, block_dim=32, shared_mem_bytes=anew(1024))


def over(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, 3, over=anew(1000))


def over_two(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, 3, over=(anew(1000), anew(300)))


def narrow(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, cast("int", np.int32(-3)), over=8)


def wide(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale, x, cast("int", np.int64(-3)), over=8)


def bound(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(scale.bind(factor=7), x, over=8)


PARTLY = functools.partial(scale, factor=7)


def partly(ctx: DeviceContext, x: Any) -> None:
    ctx.enqueue_function(PARTLY, x, over=8)


@pytest.mark.parametrize("call", [tuples, dims, ints, shared, over, over_two, narrow, wide, bound, partly])
def test_values_made_anew(gpu: Gpu, call: Call) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x = ctx.enqueue_create_buffer(Float32, 8)
    for _ in range(5):
        call(ctx, x)
    assert [who for who, *_ in gpu.launches] == ["python", *["native"] * 4]
    assert len({told(launch) for launch in gpu.launches}) == 1


def test_a_partial_that_is_changed(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x, factors = ctx.enqueue_create_buffer(Float32, 8), functools.partial(scale, factor=1)
    for factor in (1, 1, 1, 2, 2):
        factors.keywords["factor"] = factor
        ctx.enqueue_function(factors, x, over=8)
    assert [told(launch)[3] for launch in gpu.launches] == [1, 1, 1, 2, 2]


def test_numbers_of_all_kinds(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(numbers)
    x = ctx.enqueue_create_buffer(Float64, 8)
    values: list[tuple[Any, ...]] = [
        (-5, 7, 2**40, 0.5, True),
        (np.int32(-5), np.int32(7), np.int64(2**40), np.float64(0.5), True),
        (np.int64(-5), np.int64(7), np.int64(2**40), 0.5, True),
        (-5, 7, 2**40, 0.5, False),
    ]
    for given in values * 3:
        ctx.enqueue_function(numbers, x, *given, grid_dim=1, block_dim=8)
    assert [who for who, *_ in gpu.launches] == ["python"] * 4 + ["native"] * 8
    assert len({told(launch) for launch in gpu.launches}) == 1
    wrong: Any
    for wrong in (np.int64(2**31), np.int64(-(2**31) - 1)):
        with pytest.raises(LaunchError, match="Int32"):
            ctx.enqueue_function(numbers, x, wrong, 7, 1, 0.5, True, grid_dim=1, block_dim=8)
    with pytest.raises(LaunchError, match="UInt32"):
        ctx.enqueue_function(numbers, x, 1, wrong, 1, 0.5, True, grid_dim=1, block_dim=8)


@struct
class Range:
    start: Int32
    step: Float32


@struct
class Job:
    whole: Range
    x: Pointer[Float32]
    weight: Float64
    part: Range
    flag: Bool


@kernel
def work(job: Job, n: Int):
    if job.flag:
        job.x[global_idx.x] = job.whole.step * job.weight.cast(Float32) + job.part.step


def test_structs(gpu: Gpu) -> None:
    gpu.slots = 8
    ctx, peer = DeviceContext(api="cuda"), DeviceContext(api="cuda")
    ctx.compile_function(scale)
    one, two = cast("tuple[Any, Any]", tuple(ctx.enqueue_create_buffer(Float32, 8) for _ in range(2)))

    def launch(start: Any, x: Any = one, flag: bool = True, weight: Any = 0.5) -> tuple[str, list[int]]:
        job: Any = Job(Range(start, 0.25), x, weight, Range(7, 1.5), flag)
        ctx.enqueue_function(work, job, 99, grid_dim=1, block_dim=8)
        who, _, _, slots = gpu.launches[-1]
        return who, [slots[0] & 0xFFFFFFFF, slots[1] & 0xFFFFFFFF, *slots[2:6], slots[7]]

    f32 = [struct_.unpack("<I", struct_.pack("<f", value))[0] for value in (0.25, 1.5)]
    (half,) = struct_.unpack("<Q", struct_.pack("<d", 0.5))
    expected = [3, f32[0], one.address, half, 7, f32[1], 99]
    assert launch(3) == ("python", expected)
    assert launch(3) == ("native", expected)
    assert launch(-4, two) == ("native", [2**32 - 4, f32[0], two.address, *expected[3:]])
    assert launch(3, flag=False)[0] == "python"  # another value of what is compared by identity
    assert launch(3, flag=False)[0] == "native"
    changed: Any = Job(Range(3, 0.25), one, 0.5, Range(7, 1.5), True)
    object.__setattr__(changed.whole, "start", 2**40)
    with pytest.raises(LaunchError):
        ctx.enqueue_function(work, changed, 99, grid_dim=1, block_dim=8)
    object.__setattr__(changed, "whole", 3)
    with pytest.raises(LaunchError):
        ctx.enqueue_function(work, changed, 99, grid_dim=1, block_dim=8)
    object.__delattr__(changed, "whole")
    with pytest.raises(LaunchError, match=r"field \.whole was deleted"):
        ctx.enqueue_function(work, changed, 99, grid_dim=1, block_dim=8)
    two.close()
    with pytest.raises(LaunchError, match="closed"):
        launch(3, two)
    with pytest.raises(LaunchError):
        launch(3, peer.enqueue_create_buffer(Int32, 8))
    assert launch(3) == ("native", expected)


def test_numbers_of_weft(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x = ctx.enqueue_create_buffer(Float32, 8)
    for factor in (3, 4, 5):
        ctx.enqueue_function(scale, x, Int32(factor), over=8)
        assert gpu.launches[-1][3][1] == factor
    assert [who for who, *_ in gpu.launches] == ["python", "native", "native"]


def test_extents_are_checked_natively_too(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x = ctx.enqueue_create_buffer(Float32, 8)

    def launch(grid: Any, block: Any = (16, 2)) -> None:
        ctx.enqueue_function(scale, x, 3, grid_dim=grid, block_dim=block)

    launch((4, 1))
    launch((5, 6), (8, 4))
    assert gpu.launches[-1][:3] == ("native", (5, 6, 1), (8, 4, 1))
    launch((5, 6, 7))  # another number of extents
    assert gpu.launches[-1][:3] == ("python", (5, 6, 7), (16, 2, 1))
    launch((5, 6, 8))
    assert gpu.launches[-1][:3] == ("native", (5, 6, 8), (16, 2, 1))
    for grid, block in (((5, 65536), (16, 2)), ((0, 1), (16, 2)), ((5, 6), (1024, 2)), ((True, 1), (16, 2))):
        with pytest.raises(LaunchError):
            launch(grid, block)
    with pytest.raises(LaunchError):
        launch((2**70, 1))


def test_over_other_extents_is_another_launch(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x = ctx.enqueue_create_buffer(Float32, 8)
    grids: list[tuple[int, ...]] = []
    for n in (1000, 100_000, 1000, 100_000):
        ctx.enqueue_function(scale, x, 3, over=(anew(n),))
        grids.append(gpu.launches[-1][1])
    assert [who for who, *_ in gpu.launches] == ["python", "python", "native", "native"]
    assert grids[0] == grids[2] != grids[1] == grids[3]


def test_layouts_made_anew(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x, y = (ctx.enqueue_create_buffer(Float32, 32) for _ in range(2))
    for _ in range(4):
        layout = Layout.row_major(anew(4), anew(8))
        tensors = [x.tensor(layout.dynamic()), y.tensor(layout)]
        ctx.enqueue_function(element, *tensors, factor=anew(2), over=(4, 8))
    assert [who for who, *_ in gpu.launches] == ["python", *["native"] * 3]


def test_tensors(gpu: Gpu) -> None:
    ctx, other = DeviceContext(api="cuda"), DeviceContext(api="cuda")
    ctx.compile_function(scale)
    tensors = [Tensor(Float32, (4, 8), ctx) for _ in range(3)]

    def launch(x: Any, out: Any) -> str:
        ctx.enqueue_function(element, x, out, factor=2, over=x.shape)
        return gpu.launches[-1][0]

    assert [launch(tensors[0], tensors[1]) for _ in range(3)] == ["python", "native", "native"]
    assert launch(tensors[1], tensors[0]) == "native"
    assert launch(tensors[0], tensors[2]) == "python"  # its first use, which is noted
    assert launch(tensors[0], tensors[2]) == "native"
    other.enqueue_function(element, tensors[0], tensors[1], factor=2, over=(4, 8))
    assert launch(tensors[0], tensors[1]) == "python"  # which waits for the other context
    assert launch(tensors[0], tensors[1]) == "native"
    tensors[0].close()
    with pytest.raises(LaunchError, match="closed"):
        launch(tensors[0], tensors[1])


@kernel
def applied(x: Pointer[Float32], func: Any, by: Any):
    x[global_idx.x] = func(x[global_idx.x]) * Float32(by[0]) + Float32(by[1])


BASE = 2.0


def based(value: Any) -> Any:
    return value + BASE


@dataclasses.dataclass(frozen=True)
class Pair:
    first: int
    second: int

    def __getitem__(self, index: int) -> int:
        return self.second if index else self.first


def other(value: Any) -> Any:
    return value - BASE


def test_functions_that_capture_nothing_and_tuples_of_ints(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.slots = 3
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x: Any = ctx.enqueue_create_buffer(Float32, 8)

    def launch(func: Any, by: Any) -> tuple[str, list[int]]:
        ctx.enqueue_function(applied, x, func, by, over=8)
        who, _, _, slots = gpu.launches[-1]
        return who, slots[1:3]

    assert launch(based, (anew(3), 4)) == ("python", [3, 4])
    assert launch(based, (anew(1000), anew(-5))) == ("native", [1000, 2**64 - 5])
    assert launch(other, (3, 4))[0] == "python"
    monkeypatch.setitem(based.__globals__, "BASE", 3.0)
    assert launch(based, (3, 4))[0] == "python"  # which now adds another number
    assert launch(based, (3, 4))[0] == "native"
    with pytest.raises(LaunchError, match="Int"):
        launch(based, (3, 2**70))
    for given in (Pair(3, 4), (3, 0.5)):  # what the stub does not look into
        assert [launch(based, given)[0] for _ in range(2)] == ["python"] * 2


def test_algorithms_with_functions_made_anew(gpu: Gpu) -> None:
    gpu.slots = 3
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x, out = (ctx.enqueue_create_buffer(Float32, 8) for _ in range(2))
    for _ in range(3):
        reduce(lambda a, b: a + b, x, out=out)
    assert [who for who, *_ in gpu.launches] == ["python", "native", "native"]


def test_sites_are_renewed(gpu: Gpu) -> None:
    """A launch that comes after many others of its kernel becomes native some time."""
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    x = ctx.enqueue_create_buffer(Float32, 8)
    for n in range(1, 20):
        ctx.enqueue_function(scale, x, 3, over=n)
    gpu.launches.clear()
    for _ in range(100):
        ctx.enqueue_function(scale, x, 3, over=77)
    assert gpu.launches[-1][0] == "native"
    assert 1 < sum(who == "native" for who, *_ in gpu.launches) < 100


def test_bound_kernels_are_the_same_object() -> None:
    assert scale.bind(factor=2) is scale.bind(factor=2)
    assert len({id(scale.bind(factor=each)) for each in (1, 1.0, True, -0.0, 0.0, "1")}) == 6
    assert scale.bind(factor=[1]) is not scale.bind(factor=[1])
    assert scale.bind(factor=2).bound == {"factor": 2}


@tile_kernel(threads=128)
def product(a: LayoutTensor[BFloat16], b: LayoutTensor[BFloat16], out: LayoutTensor[Float32]):
    left, right = a.tiled_iterator[64, 64](0, 0, axis=1), b.tiled_iterator[64, 64](0, 0)
    tile.store(out, (0, 0), tile.matmul(left, right, stages=2))


@kernel
def first_row(x: TMATensorTile[Float32], out: Pointer[Float32]):
    out[thread_idx.x] = x.tensor[0, thread_idx.x]


def test_tiles_by_hardware(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaDevice, "describe_tiles", lambda *_: bytes(128))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    page = ctypes.create_string_buffer(4096)
    gpu.returns["cuMemHostAlloc"] = always(0, ctypes.addressof(page))
    gpu.slots = 3
    ctx, layout = DeviceContext(api="cuda"), Layout.row_major(8, 8)
    one, two, out = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(3))
    tiles = [ctx.create_tma_tile(buffer.tensor(layout), (4, 8)) for buffer in (one, two)]
    smaller = ctx.create_tma_tile(one.tensor(layout), (2, 8))

    def launch(tiles: Any) -> tuple[str, list[int]]:
        ctx.enqueue_function(first_row, tiles, out, grid_dim=1, block_dim=8)
        return gpu.launches[-1][0], gpu.launches[-1][3]

    for _ in range(AFTER + 2):
        launch(tiles[0])
    for each, buffer in ((tiles[1], two), (tiles[0], one), (tiles[1], two)):
        assert launch(each) == ("native", [buffer.address, each.descriptor.address, out.address])
    assert launch(smaller) == ("python", [one.address, smaller.descriptor.address, out.address])
    two.close()
    with pytest.raises(LaunchError, match="closed"):
        launch(tiles[1])


def test_tiles_that_a_launch_describes(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaDevice, "describe_tiles", lambda *_: bytes(128))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    page = ctypes.create_string_buffer(4096)
    gpu.returns["cuMemHostAlloc"] = always(0, ctypes.addressof(page))
    gpu.slots = 5
    ctx, layout = DeviceContext(api="cuda"), Layout.row_major(64, 64)
    matrices = [ctx.enqueue_create_buffer(BFloat16, 64 * 64) for _ in range(4)]
    out = ctx.enqueue_create_buffer(Float32, 64 * 64)

    def launch(left: int, right: int) -> tuple[str, list[int]]:
        given = [matrices[n].tensor(layout) for n in (left, right)]
        ctx.enqueue_function(product, *given, out.tensor(layout), grid_dim=1)  # pyright: ignore[reportCallIssue]
        return gpu.launches[-1][0], gpu.launches[-1][3]

    pairs = [(0, 1), (2, 3)]
    told = {pair: launch(*pair)[1] for pair in pairs * AFTER}
    (a, b, _, of_a, of_b), (c, d, _, of_c, of_d) = told.values()
    for pair, words in (
        ((0, 1), [a, b, of_a, of_b]),
        ((2, 3), [c, d, of_c, of_d]),
        ((0, 3), [a, d, of_a, of_d]),
        ((2, 1), [c, b, of_c, of_b]),
    ):
        assert launch(*pair) == ("native", [*words[:2], out.address, *words[2:]])
    assert len({of_a, of_b, of_c, of_d}) == 4
    who, (_, _, _, new, _) = launch(1, 3)  # on the left for the first time
    assert who == "python"
    assert new == of_b  # which says the same of that memory
    assert launch(1, 3) == ("native", [b, d, out.address, new, of_d])
