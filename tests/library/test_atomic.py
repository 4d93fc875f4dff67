"""Atomics on the CPU, with threads of several blocks at once; their PTX; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Bool, CompileError, Comptime, Float32, Int, Int32, UInt64, kernel
from weft.atomic import Atomic, fence
from weft.dtype import as_dtype
from weft.gpu import barrier, global_idx, thread_idx
from weft.lang.number import number_class
from weft.layout import LayoutTensor
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]
RNG = np.random.default_rng(11)


COMBINED: dict[str, Callable[[npt.NDArray[np.int64], int], Any]] = {
    "fetch_add": lambda x, start: start + x.sum(),
    "fetch_sub": lambda x, start: start - x.sum(),
    "fetch_min": lambda x, start: min(start, x.min()),
    "fetch_max": lambda x, start: max(start, x.max()),
    "fetch_and": lambda x, start: np.bitwise_and.reduce([start, *x.tolist()]),
    "fetch_or": lambda x, start: np.bitwise_or.reduce([start, *x.tolist()]),
    "fetch_xor": lambda x, start: np.bitwise_xor.reduce([start, *x.tolist()]),
}


@pytest.mark.parametrize("how", COMBINED)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "int8", "uint16"])
def test_integers(launch: Launch, ptx: Ptx, how: str, dtype: str) -> None:
    kern = typed(dtype)
    low = 0 if dtype[0] == "u" else -100
    x = RNG.integers(low, 100, 256).astype(dtype)
    start = np.array([37], dtype)
    found = launch(kern, x, start, how=how, grid_dim=8, block_dim=32)[1]
    with np.errstate(over="ignore"):
        assert found[0] == np.array(COMBINED[how](x.astype(np.int64), 37)).astype(dtype)
    ptx(kern, x, start, how=how)


_TYPED: dict[str, Any] = {}


def typed(dtype: str) -> Any:
    """A kernel that combines all elements of a type into one."""
    if dtype not in _TYPED:
        element: Any = number_class(as_dtype(dtype))

        def one(x: Any, out: Any, *, how: Any) -> None:
            value, p = x[global_idx.x], out.address(0)
            getattr(Atomic, how)(p, value)

        one.__annotations__ = {
            "x": LayoutTensor[element],
            "out": LayoutTensor[element],
            "how": Comptime[str],
        }
        _TYPED[dtype] = kernel(one)
    return _TYPED[dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("how", ["fetch_add", "fetch_sub", "fetch_min", "fetch_max"])
def test_floats(launch: Launch, ptx: Ptx, how: str, dtype: str) -> None:
    x = RNG.integers(-8, 8, 64).astype(dtype)  # so that sums are exact in any order
    found = launch(typed(dtype), x, np.zeros(1, dtype), how=how, grid_dim=2, block_dim=32)[1][0]
    exact = {"fetch_add": x.sum(), "fetch_sub": -x.sum(), "fetch_min": x.min(), "fetch_max": x.max()}
    assert found == exact[how]
    ptx(typed(dtype), x, x, how=how)


@kernel
def of_the_system(x: LayoutTensor[Any], out: LayoutTensor[Any]):
    """What no GPU has an instruction for."""
    value = x[global_idx.x]
    Atomic.fetch_add(out.address(0), value, scope="system")
    Atomic.fetch_sub(out.address(1), value, scope="system", ordering="acq_rel")
    Atomic.fetch_min(out.address(2), value, scope="system")
    Atomic.fetch_max(out.address(3), value, scope="system")
    if Atomic.exchange(out.address(4), value, scope="system") == value:
        Atomic.fetch_add(out.address(5), 1, scope="cluster")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32", "float64"])
def test_all_widths_of_the_system(launch: Launch, ptx: Ptx, dtype: str) -> None:
    x = (RNG.permutation(64) % 16 - (0 if dtype == "uint16" else 8)).astype(dtype)
    _, out = launch(of_the_system, x, np.zeros(6, dtype), grid_dim=2, block_dim=32)
    total = x.astype(np.int64).sum()
    expected = np.array([total, -total, min(x.min(), 0), max(x.max(), 0)]).astype(dtype)
    np.testing.assert_array_equal(out[:4], expected)
    assert out[4] in x
    ptx(of_the_system, x, x)


@kernel
def draw_tickets(counter: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """What was there before: every thread draws another number."""
    ticket = Atomic.fetch_add(counter.address(0), 1)
    out[Int(ticket)] = Int32(global_idx.x)


def test_every_ticket_is_drawn_once(launch: Launch) -> None:
    n = 4096
    counter, out = launch(
        draw_tickets, np.zeros(1, np.int32), np.full(n, -1, np.int32), grid_dim=64, block_dim=64
    )
    assert counter[0] == n
    assert sorted(out.tolist()) == list(range(n))


@kernel
def multiply(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """Any operation, by compare and exchange."""
    p, factor = out.address(0), x[global_idx.x]
    old = Atomic.load(p)
    while True:
        found, done = Atomic.compare_exchange(p, old, old * factor, ordering="acq_rel")
        if done:
            break
        old = found


def test_compare_exchange(launch: Launch, ptx: Ptx) -> None:
    x = RNG.choice(np.array([0.5, 2.0, 1.0, -1.0], np.float32), 200)
    found = launch(multiply, x, np.full(1, 3.0, np.float32), grid_dim=20, block_dim=10)[1]
    assert found[0] == 3.0 * x.astype(np.float64).prod()
    code = ptx(multiply, x, x)
    assert "cas.b32" in code
    assert "acq_rel" in code


@kernel
def exchange_and_store(out: LayoutTensor[Int32]):
    before = Atomic.exchange(out.address(0), 7)
    Atomic.store(out.address(1), before + Atomic.load(out.address(2), ordering="acquire"), ordering="release")


def test_exchange_load_store(launch: Launch, ptx: Ptx) -> None:
    found = launch(exchange_and_store, np.array([5, 0, 30], np.int32), grid_dim=1, block_dim=1)[0]
    assert found.tolist() == [7, 35, 30]
    code = ptx(exchange_and_store, found)
    assert "ld.acquire.gpu" in code
    assert "st.release.gpu" in code


@kernel
def in_shared(out: LayoutTensor[Int32]):
    count = stack_allocation(Int32, 1, address_space=AddressSpace.SHARED)
    if thread_idx.x == 0:
        count[0] = 0
    barrier()
    Atomic.fetch_add(count, Int32(thread_idx.x), scope="block")
    barrier()
    out[global_idx.x] = count[0]


def test_shared_memory(launch: Launch, ptx: Ptx) -> None:
    found = launch(in_shared, np.zeros(64, np.int32), grid_dim=2, block_dim=32)[0]
    assert found.tolist() == [31 * 16] * 64
    code = ptx(in_shared, found)
    assert "atom.shared.add" in code or "red.shared.add" in code


@kernel
def scopes(x: LayoutTensor[Int32], f: LayoutTensor[Float32], u: LayoutTensor[UInt64]):
    Atomic.fetch_add(x.address(0), 1, ordering="seq_cst", scope="device")
    x[1] = Atomic.fetch_max(x.address(0), 1, scope="system")
    f[1] = Atomic.fetch_sub(f.address(0), 1.0, ordering="release", scope="system")
    f[2] = Atomic.exchange(f.address(0), 1.0, scope="system")
    u[1] = Atomic.fetch_max(u.address(0), 1, scope="system")
    u[2] = Atomic.fetch_sub(u.address(0), 1, ordering="acquire", scope="system")
    fence(scope="block")
    fence("seq_cst", scope="system")


def test_scopes_and_orderings(launch: Launch, ptx: Ptx) -> None:
    arrays = np.full(3, 4, np.int32), np.full(3, 4, np.float32), np.full(3, 4, np.uint64)
    found = launch(scopes, *arrays, grid_dim=1, block_dim=1)
    assert [a.tolist() for a in found] == [[5, 5, 4], [1, 4, 3], [3, 4, 4]]
    code = ptx(scopes, *arrays)
    for expected in (
        "fence.sc.gpu",
        "atom.relaxed.sys.max.s32",
        "fence.acq_rel.sys",
        "atom.relaxed.sys.add.f32",
        "atom.relaxed.sys.exch.b32",
        "atom.relaxed.sys.max.u64",
        "atom.relaxed.sys.add.u64",
        "fence.acq_rel.cta",
        "fence.sc.sys",
    ):
        assert expected in code, expected
    lines = code.splitlines()
    first = next(n for n, line in enumerate(lines) if "fence.sc.gpu" in line)
    assert any(".add" in line for line in lines[first : first + 4]), "the fence stands before the access"


# -- refusals ---------------------------------------------------------------------------------------


@kernel
def bits_of_float(x: LayoutTensor[Float32]):
    Atomic.fetch_or(x.address(0), 1.0)


@kernel
def of_bool(x: LayoutTensor[Bool]):
    Atomic.exchange(x.address(0), True)


@kernel
def of_tensor(x: LayoutTensor[Float32]):
    Atomic.fetch_add(x, 1.0)  # pyright: ignore[reportArgumentType]


@kernel
def wrong_scope(x: LayoutTensor[Float32]):
    Atomic.fetch_add(x.address(0), 1.0, scope="grid")  # pyright: ignore[reportArgumentType]


@kernel
def wrong_ordering(x: LayoutTensor[Float32]):
    x[0] = Atomic.load(x.address(0), ordering="release")


@pytest.mark.parametrize(
    ("kern", "dtype", "message"),
    [
        (bits_of_float, "float32", "Atomic.fetch_or takes integers, not Float32"),
        (of_bool, "bool", "Atomic.exchange does not take Bool"),
        (of_tensor, "float32", r"takes a Pointer, not a LayoutTensor[\s\S]*tensor.address\(i, j\)"),
        (wrong_scope, "float32", "there is no scope 'grid'"),
        (wrong_ordering, "float32", "load has no ordering 'release'"),
    ],
)
def test_refused(ptx: Ptx, kern: Any, dtype: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        ptx(kern, np.zeros(2, dtype))


def test_layout_of_a_histogram(launch: Launch) -> None:
    """Counts of two dimensions, by address(i, j)."""
    x = RNG.integers(0, 12, 500).astype(np.int32)
    found = launch(count, x, np.zeros((3, 4), np.int32), over=500)[1]
    assert found.tolist() == np.bincount(x, minlength=12).reshape(3, 4).tolist()


@kernel
def count(x: LayoutTensor[Int32], counts: LayoutTensor[Int32]):
    value = Int(x[global_idx.x])
    Atomic.fetch_add(counts.address(value // 4, value % 4), 1)


def contended(dtype: str) -> Any:
    element = number_class(as_dtype(dtype))

    @kernel
    def counters(out: LayoutTensor[Any], n: Int, *, how: Comptime[str]):
        """All threads of a block at one counter, in a loop that does nothing else."""
        counts = stack_allocation(element, 64, address_space=AddressSpace.SHARED)
        if thread_idx.x == 0:
            for i in range(64):
                counts[i] = 99
        barrier()
        for i in range((n & 1) + 1):
            getattr(Atomic, how)(counts + (i & 3), 19)
        barrier()
        for i in range(thread_idx.x, 64, 32):
            out[i] = counts[i]

    return counters


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize(
    ("dtype", "how"),
    [(d, how) for d in ("int32", "uint32", "int64", "uint64") for how in COMBINED]
    + [(d, how) for d in ("float32", "float64") for how in ("fetch_add", "fetch_sub")],
)
def test_contended_in_shared_memory(launch: Launch, ptx: Ptx, dtype: str, how: str, n: int) -> None:
    """NVIDIA's assembler lets threads that try again pass on to the next round of such a loop."""
    kern = contended(dtype)
    found = launch(kern, np.zeros(64, dtype), n, how=how, grid_dim=1, block_dim=32)[0]
    expected = np.array([COMBINED[how](np.full(32, 19), 99)] * (n + 1) + [99] * (63 - n)).astype(dtype)
    assert found.tolist() == expected.tolist()
    ptx(kern, np.zeros(64, dtype), n, how=how)
