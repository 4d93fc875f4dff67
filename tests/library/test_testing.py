"""weft.testing: what passes, and what a failure says."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import BFloat16, Float32, Int32, Tensor
from weft.gpu.host import DeviceContext
from weft.testing import assert_almost_equal, assert_equal, assert_false, assert_not_equal, assert_true


def refusal(check: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as info:
        check(*args, **options)
    return str(info.value)


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


def test_a_failure_ends_where_the_program_calls_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    text = "from weft.testing import assert_equal\n\nassert_equal([1, 2], [1, 3])\n"
    program.write_text(text, encoding="utf-8")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert ran.stderr.count("File ") == 1
    said = "AssertionError: 1 of 2 elements of shape (2,) differ\nthe first at [1]: 2, expected 3\n"
    assert ran.stderr.endswith(said)
