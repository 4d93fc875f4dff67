"""Which kernel a product takes.

- On a CPU: ``panels``.
- Of 8 and 16 bits, and of Float32 where tf32 is asked for, on Hopper: ``warpgroups``.
- Of Float32, where the hardware copies tiles: ``lanes``.
- Else: ``plain``.

``tiles`` chooses the tiles of the second and third by what they cost, and ``parts`` sums what k was split in.
"""

from __future__ import annotations

from weft.kernels.products import panels, plain, tiles
from weft.kernels.products.problem import Problem
from weft.lang.intrinsics import Feature
from weft.targets import find_target

_TENSOR_CORES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")


def multiply(problem: Problem, *, tf32: bool) -> None:
    """Queue the product."""
    op, dtype = problem.op, problem.a.dtype
    target, k = find_target(op.context.target), problem.extents[2]
    if op.threads_are_loops:
        panels.multiply(problem)
    elif (
        k
        and target.supports(Feature.WGMMA)
        and (dtype.name in _TENSOR_CORES or (tf32 and dtype.name == "float32"))
    ):
        tiles.by_warpgroups(problem)
    elif (
        k
        and problem.groups is None
        and target.supports(Feature.TENSOR_MEMORY_ACCESS)
        and dtype.name == "float32"
    ):
        tiles.by_lanes(problem)
    else:
        plain.multiply(problem)
