"""Programmatic dependent launch: a kernel begins while the one before it in the stream still runs.

A launch with ``pdl=True`` may begin before the kernel before it has ended, as soon as all blocks of that
one have called ``launch_dependent_grids()`` or ended. It does what needs nothing of that kernel, and then
calls ``wait_on_dependent_grids()``, after which all that was queued before has ended and is visible.

The names are Mojo's. Where the device cannot overlap kernels so, on a CPU and on NVIDIA GPUs before compute
capability 9.0, both functions do nothing and the kernels run one after the other: the results are the same.

Example:
    >>> from weft import Float32, Pointer, kernel
    >>> from weft.gpu import global_idx, launch_dependent_grids, wait_on_dependent_grids
    >>> from weft.gpu.host import DeviceContext
    >>> @kernel
    ... def double(x: Pointer[Float32]):
    ...     launch_dependent_grids()  # the next kernel may begin
    ...     x[global_idx.x] *= 2.0
    >>> @kernel
    ... def add_index(x: Pointer[Float32]):
    ...     i = global_idx.x
    ...     wait_on_dependent_grids()  # now x is what `double` has made of it
    ...     x[i] += i
    >>> ctx = DeviceContext(api="cpu")
    >>> x = ctx.enqueue_create_buffer(Float32, 4)
    >>> x.enqueue_fill(5.0)
    >>> ctx.enqueue_function(double, x, grid_dim=1, block_dim=4)
    >>> ctx.enqueue_function(add_index, x, grid_dim=1, block_dim=4, pdl=True)
    >>> with x.map_to_host() as host:
    ...     print(host)
    HostBuffer([10.0, 11.0, 12.0, 13.0])
"""

from __future__ import annotations

from weft.diagnostics.modules import present
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import note_use

__all__ = ["launch_dependent_grids", "wait_on_dependent_grids"]


def launch_dependent_grids() -> None:
    """Let the next launch of the stream begin, if it was given ``pdl=True``.

    It begins once every block has called this or has ended. What this kernel writes, before or after, is
    not thereby visible there: the other kernel calls ``wait_on_dependent_grids()`` for that.
    """
    _control("launch_dependents")


def wait_on_dependent_grids() -> None:
    """Wait until all that was queued before this launch has ended and what it wrote is visible.

    A kernel launched with ``pdl=True`` calls it before it reads what earlier work writes, and before it
    writes what earlier work reads. In any other launch there is nothing to wait for.
    """
    note_use("wait_on_dependent_grids")
    _control("wait")


def _control(instruction: str) -> None:
    if current_target().supports(Feature.DEPENDENT_LAUNCH):
        # not the intrinsics, which tell LLVM that no memory is concerned
        inline_asm(f"griddepcontrol.{instruction};", None, constraints="")


present(globals())
