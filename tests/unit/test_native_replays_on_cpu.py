"""Calls of ready kernels on the CPU that are made again: natively, at once or by the pool."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from weft import DeviceError
from weft.kernels import matmul, sum, take, transpose
from weft.launch.contexts import cpu_context
from weft.launch.native.code import native_code
from weft.launch.native.objects import supported
from weft.runtime.cpu.device import CpuStream

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")

RANDOM = np.random.default_rng(3)
SHAPES = [(5, 7), (300, 4000), (2, 600_000)]


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The launches that Python makes."""
    native_code()
    made: list[Any] = []
    launch = CpuStream.launch

    def noted(self: CpuStream, given: Any) -> None:
        made.append(given)
        launch(self, given)

    monkeypatch.setattr(CpuStream, "launch", noted)
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_calls_are_made_again_without_python(by_python: list[Any], shape: tuple[int, int]) -> None:
    arrays = [RANDOM.integers(-1000, 1000, shape) for _ in range(20)]
    for x in arrays[:10]:
        sum(x, 1)
        transpose(x)
    assert by_python
    found = list[tuple[Any, Any]]()
    for _ in range(20):  # one that took long on a busy machine has the next go by Python
        count = len(by_python)
        found = [(sum(x, 1), transpose(x)) for x in arrays]
        if len(by_python) == count:
            break
    else:
        pytest.fail(f"{len(by_python)} launches were made by Python")
    for x, (total, turned) in zip(arrays, found, strict=True):
        assert (total == x.sum(1)).all()
        assert (turned == x.T).all()


def test_what_waits_for_python_keeps_its_order(by_python: list[Any]) -> None:
    x = RANDOM.normal(size=(64, 64))
    for _ in range(10):
        matmul(x, x)
    count, ran, ctx = len(by_python), list[int](), cpu_context()
    for n in range(5):
        ctx.enqueue_host_call(lambda n=n: (time.sleep(0.01), ran.append(n)))
        assert np.allclose(matmul(x, x), x @ x)
        assert ran == [*range(n + 1)]
    assert len(by_python) > count


def test_what_a_kernel_asserts_is_raised(by_python: list[Any]) -> None:
    x, right, wrong = np.arange(5.0), np.array([4, 0]), np.array([4, 5])
    for _ in range(10):
        take(x, right)
    count = len(by_python)
    for _ in range(3):
        with pytest.raises(DeviceError, match="index"):
            take(x, wrong)
        assert take(x, right).tolist() == [4.0, 0.0]
    assert len(by_python) == count
