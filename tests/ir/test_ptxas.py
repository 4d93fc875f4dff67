"""NVIDIA's assembler takes the PTX of every kind of kernel, for GPUs from Turing to Blackwell.

``ptxas`` comes with the test dependencies on Linux; elsewhere one on the PATH is used, or the tests
are skipped. No GPU is needed.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

import weft
from weft import (
    SIMD,
    BFloat16,
    Bool,
    Comptime,
    Float8_e4m3fn,
    Float8_e5m2,
    Float16,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int8,
    Int16,
    Int32,
    Kernel,
    Number,
    Pointer,
    UInt32,
    UInt64,
    iota,
    kernel,
    math,
    struct,
)
from weft.atomic import Atomic, fence
from weft.compiler.frontend.options import CompileOptions, Over
from weft.compiler.pipeline import Compilation, elaborate_kernel
from weft.dtype import as_dtype
from weft.gpu import (
    barrier,
    block,
    block_dim,
    block_idx,
    bulk,
    elect_one_sync,
    global_idx,
    grid_dim,
    lane_id,
    launch_bounds,
    thread_idx,
    warp,
    warp_id,
)
from weft.gpu.host import DeviceContext
from weft.gpu.memory import (
    CacheEviction,
    async_copy,
    async_copy_commit_group,
    async_copy_wait_all,
    async_copy_wait_group,
)
from weft.gpu.mma import SHAPES, ld_matrix, mma, st_matrix
from weft.gpu.pipeline import Pipeline
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.gpu.wgmma import async_proxy_fence
from weft.lang.accept import spec_of_annotation
from weft.lang.intrinsics import Feature, current_target
from weft.lang.number import number_class
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.launch.ranges import describe_over
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TMATensorTile
from weft.linalg import inverse, length, mat44, quat, slerp, vec3, vec4
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.sys import is_gpu

ROOT = Path(__file__).parents[2]
ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_120"]
NEWEST_PTX = (8, 8)
"""What the drivers of CUDA 12.9 take; a newer version would shut them out."""


def ptx_version(ptx: str) -> tuple[int, int]:
    found = re.search(r"^\.version (\d+)\.(\d+)$", ptx, re.MULTILINE)
    assert found is not None, "the text has no .version"
    return int(found[1]), int(found[2])


# Kernels of which the assembler may have its own opinion.


@kernel
def matmul(
    a: LayoutTensor[Float32], b: LayoutTensor[Float32], out: LayoutTensor[Float32], *, tile: Comptime[int]
):
    row, col = thread_idx.y, thread_idx.x
    here_a = stack_allocation(Float32, Layout.row_major(tile, tile), address_space=AddressSpace.SHARED)
    here_b = stack_allocation(Float32, Layout.row_major(tile, tile), address_space=AddressSpace.SHARED)
    acc = Float32(0.0)
    for k in range(a.shape[1] // tile):
        here_a[row, col] = a.tile[tile, tile](block_idx.y, k)[row, col]
        here_b[row, col] = b.tile[tile, tile](k, block_idx.x)[row, col]
        barrier()
        for i in range(tile):
            acc += here_a[row, i] * here_b[i, col]
        barrier()
    out.tile[tile, tile](block_idx.y, block_idx.x)[row, col] = acc


@kernel
def reverse(x: Pointer[Float32], n: Int):
    here = dynamic_shared_memory(Float32, 1024)
    counts = (here + 512).bitcast(Int32)
    if thread_idx.x < n:
        here[thread_idx.x] = x[thread_idx.x]
        Atomic.fetch_add(counts, 1, scope="block")
    barrier()
    x[n - 1 - thread_idx.x] = here[thread_idx.x] + counts[0]


@kernel
def simd_loads(x: Pointer[Float32], halves: Pointer[Float16], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        four = x.load(4 * i, width=4)
        eight = halves.load(8 * i, width=8).cast(Float32)
        both = four * eight.shuffle(0, 2, 4, 6) + eight.shuffle(1, 3, 5, 7)
        x.store(4 * i, (four > 0.0).select(four, both), mask=iota(Int, 4, i) < n)
        out.scatter(iota(Int, 4, i), x.gather(iota(Int, 4, n, step=i), mask=four > 1.0).reversed())
        out[i] = both.reduce_add() + four.reduce_max() + eight[i % 8]


@kernel
def bytes_of_floats(x: Pointer[Float8_e4m3fn], y: Pointer[Float8_e5m2], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        four = x.load(4 * i, width=4, alignment=4).cast(Float32) * out.load(4 * i, width=4)
        y.store(4 * i, four.saturating_cast(Float8_e5m2), alignment=4)
        x[i] = Float8_e4m3fn(Float64(out[i]) + Float16(y[i]))


@kernel
def turned(points: Pointer[Float32], m: mat44, q: quat, n: Int):
    i = global_idx.x
    if i < n:
        at = points.bitcast(vec3)
        p = slerp(q, quat.identity(), at[i].x).rotate(at[i])
        at[i] = (inverse(m) @ vec4(p, 1)).xyz / length(p)


@kernel
def vectorized(a: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row, col = global_idx.y, global_idx.x
    out.vectorize[1, 4]()[row, col] = a.vectorize[1, 4]()[row, col] * 2.0


@kernel
def private(out: Pointer[Float64], n: Int):
    mine = stack_allocation(Float64, 32)
    for i in range(32):
        mine[i] = out[i]
    out[global_idx.x] = mine[(n + global_idx.x) % 32]


@kernel
def talkative(x: Pointer[Float64], mask: Pointer[Bool], half: Pointer[Float16], brain: Pointer[BFloat16]):
    i = global_idx.x
    assert i < block_dim.x * grid_dim.x, "no such thread"
    print("thread", i, f"has {x[i]:.3f}", mask[i], half[i], brain[i], sep="\t", end="!\n")
    assert mask[i]


@kernel
def orderings(count: Pointer[Int32], flag: Pointer[Int32], wide: Pointer[Int], out: Pointer[Int32]):
    Atomic.fetch_add(count, 1, ordering="acq_rel", scope="device")
    Atomic.fetch_add(wide, 1, ordering="seq_cst", scope="system")
    Atomic.store(flag, 1, ordering="release", scope="block")
    fence("seq_cst")
    fence("acq_rel", scope="block")
    fence("seq_cst", scope="system")
    while Atomic.load(flag, ordering="acquire") != 1:
        pass
    found, written = Atomic.compare_exchange(count, 1, 2, ordering="acq_rel")
    if written:
        out[0] = found + Atomic.load(flag, ordering="seq_cst", scope="system")


@struct
class Vectors:
    brain: SIMD[BFloat16, 4]
    half: SIMD[Float16, 2]
    mask: SIMD[Bool, 8]
    small: SIMD[Int8, 16]
    wide: Float64


@kernel
def vector_arguments(v: Vectors, scale: SIMD[Float32, 4], flag: Bool, out: Pointer[Float32]):
    i = global_idx.x
    four = v.brain.cast(Float32) * scale + Float32(v.half[i % 2])
    if v.mask[i % 8] and flag:
        out.store(4 * i, four + Float32(v.small[i % 16]) * v.wide.cast(Float32))


@kernel
def blend(a: LayoutTensor[Float32], b: LayoutTensor[Float32], out: LayoutTensor[Float32], t: Float32):
    i, j = global_idx.y, global_idx.x
    out[i, j] = a[i, j] + t * (b[i, j] - a[i, j])


def one_function(name: str, dtype: Any) -> Kernel[...]:
    """A kernel that computes one function of ``weft.math``."""
    f: Callable[..., Any] = getattr(math, name)
    two = name in ("pow", "atan2", "hypot", "fmod", "remainder", "nextafter")

    def compute(x: Pointer[Any], y: Pointer[Any], out: Pointer[Any]):
        i = global_idx.x
        out[i] = f(x[i], y[i]) if two else f(x[i])

    return _renamed(compute, f"{name}_{dtype.dtype.name}", dtype)


INTEGERS = "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64".split()
FLOATS = "Float16 BFloat16 Float32 Float64".split()


def arithmetic(dtype: Any) -> Kernel[...]:
    """A kernel with every operator of a number format, and the way to every other format and back."""
    others = [getattr(weft, name) for name in [*INTEGERS, *FLOATS]]
    integer = dtype.dtype.is_integer

    def compute(x: Pointer[Any], y: Pointer[Any], out: Pointer[Any]):
        i = global_idx.x
        a, b = x[i], y[i]
        acc = a + b * (a - b)
        acc += a // b + a % b + a**3 + abs(a)
        if integer:
            acc ^= (a << b) | (a >> b) & ~a
            acc += a**b
        else:
            acc += a / b + math.floor(b) + math.fma(a, b, acc)
        acc += (a > b).select(a, math.min(b, acc))
        for other in others:
            acc += a.cast(other).cast(dtype)
        out[i] = acc
        lanes = x.load(2 * i, width=2)
        out.store(2 * i, lanes + lanes * y.load(2 * i, width=2))

    return _renamed(compute, f"arithmetic_{dtype.dtype.name}", dtype)


def atomics(dtype: Any) -> Kernel[...]:
    """A kernel with every atomic operation of an element type, in both kinds of shared memory."""
    names = "fetch_add fetch_sub fetch_min fetch_max exchange".split()
    names += "fetch_and fetch_or fetch_xor".split() if dtype.dtype.is_integer else []
    operations = [getattr(Atomic, name) for name in names]

    def compute(x: Pointer[Any], y: Pointer[Any], out: Pointer[Any]):
        here = stack_allocation(dtype, 32, address_space=AddressSpace.SHARED)
        here[thread_idx.x] = y[thread_idx.x]
        barrier()
        for operation in operations:
            y[0] = operation(x, y[1])
            y[2] = operation(here, y[3], scope="block")
        found, written = Atomic.compare_exchange(x, y[4], y[5])
        if written:
            out[0] = found

    return _renamed(compute, f"atomics_{dtype.dtype.name}", dtype)


def _renamed(compute: Any, name: str, dtype: Any) -> Kernel[...]:
    compute.__name__ = name
    compute.__annotations__ = dict.fromkeys(["x", "y", "out"], Pointer[dtype])
    return kernel(compute)


# What is assembled.


@dataclass(frozen=True)
class Case:
    """A kernel, and what is to be known of its parameters beyond their annotations."""

    name: str
    kernel: Kernel[...]
    given: dict[str, Any] = field(default_factory=dict[str, Any])
    over: Over | None = None

    def elaborated(self, target: str) -> Compilation:
        specs: dict[str, Spec] = {
            p.name: StaticSpec(self.given[p.name])
            if p.comptime
            else spec_of_annotation(p.annotation, *[v for n, v in self.given.items() if n == p.name])
            for p in parameters(self.kernel.definition)
        }
        return elaborate_kernel(self.kernel, specs, target, CompileOptions(self.over, distinct=True))

    def ptx(self, arch: str) -> str:
        text = self.elaborated(arch).emit("asm")
        assert isinstance(text, str)
        return text


def load(path: Path) -> ModuleType:
    """The module of a file, for its kernels."""
    name = f"assembled_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernels_of(module: ModuleType) -> dict[str, Kernel[...]]:
    found = {n: v for n, v in vars(module).items() if isinstance(v, Kernel)}
    return {n: k for n, k in found.items() if k.function.__module__ == module.__name__}


PICTURE, GRAY, SMALL = (Layout.row_major(*e) for e in [(512, 512, 3), (512, 512), (256, 256, 3)])
VECTOR = Layout.row_major(10)
EXAMPLES: dict[str, tuple[dict[str, Any], int]] = {
    "scalar_add": ({}, 0),
    "print_threads": ({}, 0),
    "vector_addition": ({"lhs": VECTOR, "rhs": VECTOR, "out": VECTOR}, 0),
    "grayscale": ({"image": PICTURE, "out": GRAY}, 0),
    "grayscale_over": ({"image": PICTURE, "out": GRAY}, 2),
    "downsample": ({"image": PICTURE, "out": SMALL, "factor": 2}, 0),
    "downsample_over": ({"image": PICTURE, "out": SMALL, "factor": 4}, 3),
    "mandelbrot_simd": ({"out": GRAY, "width": 8}, 2),
    "mandelbrot_pixels": ({"out": GRAY}, 2),
    "hello": ({}, 0),
    "softmax_rows": ({"columns": 4096, "threads": 256}, 0),
    "count_bytes": ({"copies": 2}, 0),
    "by_warps": ({"loads": 4}, 0),
    "by_blocks": ({"loads": 4}, 0),
    "transpose_tiles": ({"x": Layout.row_major(1000, 200), "out": Layout.row_major(200, 1000)}, 0),
}
"""What the kernels of ``examples/`` are launched with, and over how many extents."""


LATER = ("hopper_matmul", "matmul_mma")
"""The examples that not all architectures run."""


def example_cases() -> Iterator[Case]:
    for path in sorted((ROOT / "examples").glob("*.py")):
        if "@kernel" not in path.read_text(encoding="utf-8") or path.stem in LATER:
            continue
        for name, found in kernels_of(load(path)).items():
            given, rank = EXAMPLES.get(name, ({}, 0))
            yield Case(f"{path.stem}.{name}", found, given)
            if rank:
                yield Case(f"{path.stem}.{name}-over", found, given, describe_over(rank))
                wide = describe_over(rank, (4, 1))
                yield Case(f"{path.stem}.{name}-over-4", found, given, wide)
            if any(isinstance(v, Layout) for v in given.values()):
                dynamic = {n: v.dynamic() if isinstance(v, Layout) else v for n, v in given.items()}
                yield Case(f"{path.stem}.{name}-dynamic", found, dynamic)


T = TypeVar("T", bound=Number)


@struct
class Affine(Generic[T]):
    scale: T
    shift: T

    def of(self, x: T) -> T:
        return self.scale * x + self.shift


@kernel
def affine(x: Pointer[T], by: Affine[T], a: T):
    i: Any = global_idx.x
    x[i] = by.of(x[i]) + x.element_type(1) - a


@kernel
def meeting_lanes(x: Pointer[T], out: Pointer[UInt32], a: T):
    i = global_idx.x
    value = warp.shuffle_xor(x[i], 3) + warp.shuffle_up(x[i], 2, width=8) + a
    x[i] = warp.sum(warp.shuffle_down(value, 1)) + warp.prefix_sum(warp.shuffle_idx(x[i], i))
    out[i] = warp.ballot(x[i] > a) + warp.match_any(x[i])
    if warp.any(x[i] > a) and not warp.all(x[i] > a):
        out[i] += UInt32(lane_id() + warp_id())
    warp.syncwarp()
    words = warp.match_any((x[i], i)) + warp.reduce(out[i], "or") + warp.max(out[i])
    if warp.elect_one_sync():
        out[i] = words


@kernel
def some_warps(x: Pointer[Float32]):
    if warp_id() == 2:
        x[global_idx.x] = warp.sum(x[global_idx.x], width=4, stride=8)
        if is_gpu():
            named_barrier_arrive(3, 96)
    elif is_gpu():
        named_barrier(3, 96)


@kernel
def meeting_blocks(x: Pointer[T], out: Pointer[Int32], a: T):
    i = global_idx.x
    total = block.sum(x[i]) + block.max(x[i]) + block.prefix_sum(x[i], exclusive=True)
    x[i] = block.exchange(total, (i + 1) % block_dim.x) + block.broadcast(x[i], 3)
    out[i] = block.count(x[i] > a) + Int32(block.histogram(Int(out[i]), bins=64)[5])
    x[i], out[i] = block.radix_sort(x[i], out[i], most=256)
    items = InlineArray[T, 4](x[i], total, a, x[i + 1])
    x[i] = block.striped_to_blocked(block.blocked_to_striped(items, most=256), most=256)[3]
    if block.any(x[i] > a) != block.all(x[i] > a):
        out[i] = block.reduce(out[i], "xor")


@kernel
def tensor_cores(out: Pointer[Float32]):
    rows = stack_allocation(Float16, 512, address_space=AddressSpace.SHARED)
    for (a, b, count, sums), shape in SHAPES.items():
        if current_target().supports(shape.since):
            left, right = number_class(as_dtype(a), count), number_class(as_dtype(b), shape.k * 8 // 32)
            zero = number_class(as_dtype(sums), shape.m * 8 // 32)(0)
            d = mma(left(out[0].cast(left)), right(out[1].cast(right)), zero)
            out[lane_id()] += d[0].cast(Float32) + d[1].cast(Float32)
    if current_target().supports(Feature.MMA_HALF):
        for width in (2, 4, 8):
            for transpose in (False, True):
                loaded = ld_matrix(rows + 8 * lane_id(), width, transpose=transpose)
                if current_target().supports(Feature.STORE_MATRIX):
                    st_matrix(rows + 8 * lane_id(), loaded, transpose=transpose)
                out[lane_id()] += loaded[1].cast(Float32)
        numbers = rows.bitcast(Float32)
        out[lane_id()] += ld_matrix(numbers + 4 * lane_id(), 4)[3]
    async_copy(out + 4 * thread_idx.x, rows.bitcast(Float32))
    async_copy(out, rows.bitcast(Float32), size=4)
    async_copy(out, rows.bitcast(Float32), size=8, src_size=thread_idx.x)
    async_copy_commit_group()
    async_copy_wait_group(1)
    async_copy_wait_all()


@kernel
def halves_of_words(x: Pointer[Int16], out: Pointer[Int16]):
    i = thread_idx.x
    first, second = x.load(2 * i, width=2), x.load(2 * i + 64, width=2)
    out.store(2 * i, max(first, second) + iota(Int16, 2))


@kernel
def tiles(x: TMATensorTile[Float32], out: Pointer[Float32]):
    launch_bounds(256)
    tile = stack_allocation(Float32, 256, address_space=AddressSpace.SHARED, alignment=1024)
    pipe = Pipeline[3](stack_allocation(UInt64, 6, address_space=AddressSpace.SHARED))
    pipe.init(consumers=2)
    n = warp_id()
    if elect_one_sync():
        x.prefetch_descriptor()
        stage = pipe.producer_acquire(n)
        pipe.full(n).expect_bytes(x.nbytes)
        x.async_copy(tile + 32 * stage, pipe.full(n), (n, 4 * n))
        pipe.full(n).expect_more(16)
        bulk.async_bulk_copy(out, tile, 4, pipe.full(n))
        x.async_copy(tile, pipe.full(n), (0, 0), eviction_policy=CacheEviction.EVICT_FIRST)
        bulk.async_bulk_copy(out, tile, 4, pipe.full(n), eviction_policy=CacheEviction.EVICT_LAST)
        if current_target().supports(Feature.WGMMA):  # others warn that it is slow there
            x.async_multicast_load(tile, pipe.full(n), (n, 0), 3)
            x.async_multicast_load(tile, pipe.full(n), (0, 0), 3, eviction_policy=CacheEviction.EVICT_LAST)
            pipe.free(n).arrive_cluster(1)
    pipe.consumer_wait(n)
    out[n] = Float32(pipe.full(n).try_wait(0))
    pipe.consumer_release(n)
    async_proxy_fence()
    barrier()
    x.async_store(tile, (n, 0))
    x.async_reduce(tile, (0, 4 * n))
    bulk.async_bulk_copy(tile, out, 4)
    x.async_store(tile, (0, 0), eviction_policy=CacheEviction.EVICT_FIRST)
    bulk.async_bulk_copy(tile, out, 4, eviction_policy=CacheEviction.EVICT_UNCHANGED)
    bulk.async_bulk_reduce(tile.bitcast(Float16), out.bitcast(Float16), 8)
    bulk.async_bulk_reduce(tile.bitcast(UInt32), out.bitcast(UInt32), 8, "xor")
    bulk.async_bulk_commit_group()
    bulk.async_bulk_wait_group(1, read=True)
    bulk.async_bulk_wait_group(0)


def own_cases() -> Iterator[Case]:
    square = Layout.row_major(256, 256)
    three = {"a": square, "b": square, "out": square}
    yield Case("matmul", matmul, {**three, "tile": 16})
    yield Case("matmul-dynamic", matmul, {**{n: v.dynamic() for n, v in three.items()}, "tile": 16})
    yield Case("blend-over", blend, three, describe_over(2, (1, 4)))
    yield Case(
        "blend-dynamic-over", blend, {n: v.dynamic() for n, v in three.items()}, describe_over(2, (4, 1))
    )
    yield Case("vectorized", vectorized, {"a": square, "out": square})
    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float32, 1024).tensor(Layout.row_major(32, 32))
    yield Case("tiles", tiles, {"x": ctx.create_tma_tile(x, (8, 32))})
    for plain in (
        reverse,
        simd_loads,
        private,
        talkative,
        orderings,
        vector_arguments,
        turned,
        bytes_of_floats,
        some_warps,
        tensor_cores,
        halves_of_words,
    ):
        yield Case(plain.__name__, plain)
    for t in (Float32, Float64, Float16, Int8):
        of: Any = {"x": Pointer[t], "by": Affine[t], "a": t, "T": t}
        yield Case(f"affine-{t.__name__}", affine, of)
    for t in (Float32, Float64, Float16, Int8, Int32, Int):
        yield Case(f"meeting_lanes-{t.__name__}", meeting_lanes, {"x": Pointer[t], "a": t, "T": t})
        yield Case(f"meeting_blocks-{t.__name__}", meeting_blocks, {"x": Pointer[t], "a": t, "T": t})
    for name in "exp log sin cos tanh erf pow atan2 sinh asinh cbrt hypot remainder nextafter".split():
        for dtype in (Float32, Float64):
            yield _named(one_function(name, dtype))
    yield from (_named(arithmetic(getattr(weft, name))) for name in [*INTEGERS, *FLOATS])
    yield from (
        _named(atomics(getattr(weft, name))) for name in "Int32 Int64 UInt32 UInt64 Float32 Float64".split()
    )


def _named(found: Kernel[...]) -> Case:
    return Case(found.__name__, found)


def stage_cases() -> Iterator[Case]:
    module = load(Path(__file__).with_name("staged_kernels.py"))
    for found, given in module.KERNELS:
        yield Case(f"stages.{found.__name__}", found, given)


CASES = [*example_cases(), *stage_cases(), *own_cases()]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ptxas_takes_it(case: Case, arch: str, assemble: Callable[[str, str], str]) -> None:
    ptx = case.ptx(arch)
    found = re.search(rf"\n\.target ({arch}a?)\n", ptx)
    assert found
    assert ptx_version(ptx) <= NEWEST_PTX
    assert assemble(ptx, found[1]) == ""


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100", "sm_120"])
def test_what_llvm_packs_is_taken_apart(arch: str, assemble: Callable[[str, str], str]) -> None:
    ptx = Case("halves", halves_of_words).ptx(arch)
    assert "s16x2" not in ptx
    assert ptx.count("%half<4>") == 2  # LLVM would have packed these
    assert assemble(ptx, arch) == ""


def test_every_example_is_assembled() -> None:
    assert {case.name.partition(".")[2] for case in example_cases()} >= EXAMPLES.keys()


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("ret;", "return;", "Not a name of any known instruction: 'return'"),
        ("fma.rn.f32", "fma.rn.f64", "Arguments mismatch for instruction 'fma'"),
        (".target sm_90", ".target sm_120", "does not support .target sm_120"),
        (".version 7.8", ".version 99.0", "Unsupported .version 99.0"),
        ("matmul(", "matmul", "syntax error"),
    ],
)
def test_ptxas_refuses_what_is_wrong(
    right: str, wrong: str, complaint: str, assemble: Callable[[str, str], str]
) -> None:
    [case] = [case for case in CASES if case.name == "matmul"]
    ptx = case.ptx("sm_90")
    assert right in ptx
    assert complaint in assemble(ptx.replace(right, wrong), "sm_90")


def test_ptx_versions_are_read() -> None:
    assert ptx_version("//\n.version 8.10\n.target sm_120\n") == (8, 10)
    assert ptx_version(".version 9.0\n") > NEWEST_PTX
