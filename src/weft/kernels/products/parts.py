"""Sums of the parts into which k was split, in the order of the parts: the same bits each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from weft.gpu import global_idx
from weft.kernels.operands import Operand
from weft.kernels.products.finish import finished
from weft.kernels.products.problem import Ends, Problem
from weft.lang import Comptime, Int, Pointer, UInt32, kernel

THREADS = 256
MOST = 1 << 31
"""Elements of a result whose k is split: their numbers have 32 bits, as divisions of 64 take long."""


@kernel
def summed(
    x: Pointer[Any],
    out: Pointer[Any],
    m: UInt32,
    n: UInt32,
    batches: UInt32,
    splits: Int,
    steps: Any,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    ways: Comptime[Any],
):
    """An element of the result, of fewer than ``MOST``, a thread."""
    at, (of_x, of_out) = global_idx.x.cast(UInt32), steps
    z, row, col = Int(at // (m * n)), Int(at // n % m), Int(at % n)
    if z < Int(batches):
        first = x + (z * of_x[0] + row * of_x[1] + col)
        total = first[0]
        for part in range(1, splits):
            total += first[part * Int(batches) * of_x[0]]
        value = finished((total,), (z, row, col), (Int(m), Int(n)), (alpha, terms, epilogue), ways=ways)
        out[z * of_out[0] + row * of_out[1] + col * of_out[2]] = value.cast(ways.type)


def in_parts(problem: Problem, splits: int) -> Problem:
    """The product whose result is the sums of all parts, of which nothing becomes yet."""
    if splits == 1:
        return problem
    m, n, _, z = problem.extents
    pitch = -(-n // 4) * 4
    made = problem.op.scratch(splits * z * m * pitch, problem.sums)
    out = made.seen((splits * z, m, n), (m * pitch, pitch, 1))
    return replace(problem, out=out, ends=Ends(1.0, [], None))


def join(problem: Problem, parts: Operand, splits: int) -> None:
    """Queue it."""
    m, n, _, z = problem.extents
    problem.op.launch(
        summed,
        -(-m * n * z // THREADS),
        THREADS,
        parts.memory,
        problem.out.memory,
        m,
        n,
        z,
        splits,
        (parts.strides, problem.out.strides),
        *problem.ends.given(problem.sums),
        ways=problem.ends.ways(problem.out.dtype),
    )
