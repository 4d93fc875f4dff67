"""Launches that touch more memory than the caches of a CPU hold, for which kernels have code of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from weft.abi.cpu_limits import TOUCHED, large
from weft.runtime.driver import DeviceInfo
from weft.targets import find_target


def is_large(info: DeviceInfo, extents: Sequence[int]) -> bool:
    """Whether a launch of so many threads may touch so much: those of grid and block, or of a range."""
    return TOUCHED * math.prod(extents) >= large() and threads_are_loops(info)


def small_grid(info: DeviceInfo, block: Sequence[int], most: int) -> int:
    """How many blocks a launch along x has at most that does not."""
    return min(most, (large() - 1) // (TOUCHED * math.prod(block))) if threads_are_loops(info) else most


def threads_are_loops(info: DeviceInfo) -> bool:
    """Whether a device is a CPU, or runs kernels as one."""
    return find_target(info.target).threads == "loops"
