"""Which kernel a product takes.

- With a vector: ``vectors``, which is ``gemv``.
- On a CPU: ``panels``.
- Of 16-bit floats, small ones, on Hopper, and all on other GPUs with asynchronous copies: ``fragments``.
- Of 8 and 16 bits, and of Float32 where tf32 is asked for, on Hopper: ``warpgroups``.
- Of Float32, where the hardware copies tiles: ``lanes``.
- Of Float64, on Hopper and later: ``doubles``.
- Else: ``plain``.

``tiles`` chooses the tiles of ``warpgroups`` and ``lanes`` by what they cost; ``parts`` sums what k was split
in.
"""

from __future__ import annotations

from weft.kernels.products import doubles, fragments, panels, plain, tiles, vectors
from weft.kernels.products.groups import listed
from weft.kernels.products.problem import Problem
from weft.lang.intrinsics import Feature
from weft.targets import find_target

_HALVES = ("float16", "bfloat16")
_TENSOR_CORES = (*_HALVES, "float8_e4m3fn", "float8_e5m2", "int8", "uint8")


def multiply(problem: Problem, *, tf32: bool) -> None:
    """Queue the product."""
    name, single = problem.a.dtype.name, problem.groups is None
    has = find_target(problem.op.context.target).supports
    cores = has(Feature.WGMMA) and (name in _TENSOR_CORES or (tf32 and name == "float32"))
    cores = cores and problem.sums.bits == 32
    by_table = cores and problem.extents[2] > 0 and not problem.op.threads_are_loops
    if problem.groups is not None and not by_table:
        problem.groups = listed(problem, problem.groups)
    if vectors.takes(problem):
        vectors.multiply(problem)
    elif problem.op.threads_are_loops:
        panels.multiply(problem)
    elif problem.extents[2] == 0:
        plain.multiply(problem)
    elif cores and name in _HALVES and single and fragments.begins_sooner(problem):
        fragments.multiply(problem)
    elif cores:
        tiles.by_warpgroups(problem)
    elif has(Feature.TENSOR_MEMORY_ACCESS) and name == "float32" and single:
        tiles.by_lanes(problem)
    elif has(Feature.ASYNC_COPY) and name in _HALVES and single:
        fragments.multiply(problem)
    elif has(Feature.MMA_FLOAT64) and name == "float64" and single:
        doubles.multiply(problem)
    else:
        plain.multiply(problem)
