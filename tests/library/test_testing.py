"""weft.testing: what passes, and what a failure says."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    BFloat16,
    CompileError,
    Float8_e5m2,
    Float32,
    InlineArray,
    Int32,
    Pointer,
    Tensor,
    UInt64,
    kernel,
    struct,
)
from weft.complex import ComplexFloat32
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.linalg import mat22, vec3
from weft.testing import assert_almost_equal, assert_equal, assert_false, assert_not_equal, assert_true


def refusal(check: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as info:
        check(*args, **options)
    return str(info.value)


@pytest.mark.parametrize("kind", [BFloat16, Float8_e5m2, Float32])
def test_tensors_of_every_place_and_format(device: DeviceContext, kind: Any) -> None:
    right = np.array([[1, 2, -0.5], [3, 4, 6]])
    buffer = device.enqueue_create_buffer(kind, 6)
    tensor = Tensor(kind, (2, 3), device)
    with buffer.map_to_host() as host:
        host[:] = right.ravel()
        assert_equal(host, right.ravel())
        assert_equal(host.tensor(Layout.row_major(2, 3)), right)
    device.enqueue_copy(dst=tensor.storage, src=buffer)
    view = buffer.tensor(Layout.row_major(2, 3))
    assert_equal(view, right)
    assert_almost_equal(tensor, right)
    assert_equal(buffer.tensor(Layout.col_major(3, 2)), right.T)
    assert_equal(view.tile[1, 3](1, 0), right[1:])
    assert "the first at [0, 2]: -0.5, expected 0.5" in refusal(assert_equal, tensor, abs(right))


def test_what_passes(device: DeviceContext) -> None:
    buffer = device.enqueue_create_buffer(Int32, 6)
    buffer.enqueue_fill(3)
    assert_equal(buffer, [3] * 6)
    assert_equal(buffer, 3)
    assert_not_equal(buffer, [3] * 5 + [4])
    assert_not_equal(buffer, [3] * 5)
    short = device.enqueue_create_buffer(BFloat16, 2)
    short.enqueue_fill(1.5)
    assert_equal(short, 1.5)
    tensor = Tensor(Float32, (2, 3))
    tensor[:, :] = 0.1
    assert_almost_equal(tensor, np.full((2, 3), 0.1))
    assert_almost_equal([math.nan, math.inf, 1.0], [math.nan, math.inf, 1.000001])
    assert_equal(math.nan, math.nan)
    assert_true([True, 1])
    assert_false(np.zeros(3))


def test_what_a_failure_says() -> None:
    x = np.arange(6.0).reshape(2, 3)
    y = x.copy()
    y[0, 2] += 1
    y[1, 1] -= 10
    assert refusal(assert_equal, x, y) == (
        "2 of 6 elements of shape (2, 3) differ\n"
        "the first at [0, 2]: 2.0, expected 3.0\nthe furthest at [1, 1]: 4.0, expected -6.0"
    )
    assert refusal(assert_equal, x, y[0], "rows") == "rows: shape (2, 3), expected (3,)"
    assert refusal(assert_equal, 1, 2) == "1, expected 2"
    assert refusal(assert_almost_equal, 1.0, 1.1, atol=0.01) == "1.0, expected 1.1"
    assert refusal(assert_almost_equal, [math.inf, 0.0], [-math.inf, math.nan]).startswith("2 of 2")
    assert refusal(assert_not_equal, x, x) == "equal, with shape (2, 3): [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]"
    assert refusal(assert_true, [1, 0, 0]) == "not true: 2 of 3 elements of shape (3,), the first at [1]"
    assert refusal(assert_false, 1) == "not false: 1"


@struct
class Lanes:
    values: SIMD[Float32, 4]


def test_values_of_weft_are_compared_part_by_part() -> None:
    lanes = Float32.simd(0.1, 0.2, 0.3, 0.4)
    other = Float32.simd(0.1, 0.2, 0.3, 0.5)
    assert refusal(assert_equal, lanes, other).endswith("the first at [3]: 0.4, expected 0.5")
    assert refusal(assert_true, lanes == other).endswith("the first at [3]")
    assert refusal(assert_not_equal, lanes, lanes).startswith("equal, with shape (4,)")
    assert refusal(assert_equal, [lanes, lanes], [lanes, other]).startswith("1 of 8 elements of shape (2, 4)")
    assert refusal(assert_almost_equal, Float32(0.1), 0.2) == "0.1, expected 0.2"
    assert refusal(assert_equal, vec3(1, 2, 3), [1, 2, 4]).endswith("[2]: 3.0, expected 4")
    assert "[1, 0]: 3.0" in refusal(assert_almost_equal, mat22(1, 2, 3, 4), [[1, 2], [5, 4]])
    assert "1 of 3" in refusal(assert_equal, InlineArray[Int32, 3](1, 2, 3), [1, 2, 4])
    assert refusal(assert_almost_equal, ComplexFloat32(1, 2), 1 + 3j) == "(1+2j), expected (1+3j)"
    assert "Lanes(" in refusal(assert_equal, Lanes(lanes), Lanes(other))
    assert_almost_equal(lanes, [0.1, 0.2, 0.3, 0.4])
    assert_almost_equal(BFloat16(1.5), 1.5)
    assert_equal(Float32.splat(4, 2.0), [2, 2, 2, 2])
    assert_equal(UInt64(2**64 - 1), 2**64 - 1)
    assert_equal(Lanes(lanes), Lanes(lanes))
    with pytest.raises(CompileError, match="compares numbers, not a Lanes"):
        assert_almost_equal(Lanes(lanes), Lanes(lanes))


def test_nothing_is_compared_in_a_kernel() -> None:
    @kernel
    def of_a_number(x: Pointer[Float32]) -> None:
        assert_equal(x[0], 1.0)

    @kernel
    def of_a_tensor(x: LayoutTensor[Float32]) -> None:
        assert_equal(x, 1.0)

    context = DeviceContext(api="cpu")
    said = r"host-only.*\n(.*\n)*.*write `assert a == b, message`"
    with pytest.raises(CompileError, match=said):
        context.enqueue_function(of_a_number, np.ones(4, np.float32), over=1)
    with pytest.raises(CompileError, match=said):
        context.enqueue_function(of_a_tensor, np.ones(4, np.float32), over=1)


def test_a_failure_ends_where_the_program_calls_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    text = "from weft.testing import assert_equal\n\nassert_equal([1, 2], [1, 3])\n"
    program.write_text(text, encoding="utf-8")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert ran.stderr.count("File ") == 1
    said = "AssertionError: 1 of 2 elements of shape (2,) differ\nthe first at [1]: 2, expected 3\n"
    assert ran.stderr.endswith(said)
