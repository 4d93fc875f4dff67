"""Programmatic dependent launches, and graphs and native launches with attributes, on a real GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from group_kernels import cluster_sums, diffused, get, launch_diffuse, numbers, places, put
from weft import Comptime, Float32, Int, Int32, Int64, Pointer, kernel
from weft.diagnostics import LaunchError
from weft.gpu import (
    global_idx,
    launch_dependent_grids,
    wait_on_dependent_grids,
)
from weft.gpu.host import DeviceContext
from weft.lang.intrinsics import llvm_intrinsic
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace

pytestmark = pytest.mark.gpu
SHARED = AddressSpace.SHARED


@pytest.fixture(scope="module")
def ctx() -> Iterator[DeviceContext]:
    with DeviceContext(api="cuda") as context:
        yield context


# -- programmatic dependent launches --------------------------------------------------------------


def _now() -> Int64:
    return llvm_intrinsic("llvm.nvvm.read.ptx.sreg.globaltimer", Int64)


@kernel
def produce(x: Pointer[Float32], times: Pointer[Int64], nanoseconds: Int, *, early: Comptime[bool]):
    if early:
        launch_dependent_grids()
    start = _now()
    while _now() - start < nanoseconds:
        pass
    x[global_idx.x] += 1.0
    times[0] = _now()


@kernel
def consume(x: Pointer[Float32], out: Pointer[Float32], times: Pointer[Int64]):
    times[1] = _now()
    wait_on_dependent_grids()
    out[global_idx.x] = x[global_idx.x] * 10.0
    x[global_idx.x] += 1.0
    times[2] = _now()


class Chain:
    """A kernel that takes its time, and one that uses what it makes."""

    one_by_one = False
    """Whether kernels run one after the other whatever they ask for."""

    def __init__(self, ctx: DeviceContext) -> None:
        self.ctx = ctx
        self.x = put(ctx, np.zeros(64, np.float32))
        self.out = put(ctx, np.zeros(64, np.float32))
        self.times = put(ctx, np.zeros(3, np.int64))

    def run(self, *, early: bool = True, pdl: bool = True, between: Any = None, **options: Any) -> None:
        at: dict[str, Any] = {"grid_dim": 2, "block_dim": 32, **options}
        first = {name: value for name, value in at.items() if name in ("grid_dim", "block_dim", "stream")}
        self.ctx.enqueue_function(produce, self.x, self.times, 2_000_000, early=early, **first)
        if between is not None:
            between()
        self.ctx.enqueue_function(consume, self.x, self.out, self.times, pdl=pdl, **at)

    def check(self, runs: int, *, overlapped: bool | None) -> None:
        made, began, ended = get(self.ctx, self.times).tolist()
        assert get(self.ctx, self.x).tolist() == [2.0 * runs] * 64
        assert get(self.ctx, self.out).tolist() == [10.0 * (2 * runs - 1)] * 64
        assert made <= ended
        if overlapped is not None and not (overlapped and Chain.one_by_one):
            assert (began < made) == overlapped


@pytest.fixture(autouse=True, scope="module")
def one_by_one(under_sanitizer: bool) -> None:
    Chain.one_by_one = under_sanitizer


def test_overlap(ctx: DeviceContext) -> None:
    Chain(ctx).run()
    Chain(ctx).run(early=False)  # both are compiled now, so the host is ahead of the GPU
    for early, pdl, overlapped in [(True, True, True), (True, False, False), (False, True, False)]:
        chain = Chain(ctx)
        chain.run(early=early, pdl=pdl)
        chain.check(1, overlapped=overlapped)


def test_overlap_on_a_stream(ctx: DeviceContext) -> None:
    with ctx.create_stream() as stream:
        Chain(ctx).run()
        chain = Chain(ctx)
        ctx.synchronize()
        for _ in range(3):
            chain.run(stream=stream)
        stream.synchronize()
        chain.check(3, overlapped=True)


def test_what_else_is_queued_is_waited_for(ctx: DeviceContext) -> None:
    chain = Chain(ctx)
    ctx.enqueue_fill(chain.x, 5.0)
    ctx.enqueue_function(consume, chain.x, chain.out, chain.times, grid_dim=2, block_dim=32, pdl=True)
    assert get(ctx, chain.out).tolist() == [50.0] * 64
    chain = Chain(ctx)
    chain.run(between=lambda: ctx.enqueue_fill(chain.out, -1.0))
    chain.check(1, overlapped=False)


def test_a_dependent_launch_of_clusters(ctx: DeviceContext) -> None:
    chain = Chain(ctx)
    chain.run(cluster_dim=2)
    chain.check(1, overlapped=None)


@kernel
def follow(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    wait_on_dependent_grids()
    out[global_idx.x] = x[global_idx.x] + 0.5


def test_over_a_range(ctx: DeviceContext) -> None:
    """What is only read still comes after the wait."""
    chain = Chain(ctx)
    for _ in range(3):
        ctx.enqueue_function(produce, chain.x, chain.times, 200_000, early=True, grid_dim=2, block_dim=32)
        a, b = chain.x.tensor(Layout.row_major(64)), chain.out.tensor(Layout.row_major(64))
        ctx.enqueue_function(follow, a, b, over=64, pdl=True)
    assert get(ctx, chain.out).tolist() == [3.5] * 64


# -- graphs, and launches by native code ----------------------------------------------------------


def test_captured(ctx: DeviceContext) -> None:
    chain, data = Chain(ctx), numbers(32 * 8)
    x, sums = put(ctx, data), ctx.enqueue_create_buffer(Float32, 8)
    u, v = put(ctx, numbers(2048)), ctx.enqueue_create_buffer(Float32, 2048)

    def work(cluster: int, pdl: bool) -> None:
        ctx.enqueue_function(cluster_sums, x, sums, size=32, grid_dim=8, block_dim=32, cluster_dim=cluster)
        launch_diffuse(ctx, u, v)
        chain.run(pdl=pdl)

    with ctx.capture() as graph:
        work(2, True)
    assert len(graph) == 4
    for _ in range(3):
        graph.replay()
    assert get(ctx, sums).tolist() == np.repeat(data.reshape(4, -1).sum(axis=1), 2).tolist()
    np.testing.assert_allclose(get(ctx, u), diffused(numbers(2048), 150), rtol=1e-4, atol=1e-2)
    chain.check(3, overlapped=True)
    with graph.update():
        work(4, False)
    graph.replay()
    assert get(ctx, sums).tolist() == np.repeat(data.reshape(2, -1).sum(axis=1), 4).tolist()
    np.testing.assert_allclose(get(ctx, u), diffused(numbers(2048), 200), rtol=1e-4, atol=1e-2)
    chain.check(4, overlapped=False)


def test_native_launches_with_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was launched with attributes before is launched so again, without Python."""
    with DeviceContext(api="cuda") as ctx:
        chain, data = Chain(ctx), numbers(32 * 8)
        x, sums = put(ctx, data), ctx.enqueue_create_buffer(Float32, 8)
        ctx.compile_function(places)
        counted = [0]
        by_python = ctx.enqueue_by_python

        def counting(*args: Any, **named: Any) -> Any:
            counted[0] += 1
            return by_python(*args, **named)

        monkeypatch.setattr(ctx, "enqueue_by_python", counting)
        for _ in range(20):
            ctx.enqueue_function(cluster_sums, x, sums, size=32, grid_dim=8, block_dim=32, cluster_dim=4)
            assert get(ctx, sums).tolist() == np.repeat(data.reshape(2, -1).sum(axis=1), 4).tolist()
            chain.run(pdl=True)
        ctx.synchronize()
        assert counted[0] <= 6
        chain.check(20, overlapped=True)


def test_native_launches_have_no_attributes() -> None:
    """What was launched plainly a hundred times is still launched with clusters when it says so."""
    with DeviceContext(api="cuda") as ctx:
        out = ctx.enqueue_create_buffer(Int32, 80)
        for n in range(40):
            cluster = (None, 2, 4)[n % 3]
            for _ in range(3):
                ctx.enqueue_function(places, out, grid_dim=8, block_dim=1)
            if cluster is not None:
                ctx.enqueue_function(places, out, grid_dim=8, block_dim=1, cluster_dim=cluster)
            assert set(get(ctx, out).reshape(-1, 10)[:, 3].tolist()) == {cluster or 1}
            with pytest.raises(LaunchError, match="does not divide"):
                ctx.enqueue_function(places, out, grid_dim=8, block_dim=1, cluster_dim=3)


def test_arrays_of_torch(ctx: DeviceContext) -> None:
    torch: Any = pytest.importorskip("torch")
    data = numbers(32 * 8)
    x, out = torch.from_numpy(data).cuda(), torch.zeros(8, device="cuda")
    for _ in range(12):
        ctx.enqueue_function(cluster_sums, x, out, size=32, grid_dim=8, block_dim=32, cluster_dim=4)
    assert out.cpu().tolist() == np.repeat(data.reshape(2, -1).sum(axis=1), 4).tolist()
