"""Random kernels with barriers, against the same source run by Python, a generator for each thread."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Int, func, kernel
from weft.gpu import barrier, block_dim, thread_idx
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
Lines = list[str]

HEAD = """
def program(x, out, flag):
    part = stack_allocation(Int, Layout.row_major(64), address_space=AddressSpace.SHARED)
    mine = stack_allocation(Int, Layout.row_major(4))
    mine.fill(5)
    t, n = thread_idx.x, block_dim.x
    a, b, u, i = x[t], t * 3 + 1, flag, Int(0)
    part[t] = a
"""
TAIL = """
    part[t] = a * 2
    barrier()
    out[t] = a + b * 7 + u * 1000 + mine[3] + part[(t + 1) % n]
"""

names = st.sampled_from("a b u i t n flag".split())
numbers = st.integers(0, 9)


@st.composite
def expressions(draw: st.DrawFn, leaves: st.SearchStrategy[str] = names) -> str:
    left, right = draw(leaves), draw(st.one_of(leaves, numbers.map(str)))
    operator = draw(st.sampled_from("+ - *".split()))
    return f"({left} {operator} {right}) % {draw(st.integers(2, 97))} - {draw(numbers)}"


def same_for_all() -> st.SearchStrategy[str]:
    return expressions(st.sampled_from("u i n flag".split()))


def indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


@st.composite
def alone(draw: st.DrawFn) -> Lines:
    """What a thread does for itself."""
    choice = draw(st.integers(0, 5))
    name, value = draw(st.sampled_from("ab")), draw(expressions())
    if choice == 0:
        return [f"mine[{value} & 3] = {draw(names)}"]
    if choice == 1:
        return [f"{name} += mine[{draw(names)} & 3]"]
    if choice == 2:
        return [f"part[t] = {value}"]
    if choice == 3:
        then, other = draw(alone()), draw(alone())
        return [f"if {value} > {draw(numbers)}:", *indented(then), "else:", *indented(other)]
    if choice == 4:
        return [f"for j in range({value} & 3):", f"    {name} += j"]
    return [f"{name} = {value}"]


@st.composite
def blocks(draw: st.DrawFn, depth: int, in_loop: bool, together: bool = False) -> Lines:
    lines: Lines = []
    for _ in range(draw(st.integers(1, 4))):
        lines += draw(statements(depth, in_loop, together))
    return lines


@st.composite
def statements(draw: st.DrawFn, depth: int, in_loop: bool, together: bool) -> Lines:
    """What all threads do together, or each for itself; ``together``: so they return."""
    choice = draw(st.integers(0, 9 if depth else 4))
    if choice < 2:
        return draw(alone())
    if choice == 2:
        target = draw(st.sampled_from(["a =", "b =", "a +=", "b -="]))
        return ["barrier()", f"{target} part[(t + {draw(st.integers(0, 63))}) % n]", "barrier()"]
    if choice == 3:
        return ["barrier()", f"u = part[{draw(st.integers(0, 63))} % n] % 50", "barrier()"]
    if choice == 4:
        if draw(st.booleans()):
            condition = draw(same_for_all() if together else expressions())
            return [f"if {condition} > {draw(numbers) if together else 60}:", "    out[t] = a", "    return"]
        if in_loop:
            return [f"if {draw(same_for_all())} > {draw(numbers)}:", f"    {draw(jumps)}"]
        return [f"u = {draw(same_for_all())}"]
    if choice < 7:
        lines = [
            f"if {draw(same_for_all())} > {draw(numbers)}:",
            *indented(draw(blocks(depth - 1, in_loop, together))),
        ]
        if draw(st.booleans()):
            lines += ["else:", *indented(draw(blocks(depth - 1, in_loop, together)))]
        return lines
    if choice < 9:
        return [
            f"for i in range({draw(st.integers(0, 4))}):",
            *indented(draw(blocks(depth - 1, True, together))),
            *indented(draw(ends())),
        ]
    rounds = f"w{depth}"
    body = [f"{rounds} -= 1", *draw(blocks(depth - 1, True, together))]
    return [f"{rounds} = {draw(st.integers(0, 3))}", f"while {rounds} > 0:", *indented(body)]


jumps = st.sampled_from(["break", "continue"])


@st.composite
def ends(draw: st.DrawFn) -> Lines:
    """The end of a round, which some threads leave out; each for itself."""
    if draw(st.booleans()):
        return []
    inner = [*draw(alone()), "continue"] if draw(st.booleans()) else ["continue"]
    other = ["else:", *indented(draw(ends()) or ["pass"])] if draw(st.booleans()) else []
    return [f"if {draw(expressions())} > {draw(numbers)}:", *indented(inner), *other, *draw(alone())]


def compiled(source: str, name: str, scope: dict[str, Any]) -> Any:
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


class Memory(list[int]):
    """A list that stands for a tensor."""

    def fill(self, value: int) -> None:
        self[:] = [value] * len(self)


class Thread:
    """What ``thread_idx`` and ``block_dim`` are to a generator."""

    x = 0


def simulated(source: str, x: list[int], flag: int) -> list[int]:
    """The kernel's result, all threads in steps from barrier to barrier."""
    shared, out = Memory([0] * 64), [-1] * len(x)
    threads: list[Generator[None, None, None]] = []
    for number in range(len(x)):
        index, size = Thread(), Thread()
        index.x, size.x = number, len(x)

        def allocated(_: Any, layout: Layout, *, address_space: Any = None) -> Memory:
            return shared if address_space is not None else Memory([0] * layout.size())

        scope: dict[str, Any] = {"thread_idx": index, "block_dim": size, "stack_allocation": allocated}
        scope.update(Layout=Layout, Int=int, AddressSpace=AddressSpace)
        run = compiled(source.replace("barrier()", "yield"), "<simulated kernel>", scope)
        threads.append(run(x, out, flag))
    while threads:
        threads = [thread for thread in threads if next(thread, "left") is None]
    return out


_count = 0


@given(body=blocks(3, False), n=st.integers(1, 20), flag=st.integers(-5, 60), dynamic=st.booleans())
@settings(max_examples=15)
def test_random_programs(
    launch: Launch, ptx: Callable[..., str], body: Lines, n: int, flag: int, dynamic: bool
) -> None:
    global _count
    _count += 1
    source = HEAD + textwrap.indent("\n".join(body), "    ") + TAIL
    x = [(i * 37) % 101 for i in range(n)]
    scope: dict[str, Any] = {
        "thread_idx": thread_idx,
        "block_dim": block_dim,
        "barrier": barrier,
        "stack_allocation": stack_allocation,
        "Layout": Layout,
        "AddressSpace": AddressSpace,
        "Int": Int,
    }
    program = compiled(source, f"<random kernel {_count}>", scope)
    program.__annotations__ = {"x": LayoutTensor[Int], "out": LayoutTensor[Int], "flag": Int}
    made = kernel(program)
    arrays = np.array(x, np.int64), np.full(n, -1, np.int64)
    found = launch(made, *arrays, flag, dynamic=dynamic, grid_dim=2, block_dim=n)[1]
    assert found.tolist() == simulated(source, x, flag), source
    if _count % 10 == 0:
        assert "bar" in ptx(made, *arrays, flag, dynamic=dynamic)


@given(body=blocks(3, False, True), n=st.integers(1, 20), flag=st.integers(-5, 60))
@settings(max_examples=15)
def test_random_helpers(launch: Launch, body: Lines, n: int, flag: int) -> None:
    """A helper that all threads leave together, anywhere; what follows its call is done all the same."""
    global _count
    _count += 1
    source = HEAD + textwrap.indent("\n".join(body), "    ") + TAIL
    x = [(i * 37) % 101 for i in range(n)]
    scope: dict[str, Any] = {
        "thread_idx": thread_idx,
        "block_dim": block_dim,
        "barrier": barrier,
        "stack_allocation": stack_allocation,
        "Layout": Layout,
        "AddressSpace": AddressSpace,
        "Int": Int,
    }
    helper: Any = func(compiled(source, f"<random helper {_count}>", scope))

    @kernel
    def calls(x: LayoutTensor[Int], out: LayoutTensor[Int], flag: Int):
        helper(x, out, flag)
        barrier()
        out[thread_idx.x] = out[thread_idx.x] * 3 + 1

    arrays = np.array(x, np.int64), np.full(n, -1, np.int64)
    found = launch(calls, *arrays, flag, grid_dim=1, block_dim=n)[1]
    assert found.tolist() == [value * 3 + 1 for value in simulated(source, x, flag)], source


def test_the_simulation_waits() -> None:
    source = HEAD + "    barrier()\n    a = part[(t + 1) % n]\n    barrier()\n" + TAIL
    with pytest.raises(AssertionError):
        assert simulated(source, [1, 2], 0) == [0, 0]
    assert simulated(source, [1, 2], 0)[0] == 2 + 7 + 5 + 2
