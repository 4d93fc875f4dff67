"""Loops, reductions, scans and sorting by functions of the program, on every device.

The names are those of Mojo's ``algorithm`` package. ``elementwise`` and ``parallelize`` launch a kernel that
calls a function for each index; ``map``, ``vectorize`` and ``tile`` are loops within a kernel, and run on the
CPU where Python calls them.

The functions are lambdas, ``def``s or ``@func``s that name what they need: buffers, tensors and arrays become
arguments of the launch, so that each launch sees those that the names mean then; so do structs and numbers of
weft's types. All else that a function names is known at compile time, as for every kernel.
"""

from weft.algorithm.functional import elementwise, map, parallelize, tile, vectorize
from weft.algorithm.reduction import cumsum, map_reduce, max, mean, min, product, reduce, scan, sum, variance
from weft.algorithm.sorting import sort
from weft.algorithm.stencils import stencil
from weft.diagnostics.modules import present

__all__ = [
    "cumsum",
    "elementwise",
    "map",
    "map_reduce",
    "max",
    "mean",
    "min",
    "parallelize",
    "product",
    "reduce",
    "scan",
    "sort",
    "stencil",
    "sum",
    "tile",
    "variance",
    "vectorize",
]


present(globals())
