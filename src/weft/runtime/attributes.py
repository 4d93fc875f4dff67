"""What a launch may ask for beyond grid and block, checked before the driver sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft.abi.artifact import KernelInfo
from weft.abi.warp import WARP
from weft.diagnostics import Diagnostic, LaunchError
from weft.record import replace
from weft.runtime.dim import Dim, as_dim
from weft.runtime.driver import DeviceInfo, LaunchAttributes
from weft.targets import Feature, Target, find_target

Found = list[tuple[Diagnostic, str]]
"""What is wrong, each with the argument that it is about."""


def launch_attributes(
    info: DeviceInfo,
    grid: Dim | None,
    cluster_dim: Any = None,
    cooperative: Any = False,
    pdl: Any = False,
    *,
    over: bool = False,
) -> tuple[LaunchAttributes | None, Found]:
    """The attributes of a launch, None where it asks for nothing; and all that is wrong with them.

    Args:
        info: The device.
        grid: Blocks, where they are known and right.
        cluster_dim: Blocks of a cluster, as the user gave them.
        cooperative: Whether all blocks must run at once, likewise.
        pdl: Whether the kernel may begin before the one before it has ended, likewise.
        over: Whether the launch is over a range, so that weft chooses the blocks.

    Example:
        >>> gpu = DeviceInfo("NVIDIA H200", "cuda", "sm_90", 1024, (1024, 1024, 64),
        ...                  (2**31 - 1, 65535, 65535), 232448, 132, 32, 150 << 30)
        >>> launch_attributes(gpu, Dim(8), cluster_dim=2)
        (LaunchAttributes(cluster=Dim(x=2, y=1, z=1), cooperative=False, pdl=False), [])
        >>> launch_attributes(gpu, Dim(9), cluster_dim=2)[1][0][0].message
        'grid_dim=(9, 1, 1) is 9 in x, which cluster_dim=(2, 1, 1) does not divide'
    """
    if cluster_dim is None and cooperative is False and pdl is False:
        return None, []
    found = _Found()
    report, target = found.report, find_target(info.target)
    for name, value in (("cooperative", cooperative), ("pdl", pdl)):
        if not isinstance(value, bool):
            report("launch-option", f"{name}={value!r} is not True or False", f"write {name}=True", name)
    if over:
        for name, given, feature in (
            ("cluster_dim", cluster_dim is not None, Feature.CLUSTERS),
            ("cooperative", cooperative is True, Feature.COOPERATIVE),
        ):
            if given and target.supports(feature):
                message = f"over= chooses the blocks, and {name}= needs a launch that says them"
                report("over", message, "give grid_dim= and block_dim= in place of over=", name)
        grid = None
    if cooperative is True and not target.supports(Feature.COOPERATIVE):
        report(
            "cooperative",
            f"{info.name} does not run all blocks of a launch at once, which cooperative=True asks for",
            "make two kernels of it: what is queued first has ended before the next begins",
            "cooperative",
        )
    cluster = None if cluster_dim is None else _cluster(cluster_dim, info, target, grid, found)
    return LaunchAttributes(cluster, cooperative is True, pdl is True), found


class _Found(list[tuple[Diagnostic, str]]):
    def report(self, code: str, message: str, hint: str, at: str) -> None:
        self.append((Diagnostic(code, message, hints=(hint,)), at))


def _cluster(given: Any, info: DeviceInfo, target: Target, grid: Dim | None, found: _Found) -> Dim | None:
    """The blocks of a cluster, where they are right."""
    if not target.supports(Feature.CLUSTERS):
        message = f"{info.name} has no clusters of blocks, which cluster_dim={given!r} asks for"
        hint = "leave it out; clusters need an NVIDIA GPU of compute capability 9.0 or newer"
        found.report("cluster-device", message, hint, "cluster_dim")
        return None
    cluster = _extents(given, found)
    if cluster is None:
        return None
    if cluster.total > target.cluster_limit:
        message = (
            f"cluster_dim={tuple(cluster)} has {cluster.total} blocks; "
            f"{info.name} allows {target.cluster_limit} per cluster at most"
        )
        hint = "use smaller clusters; 8 blocks run on every GPU that has clusters"
        found.report("cluster-size", message, hint, "cluster_dim")
    for axis, blocks, size in zip("xyz", grid or (), cluster, strict=grid is not None):
        if blocks % size:
            found.report("cluster-grid", *_uneven(grid or Dim(1), cluster, axis, blocks), "cluster_dim")
    return cluster


def _extents(given: Any, found: Found) -> Dim | None:
    try:
        return as_dim(given, "cluster_dim")
    except LaunchError as error:
        for diagnostic in error.diagnostics:
            if diagnostic.code == "dim-empty":
                message = f"cluster_dim={given!r} has no blocks; every extent must be 1 or more"
                hints = ("leave cluster_dim out for a launch without clusters",)
                diagnostic = replace(diagnostic, message=message, hints=hints)
            message = diagnostic.message.replace("a grid or a block has", "a cluster has")
            found.append((replace(diagnostic, message=message), "cluster_dim"))
        return None


def _uneven(grid: Dim, cluster: Dim, axis: str, blocks: int) -> tuple[str, str]:
    whole = tuple(-(-g // c) * c for g, c in zip(grid, cluster, strict=True))
    return (
        f"grid_dim={tuple(grid)} is {blocks} in {axis}, which cluster_dim={tuple(cluster)} does not divide",
        f"write grid_dim={whole}; where that makes more blocks than there is work for, "
        "the kernel must leave out the rest",
    )


def check_uses(
    info: DeviceInfo,
    kernel: KernelInfo,
    attributes: LaunchAttributes | None,
    shared_bytes: int,
    block: Sequence[int] = (WARP, 1, 1),
    *,
    over: bool = False,
) -> None:
    """Whether a kernel is launched as what it uses wants it.

    Raises:
        LaunchError: it waits for all blocks of the grid in a launch that is not cooperative, it does
            not wait for the kernel before it in a launch that may begin before that has ended, or it
            takes more dynamic shared memory than the launch gives, or with its
            own more than the device has, its blocks
            have more threads than it allows, or warps are not whole whose lanes it lets meet.
    """
    name, uses = kernel.signature.name, kernel.uses
    threads = math.prod(block)
    if 0 < kernel.max_threads < threads and not over:
        raise LaunchError.here(
            "launch-bounds",
            f"block_dim={tuple(block)} has {threads} threads; launch_bounds({kernel.max_threads}) of {name} "
            "allows no more",
            f"launch blocks of {kernel.max_threads} threads, or write launch_bounds({threads})",
            at=("block_dim", 0),
        )
    _check_shared(info, kernel, shared_bytes)
    if "tiles" in uses and "tiles_looked_up" not in uses:
        raise LaunchError.here(
            "tensor-tile",
            f"{name} copies tiles that the hardware has not looked up",
            "call x.prefetch_descriptor() for each in one thread of a block, before the first copy",
            at=("kernel", 0),
        )
    if "grid_sync" in uses and (attributes is None or not attributes.cooperative):
        raise LaunchError.here(
            "cooperative",
            f"{name} calls grid_sync(), for which all blocks of the launch must run at once",
            "write cooperative=True at the launch",
            at=("cooperative", 0),
        )
    if "warps" in uses and (over or math.prod(block) % WARP):
        _refuse_warps(name, block, over=over)
    if attributes is not None and attributes.pdl and "wait_on_dependent_grids" not in uses:
        raise LaunchError.here(
            "pdl-wait",
            f"{name} may begin before earlier work has ended, but never waits for it",
            "call wait_on_dependent_grids() before it uses memory that others use, or leave out pdl",
            at=("pdl", 0),
        )


def _check_shared(info: DeviceInfo, kernel: KernelInfo, shared_bytes: int) -> None:
    """Whether a launch gives the dynamic shared memory that a kernel takes, and the device has all."""
    name = kernel.signature.name
    if shared_bytes < kernel.dynamic_shared:
        raise LaunchError.here(
            "shared-memory",
            f"{name} takes at least {kernel.dynamic_shared} bytes of dynamic shared memory; "
            f"the launch gives {shared_bytes}",
            f"write shared_mem_bytes={kernel.dynamic_shared}, or as many as all elements of a block take",
            at=("shared_mem_bytes", 0),
        )
    if kernel.shared + shared_bytes > info.max_shared_bytes:
        raise LaunchError.here(
            "shared-memory",
            f"{name} has {kernel.shared} bytes of shared memory of its own, and the launch gives "
            f"{shared_bytes}; {info.name} allows {info.max_shared_bytes} together",
            f"write shared_mem_bytes={max(0, info.max_shared_bytes - kernel.shared)} or less",
            at=("shared_mem_bytes", 0),
        )


def _refuse_warps(name: str, block: Sequence[int], *, over: bool) -> None:
    threads = math.prod(block)
    found = f"block_dim={tuple(block)} has {threads} threads"
    hint = f"write block_dim={-(-threads // WARP) * WARP}"
    if over:
        found = "over= leaves out the threads behind the range's end"
        hint = "give grid_dim= and block_dim= in place of over="
    raise LaunchError.here(
        "warp-block",
        f"{name} uses operations of warps, for which all {WARP} lanes must be there; {found}",
        f"{hint}; lanes without an element of their own take part with one that changes nothing",
        at=("over" if over else "block_dim", 0),
    )
