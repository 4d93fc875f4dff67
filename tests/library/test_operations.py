"""Every operation of ``weft.gpu`` on every target: the instruction that it is, or a message why not.

What is refused is refused at compile time, with the operation's name, the target, and what to do instead;
what is not is taken by NVIDIA's assembler.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from made_up_targets import AMD
from ptxas import find_ptxas
from weft import (
    SIMD,
    BFloat16,
    CompileError,
    Float8_e4m3fn,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Pointer,
    UInt64,
    kernel,
)
from weft.atomic import Atomic, fence
from weft.compile import compile_info
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import (
    block,
    block_rank_in_cluster,
    cluster_arrive,
    cluster_dim,
    cluster_sync,
    cluster_wait,
    grid_sync,
    launch_dependent_grids,
    map_shared_rank,
    thread_idx,
    wait_on_dependent_grids,
    warp,
)
from weft.gpu.bulk import async_bulk_commit_group, async_bulk_copy, async_bulk_wait_group
from weft.gpu.mbarrier import SharedMemBarrier
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_all, async_copy_wait_group
from weft.gpu.mma import ld_matrix, mma, st_matrix
from weft.gpu.semaphore import Semaphore
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.gpu.wgmma import async_proxy_fence, set_max_registers, warpgroup_zero, wgmma_async
from weft.lang.accept import spec_of_annotation
from weft.memory import AddressSpace, stack_allocation

OLDEST = 70
Use = Callable[[Any], Any]
"""What a kernel does with its memory."""


@dataclass(frozen=True)
class Is:
    """What PTX has for it ``since`` a capability, one of the ``words``; and before, or that it is refused."""

    use: Use
    words: str
    since: int = OLDEST
    before: str = ""
    only: bool = False
    """Later targets have it no more."""


def shared(dtype: Any, count: int = 64) -> Any:
    return stack_allocation(dtype, count, address_space=AddressSpace.SHARED, alignment=1024)


def own(x: Pointer[Int32]) -> Int32:
    return x[thread_idx.x]


def keep(x: Pointer[Int32], value: Any) -> None:
    number = value if value.lanes == 1 else value[0]
    x[thread_idx.x] = number.cast(Int32)


def product(a: Any, b: Any, c: Any, x: Pointer[Int32]) -> None:
    keep(x, mma(a(2), b(3), c(own(x).cast(c.dtype))))


def rows(x: Pointer[Int32]) -> None:
    keep(x, ld_matrix(shared(Float16, 512) + 8 * thread_idx.x, 8))


def stored(x: Pointer[Int32]) -> None:
    st_matrix(shared(Float16, 512) + 8 * thread_idx.x, Float16.splat(8, 1.0))


def copied(x: Pointer[Int32]) -> None:
    here = shared(Int32)
    async_copy(x + 4 * thread_idx.x, here + 4 * thread_idx.x)
    async_copy_wait_all()
    keep(x, here[thread_idx.x])


def mbarrier() -> SharedMemBarrier:
    return SharedMemBarrier(stack_allocation(UInt64, 1, address_space=AddressSpace.SHARED))


def brought(x: Pointer[Int32]) -> None:
    here = shared(Int32)
    async_bulk_copy(x, here, 64, mbarrier())
    keep(x, here[thread_idx.x])


def taken(x: Pointer[Int32]) -> None:
    here = shared(Int32)
    here[thread_idx.x] = own(x)
    async_bulk_copy(here, x, 64)


def wgmma(x: Pointer[Int32]) -> None:
    keep(x, wgmma_async(shared(Float16), shared(Float16), warpgroup_zero(8))[0])


def multiplied(a: Any, b: Any, c: Any) -> Use:
    return partial(product, a, b, c)


def alone(function: Callable[[], None]) -> Use:
    return lambda _: function()


OPERATIONS: dict[str, Is] = {
    "a shuffle": Is(lambda x: keep(x, warp.shuffle_xor(own(x), 1)), "shfl.sync.bfly"),
    "broadcast": Is(lambda x: keep(x, warp.broadcast(own(x))), "shfl.sync.idx"),
    "ballot()": Is(lambda x: keep(x, warp.ballot(own(x) > 0)), "vote.sync.ballot"),
    "uni()": Is(lambda x: keep(x, warp.uniform(own(x) > 0)), "vote.sync.ballot"),
    "match_any()": Is(lambda x: keep(x, warp.match_any(own(x))), "match.any.sync"),
    "syncwarp()": Is(lambda _: warp.syncwarp(), "bar.warp.sync"),
    "warp.sum": Is(lambda x: keep(x, warp.sum(own(x))), "redux.sync.add", 80, "shfl.sync"),
    "elect_one_sync()": Is(lambda x: keep(x, warp.elect_one_sync()), "elect.sync", 90, "%laneid"),
    "block.sum": Is(lambda x: keep(x, block.sum(own(x).cast(Float32))), "bar.sync|barrier.sync"),
    "block.any": Is(lambda x: keep(x, block.any(own(x) > 0)), "barrier.cta.red.or|bar.red.or"),
    "block.radix_sort": Is(lambda x: keep(x, block.radix_sort(own(x))), "vote.sync.ballot"),
    "block.histogram": Is(
        lambda x: keep(x, block.histogram(own(x), bins=4)[0]),
        "atom|red",
    ),
    "named_barrier()": Is(lambda _: named_barrier(1, 64), "barrier.cta.sync|barrier.sync"),
    "named_barrier_arrive()": Is(lambda _: named_barrier_arrive(1, 64), "barrier.cta.arrive|barrier.arrive"),
    "Atomic.fetch_add": Is(lambda x: keep(x, Atomic.fetch_add(x, 1)), "atom"),
    "fence": Is(lambda _: fence("acq_rel"), "fence.acq_rel"),
    "Semaphore": Is(lambda x: Semaphore(x).wait(1), "ld.acquire"),
    "grid_sync()": Is(lambda _: grid_sync(), "%envreg2"),
    "launch_dependent_grids": Is(alone(launch_dependent_grids), "griddepcontrol.launch", 90, "ret;"),
    "wait_on_dependent_grids": Is(alone(wait_on_dependent_grids), "griddepcontrol.wait", 90, "ret;"),
    "cluster_sync()": Is(lambda _: cluster_sync(), "barrier.cluster.wait", 90),
    "cluster_arrive()": Is(lambda _: cluster_arrive(), "barrier.cluster.arrive", 90),
    "cluster_wait()": Is(lambda _: cluster_wait(), "barrier.cluster.wait", 90),
    "cluster_dim.x": Is(lambda x: keep(x, cluster_dim.x), "%cluster_nctaid.x", 90),
    "block_rank_in_cluster()": Is(lambda x: keep(x, block_rank_in_cluster()), "%cluster_ctarank", 90),
    "map_shared_rank()": Is(lambda x: keep(x, map_shared_rank(shared(Int32), 1)[0]), "mapa.shared", 90),
    "async_copy": Is(copied, "cp.async.cg.shared.global", 80, "st.shared"),
    "async_copy_commit_group": Is(alone(async_copy_commit_group), "cp.async.commit_group", 80, "ret;"),
    "async_copy_wait_group": Is(lambda _: async_copy_wait_group(1), "cp.async.wait_group 1", 80, "ret;"),
    "async_copy_wait_all": Is(alone(async_copy_wait_all), "cp.async.wait_all", 80, "ret;"),
    "async_bulk_copy": Is(brought, "cp.async.bulk.shared::cluster.global", 90, "st.shared"),
    "async_bulk_copy, back": Is(taken, "cp.async.bulk.global.shared::cta", 90, "st.global"),
    "async_bulk_commit_group": Is(alone(async_bulk_commit_group), "cp.async.bulk.commit_group", 90, "ret;"),
    "async_bulk_wait_group": Is(alone(async_bulk_wait_group), "cp.async.bulk.wait_group 0", 90, "ret;"),
    "init": Is(lambda _: mbarrier().init(1), "mbarrier.init.shared", 90, "ret;"),
    "arrive": Is(lambda _: mbarrier().arrive(), "mbarrier.arrive", 90, "atom"),
    "expect_bytes": Is(lambda _: mbarrier().expect_bytes(64), "mbarrier.arrive.expect_tx", 90, "atom"),
    "wait": Is(lambda _: mbarrier().wait(0), "mbarrier.try_wait.parity", 90, "bra"),
    "ldmatrix": Is(rows, "ldmatrix.sync.aligned.m8n8.x4", 75),
    "stmatrix": Is(stored, "stmatrix.sync.aligned.m8n8.x4", 90),
    "mma.sync.aligned.m16n8k8.row.col.f32.f16": Is(
        multiplied(SIMD[Float16, 4], SIMD[Float16, 2], SIMD[Float32, 4]), "mma.sync.aligned.m16n8k8", 75
    ),
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16": Is(
        multiplied(SIMD[BFloat16, 8], SIMD[BFloat16, 4], SIMD[Float32, 4]),
        "m16n8k16.row.col.f32.bf16",
        80,
    ),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32": Is(
        multiplied(SIMD[Float32, 4], SIMD[Float32, 2], SIMD[Float32, 4]), "m16n8k8.row.col.f32.tf32", 80
    ),
    "mma.sync.aligned.m8n8k4.row.col.f64": Is(
        multiplied(Float64, Float64, SIMD[Float64, 2]), "mma.sync.aligned.m8n8k4.row.col.f64", 80
    ),
    "mma.sync.aligned.m16n8k32.row.col.s32.s8": Is(
        multiplied(SIMD[Int8, 16], SIMD[Int8, 8], SIMD[Int32, 4]), "m16n8k32.row.col.s32.s8", 80
    ),
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3": Is(
        multiplied(SIMD[Float8_e4m3fn, 16], SIMD[Float8_e4m3fn, 8], SIMD[Float32, 4]),
        "f32.e4m3.e4m3",
        89,
    ),
    "wgmma_async()": Is(
        wgmma,
        "wgmma.mma_async.sync",
        90,
        only=True,
    ),
    "set_max_registers": Is(lambda _: set_max_registers(64, more=True), "setmaxnreg.inc", 90, "ret;"),
    "async_proxy_fence": Is(alone(async_proxy_fence), "fence.proxy.async", 90, "ret;"),
}
PLAIN = {
    "Atomic.fetch_add",
    "fence",
    "Semaphore",
    "launch_dependent_grids",
    "wait_on_dependent_grids",
    "async_copy",
    "async_copy_commit_group",
    "async_copy_wait_group",
    "async_copy_wait_all",
    "async_bulk_copy",
    "async_bulk_copy, back",
    "async_bulk_commit_group",
    "async_bulk_wait_group",
    "block.histogram",
    "async_proxy_fence",
    "set_max_registers",
    "init",
    "arrive",
    "expect_bytes",
    "wait",
}
"""What is weft's own language where there is no instruction."""
CAPABILITIES = (70, 75, 80, 89, 90, 100, 120)


def ptx_of(name: str, capability: int) -> str:
    use = OPERATIONS[name].use

    @kernel
    def uses(x: Pointer[Int32]):
        use(x)

    return str(compile_info(uses, target=f"sm_{capability}"))


@pytest.mark.parametrize("name", OPERATIONS)
def test_it_is_an_instruction_or_is_refused(name: str, tmp_path: Path) -> None:
    it = OPERATIONS[name]
    has = [c for c in CAPABILITIES if c == it.since or (c > it.since and not it.only)]
    lacks = [c for c in CAPABILITIES if c not in has]
    for capability in {has[0], has[-1]}:
        text = ptx_of(name, capability)
        assert any(word in text for word in it.words.split("|")), text
        assembled(text, capability, tmp_path)
    for capability in {lacks[0], lacks[-1]} if lacks else ():
        if it.before:
            text = ptx_of(name, capability)
            assert it.before in text
            assert it.words not in text
            assembled(text, capability, tmp_path)
            continue
        with pytest.raises(CompileError) as error:
            ptx_of(name, capability)
        (found,) = error.value.diagnostics
        assert found.code == "unsupported"
        assert name in found.message
        assert f"sm_{capability}" in found.message
        assert found.hints


@pytest.mark.parametrize("name", OPERATIONS)
def test_another_vendor_has_it_or_says_so(name: str) -> None:
    """Of a vendor without words for lanes and tensor cores, whatever the length of its warps."""
    use = OPERATIONS[name].use

    @kernel
    def uses(x: Pointer[Int32]):
        use(x)

    try:
        elaborate_kernel(uses, {"x": spec_of_annotation(Pointer[Int32])}, AMD)
    except CompileError as error:
        assert name not in PLAIN
        found = error.diagnostics[0]
        assert found.code == "unsupported"
        assert AMD.name in found.message
        assert found.hints
    else:
        assert name in PLAIN


def assembled(text: str, capability: int, folder: Path) -> None:
    ptxas = find_ptxas()
    if ptxas is None or capability < 75:  # the newest assembler knows no older ones
        return
    (folder / "it.ptx").write_text(text, encoding="utf-8")
    arch = f"sm_{capability}{'a' if f'sm_{capability}a' in text else ''}"
    done = subprocess.run(
        [ptxas, "-arch", arch, "it.ptx", "-o", "it.cubin"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr + text
