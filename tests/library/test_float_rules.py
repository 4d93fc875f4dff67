"""What is allowed with floats within ``with``: nothing, one rounding of product and sum, or another order."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from weft import Float32, Float64, Int, Int32, Pointer, func, kernel, unroll
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang import contraction, fast_math, no_contraction

N = 1000


@func
def of_its_own(a: Float32, b: Float32, c: Float32):
    return a * b + c


@kernel
def fused(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    with contraction():
        out[i] = a[i] * b[i] + c[i]


@kernel
def apart(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    with fast_math(), no_contraction():
        out[i] = a[i] * b[i] + c[i]


@kernel
def called(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    with contraction():
        out[i] = of_its_own(a[i], b[i], c[i])


def run(device: DeviceContext, which: Any, *arrays: np.ndarray) -> np.ndarray:
    memory = [device.enqueue_create_buffer(Float32, N) for _ in range(4)]
    for each, values in zip(memory, arrays, strict=False):
        device.enqueue_copy(dst=each, src=values)
    device.enqueue_function(which, *memory, grid_dim=N // 8, block_dim=8)
    found = np.zeros(N, np.float32)
    device.enqueue_copy(dst=found, src=memory[3])
    device.synchronize()
    return found


def test_products_and_sums(device: DeviceContext) -> None:
    rng = np.random.default_rng(3)
    a, b, c = rng.standard_normal((3, N)).astype(np.float32)
    c = -a * b + c * np.float32(1e-6)
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)
    ]
    once, twice = np.array([float(x) for x in exact]).astype(np.float32), a * b + c
    assert not np.array_equal(once, twice)
    assert np.array_equal(run(device, apart, a, b, c), twice)
    for which in (fused, called):
        found = run(device, which, a, b, c)
        if which is called and device.api == "cpu":
            assert np.array_equal(found, twice)
        else:  # a CPU may have no fma
            assert np.array_equal(found, once) or (device.api == "cpu" and np.array_equal(found, twice))


def test_instructions() -> None:
    for which, has in ((fused, True), (apart, False), (called, False)):
        assert ("vfmadd" in str(compile_info(which, target="x86-64-v3", emission_kind="asm"))) == has


@kernel
def sums(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    exact, fast = Float32(0.0), Float32(0.0)
    for i in range(n):
        exact += x[i]
    with fast_math():
        for i in range(n):
            fast += x[i]
        fast = fast / 3.0 + 0.5
    out[0], out[1] = exact, fast


def test_another_order(device: DeviceContext) -> None:
    x = np.random.default_rng(4).random(N).astype(np.float32)
    given, out = device.enqueue_create_buffer(Float32, N), device.enqueue_create_buffer(Float32, 2)
    device.enqueue_copy(dst=given, src=x)
    device.enqueue_function(sums, given, out, N, grid_dim=1, block_dim=1)
    found = np.zeros(2, np.float32)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    assert found[0] == np.add.accumulate(x)[-1]
    assert np.isclose(found[1], x.sum(dtype=np.float64) / 3 + 0.5, rtol=1e-6)


def test_a_sum_becomes_vectors() -> None:
    text = str(compile_info(sums, target="x86-64-v3", emission_kind="asm"))
    assert "vaddps" in text
    ptx = str(compile_info(sums, target="sm_90", emission_kind="llvm"))
    assert ptx.count("fadd reassoc nsz arcp contract") == 2
    assert ptx.count("fdiv reassoc nsz arcp contract") == 1


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
@pytest.mark.parametrize("kind", [Float32, Float64], ids=["Float32", "Float64"])
def test_nan_is_beyond_no_bound(device: DeviceContext, kind: Any) -> None:
    """Also where all other numbers are, as what is compared is not negative, or not positive."""

    @kernel
    def compare(x: Pointer[Any], out: Pointer[Int32]):
        v = x[global_idx.x]
        size = abs(v)
        found = [size > -9.0, size >= 0.0, not (size > -9.0), v * v > -1.0, size + 1.0 > 0.5, -size < 9.0]
        found += [v * v + 1.0 > 0.5, size + size >= 0.0, max(size, v * v) >= 0.0, -size - 1.0 < 0.0]
        found += [-2.0 < size if v > -1e9 else size >= 0.0, not (-size <= 0.0)]
        bits = Int32(0)
        for n in unroll(range(12)):
            bits += Int32(found[n]) << n
        out[global_idx.x] = bits

    x, out = np.array([np.nan, 1.0, 0.0, -9.0], kind.dtype.name), np.zeros(4, np.int32)
    device.enqueue_function(compare, x, out, grid_dim=1, block_dim=4)
    device.synchronize()
    assert out.tolist() == [0b1000_0000_0100, *[0b0111_1111_1011] * 3]


@func(fast_math=True)
def quick_sum(x: Pointer[Float32], n: Int) -> Float32:
    """A sum in any order, in which a product with a reciprocal may be a division."""
    total = Float32(0.0)
    for i in range(n):
        total += x[i]
    return total


@kernel(fast_math=True)
def quick(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = a[i] * b[i] + c[i]
    with no_contraction():
        c[i] = a[i] * b[i] + c[i]


def plain(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], out: Pointer[Float32]):
    out[global_idx.x] = of_its_own(a[global_idx.x], b[global_idx.x], c[global_idx.x]) + a[global_idx.x]


def additions(text: str) -> set[str]:
    """What additions of floats are allowed."""
    return set(re.findall(r"= fadd ([a-z ]*)float", text))


@pytest.mark.parametrize("target", ["x86-64", "sm_90"])
def test_a_whole_kernel_and_those_that_it_calls(target: str) -> None:
    fast = "reassoc nsz arcp contract "
    assert additions(str(compile_info(quick, target=target, emission_kind="llvm"))) == {fast, ""}
    slow = {""} if target == "x86-64" else {"contract "}
    assert additions(str(compile_info(kernel(plain), target=target, emission_kind="llvm"))) == slow
    calling = str(compile_info(kernel(fast_math=True)(plain), target=target, emission_kind="llvm"))
    assert additions(calling) == {fast, *slow}
    exact = kernel(fast_math=False)(plain)
    assert additions(str(compile_info(exact, target=target, emission_kind="llvm"))) == slow


def test_a_function_with_fast_math() -> None:
    x = np.random.default_rng(2).uniform(0, 1, N).astype(np.float32)
    assert quick_sum(x, N) == pytest.approx(float(x.sum(dtype=np.float64)), rel=1e-5)
    again: Any = pickle.loads(pickle.dumps(quick_sum))
    assert again is quick_sum
    sent: Any = pickle.loads(pickle.dumps(func(fast_math=True)(_double)))
    assert sent(1.5) == 3.0
    assert sent.definition.fast_math
    assert not func(_double).definition.fast_math


def _double(x: Float32) -> Float32:
    return x + x


@pytest.mark.parametrize("kind", [Float32, Float64], ids=["Float32", "Float64"])
def test_the_sign_of_what_is_negated(device: DeviceContext, kind: Any) -> None:
    bits = Int32 if kind is Float32 else Int

    def body(out: Any, c: Any):
        x = -c
        angle = (x.bitcast(bits) < 0).select(kind(3.0), abs(x) + 1.0)
        out[global_idx.x] = (x == x).select(angle, x)

    body.__annotations__ |= {"out": Pointer[kind], "c": kind}
    made: Any = kernel(body)
    found = device.enqueue_create_buffer(kind, 1)
    for given, wanted in ((0.0, 3.0), (-0.0, 1.0), (2.0, 3.0), (-2.0, 3.0)):
        device.enqueue_function(made, found, given, grid_dim=1, block_dim=1)
        with found.map_to_host() as host:
            assert host[0] == wanted
