"""Expressions over the elements of tensors, against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import CompileError, Comptime, Float32, Float64, Int, Int32, kernel, math
from weft.gpu import barrier, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
}


@kernel
def expression(
    a: LayoutTensor[Float64],
    b: LayoutTensor[Float64],
    out: LayoutTensor[Float64],
    *,
    name: Comptime[str],
    column_major: Comptime[bool],
):
    rows, columns = out.shape[1], out.shape[2]
    held = stack_allocation(Float64, Layout.col_major(*a.layout.static_shape))
    held.copy_from(a)
    left, right = held if column_major else a.local(), b.local()
    made = OPERATORS[name](left, right)
    assert made.shape == (rows, columns)
    out[0, ...] = made
    out[1, ...].copy_from(OPERATORS[name](right, 2.5) + 0.0 * left)
    out[3, ...] = OPERATORS[name](2.5, right) + 0.0 * left
    out[4, ...] = math.sincos(right)[1] + 0.0 * left
    whole = left * 1.0 + 0.0 * right
    part = whole[:, :]
    part *= right
    part -= 1.0
    out[2, ...] = whole


@given(
    name=st.sampled_from(sorted(OPERATORS)),
    extents=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    ones=st.sampled_from([(), (0,), (1,), (0, 1)]),
    column_major=st.booleans(),
)
@settings(max_examples=10)
def test_operators(
    launch: Launch, name: str, extents: tuple[int, int], ones: tuple[int, ...], column_major: bool
) -> None:
    a = 0.5 + np.arange(extents[0] * extents[1], dtype=np.float64).reshape(extents)
    b = 3.25 - 0.5 * np.arange(extents[0] * extents[1], dtype=np.float64).reshape(extents)
    b = b[tuple([slice(0, 1) if n in ones else slice(None) for n in range(2)])] + 8.0
    out = np.zeros((5, *extents))
    named: Any = {"name": name, "column_major": column_major}
    found = launch(expression, a, b, out, grid_dim=1, block_dim=1, **named)[2]
    right = [OPERATORS[name](a, b), OPERATORS[name](b, 2.5) + 0 * a, a * b - 1]
    right += [OPERATORS[name](2.5, b) + 0 * a, np.cos(b) + 0 * a]
    np.testing.assert_allclose(found, right, rtol=1e-14)


def horner(a: Any, b: Any) -> Any:
    return a * 2.0 + b


@kernel
def softmax_rows(x: LayoutTensor[Float32], out: LayoutTensor[Float32], sums: LayoutTensor[Float32]):
    part = x.tile[2, 4](0, thread_idx.x, default=-math.inf).local()
    power = math.exp(part - part.max(axis=1, keepdims=True))
    sums[0, thread_idx.x] = power.sum()
    power /= power.sum(axis=-1, keepdims=True)
    out.tile[2, 4](0, thread_idx.x).copy_from(power)
    sums[1, thread_idx.x] = part.max()
    sums[2, thread_idx.x] = power.reduce(horner)
    column = (-part).min(axis=0)
    sums[3, thread_idx.x] = abs(column)[1] + math.max(column, 0.5)[0]


@pytest.mark.parametrize("dynamic", [False, True])
def test_reductions_of_masked_tiles(launch: Launch, dynamic: bool) -> None:
    x = np.sin(np.arange(2 * 11, dtype=np.float32)).reshape(2, 11)
    sums = np.zeros((4, 3), np.float32)
    _, found, got = launch(softmax_rows, x, np.zeros_like(x), sums, grid_dim=1, block_dim=3, dynamic=dynamic)
    for t in range(3):
        part = x[:, 4 * t : 4 * t + 4]
        power = np.exp(part - part.max(1, keepdims=True))
        share = power / power.sum(1, keepdims=True)
        np.testing.assert_allclose(found[:, 4 * t : 4 * t + 4], share, rtol=1e-6)
        np.testing.assert_allclose(got[0, t], power.sum(), rtol=1e-6)
        assert got[1, t] == part.max()
        whole = np.zeros((2, 4), np.float32)
        whole[:, : part.shape[1]] = share
        folded = 0.0
        for value in whole.reshape(-1):
            folded = folded * 2.0 + float(value)
        np.testing.assert_allclose(got[2, t], folded, rtol=1e-5)
        column = (-part).min(axis=0)
        np.testing.assert_allclose(got[3, t], abs(column[1]) + max(column[0], 0.5), rtol=1e-6)


@kernel
def vectors(x: LayoutTensor[Int32], out: LayoutTensor[Int32], n: Int):
    """Vectors, integers, memory of the block, and sums that a loop carries."""
    here = stack_allocation(Int32, Layout.row_major(2, 8), address_space=AddressSpace.SHARED)
    here.copy_from(x)
    barrier()
    wide = here.vectorize[1, 4]().local() * 3 + 1
    out[0, ...].vectorize[1, 4]().copy_from(wide)
    total = stack_allocation(Int32, Layout.row_major(2, 8)).fill(0)
    for i in range(n):
        total += here.local()
        total = total + Int32(i)
    row = total[0, :]
    row += 7
    out[1, ...] = total
    less = here.local() - 1
    out[2, ...] = less.map(lambda e: e if e > 5 else -e)
    out[2, 0, 0] = wide.sum().reduce_add() + less.sum(axis=0).sum()


def test_vectors_and_loops(launch: Launch) -> None:
    x = np.arange(16, dtype=np.int32).reshape(2, 8)
    found = launch(vectors, x, np.zeros((3, 2, 8), np.int32), 3, grid_dim=1, block_dim=1)[1]
    assert found[0].tolist() == (3 * x + 1).tolist()
    total = 3 * x + 3
    total[0] += 7
    assert found[1].tolist() == total.tolist()
    less = np.where(x - 1 > 5, x - 1, 1 - x)
    less[0, 0] = (3 * x + 1).sum() + (x - 1).sum()
    assert found[2].tolist() == less.tolist()


@kernel
def other_shape(x: LayoutTensor[Float32]):
    x[0, :] = x[0, :].local() + x[:, 0].local()


@kernel
def grows(x: LayoutTensor[Float32]):
    part = x[0, :].local()
    part *= x.local()


@kernel
def many(x: LayoutTensor[Float32]):
    x.copy_from(x.local() + 1.0)


@kernel
def shared_by_all(x: LayoutTensor[Float32]):
    x[0, 0] = x.sum()


@pytest.mark.parametrize(
    ("wrong", "shape", "words"),
    [
        (other_shape, (2, 3), "tensors of 3 and 2 elements have no common shape"),
        (grows, (2, 3), r"\(2, 3\) elements are not written to \(3,\)"),
        (shared_by_all, (2, 3), "each thread would compute all of a LayoutTensor in GLOBAL memory"),
        (many, (33, 32), "an expression of a whole tensor is written out .* has 1056 elements"),
    ],
)
def test_what_is_refused(cpu: DeviceContext, wrong: Any, shape: tuple[int, int], words: str) -> None:
    with pytest.raises(CompileError, match=words):
        cpu.enqueue_function(wrong, np.zeros(shape, np.float32), grid_dim=1, block_dim=1)
