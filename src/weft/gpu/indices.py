"""Where a thread stands: ``thread_idx``, ``block_idx``, ``block_dim``, ``grid_dim``, ``global_idx``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from weft.diagnostics import refuse
from weft.diagnostics.instead import instead
from weft.lang.hints import kind_of
from weft.lang.machine import element_index, grid_value, in_kernel, note_bounds
from weft.lang.operators import SIGNS, define_operators
from weft.lang.scalars import Int

_AXES = 3
_MOST = 1024
_BLOCKS = 32
"""Threads of a block."""


@instead({"()": "write {}.x", "[]": "write {0}.x, {0}.y or {0}.z"})
class _Three:
    """x, y and z, which compare as tuples do."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        if not in_kernel() or other is self:
            return self is other
        if not isinstance(other, (_Three, tuple)) or len(numbers := tuple(cast("Any", other))) != _AXES:
            name = self._name()
            message = (
                f"{name} is three numbers, x, y and z, and never equals {kind_of(cast('object', other))}"
            )
            refuse("operand", message, hint=self._compared())
        x, y, z = [a == c for a, c in zip(cast("Any", self), numbers, strict=True)]
        return x & y & z

    def __ne__(self, other: object) -> Any:
        same: Any = self == other
        return not same if isinstance(same, bool) else ~same

    __hash__ = object.__hash__

    def _name(self) -> str:
        name: str = cast("Any", self).__weft_stepped__()
        return name + "x" * name.endswith("_id")

    def __bool__(self) -> bool:
        if in_kernel():
            refuse("condition", f"{self._name()} is three numbers and no condition", self._compared())
        return True

    def _compared(self) -> str:
        return f"compare one, {self._name()}.x == 0, or all three: {self._name()} == (0, 0, 0)"


def _of_numbers(verb: str) -> Callable[[Any, Any], Any]:
    """An operator of numbers: refused in kernels, where Python would name a class that nobody wrote."""

    def method(self: Any, other: object) -> Any:
        if not in_kernel():
            return NotImplemented
        message = f"cannot {verb} {self._name()}, which is three numbers, with {kind_of(other)}"
        refuse("operand", message, hint=f"take one of its numbers: {self._name()}.x, say")

    return method


define_operators(_Three, SIGNS, lambda name, swapped: _of_numbers("combine"))
for _name in ("lt", "le", "gt", "ge"):
    setattr(_Three, f"__{_name}__", _of_numbers("compare"))


class Dimensions(_Three):
    """Three numbers x, y and z, each read where it is used."""

    __slots__ = ("_operation",)

    def __init__(self, operation: str) -> None:
        self._operation = operation

    def __weft_stepped__(self) -> str:
        """Which of a thread's numbers a debugger shows for it."""
        return self._operation

    @property
    def x(self) -> Int:
        """Along x, the direction in which neighbouring threads should touch neighbouring memory."""
        return grid_value(self._operation, "x")

    @property
    def y(self) -> Int:
        """Along y."""
        return grid_value(self._operation, "y")

    @property
    def z(self) -> Int:
        """Along z."""
        return grid_value(self._operation, "z")

    def __iter__(self) -> Iterator[Int]:
        """x, y and z, as in ``i, j, k = block_idx``."""
        return iter((self.x, self.y, self.z))

    def __repr__(self) -> str:
        return _shown(self, f"<{self._operation}: x, y and z in a kernel>")


def _element_or(axis: int, otherwise: Callable[[], Int]) -> Int:
    element = element_index(axis)
    return otherwise() if element is None else element


class GlobalIndex(_Three):
    """``block_dim * block_idx + thread_idx``, along x, y and z; in a launch over a range, the element."""

    __slots__ = ()

    def __weft_stepped__(self) -> str:
        """Which of a thread's numbers a debugger shows for it."""
        return "global_id"

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

    def __iter__(self) -> Iterator[Int]:
        """x, y and z, as in ``i, j, k = global_idx``."""
        return iter((self.x, self.y, self.z))

    def __repr__(self) -> str:
        return _shown(self, "<global_idx: x, y and z in a kernel>")


def _shown(index: Dimensions | GlobalIndex, outside: str) -> str:
    """The three numbers, as a kernel prints them."""
    return f"({index.x}, {index.y}, {index.z})" if in_kernel() else outside


def launch_bounds(threads: int, blocks: int = 0) -> None:
    """Promise that a block has at most so many threads, so that each may have more registers on a GPU.

    Launches of larger blocks are refused. ``set_max_registers`` of ``weft.gpu.wgmma`` needs it. CUDA calls it
    ``__launch_bounds__``.

    Args:
        threads: 1 to 1024, known at compile time.
        blocks: how many blocks are to fit on a multiprocessor at once: threads get no more registers than
            lets them, and what does not fit in these lies in memory.
    """
    if type(threads) is not int or not 1 <= threads <= _MOST:
        message = f"launch_bounds() takes how many threads a block has at most, not {threads!r}"
        refuse("launch-bounds", message, hint=f"write a number from 1 to {_MOST}, known at compile time")
    if type(blocks) is not int or not 0 <= blocks <= _BLOCKS:
        message = f"launch_bounds() takes how many blocks are to fit at once, not {blocks!r}"
        refuse("launch-bounds", message, hint=f"write a number up to {_BLOCKS}, known at compile time")
    note_bounds(threads, blocks)


thread_idx: Dimensions = Dimensions("thread_id")
"""The thread's place in its block: ``x``, ``y`` and ``z``, each an Int from 0 to below ``block_dim``."""
block_idx: Dimensions = Dimensions("block_id")
"""The block's place in the grid: ``x``, ``y`` and ``z``, each an Int from 0 to below ``grid_dim``."""
block_dim: Dimensions = Dimensions("block_dim")
"""How many threads a block has, along ``x``, ``y`` and ``z``."""
grid_dim: Dimensions = Dimensions("grid_dim")
"""How many blocks the grid has, along ``x``, ``y`` and ``z``."""
global_idx: GlobalIndex = GlobalIndex()
"""``block_idx * block_dim + thread_idx``, along ``x``, ``y`` and ``z``.

In a launch ``over=`` a range it is the element: ``x`` along the last extent, ``y`` along the one before,
``z`` along the first of three.
"""
