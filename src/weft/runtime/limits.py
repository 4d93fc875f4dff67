"""Whether a device can take a grid and a block, before its driver is asked."""

from __future__ import annotations

from weft.diagnostics import Diagnostic
from weft.runtime.dim import EMPTY_HINT, Dim, empty
from weft.runtime.driver import DeviceInfo

_PREFERRED = 256
"""Threads of a block that a hint suggests where the launch has one dimension."""


def check_launch(
    info: DeviceInfo,
    grid: Dim,
    block: Dim,
    *,
    shared_bytes: int = 0,
    kernel_threads: int | None = None,
) -> list[Diagnostic]:
    """All that is wrong with a launch; an empty list where nothing is.

    Args:
        info: The device.
        grid: Blocks.
        block: Threads of a block.
        shared_bytes: Shared memory of a block, declared and dynamic.
        kernel_threads: Threads that a block of this kernel may have, where its registers allow
            fewer than the device does.

    Example:
        >>> from weft.runtime.driver import DeviceInfo
        >>> gpu = DeviceInfo("NVIDIA H200", "cuda", "sm_90", 1024, (1024, 1024, 64),
        ...                  (2**31 - 1, 65535, 65535), 232448, 132, 32, 150 << 30)
        >>> check_launch(gpu, Dim(1), Dim(1025))[0].message
        'block_dim=(1025, 1, 1) has 1025 threads; NVIDIA H200 allows 1024 per block'
    """
    found = [
        Diagnostic("dim-empty", empty(name, dim), hints=(EMPTY_HINT,))
        for name, dim in (("grid_dim", grid), ("block_dim", block))
        if min(dim) < 1
    ]
    if found:
        return found
    found = _wrong_with_block(info, grid, block, kernel_threads)
    for axis, size, limit in zip("xyz", grid, info.max_grid_dim, strict=True):
        if size > limit:
            message = f"grid_dim={tuple(grid)} is {size} in {axis}; {info.name} allows {limit} there"
            hint = "put the longest extent in x, or let each thread loop over several elements"
            found.append(Diagnostic("grid-extent", message, hints=(hint,)))
    if shared_bytes > info.max_shared_bytes:
        message = (
            f"a block of this launch takes {shared_bytes} bytes of shared memory; "
            f"{info.name} allows {info.max_shared_bytes}"
        )
        hint = "use smaller tiles, or fewer of them at a time"
        found.append(Diagnostic("shared-memory", message, hints=(hint,)))
    return found


def _wrong_with_block(
    info: DeviceInfo, grid: Dim, block: Dim, kernel_threads: int | None
) -> list[Diagnostic]:
    """What is wrong with a block: its threads, or else its extents."""
    given, most = f"block_dim={tuple(block)}", info.max_threads_per_block
    if block.total > most:
        message = f"{given} has {block.total} threads; {info.name} allows {most} per block"
        return [Diagnostic("block-threads", message, hints=(_smaller(info, grid, block, most),))]
    if kernel_threads is not None and block.total > kernel_threads:
        message = (
            f"{given} has {block.total} threads; "
            f"the registers of this kernel allow {kernel_threads} per block on {info.name}"
        )
        return [Diagnostic("block-registers", message, hints=(_smaller(info, grid, block, kernel_threads),))]
    return [
        Diagnostic(
            "block-extent",
            f"{given} is {size} in {axis}; {info.name} allows {limit} there",
            hints=(_smaller(info, grid, block, most),),
        )
        for axis, size, limit in zip("xyz", block, info.max_block_dim, strict=True)
        if size > limit
    ]


def _smaller(info: DeviceInfo, grid: Dim, block: Dim, threads: int) -> str:
    """A grid and a block that fit and hold at least as many threads in each dimension."""
    if block.total == block.x:
        extents = [min(_PREFERRED, threads), 1, 1]
    else:
        extents = [min(size, limit) for size, limit in zip(block, info.max_block_dim, strict=True)]
        while Dim(*extents).total > threads:
            longest = extents.index(max(extents))
            extents[longest] = -(-extents[longest] // 2)
    blocks = [-(-g * b // e) for g, b, e in zip(grid, block, extents, strict=True)]
    return (
        f"write grid_dim={tuple(blocks)}, block_dim={tuple(extents)}; "
        "where that makes more threads than elements, the kernel must leave out the rest"
    )
