"""How many blocks fit on a multiprocessor, beside what the driver says."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from weft import Comptime, Float32, Pointer, kernel, unroll
from weft.compile import compile_info
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation
from weft.runtime.cuda.toolkit import find_tool

pytestmark = pytest.mark.gpu


@kernel
def wide(x: Pointer[Float32], *, n: Comptime[int]):
    """Some ``n`` registers are alive at once."""
    own = [x[global_idx.x + i * 1024] for i in range(n)]
    barrier()
    for i in unroll(range(n)):
        x[global_idx.x + i * 1024] = own[i] * own[n - 1 - i]


@kernel
def tiled(x: Pointer[Float32]):
    tile = stack_allocation(Float32, 1000, address_space=AddressSpace.SHARED)
    tile[thread_idx.x] = x[global_idx.x]
    barrier()
    x[global_idx.x] = tile[thread_idx.x ^ 1]


@pytest.mark.parametrize("n", [0, 4, 40, 100])
def test_as_the_driver_counts(n: int) -> None:
    if find_tool("ptxas") is None:
        pytest.skip("no ptxas here")
    target = DeviceContext(api="cuda").target
    types: dict[str, Any] = {"n": n} if n else {}
    info = compile_info(wide if n else tiled, target=target, emission_kind="object", **types)
    cu: Any = importlib.import_module("cuda.bindings.driver")
    _, module = cu.cuModuleLoadData(info.code)
    status, function = cu.cuModuleGetFunction(module, info.name.encode())
    assert int(status) == 0, status
    for threads in (32, 96, 128, 160, 256, 480, 512, 1024):
        for shared in (0, 1000, 20000, 44000):
            status, blocks = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, shared)
            assert int(status) == 0, status
            assert info.resources.occupancy(threads, shared).blocks == blocks, (threads, shared)
    cu.cuModuleUnload(module)
