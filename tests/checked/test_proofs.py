"""Accesses that are shown to be within their memory for a whole launch, and those that are not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from weft import DeviceError, Float32, Int, Int32, Pointer, UInt8, UInt32, kernel, unroll
from weft.atomic import Atomic
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.ir.terms import Terms, added, multiplied, number
from weft.compiler.passes.proofs import All, Atom, Case, Condition, Leaf, proved
from weft.compiler.passes.versions import versions_of
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning", "ignore::weft.CompileWarning")


# -- what is shown of polynomials ---------------------------------------------------------------
def value(terms: Terms, numbers: Mapping[object, int]) -> int:
    total = 0
    for product, count in terms.items():
        for atom in product:
            count *= numbers[atom]
        total += count
    return total


def holds(condition: Condition, numbers: Mapping[object, int]) -> bool:
    if isinstance(condition, bool):
        return condition
    if isinstance(condition, Leaf):
        return value(dict(condition.terms), numbers) >= 0
    parts = [holds(part, numbers) for part in condition.parts]
    return all(parts) if isinstance(condition, All) else any(parts)


def polynomial(r: random.Random, atoms: list[Atom]) -> Terms:
    made = number(r.randrange(-6, 7))
    for _ in range(r.randrange(1, 4)):
        term = number(r.choice([-3, -2, -1, 1, 2, 3]))
        for atom in r.sample(atoms, r.choice([1, 1, 2])):
            term = multiplied(term, atom.terms)
        made = added(made, term)
    return made


def test_what_is_shown_is_so_of_all_numbers() -> None:
    """Of each polynomial, all numbers within bounds and facts are tried."""
    r = random.Random(1)
    shown = 0
    for _ in range(400):
        n, m = Atom(-4, 4), Atom(0, 4)
        n.quotient = m.quotient = {}, 1  # of the launch
        i, j = Atom(-40, 40), Atom(-40, 40)
        i.lows, i.highs = [(Case({}),)], [(Case(added(n.terms, number(-1))),)]
        j.lows, j.highs = [(Case(i.terms), Case(m.terms))], [(Case(number(5)),)]
        facts = [polynomial(r, [i, j, n, m]) for _ in range(r.randrange(3))]
        goal = polynomial(r, [i, j, n, m])
        condition = proved(goal, facts)
        if condition is False:
            continue
        for a, b in itertools.product(range(-4, 5), range(5)):
            launch: dict[object, int] = {n: a, m: b}
            if not holds(condition, launch):
                continue
            for x in range(a):
                for y in range(min(x, b), 6):
                    numbers = {**launch, i: x, j: y}
                    if all(value(fact, numbers) >= 0 for fact in facts):
                        shown += 1
                        assert value(goal, numbers) >= 0, (goal, facts)
    assert shown > 1000


# -- what is shown of kernels -------------------------------------------------------------------
@kernel
def guarded(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        x[i] = 1.0


@kernel
def left_early(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i >= n:
        return
    x[n - 1 - i] = 1.0


@kernel
def plane(x: Pointer[Float32], height: Int, width: Int):
    row, col = global_idx.y, global_idx.x
    if row > 0 and row < height - 1 and col > 0 and col < width - 1:
        i = row * width + col
        x[i] = x[i - 1] + x[i + 1] + x[i - width] + x[i + width]


@kernel
def strided(x: Pointer[Float32], n: Int):
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        x[i] += 1.0


@kernel
def halves(x: Pointer[Float32], n: Int):
    shared = stack_allocation(Float32, Layout.row_major(2, 8), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    shared[0, t] = x[block_idx.x * n + t]
    barrier()
    stride = 4
    while stride > 0:
        if t < stride:
            shared[0, t] += shared[0, t + stride]
        barrier()
        stride >>= 1
    offset = 1
    while offset < 8:
        before = shared[0, t - offset] if t >= offset else 0.0
        barrier()
        shared[1, t] = before
        barrier()
        offset *= 2
    x[block_idx.x * n + t] = shared[1, t]


@kernel
def tiles(x: Pointer[Float32], n: Int):
    tile = stack_allocation(Float32, Layout.row_major(8), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    for start in range(0, n, 8):
        tile[t] = x[start + t]
        barrier()
        x[n - 8 - start + t] = tile[7 - t]
        barrier()


@kernel
def parts(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < 4 * n:
        x[i // 4] = x[i % 4] + x[min(max(i - 3, 0), n - 1)]


@kernel
def narrow(x: Pointer[Float32], n: Int32, m: UInt32):
    i = Int32(global_idx.x)
    if i < n:
        x[i * 2 + 1] = x[UInt32(i) + m]


@kernel
def bins(x: Pointer[UInt32], keys: Pointer[UInt8], n: Int):
    i = global_idx.x
    if i < n:
        Atomic.fetch_add(x + Int(keys[i]), 1)


PROGRAMS: list[tuple[Any, Any, Any, tuple[Any, ...], int]] = [
    (guarded, 3, 8, (20,), 20),
    (left_early, 3, 8, (20,), 20),
    (plane, (2, 2), (4, 4), (7, 6), 41),
    (strided, 2, 8, (50,), 50),
    (halves, 3, 8, (8,), 24),
    (tiles, 1, 8, (32,), 32),
    (parts, 5, 8, (10,), 10),
    (narrow, 3, 8, (np.int32(20), np.uint32(7)), 40),
]
"""Kernels; grid and block; arguments behind the memory; how many elements are touched, by hand."""


@pytest.mark.parametrize(("program", "grid", "block", "args", "size"), PROGRAMS)
def test_memory_that_is_just_large_enough(
    device: DeviceContext, program: Any, grid: Any, block: Any, args: Any, size: int
) -> None:
    """With one element less the first that lacks is told of, and else nothing."""
    with DeviceContext(api=device.api, checked="bounds") as ctx:
        x = ctx.enqueue_create_buffer(Float32, size)
        x.enqueue_fill(1.0)
        ctx.enqueue_function(program, x, *args, grid_dim=grid, block_dim=block)
        ctx.synchronize()
        short = x[: size - 1]
        ctx.enqueue_function(program, short, *args, grid_dim=grid, block_dim=block)
        with pytest.raises(DeviceError) as caught:
            ctx.synchronize()
        assert {report.code for report in caught.value.reports} == {"out-of-bounds"}


def test_numbers_that_wrap_around_are_not_taken_for_small_ones(device: DeviceContext) -> None:
    """``n * i`` is 0 again at 64 bits, and 32 bits wrap to what is within the memory."""
    with DeviceContext(api=device.api, checked="bounds") as ctx:
        x = ctx.enqueue_create_buffer(Float32, 8)
        x.enqueue_fill(1.0)
        ctx.enqueue_function(scaled, x, 1 << 62, np.int32(1 << 30), grid_dim=1, block_dim=8)
        ctx.synchronize()  # 4 << 62 is 0 in 64 bits, and 4 << 30 in 32
        with x.map_to_host() as host:
            assert host.numpy().tolist() == [3.0] + [1.0] * 7


@kernel
def scaled(x: Pointer[Float32], n: Int, m: Int32):
    i = thread_idx.x * 4
    if i == 0 or i == 16:
        x[i * n] = 2.0
        x[Int32(i) * m] = 3.0


@kernel
def powers(x: Pointer[Float32], n: Int):
    i = global_idx.x + n
    for _ in unroll(range(40)):
        i = i * i + n
    x[i] = 1.0


@kernel
def nested(x: Pointer[Float32], n: Int):
    total, i = Int(0), global_idx.x
    for a in range(n):
        for b in range(a, n):
            for c in range(b, n):
                for d in range(c, n):
                    total += a * b + c * d
                    x[i] += x[total - total]
    x[i] = Float32(total)


@pytest.mark.parametrize("program", [powers, nested], ids=lambda k: k.__name__)
def test_what_cannot_be_shown_takes_no_time(program: Any) -> None:
    """40 squares of squares would have 2 ** 40 factors."""
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(program.definition)}
    options = CompileOptions(checked=frozenset({"bounds"}))
    (made,) = elaborate_kernel(program, specs, "native", options).module.functions
    assert any(op.name == "weft.failed" for op in made.body.walk())


@pytest.mark.parametrize("program", [p[0] for p in PROGRAMS] + [bins])
@pytest.mark.parametrize("target", ["native", "sm_90"])
def test_what_is_shown_is_not_asked_for(program: Any, target: str) -> None:
    """But for what is loaded, all of these accesses are shown: no thread asks before them."""
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(program.definition)}
    options = CompileOptions(checked=frozenset({"bounds"}))
    (made,) = elaborate_kernel(program, specs, target, options).module.functions
    versions = versions_of(made)
    assert versions is not None
    telling = [
        sum(op.name == "weft.failed" for op in version.body.walk())
        for version in (versions.usual, versions.other)
    ]
    assert telling[0] == (program is bins)
    assert telling[1] > 0


@kernel
def cancelled(x: Pointer[Float32], n: Int):
    for i in range(n & 3):
        m = n | i - i
        for _ in range(m & 3):
            x[n & 3] += 1.0


@pytest.mark.parametrize("target", ["native", "sm_90"])
def test_what_cancels_out_is_still_made_of_a_round(target: str) -> None:
    """``i - i`` is 0 in each round, but nothing outside of the loop can compute it."""
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(cancelled.definition)}
    options = CompileOptions(checked=frozenset({"bounds"}))
    (made,) = elaborate_kernel(cancelled, specs, target, options).module.functions
    assert any(op.name == "weft.failed" for op in made.body.walk())
