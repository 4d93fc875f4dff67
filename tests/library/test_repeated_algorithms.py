"""Algorithms that are called again: what a call launches is decided once, and memory is what it is then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from placed_arrays import Array, found, placed
from weft import Bool, DeviceError, Float32, Float64, Int, Int32, UInt64, struct
from weft.algorithm import (
    cumsum,
    elementwise,
    map_reduce,
    max,
    mean,
    parallelize,
    product,
    reduce,
    scan,
    sort,
    stencil,
    sum,
    variance,
)
from weft.gpu.host import DeviceContext

Works = list[tuple[Callable[[Any, Any], Any], Callable[[Array], Any]]]


def only_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on calls that are decided anew fail."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("decided anew")

    monkeypatch.setattr("weft.algorithm.places.launch", fail)


def doubled(x: Any, y: Any) -> Any:
    def body(i: Int, j: Int) -> None:
        y[i, j] = 2 * x[i, j]

    elementwise(body, x.shape)
    return y


def by_rows(x: Any, y: Any) -> Any:
    columns = x.shape[1]

    def body(i: Int) -> None:
        for j in range(columns):
            y[i, j] = -x[i, j]

    parallelize(body, x.shape[0])
    return y


def given(work: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
    def call(x: Any, y: Any) -> Any:
        work(x, y)
        return y

    return call


def ordered(x: Any, y: Any) -> Any:
    doubled(x, y)
    sort(y.storage[: y.shape[1]] if hasattr(y, "storage") else y[0], lambda a, b: a > b)
    return y


def sorted_first(x: Array) -> Array:
    y: Array = 2 * x
    y[0] = np.sort(y[0])[::-1]
    return y


WORKS: Works = [
    (doubled, lambda x: 2 * x),
    (by_rows, lambda x: -x),
    (lambda x, y: sum(x), np.sum),
    (lambda x, y: sum(x, axis=0), lambda x: x.sum(0)),
    (lambda x, y: max(x, axis=1), lambda x: x.max(1)),
    (lambda x, y: product(x, axis=-1), lambda x: x.prod(-1)),
    (lambda x, y: mean(x), np.mean),
    (lambda x, y: mean(x, axis=1), lambda x: x.mean(1)),
    (lambda x, y: variance(x), lambda x: x.var(ddof=1)),
    (lambda x, y: variance(x, axis=0), lambda x: x.var(0, ddof=1)),
    (lambda x, y: reduce(lambda a, b: a + b, x, 3.0), lambda x: x.sum() + 3),
    (
        lambda x, y: map_reduce(lambda i: x[i, 0] * x[i, 1], lambda a, b: a + b, 30, 0.0),
        lambda x: (x[:, 0] * x[:, 1]).sum(),
    ),
    (given(lambda x, y: scan(lambda a, b: a + b, x, y, axis=0)), lambda x: x.cumsum(0)),
    (given(lambda x, y: cumsum(y, x)), lambda x: x.cumsum().reshape(x.shape)),
    (
        given(lambda x, y: stencil(lambda v: v[0, 1] - v[0, 0], x, y, mode="wrap")),
        lambda x: np.roll(x, -1, 1) - x,
    ),
    (ordered, sorted_first),
]


def test_what_was_called_is_not_decided_again(device: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [np.random.default_rng(seed).normal(size=(30, 1000)) for seed in range(4)]

    def make(x: Array, *, host: bool) -> Any:
        return x.copy() if host else placed(device, x)

    def judge(x: Array, *, host: bool) -> None:
        for work, expected in WORKS:
            result = work(make(x, host=host), make(np.zeros_like(x), host=host))
            result = found(result) if hasattr(result, "storage") else result
            np.testing.assert_allclose(result, expected(x), rtol=1e-9, atol=1e-9)

    hosts = (False, True) if device.info.shares_host else (False,)
    for host in hosts:
        judge(numbers[0], host=host)
    only_planned(monkeypatch)
    for x in numbers[1:]:
        for host in hosts:
            judge(x, host=host)


def test_an_array_that_changes_and_one_that_lies_otherwise() -> None:
    x = np.arange(1000.0)
    for _ in range(3):
        moved, same = np.concatenate([x[:1], x])[1:], np.broadcast_to(x[3], 500)
        for y in (x, x[::2], x[::-1], moved, same, x.astype("f4")):
            assert sum(y) == y.sum()
            assert max(y) == y.max()
        x += 1


@struct
class Line:
    slope: Float64
    offset: Float64


class Model:
    def __init__(self) -> None:
        self.x, self.y, self.scale, self.at = np.arange(50.0), np.zeros(50), 2.0, Line(1.0, 0.0)

    def step(self, parts: list[float]) -> Array:
        def body(i: Int) -> None:
            self.y[i] = self.x[i] * self.scale * self.at.slope + self.at.offset + parts[1]

        elementwise(body, 50)
        self.x, self.y = self.y, self.x
        return self.x

    def expected(self) -> Array:
        return self.x * self.scale * float(self.at.slope) + float(self.at.offset)


def test_functions_go_by_attributes_structs_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    for again in (False, True):
        if again:
            only_planned(monkeypatch)
        for scale, at, parts in (
            (2.0, Line(1.0, 0.0), [1.0, 2.0]),
            (0.5, Line(1.0, 0.0), [1.0, 2.0]),
            (0.5, Line(3.0, -1.0), [1.0, 2.0]),
            (0.5, Line(3.0, -1.0), [1.0, 4.0]),
        ):
            model.scale, model.at = scale, at
            right = model.expected() + parts[1]
            np.testing.assert_allclose(model.step(parts), right)


def test_numbers_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(1.0, 5.0)

    def call(a: Any, b: Any, n: Any) -> None:
        y = np.zeros(4)

        def body(i: Int) -> None:
            y[i] = x[i] * a.cast(Float64) + b.cast(Float64) + n.cast(Float64)

        elementwise(body, 4)
        np.testing.assert_array_equal(y, x * float(a) + float(b) + float(n))

    one = [(1, 1), (2, 2), (3, 3), (3, 4), (0.5, -2), (np.inf, 1), (np.nan, 2), (-0.0, -0.0), (2, 0)]
    for n in (Int32(-7), Int32(2**31 - 1), UInt64(2**64 - 2**11), UInt64(5), Bool(True), Bool(False)):
        for a, b in one:
            call(Float32(a), Float64(b), n)
            call(Float64(a), Float64(b), n)
    only_planned(monkeypatch)
    call(Float32(11), Float64(12), Int32(-13))
    call(Float32(1), Float64(1), UInt64(2**63))


def test_what_a_function_asserts_is_raised_again() -> None:
    x = np.arange(5)

    def check(i: Int) -> None:
        assert x[i] != 7, "seven"

    for _ in range(20):
        elementwise(check, 5)
    for _ in range(3):
        x[2] = 7
        with pytest.raises(DeviceError, match="seven"):
            elementwise(check, 5)
        x[2] = 2
        elementwise(check, 5)


def test_results_of_numpy_are_there_whatever_the_context(device: DeviceContext) -> None:
    if not device.info.shares_host:
        pytest.skip("arrays of the host are the CPU's")
    x = np.ones((3, 200_000))
    for _ in range(8):
        assert (mean(x, axis=0, context=device) == 1).all()
        assert (variance(x, axis=0, context=device) == 0).all()
        assert sum(x, context=device) == x.size


def test_threads_at_once() -> None:
    arrays = [np.random.default_rng(n).normal(size=100_000) for n in range(4)]
    wrong: list[int] = []

    def work(n: int) -> None:
        x, y = arrays[n], np.empty_like(arrays[n])
        for _ in range(20):
            scan(lambda a, b: a + b, x, y)
            if not (np.isclose(y, x.cumsum()).all() and np.isclose(sum(x), x.sum())):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
