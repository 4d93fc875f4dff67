"""Where a thread stands: ``thread_idx``, ``block_idx``, ``block_dim``, ``grid_dim``, ``global_idx``."""

from __future__ import annotations

from collections.abc import Callable

from weft.lang.errors import refuse
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import element_index, grid_value, in_kernel, uses_thread
from weft.lang.scalars import Int, UInt32

__all__ = ["block_dim", "block_idx", "global_idx", "grid_dim", "thread_idx"]


def _read(register: str, operation: str, axis: str) -> Int:
    target = current_target()
    uses_thread()
    if target.supports(Feature.NVVM):
        return Int(llvm_intrinsic(f"llvm.nvvm.read.ptx.sreg.{register}.{axis}", UInt32, effects="none"))
    if target.supports(Feature.THREAD_LOOPS):
        return grid_value(operation, axis)
    refuse("unsupported", f"{operation} is not known on {target.name}")


class Dimensions:
    """Three numbers x, y and z, each read where it is used."""

    __slots__ = ("_operation", "_register")

    def __init__(self, register: str, operation: str) -> None:
        self._register = register
        self._operation = operation

    @property
    def x(self) -> Int:
        """Along x, the direction in which neighbouring threads should touch neighbouring memory."""
        return _read(self._register, self._operation, "x")

    @property
    def y(self) -> Int:
        """Along y."""
        return _read(self._register, self._operation, "y")

    @property
    def z(self) -> Int:
        """Along z."""
        return _read(self._register, self._operation, "z")

    def __repr__(self) -> str:
        return _shown(self, f"<{self._operation.removeprefix('gpu.')}: x, y and z in a kernel>")


def _element_or(axis: int, otherwise: Callable[[], Int]) -> Int:
    element = element_index(axis)
    return otherwise() if element is None else element


class GlobalIndex:
    """``block_dim * block_idx + thread_idx``, along x, y and z; in a launch over a range, the element."""

    __slots__ = ()

    @property
    def x(self) -> Int:
        """Along x."""
        return _element_or(0, lambda: block_dim.x * block_idx.x + thread_idx.x)

    @property
    def y(self) -> Int:
        """Along y."""
        return _element_or(1, lambda: block_dim.y * block_idx.y + thread_idx.y)

    @property
    def z(self) -> Int:
        """Along z."""
        return _element_or(2, lambda: block_dim.z * block_idx.z + thread_idx.z)

    def __repr__(self) -> str:
        return _shown(self, "<global_idx: x, y and z in a kernel>")


def _shown(index: Dimensions | GlobalIndex, outside: str) -> str:
    """The three numbers, as a kernel prints them."""
    return f"({index.x}, {index.y}, {index.z})" if in_kernel() else outside


thread_idx = Dimensions("tid", "gpu.thread_id")
"""The thread's place in its block: ``x``, ``y`` and ``z``, each an Int from 0 to below ``block_dim``."""
block_idx = Dimensions("ctaid", "gpu.block_id")
"""The block's place in the grid: ``x``, ``y`` and ``z``, each an Int from 0 to below ``grid_dim``."""
block_dim = Dimensions("ntid", "gpu.block_dim")
"""How many threads a block has, along ``x``, ``y`` and ``z``."""
grid_dim = Dimensions("nctaid", "gpu.grid_dim")
"""How many blocks the grid has, along ``x``, ``y`` and ``z``."""
global_idx = GlobalIndex()
"""``block_idx * block_dim + thread_idx``, along ``x``, ``y`` and ``z``.

In a launch ``over=`` a range it is the element: ``x`` along the last extent, ``y`` along the one before,
``z`` along the first of three.
"""
