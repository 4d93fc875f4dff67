"""Modules that together have every operation: as kernels are elaborated, and as the passes leave them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ir.staged_kernels import KERNELS

from weft import Float32, Float64, Int, Int32, Pointer, UInt32, UInt64, func, kernel, math
from weft.abi.checks import CHECKS
from weft.atomic import Atomic, fence
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.ir.core import Module
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import elaborate_kernel
from weft.ffi import external_call, function_pointer
from weft.gpu import (
    barrier,
    block,
    cluster_dim,
    cluster_sync,
    global_idx,
    grid_dim,
    grid_sync,
    map_shared_rank,
    thread_idx,
    warp,
)
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.lang.accept import spec_of_annotation
from weft.lang.intrinsics import inline_asm, llvm_intrinsic
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.targets import find_target


@func
def pair(x: Float32, n: Int) -> tuple[Float32, Int]:
    if n > 3:
        return x, n
    return x + 1.0, n - 1


@kernel
def much(x: Pointer[Float32], counts: Pointer[Int32], n: Int):
    tile = stack_allocation(Float32, 64, address_space=AddressSpace.SHARED)
    own = stack_allocation(Float32, 8)
    tile[thread_idx.x] = x[global_idx.x] * 2.0
    barrier()
    acc = 0.0
    for i in range(n):
        if i > 5:
            break
        own[i % 8] = tile[i] % 3.0
        acc += own[i % 8]
    while acc > 10.0 and n < 100:
        acc = acc / 2.0
        if acc < 0.0:
            continue
        n += Int(acc)
    four = x.load(4 * global_idx.x, width=4)
    mixed = (four > 1.0).select(four.shuffle(3, 2, 1, 0), -four)
    Atomic.fetch_add(counts, 1)
    Atomic.compare_exchange(counts, 1, 2, ordering="acq_rel")
    Atomic.store(counts, Atomic.load(counts, ordering="acquire"), ordering="release")
    fence("seq_cst")
    first, second = pair(mixed[0], n)
    bits = llvm_intrinsic("llvm.ctpop.i64", Int, second, effects="none")
    assert first > 0.0, f"first is {first}"
    print("here", bits, acc)
    x[0] = first + Float32(bits) + mixed.reduce_add() + Float32(dynamic_shared_memory(Int32, 16)[0])


@kernel
def rest(x: Pointer[Int32], n: Int, unsigned: UInt32, wide: Float64):
    large = stack_allocation(Float32, 100_000)
    large[n % 100_000] = Float32(wide)
    barrier()
    i = Int(x[grid_dim.x]) // n
    if i > 0:
        x[0] = Int32(i) + Int32(Float64(unsigned) * wide) + Int32(large[i])
        x.store(1, x.load(4, width=4).insert(n % 4, 7))
        return
    else:
        return


@kernel
def functions(x: Pointer[Float32], counts: Pointer[UInt32]):
    y = math.fma(math.sqrt(x[0]), abs(x[1]), math.copysign(x[2], x[3]))
    y = math.min(math.floor(y), math.ceil(y)) + math.max(math.trunc(y), math.round(y))
    counts[0] = UInt32(y) + UInt32(Int32(y)) >> counts[1]


@kernel
def machine(x: Pointer[Int]):
    x[0] = inline_asm("mov.u64 $0, %clock64;", Int, constraints="=l")


@kernel
def meeting(x: Pointer[Int32]):
    tile = stack_allocation(Int32, 8, address_space=AddressSpace.SHARED)
    tile[thread_idx.x] = x[global_idx.x]
    cluster_sync()
    x[global_idx.x] = map_shared_rank(tile, cluster_dim.x - 1)[thread_idx.x]
    grid_sync()
    x[global_idx.x] += x[0]


@kernel
def lanes(x: Pointer[Int32]):
    x[global_idx.x] = warp.shuffle_up(block.sum(x[global_idx.x]), 1)
    if warp.ballot(x[global_idx.x] > 0.0) == thread_idx.x:
        x[global_idx.x] = block.broadcast(x[global_idx.x])
    x[global_idx.x] += warp.match_any(x[global_idx.x]).cast(Int32)


@func
def ascending(a: Pointer[Int32], b: Pointer[Int32]) -> Int32:
    return a[0] - b[0]


@kernel
def calls_of_c(x: Pointer[Int32], n: UInt64):
    external_call["qsort", None](x, n, n, function_pointer(ascending))
    Pointer.from_address(Int(x), Int32)[1] = external_call["abs", Int32](x[0])


@kernel
def alone(x: Pointer[Float32]):
    x[thread_idx.x] *= 2.0


@kernel
def parted(x: Pointer[Int32]):
    if thread_idx.x < 32:
        named_barrier_arrive(1, 64)
    else:
        named_barrier(1, 64)
        x[thread_idx.x] += 1
    while Atomic.load(x) == 0:  # which another block writes
        pass


@kernel
def stops(x: Pointer[Int32]):
    n = x[0]
    if n > 0:
        breakpoint()


def _modules() -> Iterator[tuple[str, Module]]:
    both, gpu = ("sm_90", "x86-64"), ("sm_90",)
    kernels: list[tuple[Any, dict[str, object], tuple[str, ...]]]
    own: list[Any] = [much, rest, functions]
    kernels = [
        *((k, c, both) for k, c in KERNELS),
        *((k, {}, both) for k in own),
        (machine, {}, gpu),
        (calls_of_c, {}, ("x86-64",)),
        (meeting, {}, ("x86-64",)),
        (lanes, {}, both),
        (parted, {}, ("x86-64",)),
        (stops, {}, ("interpreter",)),
    ]
    for made, comptime, targets in kernels:
        specs: dict[str, Spec] = {
            p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
            for p in parameters(made.definition)
        }
        for target in targets:
            module = elaborate_kernel(made, specs, target).module
            yield f"{made.__name__}-{target}", module
            if find_target(target).format != "python":
                yield f"{made.__name__}-{target}-passed", run_passes(module, find_target(target), large=True)

    spec = {"x": spec_of_annotation(Pointer[Float32])}
    checked = elaborate_kernel(alone, spec, "x86-64", CompileOptions(checked=frozenset(CHECKS))).module
    yield "checked", checked
    for target in ("x86-64", "sm_80"):  # which has two versions
        options = CompileOptions(checked=frozenset({"bounds"}))
        module = elaborate_kernel(alone, spec, target, options).module
        yield f"bounds-{target}", module
        yield f"bounds-{target}-passed", run_passes(module, find_target(target))


MODULES = dict(_modules())
