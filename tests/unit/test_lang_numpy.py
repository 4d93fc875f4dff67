"""NumPy's scalars, as arrays give them, are numbers that are known at compile time."""

from typing import Any

import numpy as np
import pytest

from weft import (
    CompileError,
    Comptime,
    DType,
    Float32,
    InlineArray,
    Int,
    Int8,
    Pointer,
    func,
    iota,
    kernel,
    struct,
    unroll,
)
from weft.complex import ComplexFloat32
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.math import sqrt
from weft.memory import stack_allocation
from weft.numerics import epsilon, max_finite

OFFSETS: Any = np.array([0, 2, 3])
WEIGHTS: Any = np.array([0.25, 0.5, 0.25], np.float32)
COUNT, HALF = OFFSETS[2], WEIGHTS[1]
TWO: Any = np.float32(2)
WIDE: Any = np.uint8(200)


@struct
class Pair:
    factor: Float32
    count: Int


@func
def times(x: Float32, n: Int) -> Float32:
    if n > COUNT:
        return HALF
    return x * Float32(n)


def run(kernel_: Any, *arguments: Any, **values: Any) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel_, *arguments, grid_dim=1, block_dim=1, **values)
    ctx.synchronize()


def test_a_loop_over_an_array_gives_numbers() -> None:
    @kernel
    def k(x: Pointer[Float32], out: Pointer[Float32]):
        total = 0.0
        for offset, weight in zip(OFFSETS, WEIGHTS, strict=True):
            total += weight * x[offset]
            out[offset] = weight
        out[1] = total

    out = np.zeros(4, np.float32)
    run(k, np.array([1, 2, 3, 4], np.float32), out)
    assert out.tolist() == [0.25, 0.25 + 1.5 + 1.0, 0.5, 0.25]


def test_operators_and_comparisons() -> None:
    @kernel
    def k(out: Pointer[Int], n: Int):
        out[0], out[1], out[2] = n + COUNT, COUNT - n, COUNT**n
        if n < COUNT:
            out[3] = COUNT
        if COUNT > n:
            out[4] = n if n > COUNT else COUNT

    out = np.zeros(5, np.int64)
    run(k, out, 2)
    assert out.tolist() == [5, 1, 9, 3, 3]


def test_variables_that_control_flow_changes() -> None:
    @kernel
    def k(out: Pointer[Float32], n: Int):
        count, total = COUNT, HALF
        for i in range(n):
            count += i
            total += out[i]
        out[0], out[1] = Float32(count), total

    out = np.ones(4, np.float32)
    run(k, out, 3)
    assert out.tolist() == [6.0, 3.5, 1.0, 1.0]


def test_sizes_and_ranges() -> None:
    @kernel
    def k(out: Pointer[Float32], *, n: Comptime[int]):
        line, square = stack_allocation(Float32, n), stack_allocation(Float32, Layout.row_major(n, n))
        for i in range(n):
            line[i] = 1.0
        for i in unroll(range(n)):
            square[i, 0] = line[i]
        out[0] = square[n - 1, 0]

    out = np.zeros(1, np.float32)
    run(k, out, n=COUNT)
    assert out[0] == 1.0


def test_calls_and_structs() -> None:
    @kernel
    def k(out: Pointer[Float32], pair: Pair):
        here = Pair(HALF, COUNT)
        out[0] = times(HALF, COUNT) + here.factor * Float32(here.count)
        out[1] = times(HALF, pair.count) + max(pair.factor, HALF) + sqrt(WEIGHTS[0])

    out = np.zeros(2, np.float32)
    run(k, out, Pair(TWO, COUNT + 1))
    assert out.tolist() == [3.0, 3.0]


def test_they_are_as_weak_as_literals() -> None:
    @kernel
    def k(out: Pointer[Int8]):
        out[0] = WIDE

    with pytest.raises(CompileError, match="200 does not fit Int8"):
        run(k, np.zeros(1, np.int8))


ANY: Any = np
TABLE: Any = np.array([1 + 2j, 3])


@func
def objects(x: Float32, *, way: Comptime[str]) -> Any:
    z: Any = ComplexFloat32(x, x)
    match way:
        case "nan_to_num":
            return ANY.nan_to_num(x)
        case "imag":
            return ANY.imag(z)
        case "real":
            return ANY.real([z, z])[0].re
        case "iscomplex":
            return helper(z)
        case "printed":
            print(ANY.array([x, x]))
            return x
        case _:
            return x * ANY.real(TABLE)[1] + ANY.imag(TABLE)[0]


def helper(z: Any) -> Any:
    return ANY.iscomplex(z)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("nan_to_num", "write 0.0 if isnan"),
        ("imag", "write z.im"),
        ("real", "write z.re"),
        ("iscomplex", "write z.im != 0.0"),
        ("printed", "an array of NumPy's makes no text of run-time numbers"),
    ],
)
def test_functions_that_give_objects_back_are_refused(way: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        objects(1.0, way=way)
    assert objects(2.0, way="known") == 8.0


@pytest.mark.parametrize("name", [np.float32, np.dtype(np.float32), DType.float32, "float32"])
def test_types_by_their_names_elsewhere(name: Any) -> None:
    pair: Any = InlineArray[name, 2]
    assert pair is InlineArray[Float32, 2]
    assert float(max_finite(name)) == np.finfo(np.float32).max
    assert type(epsilon(name)) is Float32
    assert [float(lane) for lane in (iota(name, 4)[n] for n in range(4))] == [0.0, 1.0, 2.0, 3.0]
