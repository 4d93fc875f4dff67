"""What copies of tiles and expressions over fragments become on NVIDIA GPUs; its assembler takes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from weft import Comptime, Float16, Float32, Kernel, kernel, math
from weft.compile import compile_info
from weft.gpu import barrier, block_idx
from weft.gpu.memory import async_copy_commit_group, async_copy_wait_all
from weft.layout import (
    ComposedLayout,
    Layout,
    LayoutTensor,
    Swizzle,
    copy_dram_to_local,
    copy_dram_to_sram,
    copy_dram_to_sram_async,
    copy_local_to_dram,
    copy_local_to_shared,
    copy_sram_to_dram,
    copy_sram_to_local,
)
from weft.memory import AddressSpace, stack_allocation

SHARED = AddressSpace.SHARED
LARGE, ODD = Layout.row_major(1024, 1024), Layout.row_major(1001, 1024)


@kernel
def turned(x: LayoutTensor[Float32], out: LayoutTensor[Float32], *, ahead: Comptime[bool]):
    layout = ComposedLayout(Layout.row_major(32, 32), Swizzle(3, 2, 5))
    here = stack_allocation(Float32, layout, address_space=SHARED)
    tile = x.tile[32, 32](block_idx.y, block_idx.x).vectorize[1, 4]()
    if ahead:
        copy_dram_to_sram_async(here.vectorize[1, 4](), tile, num_threads=256)
        async_copy_wait_all()
    else:
        copy_dram_to_sram(here.vectorize[1, 4](), tile, num_threads=256)
    barrier()
    to = out.tile[32, 32](block_idx.x, block_idx.y).vectorize[1, 4]()
    copy_sram_to_dram(to, here.transpose().vectorize[1, 4](), num_threads=256)


@kernel
def fragments(x: LayoutTensor[Float16], out: LayoutTensor[Float32]):
    """Run-time extents, every copy, a circular buffer, and expressions."""
    stages = stack_allocation(Float16, Layout.row_major(24, 16), address_space=SHARED)
    stage = stages.tiled_iterator[8, 16](0, 0, circular=True)
    threads = Layout.row_major(8, 4)
    total = stack_allocation(Float32, Layout.row_major(1, 4)).fill(0.0)
    for tile in x.tiled_iterator[8, 16](block_idx.y, 0, axis=1):
        copy_dram_to_sram_async(stage.get().vectorize[1, 2](), tile.vectorize[1, 2](alignment=4))
        async_copy_commit_group()
        async_copy_wait_all()
        barrier()
        part = stack_allocation(Float16, Layout.row_major(1, 4))
        copy_sram_to_local(part, stage.get(), thread_layout=threads)
        total += part.map(lambda e: e.cast(Float32))
        stage += 1
    total = math.exp(total - total.max(axis=1, keepdims=True))
    held = stack_allocation(Float32, Layout.row_major(8, 16), address_space=SHARED)
    copy_local_to_shared(held, total, thread_layout=threads)
    target = out.tile[8, 16](block_idx.y, 0)
    copy_local_to_dram(target, total, thread_layout=threads)
    copy_dram_to_local(total, target, thread_layout=threads)
    copy_sram_to_dram(target, held)


def ptx(function: Kernel[...], arch: str, *layouts: Layout, **named: Any) -> str:
    return str(compile_info(function, *layouts, target=arch, emission_kind="asm", **named))


def accesses(text: str) -> list[str]:
    """What moves elements, in order."""
    return re.findall(r"(?:ld|st)\.(?:global|shared)[.\w]*|cp\.async\.c[ag][.\w]*|cp\.async\.wait_all", text)


@pytest.mark.parametrize(
    ("arch", "x"),
    [("sm_75", ODD), ("sm_80", LARGE.dynamic()), ("sm_90", ODD), ("sm_120", LARGE.dynamic())],
)
def test_ptxas_takes_copies(arch: str, x: Layout, assemble: Callable[[str, str], str]) -> None:
    for ahead in (False, True):
        assert assemble(ptx(turned, arch, x, x, ahead=ahead), arch) == ""
    assert assemble(ptx(fragments, arch, x, LARGE), arch) == ""


def test_vectors_are_copied_whole() -> None:
    """16 bytes at once where that is known, whichever way; the column of a transposed vector one by one."""
    read = ["ld.shared.b32"] * 4 + ["st.global.v4.b32"]
    ahead = ptx(turned, "sm_90", LARGE, LARGE, ahead=True)
    assert accesses(ahead) == ["cp.async.cg.shared.global", "cp.async.wait_all", *read]
    assert "], 16;" in ahead
    sync = accesses(ptx(turned, "sm_90", LARGE, LARGE, ahead=False))
    assert sync == ["ld.global.nc.v4.b32", "st.shared.v4.b32", *read]
    older = accesses(ptx(turned, "sm_75", LARGE, LARGE, ahead=True))
    assert older == sync  # without asynchronous copies


def test_tiles_at_the_edge_are_cut_by_the_copy() -> None:
    """Those that are whole are copied without a count, by a way of their own."""
    text = ptx(turned, "sm_80", ODD, LARGE, ahead=True)
    counts = [bool(count) for count in re.findall(r"cp\.async\.cg[^;]*, 16(, %r\w+)?;", text)]
    assert sorted(counts) == [False, True]
