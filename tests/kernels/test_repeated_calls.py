"""Calls of ready kernels that are made again: they give what they are to give, whatever was called before."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, found, placed
from weft import Float32, LaunchError, Tensor, algorithm
from weft.calls import planned
from weft.calls.keys import key_of
from weft.gpu.host import DeviceContext
from weft.kernels import (
    cumsum,
    gemv,
    histogram,
    layer_norm,
    matmul,
    put,
    softmax,
    sort,
    sort_by_key,
    sum,
    topk,
    transpose,
)
from weft.kernels.operands import Operands
from weft.layout import Layout

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def softmax_of(x: Array, axis: int = -1) -> Array:
    powers = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def norm_of(x: Any) -> Any:
    less = x - x.mean(-1, keepdims=True)
    return less / np.sqrt((less * less).mean(-1, keepdims=True) + 1e-5)


OPERATIONS: list[tuple[Callable[[Any], Any], Callable[[Array], Array]]] = [
    (softmax, softmax_of),
    (lambda x: softmax(x, 0), lambda x: softmax_of(x, 0)),
    (lambda x: sum(x, 0), lambda x: x.sum(0, np.float64)),
    (lambda x: sum(x, -1), lambda x: x.sum(1, np.float64)),
    (lambda x: cumsum(x), lambda x: x.cumsum(1, np.float64)),
    (sort, lambda x: np.sort(x)),
    (transpose, np.transpose),
    (layer_norm, norm_of),
]


Call = tuple[int, tuple[int, int], str, str, int]
"""The operation's number, the array's shape, type and way to lie in memory, and its seed."""


@st.composite
def calls(draw: st.DrawFn) -> list[Call]:
    """Calls of a few operations, shapes, types and ways to lie in memory, so that many come again."""
    one = st.tuples(
        st.sampled_from(range(len(OPERATIONS))),
        st.sampled_from([(3, 40), (40, 3), (8, 8)]),
        st.sampled_from("fd"),
        st.sampled_from(["whole", "turned", "gaps", "offset"]),
        st.integers(0, 3),
    )
    return draw(st.lists(one, min_size=8, max_size=20))


def lying(x: Array, how: str) -> Array:
    """The same numbers, elsewhere in memory."""
    if how == "turned":
        return np.ascontiguousarray(x.T).T
    if how == "gaps":
        return np.repeat(x, 2, axis=1)[:, ::2]
    if how == "offset":
        return np.concatenate([x.reshape(-1)[:1], x.reshape(-1)])[1:].reshape(x.shape)
    return x.copy()


@settings(max_examples=6, deadline=None)
@given(calls=calls())
def test_any_sequence_of_calls(device: DeviceContext, calls: list[Call]) -> None:
    for operation, shape, kind, how, seed in calls:
        work, expected = OPERATIONS[operation]
        numbers: Array = np.random.default_rng(seed).normal(size=shape)
        x = lying(numbers.astype(kind), how)
        results: list[Array] = [work(x), found(work(placed(device, x)))]
        for result in results:
            np.testing.assert_allclose(result, expected(x), rtol=2e-5, atol=2e-5)


def only_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on calls that are decided anew fail."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("decided anew")

    monkeypatch.setattr(Operands, "launch", fail)


def test_what_was_called_is_not_decided_again(device: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    works: list[tuple[Callable[[Any], Any], Callable[[Array], Array]]] = [
        *OPERATIONS,
        (lambda x: topk(x, 3)[0], lambda x: np.sort(x)[:, :-4:-1]),
        (lambda x: gemv(x, places[device.api]), lambda x: x @ np.arange(40, dtype=np.float32)),
        (lambda x: matmul(x, x, out=products[device.api]), lambda x: x @ x),
    ]
    places = {device.api: placed(device, np.arange(40, dtype=np.float32))}
    products = {device.api: placed(device, normal(40, 40))}
    first, second = normal(40, 40), normal(40, 40)
    arrays = [placed(device, first), placed(device, second)]
    for work, _ in works:
        work(arrays[0])
    only_planned(monkeypatch)
    for work, expected in works:
        for x, array in ((second, arrays[1]), (first, arrays[0])):
            np.testing.assert_allclose(found(work(array)), expected(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(AssertionError, match="decided anew"):
        softmax(placed(device, normal(40, 41)))


def test_pairs_of_results_are_part_of_what_is_known(
    device: DeviceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = normal(3, 20), normal(3, 20)
    x, y, best, places = (placed(device, a) for a in (first, second, normal(3, 4), np.zeros((3, 4), int)))
    other, numbers = placed(device, normal(3, 20)), placed(device, np.arange(60).reshape(3, 20))
    order = placed(device, np.zeros((3, 20), int))
    topk(x, 4, out=(best, places))
    sort_by_key(x, numbers, out=(other, order))
    only_planned(monkeypatch)
    topk(y, 4, out=(best, places))
    sort_by_key(y, numbers, out=(other, order))
    right = np.argsort(second)
    np.testing.assert_array_equal(found(best), np.sort(second)[:, :-5:-1])
    np.testing.assert_array_equal(found(places), right[:, :-5:-1])
    np.testing.assert_array_equal(found(other), np.sort(second))
    np.testing.assert_array_equal(found(order), right + np.arange(3)[:, None] * 20)


def test_arrays_that_are_numbers_go_by_their_values() -> None:
    x = np.arange(12.0).reshape(3, 4)
    axes: list[Any] = [np.array(0), np.array(1)]
    for axis in (*axes, *axes):
        np.testing.assert_array_equal(sum(x, axis), x.sum(int(axis)))
        np.testing.assert_array_equal(sum(x, (axis,)), x.sum(int(axis)))
    for k in (np.array(2), np.array(3)):
        assert topk(x[0], cast("Any", k))[0].shape == (int(k),)


def scaled(by: Any) -> Callable[[Any, Any, Any], Any]:
    return lambda x, i, j: x * by + factor


def shifted(by: Any) -> Callable[[Any, Any, Any], Any]:
    return lambda x, i, j: scaled(2)(x, i, j) + by[i, j]


factor: Any = 3


def test_functions_go_by_what_they_capture(device: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    a, first, second = normal(20, 20), normal(20, 20), normal(20, 20)
    x, one, two = (placed(device, each) for each in (a, first, second))
    right, out = a @ a, placed(device, a)

    def ends(function: Any, expected: Array) -> None:
        np.testing.assert_allclose(found(matmul(x, x, out=out, epilogue=function)), expected, rtol=1e-3)

    for decided in (True, False):
        for by in (2, 2.5, Float32(4), Float32(5)):
            ends(scaled(by), right * float(by) + factor)
        ends(shifted(one), right * 2 + factor + first)
        if decided:
            ends(shifted(one), right * 2 + factor + first)
            only_planned(monkeypatch)
    ends(shifted(two), right * 2 + factor + second)
    ends(scaled(Float32(7)), right * 7 + factor)  # Float32(4) and 5 have shown where it goes
    with pytest.raises(AssertionError, match="decided anew"):
        matmul(x, x, out=out, epilogue=scaled(7))
    for now in (4, Float32(6), Float32(8)):
        with monkeypatch.context() as rebound:
            rebound.setattr(f"{__name__}.factor", now)
            with pytest.raises(AssertionError, match="decided anew"):
                matmul(x, x, out=out, epilogue=scaled(2))
    ends(scaled(2), right * 2 + factor)


def test_globals_that_are_arguments_are_told_apart(
    device: DeviceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = normal(20, 20)
    x = placed(device, a)
    for now in (Float32(6), Float32(8), 8, Float32(6), 9, 8):
        monkeypatch.setattr(f"{__name__}.factor", now)
        for _ in range(2):
            result = found(matmul(x, x, epilogue=scaled(2)))
            np.testing.assert_allclose(result, a @ a * 2 + float(now), rtol=1e-3, atol=1e-4)


class Holder:
    by: Any = Float32(2)
    plus: Any

    def __init__(self) -> None:
        self.inner: Any = self


def test_functions_go_by_the_attributes_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    holder, other, x, first, second = Holder(), Holder(), normal(8, 8), normal(8, 8), normal(8, 8)

    def scale(x: Any, i: Any, j: Any) -> Any:
        return x * holder.by + holder.inner.plus[i, j]

    def ends() -> None:
        expected = x @ x * float(holder.by) + holder.inner.plus
        np.testing.assert_allclose(matmul(x, x, epilogue=scale), expected, rtol=1e-4, atol=1e-5)

    holder.plus, other.plus = first, second
    for decided in (True, False):
        if not decided:
            only_planned(monkeypatch)
        for inner in (holder, other):
            holder.inner = inner
            for by in (Float32(3), 4, Float32(5), 4.5):
                holder.by = by
                ends()
            del holder.by
            ends()
        holder.plus, other.plus = second, first
    with pytest.MonkeyPatch.context() as rebound:
        rebound.setattr(Holder, "by", Float32(7))
        with pytest.raises(AssertionError, match="decided anew"):
            ends()
    monkeypatch.undo()
    for by in (7, 8):
        monkeypatch.setattr(Holder, "by", Float32(by))
        ends()


def test_arrays_of_the_host_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = normal(5, 70), normal(5, 70)
    softmax(x)
    softmax(x, out=out)
    only_planned(monkeypatch)
    y = normal(5, 70)
    np.testing.assert_allclose(softmax(y), softmax_of(y), rtol=1e-5)
    assert softmax(y, out=out) is out
    np.testing.assert_allclose(out, softmax_of(y), rtol=1e-5)


def test_arrays_that_are_reversed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of(x: Array) -> None:
        weights, places, memory = x[0, ::-1], np.arange(4)[::-1], np.zeros((5, 70), np.float32)
        np.testing.assert_allclose(softmax(x[::-1]), softmax_of(x[::-1]), rtol=1e-5)
        assert softmax(out=memory, x=x[:, ::-1]) is memory
        np.testing.assert_allclose(memory, softmax_of(x[:, ::-1]), rtol=1e-5)
        np.testing.assert_allclose(gemv(x[::-1], weights), x[::-1] @ weights, rtol=1e-4, atol=1e-4)
        put(memory, places, x[3::-1])
        np.testing.assert_array_equal(memory[:4], x[:4])
        assert algorithm.sum(x[::-1]) == pytest.approx(float(x.astype(np.float64).sum()), abs=1e-3)

    all_of(normal(5, 70))
    first = normal(5, 70)
    put(first[::-1], np.arange(2), np.zeros((2, 70), np.float32))  # what is written is no copy
    assert not first[3:].any()
    only_planned(monkeypatch)
    all_of(normal(5, 70))
    with pytest.raises(AssertionError, match="decided anew"):
        put(first[::-1], np.arange(2), np.ones((2, 70), np.float32))


def test_tensors_of_torch_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = pytest.importorskip("torch")
    numbers = [normal(5, 70) for _ in range(3)]

    def judge(x: Array) -> None:
        tensor = torch.from_numpy(x.copy())
        for one, right in ((tensor, x), (tensor.T, x.T), (torch.nn.Parameter(tensor[:, 1:]), x[:, 1:])):
            np.testing.assert_allclose(softmax(one).detach(), softmax_of(right), rtol=1e-5)
        with pytest.raises((LaunchError, AssertionError), match=r"negation is pending|decided anew"):
            softmax(torch._neg_view(tensor))

    judge(numbers[0])
    only_planned(monkeypatch)
    for x in numbers[1:]:
        judge(x)


def test_tensors_of_weft(device: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = Tensor.from_numpy(normal(4, 9), device), Tensor.from_numpy(normal(4, 9), device)
    for tensor in (x, y, x):
        transpose(tensor)  # a tensor's first launch says whose it is
    only_planned(monkeypatch)
    turned: Any = transpose(y)
    np.testing.assert_array_equal(turned.numpy(), y.numpy().T)


def test_an_array_in_place_and_another(device: DeviceContext) -> None:
    x = normal(6, 33)
    for _ in range(2):
        one, other = placed(device, x), placed(device, np.zeros_like(x))
        assert softmax(one, out=other) is other
        np.testing.assert_allclose(found(other), softmax_of(x), rtol=1e-5)
        assert softmax(one, out=one) is one
        np.testing.assert_allclose(found(one), softmax_of(x), rtol=1e-5)


def test_what_is_refused_is_refused_again(device: DeviceContext) -> None:
    memory = device.enqueue_create_buffer(np.float32, 100)
    memory.enqueue_fill(1.0)
    layout: Any = Layout((4, 10), (10, 1))
    x, out, overlapping = (memory[n:].tensor(layout) for n in (0, 40, 20))
    for _ in range(2):
        softmax(x, out=out)
        with pytest.raises(LaunchError, match="memory that x has too"):
            softmax(x, out=overlapping)
    host = normal(4, 10)
    written = np.empty_like(host)
    softmax(host, out=written)
    written.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        softmax(host, out=written)
    buffer = device.enqueue_create_buffer(np.float32, 8)
    buffer.enqueue_fill(1.0)
    softmax(buffer)
    buffer.close()
    with pytest.raises(LaunchError, match="closed"):
        softmax(buffer)


def test_a_context_has_plans_of_its_own() -> None:
    x = normal(3, 50)
    for threads in (1, 2):
        context = DeviceContext(api="cpu", threads=threads)
        result: Any = None
        for _ in range(2):
            result = softmax(placed(context, x))
            assert result.storage.context is context
            np.testing.assert_allclose(found(result), softmax_of(x), rtol=1e-5)
        context.close()
        with pytest.raises(LaunchError, match="closed"):
            softmax(result)


def test_numbers_of_other_types_are_other_calls() -> None:
    def key(*args: Any, **named: Any) -> object:
        made = key_of(sum, args, named)
        return made and made[0]

    alike = [1, True, 1.0], [0.0, -0.0], [(0, 1), (False, True)], [None, 0], ["a", ("a",)]
    for values in alike:
        assert len({key(value) for value in values}) == len(values)
    assert key(1, 2) != key(1, x=2)
    assert key(x=1) != key(y=1)
    assert key(normal) is None
    assert key([1]) is None
    assert key(np.zeros(3)[::-1]) is None
    assert key(np.frombuffer(mmap.mmap(-1, 64), np.float32)) is None
    x = np.zeros((4, 4), np.float32)
    assert len({key(x), key(x.T), key(x[:2]), key(x[:, 1:]), key(x.view(np.int32)), key(x.reshape(-1))}) == 6


def test_options_that_change(device: DeviceContext) -> None:
    x = RANDOM.uniform(size=1000).astype(np.float32)
    tensor = placed(device, x)
    for _ in range(2):
        for bins, low in ((4, 0.0), (4, 0.25), (5, 0.0)):
            counts = found(histogram(tensor, bins, (low, 1.0)))
            np.testing.assert_array_equal(counts, np.histogram(x, bins, (low, 1.0))[0])
        for axis in (0, None, -1):
            np.testing.assert_allclose(found(sum(tensor, axis)), x.sum(dtype=np.float64), rtol=1e-5)


def test_functions_are_asked_each_time() -> None:
    a = np.eye(3, dtype=np.float32)
    for least in (0.5, 2.0):

        def at_least(x: Any, i: Any, j: Any) -> Any:
            return x if x > least else least  # noqa: B023 - that it changes is what is tried

        result = matmul(a, a, epilogue=at_least)
        np.testing.assert_array_equal(result, np.maximum(a, least))


def test_in_a_graph(device: DeviceContext) -> None:
    x, out = placed(device, normal(3, 20)), placed(device, normal(3, 20))
    for _ in range(2):
        softmax(x, out=out)
    with device.capture() as graph:
        softmax(x, out=out)
    other = normal(3, 20)
    device.enqueue_copy(dst=x.storage, src=other.reshape(-1))
    graph.replay()
    np.testing.assert_allclose(found(out), softmax_of(other), rtol=1e-5)


def test_a_context_that_wants_to_see_all_launches() -> None:
    class Seeing(DeviceContext):
        seen = 0

        def enqueue_function(self, *args: Any, **named: Any) -> None:
            type(self).seen += 1
            super().enqueue_function(*args, **named)

    tensor = placed(Seeing(api="cpu"), normal(3, 4))
    for n in range(3):
        softmax(tensor)
        assert Seeing.seen == n + 1


def test_threads_at_once(device: DeviceContext) -> None:
    arrays = [normal(2, 5000) for _ in range(4)]
    sort(placed(device, arrays[0]))  # whose scratch stays with the plan
    wrong: list[int] = []

    def work(n: int) -> None:
        tensor = placed(device, arrays[n])
        for _ in range(5):
            if not np.array_equal(found(sort(tensor)), np.sort(arrays[n])):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_plans_are_so_many_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MOST", 8)
    planned.plans_by_key.clear()
    for n in range(30):
        assert sum(np.ones(n + 1, np.float32)) == n + 1
        assert len(planned.plans_by_key) <= 8
