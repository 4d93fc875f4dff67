"""Launches with attributes on a GPU: clusters, cooperative and programmatic dependent launches."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from weft.diagnostics import DeviceError, LaunchError
from weft.runtime.cuda.errors import CudaFailure, version_text
from weft.runtime.driver import Extents, Launch, LaunchAttributes
from weft.targets import Feature, find_target

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary
    from weft.runtime.cuda.module import CudaFunction

_OLDEST = 11080
"""The first driver version with ``cuLaunchKernelEx``."""
_PORTABLE = 8
"""Blocks of a cluster that a kernel may have without asking for more."""
_CLUSTER_TOO_LARGE = 912
_KEPT = 32
"""Configurations kept for one kernel."""

_Key = tuple[Extents, Extents, int, LaunchAttributes | None, int]
_configs: weakref.WeakKeyDictionary[CudaFunction, dict[_Key, Any]] = weakref.WeakKeyDictionary()


def launch_config(primary: Primary, launch: Launch, stream: Any) -> Any:
    """The driver's configuration for a launch that it can make.

    Raises:
        LaunchError: a cluster, or all blocks of a cooperative launch, do not fit on the GPU at once.
        DeviceError: the driver is too old.
    """
    function: Any = launch.function
    known = _configs.setdefault(function, {})
    key = (launch.grid, launch.block, launch.shared_bytes, launch.attributes, int(stream))
    found = known.get(key)
    if found is None:
        found = _config(primary, launch, stream)
        _check(primary, function, found, launch)
        if len(known) == _KEPT:
            known.clear()
        known[key] = found
    return found


def _config(primary: Primary, launch: Launch, stream: Any) -> Any:
    if primary.cuda.version < _OLDEST:
        raise DeviceError.here(
            "driver-too-old",
            f"the NVIDIA driver here is of CUDA {version_text(primary.cuda.version)}; cluster_dim, "
            f"cooperative and pdl need {version_text(_OLDEST)} or newer",
            "install a newer NVIDIA driver (no CUDA toolkit is needed)",
        )
    cu = primary.cu
    ids = cu.CUlaunchAttributeID
    made: list[Any] = []

    def attribute(name: str) -> Any:
        one = cu.CUlaunchAttribute()
        one.id = getattr(ids, "CU_LAUNCH_ATTRIBUTE_" + name)
        made.append(one)
        return one.value

    attributes = launch.attributes or LaunchAttributes()
    if attributes.cluster is not None:
        dim = attribute("CLUSTER_DIMENSION").clusterDim
        dim.x, dim.y, dim.z = attributes.cluster
    if attributes.cooperative:
        attribute("COOPERATIVE").cooperative = 1
    if attributes.pdl and find_target(primary.info.target).supports(Feature.DEPENDENT_LAUNCH):
        attribute("PROGRAMMATIC_STREAM_SERIALIZATION").programmaticStreamSerializationAllowed = 1
    config = cu.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
    config.sharedMemBytes, config.hStream = launch.shared_bytes, stream
    config.attrs, config.numAttrs = made, len(made)
    return config


def _check(primary: Primary, function: CudaFunction, config: Any, launch: Launch) -> None:
    """Refuse what does not fit on the GPU at once."""
    _, grid, block, _, shared, _, asked = launch
    attributes = asked or LaunchAttributes()
    cu, cluster = primary.cu, attributes.cluster
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    if cluster is not None:
        size = cluster[0] * cluster[1] * cluster[2]
        if size > _PORTABLE:
            allowed = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            primary.call(cu.cuFuncSetAttribute, function.handle, allowed, 1)
        clusters = _active_clusters(primary, function, config)
        if clusters == 0:
            most = int(primary.call(cu.cuOccupancyMaxPotentialClusterSize, function.handle, config))
            raise _too_large(primary, cluster, min(most, size - 1))
        fit = clusters * size
    elif attributes.cooperative:
        each = primary.call(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor, function.handle, threads, shared)
        fit = int(each) * primary.info.multiprocessors
    else:
        return
    if attributes.cooperative and blocks > fit:
        raise LaunchError.here(
            "cooperative-blocks",
            f"grid_dim={tuple(grid)} has {blocks} blocks; {primary.info.name} runs {fit} of this kernel "
            f"at once with block_dim={tuple(block)}",
            notes=["cooperative=True asks that all blocks run at once, so that they can wait for each other"],
            hint=f"write grid_dim={fit} and let each block loop over its share of the work"
            if fit
            else "use smaller blocks, or less shared memory",
            at=("grid_dim", 0),
        )


def _active_clusters(primary: Primary, function: CudaFunction, config: Any) -> int:
    """How many clusters run at once."""
    try:
        return int(primary.cuda(primary.cu.cuOccupancyMaxActiveClusters, function.handle, config))
    except CudaFailure as failure:
        if failure.status == _CLUSTER_TOO_LARGE:
            return 0
        raise primary.error(failure) from None


def _too_large(primary: Primary, cluster: Extents, most: int) -> LaunchError:
    size = cluster[0] * cluster[1] * cluster[2]
    return LaunchError.here(
        "cluster-size",
        f"cluster_dim={tuple(cluster)} has {size} blocks; {primary.info.name} allows {most} per cluster "
        "for this kernel with its block and its shared memory",
        "use smaller clusters, smaller blocks or less shared memory",
        at=("cluster_dim", 0),
    )
