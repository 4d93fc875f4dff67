"""Which guards end the loop over threads, and within what their index stays."""

from __future__ import annotations

import pytest

from weft import Int, Int32, Kernel, Pointer, UInt32, kernel
from weft.compiler.ir.core import Function
from weft.compiler.passes.guard_bounds import Bound, take_guards
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import block_dim, block_idx, global_idx, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters

_BLOCKS, _THREADS = (1 << 31) - 1, 1024


@kernel
def plain(out: Pointer[Int32], n: Int) -> None:
    if global_idx.x < n:
        out[global_idx.x] = 1


@kernel
def turned(out: Pointer[Int32], n: Int) -> None:
    i = -3 + thread_idx.y
    if n < i:
        return
    out[i] = 1


@kernel
def pair(out: Pointer[Int32], n: Int32, m: UInt32, k: Int) -> None:
    i = block_idx.x * 64 + thread_idx.x + Int(n)
    j = block_idx.y * block_dim.y + thread_idx.y
    if i <= k and j < Int(m):
        out[i + j] = 1


@kernel
def far(out: Pointer[Int32], n: Int, start: Int) -> None:
    if start + global_idx.x < n:
        out[0] = 1


@kernel
def huge_step(out: Pointer[Int32], n: Int) -> None:
    if thread_idx.x + block_idx.x * (1 << 40) < n:
        out[0] = 1


@kernel
def unsigned(out: Pointer[Int32], n: UInt32) -> None:
    if UInt32(global_idx.x) < n:
        out[0] = 1


@kernel
def from_below(out: Pointer[Int32], n: Int) -> None:
    if global_idx.x >= n:
        out[0] = 1


@kernel
def other(out: Pointer[Int32], n: Int) -> None:
    if global_idx.x != n:
        out[0] = 1


def taken(k: Kernel[...]) -> tuple[Function, list[Bound]]:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(k.definition)}
    module = elaborate_kernel(k, specs, "native").module
    (made,) = (f for f in module.functions if f.kernel)
    return made, take_guards(made)


def has_guard(f: Function) -> bool:
    return any(op.name == "weft.if" for op in f.body.ops)


def test_guards_that_end_the_loop() -> None:
    made, (bound,) = taken(plain)
    assert (bound.axis, bound.inclusive) == (0, False)
    assert (bound.least, bound.greatest) == (0, _BLOCKS * _THREADS + _THREADS)
    assert not has_guard(made)
    made, (bound,) = taken(turned)
    assert (bound.axis, bound.inclusive, bound.least, bound.greatest) == (1, True, -3, _THREADS - 3)
    assert not has_guard(made)
    made, (x, y) = taken(pair)
    assert (x.axis, x.inclusive, y.axis, y.inclusive) == (0, True, 1, False)
    assert (x.least, x.greatest) == (-(1 << 31), 64 * _BLOCKS + _THREADS + (1 << 31) - 1)
    assert not has_guard(made)


@pytest.mark.parametrize("k", [far, huge_step, unsigned, from_below, other])
def test_guards_that_stay(k: Kernel[...]) -> None:
    made, bounds = taken(k)
    assert not bounds
    assert has_guard(made)
