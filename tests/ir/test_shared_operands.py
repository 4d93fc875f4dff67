"""Values that are made of one value twice, again and again: no pass walks all ways to the first, 2**40."""

from __future__ import annotations

from typing import Any

import pytest

from weft import Bool, Float32, Float64, Int, Int32, Pointer, kernel, math, unroll
from weft.abi.checks import ALWAYS
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, block_dim, global_idx, grid_dim, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.CompileWarning", "ignore::weft.PerformanceWarning")
TIMES = 40


@kernel
def floats(x: Pointer[Float32], n: Int):
    y = x[global_idx.x]
    wide = Float64(y)
    for _ in unroll(range(TIMES)):
        y = y * y + y
        wide = wide * wide + wide
    x[0] = y
    x[global_idx.x] = Float32(wide)


@kernel
def integers(x: Pointer[Int32], n: Int):
    i, y, z = global_idx.x, n, n
    for _ in unroll(range(TIMES)):
        i = i * 3 + (i >> 1)
        y = y * y + y
        z = z * z + z
    if i < n:
        x[i] = 1
    x[y & 7] = x[z & 7] + 1


@kernel
def conditions(x: Pointer[Int32], n: Int):
    i = global_idx.x
    c, d, e = i < n, i < n, i < n
    for k in unroll(range(TIMES)):
        c = (c & (x[k] > 1)) | (c & (x[k + 1] < 2))
        d = (d & (i > k)) & (d | (n < k))
        e = ~((e & (i > k)) | (e & (n - i < k)))
    if c:
        x[i] = 1
    if d:
        x[i] = 2
    if e:
        x[i] = 3


@kernel
def choices(x: Pointer[Int32], n: Int):
    i, least, most = global_idx.x, n, n
    for k in unroll(range(TIMES)):
        i = (i > k).select(i, n - i)
        least = math.min(least + 1, least * n)
        most = most - 1 if Bool(most > k) & Bool(most < n) else most + most
    if i < n:
        x[i] = 1
    for j in range(least):
        if j + global_idx.x < most:
            x[j + global_idx.x] = 1


@kernel
def extents(x: Pointer[Int32], n: Int):
    i = block_dim.x * grid_dim.x
    for _ in unroll(range(TIMES)):
        i = i * block_dim.x + i
    for j in range(global_idx.x, n, i):
        x[j] = 1


@kernel
def quotients(x: Pointer[Int32], n: Int):
    i, t, y = global_idx.x, thread_idx.x, n
    for _ in unroll(range(TIMES)):
        i = i + i
        t = t // 3 + t % 3
        y = y // 3 + y % 5
    x[t] = Int32(i // y) + Int32(i % y) + x[math.max(i - y, 0)]
    x[global_idx.x // y] = 1
    for j in range(global_idx.x + i, n, y):
        x[j] = x[j % y]


@kernel
def blocks(x: Pointer[Int32], n: Int):
    s = stack_allocation(Int32, 64, address_space=AddressSpace.SHARED)
    y, t = n, thread_idx.x
    for _ in unroll(range(TIMES)):
        y = y ^ (y << 1)
        t = t + (t & 1)
    s[thread_idx.x & 63] = x[global_idx.x]
    barrier()
    for _ in range(y & 7):
        s[(t + y) & 63] += s[thread_idx.x & 63]
        barrier()
    x[global_idx.x] = s[63 - (thread_idx.x & 63)] + Int32(y & 15)


@kernel
def loops(x: Pointer[Int32], n: Int):
    y = Int(1)
    for i in range(n):
        for _ in unroll(range(TIMES)):
            y = y * y + y + i
    x[y & 7] = 1
    while y < n:
        for _ in unroll(range(TIMES)):
            y = (y | 1) + (y ^ n)
    x[y & 7] = 2


@pytest.mark.parametrize(
    "checked", [frozenset[str](), frozenset({"bounds"}), ALWAYS, frozenset({"overflow"})]
)
@pytest.mark.parametrize("target", ["sm_90", "native"])
@pytest.mark.parametrize(
    "program",
    [floats, integers, conditions, choices, extents, quotients, blocks, loops],
    ids=lambda k: k.__name__,
)
def test_each_is_looked_at_once(program: Any, target: str, checked: frozenset[str]) -> None:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(program.definition)}
    options = CompileOptions(checked=checked, distinct=not checked)
    assert elaborate_kernel(program, specs, target, options).artifact().code
