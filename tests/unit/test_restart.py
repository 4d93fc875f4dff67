"""A literal whose type is learnt late starts its function again: nothing stays of the pass before.

What is expected is the same program with the literal's type written out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from weft import (
    CompileError,
    Comptime,
    Float16,
    Float32,
    Float64,
    Int,
    Int32,
    Kernel,
    Pointer,
    UInt32,
    UInt64,
    func,
    kernel,
    unroll,
)
from weft.compiler.frontend import elaborate
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import Compilation, elaborate_kernel
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.cooperative import grid_sync
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.launch.ranges import describe_over
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

TARGETS = pytest.mark.parametrize("target", ["sm_90", "x86-64"])


def compiled(f: Callable[..., Any], target: str = "sm_90", *, over: int = 0, **comptime: Any) -> Compilation:
    made = f if isinstance(f, Kernel) else kernel(f)
    specs: dict[str, Spec] = {
        p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
        for p in parameters(made.definition)
    }
    return elaborate_kernel(
        made, specs, target, CompileOptions(describe_over(over, (4, 1)) if over else None)
    )


def noted(made: Compilation) -> tuple[Any, ...]:
    """All that a launch is told beside the code."""
    [k] = made.kernels
    texts = [[piece for piece in site.pieces if isinstance(piece, str)] for site in k.sites.values()]
    return texts, k.uses, k.dynamic_shared, [(g.count, g.element) for g in made.module.globals]


@func
def through_shared(x: Any) -> Any:
    kind = cast("Any", type)(x)
    tile: Pointer[Any] = stack_allocation(kind, 3500, address_space=AddressSpace.SHARED)
    tile[thread_idx.x] = x
    barrier()
    return tile[thread_idx.x ^ 1]


@func
def big(x: Any) -> Any:
    """28,000 bytes, whatever x is."""
    tile = stack_allocation(Float64, 3500, address_space=AddressSpace.SHARED)
    tile[thread_idx.x] = Float64(x)
    barrier()
    return x


@func
def speaks(x: Any) -> Any:
    print(f"x is a {type(x).__name__}:", x)
    assert x > 0.0, f"a {type(x).__name__}"
    return x


def with_shared(out: Pointer[Float64], *, made: Comptime[Any]):
    factor = made(0.5)
    if thread_idx.x < 2:
        factor = made(0.25)
    big(factor)
    out[0] = factor * out[1]


def with_shared_of_its_type(out: Pointer[Float64], *, made: Comptime[Any]):
    factor = made(0.5)
    if thread_idx.x < 2:
        factor = made(0.25)
    out[0] = through_shared(factor) + out[1] * factor


def with_print(out: Pointer[Float64], *, made: Comptime[Any]):
    factor = made(0.5)
    if thread_idx.x < 2:
        factor = made(0.25)
    speaks(factor)
    if type(factor) is Float32:
        print("only in the first pass")
        dynamic_shared_memory(Float32, 512)
        grid_sync()
    out[0] = factor * out[1]


def with_narrow(out: Pointer[Float16], *, made: Comptime[Any]):
    factor = made(0.5)
    if thread_idx.x < 2:
        factor = made(0.25)
    speaks(factor)
    out[0] = factor * out[1]


def weak(value: float) -> float:
    return value


@pytest.mark.parametrize("program", [with_shared, with_shared_of_its_type, with_print])
@TARGETS
def test_only_what_the_last_pass_made_is_there(program: Any, target: str) -> None:
    if program is with_print and target != "sm_90":
        pytest.skip("no launch of a CPU waits for all its blocks")
    literal, typed = (compiled(program, target, made=made) for made in (weak, Float64))
    assert noted(literal) == noted(typed)
    assert literal.ir() == typed.ir()
    assert literal.llvm() == typed.llvm()


def test_half() -> None:
    literal, typed = (compiled(with_narrow, made=made) for made in (weak, Float16))
    assert noted(literal) == noted(typed)
    assert literal.ir() == typed.ir()


@pytest.mark.parametrize("literals", [1, 3, 8])
def test_many_literals(literals: int) -> None:
    """Each is learnt in a pass of its own, and each pass calls the helper."""

    def many(out: Pointer[Float64], *, made: Comptime[Any]):
        for i in unroll(range(literals)):
            x = made(0.5)
            if thread_idx.x < 2:
                x = made(0.25)
            big(x)
            out[i] = x * out[i]

    assert noted(compiled(many, made=weak)) == noted(compiled(many, made=Float64))


@func
def shares(n: Comptime[int]) -> Int:
    tile = stack_allocation(Float32, n, address_space=AddressSpace.SHARED)
    tile[thread_idx.x] = 1.0
    return thread_idx.x


def test_what_is_shared_is_counted_once_and_over_all_calls() -> None:
    def twice(out: Pointer[Int]):
        out[0] = shares(10_000) + shares(10_000)

    assert [g.count for g in compiled(twice).module.globals] == [10_000]

    def different(out: Pointer[Int]):
        out[0] = shares(10_000) + shares(10_001)

    with pytest.raises(CompileError, match="beside 40000 bytes taken before"):
        compiled(different)


def test_a_helper_of_an_earlier_pass_is_counted_where_it_is_called() -> None:
    """It was elaborated when less had been taken."""

    def late(out: Pointer[Float64], *, made: Comptime[Any]):
        factor = made(0.5)
        if thread_idx.x < 2:
            factor = made(0.25)
        if type(factor) is Float64:
            tile = stack_allocation(Float32, 10_000, address_space=AddressSpace.SHARED)
            tile[thread_idx.x] = 2.0
        shares(5_000)
        out[0] = factor * out[1]

    for made in (weak, Float64):
        with pytest.raises(CompileError, match="20000 bytes of shared memory, beside 40000 bytes taken"):
            compiled(late, made=made)


@TARGETS
def test_what_is_not_reached_is_not_there(target: str) -> None:
    def stops(out: Pointer[Int], *, early: Comptime[bool]):
        if early:
            out[0] = 1
            return
        speaks(Float32(1.0))
        print("not reached")
        assert out[0] > 1, "not reached"
        out[0] = shares(64) + Int(dynamic_shared_memory(Int32, 16)[0])

    made = compiled(stops, target, early=True)
    assert noted(made) == ([], frozenset(), 0, [])
    assert [f.name for f in made.module.functions] == ["stops"]
    assert len(noted(compiled(stops, target, early=False))[0]) == 4


def test_shared_memory_that_is_not_reached_takes_no_room() -> None:
    def one_of_two(out: Pointer[Int]):
        tile = stack_allocation(Float32, 10_000, address_space=AddressSpace.SHARED)
        tile[thread_idx.x] = 2.0
        out[0] = 1
        return
        other = stack_allocation(Float32, 10_000, address_space=AddressSpace.SHARED)
        other[thread_idx.x] = 2.0

    assert [g.count for g in compiled(one_of_two).module.globals] == [10_000]


def test_one_element_a_thread_for_a_body_that_asks_for_its_thread() -> None:
    seen: list[str] = []

    def look(value: object) -> None:
        seen.append(type(value).__name__)

    def asks(out: Pointer[Int]):
        look(out)
        print("once")
        out[global_idx.x] = thread_idx.x

    made = compiled(asks, over=1)
    assert made.options[0].over is not None
    assert made.options[0].over.per_thread == (1, 1)
    assert [f.name for f in made.module.functions] == ["asks_element", "asks"]
    assert noted(made)[0] == [["once\n"]]
    assert seen == ["Pointer"]


def test_there_are_only_so_many_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elaborate, "_PASSES", 3)

    def many(out: Pointer[Float64], *, made: Comptime[Any]):
        x = made(0.5)
        for _ in unroll(range(3)):  # each variable is typed by the next
            y = x
            if thread_idx.x < 2:
                y = made(0.25)
            x = y
        out[0] = x * out[1]

    assert compiled(many, made=Float64).ir()
    with pytest.raises(CompileError, match="many has more than 3 literals in variables whose type only"):
        compiled(many, made=weak)


@func
def turned(x: UInt32) -> UInt32:
    return x << 3 | x >> 29


def test_what_is_handed_to_a_type_is_learnt_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that is given up goes on with what it has learnt."""
    monkeypatch.setattr(elaborate, "_PASSES", 2)
    literals = [2**32 - 1 - 77 * k for k in range(64)]

    def many(out: Pointer[UInt32], *, table: Comptime[Any]):
        for k in unroll(range(12)):
            given: UInt32 = table[(thread_idx.x * k) % 64]
            out[k] = turned(table[thread_idx.x % 64]) ^ given

    typed = compiled(many, table=np.array(literals, np.uint32))
    assert compiled(many, table=literals).ir() == typed.ir()

    def narrow(out: Pointer[UInt32], *, table: Comptime[Any]):
        x = table[thread_idx.x % 64]
        out[0] = x + out[1].cast(UInt64)

    with pytest.raises(CompileError, match="a UInt does not become a UInt32 by itself"):
        compiled(narrow, table=literals)


LOG: list[str] = []


@func
def logged(x: Any) -> Any:
    LOG.append(type(x).__name__)
    return x


@pytest.mark.parametrize("made", [weak, Float64])
def test_lists_around_are_as_if_there_had_been_one_pass(made: Any) -> None:
    seen: dict[str, list[str]] = {"kernel": []}
    kinds: set[str] = set()
    table = np.zeros(4)

    def writes(out: Pointer[Float64], *, made: Comptime[Any]):
        LOG.clear()
        LOG.append("kernel")
        factor = made(0.5)
        if thread_idx.x < 2:
            factor = made(0.25)
        seen["kernel"].append(type(factor).__name__)
        kinds.add(type(factor).__name__)
        table[len(LOG)] += 1.0
        _ = logged(Int(1))
        _ = logged(factor)
        out[0] = factor * out[1] + Float64(len(LOG))

    LOG.clear()
    made_ir = compiled(writes, made=made).ir()
    assert LOG == ["kernel", "Int", "Float64"]
    assert (seen, kinds, table.tolist()) == ({"kernel": ["Float64"]}, {"Float64"}, [0.0, 1.0, 0.0, 0.0])
    assert '"value" = 3.0 : f64' in made_ir
